"""`cronce new`: what it says, and what it refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Said


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are named as people name them."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def test_it_writes_a_folder_and_names_the_next_commands(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """The job has the folder's name."""
    said = cronce("new", "my digest")
    assert (said.code, said.err) == (0, "")
    assert "The job my digest is due\nat 06:00 every day, UTC" in said.out
    assert "  cd 'my digest'\n" in said.out
    assert (tmp_path / "here" / "my digest" / "README.md").is_file()


def test_the_document_names_every_file(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """And the schedule as EventBridge Scheduler writes it."""
    options = ("--schedule", "0 6 * * 1-5", "--timezone", "Europe/Berlin", "--name", "daily", "--language", "ruby")
    told = json.loads(cronce("new", "digest", "--with", "terraform", "--json", *options).out)
    folder = tmp_path / "here" / "digest"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {*told.pop("files")} == files
    assert told == {
        "folder": "digest",
        "job": "daily",
        "schedule": "cron(0 6 ? * MON-FRI *)",
        "timezone": "Europe/Berlin",
        "with": "terraform",
        "language": "ruby",
    }


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("digest", "--schedule", "6 Uhr"), "--schedule"),
        (("digest", "--schedule", "at(2020-01-01T00:00:00)"), "--schedule"),
        (("digest", "--schedule", "0 6 31 2 *"), "--schedule"),
        (("digest", "--schedule", "0 6 * * 1-5; 0 9 * * 0", "--with", "terraform"), "--schedule"),
        (("digest", "--timezone", "Mars/Olympus"), "--timezone"),
        (("digest", "--name", "-x"), "--name"),
        (("digest", "--name", "cronce:x"), "--name"),
        (("digest", "--name", "x" * 256), "--name"),
        (("digest", "--name", "é"), "--name"),
        (("digest", "--name", " x"), "--name"),
        (("digest\n", "--language", "any"), "--name (by default the name of DIR)"),
        (("ä",), "--name (by default the name of DIR)"),
        (("no/such/folder",), "DIR"),
        (("..",), "DIR"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_nothing_is_written(
    cronce: Callable[..., Said], tmp_path: Path, words: tuple[str, ...], what: str
) -> None:
    """The line names the option as it was typed."""
    said = cronce("new", *words)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith(f"cronce: {what}: ")
    assert [*(tmp_path / "here").iterdir()] == []


def test_a_folder_with_something_in_it_is_left_alone(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Also if that is a project of before."""
    assert cronce("new", "digest").code == 0
    readme = tmp_path / "here" / "digest" / "README.md"
    readme.write_text("mine")
    said = cronce("new", "digest")
    assert (said.code, said.err.count("\n"), readme.read_text()) == (64, 1, "mine")


@pytest.mark.parametrize("options", [("--language", "cobol"), ("--with", "pulumi"), ("--schedule", "")])
def test_another_choice_is_refused_with_those_that_exist(cronce: Callable[..., Said], options: tuple[str, ...]) -> None:
    """By name."""
    said = cronce("new", "digest", *options)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
