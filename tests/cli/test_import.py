"""`cronce import` as a command: its output, its file, its document and its errors."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.cli.commands import import_
from cronce.cli.output import files

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Said

LINES = "CRON_TZ=Europe/Berlin\n0 6 * * * /srv/digest --all\n"


@pytest.fixture
def crontab(tmp_path: Path) -> str:
    """The path of a crontab with one job."""
    file = tmp_path / "crontab"
    file.write_text(LINES)
    return str(file)


def test_the_code_is_on_stdout_and_the_table_on_stderr(cronce: Callable[..., Said], crontab: str) -> None:
    """So that the code can be redirected."""
    said = cronce("import", "crontab", crontab)
    assert said.code == 0
    compile(said.out, "jobs.py", "exec")
    assert "timezone Europe/Berlin" in said.err
    assert said.err.splitlines()[-1].startswith("1 job: ")


def test_a_file_is_written_whole_and_not_replaced(cronce: Callable[..., Said], crontab: str, tmp_path: Path) -> None:
    """Unless --force says so."""
    output = tmp_path / "clock.toml"
    written = cronce("import", "crontab", crontab, "--to", "clock", "-o", str(output))
    assert (written.code, written.out) == (0, "")
    code = output.read_text()
    assert code == cronce("import", "crontab", crontab, "--to", "clock").out
    output.write_text("mine")
    again = cronce("import", "crontab", crontab, "--to", "clock", "-o", str(output))
    assert (again.code, again.out, again.err.count("\n")) == (64, "", 1)
    assert "--force" in again.err
    assert output.read_text() == "mine"
    assert cronce("import", "crontab", crontab, "--to", "clock", "-o", str(output), "--force").code == 0
    assert output.read_text() == code
    assert sorted(path.name for path in tmp_path.glob("*clock*")) == ["clock.toml"]


def test_a_file_that_appears_meanwhile_is_not_replaced(
    cronce: Callable[..., Said], crontab: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is taken at the end, in one step."""
    output = tmp_path / "clock.toml"

    def write(file: Path, data: bytes, *, replace: bool) -> None:
        output.write_text("theirs")
        real(file, data, replace=replace)

    real = files.write_whole
    monkeypatch.setattr(import_, "write_whole", write)
    said = cronce("import", "crontab", crontab, "--to", "clock", "-o", str(output))
    assert (said.code, output.read_text()) == (64, "theirs")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".cronce")]


@pytest.mark.parametrize("output", ["no/such/folder/x.py", "pipe", "."])
def test_an_output_that_cannot_be_written_is_one_error(
    cronce: Callable[..., Said], crontab: str, tmp_path: Path, output: str
) -> None:
    """And a pipe, as any other special file, stays what it is."""
    os.mkfifo(tmp_path / "pipe")
    said = cronce("import", "crontab", crontab, "-o", str(tmp_path / output), "--force")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert (tmp_path / "pipe").is_fifo()


def test_a_refused_file_leaves_no_output(cronce: Callable[..., Said], crontab: str, tmp_path: Path) -> None:
    """The error has its file and line."""
    Path(crontab).write_text(LINES + "0 9 * * 8 /srv/friday\n")
    output = tmp_path / "jobs.py"
    said = cronce("import", "crontab", crontab, "-o", str(output))
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert f"{crontab}:3: schedule (day-of-week)" in said.err
    assert f"--skip {crontab}:3" in said.err
    assert not output.exists()
    assert cronce("import", "crontab", crontab, "--skip", "friday", "-o", str(output)).code == 0


def test_the_document_has_every_decision(cronce: Callable[..., Said], crontab: str, tmp_path: Path) -> None:
    """With the code, or with the file that has it."""
    told = json.loads(cronce("import", "crontab", crontab, "--json").out)
    assert told.keys() == {"jobs", "skipped", "file", "code"}
    [job] = told["jobs"]
    assert (job["name"], job["file"], job["line"]) == ("digest", crontab, 2)
    assert {each["verdict"] for each in job["decisions"]} <= {"kept", "changed", "stated", "not mapped"}
    assert job["decisions"][1] == {
        "field": "CRON_TZ",
        "verdict": "kept",
        "given": "Europe/Berlin",
        "became": "timezone Europe/Berlin",
        "why": "",
        "line": 1,
    }
    compile(told["code"], "jobs.py", "exec")
    file = str(tmp_path / "jobs.py")
    told = json.loads(cronce("import", "crontab", crontab, "--json", "-o", file).out)
    assert (told["file"], told["code"]) == (file, None)


def test_the_standard_input_is_a_file(cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    """As `crontab -l` and `kubectl get -o yaml` write it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES.encode())))
    said = cronce("import", "crontab", "-", "--to", "clock")
    assert said.code == 0
    assert "standard input:2" in said.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope", "FILE"], "'nope' is not one of 'ecschedule'"),
        (["crontab"], "Missing argument 'FILE...'"),
        (["crontab", "FILE", "--to", "helm"], "'helm' is not one of"),
        (["crontab", "FILE", "--timezone", "Europe/Berlim"], "did you mean Europe/Berlin?"),
        (["crontab", "FILE", "--force"], "--force needs --output"),
        (["crontab", "FILE", "--skip", "other"], "--skip: 'other'"),
        (["crontab", "FOLDER"], "Is a directory"),
        (["crontab", "FOLDER/none"], "No such file"),
        (["crontab", "FILE\0"], "null byte"),
        (["ecschedule", "FILE"], "FILE:1"),
        (["cronjob", "FILE"], "FILE:1"),
    ],
)
def test_bad_usage_is_one_line(
    cronce: Callable[..., Said], crontab: str, tmp_path: Path, arguments: list[str], said: str
) -> None:
    """64, without a traceback."""
    given = [word.replace("FILE", crontab).replace("FOLDER", str(tmp_path)) for word in arguments]
    told = cronce("import", *given)
    assert (told.code, told.out) == (64, "")
    assert told.err.count("\n") == 1
    assert said.replace("FILE:1", f"{crontab}:1") in told.err or said in told.err


def test_without_its_library_the_extra_is_named(
    cronce: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crontab needs none."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    file = tmp_path / "ecschedule.yaml"
    file.write_text("rules: []")
    said = cronce("import", "ecschedule", str(file))
    assert (said.code, "pip install 'cronce[import]'" in said.err) == (64, True)


def test_a_terminal_is_not_controlled_by_a_file(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Neither by the table nor by the code nor by an error."""
    file = tmp_path / "crontab"
    file.write_text("# \x1b[31mred\u202e\n0 6 * * * /srv/x '\x1b[2J'\n")
    for target in ("cdk", "terraform", "clock"):
        said = cronce("import", "crontab", str(file), "--to", target)
        assert said.code == 0
        assert "\x1b" not in said.out + said.err
        assert "\u202e" not in said.out + said.err
    file.write_text("\x1b[31m\n")
    assert "\x1b" not in cronce("import", "crontab", str(file)).err
