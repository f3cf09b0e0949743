"""A SQLite ledger with runs in it, and the commands: in this process, and on a terminal of a given width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.cli.app import main
from cronce.client.ledger import Ledger
from cronce.ecs import Launcher
from cronce.stores.sqlite import SqliteStore
from tests.cli.ecs_fleet import GROUP, Fleet
from tests.support.schemas import check_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cronce.protocol.records import RunRecord

CRONCE = Path(sys.executable).parent / "cronce"
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


class LedgerFile:
    """A ledger in a file, into which a test puts rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self._store = SqliteStore(path)

    def put(self, *runs: RunRecord) -> None:
        """Write rows as they are."""
        for run in runs:
            assert self._store.swap(run, None).written

    def close(self) -> None:
        """Close the file."""
        self._store.close()


@pytest.fixture
def ledger_file(tmp_path: Path) -> Iterator[LedgerFile]:
    """A ledger file with nothing in it yet."""
    file = LedgerFile(tmp_path / "runs.db")
    yield file
    file.close()


@pytest.fixture
def cronce(
    ledger_file: LedgerFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """Runs a command on that ledger in this process; every document that it prints agrees with its schema."""
    monkeypatch.setenv("CRONCE_LEDGER", ledger_file.url)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str) -> Said:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        check_output(arguments, out)
        return Said(code, out, err)

    return run


@pytest.fixture
def fleet(ledger_file: LedgerFile, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    """A schedule group with nothing in it; what a command waits is a step of its tasks, and takes no time."""
    ledger = Ledger.from_url(ledger_file.url)
    ledger.create()
    fleet = Fleet(ledger)
    monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", GROUP)
    monkeypatch.setattr("cronce.ecs.Launcher", partial(Launcher, scheduler=fleet, ecs=fleet))
    monkeypatch.setattr("cronce.operate.gathering.last_words", lambda *_: "")
    monkeypatch.setattr(time, "sleep", lambda _seconds: fleet.step())
    yield fleet
    ledger.close()


@pytest.fixture
def on_terminal(ledger_file: LedgerFile) -> Callable[..., str]:
    """Runs a command on a terminal; what arrives there, line breaks as in a file."""

    def run(*arguments: str, columns: int = 80, **environ: str) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR", "TERM")}
        process = subprocess.Popen(
            [CRONCE, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=inherited | {"TERM": "xterm-256color", "CRONCE_LEDGER": ledger_file.url} | environ,
        )
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            arrived = b"".join(iter(lambda: _read(terminal.fileno()), b""))
        process.wait()
        return arrived.decode().replace("\r\n", "\n")

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux's way to say that nobody holds the other end any more
        return b""


def without_colour(text: str) -> str:
    """The text as a person sees it."""
    return _ESCAPE.sub("", text)


def now() -> datetime:
    """This moment, as it is stored."""
    at = datetime.now(UTC)
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
