"""The command as a whole: its help, its errors, its exit codes, and how it starts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cronce.client.ledger import Ledger
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.cli.conftest import CRONCE, LedgerFile, Said
from tests.support.builders import JOB, PERIOD, run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMANDS = [
    "exec",
    "jobs",
    "runs",
    "show",
    "why",
    "doctor",
    "board",
    "next",
    "logs",
    "open",
    "tail",
    "wait",
    "rerun",
    "backfill",
    "pause",
    "resume",
    "release",
    "init",
    "check",
    "audit",
    "lambda-archive",
    "import",
    "clock",
    "sweep",
    "watchdog",
    "pin",
    "health",
    "checkpoint",
    "once",
    "new",
    "demo",
    "help",
]
OWN_PARSER = ["exec", "clock", "sweep", "watchdog", "pin", "health", "checkpoint", "once"]


def process(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs `cronce` in a new process, into a pipe."""
    return subprocess.run(
        [CRONCE, *arguments], capture_output=True, text=True, check=False, timeout=60, env=dict(os.environ) | environ
    )


def test_help_lists_every_command_first_those_that_are_used_most() -> None:
    """`exec` and `checkpoint` too, although they start without click."""
    said = process("--help")
    listed = [line.split()[0] for line in said.stdout.partition("Commands:")[2].splitlines() if line.startswith("  ")]
    assert said.returncode == 0
    assert listed[: len(COMMANDS)] == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    """Asked for in either way, with the same answer, 80 columns wide."""
    asked, told = process(command, "--help"), process("help", command)
    assert (asked.returncode, told.returncode) == (0, 0)
    text = asked.stdout + asked.stderr
    assert text.strip() == (told.stdout + told.stderr).strip()
    assert "xample" in text
    assert "xit code" in text
    assert f"cronce {command}" in text.partition("xample")[2]
    if command not in OWN_PARSER:  # which wraps as the terminal is
        assert max(len(line) for line in text.splitlines()) <= 80


def test_help_alone_is_the_whole_help() -> None:
    """And so is `cronce` alone, but as a mistake."""
    assert process("help").stdout == process("--help").stdout
    alone = process()
    assert (alone.returncode, alone.stdout) == (64, "")
    assert "Commands:" in alone.stderr


def test_the_version_is_the_distributions() -> None:
    """On one line."""
    from importlib.metadata import version  # noqa: PLC0415

    assert process("--version").stdout == f"cronce {version('cronce')}\n"


def test_help_loads_neither_rich_nor_a_store_nor_schedules() -> None:
    """So that it is quick."""
    unneeded = ("rich", "boto3", "botocore", "cronce.stores.sqlite", "cronce.schedule", "cronce.watch", "asyncio")
    program = (
        "import sys; from cronce.cli.app import main; main(['--help']); main(['runs', '--help']);"
        f"print([m for m in {unneeded} if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nope"],
        ["--nope"],
        ["help", "nope"],
        ["runs"],
        ["runs", JOB, "extra"],
        ["runs", JOB, "--limit", "0"],
        ["runs", JOB, "--limit", "1001"],
        ["runs", JOB, "--limit", "many"],
        ["runs", JOB, "--status", "DONE"],
        ["runs", JOB, "--before", "2026#11"],
        ["runs", ""],
        ["runs", "\x1b[31m"],
        ["show", JOB],
        ["show", JOB, "2026-11-29T06:00:00"],
        ["show", "x" * 2049, PERIOD],
        ["release", JOB, " "],
        ["runs", JOB, "--ledger", "mysql://runs"],
        ["runs", JOB, "--ledger", "sqlite:///\x1b[31m"],
        ["init", "--ledger", "dynamodb://runs?regoin=eu-west-1"],
        ["demo", "--customers", "5"],
        ["no\x1b[31m\nsuch"],
    ],
)
def test_bad_usage_is_one_line_and_64(
    ledger_file: LedgerFile, cronce: Callable[..., Said], arguments: list[str]
) -> None:
    """On stderr, without a traceback and without anything that acts on the terminal."""
    ledger_file.put(run())
    said = cronce(*arguments)
    assert (said.code, said.out) == (64, "")
    assert said.err.startswith("cronce: ")
    assert said.err.count("\n") == 1
    assert "\x1b" not in said.err


