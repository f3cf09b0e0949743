"""Which of a project's Python processes run a clock: who calls it, and which settings let it start."""

from __future__ import annotations

from pathlib import Path

import pytest

from cronce.adopt.audit.run import audit

CLOCK = """from apscheduler.schedulers.background import BackgroundScheduler

scheduler = BackgroundScheduler()
scheduler.add_job(print, "interval", hours=1, max_instances=1, misfire_grace_time=60)
"""
IN_FUNCTION = """import time
import schedule

def run_clock():
    schedule.every().day.do(print)
    while True:
        schedule.run_pending()
        time.sleep(1)
"""
COMPOSE = """services:
  web: {{build: ., command: {web}, scale: 4, environment: {{{web_settings}}}}}
  clock: {{build: ., command: {clock}, environment: {{{clock_settings}}}}}
"""


def _found(
    folder: Path,
    files: dict[str, str],
    *,
    web: str = "gunicorn web:app",
    clock: str = "python clock.py",
    web_settings: str = "",
    clock_settings: str = "",
) -> list[str]:
    compose = COMPOSE.format(web=web, clock=clock, web_settings=web_settings, clock_settings=clock_settings)
    for name, text in {**files, "compose.yaml": compose, "Dockerfile": "FROM python:3.13\n"}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [finding.rule for finding in audit(folder).findings if finding.rule.startswith("clock-")]


IN_WEB = ["clock-in-copies"]
ONLY_CLOCK = ["clock-kept-by-one-line"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"jobs.py": CLOCK, "web.py": "import jobs\n", "clock.py": "import jobs\njobs.scheduler.start()\n"},
            ONLY_CLOCK,
            id="another process starts it",
        ),
        pytest.param(
            {"jobs.py": CLOCK, "web.py": "import jobs\njobs.scheduler.start()\n", "clock.py": ""},
            IN_WEB,
            id="the web application starts it",
        ),
        pytest.param(
            {
                "jobs.py": CLOCK,
                "web.py": "from jobs import scheduler as s\ndef create_app():\n    s.start()\n",
                "clock.py": "",
            },
            IN_WEB,
            id="a factory starts it under another name",
        ),
        pytest.param(
            {"jobs.py": CLOCK, "web.py": "import jobs\ndef never():\n    jobs.scheduler.start()\n", "clock.py": ""},
            [],
            id="the function that starts it is never called",
        ),
        pytest.param({"jobs.py": CLOCK, "web.py": "import jobs\n", "clock.py": ""}, [], id="nothing starts it"),
        pytest.param(
            {
                "jobs.py": IN_FUNCTION,
                "web.py": "import jobs\n",
                "clock.py": "from jobs import run_clock\nrun_clock()\n",
            },
            ONLY_CLOCK,
            id="the web application imports the function and does not call it",
        ),
        pytest.param(
            {
                "jobs.py": IN_FUNCTION,
                "web.py": "import threading, jobs\nthreading.Thread(target=jobs.run_clock, daemon=True).start()\n",
                "clock.py": "",
            },
            IN_WEB,
            id="a thread of the web application runs it",
        ),
        pytest.param(
            {
                "jobs.py": IN_FUNCTION,
                "web.py": "from tools import clock\ndef cli():\n    from jobs import run_clock\n    run_clock()\n",
                "tools.py": "def clock(): ...\n",
                "clock.py": "from web import cli\ncli()\n",
            },
            ONLY_CLOCK,
            id="an import in a function that is not called",
        ),
        pytest.param(
            {
                "jobs.py": IN_FUNCTION,
                "web.py": "import jobs\nclass Clock:\n    def __init__(self):\n        jobs.run_clock()\n",
                "clock.py": "from web import Clock\nClock()\n",
            },
            ONLY_CLOCK,
            id="a class of which the web application makes no object",
        ),
        pytest.param(
            {
                "jobs.py": IN_FUNCTION,
                "web.py": "import jobs\n@app.on_event('startup')\ndef begin():\n    jobs.run_clock()\n",
                "clock.py": "",
            },
            IN_WEB,
            id="a framework calls what has a decorator",
        ),
        pytest.param(
            {
                "jobs.py": "import schedule\nschedule.every().day.do(print)\n",
                "web.py": "import jobs\n",
                "clock.py": "import jobs, schedule\nwhile True:\n    schedule.run_pending()\n",
            },
            ONLY_CLOCK,
            id="jobs of schedule act where run_pending is called",
        ),
    ],
)
def test_a_clock_belongs_to_the_process_that_starts_it(
    tmp_path: Path, files: dict[str, str], expected: list[str]
) -> None:
    """Not to each one that imports its file."""
    assert _found(tmp_path, files) == expected


