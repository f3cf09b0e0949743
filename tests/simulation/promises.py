"""What must hold of processes and rows together, at any moment of a search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held, Lost, finish
from cronce.protocol.observing import NotReleased, ReleaseRequest, release
from cronce.protocol.operations import Get, Now, Running, Skew, Steps, Swap, Swapped, Take
from cronce.protocol.records import (
    SLOT_KEY,
    EffectsRecord,
    GroupSlotRecord,
    Record,
    RunRecord,
    SlotMode,
    SlotRecord,
    run_key,
)
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused, Skewed
from cronce.vocabulary.names import RunName, group_key
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.simulation.actors import DONE
from tests.simulation.rules import FINAL, BrokenRuleError, Rows, broken_by_write

Runs = tuple[tuple[str, str], ...]
"""Job and period of each."""


def broken_by_trust(held: Held, rows: Rows, policy: Policy) -> str | None:
    """What is wrong with the rows while the holder of this claim still trusts it."""
    mine = held.run
    run, slot = rows.get((mine.job, mine.key)), rows.get((mine.job, SLOT_KEY))
    if (
        not isinstance(run, RunRecord)
        or run.status is not Status.RUNNING
        or not run.is_attempt(mine.attempt, mine.token)
    ):
        return f"a trusted claim stands in its row: {shown(run)} is not attempt {mine.attempt} of {mine.owner}"
    paused_at = slot.paused_at if isinstance(slot, SlotRecord) else None
    if paused_at and mine.claimed_at and paused_at < mine.claimed_at and not mine.trigger.by_person:
        return f"no machine starts a run of a paused job: {mine.owner} claimed {mine.period} after it was paused"
    if policy.exclusion_group is not None:
        group = rows.get((group_key(policy.exclusion_group), SLOT_KEY))
        if held.group is None:
            return f"{mine.owner} acts without its group"
        if not isinstance(group, GroupSlotRecord) or group.fence != held.group.fence or group.token != mine.token:
            return f"a trusted claim holds its group: {shown(group)} is not fence {held.group.fence} of {mine.owner}"
    if held.slot is None:
        return None if policy.concurrency_policy is ConcurrencyPolicy.ALLOW else f"{mine.owner} acts without the slot"
    if not isinstance(slot, SlotRecord) or slot.fence != held.slot.fence or slot.token != mine.token:
        return f"a trusted claim holds the job: {shown(slot)} is not fence {held.slot.fence} of {mine.owner}"
    return None


def broken_by_overlap(one: Held, other: Held, policies: Collection[Policy], rows: Rows) -> str | None:
    """What is wrong with two claims that are trusted at the same moment.

    Runs of two jobs never overlap if both are of one exclusion group.
    A run under another policy than `ALLOW` never starts beside a live one. One under `ALLOW` that starts after it is
    its own policy's choice: then it has written so into the slot.
    """
    if one.run.job != other.run.job:
        if one.group is None or other.group is None or one.group.job != other.group.job:
            return None
        return f"one live run a group: {one.run.owner} acts on {one.run.job} and {other.run.owner} on {other.run.job}"
    if one.run.period == other.run.period:
        return f"one live attempt a run: {one.run.owner} and {other.run.owner} both act on {one.run.period}"
    allows = [policy.concurrency_policy is ConcurrencyPolicy.ALLOW for policy in policies]
    slot = rows.get((one.run.job, SLOT_KEY))
    if all(allows) or (any(allows) and isinstance(slot, SlotRecord) and slot.mode == SlotMode.ALLOW):
        return None
    return f"one live run a job: {one.run.owner} acts on {one.run.period} and {other.run.owner} on {other.run.period}"


def broken_by_result(ask: ClaimRequest, result: object, rows: Rows) -> str | None:
    """What is wrong with the rows once a claimant was told this result."""
    run = rows.get((ask.job, run_key(ask.period)))
    mine = isinstance(run, RunRecord) and run.token == ask.token
    status = run.status if isinstance(run, RunRecord) else None
    match result:
        case Refused(reason) if mine and status is Status.RUNNING:
            return f"who is refused holds nothing: {ask.owner} was told {reason}, its run stands RUNNING"
        case Refused(RefusalReason.ALREADY_SUCCEEDED) if status is not Status.SUCCEEDED:
            return f"what is told is true: {ask.owner} was told ALREADY_SUCCEEDED of {shown(run)}"
        case Refused() if run is None:
            return f"every tick is visible: {ask.owner} was refused, and there is no row"
        case Skewed() if mine and status is Status.RUNNING:
            return f"who is refused holds nothing: the clock of {ask.owner} is wrong, its run stands RUNNING"
        case Held(run=RunRecord(status=Status.SUCCEEDED)) if not (mine and status is Status.SUCCEEDED):
            return f"a success that was told is never lost: {ask.owner} completed, but {shown(run)}"
        case Refused(RefusalReason.LEASE_LOST) if mine and status in (Status.SKIPPED, Status.MISSED):
            return f"what is told is true: {ask.owner} stood back, was told LEASE_LOST, but {shown(run)}"
        case Lost() if mine:
            return f"an owner's word outranks an observer's: {ask.owner} finished, was told it lost, but {shown(run)}"
    return None


def broken_at_the_end(rows: Rows, policies: Mapping[str, Policy], runs: Runs, *, now: datetime) -> str | None:
    """What is wrong if everybody died now, all leases ran out, and each period is asked for once more."""
    table = dict(rows)
    for job, period in runs:
        policy = policies[job]
        ask = ClaimRequest(run=RunName.of(job, period), token=f"last-{period}", owner="last", policy=policy)
        answer = run_alone(claim(ask), table, policy, now)
        if isinstance(answer, Refused) and answer.reason is RefusalReason.HELD:
            foreign = answer.record is not None and answer.record.lease_until is None
            if policy.on_lost is OnLost.RETRY and not foreign:
                return f"nothing is stuck: {period} is held although lost runs are retried"
            released = run_alone(release(ReleaseRequest(run=RunName.of(job, period), actor="ann")), table, policy, now)
            if isinstance(released, NotReleased):
                return f"nothing is stuck: {period} is held and cannot be released: {released}"
            answer = run_alone(claim(ask), table, policy, now)
        if isinstance(answer, Refused) and answer.reason in (RefusalReason.OVERLAPPING, RefusalReason.TOO_LATE):
            answer = run_alone(claim(replace(ask, trigger=Trigger.MANUAL)), table, policy, now)
        if isinstance(answer, Held):
            run_alone(finish(answer, DONE), table, policy, now)
        run = table.get((job, run_key(period)))
        if not isinstance(run, RunRecord) or run.status not in FINAL:
            return f"nothing is lost: at last {period} is {shown(run)}"
        exhausted = run.status is Status.FAILED and run.failures > policy.backoff_limit
        settled = run.status is Status.SUCCEEDED or run.reason in (Reason.REPLACED, Reason.PAUSED)
        if not settled and not exhausted:
            told = answer.reason if isinstance(answer, Refused) else type(answer).__name__
            return f"nothing is stuck: with nobody else there, {period} ends as {shown(run)}, told {told}"
    for slot in table.values():
        if isinstance(slot, SlotRecord | GroupSlotRecord) and slot.period is not None and slot.owner == "last":
            return f"the slot is free when its run has ended: {shown(slot)}"
    return None


def run_alone(steps: Steps[Any], table: dict[tuple[str, str], Record], policy: Policy, now: datetime) -> Any:  # noqa: ANN401
    """Perform an operation with nobody else there; the rows change in place.

    Raises:
        BrokenRuleError: A write breaks a rule, or the operation waits although nobody lives.
    """
    answer: object = None
    try:
        while True:
            match steps.send(answer):
                case Swap(record, expected):
                    stands = table.get((record.job, record.key))
                    answer = Swapped(identity(stands) == identity(expected), stands)
                    if answer.written:
                        if broken := broken_by_write(table, record, policy):
                            raise BrokenRuleError(broken)
                        table[record.job, record.key] = record
                case Take(run, at):
                    slot = table.get((run.job, SLOT_KEY)) or SlotRecord(job=run.job, version=0)
                    assert isinstance(slot, SlotRecord)
                    answer = Swapped(False, table.get((run.job, SLOT_KEY)))
                    if slot.is_free_for(run):
                        taken = slot.taken_by(run, at=at)
                        if broken := broken_by_write(table, taken, policy):
                            raise BrokenRuleError(broken)
                        table[run.job, SLOT_KEY] = taken
                        answer = Swapped(True, taken)
                case Get(job, key):
                    answer = table.get((job, key))
                case Running(job):
                    runs = (row for row in table.values() if isinstance(row, RunRecord) and row.job == job)
                    answer = tuple(run for run in runs if run.status is Status.RUNNING)
                case Now():
                    answer = now
                case Skew():
                    answer = timedelta(0)
                case other:
                    raise BrokenRuleError(f"nobody waits for the dead: {other} after all leases are over")
    except StopIteration as end:
        return end.value


def identity(record: Record | None) -> tuple[int, str | None] | None:
    """What a swap compares."""
    return None if record is None else (record.version, record.token or None)


def shown(record: Record | None) -> str:
    """The row in a few words."""
    match record:
        case None:
            return "no row"
        case RunRecord():
            reason = f"({record.reason})" if record.reason else ""
            lease = f", lease until {record.lease_until:%H:%M:%S.%f}"[:-3] if record.lease_until else ""
            flags = ", cancel requested" if record.cancel_requested else ""
            return (
                f"{record.period} v{record.version} {record.status}{reason} attempt {record.attempt}"
                f" of {record.owner}{lease}{flags}"
            )
        case SlotRecord(period=None):
            return f"slot v{record.version} free, fence {record.fence}"
        case SlotRecord():
            holder = f"{record.period} attempt {record.attempt} ({record.owner})"
            return f"slot v{record.version} of {holder}, fence {record.fence}"
        case GroupSlotRecord(period=None):
            return f"group v{record.version} free, fence {record.fence}"
        case GroupSlotRecord():
            holder = f"{record.of_job} {record.period} attempt {record.attempt} ({record.owner})"
            return (
                f"group v{record.version} of {holder}, fence {record.fence}, lease until {record.lease_until:%H:%M:%S}"
            )
        case EffectsRecord():
            return f"segment {record.number} v{record.version} of attempt {record.attempt}: {dict(record.effects)}"
