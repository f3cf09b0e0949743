"""Exclusion groups: runs of the jobs of one group never overlap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.protocol.claiming import claim
from cronce.protocol.groups import holder_of_group
from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.observing import ReleaseRequest, mark_all_lost, mark_stopped, release
from cronce.protocol.operations import Get, Sleep, Swap
from cronce.protocol.records import GroupSlotRecord, Pause, RunRecord, SlotRecord
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.protocol.transitions import Event
from cronce.stores.codec import encode
from cronce.testing.records import group_slot
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.support.builders import JOB, LEASE, LEASE_IS_OVER_AT, PERIOD, T0, TICK, request, run, slot
from tests.support.scripted import World

FORBID, WAIT = ConcurrencyPolicy.FORBID, ConcurrencyPolicy.WAIT
CLOSE = run(job="daily-close", period="2026-12-01", token="token-of-close", owner="close")
HELD = group_slot(CLOSE)
DONE = Outcome(event=Event.COMPLETE)


def ask(policy: ConcurrencyPolicy = FORBID, **changes: Any) -> ClaimRequest:  # noqa: ANN401  # of the request or its policy
    """My request, for a run of a job of the group."""
    return request(concurrency_policy=policy, exclusion_group="billing", scheduled_at=T0, **changes)


def won(world: World, wanted: ClaimRequest | None = None) -> Held:
    """The claim."""
    answer = world.play(claim(wanted or ask()))
    assert isinstance(answer, Held)
    return answer


def group(world: World) -> GroupSlotRecord:
    """The stored slot of the group."""
    standing = world.get("cronce:group:billing", "slot")
    assert isinstance(standing, GroupSlotRecord)
    return standing


@pytest.mark.parametrize("standing", [None, group_slot()], ids=["no row", "free"])
def test_a_free_group_is_acquired_after_the_slot(standing: GroupSlotRecord | None) -> None:
    """The row names the run; the lease is that of the claim."""
    world = World(*([standing] if standing else []))
    mine = won(world)
    assert mine.group == group(world)
    assert (group(world).of_job, group(world).period, group(world).token) == (JOB, PERIOD, "token-of-me")
    assert group(world).lease_until == T0 + LEASE
    assert world.run().exclusion_group == "billing"
    assert (world.slot().period, mine.slot) == (PERIOD, world.slot())


def test_the_fence_is_higher_than_the_groups_and_the_jobs() -> None:
    """A store of effects that knew the job before it joined the group goes on to accept it."""
    assert won(World(slot(fence=7), group_slot(fence=3))).fence == 9
    assert won(World(slot(fence=2), group_slot(fence=30))).fence == 31


def test_forbid_steps_back_and_names_job_and_period() -> None:
    """The slot of the own job is free again, and nobody has read or written a row of the other job."""
    world = World(CLOSE, HELD)
    assert world.play(claim(ask())) == Refused(RefusalReason.OVERLAPPING, world.run())
    mine = world.run()
    assert (mine.status, mine.reason, mine.attempt) == (Status.SKIPPED, Reason.OVERLAP, 0)
    assert (mine.blocked_by_job, mine.blocked_by) == ("daily-close", "2026-12-01")
    assert world.slot().period is None
    assert group(world) == HELD
    assert all(each.job != CLOSE.job for each in world.asked if isinstance(each, Get))
    assert all(each.record.job != CLOSE.job for each in world.asked if isinstance(each, Swap))


def test_the_next_attempt_forgets_who_was_in_the_way() -> None:
    """A person starts the skipped run later."""
    world = World(HELD)
    world.play(claim(ask()))
    world.put(group_slot(version=HELD.version + 1))
    won(world, ask(trigger=Trigger.MANUAL, token="another"))
    assert (world.run().blocked_by_job, world.run().blocked_by) == (None, None)


def test_wait_starts_when_the_group_is_free() -> None:
    """Its own lease is renewed meanwhile."""
    world = World(HELD)
    world.before(Sleep, 12, lambda: world.put(group_slot(version=HELD.version + 1)))
    mine = won(world, ask(WAIT))
    assert world.count(Sleep) == 12
    assert mine.trusted_until > world.now
    assert group(world).of_job == JOB


def test_wait_gives_up_at_the_starting_deadline() -> None:
    """MISSED, with the run that was in the way."""
    world = World(replace(HELD, lease_until=T0 + timedelta(days=1)))
    refused = world.play(claim(ask(WAIT, starting_deadline=timedelta(seconds=90))))
    assert refused == Refused(RefusalReason.TOO_LATE, world.run())
    assert (world.run().status, world.run().reason) == (Status.MISSED, Reason.TOO_LATE)
    assert (world.run().blocked_by_job, world.slot().period) == ("daily-close", None)


def test_who_is_asked_to_stop_while_it_waits_gives_the_run_back() -> None:
    """Nothing is left behind."""
    world = World(HELD)
    world.before(Sleep, 1, lambda: setattr(world, "stopping", True))
    assert world.play(claim(ask(WAIT))) == Refused(RefusalReason.INTERRUPTED, world.run())
    assert (world.run().reason, world.slot().period, group(world)) == (Reason.INTERRUPTED, None, HELD)


def test_a_pause_of_the_job_ends_its_wait() -> None:
    """The pause is in the job's slot, which the run holds; the group is not paused."""
    world = World(HELD)
    world.before(Sleep, 2, lambda: world.put(world.slot().with_pause(Pause(at=T0, by="ann", why="down"))))
    assert world.play(claim(ask(WAIT))) == Refused(RefusalReason.PAUSED, world.run())
    assert (world.run().status, world.run().reason, world.slot().period) == (Status.SKIPPED, Reason.PAUSED, None)
    other = replace(ask(), run=RunName.of("other-job", PERIOD), token="other")
    world.put(group_slot(version=HELD.version + 1))
    assert isinstance(world.play(claim(other)), Held)


