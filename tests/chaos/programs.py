"""The programs of a chaos run, what is done to them, and the calm afterwards."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Self

from cronce import Policy
from cronce.client.observer import Observer
from cronce.protocol.records import MAX_CLOCK_SKEW
from cronce.vocabulary import exit_codes
from cronce.vocabulary.policy import ConcurrencyPolicy
from tests.chaos.journal import STEP, Line
from tests.chaos.judge import Rules
from tests.chaos.once import REFUSED
from tests.chaos.weather import Fault, Weather, WeatheredProxy
from tests.support.host import Command, Host, until

HERE = Path(__file__).parent
CRONCE = Path(sys.executable).with_name("cronce")

JOBS = {
    "forbid-3s": Rules(alone=True, lease=3),
    "forbid-4s": Rules(alone=True, lease=4),
    "allow-2s": Rules(alone=False, lease=2),
    "allow-4s": Rules(alone=False, lease=4),
}

OPEN_PERIODS = 3
"""How many periods of a job are claimed at the same time."""

_MOST_PROCESSES = 14
_STARTS_A_SECOND = 3.0
_BLOWS_A_SECOND = 0.7
_TICK = 0.02
_RECENT = 2000
"""Lines; every working program has written one of the last ones."""
_PAUSES = ((0.3, 3.0), (6.0, 16.0))
"""Seconds: shorter than a lease, or about as long as until a successor may begin."""
_FAR_OFF = (30.0, 600.0, 3600.0, 12 * 3600.0)
"""Seconds by which a wall clock is so wrong that its host must notice."""
_CLOSING_TRIES = 5


class Blow(StrEnum):
    """What is done to processes and clocks."""

    KILL = "killed"
    TERMINATE = "terminated"
    PAUSE = "paused"
    """The program and its work, as when a virtual machine is paused."""
    PAUSE_WORK = "work paused"
    """The work alone: the guard continues to hold the claim."""
    JUMP = "clock jumps"
    RESTART = "crashes of the server"


_LIKELY = {Blow.KILL: 5, Blow.TERMINATE: 1, Blow.PAUSE: 8, Blow.PAUSE_WORK: 1, Blow.JUMP: 4, Blow.RESTART: 1}


class WallClock:
    """A file with the seconds by which a machine's wall clock is wrong; see `shifted/sitecustomize`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """Step to that many seconds after the true time."""
        scratch = self.file.with_suffix(".new")
        scratch.write_text(str(seconds))
        scratch.replace(self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A connection to the ledger and a clock that several processes share."""

    proxy: WeatheredProxy
    weather: Weather
    clock: WallClock


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A running program."""

    number: int
    job: str
    period: str
    command: Command

    @property
    def pid(self) -> int:
        """The program's process."""
        return self.command.pid

    def work(self) -> list[int]:
        """The processes that it started, known by their environment."""
        mark = f"CHAOS_PROCESS={self.number}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if int(process.name) != self.pid and mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found


@dataclass(slots=True)
class Programs:
    """Starts programs and disturbs them, as long as the `with` block lasts.

    Attributes:
        crash: Kills the ledger's server and starts it again; None for one that keeps its rows in memory.
        runs: Every (job, period) that was claimed.
        exits: The exit code of each program that has ended.
        blows: How often each thing was done.
        proof: The programs that were started after all runs had succeeded.
    """

    folder: Path
    url: str
    dice: random.Random
    crash: Callable[[], None] | None = None
    runs: dict[tuple[str, str], None] = field(default_factory=dict)
    exits: dict[int, int] = field(default_factory=dict)
    blows: Counter[Blow] = field(default_factory=Counter)
    proof: list[int] = field(default_factory=list)
    _running: list[Started] = field(default_factory=list)
    _over: list[Started] = field(default_factory=list)
    _started: int = 0
    _open: dict[str, list[int]] = field(default_factory=dict)
    _hit: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=4))
    _wakes: list[tuple[float, list[int]]] = field(default_factory=list)
    _resources: ExitStack = field(default_factory=ExitStack)
    _machines: list[Machine] = field(default_factory=list)
    _host: Host = field(init=False)

    def __enter__(self) -> Self:
        """Create the table and three machines."""
        for name in ("a", "b", "c"):
            weather = Weather(random.Random(self.dice.random()))
            proxy = self._resources.enter_context(WeatheredProxy(self.url, weather))
            self._machines.append(Machine(proxy=proxy, weather=weather, clock=WallClock(self.folder / f"{name}.clock")))
        self._host = self._resources.enter_context(Host(self.folder, self.url))
        init = [str(CRONCE), "init", "--ledger", self.url]
        until(lambda: subprocess.run(init, env=environ(), check=False).returncode == 0, "a table", every=1)
        self._open = {job: list(range(OPEN_PERIODS)) for job in JOBS}
        return self

    def __exit__(self, *_: object) -> None:
        """End what is left."""
        self._resources.close()

    def rage(self, seconds: float) -> None:
        """Start and disturb programs for that long."""
        now = time.monotonic()
        end, next_start, next_blow = now + seconds, now, now
        while (now := time.monotonic()) < end:
            self._reap()
            self._wake(now)
            if now >= next_start:
                next_start = now + self.dice.expovariate(_STARTS_A_SECOND)
                if len(self._running) < _MOST_PROCESSES:
                    self._start_any()
            if now >= next_blow:
                next_blow = now + self.dice.expovariate(_BLOWS_A_SECOND)
                self._strike(now)
            time.sleep(_TICK)

    def calm(self) -> None:
        """Let everything end, then claim every run once more, and again when nothing is left to do."""
        for machine in self._machines:
            machine.weather.settle()
            machine.clock.set(0.0)
        self._wake(float("inf"))
        self._await_all()
        self._settle_ended()
        # A killed owner counts as alive for that long.
        time.sleep(max(rules.lease for rules in JOBS.values()) + MAX_CLOCK_SKEW.total_seconds() + 1)
        self._ask_for_all()
        self.proof = self._ask_for_all()

    @property
    def lines(self) -> list[Line]:
        """What the work wrote."""
        return [Line.parsed(line) for line in self._host.logged]

    @property
    def started(self) -> int:
        """The number of programs that were started."""
        return self._started

    @property
    def met(self) -> Counter[Fault]:
        """The number of requests by fault."""
        return sum((machine.proxy.met for machine in self._machines), Counter[Fault]())

    # Starting and ending

    def _start_any(self) -> None:
        job = self.dice.choice(list(JOBS))
        period = f"period-{self.dice.choice(self._open[job]):04}"
        if self._hit and self.dice.random() < 0.6:
            job, period = self.dice.choice(self._hit)
        longest = self.dice.choices((1.0, 6.0, 25.0), (2, 3, 5))[0]
        work = [str(int(self.dice.uniform(0.1, longest) / STEP)), self.dice.choices(("end", "failed"), (8, 1))[0]]
        self._start(job, period, work, self.dice.choice(self._machines))

    def _start(self, job: str, period: str, work: list[str], machine: Machine, *, by: str = "schedule") -> Started:
        """Start a program for a run; half of them are `cronce exec`, the others Python with `run_once`."""
        rules = JOBS[job]
        policy = Policy(
            concurrency_policy=ConcurrencyPolicy.FORBID if rules.alone else ConcurrencyPolicy.ALLOW,
            lease=timedelta(seconds=rules.lease),
            backoff_limit=1000,
        )
        own = {
            "CRONCE_LEDGER": machine.proxy.url,
            "CRONCE_JOB": job,
            "CRONCE_PERIOD": period,
            "CRONCE_POLICY": policy.to_json(),
            "CRONCE_TRIGGER": by,
            "CHAOS_CLOCK": str(machine.clock.file),
            "CHAOS_PROCESS": str(self._started),
        }
        if self.dice.random() < 0.5:
            program = [sys.executable, "-m", "tests.chaos.once", *work]
        else:
            temper = ["stubborn"] if self.dice.random() < 0.3 else []
            guard = [str(CRONCE), "exec", "--grace", "1s", "--refused-exit-code", str(REFUSED), "--"]
            program = [*guard, sys.executable, "-ESs", str(HERE / "work.py"), *work, *temper]
        command = self._host.start(*program, env=environ() | own)
        started = Started(number=self._started, job=job, period=period, command=command)
        self._started += 1
        self._running.append(started)
        self.runs[job, period] = None
        return started

    def _reap(self) -> None:
        """Record the programs that have ended. A period that succeeded is replaced by a new one."""
        for started in [started for started in self._running if started.command.ended]:
            self._running.remove(started)
            self._over.append(started)
            code = started.command.wait()
            self.exits[started.number] = code
            number = int(started.period.rpartition("-")[2])
            periods = self._open[started.job]
            if number in periods and (code == exit_codes.REFUSED or self.dice.random() < 0.02):
                periods[periods.index(number)] = max(periods) + 1

    def _await_all(self) -> None:
        def none_left() -> bool:
            self._reap()
            return not self._running

        until(none_left, "the end of every program", timeout=120.0)

    def _settle_ended(self) -> None:
        """Settle the runs of programs that have ended, as the platform's events do.

        A program whose clock was minutes ahead may have lost the answer to its first write. It then never learned
        that its clock was wrong, and left a lease in that clock's time.
        """
        for started in self._over:
            owner = f"{os.uname().nodename}:{started.pid}"
            Observer(self._host.ledger).mark_stopped(started.job, started.period, owner=owner, error="it has ended")

    def _ask_for_all(self) -> list[int]:
        """Claim every run, one after the other per job, until the answer is clear; return the started programs.

        As a person does: what was skipped because another run was at work is final for machines.
        """
        waiting = {job: deque((period, _CLOSING_TRIES) for of, period in self.runs if of == job) for job in JOBS}
        asked: dict[str, tuple[Started, int]] = {}
        first = self._started
        while asked or any(waiting.values()):
            self._reap()
            for job, (started, tries) in list(asked.items()):
                code = self.exits.get(started.number)
                if code is not None:
                    del asked[job]
                    if code not in (exit_codes.REFUSED, REFUSED) and tries > 1:
                        waiting[job].append((started.period, tries - 1))
            for job, periods in waiting.items():
                if periods and job not in asked:
                    period, tries = periods.popleft()
                    asked[job] = (
                        self._start(job, period, ["1", "end"], self.dice.choice(self._machines), by="manual"),
                        tries,
                    )
            time.sleep(_TICK)
        return list(range(first, self._started))

    # Blows

    def _strike(self, now: float) -> None:
        blow = self.dice.choices(list(_LIKELY), list(_LIKELY.values()))[0]
        if blow is Blow.JUMP:
            # Hosts agree within 5 s, or one is so wrong that it must notice.
            offsets = (self.dice.uniform(-2.4, 2.4), self.dice.choice(_FAR_OFF) * self.dice.choice((1, -1)))
            self.dice.choice(self._machines).clock.set(self.dice.choices(offsets, (3, 1))[0])
        elif blow is Blow.RESTART:
            if self.crash is None:
                return
            self.crash()
        elif not self._running:
            return
        else:
            at_work = self._at_work() if self.dice.random() < 0.8 else []
            victim = self.dice.choice(at_work or self._running)
            match blow:
                case Blow.KILL:
                    victim.command.send(signal.SIGKILL)
                case Blow.TERMINATE:
                    victim.command.send(signal.SIGTERM)
                case Blow.PAUSE | Blow.PAUSE_WORK:
                    if not (stopped := _stop(victim, only_work=blow is Blow.PAUSE_WORK)):
                        return
                    if self.dice.random() < 0.5:
                        stopped.reverse()
                    self._wakes.append((now + self.dice.uniform(*self.dice.choices(_PAUSES, (1, 2))[0]), stopped))
            self._hit.append((victim.job, victim.period))
        self.blows[blow] += 1

    def _at_work(self) -> list[Started]:
        """The programs whose work has begun and is not paused."""
        begun = {Line.parsed(line).process for line in self._host.logged[-_RECENT:]}
        stopped = {pid for _, pids in self._wakes for pid in pids}
        return [started for started in self._running if started.number in begun and started.pid not in stopped]

    def _wake(self, now: float) -> None:
        """Let go on whoever was stopped for long enough."""
        for due in [due for due in self._wakes if due[0] <= now]:
            self._wakes.remove(due)
            for pid in due[1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)


def _stop(program: Started, *, only_work: bool) -> list[int]:
    """Stop a program and its work, or only its work; return the stopped processes, the program first.

    The program is stopped before its work is looked up, so that no work can begin in between.
    """
    stopped = []
    with suppress(ProcessLookupError):
        if not only_work:
            os.kill(program.pid, signal.SIGSTOP)
            stopped.append(program.pid)
        for pid in program.work():
            os.kill(pid, signal.SIGSTOP)
            stopped.append(pid)
    return stopped


def dynamodb_url(table: str, endpoint: str) -> str:
    """The URL of a ledger in DynamoDB Local."""
    return f"dynamodb://{table}?region=eu-west-1&endpoint={endpoint}"


def environ() -> dict[str, str]:
    """Environment variables to run this code and to use a local server without a real account."""
    paths = [str(HERE / "shifted"), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
    }
