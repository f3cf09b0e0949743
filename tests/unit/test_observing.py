"""What others do to a run: mark its owner dead, release it for a person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held
from cronce.protocol.observing import (
    NotReleased,
    ReleaseRequest,
    Sighting,
    give_up,
    holder,
    mark_all_lost,
    mark_lost,
    mark_missed,
    mark_not_started,
    mark_stopped,
    release,
    remember,
)
from cronce.protocol.operations import Now, Steps, Swap, Swapped
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.protocol.transitions import Event
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.support.builders import JOB, LEASE_IS_OVER_AT, PERIOD, T0, TICK, request, run, slot
from tests.support.scripted import World

LATER = T0 + timedelta(hours=1)
ASK = ReleaseRequest(run=RunName.of(JOB, PERIOD), actor="ada", note="checked by hand")
FORCED = ReleaseRequest(run=RunName.of(JOB, PERIOD), actor="ada", force=True)
Mark = Callable[[Sighting], Steps[RunRecord]]
FINAL = [Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.MISSED]


@pytest.mark.parametrize(("past", "lost"), [(-TICK, False), (timedelta(0), False), (TICK, True)])
def test_a_run_is_lost_just_after_lease_and_skew(past: timedelta, lost: bool) -> None:  # noqa: FBT001  # a column
    """Not before, not at it; and it does not count against the retries."""
    world = World(run(), now=LEASE_IS_OVER_AT + past)
    standing = world.play(mark_lost(run()))
    assert standing == world.run()
    assert world.run().status is (Status.FAILED if lost else Status.RUNNING)
    if lost:
        assert (world.run().reason, world.run().failures) == (Reason.LEASE_LOST, 0)
        assert (world.run().finished_at, world.run().lease_until) == (world.now, None)


@pytest.mark.parametrize("standing", [run(lease_until=None), *(run(status=status) for status in FINAL)])
def test_a_run_without_a_lease_and_a_final_one_are_never_lost(standing: RunRecord) -> None:
    """Nothing is written."""
    world = World(standing, now=LATER)
    assert world.play(mark_lost(standing)) == standing
    assert world.count(Swap) == 0


def test_a_skewed_clock_marks_nothing() -> None:
    """It cannot tell whether the lease is over."""
    world = World(run(), now=LATER)
    world.skew = timedelta(seconds=6)
    assert world.play(mark_lost(run())) == run()
    assert world.run() == run()


@pytest.mark.parametrize(("lease", "bearable"), [(60, 5.0), (10, 2.5)])
def test_a_short_lease_bears_less_skew(lease: int, bearable: float) -> None:
    """Just at the limit a run is marked, just after it is not."""
    dead = run(lease_until=T0 + timedelta(seconds=lease))
    world = World(dead, now=LATER)
    world.skew = timedelta(seconds=bearable) + TICK
    assert world.play(mark_lost(dead)) == dead
    world.skew = timedelta(seconds=bearable)
    assert world.play(mark_lost(dead)) == world.run() != dead


def test_a_run_that_does_not_say_when_its_lease_began_bears_the_usual_skew() -> None:
    """A foreign writer's row with a lease."""
    dead = run(heartbeat_at=None)
    world = World(dead, now=LATER)
    world.skew = timedelta(seconds=5)
    assert world.play(mark_lost(dead)) == world.run() != dead


def test_an_owner_that_renewed_meanwhile_lives() -> None:
    """What stands is what counts."""
    renewed = run().after(Event.RENEW)
    assert World(renewed, now=LATER).play(mark_lost(run())) == renewed


def test_a_lost_run_that_is_gone_is_gone() -> None:
    """Nothing is written in its place."""
    assert World(now=LATER).play(mark_lost(run())) is None