@pytest.mark.parametrize(
    "command", [["runs", JOB], ["init"], ["jobs"], ["next", JOB], ["rerun", JOB, PERIOD], ["release", JOB, PERIOD]]
)
def test_a_missing_region_is_said_with_how_to_give_it(command: list[str], tmp_path: Path) -> None:
    """By every command alike, and nothing is called None."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        assert name not in os.environ
    said = process(*command, CRONCE_LEDGER="dynamodb://runs", AWS_CONFIG_FILE=str(tmp_path / "none"))
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (64, "", 1)
    assert said.stderr.startswith("cronce: the Region is missing: ")
    assert "AWS_REGION" in said.stderr


@pytest.mark.parametrize("command", [["runz", JOB], ["help", "runz"]])
def test_a_typing_error_in_a_command_is_answered_with_the_meant_one(
    cronce: Callable[..., Said], command: list[str]
) -> None:
    """One line, 64."""
    said = cronce(*command)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "Did you mean 'runs'?" in said.err


@pytest.mark.parametrize("command", [["runs", JOB], ["show", JOB, PERIOD], ["release", JOB, PERIOD], ["init"]])
def test_a_missing_ledger_is_said_with_how_to_give_it(command: list[str]) -> None:
    """Empty counts as missing."""
    for environ in ({}, {"CRONCE_LEDGER": ""}):
        said = process(*command, **environ)
        assert (said.returncode, said.stdout) == (64, "")
        assert "give --ledger or set CRONCE_LEDGER" in said.stderr


@pytest.mark.parametrize(
    ("command", "code"), [(["runs", JOB], 69), (["show", JOB, PERIOD], 69), (["release", JOB, PERIOD], 1)]
)
def test_a_file_that_is_not_there_has_no_runs(tmp_path: Path, command: list[str], code: int) -> None:
    """One line with what is missing; a look makes no file."""
    said = process(*command, CRONCE_LEDGER=f"sqlite:///{tmp_path}/none.db")
    assert (said.returncode, said.stdout) == (code, "")
    assert said.stderr.count("\n") == 1
    assert f"{tmp_path}/none.db: no such file" in said.stderr or "no such run" in said.stderr or "no run" in said.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_ledger_is_69(tmp_path: Path) -> None:
    """For `init` as well, and the file stays as it is."""
    path = tmp_path / "letter.txt"
    path.write_text("Dear Sir or Madam, this is a letter and no database, although quite a long one.\n" * 20)
    for command in (["runs", JOB], ["init"]):
        said = process(*command, "--ledger", f"sqlite:///{path}")
        assert (said.returncode, said.stdout, said.stderr.count("\n")) == (69, "", 1)
    assert path.read_text().startswith("Dear Sir")


def test_a_row_that_cannot_be_read_is_69(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """It names the row; nothing is guessed."""
    ledger_file.put(run(schema=99))
    said = cronce("show", JOB, PERIOD)
    assert (said.code, said.out, said.err.count("\n")) == (69, "", 1)
    assert "schema 99 is newer" in said.err


def test_a_message_with_line_breaks_stays_one_line(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Causes come from outside too."""
    ledger_file.put(run())

    def fail(*_: object, **__: object) -> None:
        raise LedgerUnavailableError("table runs", "proxy said:\n\x1b[2J<html>", transient=False)

    monkeypatch.setattr(Ledger, "page", fail)
    said = cronce("runs", JOB)
    assert (said.code, said.err) == (
        69,
        "cronce: the ledger cannot be used: table runs: proxy said:\\n\\x1b[2J<html>\n",
    )


