"""Which missed ticks the watchdog catches up, and when it launches the next one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import assert_never

from cronce.protocol.records import RunRecord
from cronce.protocol.requests import too_late
from cronce.protocol.retrying import Relaunch, after_attempt, never_started
from cronce.vocabulary.policy import CatchUp, Policy
from cronce.vocabulary.states import Status
from cronce.watch.memory import MOST_JUDGED, Memory

_NO_SHOW = timedelta(minutes=15)
"""A catch-up task that has not claimed its run after this time is given up."""

_PATIENCE_WITH_RETRIES = timedelta(minutes=30)


def to_catch_up(policy: Policy, missed: Sequence[datetime], *, newest: datetime | None) -> tuple[datetime, ...]:
    """The missed ticks to catch up, oldest first.

    Args:
        policy: The job's policy.
        missed: Missed ticks, oldest first.
        newest: The newest tick of the job that was delivered.
    """
    if policy.suspend or not missed:
        return ()
    match policy.catch_up:
        case CatchUp.NONE:
            return ()
        case CatchUp.LATEST:
            return () if newest is not None and newest > missed[-1] else (missed[-1],)
        case CatchUp.ALL:
            return tuple(missed)
        case _:
            assert_never(policy.catch_up)


def with_backlog(memory: Memory, policy: Policy, ticks: Sequence[datetime]) -> tuple[Memory, tuple[datetime, ...]]:
    """The memory with more ticks to catch up, and the oldest ticks, for which it has no place.

    Under `LATEST` only the newest tick remains, as the policy says.
    """
    if not ticks:
        return memory, ()
    every = tuple(sorted({*memory.backlog, *ticks}))
    most = 1 if policy.catch_up is CatchUp.LATEST else MOST_JUDGED
    backlog, dropped = every[-most:], every[:-most]
    kept = bool(memory.backlog) and backlog[0] == memory.backlog[0]
    then = replace(memory, backlog=backlog, launched_at=memory.launched_at if kept else None)
    return then, () if policy.catch_up is CatchUp.LATEST else dropped


class CatchUpStep(Enum):
    """What to do about the first tick of the backlog."""

    LAUNCH = auto()
    WAIT = auto()
    DROP = auto()


def catch_up_step(
    memory: Memory, run: RunRecord | None, *, policy: Policy, enabled: bool, busy: bool, now: datetime
) -> CatchUpStep:
    """What to do about the first tick of the backlog. Ticks run one after the other.

    Args:
        memory: A memory with a backlog.
        run: The row of the first tick.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled.
        busy: True if another run of the job is RUNNING.
        now: Aware.
    """
    tick, policy_allows = memory.backlog[0], policy.catch_up is not CatchUp.NONE and not policy.suspend
    if run is None or not enabled or not policy_allows:
        return CatchUpStep.DROP
    if run.status is Status.RUNNING:
        return CatchUpStep.WAIT
    if never_started(run):
        if memory.launched_at is not None:
            return CatchUpStep.WAIT if now - memory.launched_at < _NO_SHOW else CatchUpStep.DROP
        if too_late(tick, policy.starting_deadline, now):
            return CatchUpStep.DROP
        return CatchUpStep.WAIT if busy else CatchUpStep.LAUNCH
    if isinstance(after_attempt(run, policy=policy, enabled=enabled), Relaunch):
        since = run.finished_at or now
        return CatchUpStep.WAIT if now - since < _PATIENCE_WITH_RETRIES else CatchUpStep.DROP
    return CatchUpStep.DROP


def why_dropped(memory: Memory, *, policy: Policy, enabled: bool) -> str | None:
    """Why the first tick is not caught up, if no task claimed it; None if a person has switched the job off."""
    if not enabled or policy.suspend or policy.catch_up is CatchUp.NONE:
        return None
    if memory.launched_at is not None:
        return f"its catch-up task did not claim it within {_NO_SHOW // timedelta(minutes=1)} minutes"
    return "its starting deadline has passed"


def first_done(memory: Memory) -> Memory:
    """The memory without the first tick of its backlog."""
    return replace(memory, backlog=memory.backlog[1:], launched_at=None)
