"""One host: real processes on one ledger, what they log, and which of them remain."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import time
import uuid
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from cronce import Claim, Ledger, Policy
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from cronce.protocol.records import RunRecord

JOB = "daily-digest"
PERIOD = "2026-11-29"

SHORT_LEASE = Policy(lease=timedelta(seconds=2))

PATIENCE = 120.0
"""Seconds to wait for a state before the test fails; long, because the machine may be busy."""

_MARK = "TEST_HOST"

T = TypeVar("T")


def until(look: Callable[[], T], what: str, *, timeout: float = PATIENCE, every: float = 0.01) -> T:
    """Wait until `look` returns something true, and return that; fail after the timeout."""
    deadline = time.monotonic() + timeout
    while True:
        if found := look():
            return found
        if time.monotonic() > deadline:
            message = f"after {timeout:.0f} s still not: {what}"
            raise AssertionError(message)
        time.sleep(every)


def name_of(pid: int) -> str:
    """The name that `ps` shows for a process; empty once it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A started process. Its output goes to files, so that a test can read it while the process runs."""

    process: subprocess.Popen[bytes]
    stdout: Path
    stderr: Path

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid

    @property
    def ended(self) -> bool:
        """True when it has ended."""
        return self.process.poll() is not None

    @property
    def out(self) -> bytes:
        """What it and its children wrote to stdout so far."""
        return self.stdout.read_bytes()

    @property
    def err(self) -> str:
        """What it and its children wrote to stderr so far."""
        return self.stderr.read_text("utf-8", "replace")

    @property
    def events(self) -> list[dict[str, Any]]:
        """Its JSON lines so far, without the prefix of the keys."""
        lines = [json.loads(line) for line in self.err.splitlines() if line.startswith('{"time"')]
        return [{key.removeprefix("cronce."): value for key, value in line.items()} for line in lines]

    def event(self, name: str) -> dict[str, Any]:
        """Its only line of that event; fails with its whole output if there is not exactly one."""
        found = [event for event in self.events if event["event"] == name]
        assert len(found) == 1, f"{len(found)} lines of {name!r} in: {self.err}"
        return found[0]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process alone."""
        self.process.send_signal(number)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Its exit code; minus the number of the signal if one ended it."""
        return self.process.wait(timeout)


class Host:
    """Starts processes in a folder; the end of the `with` block ends those that remain."""

    def __init__(self, folder: Path, url: str, *, watch_url: str | None = None) -> None:
        """Use a folder and a ledger.

        Args:
            folder: Where the processes run and their files are.
            url: The ledger of the processes.
            watch_url: The same ledger for the test, without the proxy that the processes use.
        """
        self.folder = folder
        self.url = url
        self.log = folder / "work.log"
        self._watch_url = watch_url or url
        self.ledger = Ledger.from_url(self._watch_url, policy=SHORT_LEASE)
        self._mark = uuid.uuid4().hex
        self._commands: list[Command] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the remaining processes."""
        while left := self.living():
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for command in self._commands:
            command.process.wait()
            if command.process.stdin:
                command.process.stdin.close()
        self.ledger.close()

    def start(self, *arguments: str | bytes, env: Mapping[str, str] | None = None, stdin: int | None = None) -> Command:
        """Start a program. `$LOG` is the log of the work; every descendant counts as `living`."""
        stem = self.folder / f"process-{len(self._commands)}"
        out, err = stem.with_suffix(".out"), stem.with_suffix(".err")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                arguments,
                cwd=self.folder,
                env=os.environ | {"LOG": str(self.log), _MARK: self._mark} | dict(env or {}),
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=stdout,
                stderr=stderr,
            )
        command = Command(process=process, stdout=out, stderr=err)
        self._commands.append(command)
        return command

    def guard(
        self,
        *command: str | bytes,
        options: str = "",
        period: str = PERIOD,
        env: Mapping[str, str] | None = None,
        stdin: int | None = None,
    ) -> Command:
        """Start `cronce exec` with the command; the options as in a shell, without quotes."""
        which = ("--ledger", self.url, "--job", JOB, "--period", period)
        return self.start("cronce", "exec", *which, *options.split(), "--", *command, env=env, stdin=stdin)

    def guarded_shell(self, script: str, *, options: str = "", period: str = PERIOD) -> Command:
        """Start `cronce exec` with a shell script."""
        return self.guard("sh", "-c", script, options=options, period=period)

    def run(self, period: str = PERIOD) -> RunRecord | None:
        """The stored run; None if there is no run or no ledger yet."""
        try:
            return self.ledger.run(JOB, period)
        except LedgerUnavailableError as error:
            if "no such file" in error.cause:
                return None
            raise

    def ended_run(self, period: str = PERIOD) -> tuple[str, str | None]:
        """Status and reason of a run that must exist."""
        run = self.run(period)
        assert run is not None
        return run.status.value, run.reason

    def claim_when_possible(
        self, *, meanwhile: str, period: str = PERIOD, trigger: Trigger = Trigger.SCHEDULE
    ) -> Claim:
        """Claim until it succeeds; every answer before that, at least one, must have that reason."""
        answers = [self.ledger.claim(JOB, period, trigger=trigger)]

        def claim() -> Claim | None:
            if not isinstance(answers[-1], Claim):
                answers.append(self.ledger.claim(JOB, period, trigger=trigger))
            return answers[-1] or None

        claimed = until(claim, "a claim", every=0.2)
        assert claimed is not None
        assert {str(answer.reason) for answer in answers if not isinstance(answer, Claim)} == {meanwhile}
        return claimed

    def freeze(self, *pids: int, job: str = JOB, period: str | None = PERIOD, after: float = 0.0) -> None:
        """Stop the processes just after a write, and never in the middle of one, which would lock the ledger.

        Args:
            pids: The processes.
            job: Whose rows they write.
            period: Whose next heartbeat to wait for; None for the end of the job's next run, before another one begins.
            after: Seconds after the write, in which its writer learns that it has succeeded.
        """

        def written() -> object:
            if period is not None:
                run = self.ledger.run(job, period)
                return run and run.heartbeat_at
            return [run.period for run in self.ledger.page(job, limit=5).runs if run.finished_at]

        def at_work() -> bool:
            return period is None and not all(run.finished_at for run in self.ledger.page(job, limit=5).runs)

        while True:
            before = written()
            deadline = time.monotonic() + PATIENCE
            while written() == before:
                assert time.monotonic() < deadline, "no write"
                time.sleep(0.01)
            time.sleep(after)
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            if not self._locked() and not at_work():
                return
            for pid in reversed(pids):
                os.kill(pid, signal.SIGCONT)

    def _locked(self) -> bool:
        """True if a stopped process holds the write lock of a SQLite ledger; the other stores have no such lock."""
        if not self._watch_url.startswith("sqlite:"):
            return False
        path = self._watch_url.removeprefix("sqlite://")
        with closing(sqlite3.connect(path, timeout=0.5, isolation_level=None)) as file:
            try:
                file.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return True
            return False

    @property
    def logged(self) -> list[str]:
        """The lines that the work wrote so far, each appended in one write."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def await_log(self, text: str) -> None:
        """Wait until the work has written a line with that text."""
        until(lambda: any(text in line for line in self.logged), f"{text!r} in the log; it has {self.logged}")

    def living(self) -> list[int]:
        """Every living process that descends from one started here, whatever its parent is now."""
        mark = f"{_MARK}={self._mark}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            # A process that has ended but is not reaped yet has an empty environment (man 5 proc).
            with suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found

    def working(self) -> list[int]:
        """Those of `living` that are no keeper: a keeper ends a moment after its command and its guard."""
        return [pid for pid in self.living() if name_of(pid) != "guard-keeper"]
