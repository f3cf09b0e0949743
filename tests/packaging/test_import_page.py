"""docs/import.md: what its commands print, about the files that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cronce.cli.app import main

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the page shows, each under the name of its first line."""
    for _, text in BLOCKS:
        if match := re.match(r"# ([\w.]+)\n", text):
            (tmp_path / match[1]).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def commands() -> list[str]:
    """The commands that the page types."""
    return [line for kind, text in BLOCKS if not kind for line in text.splitlines() if line.startswith("cronce ")]


def test_the_page_shows_what_its_commands_print(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Code and table, word for word."""
    typed = commands()
    assert len(typed) == 2
    printed = []
    for command in typed:
        assert main(command.split()[1:]) == 0
        printed.append(capsys.readouterr())
    blocks = {kind: text for kind, text in BLOCKS if kind in ("toml", "text")}
    assert printed[0].out == blocks["toml"]
    assert [line.rstrip() for line in printed[0].err.splitlines()] == blocks["text"].splitlines()
    written = (folder / "jobs.py").read_text()
    [shown] = [text for kind, text in BLOCKS if kind == "python" and text.startswith("class ImportedJobs")]
    assert written.endswith(shown)
