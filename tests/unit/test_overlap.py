"""The job's slot: two runs of a job never overlap."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.protocol.claiming import Begin, decide
from cronce.protocol.holding import Held, free_slot
from cronce.protocol.operations import Get, Sleep, StopTask, Swap, Take
from cronce.protocol.operations import take as take_free
from cronce.protocol.overlap import announce, take_slot
from cronce.protocol.records import MAX_CLOCK_SKEW, MOST_WAITING, RunRecord, SlotMode, SlotRecord, Waiter
from cronce.protocol.requests import RefusalReason, Refused
from cronce.protocol.transitions import Event
from cronce.vocabulary.names import parse_scheduled_time
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.support.builders import JOB, LEASE, LEASE_IS_OVER_AT, PERIOD, T0, TICK, held, request, run, slot
from tests.support.scripted import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

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
def test_a_free_slot_costs_one_write(standing: list[SlotRecord]) -> None:
    """On top of the claim's own write."""
    world = World(*standing)
    take(world)
    assert (world.count(Take), world.count(Get), world.count(Swap)) == (1, 0, 0)


DUE = T0
FREE_FOR_MINE = {
    "no run holds it": (slot(fence=7, newest="older", newest_at=DUE - TICK), True),
    "mine was the newest tick already": (slot(newest=PERIOD, newest_at=DUE), True),
    "a newer tick held it": (slot(newest="newer", newest_at=DUE + TICK), False),
    "a run holds it": (slot(run(period="2026-11-28")), False),
    "a run without a slot is announced": (slot(mode=SlotMode.ALLOW), False),
    "its holder looks for such runs": (slot(mode=SlotMode.CHECKING), False),
    "a run waits for it": (slot(waiting=(Waiter(period="x", attempt=1, token="t"),)), False),
}


@pytest.mark.parametrize(("standing", "free"), FREE_FOR_MINE.values(), ids=FREE_FOR_MINE)
def test_a_slot_is_free_if_nothing_else_has_to_be_looked_at(standing: SlotRecord, free: bool) -> None:  # noqa: FBT001
    """Who acquires it so, writes what a swap on its version would write."""
    mine = replace(MINE, scheduled_at=DUE, lease_until=T0 + LEASE)
    assert standing.is_free_for(mine) is free
    world = World(mine, standing)
    assert world.play(take_free(mine, T0)) == (free, standing.taken_by(mine, at=T0) if free else standing)


@pytest.mark.parametrize("standing", [slot(newest="newer", newest_at=DUE), slot()])
def test_a_run_without_a_nominal_time_has_no_newer_tick(standing: SlotRecord) -> None:
    """It is no tick."""
    assert standing.is_free_for(replace(MINE, scheduled_at=None))


def test_a_slot_whose_answer_was_lost_is_mine() -> None:
    """My own row refused my own request (L1), with or without a version."""
    for kind, standing in ((Take, []), (Swap, [TAKEN])):
        world = World(*standing)
        world.lose_answer(1, kind)
        taken = take(world)
        assert isinstance(taken, Held)
        assert taken.slot == world.slot()


def test_a_late_copy_of_a_take_leaves_a_stale_slot() -> None:
    """It lands when its run has ended; the next claim acquires the slot, with the next fence."""
    world = World(run(period="2026-11-28", status=Status.SUCCEEDED), slot())
    assert world.play(take_free(YESTERDAY, T0))[0]
    taken = take(world)
    assert isinstance(taken, Held)
    assert (taken.fence, world.slot().period) == (5, PERIOD)


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


@pytest.mark.parametrize(("standing", "write"), [(slot(), Take), (TAKEN, Swap)], ids=["free", "stale"])
def test_losing_the_race_for_the_slot_is_decided_again(standing: SlotRecord, write: type[Swap | Take]) -> None:
    """Another period took it just before."""
    tomorrow = run(period="2026-11-30", token="third")
    world = World(tomorrow, standing)

    world.before(write, 1, lambda: world.put(slot(tomorrow)))
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
    world = World(TAKEN)
    world.before(Swap, 1, lambda: world.delete(slot()))
    taken = take(world)
    assert isinstance(taken, Held)
    assert world.slot().version == 1


