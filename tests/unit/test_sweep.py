"""Which runs a sweep takes up, when, and what it leaves alone."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import (
    Claim,
    ConcurrencyPolicy,
    Ledger,
    OnLost,
    Policy,
    Reason,
    Refusal,
    Status,
    Trigger,
)
from cronce.client.observer import Observer
from cronce.guard.child import Ended, Ending
from cronce.guard.sweep import BETWEEN_DEEP_LOOKS, FEW, Sweep
from cronce.protocol.records import MAX_CLOCK_SKEW
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock

if TYPE_CHECKING:
    from cronce.protocol.records import RunRecord

JOB = "daily-digest"
POLICY = Policy(lease=timedelta(seconds=20))
OVER = POLICY.lease + MAX_CLOCK_SKEW + timedelta(milliseconds=1)
GO = threading.Event()
"""Never set: nobody asks the sweep to stop."""


class World:
    """A ledger in memory, and a sweep whose command always succeeds."""

    def __init__(self, policy: Policy = POLICY, *, most: int = 20) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore()
        self.ledger = Ledger(self.store, policy=policy, owner="other", clock=self.clock)
        self.policy = policy
        self.taken: list[str] = []
        self.exit_code = 0
        self.sweep = Sweep(self.ledger, lambda: [JOB], policy=policy, take_up=self.take_up, clock=self.clock, most=most)

    def take_up(self, run: RunRecord) -> Ended | Refusal:
        """Claim the run as a retry, and end it."""
        claim = self.ledger.claim(run.job, run.period, scheduled_at=run.scheduled_at, trigger=Trigger.RETRY)
        if isinstance(claim, Refusal):
            return claim
        self.taken.append(run.period)
        if self.exit_code:
            claim.fail(exit_code=self.exit_code)
        else:
            claim.complete()
        return Ended(Ending.ITSELF, self.exit_code)

    def claim(self, period: str, policy: Policy | None = None) -> Claim:
        """A claim of the period, by a process that then dies or ends."""
        claim = self.ledger.claim(JOB, period, policy=policy or self.policy)
        assert isinstance(claim, Claim)
        return claim

    def row(self, period: str) -> tuple[Status, str | None, int]:
        """Status, reason and attempt."""
        run = self.ledger.run(JOB, period)
        assert run is not None
        return run.status, run.reason, run.attempt

    def swept(self) -> list[str]:
        """What one pass took up."""
        before = len(self.taken)
        self.sweep.once(GO)
        return self.taken[before:]


def test_a_run_whose_owner_died_is_taken_over_when_its_lease_has_expired_and_not_before() -> None:
    """Lease plus clock skew after the last heartbeat; one pass marks it and takes it over."""
    world = World()
    world.claim("a")
    world.clock.advance(OVER - timedelta(milliseconds=1))
    assert world.swept() == []
    assert world.row("a") == (Status.RUNNING, None, 1)
    world.clock.advance(timedelta(milliseconds=1))
    assert world.swept() == ["a"]
    assert world.row("a") == (Status.SUCCEEDED, None, 2)


def test_the_delay_of_a_crash_counts_from_the_last_heartbeat() -> None:
    """With a lease shorter than ten seconds, the delay and not the lease decides."""
    world = World(Policy(lease=timedelta(seconds=2)))
    world.claim("a")
    world.clock.advance(timedelta(seconds=8))
    assert world.swept() == []
    assert world.row("a") == (Status.FAILED, Reason.LEASE_LOST, 1)
    world.clock.advance(timedelta(seconds=2))
    assert world.swept() == ["a"]


def test_a_failed_run_is_tried_again_after_its_delay_within_the_limit() -> None:
    """10 s, 20 s, and then no more."""
    world = World(Policy(backoff_limit=2))
    world.claim("a").fail(exit_code=1)
    world.exit_code = 1
    for seconds in (10, 20):
        world.clock.advance(timedelta(seconds=seconds - 1))
        assert world.swept() == []
        world.clock.advance(timedelta(seconds=1))
        assert world.swept() == ["a"]
    world.clock.advance(timedelta(days=1))
    assert world.swept() == []
    assert world.row("a") == (Status.FAILED, Reason.ERROR, 3)


def test_what_is_not_for_a_machine_is_left_alone() -> None:
    """Succeeded, skipped, missed, paused, exhausted, interrupted by a newer run, released by a person."""
    world = World(Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))
    world.claim("done").complete()
    world.claim("exhausted").fail(exit_code=1)
    Observer(world.ledger).mark_missed(JOB, "missed", reason=Reason.NEVER_DELIVERED, scheduled_at=None)
    assert not world.ledger.claim(JOB, "paused", policy=Policy(suspend=True))
    world.claim("replaced").fail(reason=Reason.REPLACED)
    world.claim("released")
    world.ledger.release(JOB, "released", actor="ada", force=True)
    world.clock.advance(timedelta(days=1))
    assert world.swept() == []


@pytest.mark.parametrize(
    "policy",
    [Policy(on_lost=OnLost.HOLD), Policy(suspend=True)],
    ids=["held", "paused"],
)
def test_a_run_that_no_machine_takes_over_is_still_not_left_running(
    policy: Policy, capsys: pytest.CaptureFixture[str]
) -> None:
    """FAILED(lease_lost), and the line says why it stays so."""
    world = World(policy)
    world.claim("a", POLICY)
    world.clock.advance(timedelta(minutes=2))
    assert world.swept() == []
    assert world.row("a") == (Status.FAILED, Reason.LEASE_LOST, 1)
    assert '"cronce.event": "run_lost"' in capsys.readouterr().err


def test_a_retry_waits_while_another_run_of_the_job_is_alive() -> None:
    """A claim beside it would end as SKIPPED, which is final."""
    world = World(Policy(backoff_limit=1))
    world.claim("a").fail(exit_code=1)
    other = world.claim("b")
    world.clock.advance(timedelta(seconds=30))
    assert world.swept() == []
    other.complete()
    assert world.swept() == ["a"]


@pytest.mark.parametrize("overlap", [ConcurrencyPolicy.FORBID, ConcurrencyPolicy.ALLOW])
def test_a_retry_waits_while_the_job_is_paused(overlap: ConcurrencyPolicy) -> None:
    """The claim of a machine would turn it into SKIPPED(paused), which is final."""
    world = World(Policy(backoff_limit=1, concurrency_policy=overlap))
    world.claim("a").fail(exit_code=1)
    world.clock.advance(timedelta(seconds=30))
    world.ledger.pause(JOB, actor="ada", why="the mail server moves")
    assert world.swept() == []
    assert world.row("a") == (Status.FAILED, Reason.ERROR, 1)
    world.ledger.resume(JOB)
    assert world.swept() == ["a"]


def test_under_allow_a_retry_does_not_wait() -> None:
    """Runs may overlap."""
    world = World(Policy(backoff_limit=1, concurrency_policy=ConcurrencyPolicy.ALLOW))
    world.claim("a").fail(exit_code=1)
    world.claim("b")
    world.clock.advance(timedelta(seconds=30))
    assert world.swept() == ["a"]


def test_a_pass_is_bounded_and_the_next_one_goes_on() -> None:
    """The one that has been due for longest comes first."""
    world = World(Policy(backoff_limit=1), most=2)
    for period in "cab":
        world.claim(period).fail(exit_code=1)
        world.clock.advance(timedelta(seconds=1))
    world.clock.advance(timedelta(seconds=10))
    assert [world.swept(), world.swept(), world.swept()] == [["c", "a"], ["b"], []]


def test_a_row_beyond_the_newest_is_found_by_the_first_pass_and_every_ten_minutes() -> None:
    """In between, a pass reads a hundred rows."""
    world = World(Policy(backoff_limit=1))
    assert world.swept() == []
    world.claim("000").fail(exit_code=1)
    for n in range(1, FEW + 1):
        world.claim(f"{n:03}").complete()
    world.clock.advance(timedelta(minutes=1))
    assert world.swept() == []
    world.clock.advance(BETWEEN_DEEP_LOOKS)
    assert world.swept() == ["000"]


def test_one_bad_row_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    """Not one of a newer version, which is reported once, and not one that fails in a way that nobody foresaw."""
    world = World(Policy(backoff_limit=1))
    for period in ("newer", "odd", "good"):
        world.claim(period).fail(exit_code=1)
        world.clock.advance(timedelta(seconds=1))
    world.store._items[JOB, "run#newer"]["schema"] = 2
    world.clock.advance(timedelta(seconds=10))

    def take_up(run: RunRecord) -> Ended | Refusal:
        if run.period == "odd":
            raise OSError("no descriptor left")
        return world.take_up(run)

    sweep = Sweep(world.ledger, lambda: [JOB], policy=world.policy, take_up=take_up, clock=world.clock, most=20)
    assert sweep.once(GO) is False
    assert world.taken == ["good"]
    assert sweep.once(GO) is True
    said = capsys.readouterr().err
    assert said.count("row_unreadable") == 1
    assert said.count("no descriptor left") == 1


def test_a_refused_run_is_not_asked_for_again_until_its_row_changes() -> None:
    """Each claim costs a request, and a line in the log."""
    world = World(Policy(backoff_limit=1))
    world.claim("a").fail(exit_code=1)
    world.clock.advance(timedelta(seconds=10))
    asked: list[str] = []

    def refuse(run: RunRecord) -> Refusal:
        asked.append(run.period)
        answer = world.ledger.claim(JOB, "a", policy=Policy(backoff_limit=0))
        assert isinstance(answer, Refusal)
        return answer

    sweep = Sweep(world.ledger, lambda: [JOB], policy=world.policy, take_up=refuse, clock=world.clock, most=20)
    assert sweep.once(GO) is True
    assert sweep.once(GO) is True
    assert asked == ["a"]
