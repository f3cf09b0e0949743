"""A random history of one job: ticks delivered, late and lost, schedule changes, pauses of the watchdog.

The truth is kept beside it: which ticks were due, by the schedule that stood at that moment, and which of them
the watchdog can be sure about.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cronce import CatchUp, Claim, Policy
from cronce.schedule import parse
from cronce.vocabulary.names import period_of
from cronce.watch.notices import RUN_MISSED
from tests.lambdas.events import ARN, JOB, SETTINGS, World, letter, running, stopped
from tests.support.cloud import FakeScheduler, StillClock, schedule

MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)

SEASONS = {
    "autumn": datetime(2026, 10, 31, 20, tzinfo=UTC),
    "spring": datetime(2026, 3, 7, 20, tzinfo=UTC),
    "plain": datetime(2026, 6, 10, tzinfo=UTC),
}
"""When histories begin: New York's clocks change in the first night of two of them."""

TIMES: list[dict[str, Any]] = [
    {"ScheduleExpression": "cron(0 * * * ? *)", "ScheduleExpressionTimezone": "America/New_York"},
    {"ScheduleExpression": "cron(30 1,2 * * ? *)", "ScheduleExpressionTimezone": "America/New_York"},
    {"ScheduleExpression": "cron(*/15 * * * ? *)", "ScheduleExpressionTimezone": "UTC"},
    {"ScheduleExpression": "rate(20 minutes)"},
]


