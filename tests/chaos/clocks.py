"""`cronce clock` on hosts whose wall clocks step, for minutes: no tick is lost, early or sent twice.

    python -m tests.chaos.clocks --seed 1 --seconds 60

Three clocks run on a real DynamoDB Local, each on a machine with its own wall clock. The wall clocks, mostly that of
the leader, step by seconds to hours, forward and back, often just before a tick, and step back later. Leaders are
killed and terminated. Then the clocks are right again, and everything that was due must have been sent.

The ticks are counted from outside: their command appends the period and the true time to a file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.chaos.programs import CRONCE, WallClock, environ
from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.host import Command, Host, until

EVERY = {"second": timedelta(seconds=1), "ten": timedelta(seconds=10), "minute": timedelta(minutes=1)}
"""The jobs and their intervals."""

SKEW = 5.0
"""Seconds by which hosts may differ; a tick that is sent earlier than that is early."""

_STEPS = (3.0, 20.0, 60.0, 180.0, 3600.0, 12 * 3600.0)
"""Seconds, in both directions."""

_STEPS_A_SECOND = 0.3
_ENDS_A_SECOND = 0.06
_LONGEST_STEP = 12.0
_LEASE = "5s"
_SETTLED_WITHIN = 120.0
"""Seconds until what a killed leader had begun is sent again, on a busy machine."""

_WORK = 'echo "$CRONCE_JOB {period} $(date +%s.%N)" >>"$LOG"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A tick that reached its command, at a true time in epoch seconds."""

    job: str
    tick: datetime
    at: float


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What happened to the clocks, and to the ticks.

    Attributes:
        repeated: Ticks that were sent again because their leader was killed while it sent them.
    """

    seed: int
    seconds: float
    steps: Counter[float] = field(default_factory=Counter)
    kills: list[float] = field(default_factory=list)
    terms: int = 0
    ticks: int = 0
    lost: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    repeated: int = 0
    latest: float = 0.0

    @property
    def violations(self) -> list[str]:
        """Each with what it is."""
        kinds = {"lost": self.lost, "early": self.early, "double": self.double}
        return [f"{kind}: {tick}" for kind, ticks in kinds.items() for tick in ticks]

    def __str__(self) -> str:
        """The violations, and one line of figures."""
        steps = ", ".join(f"{self.steps[seconds]} x {seconds:+g} s" for seconds in sorted(self.steps))
        figures = (
            f"clocks: seed {self.seed}, {self.seconds:.0f} s; {self.steps.total()} steps ({steps}),"
            f" {len(self.kills)} killed, {self.terms} terminated; {self.ticks} ticks due, {len(self.lost)} lost,"
            f" {len(self.early)} early, {len(self.double)} double, {self.repeated} repeated after a kill,"
            f" at most {self.latest:.1f} s late"
        )
        return "\n".join([*(f"VIOLATION: {violation}" for violation in self.violations), figures])


class Clocks:
    """One clock on each machine; a clock that has ended is started again."""

    def __init__(self, host: Host, walls: dict[str, WallClock], dice: random.Random, outcome: Outcome) -> None:
        self._host = host
        self._walls = walls
        self._dice = dice
        self._outcome = outcome
        self._running: dict[str, Command] = {}
        self._right_at: dict[str, float] = {}

    def rage(self, seconds: float) -> None:
        """Step and end clocks for that long."""
        self._start_ended()
        until(lambda: len(self._host.logged) >= 3, "the first ticks")
        now = next_step = next_end = time.monotonic()
        end = now + seconds
        while (now := time.monotonic()) < end:
            self._start_ended()
            self._correct(now)
            if now >= next_step and self._is_a_good_moment():
                next_step = now + self._dice.expovariate(_STEPS_A_SECOND)
                self._step(now)
            if now >= next_end:
                next_end = now + self._dice.expovariate(_ENDS_A_SECOND)
                self._end_leader()
            time.sleep(0.02)
        self._correct(float("inf"))

    def settle(self, until_tick: datetime) -> None:
        """Wait until every tick up to that one was sent; what is missing after that is lost."""
        deadline = time.monotonic() + _SETTLED_WITHIN
        while time.monotonic() < deadline and _missing(self.sent, until_tick):
            self._start_ended()
            time.sleep(0.2)

    @property
    def sent(self) -> list[Sent]:
        """The ticks so far, in the order of the file."""
        words = [line.split() for line in self._host.logged]
        return [Sent(job=job, tick=datetime.fromisoformat(tick), at=float(at)) for job, tick, at in words]

    def _start_ended(self) -> None:
        target = {"command": ["sh", "-c", _WORK]}
        jobs = {job: {"every": f"{every.total_seconds():g}s", "target": target} for job, every in EVERY.items()}
        for name, wall in self._walls.items():
            if name not in self._running or self._running[name].ended:
                own = {
                    "CRONCE_CLOCK": json.dumps({"jobs": jobs}),
                    "CRONCE_LEDGER": self._host.url,
                    "CHAOS_CLOCK": str(wall.file),
                }
                command = (str(CRONCE), "clock", "--job", "clock", "--lease", _LEASE)
                self._running[name] = self._host.start(*command, env=environ() | own)

    def _leader(self) -> str | None:
        """The machine of the living clock that leads since the latest moment."""
        led = {
            name: max((event["time"] for event in clock.events if event["event"] == "leading"), default="")
            for name, clock in self._running.items()
            if not clock.ended
        }
        name = max(led, key=lambda name: led[name], default=None)
        return name if name and led[name] else None

    def _is_a_good_moment(self) -> bool:
        """Half of the steps happen in the two seconds before a tick of the rarer jobs."""
        return time.time() % 10 > 8 or self._dice.random() < 0.02

    def _step(self, now: float) -> None:
        leader = self._leader()
        name = leader if leader and self._dice.random() < 0.7 else self._dice.choice(list(self._walls))
        seconds = self._dice.choice(_STEPS) * self._dice.choice((1, -1))
        self._walls[name].set(seconds)
        self._right_at[name] = now + self._dice.uniform(1.0, _LONGEST_STEP)
        self._outcome.steps[seconds] += 1

    def _correct(self, now: float) -> None:
        for name in [name for name, at in self._right_at.items() if now >= at]:
            del self._right_at[name]
            self._walls[name].set(0.0)

    def _end_leader(self) -> None:
        if (leader := self._leader()) is None:
            return
        if self._dice.random() < 0.6:
            self._outcome.kills.append(time.time())
            self._running[leader].send(signal.SIGKILL)
        else:
            self._outcome.terms += 1
            self._running[leader].send(signal.SIGTERM)


def play(folder: Path, endpoint: str, *, seed: int, seconds: float) -> Outcome:
    """Run the clocks in an empty folder against a DynamoDB at that endpoint, then judge what they sent."""
    dice = random.Random(seed)
    outcome = Outcome(seed=seed, seconds=seconds)
    url = f"dynamodb://clocks?region=eu-west-1&endpoint={endpoint}"
    with Host(folder, url) as host:
        walls = {name: WallClock(folder / f"{name}.clock") for name in ("a", "b", "c")}
        init = [str(CRONCE), "init", "--ledger", url]
        until(lambda: subprocess.run(init, env=environ(), check=False).returncode == 0, "a table", every=1)
        clocks = Clocks(host, walls, dice, outcome)
        clocks.rage(seconds)
        last = datetime.now(UTC)
        clocks.settle(last)
        _judge(clocks.sent, last, outcome)
    return outcome


def _missing(sent: list[Sent], until_tick: datetime) -> list[tuple[str, datetime]]:
    """The ticks from the first sent one to that time that were not sent."""
    missing = []
    for job, every in EVERY.items():
        ticks = {each.tick for each in sent if each.job == job}
        tick = _first(sent, every)
        while tick <= until_tick:
            if tick not in ticks:
                missing.append((job, tick))
            tick += every
    return missing


def _first(sent: list[Sent], every: timedelta) -> datetime:
    """The first tick of a job that the first leader had to send."""
    began = sent[0].tick.timestamp() if sent else 0.0
    return datetime.fromtimestamp(math.ceil(began / every.total_seconds()) * every.total_seconds(), UTC)


def _judge(sent: list[Sent], until_tick: datetime, outcome: Outcome) -> None:
    outcome.ticks = len({(each.job, each.tick) for each in sent})
    outcome.lost = [f"{job} {tick}" for job, tick in _missing(sent, until_tick)]
    outcome.ticks += len(outcome.lost)
    of_tick: dict[tuple[str, datetime], list[float]] = defaultdict(list)
    for each in sent:
        of_tick[each.job, each.tick].append(each.at)
    for (job, tick), times in of_tick.items():
        due = tick.timestamp()
        outcome.latest = max(outcome.latest, times[0] - due)
        if tick < _first(sent, EVERY[job]):
            outcome.early.append(f"{job} {tick}, which was due before there was a clock")
        if times[0] < due - SKEW:
            outcome.early.append(f"{job} {tick}, {due - times[0]:.1f} s before it was due")
        for before in times[:-1]:
            # A leader that is killed cannot record what its command has just done.
            if any(before - 1 <= kill <= before + 3 for kill in outcome.kills):
                outcome.repeated += 1
            else:
                outcome.double.append(f"{job} {tick}")


def main() -> int:
    """Clock steps from the command line; the exit code is 0 if no tick was lost, early or double."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.clocks", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="of the random choices")
    parser.add_argument("--seconds", type=float, default=60.0, help="of clock steps")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cronce-clocks-"))
    with DynamoDbLocal() as server:
        outcome = play(folder, server.endpoint, seed=options.seed, seconds=options.seconds)
    if outcome.violations:
        sys.stdout.write(f"the ticks and the clocks' logs are in {folder}\n")
    else:
        shutil.rmtree(folder)
    sys.stdout.write(f"{outcome}\n")
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    os.environ |= environ()
    sys.exit(main())
