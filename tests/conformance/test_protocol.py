"""The protocol through `Ledger`, on every store."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import (
    Claim,
    ConcurrencyPolicy,
    LeaseLostError,
    OnLost,
    Policy,
    Reason,
    RecordUnreadableError,
    Refusal,
    RefusalReason,
    Status,
    StopRequestedError,
    Trigger,
)
from cronce.protocol.observing import NotReleased
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord, SlotRecord
from cronce.vocabulary.payloads import MAX_JSON_BYTES
from tests.support.lossy_store import LossyStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.stores import Lab

PERIOD = "2026-11-29"
LEASE = timedelta(seconds=60)
TRUST = LEASE * 4 / 5
TICK = timedelta(milliseconds=1)
DEAD = LEASE + MAX_CLOCK_SKEW + TICK
"""So long after its claim a silent owner counts as dead."""

ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)
FORBID = Policy()
AROUND = [(-TICK, False), (timedelta(0), False), (TICK, True)]
"""Just before a boundary, at it, and just after it: beyond it only then."""


def won(answer: Claim | Refusal) -> Claim:
    """The claim."""
    assert isinstance(answer, Claim), str(answer)
    return answer


def why(answer: Claim | Refusal) -> RefusalReason:
    """The reason of the refusal."""
    assert isinstance(answer, Refusal)
    return answer.reason


def standing(lab: Lab, period: str = PERIOD) -> RunRecord:
    """The run as it stands."""
    record = lab.ledger().run(lab.job, period)
    assert record is not None
    return record


def claim(lab: Lab, owner: str = "me", *, period: str = PERIOD, **options: Any) -> Claim | Refusal:  # noqa: ANN401
    """What that owner gets."""
    return lab.ledger(owner).claim(lab.job, period, **options)


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
    assert mine.lost is lost
    if lost:
        with pytest.raises(LeaseLostError, match="could not be renewed in time"):
            mine.check()
    else:
        mine.check()


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
    assert not mine.lost
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
    marked = lab.ledger("recorder").mark_stopped(lab.job, PERIOD, owner="me", exit_code=0, error="Essential container")
    assert marked is not None
    assert (marked.status, marked.reason) == (Status.FAILED, Reason.TASK_STOPPED)
    mine.complete("mine")
    assert (standing(lab).status, standing(lab).result, standing(lab).reason) == (Status.SUCCEEDED, '"mine"', None)


def test_a_stopped_task_frees_its_job_at_once(lab: Lab) -> None:
    """No lease has to run out."""
    won(claim(lab, "task-1"))
    lab.ledger().mark_stopped(lab.job, PERIOD, owner="another task")
    assert why(claim(lab)) is RefusalReason.RUNNING_ELSEWHERE
    lab.ledger().mark_stopped(lab.job, PERIOD, owner="task-1", exit_code=137)
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
    """A foreign writer's owner may live for ever (L4); a person releases it."""
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
    newer = {"job": lab.job, "key": key, "status": "RUNNING", "schema": 2, "version": 1, "token": "t"}
    lab.put(newer)
    with pytest.raises(RecordUnreadableError, match="schema 2 is newer"):
        claim(lab)
    with pytest.raises(RecordUnreadableError):
        lab.store.get(lab.job, key)


def test_a_run_is_given_back_at_once_if_its_slot_cannot_be_read(lab: Lab) -> None:
    """It says why, counts as no failure, and the next claim wins as soon as the slot is right again."""
    lab.put({"job": lab.job, "key": "slot", "schema": 2, "version": 1, "token": "t"})
    with pytest.raises(RecordUnreadableError):
        claim(lab)
    run = standing(lab)
    assert (run.status, run.reason, run.failures, run.lease_until) == ("FAILED", "slot_unusable", 0, None)
    assert "schema 2 is newer" in str(run.error)
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


# Overlaps.


def test_forbid_skips_the_run_that_overlaps(lab: Lab) -> None:
    """It says which run was at work, and a later claim of its period may still run."""
    yesterday = won(claim(lab, "yesterday", period="2026-11-28"))
    assert why(claim(lab)) is RefusalReason.OVERLAPPING
    skipped = standing(lab)
    assert (skipped.status, skipped.reason, skipped.blocked_by) == (Status.SKIPPED, Reason.OVERLAP, "2026-11-28")
    yesterday.complete()
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.fence) == (None, 1)
    mine = won(claim(lab))
    assert (mine.attempt, mine.fence) == (1, 2)  # the skipped claim started nothing


