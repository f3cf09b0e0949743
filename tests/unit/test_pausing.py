"""A person's pause of a job, step by step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held, Outcome, finish
from cronce.protocol.observing import Sighting, mark_paused
from cronce.protocol.operations import Get, Sleep, Swap, Take
from cronce.protocol.pausing import PauseRequest, pause, pause_of, resume
from cronce.protocol.records import PAUSED_SCHEMA, SCHEMA, Pause, RunRecord, SlotMode, SlotRecord
from cronce.protocol.requests import ClaimRequest, RefusalReason, Refused
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import RunName, checked_job
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from tests.support.builders import JOB, PERIOD, T0, TICK, run
from tests.support.scripted import World

HOUR = timedelta(hours=1)
WHY = "stocktaking"
STANDS = Pause(at=T0 - HOUR, by="ann", why=WHY)
PAUSED = SlotRecord(job=JOB, version=0).with_pause(STANDS)
MACHINES = [trigger for trigger in Trigger if not trigger.by_person]
PEOPLE = [trigger for trigger in Trigger if trigger.by_person]


def ask(course: ConcurrencyPolicy = ConcurrencyPolicy.FORBID, **changes: Any) -> ClaimRequest:  # noqa: ANN401  # fields
    """A claim of the tick."""
    default: dict[str, Any] = {
        "run": RunName.of(JOB, PERIOD, T0),
        "token": "mine",
        "owner": "me",
        "policy": Policy(concurrency_policy=course),
    }
    return ClaimRequest(**default | changes)


def paused_until(end: timedelta) -> SlotRecord:
    """The slot with a pause that ends then."""
    return SlotRecord(job=JOB, version=0).with_pause(Pause(at=T0 - HOUR, by="ann", why=WHY, until=T0 + end))


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
@pytest.mark.parametrize("trigger", MACHINES)
def test_a_machines_tick_of_a_paused_job_is_skipped_and_says_why(policy: ConcurrencyPolicy, trigger: Trigger) -> None:
    """Under every policy; no attempt began, and the slot is as it was."""
    world = World(PAUSED if policy is not ConcurrencyPolicy.ALLOW else PAUSED.in_mode(SlotMode.ALLOW))
    before = world.slot()
    assert world.play(claim(ask(policy, trigger=trigger))) == Refused(RefusalReason.PAUSED, world.run())
    row = world.run()
    assert (row.status, row.reason, row.actor, row.note) == (Status.SKIPPED, Reason.PAUSED, "ann", WHY)
    assert (row.attempt, row.failures, row.lease_until) == (0, 0, None)
    assert world.slot() == before


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
@pytest.mark.parametrize("trigger", PEOPLE)
def test_a_person_may_run_a_period_of_a_paused_job(policy: ConcurrencyPolicy, trigger: Trigger) -> None:
    """And the pause stays."""
    world = World(PAUSED)
    assert isinstance(world.play(claim(ask(policy, trigger=trigger))), Held)
    assert world.slot().pause == STANDS


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
@pytest.mark.parametrize(("end", "starts"), [(TICK, False), (timedelta(0), True), (-TICK, True)])
def test_a_pause_ends_at_its_end(policy: ConcurrencyPolicy, end: timedelta, *, starts: bool) -> None:
    """Just before, at, and just after."""
    world = World(paused_until(end))
    assert isinstance(world.play(claim(ask(policy))), Held) is starts


@pytest.mark.parametrize("policy", [each for each in ConcurrencyPolicy if each is not ConcurrencyPolicy.ALLOW])
def test_the_first_claim_after_a_pause_removes_it_from_the_slot(policy: ConcurrencyPolicy) -> None:
    """So that the claims after it find the slot free with one request."""
    world = World(paused_until(-TICK))
    assert isinstance(world.play(claim(ask(policy))), Held)
    assert (world.slot().pause, world.slot().schema) == (None, SCHEMA)


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_a_pause_costs_the_claim_of_a_job_that_is_not_paused_nothing(policy: ConcurrencyPolicy) -> None:
    """One write and a take; under ALLOW the slot is read for its mode anyway."""
    world = World(SlotRecord(job=JOB, version=1, mode=SlotMode.ALLOW if policy is ConcurrencyPolicy.ALLOW else None))
    assert isinstance(world.play(claim(ask(policy))), Held)
    assert (world.count(Swap), world.count(Take) + world.count(Get)) == (1, 1)


@pytest.mark.parametrize("trigger", Trigger)
def test_a_tick_that_was_skipped_is_started_later_only_by_a_person(trigger: Trigger) -> None:
    """A second delivery after the pause would start it hours late."""
    skipped = run(attempt=0, status=Status.SKIPPED, reason=Reason.PAUSED, lease_until=None, finished_at=T0)
    answer = World(skipped).play(claim(ask(trigger=trigger)))
    assert isinstance(answer, Held) is trigger.by_person
    assert trigger.by_person or answer == Refused(RefusalReason.PAUSED, skipped)


def test_a_run_that_waits_for_another_is_skipped_when_its_job_is_paused() -> None:
    """At its next look; the run that it waits for goes on."""
    other = run(period="2026-11-28", token="other", owner="other")
    held = SlotRecord(job=JOB, version=0).taken_by(other, at=T0)
    world = World(other, held)
    world.before(Sleep, 1, lambda: world.play(pause(PauseRequest(job=JOB, actor="ann", why=WHY))))
    assert world.play(claim(ask(ConcurrencyPolicy.WAIT))) == Refused(RefusalReason.PAUSED, world.run())
    assert world.run("2026-11-28") == other
    assert world.slot().is_held_as(held)


def test_the_end_of_a_run_keeps_the_pause_that_began_meanwhile() -> None:
    """It releases the slot only."""
    world = World()
    held = world.play(claim(ask()))
    assert isinstance(held, Held)
    stands = world.play(pause(PauseRequest(job=JOB, actor="ann", why=WHY)))
    world.play(finish(held, Outcome(event=Event.COMPLETE)))
    assert (world.slot().period, world.slot().pause) == (None, stands)


def test_a_retry_that_is_skipped_keeps_the_failure_before_it() -> None:
    """Among the attempts, and counted."""
    failed = run(status=Status.FAILED, reason=Reason.ERROR, failures=1, lease_until=None, finished_at=T0)
    world = World(failed, PAUSED)
    world.play(claim(ask(trigger=Trigger.RETRY, policy=Policy(backoff_limit=1))))
    row = world.run()
    assert (row.status, row.reason, row.failures) == (Status.SKIPPED, Reason.PAUSED, 1)
    assert [past.status for past in row.attempts] == [Status.FAILED]


def test_a_job_can_be_paused_before_it_has_a_slot() -> None:
    """The row that is written has nothing else."""
    world = World()
    world.play(pause(PauseRequest(job=JOB, actor="ann", why=WHY, until=T0 + HOUR)))
    assert world.slot() == SlotRecord(
        job=JOB, version=1, paused_at=T0, paused_by="ann", paused_why=WHY, paused_until=T0 + HOUR, schema=PAUSED_SCHEMA
    )
    assert world.play(pause_of(checked_job(JOB))) == world.slot().pause


def test_a_pause_that_loses_against_a_claim_is_repeated() -> None:
    """The run goes on, and holds the slot."""
    world = World(SlotRecord(job=JOB, version=1))
    world.before(Swap, 1, lambda: world.play(claim(ask())))
    world.play(pause(PauseRequest(job=JOB, actor="ann", why=WHY)))
    assert (world.slot().period, world.slot().paused_by) == (PERIOD, "ann")
    assert world.run().status is Status.RUNNING


def test_pausing_again_changes_reason_and_end_but_not_the_beginning() -> None:
    """Skipped ticks are looked for from there."""
    world = World(PAUSED)
    again = world.play(pause(PauseRequest(job=JOB, actor="bob", why="still", until=T0 + HOUR)))
    assert again == Pause(at=STANDS.at, by="bob", why="still", until=T0 + HOUR) == world.slot().pause


def test_a_pause_after_one_that_is_over_begins_anew() -> None:
    """It is another one."""
    world = World(paused_until(-TICK))
    assert world.play(pause(PauseRequest(job=JOB, actor="bob", why="again"))).at == T0


@pytest.mark.parametrize("end", [timedelta(0), -TICK])
def test_a_pause_that_would_be_over_is_refused(end: timedelta) -> None:
    """Nothing is written."""
    world = World(PAUSED)
    with pytest.raises(InputInvalidError, match="a time in the future"):
        world.play(pause(PauseRequest(job=JOB, actor="ann", why=WHY, until=T0 + end)))
    assert world.slot() == PAUSED


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("why", " "),
        ("why", None),
        ("actor", ""),
        ("until", "tomorrow"),
        ("until", T0.replace(tzinfo=None)),
        ("job", ""),
    ],
)
def test_a_request_that_says_nothing_usable_is_refused(what: str, value: object) -> None:
    """The error names what."""
    with pytest.raises(InputInvalidError, match=f"^{what}: "):
        PauseRequest(**{"job": JOB, "actor": "ann", "why": WHY} | {what: value})  # type: ignore[arg-type]


def test_resume_returns_the_pause_that_it_ended() -> None:
    """Or None; a holder keeps the slot."""
    held = PAUSED.taken_by(run(trigger=Trigger.MANUAL), at=T0)
    world = World(held)
    assert world.play(resume(checked_job(JOB))) == STANDS
    assert (world.slot().pause, world.slot().is_held_as(held)) == (None, True)
    assert world.play(resume(checked_job(JOB))) is None
    assert World().play(resume(checked_job(JOB))) is None


def test_a_resume_that_loses_against_another_write_is_repeated() -> None:
    """On the row as it is then."""
    world = World(PAUSED)
    world.before(Swap, 1, lambda: world.put(PAUSED.in_mode(SlotMode.ALLOW)))
    assert world.play(resume(checked_job(JOB))) == STANDS
    assert (world.slot().pause, world.slot().mode) == (None, SlotMode.ALLOW)


def test_a_pause_without_who_and_why_binds_too() -> None:
    """As a person may write it in the console of the database."""
    world = World(SlotRecord(job=JOB, version=1, paused_at=T0 - HOUR))
    assert world.play(claim(ask())) == Refused(RefusalReason.PAUSED, world.run())
    assert (world.run().actor, world.run().note) == ("unknown", None)


def test_a_pause_that_was_removed_in_the_console_is_over() -> None:
    """The claim makes the slot one that older versions read."""
    world = World(SlotRecord(job=JOB, version=1, schema=PAUSED_SCHEMA))
    assert isinstance(world.play(claim(ask())), Held)
    assert world.slot().schema == SCHEMA


def test_a_pause_that_is_over_is_none() -> None:
    """Though it is still in the slot."""
    assert World(paused_until(timedelta(0))).play(pause_of(checked_job(JOB))) is None
    assert World(SlotRecord(job=JOB, version=1)).play(pause_of(checked_job(JOB))) is None


@pytest.mark.parametrize(
    ("at", "covered"),
    [(T0 - HOUR - TICK, False), (T0 - HOUR, True), (T0 + HOUR - TICK, True), (T0 + HOUR, False)],
)
def test_a_pause_covers_the_ticks_from_its_beginning_to_before_its_end(at: Any, *, covered: bool) -> None:  # noqa: ANN401
    """A tick that was due before it was not skipped for it."""
    assert Pause(at=T0 - HOUR, by="ann", why=WHY, until=T0 + HOUR).covers(at) is covered


@pytest.mark.parametrize("row", [None, run(), run(status=Status.SUCCEEDED, lease_until=None)], ids=str)
def test_an_observer_marks_a_tick_that_has_no_row(row: RunRecord | None) -> None:
    """What another wrote stays."""
    world = World(*([row] if row else []))
    seen = Sighting(
        run=RunName.of(JOB, PERIOD, T0), token="t", owner="watchdog", reason=Reason.PAUSED, actor="ann", note=WHY
    )
    marked = world.play(mark_paused(seen))
    assert marked == world.run()
    if row is None:
        assert (marked.status, marked.reason, marked.attempt) == (Status.SKIPPED, Reason.PAUSED, 0)
        assert (marked.actor, marked.note, marked.scheduled_at) == ("ann", WHY, T0)
    else:
        assert marked == row