# The order of ticks.


def superseded(trigger: Trigger, due: datetime | None) -> tuple[World, Held | Refused]:
    """What a claim of that tick under REPLACE gets after a tick of T0 has started and ended."""
    world = World(slot(newest="newer", newest_at=T0))
    mine = replace(MINE, lease_until=T0 + LEASE, scheduled_at=due, trigger=trigger)
    world.put(mine)
    ask = request(concurrency_policy=REPLACE, scheduled_at=due, trigger=trigger)
    return world, world.play(take_slot(ask, held(mine)))


@pytest.mark.parametrize(("due", "starts"), [(-TICK, False), (timedelta(0), True), (TICK, True)])
def test_under_replace_an_older_tick_never_starts_after_a_newer_one(due: timedelta, starts: bool) -> None:  # noqa: FBT001
    """Although nothing runs any more: its time is over, and no machine begins it again."""
    world, answer = superseded(Trigger.SCHEDULE, T0 + due * 1000)
    assert isinstance(answer, Held) is starts
    if not starts:
        assert answer == Refused(RefusalReason.REPLACED, world.run())
        mine = world.run()
        assert (mine.status, mine.reason, mine.blocked_by) == (Status.SKIPPED, Reason.REPLACED, "newer")
        assert decide(request(), mine, T0) == Refused(RefusalReason.REPLACED, mine)
        assert isinstance(decide(request(trigger=Trigger.MANUAL), mine, T0), Begin)


@pytest.mark.parametrize(
    ("trigger", "starts"),
    [
        (Trigger.SCHEDULE, False),
        (Trigger.RETRY, False),
        (Trigger.CATCH_UP, True),
        (Trigger.MANUAL, True),
        (Trigger.BACKFILL, True),
    ],
)
def test_a_person_and_a_catch_up_start_an_older_tick(trigger: Trigger, starts: bool) -> None:  # noqa: FBT001
    """They ask for just that tick."""
    assert isinstance(superseded(trigger, T0 - timedelta(hours=1))[1], Held) is starts


@pytest.mark.parametrize(
    ("changes", "newest"),
    [
        ({"scheduled_at": T0}, PERIOD),
        ({"scheduled_at": T0 + timedelta(seconds=6)}, None),
        ({"scheduled_at": T0, "trigger": Trigger.MANUAL}, None),
        ({"scheduled_at": None}, None),
    ],
)
def test_the_newest_tick_is_one_that_was_due(changes: dict[str, Any], newest: str | None) -> None:
    """Not a person's run, and none of the future: it would keep every tick before it from starting."""
    assert slot().taken_by(replace(MINE, **changes), at=T0).newest == newest


def waiting(*periods: str) -> list[RunRecord | SlotRecord]:
    """Runs that wait for a slot which is free now, and the slot."""
    runs = [
        run(period=period, token=f"token-of-{period}", scheduled_at=at, lease_until=T0 + timedelta(hours=9))
        for period, at in ((period, parse_scheduled_time(period, what="period")) for period in periods)
    ]
    free = slot()
    for each in runs:
        free = free.with_waiter(each)
    return [*runs, free]


EARLIER, LATER = "2026-11-29T05:00:00Z", "2026-11-29T07:00:00Z"


def wait_in_line(world: World) -> Held | Refused:
    """Take the slot under WAIT for the tick of six o'clock."""
    mine = replace(MINE, lease_until=T0 + LEASE, scheduled_at=T0)
    world.put(mine)
    return world.play(take_slot(request(concurrency_policy=WAIT, scheduled_at=T0), held(mine)))


