"""May a person start this run now: the claim's answer, before a task is started for it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from cronce import Claim
from cronce.cli.actions.may_start import PeriodState, Refuse, Start, in_words, period_state
from cronce.ecs.eligibility import person_may_start
from cronce.operate.advice import Commands
from cronce.protocol.by_person import MayStart, decide_for_person
from cronce.protocol.claiming import Begin, decide
from cronce.protocol.records import RunRecord
from cronce.testing.ledger import InMemoryLedger
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from tests.support.builders import JOB, LEASE_IS_OVER_AT, PERIOD, T0, TICK, request, run

COMMANDS = Commands(JOB, PERIOD, has_schedules=True)
OTHER = "2026-11-28"


def asked(
    standing: RunRecord | None = None,
    holder: RunRecord | None = None,
    *,
    policy: Policy | None = None,
    force: bool = False,
    at: datetime = T0,
) -> Start | Refuse:
    """The answer to a person who asks at T0."""
    name = RunName.of(JOB, PERIOD, T0)
    decision = decide_for_person(standing, holder, name, policy=policy or Policy(), force=force, now=at)
    return in_words(decision, at, COMMANDS)


@pytest.mark.parametrize(
    ("standing", "attempt"),
    [
        (None, 1),
        (run(status=Status.FAILED, reason=Reason.EXIT_CODE, failures=9), 2),
        (run(status=Status.FAILED, reason=Reason.REPLACED), 2),
        (run(status=Status.FAILED, reason=Reason.LEASE_LOST), 2),
        (run(status=Status.FAILED, reason=Reason.LAUNCH_FAILED, attempt=0), 1),
        (run(status=Status.SKIPPED, reason=Reason.OVERLAP, attempt=3), 4),
        (run(status=Status.MISSED, reason=Reason.TOO_LATE, attempt=0), 1),
    ],
)
def test_a_run_that_did_not_succeed_may_be_started(standing: RunRecord | None, attempt: int) -> None:
    """Whatever the limits for machines are, and without force."""
    policy = Policy(starting_deadline=timedelta(seconds=1), suspend=True)
    answer = asked(standing, policy=policy, at=T0 + timedelta(days=1))
    assert answer == Start(run=standing)
    assert isinstance(answer, Start)
    assert answer.attempt == attempt


def test_a_success_is_repeated_by_force_alone() -> None:
    """And the answer without it has the command with it."""
    done = run(status=Status.SUCCEEDED)
    refused = asked(done)
    assert isinstance(refused, Refuse)
    assert (refused.reason, refused.wait_for) == ("ALREADY_SUCCEEDED", None)
    assert refused.command == f"cronce rerun --force --reason WHY {JOB} {PERIOD}"
    assert asked(done, force=True) == Start(run=done, forced=True)


def test_force_is_only_handed_on_where_it_is_needed() -> None:
    """Else a success that comes between the look and the start would be repeated."""
    failed = run(status=Status.FAILED, reason=Reason.EXIT_CODE)
    assert asked(failed, force=True) == Start(run=failed, forced=False)
    assert asked(None, force=True) == Start(run=None, forced=False)


def test_a_run_whose_work_may_be_done_is_held() -> None:
    """Its task ended with 0 without a claim: neither a rerun nor a backfill may repeat the work by default."""
    unclaimed = run(status=Status.FAILED, reason=Reason.UNCLAIMED, attempt=0, exit_code=0)
    refused = asked(unclaimed)
    assert isinstance(refused, Refuse)
    assert (refused.reason, refused.wait_for) == ("HELD", None)
    assert "the work may be done" in refused.why
    assert refused.command == f"cronce release --reason WHY {JOB} {PERIOD}"
    assert asked(unclaimed, force=True) == Start(run=unclaimed, forced=True)


@pytest.mark.parametrize("force", [False, True])
def test_a_living_owner_is_never_disturbed(*, force: bool) -> None:
    """The answer says who it is, and is the run to wait for; just after the lease it is free."""
    refused = asked(run(owner="host:7"), force=force, at=LEASE_IS_OVER_AT)
    assert isinstance(refused, Refuse)
    assert (refused.reason, refused.wait_for) == ("RUNNING_ELSEWHERE", run(owner="host:7"))
    assert "attempt 1 by host:7" in refused.why
    assert asked(run(), at=LEASE_IS_OVER_AT + TICK) == Start(run=run())


def test_a_held_run_waits_for_a_release_or_a_reason() -> None:
    """Under HOLD after a crash; without a lease nothing but a release helps."""
    held = run(status=Status.FAILED, reason=Reason.LEASE_LOST)
    hold = Policy(on_lost=OnLost.HOLD)
    refused = asked(held, policy=hold)
    assert isinstance(refused, Refuse)
    assert (refused.reason, refused.wait_for) == ("HELD", None)
    assert refused.command == f"cronce release --reason WHY {JOB} {PERIOD}"
    assert asked(held, policy=hold, force=True) == Start(run=held, forced=True)
    foreign = asked(run(lease_until=None), force=True)
    assert isinstance(foreign, Refuse)
    assert (foreign.reason, foreign.wait_for) == ("HELD", None)


@pytest.mark.parametrize(
    ("policy", "refused", "remark"),
    [
        (ConcurrencyPolicy.FORBID, True, ""),
        (ConcurrencyPolicy.ALLOW, False, ""),
        (ConcurrencyPolicy.WAIT, False, "It will wait for 2026-11-28"),
        (ConcurrencyPolicy.REPLACE, False, "It will stop 2026-11-28"),
    ],
)
def test_another_run_at_work_counts_as_the_policy_says(
    policy: ConcurrencyPolicy, remark: str, *, refused: bool
) -> None:
    """As the slot would: no task is started only to be skipped."""
    at_work = run(period=OTHER, scheduled_at=T0 - timedelta(days=1))
    answer = asked(None, at_work, policy=Policy(concurrency_policy=policy))
    if refused:
        assert isinstance(answer, Refuse)
        assert (answer.reason, answer.wait_for) == ("OVERLAPPING", at_work)
        assert "2026-11-28, attempt 1 by other" in answer.why
    else:
        assert isinstance(answer, Start)
        assert answer.remark.startswith(remark)
        assert bool(answer.remark) == bool(remark)


def test_a_later_run_is_not_replaced_by_an_earlier_one() -> None:
    """As in the protocol: REPLACE then steps back."""
    later = run(period="2026-11-30", scheduled_at=T0 + timedelta(days=1))
    assert isinstance(asked(None, later, policy=Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)), Refuse)


def test_a_dead_holder_blocks_no_start() -> None:
    """Its slot is taken over; just before that it counts."""
    dead = run(period=OTHER)
    assert isinstance(asked(None, dead, at=LEASE_IS_OVER_AT), Refuse)
    assert asked(None, dead, at=LEASE_IS_OVER_AT + TICK) == Start(run=None)


def test_a_holder_without_a_lease_is_not_waited_for() -> None:
    """Its row never changes by itself."""
    refused = asked(None, run(period=OTHER, lease_until=None))
    assert isinstance(refused, Refuse)
    assert refused.wait_for is None


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("reason", [None, Reason.LEASE_LOST, Reason.REPLACED, Reason.INTERRUPTED, Reason.LAUNCH_FAILED])
@pytest.mark.parametrize("on_lost", list(OnLost))
def test_the_answer_is_the_one_that_the_task_would_get(status: Status, reason: str | None, on_lost: OnLost) -> None:
    """Over every state: started exactly where the claim begins an attempt."""
    standing = run(status=status, reason=reason)
    policy = Policy(on_lost=on_lost)
    claimed = decide(request(policy=policy, trigger=Trigger.MANUAL), standing, T0)
    assert isinstance(asked(standing, policy=policy), Start) == isinstance(claimed, Begin)


@pytest.mark.parametrize(
    ("standing", "on_lost", "expected"),
    [
        (None, OnLost.RETRY, PeriodState.MISSING),
        (run(status=Status.SUCCEEDED), OnLost.RETRY, PeriodState.DONE),
        (run(lease_until=T0), OnLost.RETRY, PeriodState.RUNNING),
        (run(lease_until=T0 - timedelta(seconds=6)), OnLost.RETRY, PeriodState.LOST),
        (run(lease_until=T0 - timedelta(seconds=6)), OnLost.HOLD, PeriodState.HELD),
        (run(lease_until=None), OnLost.RETRY, PeriodState.HELD),
        (run(status=Status.FAILED, reason=Reason.EXIT_CODE), OnLost.HOLD, PeriodState.FAILED),
        (run(status=Status.FAILED, reason=Reason.TASK_STOPPED), OnLost.RETRY, PeriodState.LOST),
        (run(status=Status.FAILED, reason=Reason.TASK_STOPPED), OnLost.HOLD, PeriodState.HELD),
        (run(status=Status.FAILED, reason=Reason.UNCLAIMED), OnLost.RETRY, PeriodState.HELD),
        (run(status=Status.SKIPPED, reason=Reason.OVERLAP), OnLost.RETRY, PeriodState.SKIPPED),
        (run(status=Status.MISSED, reason=Reason.NEVER_DELIVERED), OnLost.RETRY, PeriodState.MISSED),
    ],
)
def test_a_plan_shows_one_state_per_period(standing: RunRecord | None, on_lost: OnLost, expected: PeriodState) -> None:
    """For the plan of a backfill."""
    assert period_state(standing, on_lost, T0) is expected


GROUPED = Policy(exclusion_group="billing")


class AJob:
    """A job of the group, as its schedule defines it."""

    job = JOB
    policy = GROUPED

    def tick_of(self, period: str) -> None:
        """No period has one."""
        del period


def test_a_run_of_another_job_of_the_group_is_in_the_way_also_with_the_same_period() -> None:
    """It is named with its job, before a task is started for nothing."""
    ledger = InMemoryLedger()
    close = ledger.claim("daily-close", PERIOD, policy=GROUPED)
    assert isinstance(close, Claim)
    now = close.record.claimed_at
    assert now is not None
    decision = person_may_start(ledger, AJob(), PERIOD, force=False, now=now)
    answer = in_words(decision, now, COMMANDS)
    assert isinstance(answer, Refuse)
    assert answer.why.startswith(f"a run of its exclusion group is active: daily-close {PERIOD}, attempt 1 by test")
    assert answer.command == f"cronce show daily-close {PERIOD}"
    assert answer.wait_for == close.record
    close.complete()
    assert isinstance(person_may_start(ledger, AJob(), PERIOD, force=False, now=now), MayStart)


def test_who_may_not_read_the_group_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A role that is limited to one job; the claim of the task decides."""
    ledger = InMemoryLedger()

    def denied(_group: str) -> None:
        raise LedgerUnavailableError("the table", "AccessDeniedException", transient=False)

    monkeypatch.setattr(ledger, "holder_of_group", denied)
    assert isinstance(person_may_start(ledger, AJob(), PERIOD, force=False, now=T0), MayStart)