def test_a_stopped_task_settles_its_run_and_frees_its_slot() -> None:
    """With the exit code of the job's container."""
    world = World(run(), slot(run()), now=LATER)
    stopped = world.play(mark_stopped(JOB, PERIOD, owner="other", exit_code=137, error="OutOfMemory"))
    assert stopped == world.run()
    settled = world.run()
    assert (settled.status, settled.reason, settled.failures) == (Status.FAILED, Reason.TASK_STOPPED, 0)
    assert (settled.exit_code, settled.error, settled.lease_until) == (137, "OutOfMemory", None)
    assert world.slot().period is None


@pytest.mark.parametrize(
    "standing",
    [
        run(owner="another task"),
        run(attempt=2, token="third", owner="third"),
        *(run(status=status) for status in FINAL),
    ],
)
def test_late_and_foreign_events_change_nothing(standing: RunRecord) -> None:
    """Another owner's run and a final state stay (E6)."""
    world = World(standing)
    assert world.play(mark_stopped(JOB, PERIOD, owner="other")) == standing
    assert world.run() == standing


def test_an_event_about_no_run_changes_nothing() -> None:
    """The task never claimed."""
    assert World().play(mark_stopped(JOB, PERIOD, owner="other")) is None


def test_a_last_heartbeat_does_not_hide_that_the_task_stopped() -> None:
    """The row moved between the look and the write: looked at again."""
    world = World(run())
    world.before(Swap, 1, lambda: world.put(run().after(Event.RENEW, checkpoint="7")))
    world.play(mark_stopped(JOB, PERIOD, owner="other"))
    assert (world.run().status, world.run().checkpoint) == (Status.FAILED, "7")


SEEN = Sighting(
    run=RunName.of(JOB, PERIOD, T0),
    token="token-of-me",
    owner="watchdog",
    reason="launch_failed: AGENT",
    error="no room",
    exit_code=3,
    trigger=Trigger.CATCH_UP,
)
MARKS = [(mark_missed, Status.MISSED), (mark_not_started, Status.FAILED)]


@pytest.mark.parametrize(("mark", "status"), MARKS)
def test_a_tick_that_nobody_claimed_gets_a_row(mark: Mark, status: Status) -> None:
    """It says what was seen; no attempt began, and none is counted."""
    world = World(now=LATER)
    marked = world.play(mark(SEEN))
    assert marked == world.run()
    assert (marked.status, marked.attempt, marked.failures, marked.version) == (status, 0, 0, 1)
    assert (marked.reason, marked.error, marked.exit_code) == ("launch_failed: AGENT", "no room", 3)
    assert (marked.owner, marked.trigger, marked.scheduled_at) == ("watchdog", Trigger.CATCH_UP, T0)
    assert (marked.claimed_at, marked.lease_until, marked.finished_at) == (None, None, LATER)
    assert marked.expires_at == LATER + SEEN.retention


@pytest.mark.parametrize(("mark", "_status"), MARKS)
@pytest.mark.parametrize("standing", [run(), run(lease_until=None), *(run(status=status) for status in FINAL)])
def test_a_row_that_stands_is_left_alone(mark: Mark, _status: Status, standing: RunRecord) -> None:
    """Whoever wrote it knows more."""
    world = World(standing, now=LATER)
    assert world.play(mark(SEEN)) == standing == world.run()


NEVER, LETTER, PULL, UNCLAIMED = "never_delivered", "launch_failed: X", "launch_failed", "unclaimed"
AT_WORK = "never_claimed"