def test_wait_keeps_the_order_of_ticks() -> None:
    """An older tick that waits goes first although the slot is free; a newer one does not."""
    world = World(*waiting(EARLIER, LATER))

    def goes_on() -> None:
        first = world.run(EARLIER)
        world.put(world.slot().taken_by(first, at=T0))
        world.put(first.after(Event.COMPLETE, lease_until=None))
        world.put(world.slot().freed())

    world.before(Sleep, 3, goes_on)
    taken = wait_in_line(world)
    assert isinstance(taken, Held)
    assert world.count(Sleep) == 3
    assert [waiter.period for waiter in world.slot().waiting] == [LATER]


def test_all_that_wait_are_listed() -> None:
    """In the order in which they get the slot; each once, however often it looks."""
    holder, taken = YESTERDAY, TAKEN
    world = World(replace(holder, lease_until=T0 + timedelta(hours=9)), *waiting(EARLIER, LATER)[:2])
    free = waiting(EARLIER, LATER)[2]
    assert isinstance(free, SlotRecord)
    world.put(replace(taken, waiting=free.waiting))
    seen: list[list[str]] = []
    world.before(Sleep, 3, lambda: seen.append([waiter.period for waiter in world.slot().waiting]))
    world.before(Sleep, 4, _finished(world))
    world.before(Sleep, 5, lambda: world.put(world.run(EARLIER).after(Event.FAIL, lease_until=None)))
    assert isinstance(wait_in_line(world), Held)
    assert seen == [[EARLIER, PERIOD, LATER]]


@pytest.mark.parametrize(
    "gone",
    [
        {"status": Status.MISSED},
        {"token": "another"},
        {"attempt": 2},
        {"lease_until": T0 - MAX_CLOCK_SKEW - TICK},
        {"lease_until": None},
    ],
)
def test_who_gave_up_waiting_holds_up_nobody(gone: dict[str, Any]) -> None:
    """Its run is over, another attempt, or dead."""
    first, free = waiting(EARLIER)
    world = World(replace(first, **gone), free)
    assert isinstance(wait_in_line(world), Held)
    assert world.count(Sleep) == 0
    assert world.slot().waiting == ()


def test_a_full_list_of_waiting_runs_grows_no_more() -> None:
    """One that finds it full waits all the same."""
    many = slot(YESTERDAY, waiting=tuple(Waiter(period=str(n), attempt=1, token="t") for n in range(MOST_WAITING)))
    world = World(YESTERDAY, many)
    world.before(Sleep, 2, _finished(world))
    assert isinstance(wait_in_line(world), Held)
    assert len(world.slot().waiting) <= MOST_WAITING


def test_a_slot_is_freed_although_a_run_began_to_wait_meanwhile() -> None:
    """The version that its holder knows is an older one."""
    mine = slot(MINE)
    world = World(mine.with_waiter(YESTERDAY))
    world.play(free_slot(mine))
    assert (world.slot().period, len(world.slot().waiting)) == (None, 1)


# From ALLOW to another policy.


def beside(**changes: object) -> RunRecord:
    """A live run that was claimed under ALLOW."""
    return run(
        **{"period": "2026-11-28", "concurrency_policy": "ALLOW", "lease_until": T0 + timedelta(hours=9)} | changes
    )


OPEN = slot(mode=SlotMode.ALLOW)


def test_forbid_does_not_start_beside_a_run_of_allow() -> None:
    """It holds no slot, so it is looked for; the slot says that it may be there."""
    world = World(beside(), OPEN)
    refused = take(world)
    assert refused == Refused(RefusalReason.OVERLAPPING, world.run())
    assert world.run().blocked_by == "2026-11-28"
    assert world.slot() == OPEN


@pytest.mark.parametrize("policy", [WAIT, REPLACE])
def test_the_other_policies_wait_for_a_run_of_allow(policy: ConcurrencyPolicy) -> None:
    """REPLACE asks it to stop."""
    world = World(beside(), OPEN)
    world.before(Sleep, 3, lambda: world.put(world.run("2026-11-28").after(Event.COMPLETE, lease_until=None)))
    assert isinstance(take(world, policy), Held)
    assert world.count(Sleep) == 3
    assert world.count(StopTask) == (policy is REPLACE)


