"""The job's slot: two runs of a job never overlap."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.protocol.holding import Held
from cronce.protocol.operations import Get, Sleep, StopTask, Swap
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.protocol.requests import RefusalReason, Refused
from cronce.protocol.slot import take_slot
from cronce.protocol.transitions import Event
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace
from tests.support.builders import JOB, LEASE, LEASE_IS_OVER_AT, T0, TICK, held, request, run, slot
from tests.support.scripted import World

if TYPE_CHECKING:
    from collections.abc import Callable

MINE = run(token="token-of-me", owner="me")
YESTERDAY = run(period="2026-11-28")
TAKEN = slot(YESTERDAY)
WAIT, REPLACE = ConcurrencyPolicy.WAIT, ConcurrencyPolicy.REPLACE


def take(
    world: World, policy: ConcurrencyPolicy = ConcurrencyPolicy.FORBID, deadline: timedelta | None = None
) -> Held | Refused:
    """Take the slot for my run, which was claimed at this moment."""
    mine = replace(MINE, lease_until=world.now + LEASE)
    world.put(mine)
    ask = request(concurrency_policy=policy, starting_deadline=deadline, scheduled_at=T0)
    return world.play(take_slot(ask, held(mine, sent_at=world.now)))


STALE = {
    "nothing stands": (None, None),
    "free": (None, slot()),
    "its run succeeded": (run(period="2026-11-28", status=Status.SUCCEEDED), TAKEN),
    "its run failed": (run(period="2026-11-28", status=Status.FAILED), TAKEN),
    "its run is gone": (None, TAKEN),
    "its run runs again, as another attempt": (run(period="2026-11-28", attempt=2), TAKEN),
    "its run runs again, by another claim": (run(period="2026-11-28", token="third"), TAKEN),
    "an earlier attempt of my own run": (None, slot(run(token="token-of-me", attempt=0))),
    "an attempt of my run before this one": (None, slot(run())),
}


@pytest.mark.parametrize(("holder", "standing"), STALE.values(), ids=STALE)
def test_a_free_or_stale_slot_is_taken(holder: RunRecord | None, standing: SlotRecord | None) -> None:
    """Its fence rises by one."""
    world = World(*(row for row in (holder, standing) if row))
    taken = take(world)
    assert isinstance(taken, Held)
    assert taken.slot == world.slot()
    assert taken.fence == (standing.fence if standing else 0) + 1
    assert world.slot().token == "token-of-me"


@pytest.mark.parametrize("standing", [[], [slot()]], ids=["none", "free"])
def test_a_free_slot_costs_a_read_and_a_write(standing: list[SlotRecord]) -> None:
    """On top of the claim's own write."""
    world = World(*standing)
    take(world)
    assert (world.count(Get), world.count(Swap)) == (1, 1)


def test_a_slot_whose_answer_was_lost_is_mine() -> None:
    """My own row refused my own request (L1)."""
    world = World()
    world.lose_answer(1)
    taken = take(world)
    assert isinstance(taken, Held)
    assert taken.slot == world.slot()


def test_a_slot_that_names_my_attempt_is_mine() -> None:
    """Whoever wrote it, it is me: a row that another writer touched is still mine."""
    world = World(slot(MINE, extra={"seen_by": "a person"}))
    taken = take(world)
    assert isinstance(taken, Held)
    assert taken.slot == world.slot()
    assert world.count(Swap) == 0


def test_a_slot_of_my_successor_is_not_mine() -> None:
    """My run was taken over while I slept, and the slot names its new attempt."""
    successor = run(attempt=2, token="third", version=5)
    world = World(slot(successor))
    world.before(Get, 1, lambda: world.put(successor))
    assert take(world) == Refused(RefusalReason.LEASE_LOST, successor)


def test_a_slot_of_my_period_whose_run_is_gone_is_not_mine() -> None:
    """Somebody deleted my row; the slot cannot be mine."""
    world = World(slot(run(attempt=2, token="third")))
    world.before(Get, 1, lambda: world.delete(MINE))
    assert take(world) == Refused(RefusalReason.LEASE_LOST, None)


def test_losing_the_race_for_the_slot_is_decided_again() -> None:
    """Another period took it between the look and the write."""
    tomorrow = run(period="2026-11-30", token="third")
    world = World(tomorrow, slot())

    world.before(Swap, 1, lambda: world.put(slot(tomorrow)))
    refused = take(world)
    assert refused == Refused(RefusalReason.OVERLAPPING, world.run())
    assert world.run().blocked_by == "2026-11-30"