@pytest.mark.parametrize(("past", "taken"), [(-TICK, False), (timedelta(0), False), (TICK, True)])
def test_the_group_of_a_silent_holder_is_acquired_when_its_lease_and_the_skew_are_over(
    past: timedelta,
    taken: bool,  # noqa: FBT001  # a column
) -> None:
    """Its run stays as it is: the other job's observers settle it."""
    world = World(CLOSE, HELD, now=LEASE_IS_OVER_AT + past)
    answer = world.play(claim(ask()))
    assert isinstance(answer, Held) is taken
    assert world.get(CLOSE.job, CLOSE.key) == CLOSE
    assert world.play(holder_of_group("billing")) == (group(world) if not taken else answer.group)  # type: ignore[union-attr]


def test_a_skewed_clock_ends_nobodys_lease() -> None:
    """The holder may well live."""
    wanted = replace(ask(), max_clock_skew=timedelta(seconds=5))
    world = World(HELD, now=LEASE_IS_OVER_AT + TICK)
    world.before(Get, 1, lambda: setattr(world, "skew", timedelta(seconds=6)))
    assert isinstance(world.play(claim(wanted)), Refused)
    assert group(world) == HELD


@pytest.mark.parametrize("lacking", ["lease_until", "heartbeat_at"])
def test_a_holder_without_a_lease_is_left_to_a_person(lacking: str) -> None:
    """A foreign program wrote it."""
    foreign = replace(HELD, **{lacking: None})
    world = World(foreign, now=T0 + timedelta(days=365))
    assert isinstance(world.play(claim(ask())), Refused)
    assert group(world) == foreign


def test_a_dead_run_of_the_own_job_does_not_hold_up_its_successor() -> None:
    """The job's slot says that it has ended, so nobody waits for the lease of the group."""
    dead = run(status=Status.FAILED, reason=Reason.TASK_STOPPED, exclusion_group="billing")
    world = World(dead, slot(dead), group_slot(dead))
    mine = won(world)
    assert (mine.run.attempt, group(world).token) == (2, "token-of-me")


