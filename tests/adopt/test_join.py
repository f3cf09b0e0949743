"""Clocks times copies: the findings."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.join import join
from cronce.adopt.audit.model import AuditFinding, FoundClock, Place
from cronce.adopt.audit.services import read_services

CODE = {
    "Dockerfile": 'FROM x\nCMD ["gunicorn", "app:app"]\n',
    "app.py": "import jobs\n",
    "jobs.py": "scheduler = BackgroundScheduler()\nscheduler.start()\n",
    "other.py": "",
}


def _clock(path: str, line: int, **fields: object) -> FoundClock:
    given = {"rule": "apscheduler", "tool": "APScheduler", "text": "", **fields}
    return FoundClock(place=Place(path=PurePosixPath(path), line=line), **given)  # type: ignore[arg-type]


IN_CODE = _clock("jobs.py", 2)


def _found(files: dict[str, str], *clocks: FoundClock) -> list[AuditFinding]:
    project = Files.of(files)
    return list(join(clocks, read_services(project).services, project).findings)


def _one(lines: str, clock: FoundClock = IN_CODE, code: dict[str, str] = CODE) -> AuditFinding:
    (finding,) = _found({"compose.yaml": f"services:\n  web:\n    build: .\n    {lines}\n", **code}, clock)
    return finding


def test_a_clock_in_the_app_of_four_copies_is_named_with_both_places_and_the_way() -> None:
    """The story: clock, copies, command, and how the command comes to load the clock."""
    finding = _one("deploy: {replicas: 4}")
    assert (finding.rule, finding.severity, finding.place.line) == ("clock-in-copies", "error", 2)
    assert finding.message == (
        "APScheduler runs in each of 4 copies (deploy.replicas: 4) of service web, so each job starts 4 times: its "
        "command, `gunicorn app:app`, loads it (app.py imports jobs.py)"
    )
    assert [(f"{place.path}:{place.line}", word) for place, word in finding.related] == [
        ("compose.yaml:4", "service web: 4 copies (deploy.replicas: 4)"),
        ("Dockerfile:2", "the command of service web"),
    ]


@pytest.mark.parametrize(
    ("lines", "rule", "says"),
    [
        ("command: gunicorn -w 3 app:app", "clock-in-copies", "each of 3 processes (--workers 3)"),
        ("command: gunicorn -w 3 --preload app:app", "clock-in-web-process", "inside the web process of service web"),
        ("command: python app.py", "clock-kept-by-one-line", "it is kept by one line (nothing scales it)"),
        ("deploy: {replicas: 1, update_config: {order: start-first}}", "clock-doubles-in-deployment", "start-first"),
        ("deploy: {mode: global}", "clock-in-copies", "an unknown number of copies (deploy.mode: global)"),
        ("deploy: {replicas: '${N}'}", "clock-perhaps-in-copies", "an unknown number of copies"),
        ("command: python other.py", "clock-without-service", "no service of the project is known to run it"),
        (
            "command: ./unknown --flag\n    scale: 2",
            "clock-perhaps-in-copies",
            "what `./unknown --flag` loads is not known",
        ),
        ("command: cronce pin --job web -- gunicorn app:app\n    scale: 4", "clock-without-service", "no service"),
    ],
)
def test_the_number_of_copies_and_the_command_decide(lines: str, rule: str, says: str) -> None:
    """One clock, nine deployments."""
    finding = _one(lines)
    assert finding.rule == rule
    assert says in finding.message


def test_a_clock_with_a_lock_of_its_own_is_told_apart() -> None:
    """It is information, whatever the copies."""
    finding = _one("scale: 4", _clock("jobs.py", 2, protected="its lock in Redis"))
    assert (finding.rule, finding.severity) == ("clock-with-own-lock", "info")


def test_two_services_that_load_the_same_clock_start_its_jobs_twice() -> None:
    """One copy each is two clocks."""
    text = "services:\n  web: {build: .}\n  admin: {build: .}\n"
    (finding,) = _found({"compose.yaml": text, **CODE}, IN_CODE)
    assert finding.rule == "clock-in-services"
    assert "2 services that are deployed together, admin and web" in finding.message


def test_two_files_for_two_environments_are_not_deployed_together() -> None:
    """Each has one clock."""
    text = "services:\n  web: {build: ., command: python app.py}\n"
    (finding,) = _found({"compose.yaml": text, "compose.other.yaml": text, **CODE}, IN_CODE)
    assert finding.rule == "clock-kept-by-one-line"


def test_a_command_that_is_a_clock_points_to_what_it_starts() -> None:
    """And the fix pins that very command."""
    text = "services:\n  beat:\n    build: .\n    command: celery -A app beat\n    deploy: {replicas: 1}\n"
    beat = _clock("compose.yaml", 4, rule="celery-beat", tool="Celery beat", command=("celery", "-A", "app", "beat"))
    defined = _clock("app.py", 1, rule="celery-beat", tool="Celery beat", command=("celery", "beat"), defines=True)
    (finding,) = _found({"compose.yaml": text, **CODE}, beat, defined)
    assert (finding.rule, finding.severity, finding.place.line) == ("clock-kept-by-one-line", "info", 5)
    assert ("app.py", "what is due is defined here") in [(str(place.path), word) for place, word in finding.related]
    assert "command: cronce pin --job beat -- celery -A app beat" in finding.fix


def test_a_definition_that_nothing_acts_on_says_so() -> None:
    """With the command that would."""
    defined = _clock("app.py", 1, rule="celery-beat", tool="Celery beat", command=("celery", "beat"), defines=True)
    (finding,) = _found(CODE, defined)
    assert finding.message == "Celery beat: nothing in the project starts `celery beat`, which acts on it"


def test_a_project_without_deployment_files_says_so() -> None:
    """Somebody has to look how many there are."""
    (finding,) = _found({"jobs.py": ""}, IN_CODE)
    assert (finding.rule, finding.severity) == ("clock-without-service", "warning")
    assert "no file that says how many copies run" in finding.message


def test_a_clock_under_main_of_an_imported_file_is_not_running() -> None:
    """An import does not start it."""
    code = {**CODE, "jobs.py": "import x\nif __name__ == '__main__':\n    start()\n"}
    assert _one("scale: 4", _clock("jobs.py", 3), code).rule == "clock-without-service"
