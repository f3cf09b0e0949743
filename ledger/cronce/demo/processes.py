"""Starts the processes of the demo, reads their logs, and always ends them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_TIME_TO_DIE = 10.0


class Member:
    """A started process with its descendants."""

    def __init__(self, name: str, command: Sequence[str], *, logs: Path, environ: Mapping[str, str]) -> None:
        """Start the command; its output goes to `NAME.out` and `NAME.err` in the log folder."""
        self.name = name
        self._out, self._err = logs / f"{name}.out", logs / f"{name}.err"
        # All its descendants inherit the writing end: end of file means that all of them are dead.
        self._alive, writer = os.pipe()
        try:
            with self._out.open("wb") as out, self._err.open("wb") as err:
                self._process = subprocess.Popen(  # noqa: S603  # our own commands
                    command,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    pass_fds=(writer,),
                    start_new_session=True,  # Ctrl-C goes to the demo, which ends them in order
                )
        finally:
            os.close(writer)

    @property
    def exit_code(self) -> int | None:
        """Its exit code, or minus the signal number; None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Send SIGKILL, which it cannot handle: like the loss of the host."""
        if self.exit_code is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def is_gone(self, timeout: float = _TIME_TO_DIE) -> bool:
        """Whether it and all its descendants are dead within that many seconds."""
        return bool(select.select([self._alive], [], [], timeout)[0])

    def log(self) -> list[str]:
        """The complete lines that the job has printed."""
        return self._out.read_text(encoding="utf-8").split("\n")[:-1]

    def errors(self) -> str:
        """The text that it has written to stderr."""
        return self._err.read_text(encoding="utf-8")

    def events(self) -> Iterator[dict[str, Any]]:
        """The log lines that `cronce exec` has written."""
        for line in self.errors().split("\n")[:-1]:
            if line.startswith("{"):
                yield json.loads(line)

    def close(self) -> None:
        """End it if it still runs, and wait for its descendants."""
        self.kill()
        self.is_gone()
        os.close(self._alive)


class Crew:
    """The processes of the demo; all are dead when the block ends."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._members: list[Member] = []

    def start(self, name: str, command: Sequence[str]) -> Member:
        """Start a process, without the `CRONCE_...` variables of this one."""
        environ = {key: value for key, value in os.environ.items() if not key.startswith("CRONCE_")}
        member = Member(name, command, logs=self._logs, environ=environ)
        self._members.append(member)
        return member

    def last_words(self) -> str:
        """The end of the stderr of each process, to find an error."""
        return "".join(f"{m.name}: {m.errors()[-300:].strip()}\n" for m in self._members if m.errors())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._members:
            member.kill()
        for member in self._members:
            member.close()