@pytest.mark.parametrize(
    ("status", "standing", "mark", "seen", "replaced"),
    [
        ("MISSED", NEVER, mark_missed, LETTER, True),
        ("MISSED", NEVER, mark_not_started, PULL, True),
        ("MISSED", NEVER, mark_not_started, UNCLAIMED, True),
        ("MISSED", LETTER, mark_not_started, UNCLAIMED, True),
        ("FAILED", PULL, mark_not_started, UNCLAIMED, True),
        ("MISSED", AT_WORK, mark_missed, LETTER, True),
        ("MISSED", AT_WORK, mark_not_started, PULL, True),
        ("MISSED", AT_WORK, mark_not_started, UNCLAIMED, True),
        ("MISSED", AT_WORK, mark_missed, NEVER, False),
        ("MISSED", NEVER, mark_missed, AT_WORK, False),
        ("MISSED", LETTER, mark_missed, AT_WORK, False),
        ("FAILED", UNCLAIMED, mark_missed, AT_WORK, False),
        ("MISSED", NEVER, mark_missed, NEVER, False),
        ("MISSED", LETTER, mark_missed, NEVER, False),
        ("MISSED", LETTER, mark_not_started, PULL, False),
        ("FAILED", PULL, mark_missed, LETTER, False),
        ("FAILED", UNCLAIMED, mark_not_started, PULL, False),
        ("FAILED", UNCLAIMED, mark_missed, NEVER, False),
        ("MISSED", "too_late", mark_not_started, UNCLAIMED, False),
        ("SKIPPED", "overlap", mark_not_started, UNCLAIMED, False),
    ],
)
def test_a_cause_replaces_a_guess_and_never_the_other_way(
    status: str,
    standing: str,
    mark: Mark,
    seen: str,
    replaced: bool,  # noqa: FBT001  # a column
) -> None:
    """The order is: never_delivered and never_claimed, launch_failed, unclaimed. What a task wrote stays."""
    before = run(status=Status(status), reason=standing, attempt=0, finished_at=T0, lease_until=None)
    world = World(before, now=LATER)
    after = world.play(mark(replace(SEEN, reason=seen)))
    assert after == world.run()
    if not replaced:
        assert after == before
        return
    assert (after.reason, after.attempt, after.version, after.error) == (seen, 0, before.version + 1, SEEN.error)
    assert after.token == before.token


@pytest.mark.parametrize("status", [Status.FAILED, Status.MISSED])
def test_a_run_whose_attempt_began_keeps_its_reason(status: Status) -> None:
    """The job is known to ask; its own outcome is the better cause."""
    before = run(status=status, reason="launch_failed", attempt=1, finished_at=T0, lease_until=None)
    assert World(before, now=LATER).play(mark_not_started(replace(SEEN, reason="unclaimed"))) == before


def test_an_unclaimed_run_is_released_by_a_person() -> None:
    """The person looked; then a machine may start it."""
    world = World(run(status=Status.FAILED, reason="unclaimed", attempt=0, lease_until=None), now=LATER)
    released = world.play(release(ASK))
    assert isinstance(released, RunRecord)
    assert released.reason == Reason.RELEASED


@pytest.mark.parametrize("status", [Status.FAILED, Status.MISSED])
def test_a_run_that_is_given_up_says_so(status: Status) -> None:
    """Nothing else in the row changes."""
    before = run(status=status, reason="exit_code", finished_at=T0, lease_until=None)
    world = World(before)
    given_up = world.play(give_up(before, actor="recorder", note="no retry is left"))
    assert given_up == world.run()
    assert given_up == replace(before, version=before.version + 1, actor="recorder", note="no retry is left")


def test_a_run_that_changed_meanwhile_is_not_given_up() -> None:
    """Another attempt began."""
    before = run(status=Status.FAILED, reason="exit_code", lease_until=None)
    now = run(attempt=2, version=before.version + 1)
    world = World(now)
    assert world.play(give_up(before, actor="recorder", note="no")) == now == world.run()


@pytest.mark.parametrize(("mark", "status"), MARKS)
def test_a_mark_whose_answer_was_lost_is_made_once(mark: Mark, status: Status) -> None:
    """It equals what stands (L1)."""
    world = World()
    world.lose_answer(1)
    assert world.play(mark(SEEN)).status is status
    assert (world.run().version, world.count(Swap)) == (1, 1)