def test_a_claimant_that_was_frozen_does_not_acquire_the_group_of_its_successor() -> None:
    """It looks at the job's slot after the group's: that is not its own any more."""
    successor = run(period="2026-11-30", token="third", owner="third", exclusion_group="billing")
    world = World()

    def overtaken() -> None:
        world.put(run(version=2, status=Status.FAILED, reason=Reason.LEASE_LOST, token="token-of-me", owner="me"))
        world.put(slot(successor))
        world.put(group_slot(successor))

    world.before(Get, 1, overtaken)
    assert world.play(claim(ask())) == Refused(RefusalReason.LEASE_LOST, world.run())
    assert group(world) == group_slot(successor)


@pytest.mark.parametrize("policy", [FORBID, WAIT])
def test_a_claimant_that_loses_the_group_before_it_began_steps_back_or_waits(policy: ConcurrencyPolicy) -> None:
    """It was frozen after it had acquired the group."""
    world = World()
    taken = replace(HELD, version=2, fence=9, lease_until=T0 + timedelta(seconds=300))

    def frozen() -> None:
        world.now = LEASE_IS_OVER_AT + TICK
        world.put(taken)

    world.after(Swap, 2, frozen)
    world.before(Sleep, 5, lambda: world.put(group_slot(version=3, fence=9)))
    answer = world.play(claim(ask(policy)))
    if policy is FORBID:
        assert answer == Refused(RefusalReason.OVERLAPPING, world.run())
        assert (world.run().blocked_by_job, world.slot().period, group(world)) == ("daily-close", None, taken)
    else:
        assert isinstance(answer, Held)
        assert answer.trusted_until > world.now
        assert group(world).token == "token-of-me"


def test_a_claimant_that_loses_its_run_before_it_began_frees_group_and_slot() -> None:
    """It was frozen after it had acquired both, and an observer settled its run."""
    world = World()

    def frozen() -> None:
        world.now = LEASE_IS_OVER_AT + TICK
        world.put(run(attempt=2, token="third", version=5, owner="third"))

    world.after(Swap, 2, frozen)
    assert world.play(claim(ask())) == Refused(RefusalReason.LEASE_LOST, world.run())
    assert (world.run().token, group(world).period, world.slot().period) == ("third", None, None)


def test_the_end_counts_although_the_group_cannot_be_freed() -> None:
    """Its lease expires."""
    world = World()
    mine = won(world)
    world.cut_off(Swap, 2)
    assert isinstance(world.play(finish(mine, DONE)), Held)
    assert (world.run().status, group(world)) == (Status.SUCCEEDED, mine.group)


def test_a_lost_answer_is_found_to_be_mine() -> None:
    """My own row refused my own request."""
    world = World()
    world.lose_answer(2)
    assert won(world).group == group(world)


def test_losing_the_race_for_the_group_is_decided_again() -> None:
    """The other job took it just before."""
    world = World()
    world.before(Swap, 2, lambda: world.put(HELD))
    assert world.play(claim(ask())) == Refused(RefusalReason.OVERLAPPING, world.run())


def test_the_lease_of_the_group_is_renewed_before_that_of_the_run() -> None:
    """And trust counts from there: it ends before either lease."""
    world = World()
    mine = won(world)
    world.now += LEASE / 4
    world.after(Swap, 1, lambda: setattr(world, "now", world.now + timedelta(seconds=2)))
    renewed = world.play(renew(mine))
    assert isinstance(renewed, Held)
    assert (renewed.group, renewed.run) == (group(world), world.run())
    assert group(world).lease_until == T0 + LEASE * 5 / 4
    assert renewed.sent_at == T0 + LEASE / 4
    assert world.run().lease_until == T0 + LEASE * 5 / 4 + timedelta(seconds=2)