@pytest.mark.parametrize(
    "standing",
    [
        beside(status=Status.SUCCEEDED, lease_until=None),
        beside(concurrency_policy=None),
        beside(lease_until=T0 - MAX_CLOCK_SKEW - TICK),
    ],
    ids=["ended", "in line for the slot itself", "dead"],
)
def test_after_the_last_run_of_allow_the_slot_is_as_before(standing: RunRecord) -> None:
    """The next claim looks for none any more. One that died is marked, so that it fails when it wakes up."""
    world = World(standing, OPEN)
    taken = take(world)
    assert isinstance(taken, Held)
    assert (taken.slot, world.slot().mode) == (world.slot(), None)
    if standing.concurrency_policy and standing.status is Status.RUNNING:
        assert world.run("2026-11-28").reason == Reason.LEASE_LOST


def test_a_run_of_allow_that_begins_while_the_slot_is_taken_is_found() -> None:
    """It wrote its row after the first look; the second look is after the slot is taken."""
    world = World(OPEN)
    world.before(Swap, 1, lambda: world.put(beside()))
    assert take(world) == Refused(RefusalReason.OVERLAPPING, world.run())
    assert (world.slot().period, bool(world.slot().mode)) == (None, True)


def test_a_run_of_allow_that_is_announced_at_the_last_moment_is_found() -> None:
    """Its note in the slot refuses the swap that says there are no such runs."""
    world = World(OPEN)

    def begin() -> None:
        world.put(beside())
        world.play(announce(JOB))

    world.before(Swap, 2, begin)
    assert take(world) == Refused(RefusalReason.OVERLAPPING, world.run())


def test_a_holder_that_dies_while_it_looks_leaves_the_look_to_the_next() -> None:
    """The slot does not say that there are no other runs before that is known."""
    dead = run(period="2026-11-27", token="dead", lease_until=T0 - MAX_CLOCK_SKEW - TICK)
    world = World(beside(), dead, slot(dead, mode=SlotMode.CHECKING))
    assert take(world) == Refused(RefusalReason.OVERLAPPING, world.run())
    assert world.run().blocked_by == "2026-11-28"


def test_a_claim_under_allow_says_so_in_a_held_slot() -> None:
    """The holder keeps it; the run beside it is its own policy's choice."""
    world = World(YESTERDAY, TAKEN)
    world.play(announce(JOB))
    assert world.slot().is_held_as(TAKEN)
    assert (world.slot().mode, world.slot().fence) == (SlotMode.ALLOW, TAKEN.fence)


def test_an_announcement_that_loses_against_a_claim_is_repeated() -> None:
    """The slot was acquired in between; the note is added to what it says then."""
    world = World(YESTERDAY, slot())
    world.before(Swap, 1, lambda: world.put(replace(TAKEN, version=2)))
    world.play(announce(JOB))
    assert (world.slot().mode, world.slot().token, world.count(Swap)) == (SlotMode.ALLOW, TAKEN.token, 2)


@pytest.mark.parametrize("policy", [WAIT, REPLACE])
def test_a_run_of_allow_that_begins_while_the_slot_is_taken_is_waited_for(policy: ConcurrencyPolicy) -> None:
    """The slot is mine, and says that I am still looking; I start after its end."""
    world = World(OPEN)
    world.before(Swap, 1, lambda: world.put(beside()))
    world.before(Sleep, 2, lambda: world.put(world.run("2026-11-28").after(Event.COMPLETE, lease_until=None)))
    taken = take(world, policy)
    assert isinstance(taken, Held)
    assert (taken.slot, world.slot().mode, world.slot().token) == (world.slot(), None, MINE.token)


def test_who_is_not_on_a_full_list_of_waiting_runs_waits_for_all_that_live() -> None:
    """Those on it that gave up hold up nobody."""
    gone = tuple(Waiter(period=f"gone-{n}", attempt=1, token="t", scheduled_at=T0 - TICK) for n in range(MOST_WAITING))
    taken = take(World(slot(waiting=gone)), WAIT)
    assert isinstance(taken, Held)