@pytest.mark.parametrize(
    ("condition", "web_settings", "clock_settings"),
    [
        ("os.environ.get('RUN_CLOCK')", "", "RUN_CLOCK: '1'"),
        ("os.getenv('RUN_CLOCK', 'false').lower() == 'true'", "", "RUN_CLOCK: 'true'"),
        ("os.getenv('RUN_CLOCK', 'true').lower() in ('1', 'true')", "RUN_CLOCK: 'no'", ""),
        ("not os.environ.get('NO_CLOCK')", "NO_CLOCK: '1'", ""),
        ("os.environ['ROLE'] == 'clock'", "ROLE: web", "ROLE: clock"),
        ("int(os.getenv('CLOCK', 0)) and True", "", "CLOCK: 1"),
        ("settings.RUN_CLOCK", "", "RUN_CLOCK: 'yes'"),
        ("settings.Settings().clock", "", "APP_CLOCK: 'true'"),
        ("not settings.IS_WEB", "ROLE: web", "ROLE: clock"),
        ("config('RUN_CLOCK', default=False, cast=bool)", "", "RUN_CLOCK: 'true'"),
        ("flag('RUN_CLOCK')", "RUN_CLOCK: 'false'", "RUN_CLOCK: 'true'"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "if {}:\n    jobs.scheduler.start()",
        "def go():\n    if not ({}):\n        return\n    jobs.scheduler.start()\ngo()",
    ],
)
def test_a_setting_that_is_off_keeps_the_clock_from_starting(
    tmp_path: Path, condition: str, web_settings: str, clock_settings: str, form: str
) -> None:
    """As a condition around the start, and as a return before it; also by way of a module of settings."""
    settings = (
        "import os\nRUN_CLOCK = os.getenv('RUN_CLOCK', 'no') == 'yes'\nIS_WEB = os.getenv('ROLE') == 'web'\n"
        "class Settings(BaseSettings):\n    model_config = Config(env_prefix='APP_')\n    clock: bool = False\n"
    )
    program = "import os\nimport jobs\nimport settings\n" + form.format(condition) + "\n"
    files = {"jobs.py": CLOCK, "settings.py": settings, "web.py": program, "clock.py": program}
    found = _found(tmp_path, files, web_settings=web_settings, clock_settings=clock_settings)
    assert found == ONLY_CLOCK


def test_a_setting_that_no_file_gives_changes_nothing(tmp_path: Path) -> None:
    """It may come from elsewhere."""
    program = "import os\nimport jobs\nif os.getenv('RUN_CLOCK') == '1':\n    jobs.scheduler.start()\n"
    assert _found(tmp_path, {"jobs.py": CLOCK, "web.py": program, "clock.py": program}) == IN_WEB


@pytest.mark.parametrize(
    "program",
    [
        "import sys, jobs\nif sys.argv[1] == 'clock':\n    jobs.scheduler.start()\n",
        "import jobs\nargs = parser.parse_args()\nif args.what == 'clock':\n    jobs.scheduler.start()\n",
        "import jobs\n@cli.command()\ndef clock():\n    jobs.scheduler.start()\n@cli.command()\ndef web():\n    ...\n",
        "import jobs\n@cli.command('clock')\ndef a():\n    jobs.scheduler.start()\n@cli.command('web')\ndef b(): ...\n",
    ],
)
def test_an_argument_of_the_command_picks_what_starts(tmp_path: Path, program: str) -> None:
    """One program with a command for each process."""
    files = {"jobs.py": CLOCK, "app.py": program}
    assert _found(tmp_path, files, web="python app.py web", clock="python app.py clock") == ONLY_CLOCK


def test_files_that_only_give_jobs_to_a_clock_are_not_clocks_of_their_own(tmp_path: Path) -> None:
    """One finding, where the scheduler is made."""
    jobs = "from apscheduler.triggers.cron import CronTrigger\nfrom clocks import scheduler\n"
    jobs += "scheduler.add_job(print, CronTrigger(hour=1), max_instances=1, misfire_grace_time=1)\n"
    files = {"clocks.py": CLOCK, "jobs.py": jobs, "web.py": "import jobs\njobs.scheduler.start()\n", "clock.py": ""}
    assert _found(tmp_path, files) == IN_WEB


def test_an_odd_file_is_taken_to_run(tmp_path: Path) -> None:
    """What this interpreter cannot parse, or what calls itself, ends."""
    files = {
        "jobs.py": IN_FUNCTION + "def a():\n    b()\ndef b():\n    a()\nprint 'x'\n",
        "web.py": "import jobs\n",
        "clock.py": "",
    }
    assert _found(tmp_path, files) == IN_WEB


@pytest.mark.parametrize(
    "dispatch",
    [
        "{'web': web, 'clock': clock}[sys.argv[1]]()\n",
        "sub.add_parser('web').set_defaults(func=web)\nsub.add_parser('clock').set_defaults(func=clock)\n",
        "c = sub.add_parser('clock', help='x')\nc.set_defaults(func=clock)\n",
    ],
)
def test_a_table_of_commands_picks_what_starts(tmp_path: Path, dispatch: str) -> None:
    """A function that another word of the command line names does not run."""
    program = f"import jobs, sys\ndef web(): ...\ndef clock():\n    jobs.scheduler.start()\n{dispatch}"
    files = {"jobs.py": CLOCK, "app.py": program}
    assert _found(tmp_path, files, web="python app.py web", clock="python app.py clock") == ONLY_CLOCK


@pytest.mark.parametrize(
    ("settings", "interval", "found"),
    [
        ("EVERY_SECONDS = int(os.getenv('EVERY', '21600'))", "settings.EVERY_SECONDS", IN_WEB),
        ("class Settings(BaseSettings):\n    every: int = 6 * 3600", "settings.every", IN_WEB),
        ("EVERY = 60", "settings.EVERY", []),
        ("every = 86400", "every", []),
    ],
)
def test_an_interval_may_be_in_a_module_of_settings(
    tmp_path: Path, settings: str, interval: str, found: list[str]
) -> None:
    """A name of the module, or one in capitals; a variable is none."""
    loop = f"import time\nfrom app import settings\nwhile True:\n    work()\n    time.sleep({interval})\n"
    assert _found(tmp_path, {"settings.py": settings + "\n", "web.py": loop, "clock.py": ""}) == found


def test_a_script_without_a_suffix_is_python_by_its_first_line(tmp_path: Path) -> None:
    """As the program that is started, and where the clock is."""
    script = "#!/usr/bin/env python3\nfrom jobs import scheduler\nscheduler.start()\n"
    files = {"jobs.py": CLOCK, "web.py": "import jobs\n", "bin/clock": script}
    assert _found(tmp_path, files, clock="bin/clock") == ONLY_CLOCK
    files = {"bin/clock": f"#!/usr/bin/env python3\n{CLOCK}scheduler.start()\n", "jobs.py": ""}
    assert _found(tmp_path, files, clock="./bin/clock") == ONLY_CLOCK


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("if leader.is_leader():\n    jobs.scheduler.start()\n", ["clock-with-own-lock"]),
        ("if socket.gethostname().endswith('-0'):\n    jobs.scheduler.start()\n", ["clock-with-own-lock"]),
        (
            "def go():\n    if not elected:\n        return\n    jobs.scheduler.start()\ngo()\n",
            ["clock-with-own-lock"],
        ),
        ("if show_leaderboard:\n    jobs.scheduler.start()\n", IN_WEB),
        ("if is_leader:\n    pass\njobs.scheduler.start()\n", IN_WEB),
        ("import sys\nif 'runserver' in sys.argv:\n    jobs.scheduler.start()\n", ["clock-without-service"]),
    ],
)
def test_what_one_copy_starts_is_locked(tmp_path: Path, start: str, expected: list[str]) -> None:
    """An election, or the first pod of a StatefulSet; and a command that the deployment does not have."""
    assert _found(tmp_path, {"jobs.py": CLOCK, "web.py": f"import jobs\n{start}", "clock.py": ""}) == expected


