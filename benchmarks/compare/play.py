"""One story, played by all contenders at the same time: start them, disturb them, and count what their logs say."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from benchmarks.compare.count import attempts_in, count, count_messages
from benchmarks.compare.peers import Peer, base_environ
from benchmarks.compare.servers import Servers
from benchmarks.compare.stories import AHEAD, INTERVAL, PROCESSES, STORIES, TICKS

_WARM_UP = 12.0
_FIRST_RUN = 30.0


@dataclass(kw_only=True)
class Player:
    """One contender in one story."""

    peer: Peer
    name: str
    url: str
    folder: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    killed: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare its database."""
        self.log = self.folder / f"{self.peer.key}.log"
        self.errors = self.folder / f"{self.peer.key}.err"
        self.log.touch()
        self.dice = random.Random(f"{self.peer.key} {self.name}")
        if self.peer.prepare:
            subprocess.run(self.peer.prepare, env=self._environ("prepare"), check=True, stdout=subprocess.DEVNULL)

    def start(self, process: str) -> None:
        """Start one of its processes."""
        self.processes[process] = self.peer.start(self._environ(process), self.errors)

    def first_run(self) -> float | None:
        """Start its first process; seconds until its first work begins, of which up to one interval is a wait."""
        began = _since_boot()
        self.start("p0")
        deadline = time.monotonic() + _FIRST_RUN
        while time.monotonic() < deadline:
            if attempts := attempts_in(self.lines):
                return attempts[0].begin - began
            time.sleep(0.05)
        return None

    @property
    def lines(self) -> list[str]:
        """The whole lines of the log."""
        return self.log.read_text().splitlines()

    def victim(self, *, at_work: bool) -> str:
        """A process: one that is at work, if there is one within 3 s, or any."""
        deadline = time.monotonic() + 3
        while at_work and time.monotonic() < deadline:
            now = _since_boot()
            fresh = [
                work for work in attempts_in(self.lines) if work.end is None and now - work.begin < self._work * 0.6
            ]
            if fresh:
                return fresh[-1].process
            time.sleep(0.02)
        return self.dice.choice(list(self.processes))

    def send(self, process: str, number: signal.Signals) -> None:
        """Send a signal to a process and all that it started."""
        started = self.processes[process]
        for each in _tree(started.pid):
            with suppress(ProcessLookupError):
                os.kill(each.pid, number)
        if number is signal.SIGKILL:
            self.killed.setdefault(process, []).append(_since_boot())
            started.wait()

    def megabytes(self) -> float:
        """Proportional memory of a process and all that it started; the mean of its processes."""
        sizes = []
        for started in self.processes.values():
            size = 0
            for each in _tree(started.pid):
                with suppress(psutil.Error):
                    size += each.memory_full_info().pss
            sizes.append(size)
        return sum(sizes) / len(sizes) / 1e6

    def disturb(self, begin: float) -> None:
        """Do what the story is about."""
        match self.name:
            case "kills":
                for number in range(TICKS * INTERVAL // 8):
                    _sleep_until(begin + 4 + 8 * number + self.dice.random())
                    process = self.victim(at_work=number % 2 == 0)
                    self.send(process, signal.SIGKILL)
                    time.sleep(3)
                    self.start(process)
            case "frozen":
                _sleep_until(begin + 10)
                process = self.victim(at_work=True)
                self.send(process, signal.SIGSTOP)
                time.sleep(15)
                self.send(process, signal.SIGCONT)
            case _:
                pass

    def counted(self, due: Sequence[int]) -> dict[str, float]:
        """What the log says."""
        boot = time.time() - _since_boot()
        if self.peer.ticks_by_time:
            return count_messages(self.lines, due=due, interval=INTERVAL, boot=boot, killed=self.killed).as_json()
        return count(self.lines, due=due, boot=boot, killed=self.killed).as_json()

    @property
    def _work(self) -> float:
        return STORIES[self.name].work

    def _environ(self, process: str) -> dict[str, str]:
        shifted = {"LD_PRELOAD": str(self.folder / "shift.so"), "SHIFT": str(AHEAD)}
        return (
            base_environ()
            | {
                "STORY_URL": self.url,
                "CRONCE_LEDGER": self.url,
                "STORY_LOG": str(self.log),
                "STORY_PROCESS": process,
                "STORY_WORK": str(self._work),
                "STORY_POLICY": "FORBID" if self.name == "long" else "ALLOW",
            }
            | self.peer.environ
            | (shifted if self.name == "ahead" and process == "p0" else {})
        )


def play(name: str, peers: Sequence[Peer], servers: Servers, folder: Path) -> dict[str, Any]:
    """Play a story; what each contender did, and in the undisturbed one what it costs."""
    story = STORIES[name]
    folder.mkdir(parents=True)
    source = Path(__file__).with_name("shift.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(folder / "shift.so"), str(source)], check=True)
    players = [Player(peer=peer, name=name, url=servers.empty(peer), folder=folder) for peer in peers]
    loads = [os.getloadavg()[0]]
    with _ended(players):
        firsts = {}
        for player in players:
            if name == "undisturbed":
                firsts[player.peer.key] = player.first_run()
            else:
                player.start("p0")
        for number in range(1, PROCESSES):
            for player in players:
                player.start(f"p{number}")
        begin = (int(time.time() + _WARM_UP) // INTERVAL + 1) * INTERVAL
        due = range(begin, begin + TICKS * INTERVAL, INTERVAL)
        disturbing = [threading.Thread(target=player.disturb, args=(begin,)) for player in players]
        for thread in disturbing:
            thread.start()
        _sleep_until(begin)
        before = {player.peer.key: servers.statements(player.peer) for player in players}
        if name == "restart":
            _sleep_until(begin + TICKS * INTERVAL / 2)
            servers.restart(5)
        _sleep_until(due.stop)
        after = {player.peer.key: servers.statements(player.peer) for player in players}
        memory = {player.peer.key: player.megabytes() for player in players} if name == "undisturbed" else {}
        loads.append(os.getloadavg()[0])
        for thread in disturbing:
            thread.join()
        _sleep_until(due.stop + story.after)
        alive = {player.peer.key: sum(p.poll() is None for p in player.processes.values()) for player in players}
        counts = {player.peer.key: player.counted(due) | {"alive": alive[player.peer.key]} for player in players}
    result: dict[str, Any] = {"load": [round(load, 1) for load in loads], "counts": counts}
    if name == "undisturbed":
        result["costs"] = {
            key: {
                "statements": round((after[key] - before[key]) / TICKS, 1),
                "megabytes": round(memory[key]),
                "first_run": firsts[key] and round(firsts[key], 1),
            }
            for key in counts
        }
    return result


@contextmanager
def _ended(players: Sequence[Player]) -> Iterator[None]:
    """At the end, kill what still runs."""
    try:
        yield
    finally:
        for player in players:
            for process in player.processes:
                player.send(process, signal.SIGKILL)


def _tree(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    return []


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _sleep_until(at: float) -> None:
    time.sleep(max(0.0, at - time.time()))


def say(text: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{time.strftime('%T')} {text}\n")
