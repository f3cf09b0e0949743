"""Whatever call of recorder and watchdog fails: in the end every row and launch is as without the failure."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from cronce import CatchUp, OnLost, Policy
from cronce.client.observer import Observer
from cronce_lambdas.settings import PinnedService
from tests.lambdas.events import (
    CLUSTER,
    EVENT,
    JOB,
    OTHER,
    PERIOD,
    SETTINGS,
    World,
    letter,
    running,
    stopped,
    variables,
)
from tests.lambdas.injection import InjectedStore, Injector, Kind, failing, injected
from tests.support.cloud import GROUP, T0

if TYPE_CHECKING:
    from collections.abc import Callable

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
RETRIES = Policy(backoff_limit=2, catch_up=CatchUp.LATEST)
NEVER_RAN: dict[str, Any] = {"exit_code": None, "stop_code": "TaskFailedToStart", "reason": "CannotPullContainerError"}

Outcome = tuple[dict[tuple[str, str], tuple[object, ...]], Counter[tuple[str, ...]]]


def outcome(world: World, *jobs: str) -> Outcome:
    """Rows by job and period, and how often each launch was arranged."""
    rows: dict[tuple[str, str], tuple[object, ...]] = {
        (run.job, run.period): (run.status, run.reason, run.attempt, run.owner, run.note)
        for job in jobs or (JOB,)
        for run in world.ledger().runs(job)
    }
    return rows, Counter((made["Name"], made["Target"]["Input"]) for made in world.scheduler.one_shots)


def kinds_of_events(world: World) -> set[tuple[str, ...]]:
    """The events that were sent, each once."""
    return {tuple(str(event.get(name)) for name in ("type", "job", "period", "service")) for event in world.events.sent}


# -- the recorder


def world_of(policy: Policy = RETRIES) -> World:
    """A world whose calls can fail."""
    return World(policy=policy, store=InjectedStore())


def crashed(world: World) -> dict[str, Any]:
    """A task died while it held its run."""
    world.claim()
    return EVENT


def failed(world: World) -> dict[str, Any]:
    """A task failed, and said so; no retry is left."""
    world.claim().fail("no", exit_code=1)
    return stopped()


def never_ran(world: World) -> dict[str, Any]:
    """The watchdog marked the tick; then its task could not pull its image."""
    Observer(world.ledger("cronce:watchdog")).mark_missed(JOB, PERIOD, reason="never_delivered", scheduled_at=T0)
    return stopped(**NEVER_RAN)


def unclaimed(_world: World) -> dict[str, Any]:
    """The image has no guard."""
    return stopped(exit_code=0)


def forged(_world: World) -> dict[str, Any]:
    """Of a job that does not exist."""
    return stopped(**NEVER_RAN, CRONCE_JOB="weekly")


EVENTS: dict[str, tuple[Callable[[World], dict[str, Any]], Policy]] = {
    "crashed": (crashed, RETRIES),
    "held": (crashed, Policy(on_lost=OnLost.HOLD)),
    "failed for good": (failed, Policy()),
    "failed once of three times": (failed, RETRIES),
    "never ran": (never_ran, RETRIES),
    "unclaimed": (unclaimed, RETRIES),
    "forged": (forged, RETRIES),
}


def settled(world: World, event: dict[str, Any]) -> None:
    """Lambda delivers the event twice more, then Lambda puts it into the queue."""
    with injected(world, Injector()):
        world.settle(event)
        assert world.sort(letter(event)) == {"batchItemFailures": []}


def points_of(name: str) -> int:
    """How many calls the invocation makes."""
    prepare, policy = EVENTS[name]
    world = world_of(policy)
    event = prepare(world)
    injector = Injector()
    with injected(world, injector):
        world.settle(event)
    return len(injector.calls)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_settled_whichever_call_of_it_fails(name: str, kind: Kind) -> None:
    """Delivered again, it leads to the same row and the same launches; no launch is made twice."""
    prepare, policy = EVENTS[name]
    expected = world_of(policy)
    settled(expected, prepare(expected))
    points = points_of(name)
    assert points >= 3
    for at in range(1, points + 1):
        world = world_of(policy)
        event = prepare(world)
        injector = Injector(at, kind)
        failing(world, injector, partial(world.settle, event))
        settled(world, event)
        point = (name, kind, at, injector.calls)
        assert outcome(world) == outcome(expected), point
        assert max(outcome(world)[1].values(), default=0) <= 1, point
        if injector.calls[at - 1] != "put_events":  # an event whose sending fails is in the log and the row
            assert kinds_of_events(world) == kinds_of_events(expected), point


# -- the queue


def retry_letter() -> dict[str, Any]:
    """A one-shot schedule could not start its task."""
    environ = {"CRONCE_PERIOD": PERIOD, "CRONCE_TRIGGER": "retry", "CRONCE_LAUNCH": "1"}
    body = {"containerOverrides": [{"name": "digest", "environment": variables(**environ)}]}
    arn = f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/once-0123456789abcdef"
    return letter(body, message_id="retry", SCHEDULE_ARN=arn)


def batch(world: World) -> list[dict[str, Any]]:
    """A tick that was refused, a retry that was refused, an event that came back, one that names nothing."""
    world.claim().fail("no", exit_code=1)
    tomorrow = {"CRONCE_SCHEDULED_TIME": PERIOD.replace("29T", "28T")}
    tick = letter({"containerOverrides": [{"name": "digest", "environment": variables(**tomorrow)}]}, message_id="tick")
    return [tick, retry_letter(), letter(stopped(), message_id="event"), {"messageId": "bad"}]


def delivered(world: World, messages: list[dict[str, Any]]) -> None:
    """The queue delivers until nothing is left."""
    with injected(world, Injector()):
        for _ in range(3):
            again = {each["itemIdentifier"] for each in world.sort(*messages)["batchItemFailures"]}
            messages = [message for message in messages if message["messageId"] in again]
        assert messages == []


def _sort_into(world: World, messages: list[dict[str, Any]], answer: dict[str, Any]) -> None:
    answer |= world.sort(*messages)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_batch_is_processed_whichever_call_of_it_fails(kind: Kind) -> None:
    """The message that failed comes again, and only that one unless the process died."""
    expected = world_of()
    delivered(expected, batch(expected))
    counting = Injector()
    traced = world_of()
    messages = batch(traced)
    with injected(traced, counting):
        traced.sort(*messages)
    for at in range(1, len(counting.calls) + 1):
        world = world_of()
        messages = batch(world)
        injector, answer = Injector(at, kind), dict[str, Any]()
        failing(world, injector, partial(_sort_into, world, messages, answer))
        if kind in (Kind.REFUSED, Kind.LOST):
            assert len(answer["batchItemFailures"]) <= 1, (kind, at, injector.calls)
        again = {each["itemIdentifier"] for each in answer.get("batchItemFailures", [])} if answer else None
        delivered(world, [each for each in messages if again is None or each["messageId"] in again])
        assert outcome(world) == outcome(expected), (kind, at, injector.calls)


# -- the watchdog

JOBS = ("missed", "lost", "held", "late")
ONE_KIND = pytest.mark.parametrize(
    "kind", [Kind.LOST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in Kind if kind != Kind.LOST)]
)
PINNED = (PinnedService(cluster=CLUSTER, service="clock", job="main"),)


def town() -> World:
    """Four jobs: a missed tick to catch up, a lost run, a held one, and a backlog; a clock with two tasks."""
    world = world_of()
    world.scheduler.schedules.clear()
    world.settings = SETTINGS.__class__(
        url=SETTINGS.url, group=SETTINGS.group, missed_after=SETTINGS.missed_after, pinned=PINNED
    )
    world.ecs.services["clock"] = {"serviceName": "clock", "desiredCount": 2, "status": "ACTIVE"}
    made = {"CreationDate": T0 - MINUTE, "LastModificationDate": T0 - MINUTE}
    hourly = {"ScheduleExpression": "cron(0 * * * ? *)"} | made
    world.define("missed", policy=Policy(catch_up=CatchUp.LATEST), **hourly)
    world.define("lost", policy=Policy(), **hourly)
    world.define("held", policy=Policy(on_lost=OnLost.HOLD), **hourly)
    world.define("late", policy=Policy(catch_up=CatchUp.ALL), **hourly)
    for job in ("lost", "held"):
        assert world.ledger(OTHER).claim(job, PERIOD, policy=Policy(on_lost=OnLost.RETRY))
    with injected(world, Injector()):
        world.look(T0)
    return world


def looked(world: World) -> None:
    """The watchdog looks for some time more."""
    with injected(world, Injector()):
        for minute in range(1, 26):
            world.look(T0 + 5 * MINUTE + minute * MINUTE)


@pytest.fixture(scope="module")
def quiet() -> tuple[World, int]:
    """The town without a failure, and how many calls the look makes."""
    world, injector = town(), Injector()
    with injected(world, injector):
        world.look(T0 + 5 * MINUTE)
    looked(world)
    return world, len(injector.calls)


@ONE_KIND
def test_a_look_is_made_up_for_whichever_call_of_it_fails(quiet: tuple[World, int], kind: Kind) -> None:
    """Some minutes later every job's rows and launches are as without the failure."""
    expected, points = quiet
    rows, launches = outcome(expected, *JOBS)
    assert len(rows) == len(JOBS)
    assert points > 30
    for at in range(1, points + 1):
        world = town()
        injector = Injector(at, kind)
        failing(world, injector, partial(world.look, T0 + 5 * MINUTE))
        looked(world)
        point = (kind, at, injector.calls[at - 1])
        found_rows, found_launches = outcome(world, *JOBS)
        assert found_rows == rows, point
        assert found_launches == launches, point
        if injector.calls[at - 1] != "put_events":
            assert kinds_of_events(world) == kinds_of_events(expected), point


def test_the_sweep_is_worth_something(quiet: tuple[World, int], record_property: Callable[[str, object], None]) -> None:
    """How many points are tried, each with every kind of failure."""
    points = sum(points_of(name) for name in EVENTS) + quiet[1]
    record_property("points", points * len(Kind))
    assert points * len(Kind) > 250


@ONE_KIND
def test_a_task_at_work_is_waited_for_whichever_call_of_a_look_fails(kind: Kind) -> None:
    """Only without an answer of ECS the tick is judged as if no task were at work."""
    waited: list[str] = []
    for at in count(1):
        world = world_of()
        world.define(policy=RETRIES, CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        world.ecs.tasks.append(running())
        with injected(world, Injector()):
            world.look(T0)
        injector = Injector(at, kind)
        failing(world, injector, partial(world.look, T0 + 5 * MINUTE))
        if len(injector.calls) < at:
            break
        looked(world)
        call = injector.calls[at - 1]
        if call not in ("list_tasks", "describe_tasks") or kind in (Kind.DIES_BEFORE, Kind.DIES_AFTER):
            assert outcome(world) == ({}, Counter()), (kind, at, injector.calls)
            waited.append(call)
    assert len(waited) > 10
