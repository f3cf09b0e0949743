"""Processes: from start to decision, their memory, and what importing costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.guard.figures import Series, add
from benchmarks.guard.world import SCRIPTS, World, wrapper

_COMMAND = ["sh", "-c", "echo started; read -r _"]
"""Says that it runs, then waits for us."""

_SETTLING = 0.05
_BETWEEN_LOOKS = 0.002


@dataclass(frozen=True, slots=True)
class Guarded:
    """A program that guards a command.

    Attributes:
        argv: Before the key and the command.
        plain: See `World.environ`.
        between: Arguments between key and command.
    """

    argv: list[str]
    plain: bool = True
    between: list[str] = field(default_factory=list)
    guards: bool = True

    def line(self, key: str, command: list[str]) -> list[str]:
        """The whole command line."""
        return [*self.argv, key, *self.between, *command]


@dataclass(slots=True)
class Starts:
    """Seconds and bytes by contender, one sample per round.

    Attributes:
        decision: Winner, from its start until the command runs.
        decision_cpu: The winner's CPU time until then, which does not depend on other load.
        cpu: The winner's whole CPU time, including its command's.
        memory: Resident, while the command runs.
        after: Winner, from the command's end until its own end.
        out: Loser, from start to end.
        out_cpu: CPU time of that.
        out_memory: Peak resident memory of a loser that is not timed.
    """

    decision: Series = field(default_factory=dict)
    decision_cpu: Series = field(default_factory=dict)
    cpu: Series = field(default_factory=dict)
    memory: Series = field(default_factory=dict)
    after: Series = field(default_factory=dict)
    out: Series = field(default_factory=dict)
    out_cpu: Series = field(default_factory=dict)
    out_memory: Series = field(default_factory=dict)


@dataclass(slots=True)
class Imports:
    """Seconds of programs that only start, by name, one sample per round."""

    wall: Series = field(default_factory=dict)
    cpu: Series = field(default_factory=dict)


def measure_starts(world: World, rounds: int) -> Starts:
    """Winner and loser of every contender, round robin; the loser comes while the winner's command runs."""
    cronce = [str(SCRIPTS / "cronce"), "exec", "--job", "job"]
    contenders = {
        "cronce exec": Guarded([*cronce, "--period"], between=["--"]),
        "cronce exec ALLOW": Guarded([*cronce, "--concurrency-policy", "ALLOW", "--period"], between=["--"]),
        "cronce exec by botocore": Guarded([*cronce, "--period"], between=["--"], plain=False),
        "boto3 by hand": Guarded(wrapper("by_boto3")),
        "powertools": Guarded(wrapper("by_powertools")),
        "stdlib by hand": Guarded(wrapper("by_stdlib")),
        "bare interpreter": Guarded(wrapper("unguarded"), guards=False),
    }
    starts = Starts()
    for number in range(rounds + 1):
        taken = starts if number else Starts()  # the first round fills the page cache
        for name, guarded in contenders.items():
            _measure_start(world, taken, name, guarded)
    return starts


def measure_imports(world: World, rounds: int) -> Imports:
    """What `import cronce` and the help cost, compared with the bare interpreter."""
    python, cronce = sys.executable, str(SCRIPTS / "cronce")
    programs = {
        "bare interpreter": [python, "-c", "pass"],
        "import cronce": [python, "-c", "import cronce"],
        "from cronce import Ledger": [python, "-c", "from cronce import Ledger"],
        "import boto3": [python, "-c", "import boto3"],
        "cronce --help": [cronce, "--help"],
        "cronce exec --help": [cronce, "exec", "--help"],
    }
    imports = Imports()
    for number in range(rounds + 1):
        taken = imports if number else Imports()
        for name, argv in programs.items():
            began = time.monotonic()
            program = subprocess.Popen(argv, env=world.environ(), stdout=subprocess.DEVNULL)
            cpu = _ended(program, argv)
            add(taken.wall, name, time.monotonic() - began)
            add(taken.cpu, name, cpu)
    return imports


def _measure_start(world: World, taken: Starts, name: str, guarded: Guarded) -> None:
    environ, key = world.environ(plain=guarded.plain), uuid4().hex
    pipes: dict[str, Any] = {"env": environ, "stdout": subprocess.PIPE, "stderr": world.complaints}
    line = guarded.line(key, _COMMAND)
    losing = line if guarded.guards else guarded.line(key, [])
    began = time.monotonic()
    winner = subprocess.Popen(line, stdin=subprocess.PIPE, **pipes)
    assert winner.stdin is not None
    assert winner.stdout is not None
    if winner.stdout.readline() != b"started\n":
        raise RuntimeError(f"{name} did not start the command")
    add(taken.decision, name, time.monotonic() - began)
    add(taken.decision_cpu, name, _cpu(winner.pid))
    time.sleep(_SETTLING)
    add(taken.memory, name, _memory(winner.pid, "VmRSS"))

    began = time.monotonic()
    loser = subprocess.Popen(losing, stdin=subprocess.DEVNULL, **pipes)
    cpu = _ended(loser, losing)
    add(taken.out, name, time.monotonic() - began)
    add(taken.out_cpu, name, cpu)
    add(taken.out_memory, name, _peak(losing, environ, world))
    assert loser.stdout is not None
    with loser.stdout as said:
        if said.read():
            raise RuntimeError(f"{name} let a second one start the command")

    began = time.monotonic()
    winner.stdin.close()
    add(taken.cpu, name, _ended(winner, line))
    add(taken.after, name, time.monotonic() - began)
    winner.stdout.close()


def _ended(process: subprocess.Popen[bytes], argv: list[str]) -> float:
    """CPU seconds of an ended process and of its reaped children."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):  # `read` ends with 1 when its input does
        raise RuntimeError(f"{argv} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def _peak(argv: list[str], environ: dict[str, str], world: World) -> float:
    """The most memory of a process: `ru_maxrss` would include ours, from before its exec."""
    peak = 0.0
    with subprocess.Popen(
        argv, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=world.complaints
    ) as process:
        while process.poll() is None:
            peak = max(peak, _memory(process.pid, "VmHWM"))
            time.sleep(_BETWEEN_LOOKS)
    return peak


def _cpu(pid: int) -> float:
    """CPU seconds of a running process, to the nanosecond (Linux, "Scheduler Statistics")."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _memory(pid: int, what: str) -> float:
    """Bytes; 0 for an ended process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:")), 0.0)