def test_forbid_marks_a_dead_holder_and_takes_the_job(lab: Lab) -> None:
    """Its late heartbeat then fails."""
    dead = won(claim(lab, "dead", period="2026-11-28"))
    lab.clock.advance(DEAD)
    mine = won(claim(lab))
    assert (standing(lab, "2026-11-28").status, standing(lab, "2026-11-28").reason) == (Status.FAILED, "lease_lost")
    assert mine.fence == 2
    with pytest.raises(LeaseLostError):
        dead.heartbeat()


def test_a_late_success_of_a_dead_holder_leaves_the_job_to_its_successor(lab: Lab) -> None:
    """Its own run succeeded, and nobody repeats it; the slot is not its own any more."""
    dead = won(claim(lab, "dead", period="2026-11-28"))
    lab.clock.advance(DEAD)
    mine = won(claim(lab))
    slot = lab.store.get(lab.job, "slot")
    dead.complete()
    assert standing(lab, "2026-11-28").status is Status.SUCCEEDED
    assert lab.store.get(lab.job, "slot") == slot
    mine.complete()


def test_allow_lets_runs_of_a_job_overlap(lab: Lab) -> None:
    """The attempt is then the fence."""
    one = won(claim(lab, policy=ALLOW))
    two = won(claim(lab, policy=ALLOW, period="2026-11-30"))
    assert (one.fence, two.fence) == (1, 1)
    slot = lab.store.get(lab.job, "slot")
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.fence, slot.mode) == (None, 0, "ALLOW")
    one.complete()
    two.complete()


def test_wait_starts_when_the_holder_is_done(lab: Lab) -> None:
    """And not before."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    lab.clock.meanwhile(holder.heartbeat, holder.heartbeat, holder.complete)
    mine = won(claim(lab, policy=Policy(concurrency_policy=ConcurrencyPolicy.WAIT)))
    assert lab.clock.waits == [2.0, 2.0, 2.0]
    assert standing(lab, "2026-11-28").status is Status.SUCCEEDED
    assert (mine.fence, mine.lost) == (2, False)


def test_wait_gives_up_at_the_starting_deadline(lab: Lab) -> None:
    """The run is MISSED, blocked by the holder; its own lease was kept alive so long."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    scheduled_at = lab.clock.now()
    lab.clock.meanwhile(*[holder.heartbeat] * 60)
    policy = Policy(concurrency_policy=ConcurrencyPolicy.WAIT, starting_deadline=timedelta(seconds=90))
    assert why(claim(lab, policy=policy, scheduled_at=scheduled_at)) is RefusalReason.TOO_LATE
    assert timedelta(seconds=90) < lab.clock.now() - scheduled_at < timedelta(seconds=93)
    missed = standing(lab)
    assert (missed.status, missed.reason, missed.blocked_by) == (Status.MISSED, Reason.TOO_LATE, "2026-11-28")
    holder.complete()


def test_replace_asks_the_holder_and_starts_when_it_is_gone(lab: Lab) -> None:
    """The two never overlap, and the attempt that was replaced does not count."""
    holder = won(claim(lab, "holder", period="2026-11-28"))
    asked: list[Reason | None] = []

    def notice() -> None:
        holder.heartbeat()
        asked.append(holder.stop_requested)

    lab.clock.meanwhile(notice, lambda: holder.fail(reason=Reason.REPLACED))
    mine = won(claim(lab, policy=Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)))
    assert asked == [Reason.REPLACED]
    replaced = standing(lab, "2026-11-28")
    assert (replaced.status, replaced.reason, replaced.failures) == (Status.FAILED, Reason.REPLACED, 0)
    assert replaced.cancel_requested == f"replaced by {PERIOD}"
    assert mine.fence == 2


def test_a_suspended_job_skips_its_ticks(lab: Lab) -> None:
    """A person may run it all the same."""
    policy = Policy(suspend=True)
    assert why(claim(lab, policy=policy)) is RefusalReason.SUSPENDED
    assert (standing(lab).status, standing(lab).reason) == (Status.SKIPPED, Reason.SUSPENDED)
    assert won(claim(lab, policy=policy, trigger=Trigger.MANUAL)).attempt == 1


# A person's part.


def test_a_crash_under_hold_waits_for_a_person(lab: Lab) -> None:
    """Not taken over by the clock, nor by a retry; then released, with the actor recorded (L5)."""
    policy = Policy(on_lost=OnLost.HOLD, backoff_limit=5)
    won(claim(lab, "dead", policy=policy))
    assert lab.ledger().release(lab.job, PERIOD, actor="ada") is NotReleased.STILL_RUNNING
    lab.clock.advance(DEAD)
    for trigger in Trigger:
        assert why(claim(lab, policy=policy, trigger=trigger)) is RefusalReason.HELD
    released = lab.ledger().release(lab.job, PERIOD, actor="ada", note="no mail had gone out")
    assert isinstance(released, RunRecord)
    assert (released.actor, released.note, released.status) == ("ada", "no mail had gone out", Status.FAILED)
    assert won(claim(lab, policy=policy)).attempt == 2


