"""What the holder of a run does, and what becomes of it when somebody else wrote."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce.protocol.holding import Held, Lost, Outcome, finish, free_slot, renew
from cronce.protocol.operations import Swap
from cronce.protocol.records import RunRecord
from cronce.protocol.transitions import Event
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace
from tests.support.builders import LEASE, T0, TICK, held, run, slot
from tests.support.scripted import World

COMPLETE = Outcome(event=Event.COMPLETE, result='{"sent":3100}')
FAIL = Outcome(event=Event.FAIL, reason=Reason.ERROR, counts=True, error="boom", exit_code=7)
SUCCESSOR = run(version=5, attempt=2, token="third", owner="third")
LATER = T0 + timedelta(seconds=15)

TAKEN_FROM_ME = {
    "taken over": SUCCESSOR,
    "taken over and done": run(version=6, attempt=2, token="third", status=Status.SUCCEEDED, result='"theirs"'),
    "the same attempt of another claim": run(version=5, token="third"),
}


def test_trust_ends_a_fifth_of_the_lease_before_its_end() -> None:
    """Counted from when the request was sent."""
    assert held(sent_at=T0 + TICK).trusted_until == T0 + TICK + timedelta(seconds=48)


def test_the_fence_is_the_slots_else_the_attempts() -> None:
    """Without a slot, runs of a job may overlap and only attempts are ordered."""
    assert held(run(attempt=4)).fence == 4
    assert held(run(attempt=4), by=slot(run())).fence == 4
    assert held(run(attempt=1), by=slot(run())).fence == 4


def test_a_heartbeat_begins_the_lease_anew() -> None:
    """And leaves the checkpoint as it is."""
    mine = run(checkpoint="7")
    world = World(mine, now=LATER)
    renewed = world.play(renew(held(mine)))
    assert isinstance(renewed, Held)
    assert (renewed.run, renewed.sent_at) == (world.run(), LATER)
    assert (world.run().heartbeat_at, world.run().lease_until) == (LATER, LATER + LEASE)
    assert (world.run().checkpoint, world.run().version) == ("7", 2)


def test_a_checkpoint_is_a_heartbeat() -> None:
    """It is one write."""
    world = World(run(), now=LATER)
    world.play(renew(held(), checkpoint="8"))
    assert (world.run().checkpoint, world.run().lease_until) == ("8", LATER + LEASE)
    assert world.count(Swap) == 1


def test_a_heartbeat_whose_answer_was_lost_is_written_once() -> None:
    """The row is what was sent (L1)."""
    world = World(run(), now=LATER)
    world.lose_answer(1)
    assert isinstance(world.play(renew(held())), Held)
    assert world.run().version == 2


def test_a_heartbeat_keeps_the_wish_that_somebody_wrote() -> None:
    """It is carried on, so that the holder sees it."""
    world = World(run().after(Event.CANCEL, cancel_requested="replaced by x"), now=LATER)
    renewed = world.play(renew(held()))
    assert isinstance(renewed, Held)
    assert (renewed.run.cancel_requested, renewed.run.version) == ("replaced by x", 3)


@pytest.mark.parametrize("standing", TAKEN_FROM_ME.values(), ids=TAKEN_FROM_ME)
@pytest.mark.parametrize("act", [renew, lambda h: finish(h, COMPLETE), lambda h: finish(h, FAIL)])
def test_a_run_that_was_taken_over_is_lost(standing: RunRecord, act: object) -> None:
    """Heartbeat, success and failure are refused and change nothing (L7)."""
    assert callable(act)
    mine = slot(run())
    world = World(standing, mine, now=LATER)
    assert world.play(act(held(by=mine))) == Lost(standing)
    assert (world.run(), world.slot()) == (standing, mine)


@pytest.mark.parametrize("status", [Status.FAILED, Status.SUCCEEDED, Status.SKIPPED, Status.MISSED])
def test_a_heartbeat_does_not_revive_a_final_attempt(status: Status) -> None:
    """An observer marked me lost: I must stop."""
    marked = run(version=2, status=status)
    assert World(marked).play(renew(held())) == Lost(marked)


def test_a_row_that_is_gone_is_lost() -> None:
    """Nothing is written in its place."""
    world = World()
    assert world.play(renew(held())) == Lost(None)
    assert world.play(finish(held(), COMPLETE)) == Lost(None)


def test_a_success_is_written_and_frees_the_slot() -> None:
    """Two writes."""
    mine = slot(run())
    world = World(run(failures=1), mine, now=LATER)
    done = world.play(finish(held(run(failures=1), by=mine), COMPLETE))
    assert isinstance(done, Held)
    assert (done.run, world.count(Swap)) == (world.run(), 2)
    assert (world.run().status, world.run().result, world.run().failures) == (Status.SUCCEEDED, '{"sent":3100}', 1)
    assert (world.run().finished_at, world.run().lease_until) == (LATER, None)
    assert (world.slot().period, world.slot().fence) == (None, mine.fence)


@pytest.mark.parametrize(("counts", "failures"), [(True, 3), (False, 2)])
def test_a_failure_counts_if_it_is_the_attempts_own_doing(counts: bool, failures: int) -> None:  # noqa: FBT001  # a column
    """An interruption does not."""
    mine = run(failures=2)
    world = World(mine)
    world.play(finish(held(mine), replace(FAIL, counts=counts)))
    assert (world.run().failures, world.run().error, world.run().exit_code) == (failures, "boom", 7)


@pytest.mark.parametrize(("asked", "reason"), [("replaced by x", Reason.REPLACED), (None, Reason.INTERRUPTED)])
def test_who_was_stopped_to_be_replaced_was_replaced(asked: str | None, reason: Reason) -> None:
    """Its SIGTERM may come before it hears from the ledger why."""
    world = World(run(version=2, cancel_requested=asked))
    world.play(finish(held(), Outcome(event=Event.FAIL, reason=Reason.INTERRUPTED)))
    assert world.run().reason == reason


@pytest.mark.parametrize("outcome", [COMPLETE, FAIL], ids=["complete", "fail"])
def test_an_end_whose_answer_was_lost_is_written_once(outcome: Outcome) -> None:
    """And frees the slot (L1)."""
    mine = slot(run())
    world = World(run(), mine, now=LATER)
    world.lose_answer(1)
    done = world.play(finish(held(by=mine), outcome))
    assert isinstance(done, Held)
    assert (world.run().version, world.slot().period) == (2, None)


@pytest.mark.parametrize(
    ("outcome", "status"), [(COMPLETE, Status.SUCCEEDED), (FAIL, Status.FAILED)], ids=["complete", "fail"]
)
def test_my_own_final_record_is_success(outcome: Outcome, status: Status) -> None:
    """An earlier try landed with another time in it; the row stays as it is."""
    landed = run(version=2, status=status, finished_at=T0 + TICK)
    mine = slot(run())
    world = World(landed, mine, now=LATER)
    done = world.play(finish(held(by=mine), outcome))
    assert isinstance(done, Held)
    assert (done.run, world.run(), world.slot().period) == (landed, landed, None)


def test_my_success_outranks_an_observer() -> None:
    """The recorder saw my task stop while I was still finishing."""
    marked = run(version=2, status=Status.FAILED, reason=Reason.TASK_STOPPED, error="gone")
    world = World(marked, now=LATER)
    done = world.play(finish(held(), COMPLETE))
    assert isinstance(done, Held)
    assert (world.run().status, world.run().reason, world.run().error) == (Status.SUCCEEDED, None, None)
    assert world.run().version == 3


def test_my_success_clears_the_note_of_an_observer_that_gave_my_run_up() -> None:
    """The note says that no machine starts the run again; it succeeded after all."""
    given_up = run(version=3, status=Status.FAILED, reason=Reason.TASK_STOPPED, lease_until=None)
    world = World(replace(given_up, actor="cronce:recorder", note="no retry is left"))
    assert isinstance(world.play(finish(held(), Outcome(event=Event.COMPLETE))), Held)
    assert (world.run().status, world.run().actor, world.run().note) == (Status.SUCCEEDED, None, None)


def test_my_success_does_not_outrank_my_successor() -> None:
    """It began the next attempt between my look and my write."""
    marked = run(version=2, status=Status.FAILED, reason=Reason.LEASE_LOST)
    world = World(marked, now=LATER)
    world.before(Swap, 2, lambda: world.put(SUCCESSOR))
    assert world.play(finish(held(), COMPLETE)) == Lost(SUCCESSOR)
    assert world.run() == SUCCESSOR


def test_my_success_outranks_an_observer_that_writes_twice() -> None:
    """The mark was released by a person at that moment; the attempt is still mine."""
    marked = run(version=2, status=Status.FAILED, reason=Reason.LEASE_LOST)
    released = marked.after(Event.RELEASE, reason=Reason.RELEASED)
    world = World(marked, now=LATER)
    world.before(Swap, 2, lambda: world.put(released))
    assert isinstance(world.play(finish(held(), COMPLETE)), Held)
    assert (world.run().status, world.run().version) == (Status.SUCCEEDED, 4)


def test_my_success_does_not_outrank_a_row_that_is_gone() -> None:
    """It vanished between my look and my write."""
    marked = run(version=2, status=Status.FAILED, reason=Reason.LEASE_LOST)
    world = World(marked, now=LATER)
    world.before(Swap, 2, lambda: world.delete(marked))
    assert world.play(finish(held(), COMPLETE)) == Lost(None)


def test_a_failure_does_not_undo_a_success() -> None:
    """A final state never moves back."""
    done = run(version=2, status=Status.SUCCEEDED)
    world = World(done)
    assert world.play(finish(held(), FAIL)) == Lost(done)
    assert world.run() == done


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.MISSED])
def test_an_attempt_that_stood_back_does_not_succeed(status: Status) -> None:
    """It never began."""
    stood_back = run(version=2, status=status)
    assert World(stood_back).play(finish(held(), COMPLETE)) == Lost(stood_back)


def test_a_slot_that_somebody_took_is_left_alone() -> None:
    """Freeing is a swap on the version that was seen."""
    theirs = slot(SUCCESSOR, version=9)
    world = World(theirs)
    world.play(free_slot(slot(run())))
    assert world.slot() == theirs


def test_an_end_stands_although_the_slot_could_not_be_freed() -> None:
    """A slot whose run is over is stale; the next claim takes it anyway."""
    mine = slot(run())
    world = World(run(), mine)
    world.cut_off(Swap, 2)
    assert isinstance(world.play(finish(held(by=mine), COMPLETE)), Held)
    assert (world.run().status, world.slot()) == (Status.SUCCEEDED, mine)


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        (Lost(None), "its row is gone"),
        (Lost(SUCCESSOR), "it is now attempt 2, RUNNING, of third"),
        (
            Lost(run(status=Status.FAILED, reason=Reason.LEASE_LOST)),
            "it is now attempt 1, FAILED(lease_lost), of other",
        ),
    ],
)
def test_a_lost_run_says_why(lost: Lost, why: str) -> None:
    """For a person."""
    assert lost.why == why


@pytest.mark.parametrize("event", [Event.BLOCK, Event.EXPIRE])
def test_an_attempt_that_was_given_back_did_not_start(event: Event) -> None:
    """The next one gets its number, with another token; what fences is the token and the slot."""
    world = World(run(attempt=3))
    given_back = world.play(finish(held(run(attempt=3)), Outcome(event=event, reason=Reason.OVERLAP)))
    assert isinstance(given_back, Held)
    assert world.run().attempt == 2