def test_forbid_steps_back() -> None:
    """The run becomes SKIPPED, and says who is at work."""
    world = World(YESTERDAY, TAKEN)
    refused = take(world)
    assert refused == Refused(RefusalReason.OVERLAPPING, world.run())
    assert (world.run().status, world.run().reason, world.run().failures) == (Status.SKIPPED, Reason.OVERLAP, 0)
    assert world.slot() == TAKEN
    assert world.run("2026-11-28") == YESTERDAY


def test_stepping_back_from_a_run_that_is_not_mine_any_more_says_so() -> None:
    """The successor's row stays as it is."""
    successor = run(attempt=2, token="third", version=5)
    world = World(YESTERDAY, TAKEN)
    world.before(Swap, 1, lambda: world.put(successor))
    assert take(world) == Refused(RefusalReason.LEASE_LOST, successor)
    assert world.run() == successor


@pytest.mark.parametrize(("past", "taken"), [(-TICK, False), (timedelta(0), False), (TICK, True)])
def test_a_dead_holder_is_marked_before_its_slot_is_taken(past: timedelta, taken: bool) -> None:  # noqa: FBT001  # a column
    """Just before, at and just after its lease and the skew are over."""
    world = World(YESTERDAY, TAKEN, now=LEASE_IS_OVER_AT + past)
    assert isinstance(take(world), Held) is taken
    holder = world.run("2026-11-28")
    assert holder.status is (Status.FAILED if taken else Status.RUNNING)
    if taken:
        assert holder.reason == Reason.LEASE_LOST
        swaps = [operation.record for operation in world.asked if isinstance(operation, Swap)]
        assert swaps.index(holder) < swaps.index(world.slot())


def test_a_holder_that_wakes_up_in_time_keeps_its_slot() -> None:
    """It renewed between the look and the mark."""
    awake = YESTERDAY.after(Event.RENEW, lease_until=LEASE_IS_OVER_AT + LEASE)
    world = World(YESTERDAY, TAKEN, now=LEASE_IS_OVER_AT + TICK)
    world.before(Swap, 1, lambda: world.put(awake))
    assert isinstance(take(world), Refused)
    assert world.run("2026-11-28") == awake


def test_a_holder_without_a_lease_is_never_pushed_aside() -> None:
    """A foreign writer's row (L4)."""
    foreign = replace(YESTERDAY, lease_until=None)
    world = World(foreign, TAKEN, now=T0 + timedelta(days=365))
    assert isinstance(take(world), Refused)
    assert world.run("2026-11-28") == foreign


def test_a_skewed_clock_marks_nobody() -> None:
    """The holder may well live (L17)."""
    world = World(YESTERDAY, TAKEN, now=LEASE_IS_OVER_AT + TICK)
    world.skew = timedelta(minutes=10)
    assert isinstance(take(world), Refused)
    assert world.run("2026-11-28") == YESTERDAY


def _finished(world: World) -> Callable[[], None]:
    """The holder finishes and frees the slot."""

    def finish() -> None:
        world.put(world.run("2026-11-28").after(Event.COMPLETE, lease_until=None))
        world.put(world.slot().freed())

    return finish


@pytest.mark.parametrize("policy", [WAIT, REPLACE])
def test_waiting_ends_when_the_holder_is_done(policy: ConcurrencyPolicy) -> None:
    """The two never overlap."""
    world = World(YESTERDAY, TAKEN)
    world.before(Sleep, 3, _finished(world))
    taken = take(world, policy)
    assert isinstance(taken, Held)
    assert world.count(Sleep) == 3
    assert taken.slot == world.slot()


def test_waiting_keeps_my_own_run_alive() -> None:
    """Its lease is renewed every quarter, as long as the wait takes."""
    alive = replace(YESTERDAY, lease_until=T0 + timedelta(hours=1))
    world = World(alive, TAKEN)
    world.before(Sleep, 100, _finished(world))
    taken = take(world, WAIT)
    assert isinstance(taken, Held)
    assert world.now < taken.trusted_until
    assert world.run().lease_until == taken.sent_at + LEASE


@pytest.mark.parametrize(("last", "renewals"), [(LEASE / 4 - TICK, 0), (LEASE / 4, 1)])
def test_my_run_is_renewed_at_a_quarter_of_its_lease(last: timedelta, renewals: int) -> None:
    """Just before it is not, at it it is."""
    world = World(YESTERDAY, TAKEN)

    def last_sleep() -> None:
        world.now = T0 + last - timedelta(seconds=2)
        _finished(world)()

    world.before(Sleep, 1, last_sleep)
    assert isinstance(take(world, WAIT), Held)
    assert world.run().version == 1 + renewals


