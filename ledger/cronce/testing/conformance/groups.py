"""Exclusion groups, through `Ledger`, on every store: runs of the jobs of one group never overlap."""

from __future__ import annotations

import threading
import uuid
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, ConcurrencyPolicy, LeaseLostError, Policy, Reason, Refusal, RefusalReason, Status
from cronce.protocol.records import GroupSlotRecord
from cronce.testing.conformance._claims import DEAD, why, won
from cronce.testing.records import LEASE, PERIOD
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import group_key

if TYPE_CHECKING:
    from cronce.testing.conformance.lab import Lab


class _Group:
    """Two jobs of one group that no other test has."""

    def __init__(self, lab: Lab, policy: ConcurrencyPolicy = ConcurrencyPolicy.FORBID) -> None:
        self.name = f"group-{uuid.uuid4().hex[:12]}"
        self.lab = lab
        self.policy = Policy(concurrency_policy=policy, exclusion_group=self.name)

    def claim(self, job: str, period: str = PERIOD) -> Claim | Refusal:
        """What a run of the test's job, or of another one, gets."""
        return self.lab.ledger(job).claim(self.job(job), period, policy=self.policy)

    def job(self, name: str) -> str:
        """The whole name of the job."""
        return f"{self.lab.job}-{name}"

    @property
    def slot(self) -> GroupSlotRecord:
        """The group's row."""
        record = self.lab.store.get(group_key(self.name), "slot")
        assert isinstance(record, GroupSlotRecord)
        return record


def test_runs_of_two_jobs_of_a_group_never_overlap(lab: Lab) -> None:
    """The second is SKIPPED and says which run was at work; afterwards the group is free, with the next fence."""
    group = _Group(lab)
    close = won(group.claim("close"))
    assert why(group.claim("bills")) is RefusalReason.OVERLAPPING
    skipped = lab.ledger().run(group.job("bills"), PERIOD)
    assert skipped is not None
    assert (skipped.status, skipped.reason, skipped.attempt) == (Status.SKIPPED, Reason.OVERLAP, 0)
    assert (skipped.blocked_by_job, skipped.blocked_by) == (group.job("close"), PERIOD)
    assert (group.slot.of_job, group.slot.token) == (group.job("close"), close.record.token)
    close.complete()
    assert (group.slot.of_job, group.slot.period, group.slot.lease_until) == (None, None, None)
    bills = won(group.claim("bills", "2026-11-30"))
    assert bills.fence > close.fence


def test_groups_and_jobs_without_one_do_not_know_each_other(lab: Lab) -> None:
    """Each has its own row."""
    one, other = _Group(lab), _Group(lab)
    won(one.claim("close"))
    won(other.claim("bills"))
    won(lab.ledger().claim(lab.job, PERIOD))


def test_the_group_of_a_dead_run_is_free_when_its_lease_has_expired(lab: Lab) -> None:
    """The other job's row is left to its own observers; its owner finds that it has lost the group."""
    group = _Group(lab)
    dead = won(group.claim("close"))
    lab.clock.advance(LEASE)
    assert why(group.claim("bills")) is RefusalReason.OVERLAPPING
    lab.clock.advance(DEAD - LEASE)
    bills = won(group.claim("bills", "2026-11-30"))
    assert lab.ledger().run(group.job("close"), PERIOD) == dead.record
    with pytest.raises(LeaseLostError, match="its exclusion group is now held by"):
        dead.heartbeat()
    dead.give_up()
    assert group.slot.token == bills.record.token


def test_a_group_is_held_for_as_long_as_its_holder_renews(lab: Lab) -> None:
    """Longer than any lease; a waiting run starts when it is free."""
    group = _Group(lab, ConcurrencyPolicy.WAIT)
    close = won(group.claim("close"))

    def beat() -> None:
        lab.clock.advance(LEASE / 4)
        close.heartbeat()

    lab.clock.meanwhile(*[beat] * 12, close.complete)
    bills = won(group.claim("bills"))
    assert (group.slot.of_job, bills.is_lost()) == (group.job("bills"), False)


def test_one_of_many_jobs_of_a_group_starts(lab: Lab) -> None:
    """At the same moment, each in its own process."""
    lab.needs_atomicity()
    group = _Group(lab)
    ready, answers = threading.Barrier(6), list[Claim | Refusal]()

    def start(number: int) -> None:
        ready.wait()
        answers.append(group.claim(f"job-{number}"))

    threads = [threading.Thread(target=start, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [isinstance(answer, Claim) for answer in answers].count(True) == 1
    assert {answer.reason for answer in answers if isinstance(answer, Refusal)} == {RefusalReason.OVERLAPPING}


def test_a_group_of_a_newer_version_starts_nothing(lab: Lab) -> None:
    """Its row cannot be read: the run is given back at once, and its job is free."""
    group = _Group(lab)
    lab.put({"job": group_key(group.name), "key": "slot", "version": 1, "schema": 4, "fence": 1})
    with pytest.raises(LedgerUnavailableError):
        group.claim("close")
    run = lab.ledger().run(group.job("close"), PERIOD)
    assert run is not None
    assert (run.status, run.reason) == (Status.FAILED, Reason.SLOT_UNUSABLE)
    won(lab.ledger().claim(group.job("close"), "2026-11-30"))
