"""Output that cannot be written: a reader that has gone, a full disk, closed files."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys

import pytest

from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import CRONCE, LedgerFile
from tests.support.builders import JOB, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full exists on Linux")

COMMANDS = [
    ["--help"],
    ["help", "runs"],
    ["runs", JOB],
    ["show", JOB, "2026-11-29", "--json"],
    ["jobs"],
    ["next", "0 6 * * *"],
    ["next", "0 6 * * *", "--json"],
    ["init"],
]
FAILING = [["runs", "nope"], ["nope"], ["runs", JOB, "--limit", "0"], ["show", JOB, "1999-01-01"]]


def in_shell(ledger_file: LedgerFile, command: list[str], redirection: str) -> subprocess.CompletedProcess[str]:
    """Runs the command with that redirection by a shell."""
    line = f"{shlex.quote(str(CRONCE))} {shlex.join(command)} {redirection}"
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"CRONCE_LEDGER": ledger_file.url, "LC_ALL": "C.UTF-8"},
    )


@pytest.fixture
def ledger(ledger_file: LedgerFile) -> LedgerFile:
    """A ledger with one failed run."""
    ledger_file.put(run(status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3))
    return ledger_file


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("redirection", "cause"), [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_output_that_cannot_be_written_is_one_line_and_1(
    ledger: LedgerFile, command: list[str], redirection: str, cause: str
) -> None:
    """As for every program that prints."""
    said = in_shell(ledger, command, redirection)
    assert (said.returncode, said.stderr) == (1, f"cronce: the output cannot be written: {cause}\n")


@pytest.mark.parametrize("name", ["exec", "pin", "clock", "sweep", "watchdog", "health", "checkpoint", "once"])
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-"])
def test_help_is_the_option_help(ledger: LedgerFile, name: str, redirection: str) -> None:
    """`cronce help exec` was a traceback, and 120."""
    by_option, by_command = (in_shell(ledger, words, redirection) for words in ([name, "--help"], ["help", name]))
    assert "Traceback" not in by_command.stderr
    assert (by_command.returncode, by_command.stderr) == (by_option.returncode, by_option.stderr)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_is_quiet_and_141(ledger: LedgerFile, command: list[str]) -> None:
    """As SIGPIPE would end it."""
    said = _without_reader(ledger, command)
    assert (said.returncode, said.stderr) == (128 + signal.SIGPIPE, "")


def _without_reader(ledger: LedgerFile, command: list[str]) -> subprocess.CompletedProcess[str]:
    program = (
        "import os, sys; reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1); os.close(writing);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return subprocess.run(
        [sys.executable, "-c", program, str(CRONCE), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={"CRONCE_LEDGER": ledger.url},
    )


@pytest.mark.parametrize("command", [["runs", JOB], ["next", "0 6 * * *", "--json"], *FAILING], ids=" ".join)
@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-"])
def test_messages_that_cannot_be_written_change_nothing(
    ledger: LedgerFile, command: list[str], redirection: str
) -> None:
    """Output and exit code are those of a command whose messages somebody reads."""
    lost, read = in_shell(ledger, command, redirection), in_shell(ledger, command, "")
    assert (lost.returncode, lost.stdout) == (read.returncode, read.stdout)
    assert lost.stderr == ""


@pytest.mark.parametrize("command", FAILING, ids=" ".join)
def test_an_error_keeps_its_exit_code_without_a_place_for_output(ledger: LedgerFile, command: list[str]) -> None:
    """Nothing was to be written."""
    for redirection in ("> /dev/full", ">&-", ">&- 2>&-", "> /dev/full 2>&1"):
        lost, read = in_shell(ledger, command, redirection), in_shell(ledger, command, "")
        assert lost.returncode == read.returncode
        assert "Traceback" not in lost.stderr