@pytest.mark.parametrize(("mark", "status"), MARKS)
def test_a_row_that_is_gone_again_is_written(mark: Mark, status: Status) -> None:
    """The swap was refused for a row that somebody deleted in that moment."""
    steps = mark(SEEN)
    asked = [next(steps), steps.send(T0), steps.send(Swapped(False, None)), steps.send(LATER)]
    assert [type(operation) for operation in asked] == [Now, Swap, Now, Swap]
    with pytest.raises(StopIteration) as end:
        steps.send(Swapped(True))
    assert (end.value.value.status, end.value.value.finished_at) == (status, LATER)


@pytest.mark.parametrize(("mark", "_status"), MARKS)
def test_the_next_claim_takes_it_over_as_attempt_one(mark: Mark, _status: Status) -> None:
    """A late delivery, or a launch that succeeds."""
    world = World()
    world.play(mark(SEEN))
    claimed = world.play(claim(request(policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW))))
    assert isinstance(claimed, Held)
    assert (claimed.run.attempt, claimed.run.failures, claimed.run.status) == (1, 0, Status.RUNNING)
    assert [past.reason for past in claimed.run.attempts] == ["launch_failed: AGENT"]


@pytest.mark.parametrize(
    ("standing", "in_slot"),
    [(None, None), (run(), slot()), (run(status=Status.FAILED), slot(run())), (run(attempt=2), slot(run()))],
)
def test_a_free_or_stale_slot_has_no_holder(standing: RunRecord | None, in_slot: SlotRecord | None) -> None:
    """No slot, a free one, its run over, its run taken over."""
    rows = [row for row in (standing, in_slot) if row]
    assert World(*rows).play(holder(JOB)) is None


def test_the_holder_is_the_run_that_the_slot_names() -> None:
    """Its lease may be over."""
    assert World(run(), slot(run()), now=LATER).play(holder(JOB)) == run()


RELEASED = {
    "lost, as an observer saw it": run(status=Status.FAILED, reason=Reason.LEASE_LOST),
    "task stopped": run(status=Status.FAILED, reason=Reason.TASK_STOPPED),
    "its lease is over": run(),
    "without a lease": run(lease_until=None),
}


@pytest.mark.parametrize("standing", RELEASED.values(), ids=RELEASED)
def test_a_held_run_is_released_by_a_person(standing: RunRecord) -> None:
    """Who did it and why is recorded, and its slot is free."""
    world = World(standing, slot(standing), now=LATER)
    assert world.play(release(ASK)) == world.run()
    freed = world.run()
    assert (freed.status, freed.reason, freed.lease_until) == (Status.FAILED, Reason.RELEASED, None)
    assert (freed.actor, freed.note) == ("ada", "checked by hand")
    assert freed.finished_at == (standing.finished_at or LATER)
    assert world.slot().period is None


NOT_RELEASED = {
    "no run": (None, T0, NotReleased.NO_SUCH_RUN),
    "alive": (run(), T0, NotReleased.STILL_RUNNING),
    "alive, just before lease and skew": (run(), LEASE_IS_OVER_AT - TICK, NotReleased.STILL_RUNNING),
    "alive, at the end of lease and skew": (run(), LEASE_IS_OVER_AT, NotReleased.STILL_RUNNING),
    "done": (run(status=Status.SUCCEEDED), LATER, NotReleased.NOT_HELD),
    "skipped": (run(status=Status.SKIPPED), LATER, NotReleased.NOT_HELD),
    "missed": (run(status=Status.MISSED), LATER, NotReleased.NOT_HELD),
    "failed by itself": (run(status=Status.FAILED, reason=Reason.ERROR), LATER, NotReleased.NOT_HELD),
    "released already": (run(status=Status.FAILED, reason=Reason.RELEASED), LATER, NotReleased.NOT_HELD),
}


@pytest.mark.parametrize(("standing", "now", "why"), NOT_RELEASED.values(), ids=NOT_RELEASED)
def test_a_run_that_is_not_held_is_not_released(standing: RunRecord | None, now: object, why: NotReleased) -> None:
    """And nothing is written."""
    world = World(*([standing] if standing else []))
    world.now = now  # type: ignore[assignment]  # a table's column
    assert world.play(release(ASK)) is why
    assert world.count(Swap) == 0