def test_ctrl_c_is_quiet(ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    """130, as a shell expects it, and no traceback."""
    ledger_file.put(run())

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "page", interrupt)
    said = cronce("runs", JOB)
    assert (said.code, said.out, said.err.strip()) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_early_is_no_error(ledger_file: LedgerFile, options: list[str]) -> None:
    """As with `cronce runs JOB | head -1`."""
    ledger_file.put(*(run(period=f"2026-11-29-{number:04}", error="x" * 500) for number in range(400)))
    reading, writing = os.pipe()
    os.close(reading)
    said = subprocess.run(
        [CRONCE, "runs", JOB, "--limit", "1000", "--ledger", ledger_file.url, *options],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert (said.returncode, said.stderr) == (128 + signal.SIGPIPE, "")


def test_an_encoding_without_the_characters_is_no_error(ledger_file: LedgerFile) -> None:
    """They are printed as escapes."""
    ledger_file.put(run(job="日報"))
    for command in (["runs", "日報"], ["show", "日報", PERIOD], ["show", "日報", "none"]):
        said = process(*command, CRONCE_LEDGER=ledger_file.url, PYTHONIOENCODING="ascii")
        assert said.returncode in (0, 1)
        assert "Traceback" not in said.stderr


def test_the_option_wins_over_the_environment(ledger_file: LedgerFile, tmp_path: Path) -> None:
    """For every command alike."""
    ledger_file.put(run())
    said = process("runs", JOB, "--json", "--ledger", ledger_file.url, CRONCE_LEDGER=f"sqlite:///{tmp_path}/none.db")
    assert len(json.loads(said.stdout)["runs"]) == 1


def without_click(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `cronce` as a base install does."""
    program = f"import sys; sys.modules['click'] = None; sys.argv = ['cronce', *{list(arguments)!r}];"
    command = [sys.executable, "-c", f"{program} from cronce.cli.main import main; main()"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_base_install_has_help_and_a_version() -> None:
    """The help lists every command, and which of them need more."""
    said = without_click("--help")
    assert said.returncode == 0
    assert [name for name in COMMANDS if name not in said.stdout] == []
    assert without_click("help").stdout == said.stdout
    assert without_click("help", "exec").stdout == without_click("exec", "--help").stdout
    assert without_click("--version").stdout == process("--version").stdout
    alone = without_click()
    assert (alone.returncode, alone.stdout, alone.stderr) == (64, "", said.stdout)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["exce"], "exec"),
        (["rusn"], "runs"),
        (["exec", "--jbo", "x", "--", "true"], "--job"),
        (["exec", "--on-lots=HOLD", "--", "true"], "--on-lost"),
        (["pin", "--pol", "1s", "--", "true"], "--poll"),
        (["clock", "--chek"], "--check"),
    ],
)
def test_a_typo_is_answered_with_what_was_probably_meant(arguments: list[str], meant: str) -> None:
    """In the base install; 64 and one line."""
    said = without_click(*arguments)
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (64, "", 1)
    assert f"did you mean {meant}?" in said.stderr


@pytest.mark.parametrize("command", ["exec", "pin", "clock", "nothing"])
def test_what_somebody_typed_is_no_command_for_the_terminal(command: str) -> None:
    """Control characters are shown as escapes, also where nothing is close."""
    for arguments in ([command, "--\x1b[31mred=1"], [f"\x1b]0;{command}\x07"]):
        said = without_click(*arguments)
        assert said.returncode == 64
        assert said.stderr.replace("\n", "").isprintable()


def test_an_unknown_variable_is_a_warning_that_names_the_nearest(ledger_file: LedgerFile) -> None:
    """It would be ignored without a word; the work is done all the same."""
    which = ["exec", "--ledger", ledger_file.url, "--job", JOB, "--period", "2027", "--log-format", "text"]
    said = process(*which, "--", "true", CRONCE_POLCY="{}", CRONCE_XYZZY_QUUX="")
    assert said.returncode == 0
    assert "CRONCE_POLCY is not a variable of cronce; did you mean CRONCE_POLICY?" in said.stderr
    assert "CRONCE_XYZZY_QUUX is not a variable of cronce\n" in said.stderr


def test_lines_of_exec_are_for_people_or_json(ledger_file: LedgerFile) -> None:
    """JSON where stderr is no terminal; `--quiet` leaves errors only."""
    which = ["exec", "--ledger", ledger_file.url, "--job", JOB]
    assert json.loads(process(*which, "--period", "1", "--", "true").stderr.splitlines()[0])["level"] == "INFO"
    text = process(*which, "--log-format=text", "--period", "2", "--", "true").stderr.splitlines()
    assert text[0] == f"cronce: {JOB} 2 claimed (attempt 1)"
    assert text[1].startswith(f"cronce: {JOB} 2 succeeded (attempt 1, exit code 0, ")
    again = process(*which, "--log-format=text", "--period", "2", "--", "true")
    assert again.stderr.startswith(f"cronce: {JOB} 2 is not started: already done")
    assert process(*which, "--quiet", "--period", "3", "--", "true").stderr == ""
    assert "exit_code" in process(*which, "--quiet", "--period", "4", "--", "false").stderr
    wrong = process(*which, "--log-format", "xml", "--", "true")
    assert (wrong.returncode, len(wrong.stderr.splitlines())) == (64, 1)


@pytest.mark.lane("terminal")
def test_at_a_terminal_exec_prints_a_short_line(ledger_file: LedgerFile) -> None:
    """For people."""
    ours, theirs = os.openpty()
    which = ["exec", "--ledger", ledger_file.url, "--job", JOB, "--period", "5", "--", "true"]
    subprocess.run([CRONCE, *which], check=True, stderr=theirs, stdin=subprocess.DEVNULL)
    said = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert said.startswith(f"cronce: {JOB} 5 claimed (attempt 1)")
    assert max(map(len, said.splitlines())) < 80


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_missing_extra_is_said_with_how_to_install_it(ledger_file: LedgerFile, missing: str) -> None:
    """A task's image has neither library, and `exec` needs none."""
    ledger_file.put(run())
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['cronce', 'runs', {JOB!r}];"
        "from cronce.cli.main import main; main()"
    )
    environ = dict(os.environ) | {"CRONCE_LEDGER": ledger_file.url}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert (said.returncode, said.stdout) == (64, "")
    assert said.stderr == "cronce: 'runs' needs the extra 'cli': pip install 'cronce[cli]'\n"
