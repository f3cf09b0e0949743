"""Who gets a run, and what becomes of those that are late or lose an answer, through `Ledger`, on every store."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import (
    Claim,
    ConcurrencyPolicy,
    LeaseLostError,
    Policy,
    Reason,
    RecordUnreadableError,
    RefusalReason,
    Status,
    StopRequestedError,
    Trigger,
)
from cronce.client.observer import Observer
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.testing.conformance._claims import ALLOW, AROUND, DEAD, FORBID, TRUST, claim, standing, why, won
from cronce.testing.lossy_store import LossyStore
from cronce.testing.records import LEASE, PERIOD, TICK

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.testing.conformance.lab import Lab


# One winner, one success.


@pytest.mark.parametrize("policy", [ALLOW, FORBID])
def test_one_of_many_gets_the_run(lab: Lab, policy: Policy) -> None:
    """The others are told who has it."""
    mine = won(claim(lab, policy=policy))
    assert (mine.attempt, mine.fence, mine.record.owner) == (1, 1, "me")
    for number in range(4):
        refusal = claim(lab, f"other-{number}", policy=policy)
        assert why(refusal) is RefusalReason.RUNNING_ELSEWHERE
        assert "attempt 1 by me" in str(refusal)
    assert standing(lab) == mine.record


def test_a_success_is_never_repeated(lab: Lab) -> None:
    """Not by a machine, not by a person without a reason, and not past its retention (L6)."""
    won(claim(lab)).complete({"sent": 3100})
    done = standing(lab)
    assert (done.status, done.result) == (Status.SUCCEEDED, '{"sent":3100}')
    assert why(claim(lab)) is RefusalReason.ALREADY_SUCCEEDED
    assert why(claim(lab, trigger=Trigger.MANUAL)) is RefusalReason.ALREADY_SUCCEEDED
    assert done.expires_at is not None
    lab.clock.advance(done.expires_at - lab.clock.now() + timedelta(days=1))
    assert why(claim(lab)) is RefusalReason.ALREADY_SUCCEEDED
    assert standing(lab) == done


def test_a_row_long_past_its_retention_still_counts(lab: Lab) -> None:
    """DynamoDB deletes days late; decisions read the row, not its presence (L6)."""
    lab.put(
        {
            "job": lab.job,
            "key": f"run#{PERIOD}",
            "status": "SUCCEEDED",
            "version": 3,
            "token": "t",
            "expires_at": int((lab.clock.now() - timedelta(days=3)).timestamp()),
        }
    )
    assert why(claim(lab)) is RefusalReason.ALREADY_SUCCEEDED


def test_two_jobs_and_two_periods_do_not_meet(lab: Lab) -> None:
    """Under ALLOW, two periods of a job; under FORBID, one period of two jobs."""
    won(claim(lab, policy=ALLOW))
    won(claim(lab, policy=ALLOW, period="2026-11-30"))
    won(lab.ledger().claim(lab.job + "-2", PERIOD, policy=FORBID))


# The clock at, just before and just after a boundary.


@pytest.mark.parametrize(("past", "over"), AROUND)
def test_a_silent_owner_is_dead_just_after_lease_and_skew(lab: Lab, past: timedelta, over: bool) -> None:  # noqa: FBT001
    """Until then blocked, then attempt 2; retention plays no role (L3)."""
    won(claim(lab, "dead"))
    lab.clock.advance(LEASE + MAX_CLOCK_SKEW + past)
    answer = claim(lab)
    if over:
        mine = won(answer)
        assert (mine.attempt, mine.fence) == (2, 2)
        assert [(a.owner, a.status, a.reason) for a in mine.record.attempts] == [("dead", "FAILED", "lease_lost")]
    else:
        assert why(answer) is RefusalReason.RUNNING_ELSEWHERE


@pytest.mark.parametrize(("past", "lost"), [(-TICK, False), (timedelta(0), True), (TICK, True)])
def test_trust_is_over_at_four_fifths_of_the_lease(lab: Lab, past: timedelta, lost: bool) -> None:  # noqa: FBT001
    """Before anybody else may begin."""
    mine = won(claim(lab))
    lab.clock.advance(TRUST + past)
    assert (mine.trust_left == 0) is lost


@pytest.mark.parametrize("frozen_for", [TRUST, DEAD, timedelta(days=1)])
@pytest.mark.parametrize("policy", [ALLOW, FORBID])
def test_a_woken_owner_whose_run_nobody_took_renews_it_and_goes_on(
    lab: Lab, frozen_for: timedelta, policy: Policy
) -> None:
    """Its lease has expired, and its row still says that it holds the run."""
    mine = won(claim(lab, policy=policy))
    version = standing(lab).version
    lab.clock.advance(frozen_for)
    mine.check()
    assert (standing(lab), standing(lab).version) == (mine.record, version + 1)
    assert not mine.is_lost()
    assert why(claim(lab, "other", policy=policy)) is RefusalReason.RUNNING_ELSEWHERE
    mine.complete()
    assert (standing(lab).attempt, standing(lab).status) == (1, Status.SUCCEEDED)


@pytest.mark.parametrize("period", [PERIOD, "2026-11-30"])
def test_a_woken_owner_whose_run_was_taken_stops_and_changes_nothing(lab: Lab, period: str) -> None:
    """By the next attempt, or by another run of the job, which marked it lost."""
    old = won(claim(lab, "old"))
    lab.clock.advance(DEAD)
    won(claim(lab, "new", period=period))
    rows = [standing(lab), standing(lab, period)]
    for _ in range(2):
        with pytest.raises(LeaseLostError, match="it is now attempt"):
            old.check()
    old.give_up()
    assert [standing(lab), standing(lab, period)] == rows


def test_an_owner_that_gives_up_leaves_its_run_to_the_next_claim_at_once(lab: Lab) -> None:
    """FAILED(lease_lost), which counts as no failure; a released run stays released."""
    old = won(claim(lab, "old"))
    old.give_up()
    assert (standing(lab).status, standing(lab).reason, standing(lab).failures) == (Status.FAILED, "lease_lost", 0)
    new = won(claim(lab, "new"))
    assert (new.attempt, new.fence) == (2, 2)
    lab.ledger().release(lab.job, PERIOD, actor="ada", force=True)
    new.give_up()
    assert standing(lab).reason == "released"


@pytest.mark.parametrize(("past", "late"), AROUND)
def test_a_run_is_missed_just_after_its_starting_deadline(lab: Lab, past: timedelta, late: bool) -> None:  # noqa: FBT001
    """And the row says so."""
    scheduled_at = lab.clock.now()
    lab.clock.advance(timedelta(hours=1) + past)
    policy = Policy(starting_deadline=timedelta(hours=1))
    answer = claim(lab, policy=policy, scheduled_at=scheduled_at)
    if late:
        assert why(answer) is RefusalReason.TOO_LATE
        assert (standing(lab).status, standing(lab).reason) == (Status.MISSED, Reason.TOO_LATE)
        assert won(claim(lab, policy=policy, scheduled_at=scheduled_at, trigger=Trigger.BACKFILL)).attempt == 1
    else:
        won(answer)


def test_a_period_that_is_a_time_says_when_it_was_due(lab: Lab) -> None:
    """Then nobody has to say it again."""
    due = lab.clock.now() - timedelta(hours=2)
    answer = claim(lab, period=due.isoformat(), policy=Policy(starting_deadline=timedelta(hours=1)))
    assert why(answer) is RefusalReason.TOO_LATE


@pytest.mark.parametrize(("past", "over"), [(-TICK, False), (timedelta(0), True), (TICK, True)])
def test_an_attempt_is_asked_to_end_at_its_active_deadline(lab: Lab, past: timedelta, over: bool) -> None:  # noqa: FBT001
    """It still holds the run, and says how it ended."""
    mine = won(claim(lab, policy=Policy(active_deadline=timedelta(seconds=30))))
    lab.clock.advance(timedelta(seconds=30) + past)
    assert mine.stop_requested == (Reason.ACTIVE_DEADLINE if over else None)
    if over:
        with pytest.raises(StopRequestedError, match="active_deadline"):
            mine.check()
        mine.fail(reason=Reason.ACTIVE_DEADLINE)
        assert (standing(lab).reason, standing(lab).failures) == (Reason.ACTIVE_DEADLINE, 1)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_failures_are_retried_up_to_the_limit(lab: Lab, limit: int) -> None:
    """Attempts are one more than retries; then only a person."""
    policy = Policy(backoff_limit=limit)
    for attempt in range(1, limit + 2):
        mine = won(claim(lab, policy=policy))
        assert mine.attempt == attempt
        mine.fail("boom", exit_code=7)
    assert why(claim(lab, policy=policy)) is RefusalReason.ATTEMPTS_EXHAUSTED
    assert (standing(lab).failures, standing(lab).error, standing(lab).exit_code) == (limit + 1, "boom", 7)
    assert won(claim(lab, policy=policy, trigger=Trigger.MANUAL)).attempt == limit + 2


def test_interruptions_do_not_count(lab: Lab) -> None:
    """The next claim wins at once."""
    for attempt in range(1, 6):
        mine = won(claim(lab))
        assert mine.attempt == attempt
        mine.interrupt("Spot interruption")
        assert (standing(lab).reason, standing(lab).failures) == (Reason.INTERRUPTED, 0)


def test_a_job_longer_than_its_lease_is_safe_with_heartbeats(lab: Lab) -> None:
    """Ten lease lengths; a crash would have been found in one (L9)."""
    mine = won(claim(lab))
    for _ in range(40):
        lab.clock.advance(LEASE / 4)
        mine.heartbeat()
        assert why(claim(lab, "other")) is RefusalReason.RUNNING_ELSEWHERE
    mine.complete()
    assert (standing(lab).attempt, standing(lab).status) == (1, Status.SUCCEEDED)


@pytest.mark.parametrize("step", [timedelta(hours=-3), timedelta(hours=3)])
def test_a_stepped_wall_clock_changes_no_lease(lab: Lab, step: timedelta) -> None:
    """The holder counts on the monotonic clock."""
    mine = won(claim(lab))
    until = mine.trusted_until
    lab.clock.step(step)
    assert not mine.is_lost()
    lab.clock.advance(LEASE / 4)
    mine.heartbeat()
    assert mine.trusted_until == until + LEASE / 4


# The late finish.


@pytest.mark.parametrize("policy", [ALLOW, FORBID])
@pytest.mark.parametrize(
    "late",
    [
        lambda mine: mine.complete("mine"),
        lambda mine: mine.fail("mine"),
        lambda mine: mine.heartbeat(),
        lambda mine: mine.checkpoint(7),
    ],
    ids=["complete", "fail", "heartbeat", "checkpoint"],
)
@pytest.mark.parametrize("successor_is_done", [False, True])
def test_a_late_finish_does_not_complete_the_next_attempt(
    lab: Lab,
    policy: Policy,
    late: Callable[[Claim], None],
    successor_is_done: bool,  # noqa: FBT001  # a table's column
) -> None:
    """A paused owner wakes up after its successor began: refused, and the stored result stays (L7)."""
    paused = won(claim(lab, "paused", policy=policy))
    lab.clock.advance(DEAD)
    successor = won(claim(lab, "successor", policy=policy))
    if successor_is_done:
        successor.complete("theirs")
    before, slot = standing(lab), lab.store.get(lab.job, "slot")
    with pytest.raises(LeaseLostError):
        late(paused)
    assert standing(lab) == before
    assert lab.store.get(lab.job, "slot") == slot
    if not successor_is_done:
        successor.complete("theirs")
    assert (standing(lab).attempt, standing(lab).result) == (2, '"theirs"')


def test_a_late_finish_that_nobody_overtook_counts(lab: Lab) -> None:
    """The work is done, and nobody else began it: repeating it would be worse."""
    mine = won(claim(lab))
    lab.clock.advance(DEAD)
    mine.complete("late")
    assert (standing(lab).status, standing(lab).attempt) == (Status.SUCCEEDED, 1)


def test_a_success_outranks_the_observer_that_took_its_task_for_dead(lab: Lab) -> None:
    """Same attempt, same token: its owner knows better."""
    mine = won(claim(lab))
    marked = Observer(lab.ledger("recorder")).mark_stopped(
        lab.job, PERIOD, owner="me", exit_code=0, error="Essential container"
    )
    assert marked is not None
    assert (marked.status, marked.reason) == (Status.FAILED, Reason.TASK_STOPPED)
    mine.complete("mine")
    assert (standing(lab).status, standing(lab).result, standing(lab).reason) == (Status.SUCCEEDED, '"mine"', None)


def test_a_stopped_task_frees_its_job_at_once(lab: Lab) -> None:
    """No lease has to run out."""
    won(claim(lab, "task-1"))
    Observer(lab.ledger()).mark_stopped(lab.job, PERIOD, owner="another task")
    assert why(claim(lab)) is RefusalReason.RUNNING_ELSEWHERE
    Observer(lab.ledger()).mark_stopped(lab.job, PERIOD, owner="task-1", exit_code=137)
    assert won(claim(lab)).attempt == 2


# The lost answer.


@pytest.mark.parametrize("policy", [ALLOW, FORBID])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_lost_answer_never_costs_the_winner_its_run(lab: Lab, policy: Policy, times: int) -> None:
    """Claim, heartbeat, checkpoint and success: each lands once, and its owner knows (L1)."""
    lab.store = store = LossyStore(lab.store)

    def losing(act: Callable[[], Any]) -> Any:  # noqa: ANN401  # whatever it answers
        store.losing = times
        answer = act()
        assert store.losing == 0
        return answer

    mine: Claim = won(losing(lambda: claim(lab, policy=policy)))
    assert standing(lab) == mine.record
    losing(mine.heartbeat)
    losing(lambda: mine.checkpoint(7))
    losing(lambda: mine.complete("done"))
    assert standing(lab) == mine.record
    assert (standing(lab).status, standing(lab).attempt, standing(lab).version) == (Status.SUCCEEDED, 1, 4)


def test_a_lost_answer_of_a_failure_and_a_take_over(lab: Lab) -> None:
    """The next attempt begins once, and is its claimant's."""
    lab.store = store = LossyStore(lab.store)
    mine = won(claim(lab, policy=Policy(backoff_limit=1)))
    store.losing = 1
    mine.fail("boom")
    assert standing(lab).failures == 1
    store.losing = 2
    second = won(claim(lab, policy=Policy(backoff_limit=1)))
    assert (second.attempt, second.fence) == (2, 2)
    assert standing(lab) == second.record


