"""Every argument and option that takes text: an error names it as it was typed, whatever its value is inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from cronce.cli.app import COMMANDS, RuntimeCommand
from cronce.cli.app import cronce as group
from tests.cli.conftest import Said
from tests.cli.ecs_fleet import Fleet

PLACES = {"job": "daily-digest", "period": "2026-11-29T05:00:00Z", "what": "daily-digest", "file": "archive.zip"}
PLACES |= {"kind": "crontab", "files": "crontab", "path": "."}
NEEDED = {"backfill": ["--from=2026-11-01", "--to=2026-11-02"], "pause": ["--why=because"]}
NOT_TEXT = (click.Choice, click.IntRange, click.Path, click.File)  # click names these itself
HOSTILE = ["\x1b[31mred", "a\nb", "a\x00b", "\udcff", "\u202eabc"]


def text_parameters() -> Iterator[tuple[str, str]]:
    """Command and parameter, from the commands themselves."""
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        if command is None or isinstance(command, RuntimeCommand):
            continue
        for parameter in command.params:
            flag = isinstance(parameter, click.Option) and (parameter.is_flag or not parameter.expose_value)
            if not flag and not isinstance(parameter.type, NOT_TEXT) and not parameter.multiple:
                yield name, parameter.name or ""


def called_with(name: str, parameter: str, value: str) -> tuple[list[str], str]:
    """The command line that gives the value, and how a person calls it."""
    command = group.get_command(click.Context(group), name)
    assert command is not None
    words, called = [], ""
    for each in command.params:
        if isinstance(each, click.Argument):
            words.append(value if each.name == parameter else PLACES.get(each.name or "", "runs"))
            name_of = "JOB" if each.name == "jobs" else each.human_readable_name
            called = name_of if each.name == parameter else called
    for each in command.params:
        if isinstance(each, click.Option) and each.name == parameter:
            words.append(f"{each.opts[-1]}={value}")
            called = each.opts[0]
    others = [word for word in NEEDED.get(name, ()) if word.partition("=")[0] != called]
    return [name, *others, *words], called.strip("[].")


def command_lines(command: str, values: list[str]) -> Iterator[tuple[list[str], str]]:
    """Each parameter of the command with each value."""
    for name, parameter in text_parameters():
        if name == command:
            yield from (called_with(name, parameter, value) for value in values)


@pytest.mark.parametrize("name", sorted({name for name, _ in text_parameters()}))
def test_an_empty_text_is_refused_by_the_name_that_was_typed(
    fleet: Fleet, cronce: Callable[..., Said], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--reason "$WHY"` with an unset variable does not mean no reason."""
    monkeypatch.chdir(tmp_path)  # a value that is taken all the same may name a folder
    if name == "import":
        (tmp_path / "crontab").write_text("0 6 * * * digest\n")
    fleet.add_job("daily-digest")
    for words, called in command_lines(name, ["", "  "]):
        said = cronce(*words)
        assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
        assert said.err.startswith(f"cronce: {called}: ")


@pytest.mark.parametrize("name", sorted({name for name, _ in text_parameters()} - {"demo"}))
def test_a_hostile_text_does_nothing_to_the_terminal(
    fleet: Fleet, cronce: Callable[..., Said], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, escaped, and a documented code."""
    monkeypatch.chdir(tmp_path)  # as above
    if name == "import":
        (tmp_path / "crontab").write_text("0 6 * * * digest\n")
    fleet.add_job("daily-digest")
    for words, called in command_lines(name, HOSTILE):
        said = cronce(*words)
        if called in ("-o", "--sarif"):
            continue  # any text may be the name of a file
        assert said.code in ((0, 1, 64, 69) if called == "--ledger" else (1, 64, 69))  # `next` may not need the ledger
        assert said.err.count("\n") == (said.code != 0)
        assert all(line.isprintable() for line in [*said.err.splitlines(), *said.out.splitlines()])
        names = (called, "expression") if name == "next" else (called,)  # an EXPRESSION has parts
        assert said.code != 64 or name == "help" or said.err.startswith(tuple(f"cronce: {each}: " for each in names))


@pytest.mark.parametrize(
    ("words", "called"),
    [
        (("next", "rate(1 day)", "--from", "2200-01-01"), "--from"),
        (("next", "0 6 * * *", "--from", "0001-01-01"), "--from"),
        (("next", "0 6 * * *", "--timezone", "Mars"), "--timezone"),
        (("runs", "daily-digest", "--before", "2026-11-29T06:00"), "--before"),
        (("runs", "daily-digest", "--ledger", "mysql://x"), "--ledger"),
        (("runs", "daily-digest", "--ledger", "dynamodb://runs?region=Mars"), "--ledger"),
        (("rerun", "daily-digest", "2026-11-29T06:00"), "PERIOD"),
        (("rerun", "daily-digest", "2026-11-29T05:00:00Z", "--schedule-group", "a b"), "--schedule-group"),
        (("backfill", "daily-digest", "--from", "2026-11-31", "--to", "2026-12-01"), "--from"),
        (("backfill", "daily-digest", "--from", "2026-11-30", "--to", "9999-12-31"), "--to"),
    ],
)
def test_an_error_names_what_was_typed(
    fleet: Fleet, cronce: Callable[..., Said], words: tuple[str, ...], called: str
) -> None:
    """Not the field of the value that it became."""
    fleet.add_job("daily-digest")
    said = cronce(*words)
    assert (said.code, said.out) == (64, "")
    assert said.err.startswith(f"cronce: {called}")


def test_the_variable_is_named_if_that_gave_the_text(
    cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may be far away."""
    monkeypatch.setenv("CRONCE_LEDGER", "mysql://x")
    assert cronce("runs", "daily-digest").err.startswith("cronce: CRONCE_LEDGER: ")
    monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", "a b")
    assert cronce("next", "daily-digest").err.startswith("cronce: CRONCE_SCHEDULE_GROUP: ")