def test_just_after_lease_and_skew_a_run_is_released() -> None:
    """The other side of the boundary."""
    assert isinstance(World(run(), now=LEASE_IS_OVER_AT + TICK).play(release(ASK)), RunRecord)


def test_a_person_may_take_a_run_from_a_living_owner() -> None:
    """With force; the owner fails at its next heartbeat."""
    world = World(run())
    assert isinstance(world.play(release(FORCED)), RunRecord)


def test_a_skewed_clock_releases_a_dead_run_only_by_force() -> None:
    """It cannot tell whether the lease is over."""
    world = World(run(), now=LATER)
    world.skew = timedelta(minutes=10)
    assert world.play(release(ASK)) is NotReleased.STILL_RUNNING
    assert isinstance(world.play(release(FORCED)), RunRecord)


def test_an_owner_that_wakes_up_in_time_is_not_released() -> None:
    """The row moved between the look and the write: looked at again."""
    world = World(run(), now=LATER)
    world.before(Swap, 1, lambda: world.put(run().after(Event.RENEW, lease_until=LATER + timedelta(minutes=1))))
    assert world.play(release(ASK)) is NotReleased.STILL_RUNNING


@pytest.mark.parametrize("holder", [run(period="2026-11-28"), run(attempt=2), run(token="third"), None])
def test_releasing_leaves_a_slot_of_others_alone(holder: RunRecord | None) -> None:
    """Another period's, another attempt's, or a free one."""
    others = slot(holder)
    world = World(run(), others, now=LATER)
    world.play(release(ASK))
    assert world.slot() == others


def test_a_release_whose_answer_was_lost_is_a_release() -> None:
    """It is written once (L1)."""
    world = World(run(), now=LATER)
    world.lose_answer(1)
    assert isinstance(world.play(release(ASK)), RunRecord)
    assert world.run().version == 2


def test_every_lost_run_of_a_job_is_marked_without_a_schedule() -> None:
    """And its slot is free; a live run, a final one and one without a lease are left as they are."""
    dead, also_dead = run(period="1"), run(period="2", token="second")
    left = [
        run(period="3", lease_until=LATER + timedelta(hours=1)),
        run(period="4", lease_until=None),
        run(period="5", status=Status.SUCCEEDED),
    ]
    world = World(dead, also_dead, *left, slot(dead), now=LATER)
    marked = world.play(mark_all_lost(JOB))
    assert [(each.period, each.status, each.reason) for each in marked] == [
        ("2", Status.FAILED, Reason.LEASE_LOST),
        ("1", Status.FAILED, Reason.LEASE_LOST),
    ]
    assert world.slot().period is None
    assert [world.run(each.period) for each in left] == left
    assert world.play(mark_all_lost(JOB)) == ()


def test_a_memory_is_replaced_in_one_write_and_kept_longer() -> None:
    """Its row has ended, so nobody holds it; only the version protects it."""
    before = run(status=Status.FAILED, reason=Reason.INTERRUPTED, checkpoint='"old"', finished_at=T0)
    world = World(before, now=LATER)
    assert world.play(remember(before, '"new"')) is True
    assert world.run() == replace(
        before, version=2, checkpoint='"new"', finished_at=LATER, expires_at=world.run().expires_at
    )
    assert (before.expires_at or T0) < (world.run().expires_at or T0)
    assert world.count(Swap) == 1


def test_a_memory_that_changed_meanwhile_is_not_overwritten() -> None:
    """Another look has remembered something: this one is repeated."""
    before = run(status=Status.FAILED, checkpoint='"old"', finished_at=T0)
    now_is = replace(before, version=2, checkpoint='"newer"')
    world = World(now_is, now=LATER)
    assert world.play(remember(before, '"new"')) is False
    assert world.run() == now_is