def test_a_lost_answer_of_a_release_is_a_release(lab: Lab) -> None:
    """The person is not told that nothing was held."""
    won(claim(lab, "dead"))
    lab.clock.advance(DEAD)
    lab.store = store = LossyStore(lab.store)
    store.losing = 1
    assert isinstance(lab.ledger().release(lab.job, PERIOD, actor="ada"), RunRecord)


# The record without a lease, and other rows that cronce did not write.


def test_a_record_without_a_lease_is_never_taken_over_silently(lab: Lab) -> None:
    """A foreign writer's owner may live without a limit (L4); a person releases it."""
    lab.put({"job": lab.job, "key": f"run#{PERIOD}", "status": "RUNNING", "team": "growth"})
    for later in (timedelta(0), DEAD, timedelta(days=365)):
        lab.clock.advance(later)
        assert why(claim(lab)) is RefusalReason.HELD
        assert why(claim(lab, trigger=Trigger.MANUAL)) is RefusalReason.HELD
    assert standing(lab).owner == "unknown"
    released = lab.ledger().release(lab.job, PERIOD, actor="ada", note="it is dead")
    assert isinstance(released, RunRecord)
    mine = won(claim(lab))
    assert (mine.attempt, mine.record.extra) == (2, {"team": "growth"})


@pytest.mark.parametrize("attributes", [{"version": 0}, {"token": ""}, {"version": 0, "token": ""}, {"version": 5}])
def test_a_foreign_failure_is_taken_over(lab: Lab, attributes: dict[str, Any]) -> None:
    """Whatever it has of version and token."""
    lab.put({"job": lab.job, "key": f"run#{PERIOD}", "status": "FAILED"} | attributes)
    mine = won(claim(lab))
    mine.complete()
    assert (standing(lab).attempt, standing(lab).version) == (2, attributes.get("version", 0) + 2)