def test_a_wait_ends_when_my_own_run_is_lost() -> None:
    """I slept too long; somebody has taken it over."""
    successor = run(attempt=2, token="third", version=5)
    world = World(replace(YESTERDAY, lease_until=T0 + timedelta(hours=1)), TAKEN)

    def sleep_too_long() -> None:
        world.now += LEASE * 2
        world.put(successor)

    world.before(Sleep, 1, sleep_too_long)
    assert take(world, WAIT) == Refused(RefusalReason.LEASE_LOST, successor)


@pytest.mark.parametrize(("late", "waits"), [(timedelta(hours=1), True), (timedelta(hours=1) + TICK, False)])
def test_a_wait_ends_just_after_the_starting_deadline(late: timedelta, waits: bool) -> None:  # noqa: FBT001  # a column
    """And the tick is MISSED, blocked by the holder."""
    world = World(replace(YESTERDAY, lease_until=T0 + timedelta(days=1)), TAKEN, now=T0 + late)
    refused = take(world, WAIT, deadline=timedelta(hours=1))
    assert isinstance(refused, Refused)
    assert refused.reason is RefusalReason.TOO_LATE
    assert world.count(Sleep) == waits
    mine = world.run()
    assert (mine.status, mine.reason, mine.blocked_by) == (Status.MISSED, Reason.TOO_LATE, "2026-11-28")


def test_a_wait_ends_when_this_process_is_asked_to_stop() -> None:
    """The run is free for the next at once, and the attempt does not count."""
    world = World(YESTERDAY, TAKEN)
    world.stopping = True
    refused = take(world, WAIT)
    assert refused == Refused(RefusalReason.INTERRUPTED, world.run())
    assert (world.run().status, world.run().reason, world.run().failures) == (Status.FAILED, Reason.INTERRUPTED, 0)


def test_replace_asks_the_holder_once_and_waits() -> None:
    """The wish stands in the holder's row, and the platform is asked to stop its task."""
    world = World(YESTERDAY, TAKEN)
    world.before(Sleep, 3, _finished(world))
    assert isinstance(take(world, REPLACE), Held)
    stops = [operation for operation in world.asked if isinstance(operation, StopTask)]
    assert stops == [StopTask("other", f"replaced by {JOB} 2026-11-29")]
    assert world.run("2026-11-28").cancel_requested == "replaced by 2026-11-29"


def test_replace_asks_again_if_the_holder_wrote_at_that_moment() -> None:
    """A heartbeat got in between; nothing of it is overwritten."""
    world = World(YESTERDAY, TAKEN)
    renewed = YESTERDAY.after(Event.RENEW, checkpoint="7")
    # The first swap is for the slot, the second the wish.
    world.before(Swap, 1, lambda: world.put(renewed))
    world.before(Sleep, 2, _finished(world))
    assert isinstance(take(world, REPLACE), Held)
    assert (world.count(StopTask), world.run("2026-11-28").checkpoint) == (1, "7")


@pytest.mark.parametrize(("due", "replaced"), [(-TICK, True), (timedelta(0), True), (TICK, False), (None, True)])
def test_a_late_run_does_not_replace_a_newer_one(due: timedelta | None, replaced: bool) -> None:  # noqa: FBT001  # column
    """Else the two would replace each other for ever: it is skipped."""
    holder = replace(YESTERDAY, scheduled_at=None if due is None else T0 + due)
    world = World(holder, TAKEN)
    world.before(Sleep, 2, _finished(world))
    answer = take(world, REPLACE)
    assert isinstance(answer, Held) is replaced
    assert world.count(StopTask) == replaced
    if not replaced:
        assert answer == Refused(RefusalReason.OVERLAPPING, world.run())


def test_replace_does_not_start_before_a_deaf_holder_is_dead() -> None:
    """Whose lease then is over; the mark comes first."""
    world = World(YESTERDAY, TAKEN)
    taken = take(world, REPLACE)
    assert isinstance(taken, Held)
    assert world.now > LEASE_IS_OVER_AT
    assert world.run("2026-11-28").reason == Reason.LEASE_LOST


@pytest.mark.parametrize(("lease", "pause"), [(60, 2.0), (8, 1.0)])
def test_the_pause_between_two_looks_is_short(lease: float, pause: float) -> None:
    """An eighth of the lease, two seconds at most."""
    world = World(YESTERDAY, TAKEN)
    world.before(Sleep, 1, _finished(world))
    world.put(MINE)
    holding = replace(held(MINE), lease=timedelta(seconds=lease))
    world.play(take_slot(request(concurrency_policy=WAIT), holding))
    assert [o.for_.total_seconds() for o in world.asked if isinstance(o, Sleep)] == [pause]


def test_a_slot_row_that_vanished_is_made_anew() -> None:
    """A person deleted it between the look and the write."""
    world = World(slot())
    world.before(Swap, 1, lambda: world.delete(slot()))
    taken = take(world)
    assert isinstance(taken, Held)
    assert world.slot().version == 1