def test_a_renewal_of_the_group_whose_answer_was_lost_is_found_again() -> None:
    """A later try sees the row one version further."""
    world = World()
    mine = won(world)
    world.now += timedelta(seconds=1)
    assert isinstance(world.play(renew(mine)), Held)
    world.now += timedelta(seconds=1)
    renewed = world.play(renew(mine))
    assert isinstance(renewed, Held)
    assert renewed.group == group(world)


def test_whoever_lost_the_group_lost_the_claim() -> None:
    """It is told to whom, and its run is not renewed."""
    world = World()
    mine = won(world)
    world.put(replace(HELD, version=2))
    lost = world.play(renew(mine))
    assert isinstance(lost, Lost)
    assert lost.why == "its exclusion group is now held by daily-close 2026-12-01"
    assert world.run() == mine.run


def test_the_end_of_the_run_frees_the_group_and_the_slot() -> None:
    """The fence stays."""
    world = World()
    mine = won(world)
    world.play(finish(mine, DONE))
    assert (group(world).of_job, group(world).period, group(world).lease_until) == (None, None, None)
    assert (group(world).fence, world.slot().period) == (mine.fence, None)


def test_a_late_end_leaves_the_group_to_its_next_holder() -> None:
    """Its own success is recorded: it is true."""
    world = World()
    mine = won(world)
    world.put(replace(HELD, version=2))
    assert isinstance(world.play(finish(mine, DONE)), Held)
    assert (world.run().status, group(world).of_job) == (Status.SUCCEEDED, "daily-close")


def test_the_end_of_a_lost_run_frees_the_group_too() -> None:
    """The work has ended, whoever holds the run."""
    world = World()
    mine = won(world)
    world.put(run(attempt=2, token="third", version=5, owner="third"))
    assert isinstance(world.play(finish(mine, DONE)), Lost)
    assert group(world).period is None


def test_an_observer_frees_the_group_of_a_run_whose_task_stopped() -> None:
    """Nobody has to wait for its lease."""
    world = World()
    won(world)
    world.play(mark_stopped(JOB, PERIOD, owner="me", exit_code=137))
    assert (group(world).period, world.slot().period) == (None, None)


def test_an_observer_leaves_the_group_to_another_run_of_the_job() -> None:
    """It hears late of a task, whose successor has the group."""
    successor = run(period="2026-11-30", token="third", owner="third", exclusion_group="billing")
    held = group_slot(successor)
    world = World(run(exclusion_group="billing"), slot(successor), held)
    world.play(mark_stopped(JOB, PERIOD, owner="other", exit_code=137))
    assert (world.run().reason, group(world)) == (Reason.TASK_STOPPED, held)


def test_releasing_a_run_and_marking_it_lost_free_its_group_only() -> None:
    """The group of another run stays held."""
    forced = ReleaseRequest(run=RunName.of(JOB, PERIOD), actor="ann", force=True)
    for settle in (lambda: release(forced), lambda: mark_all_lost(JOB)):
        for standing, period in ((None, None), (replace(HELD, version=2), "2026-12-01")):
            world = World()
            won(world)
            if standing is not None:
                world.put(standing)
            world.now = LEASE_IS_OVER_AT + TICK
            world.play(settle())
            assert (group(world).period, world.run().status) == (period, Status.FAILED)


def test_a_group_that_cannot_be_read_starts_nothing() -> None:
    """A slot of an older version under that name, or one of a newer version: the run is given back at once."""
    for item in (encode(SlotRecord(job="cronce:group:billing", version=1)), {**encode(HELD), "schema": 4}):
        world = World()
        world.put_item(item)
        with pytest.raises(RecordUnreadableError):
            world.play(claim(ask()))
        assert (world.run().status, world.run().reason) == (Status.FAILED, Reason.SLOT_UNUSABLE)
        assert world.slot().period is None


def test_jobs_without_a_group_never_look_for_one() -> None:
    """A claim under FORBID costs what it did."""
    world = World()
    assert isinstance(world.play(claim(request())), Held)
    assert world.count(Get) == 0
    assert world.count(Swap) == 1
    assert isinstance(world.get(JOB, f"run#{PERIOD}"), RunRecord)