@pytest.mark.parametrize("key", [f"run#{PERIOD}", "slot"])
def test_a_row_of_a_newer_cronce_stops_the_work(lab: Lab, key: str) -> None:
    """Nothing starts, and the row stays as it is."""
    newer = {"job": lab.job, "key": key, "status": "RUNNING", "schema": 3, "version": 1, "token": "t"}
    lab.put(newer)
    with pytest.raises(RecordUnreadableError, match="schema 3 is newer"):
        claim(lab)
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, key)


def test_a_run_is_given_back_at_once_if_its_slot_cannot_be_read(lab: Lab) -> None:
    """It says why, counts as no failure, and the next claim wins as soon as the slot is right again."""
    lab.put({"job": lab.job, "key": "slot", "schema": 3, "version": 1, "token": "t"})
    with pytest.raises(RecordUnreadableError):
        claim(lab)
    run = standing(lab)
    assert (run.status, run.reason, run.failures, run.lease_until) == ("FAILED", "slot_unusable", 0, None)
    assert "schema 3 is newer" in str(run.error)
    lab.put({"job": lab.job, "key": "slot", "version": 1, "fence": 7})
    assert won(claim(lab)).fence == 8


@pytest.mark.parametrize("policy", [ConcurrencyPolicy.FORBID, ConcurrencyPolicy.WAIT, ConcurrencyPolicy.REPLACE])
def test_a_run_is_given_back_if_the_holder_of_its_slot_cannot_be_read(lab: Lab, policy: ConcurrencyPolicy) -> None:
    """It is unknown whether the holder is alive, so nothing starts beside it."""
    lab.put({"job": lab.job, "key": "slot", "version": 1, "fence": 7, "period": "other", "attempt": 1, "token": "t"})
    lab.put({"job": lab.job, "key": "run#other", "status": "RUNNING", "version": 1, "token": "t", "trigger": "moon"})
    with pytest.raises(RecordUnreadableError, match="attribute trigger"):
        claim(lab, policy=Policy(concurrency_policy=policy, lease=LEASE))
    assert (standing(lab).status, standing(lab).reason) == ("FAILED", "slot_unusable")


def test_the_ledger_lists_what_it_cannot_read(lab: Lab) -> None:
    """Beside all other rows; only the row itself cannot be had."""
    ledger = lab.ledger()
    lab.put({"job": lab.job, "key": "run#2", "status": "SUCCEEDED", "schema": 2, "version": 1, "token": "t"})
    lab.put({"job": lab.job, "key": "run#0#odd", "status": "DONE", "version": 1, "token": "t"})
    for period in ("1", "3"):
        won(claim(lab, period, period=period)).complete()
    assert [row.period for row in ledger.rows(lab.job)] == ["3", "2", "1", "0#odd"]
    assert [row.period for row in ledger.runs(lab.job)] == ["3", "1"]
    pages = [ledger.page(lab.job, limit=1)]
    while pages[-1].before is not None:
        pages.append(ledger.page(lab.job, limit=1, before=pages[-1].before))
    assert [row.period for page in pages for row in page.unreadable] == ["2", "0#odd"]
    with pytest.raises(RecordUnreadableError, match="schema 2 is newer"):
        ledger.run(lab.job, "2")