@dataclass(kw_only=True)
class History:
    """One history after it was played.

    Attributes:
        due: Every tick that was due -> when its task claimed it; None if never.
        looks: When the watchdog looked.
        changes: When the schedule was changed, and whether that was a mere deployment.
        told: The periods in the events that were sent.
        lines: What happened, for a failure.
        intrusions: How many forged events there were.
        silent: Every tick whose task worked without asking the ledger -> when the recorder heard that it had stopped.
    """

    seed: str
    season: str
    world: World
    due: dict[datetime, datetime | None] = field(default_factory=dict)
    looks: list[datetime] = field(default_factory=list)
    changes: list[tuple[datetime, bool]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    intrusions: int = 0
    silent: dict[datetime, datetime] = field(default_factory=dict)

    @property
    def told(self) -> set[str]:
        """The periods in the events that were sent."""
        return {event["period"] for event in self.world.events.sent if event["type"] == RUN_MISSED}

    def is_recorded(self, tick: datetime) -> bool:
        """True if the stop of the tick's silent task is believed: the schedule that the recorder read has the tick."""
        return tick in self.silent and not any(
            tick < at <= self.silent[tick] + 10 * MINUTE and not deployment for at, deployment in self.changes
        )

    def is_sure(self, tick: datetime) -> bool:
        """True if the looks before and after the tick leave no doubt that it was due, and a later one judged it.

        The schedule stood still from the tick to the next look, or nothing but deployments
        happened between the two looks around it.
        """
        after = next((look for look in self.looks if look > tick), None)
        if after is None or tick > self.looks[-1] - SETTINGS.missed_after:
            return False
        before = max((look for look in self.looks if look < tick), default=None)
        if not any(tick < at <= after for at, _ in self.changes):
            return True
        return before is not None and all(deployment for at, deployment in self.changes if before < at <= after)


@cache
def play(season: str, seed: int, *, hours: int = 28) -> History:
    """Play a history to its end; once in this process."""
    player = _Player(season, seed, hours=hours)
    for minute in range(hours * 60):
        player.minute(player.began_at + minute * MINUTE)
    player.rest(player.began_at + hours * 60 * MINUTE)
    return player.history


class _Player:
    def __init__(self, season: str, seed: int, *, hours: int) -> None:
        self._dice = random.Random(f"{season} {seed}")
        self._intruder = random.Random(f"intruder {season} {seed}")
        self._silent = random.Random(f"silent {season} {seed}")
        self._stops: list[tuple[datetime, dict[str, Any]]] = []
        self.began_at = SEASONS[season]
        self._last_silent_at = self.began_at + (hours - 2) * 60 * MINUTE
        self._policy = Policy(catch_up=self._dice.choice(list(CatchUp)))
        self._image, self._enabled = 1, True
        self._times = self._dice.choice(TIMES)
        world = World(scheduler=FakeScheduler(schedule(JOB)), clock=StillClock(self.began_at))
        self.history = History(seed=f"{season} {seed}", season=season, world=world)
        self._world = world
        self._deliveries: list[tuple[datetime, datetime]] = []
        self._asleep_until = self.began_at
        self._cadence = self._dice.choice([1, 3, 7])
        self._kind: str | None = None
        self._created_at = self.began_at - 10 * SECOND
        self._define(self._created_at)

    def minute(self, at: datetime) -> None:
        """Let a minute pass: ticks and deliveries first, then people, the watchdog, and people again."""
        if self._is_due(at):
            self.history.due[at] = None
            self._roll_delivery(at)
        self._deliver(at)
        self._stop_silent(at)
        self._perhaps_change(at + self._dice.randint(1, 25) * SECOND)
        if at >= self._asleep_until and (at - self.began_at) // MINUTE % self._cadence == 0:
            self._look(at + 30 * SECOND)
            if self._dice.random() < 0.004:
                self._asleep_until = at + self._dice.randint(10, 240) * MINUTE
                self._say(at, f"the watchdog sleeps until {self._asleep_until:%d %H:%M}")
        self._perhaps_change(at + self._dice.randint(35, 59) * SECOND)
        if self._intruder.random() < 0.01:
            self._intrude(at)

    def rest(self, at: datetime) -> None:
        """Nothing is delivered or changed any more, and the watchdog looks until everything before is judged."""
        for minute in range(12):
            if self._is_due(at + minute * MINUTE):
                self.history.due[at + minute * MINUTE] = None
            self._look(at + minute * MINUTE + 30 * SECOND)

    def _intrude(self, at: datetime) -> None:
        """Give the recorder an event or a letter that does not fit the job's definition."""
        nginx = "arn:aws:ecs:eu-west-1:111122223333:task-definition/nginx:1"
        tick, later = period_of(at.replace(minute=0)), period_of(at + timedelta(days=1))
        never_ran: dict[str, Any] = {"exit_code": self._intruder.choice([None, 0, 1]), "stop_code": "TaskFailedToStart"}
        match self._intruder.randrange(5):
            case 0:
                event = stopped(**never_ran, CRONCE_SCHEDULED_TIME=tick)
                event["detail"]["taskDefinitionArn"] = nginx
            case 1:
                event = stopped(**never_ran, CRONCE_SCHEDULED_TIME=tick) | {"account": "999999999999"}
            case 2:
                event = stopped(**never_ran, CRONCE_SCHEDULED_TIME=later)
            case 3:
                event = stopped(**never_ran, CRONCE_PERIOD="$(curl evil)")
            case _:
                event = stopped(**never_ran, CRONCE_JOB=f"job-{at.minute}")
        self._world.clock.advance(max(at - self._world.clock.now(), timedelta(0)))
        answers = [self._world.settle(event), self._world.sort(letter(event))]
        self._say(at, f"an intruder: {answers}")
        self.history.intrusions += 1

    def _is_due(self, at: datetime) -> bool:
        standing = self._standing
        if standing["State"] != "ENABLED" or at <= self._modified_at:
            return False
        timing = parse(
            standing["ScheduleExpression"],
            timezone=standing["ScheduleExpressionTimezone"],
            start=standing.get("StartDate"),
        )
        return at in timing.between(at, at + SECOND)

    def _roll_delivery(self, at: datetime) -> None:
        fate = self._dice.random()
        if fate < 0.7:
            self._deliveries.append((at + self._dice.randint(0, 4) * MINUTE, at))
        elif fate < 0.8:
            self._deliveries.append((at + self._dice.randint(7, 90) * MINUTE, at))
        elif at < self._last_silent_at and self._silent.random() < 0.5:
            self._work_silently(at)
        else:
            self._say(at, "is due, and lost")

    def _work_silently(self, tick: datetime) -> None:
        """A task without the guard works for a while; then it stops, and the recorder hears of it."""
        arn = f"{ARN[:-32]}{len(self.history.silent):032}"
        self._world.ecs.tasks.append(running(arn, at=tick))
        stops_at = tick + self._silent.randint(1, 50) * MINUTE
        heard_at = stops_at + self._silent.randint(0, 3) * MINUTE
        self._stops.append((stops_at, running(arn, at=tick, stopped_at=stops_at)))
        self._stops.append((heard_at, stopped(arn, exit_code=0, CRONCE_SCHEDULED_TIME=period_of(tick))))
        self.history.silent[tick] = heard_at
        self._say(tick, f"is due, and works without asking until {stops_at:%H:%M}; heard at {heard_at:%H:%M}")

    def _stop_silent(self, at: datetime) -> None:
        for each in [each for each in self._stops if each[0] <= at]:
            self._stops.remove(each)
            if "detail" in each[1]:
                self._world.clock.advance(max(at - self._world.clock.now(), timedelta(0)))
                self._say(at, f"the recorder hears of a stop: {self._world.settle(each[1])}")
            else:
                tasks = self._world.ecs.tasks
                tasks[:] = [each[1] if task["taskArn"] == each[1]["taskArn"] else task for task in tasks]

    def _deliver(self, at: datetime) -> None:
        for delivery in [each for each in self._deliveries if each[0] <= at]:
            self._deliveries.remove(delivery)
            tick = delivery[1]
            self._world.clock.advance(max(at - self._world.clock.now(), timedelta(0)))
            claimed = self._world.ledger(f"task of {tick}").claim(JOB, period_of(tick), policy=Policy())
            assert isinstance(claimed, Claim), (self.history.seed, claimed)
            claimed.complete()
            self.history.due[tick] = self._world.clock.now()
            self._say(at, f"{tick:%d %H:%M} is delivered")

    def _perhaps_change(self, at: datetime) -> None:
        if self._dice.random() > 0.006:
            return
        # Between two looks, a deployment hides that somebody also disabled and enabled the schedule: known, and so
        # improbable that deployments forgive nothing all the same.
        self._kind = self._kind or self._dice.choice(["deployment", "other"])
        if self._kind == "deployment":
            self._image += 1
        elif self._dice.random() < 0.6:
            self._enabled = not self._enabled
        else:
            self._times = self._dice.choice(TIMES)
        self._define(at)
        self.history.changes.append((at, self._kind == "deployment"))
        self._say(at, f"changed: image {self._image}, enabled {self._enabled}, {self._times}")

    def _define(self, at: datetime) -> None:
        times: dict[str, Any] = {"ScheduleExpressionTimezone": "UTC", "StartDate": self.began_at} | self._times
        if not times["ScheduleExpression"].startswith("rate"):
            del times["StartDate"]
        changed: dict[str, Any] = {"State": "ENABLED" if self._enabled else "DISABLED", "LastModificationDate": at}
        self._standing = schedule(
            JOB, policy=self._policy, image=str(self._image), CreationDate=self._created_at, **changed, **times
        )
        self._modified_at = at
        self._world.scheduler.schedules[self._standing["Name"]] = self._standing

    def _look(self, at: datetime) -> None:
        broken = self._dice.random() < 0.02
        if broken:
            self._world.events.fail_if("put_events", lambda _: RuntimeError("nobody foresaw this"))
        found = self._world.look(at)
        self._world.events.recover()
        assert "skipped" not in found
        if not found.get("failed"):
            self.history.looks.append(at)
            self._kind = None
        if found.get("missed"):
            self._say(at, f"look: {found}")

    def _say(self, at: datetime, what: str) -> None:
        self.history.lines.append(f"{at:%d %H:%M:%S} {what}")