def test_a_command_that_ends_runs_no_clock(tmp_path: Path) -> None:
    """A service that only migrates the database is no second one."""
    files = {
        "compose.yaml": "services:\n  web: {build: ., command: gunicorn shop.wsgi}\n"
        "  migrate: {build: ., command: python manage.py migrate}\n",
        "Dockerfile": "FROM x\n",
        "manage.py": "",
        "shop/wsgi.py": "from django.core.wsgi import get_wsgi_application\n",
        "shop/apps.py": "from shop import jobs\n",
        "shop/jobs.py": f"{CLOCK}scheduler.start()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [finding.rule for finding in audit(tmp_path).findings] == ["clock-in-web-process"]


def test_a_default_of_a_parameter_is_an_interval(tmp_path: Path) -> None:
    """What callers give instead is not known."""
    loop = "def run(work, pause=DAY, times=1):\n    while True:\n        work()\n        time.sleep(pause)\nrun(x)\n"
    loop = f"import time\nDAY = 86400\n{loop}"
    assert _found(tmp_path, {"web.py": loop, "clock.py": ""}) == IN_WEB


@pytest.mark.parametrize("own", ["schedule.py", "schedule/__init__.py"])
def test_a_module_of_the_project_is_not_the_library_of_that_name(tmp_path: Path, own: str) -> None:
    """`import schedule` finds it first."""
    program = "import schedule\nschedule.every().day.do(print)\nschedule.run_pending()\n"
    assert _found(tmp_path, {own: "", "web.py": program, "clock.py": ""}) == []


@pytest.mark.parametrize(
    ("main", "rule"),
    [
        ("uvicorn.run('web:app', port=80)", "clock-in-web-process"),
        ("web.run_app(app)", "clock-in-web-process"),
        ("print('x')", "clock-kept-by-one-line"),
    ],
)
def test_a_program_that_runs_a_web_server_is_a_web_process(tmp_path: Path, main: str, rule: str) -> None:
    """By the call in the file that is run."""
    program = f"import jobs\njobs.scheduler.start()\n{main}\n"
    assert _found(tmp_path, {"jobs.py": CLOCK, "web.py": "", "clock.py": program}) == [rule]


@pytest.mark.parametrize(
    ("web", "expected"),
    [
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jobs import Clock\n", []),
        ("from jobs import Clock\ndef show(clock: Clock) -> Clock: ...\nshow()\n", []),
        ("from jobs import Clock\ndef show(clock: Annotated[int, Depends(Clock)]): ...\n", IN_WEB),
        ("from jobs import Clock\ndef show(clock=Clock()): ...\n", IN_WEB),
    ],
)
def test_a_type_runs_nothing(tmp_path: Path, web: str, expected: list[str]) -> None:
    """An import for types, and annotations; what they call does."""
    loop = "        while True:\n            work()\n            time.sleep(7200)\n"
    jobs = f"import time\nclass Clock:\n    def __init__(self):\n{loop}"
    assert _found(tmp_path, {"jobs.py": jobs, "web.py": web, "clock.py": ""}) == expected