def test_a_failure_under_hold_is_retried(lab: Lab) -> None:
    """It is known how far it got: only a crash waits."""
    policy = Policy(on_lost=OnLost.HOLD, backoff_limit=1)
    won(claim(lab, policy=policy)).fail("boom")
    assert won(claim(lab, policy=policy)).attempt == 2


def test_what_is_not_held_is_not_released(lab: Lab) -> None:
    """No run, and a run that is done."""
    assert lab.ledger().release(lab.job, PERIOD, actor="ada") is NotReleased.NO_SUCH_RUN
    won(claim(lab)).complete()
    assert lab.ledger().release(lab.job, PERIOD, actor="ada", force=True) is NotReleased.NOT_HELD
    assert standing(lab).status is Status.SUCCEEDED


def test_a_run_taken_by_force_is_lost_to_its_owner(lab: Lab) -> None:
    """It fails at its next heartbeat."""
    mine = won(claim(lab))
    assert isinstance(lab.ledger().release(lab.job, PERIOD, actor="ada", force=True), RunRecord)
    with pytest.raises(LeaseLostError, match="released"):
        mine.heartbeat()
    assert mine.lost


def test_a_forced_rerun_keeps_the_earlier_attempts(lab: Lab) -> None:
    """And is recorded with its reason and its person."""
    first = won(claim(lab, "first"))
    first.checkpoint(3100)
    first.complete({"sent": 3100})
    again = won(claim(lab, "again", trigger=Trigger.MANUAL, force="wrong template", actor="ada"))
    assert (again.attempt, again.resume_from) == (2, None)
    again.complete({"sent": 3101})
    done = standing(lab)
    assert (done.note, done.actor, done.result) == ("wrong template", "ada", '{"sent":3101}')
    assert [(past.attempt, past.status, past.owner) for past in done.attempts] == [(1, Status.SUCCEEDED, "first")]


# What a job stores.


def test_the_next_attempt_resumes_from_the_last_checkpoint(lab: Lab) -> None:
    """After a crash, whatever JSON it is."""
    first = won(claim(lab, "first"))
    assert first.resume_from is None
    for cursor in (0, "Grüße", {"batch": [1, 2]}):
        first.checkpoint(cursor)
        assert first.resume_from == cursor
    lab.clock.advance(DEAD)
    assert won(claim(lab, "second")).resume_from == {"batch": [1, 2]}


def test_a_checkpoint_renews_the_lease(lab: Lab) -> None:
    """It is a heartbeat as well."""
    mine = won(claim(lab))
    lab.clock.advance(LEASE / 2)
    mine.checkpoint(7)
    assert standing(lab).lease_until == lab.clock.now() + LEASE


RESULTS = {
    "at the limit": ("x" * (MAX_JSON_BYTES - 2), None, MAX_JSON_BYTES),
    "just over it": ("x" * (MAX_JSON_BYTES - 1), "TRUNCATED", MAX_JSON_BYTES),
    "500 KB": ("x" * 500_000, "TRUNCATED", MAX_JSON_BYTES),
    "500 KB of rows": ([{"id": n} for n in range(50_000)], "TRUNCATED", MAX_JSON_BYTES),
    "NaN": ({"rate": float("nan")}, "NOT_JSON", 0),
    "an object": (object(), "NOT_JSON", 0),
    "nothing": (None, None, 0),
}


@pytest.mark.parametrize(("result", "flag", "size"), RESULTS.values(), ids=RESULTS)
def test_a_result_never_costs_the_success(lab: Lab, result: object, flag: str | None, size: int) -> None:
    """Truncated or left out, with a flag; a retry says already done (L12)."""
    won(claim(lab)).complete(result)
    done = standing(lab)
    assert (done.status, done.result_flag, len(done.result or "")) == (Status.SUCCEEDED, flag, size)
    assert why(claim(lab)) is RefusalReason.ALREADY_SUCCEEDED


def test_the_largest_row_can_be_written(lab: Lab) -> None:
    """Every text at its limit, and the longest history: far below an item's 400 KB."""
    text = "ü" * 10_000
    for number in range(12):
        mine = won(lab.ledger(text).claim(lab.job, "x" * 1000, trigger=Trigger.MANUAL, force=text, actor=text))
        mine.checkpoint("x" * (MAX_JSON_BYTES - 2))
        if number < 11:
            mine.fail(text)
        else:
            mine.complete("x" * 500_000)
    done = standing(lab, "x" * 1000)
    assert (done.status, done.attempt, len(done.attempts)) == (Status.SUCCEEDED, 12, 10)


