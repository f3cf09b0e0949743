"""Every command has `--json` with a schema in `docs/schemas`; the fixture `cronce` checks each document it sees."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import jsonschema  # type: ignore[import-untyped,import-not-found,unused-ignore]  # it has no types
import pytest

from cronce.cli.app import COMMANDS, RuntimeCommand
from cronce.cli.app import cronce as group
from cronce.vocabulary.metrics import METRIC_OF_EVENT
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, run
from tests.support.log_lines import fault
from tests.support.schemas import FOLDER, LINES, check_output, validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import LedgerFile, Said
    from tests.cli.ecs_fleet import Fleet

WITHOUT = {
    "board": "it writes a page for people",
    "help": "it prints text for people",
    "completion": "it prints a script",
}
"""Commands for people that print no document, and why."""

SHARED = {"run", "pause-of"}
"""Schemas that others refer to."""

LOGGED = "log-line"
"""The schema of what the commands that tasks run print: lines on stderr."""

TICK = "2026-11-29T05:00:00Z"

CALLS: dict[str, tuple[str, ...]] = {
    "jobs": (),
    "runs": (JOB,),
    "show": (JOB, TICK),
    "why": (JOB, TICK),
    "doctor": (),
    "next": ("0 6 * * *",),
    "open": (JOB,),
    "wait": (JOB, TICK),
    "rerun": (JOB, TICK, "--force", "--reason", "half of it"),
    "backfill": (JOB, "--from", "2026-11-01", "--to", "2026-11-03"),
    "pause": (JOB, "--why", "stocktaking"),
    "resume": (JOB,),
    "release": (JOB, TICK),
    "init": (),
    "lambda-archive": ("archive.zip",),
    "new": ("digest",),
}
"""A call of each command that needs no more than a ledger and the fleet; the others have tests of their own."""


def for_people() -> Iterator[str]:
    """The commands that people type; those that tasks run log lines of JSON and take `--log-format`."""
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        if command is not None and not isinstance(command, RuntimeCommand):
            yield name


@pytest.mark.parametrize("name", [*for_people()])
def test_a_command_has_json_with_a_schema_and_help_that_says_so(name: str) -> None:
    """A new command needs the option, `docs/schemas/NAME.json`, and an example and the document's shape in its help."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    has_option = any("--json" in each.opts for each in command.params)
    assert has_option is (name not in WITHOUT)
    assert (FOLDER / f"{name}.json").is_file() is has_option
    assert command.epilog is not None
    assert "xample" in command.epilog
    assert "xit code" in command.epilog
    if has_option:
        told = json.loads((FOLDER / f"{name}.json").read_text())
        assert [each for each in told.get("required", ()) if f'"{each}"' not in command.epilog] == []


def test_every_schema_is_that_of_a_command_or_shared() -> None:
    """And is itself valid."""
    names = {file.stem for file in FOLDER.glob("*.json")}
    assert names - SHARED - {LOGGED} == {*for_people()} - WITHOUT.keys()
    for name in names:
        told = json.loads((FOLDER / f"{name}.json").read_text())
        assert told["$id"] == f"{name}.json"
        jsonschema.Draft202012Validator.check_schema(told)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the command works."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("name", CALLS)
def test_what_the_command_prints_agrees_with_its_schema(
    fleet: Fleet,
    ledger_file: LedgerFile,
    cronce: Callable[..., Said],
    folder: Path,
    name: str,
) -> None:
    """The fixture checks it; here it must have been printed."""
    assert folder.is_dir()  # the working folder, for what writes files
    fleet.add_job(JOB)
    ledger_file.put(run(period=TICK, status=Status.SUCCEEDED))
    said = cronce(name, *CALLS[name], "--json")
    assert said.out.startswith("{"), said


def test_each_command_with_json_is_called_somewhere() -> None:
    """What is not called here is called by the tests of that command."""
    elsewhere = {"logs", "tail", "check", "audit", "import", "demo"}
    assert CALLS.keys() | elsewhere >= {*for_people()} - WITHOUT.keys()
    assert {*LINES} <= elsewhere


def test_every_event_of_the_sources_is_in_the_schema_with_its_fields() -> None:
    """A new event or field needs its line there; every test checks the lines that it causes (`tests/conftest.py`)."""
    written: set[str] = set()
    fields: set[str] = set()
    for root in ("ledger/cronce", "lambdas/cronce_lambdas"):
        for file in (FOLDER.parents[1] / root).rglob("*.py"):
            for call in ast.walk(ast.parse(file.read_text())):
                if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("report", "_log"):
                    written |= {str(each.value) for each in call.args[:1] if isinstance(each, ast.Constant)}
                    fields |= {each.arg for each in call.keywords if each.arg and each.arg != "level"}
    told = json.loads((FOLDER / f"{LOGGED}.json").read_text())["properties"]
    named = {"succeeded", "failed", "missed", "missed_cause", "unclaimed", "run_held", "run_given_up", "recorded"}
    assert {*told["cronce.event"]["enum"]} == written | named | {"launch_failed"}
    assert {f"cronce.{name}" for name in fields} <= told.keys()
    assert METRIC_OF_EVENT.keys() <= {*told["cronce.event"]["enum"]}


def test_a_task_logs_lines_that_agree(ledger_file: LedgerFile, capfd: pytest.CaptureFixture[str]) -> None:
    """Claimed, succeeded, refused, failed; with and without metrics."""
    program = str(Path(sys.executable).with_name("cronce"))
    for period, work, metrics in (("1", "true", "emf"), ("1", "true", ""), ("2", "false", "emf")):
        words = [program, "exec", "--ledger", ledger_file.url, "--job", JOB, "--period", period, "--", work]
        subprocess.run(words, check=False, env=dict(os.environ) | {"CRONCE_METRICS": metrics})
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    seen = [json.loads(line)["cronce.event"] for line in lines]
    assert seen == ["claimed", "succeeded", "refused", "claimed", "failed"]
    assert [each for each in map(fault, lines) if each] == []
    assert fault(lines[0].replace('"cronce.attempt": 1', '"cronce.attempt": "1"')) is not None
    assert fault(lines[0].replace('"cronce.attempt"', '"cronce.attempts"')) is not None


def test_a_document_that_does_not_agree_is_found() -> None:
    """A missing value, a value of another kind, and one that is not documented."""
    good = {"job": "a", "was_paused": None}
    validator("resume").validate(good)
    for bad in ({"job": "a"}, good | {"job": 1}, good | {"more": 1}, good | {"was_paused": {"at": "now"}}):
        with pytest.raises(jsonschema.ValidationError):
            check_output(("resume", "a", "--json"), json.dumps(bad))