def test_a_job_shows_its_runs_newest_first(lab: Lab) -> None:
    """Page by page, or all."""
    periods = [f"2026-11-{day:02}" for day in range(1, 8)]
    for period in periods:
        won(claim(lab, period=period)).complete()
    ledger = lab.ledger()
    assert [record.period for record in ledger.runs(lab.job)] == periods[::-1]
    page = ledger.page(lab.job, limit=5)
    assert [record.period for record in page.runs] == periods[:1:-1]
    assert page.before is not None
    assert [record.period for record in ledger.page(lab.job, limit=5, before=page.before).runs] == periods[1::-1]


def test_a_row_reads_as_documented(lab: Lab) -> None:
    """Through whatever the store is: times are ISO in UTC, the rest plain."""
    mine = won(claim(lab, scheduled_at=datetime(2026, 11, 29, 6, tzinfo=UTC)))
    mine.complete({"sent": 3})
    if lab.client is None:
        return
    item = lab.client.get_item(TableName="runs", Key={"job": {"S": lab.job}, "key": {"S": f"run#{PERIOD}"}})["Item"]
    assert item["status"] == {"S": "SUCCEEDED"}
    assert item["scheduled_at"] == {"S": "2026-11-29T06:00:00.000Z"}
    assert item["result"] == {"S": json.dumps({"sent": 3}, separators=(",", ":"))}
    assert item["version"] == {"N": "2"}
    assert set(item["expires_at"]) == {"N"}


def test_a_claim_that_slept_before_it_got_its_slot_is_refused(lab: Lab) -> None:
    """Run and slot are another's attempt now (a pause between the two writes)."""
    lab.store = store = LossyStore(lab.store)
    rivals: list[Claim] = []

    def sleep() -> None:
        lab.clock.advance(DEAD)
        rivals.append(won(claim(lab, "rival")))

    store.after_next_swap = sleep
    assert why(claim(lab, "slept")) is RefusalReason.LEASE_LOST
    assert standing(lab) == rivals[0].record
    rivals[0].complete()


# Policies that change, and the order of ticks.


def test_forbid_does_not_start_beside_runs_of_an_earlier_allow(lab: Lab) -> None:
    """Whether the slot is older than they are or not; as soon as the last of them has ended, it starts."""
    won(claim(lab, period="2026-11-25")).complete()
    lives = [won(claim(lab, period=period, policy=ALLOW)) for period in ("2026-11-26", "2026-11-27")]
    for live in lives:
        assert why(claim(lab)) is RefusalReason.OVERLAPPING
        assert standing(lab).blocked_by == "2026-11-27"
        live.complete()
    mine = won(claim(lab))
    assert (mine.attempt, mine.fence) == (1, 2)
    mine.complete()
    assert won(claim(lab, period="2026-11-30")).fence == 3


def test_under_replace_an_older_tick_never_starts_after_a_newer_one(lab: Lab) -> None:
    """Neither while it runs nor after it; only a person starts it then."""
    policy = Policy(concurrency_policy=ConcurrencyPolicy.REPLACE)
    hour = lab.clock.now().replace(minute=0, second=0, microsecond=0)
    newer: dict[str, Any] = {"period": "newer", "scheduled_at": hour, "policy": policy}
    older: dict[str, Any] = {"period": "older", "scheduled_at": hour - timedelta(hours=1), "policy": policy}
    mine = won(claim(lab, **newer))
    assert isinstance(claim(lab, **older), Refusal)
    mine.complete()
    assert why(claim(lab, **older)) is RefusalReason.REPLACED
    run = standing(lab, "older")
    assert (run.status, run.reason, run.blocked_by, run.attempt) == ("SKIPPED", "replaced", "newer", 0)
    assert won(claim(lab, **older, trigger="manual")).attempt == 1


def test_runs_that_wait_are_listed_in_order(lab: Lab) -> None:
    """Until one that comes after them gets the slot."""
    holder = won(claim(lab, period="2026-11-28"))
    waiting = Policy(concurrency_policy=ConcurrencyPolicy.WAIT)
    stop = threading.Event()
    stop.set()
    for period in ("2026-11-30T06:00:00Z", "2026-11-29T06:00:00Z"):
        assert why(claim(lab, period=period, policy=waiting, stop=stop)) is RefusalReason.INTERRUPTED
    listed = [waiter.period for waiter in lab.ledger().waiting(lab.job)]
    assert listed == ["2026-11-29T06:00:00Z", "2026-11-30T06:00:00Z"]
    holder.complete()
    won(claim(lab, period="2026-12-01T06:00:00Z", policy=waiting))
    assert lab.ledger().waiting(lab.job) == ()
