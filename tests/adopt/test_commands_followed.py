"""What a command really starts: through shells, wrappers, scripts, package.json, supervisord and Procfiles."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

import pytest

from cronce.adopt.audit.files import Files, below, located
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import option, unwrapped
from cronce.adopt.audit.services.starting import started
from cronce.adopt.audit.services.web_servers import workers

HERE = Place(path=PurePosixPath("compose.yaml"), line=1)
ROOT = PurePosixPath()


@pytest.mark.parametrize(
    ("command", "starts"),
    [
        ("celery -A app beat", ["celery -A app beat"]),
        ("exec celery beat", ["celery beat"]),
        ("env TZ=UTC A=b celery beat", ["celery beat"]),
        ("TZ=UTC celery beat", ["celery beat"]),
        ("/usr/bin/tini -g -- celery beat", ["celery beat"]),
        ("dumb-init celery beat", ["celery beat"]),
        ("bundle exec clockwork clock.rb", ["clockwork clock.rb"]),
        ("poetry run python -m celery beat", ["celery beat"]),
        ("uv run --no-dev gunicorn app:app", ["gunicorn app:app"]),
        ("gosu app celery beat", ["celery beat"]),
        ("su-exec app:app celery beat", ["celery beat"]),
        ("./wait-for-it.sh db:5432 -- celery beat", ["celery beat"]),
        ("./wait-for-it.sh db:5432", ["./wait-for-it.sh db:5432"]),
        ("python -u app.py", ["python app.py"]),
        ("python -m app.clock", ["python -m app.clock"]),
        ("cronce pin --job clock -- celery beat", ["cronce pin --job clock -- celery beat"]),
    ],
)
def test_what_is_around_a_program_is_removed(command: str, starts: list[str]) -> None:
    """Shells, init programs, tool runners and waiters; but never the guard."""
    assert [" ".join(argv) for argv in unwrapped(tuple(command.split()))] == starts


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("python manage.py migrate && exec gunicorn app:app", ["python manage.py migrate", "gunicorn app:app"]),
        ("cd /app; celery beat & python web.py > log 2>&1", ["celery beat", "python web.py"]),
        ('if [ -n "$X" ]; then celery beat; fi', ["celery beat"]),
        ("while true; do python tick.py; sleep 60; done", ["python tick.py"]),
        ("set -e\n# comment\ncelery \\\n  beat", ["celery beat"]),
        ("sh -c 'bash -lc \"celery beat\"'", ["celery beat"]),
        ("echo 'open", []),
    ],
)
def test_each_command_of_a_shell_text_is_found(text: str, starts: list[str]) -> None:
    """Operators, keywords, redirections, comments and continued lines separate them."""
    found = [" ".join(word for word in argv if word not in ("2", "1")) for argv in unwrapped(("sh", "-c", text))]
    assert found == starts


def test_a_shell_inside_a_shell_without_end_ends() -> None:
    """The depth is limited."""
    assert unwrapped(("env",) * 200_000)


def _starts(command: str, files: dict[str, str]) -> list[tuple[str, str, int]]:
    found = started(tuple(command.split()), HERE, ROOT, Files.of(files))
    return [(" ".join(start.argv), str(start.place.path), start.place.line) for start in found]


def test_an_entrypoint_script_is_followed_into_its_arguments() -> None:
    """`exec "$@"` is the CMD of the image."""
    files = {"docker/entrypoint.sh": '#!/bin/sh\nset -e\npython manage.py migrate\nexec "$@"\n'}
    assert _starts("/entrypoint.sh gunicorn app:app", files) == [
        ("python manage.py migrate", "docker/entrypoint.sh", 3),
        ("gunicorn app:app", "compose.yaml", 1),
    ]


def test_a_script_without_an_ending_is_known_by_its_first_line() -> None:
    """`bin/start` is a script if it says so."""
    assert _starts("/app/bin/start", {"bin/start": "#!/usr/bin/env bash\nexec celery beat\n"}) == [
        ("celery beat", "bin/start", 2)
    ]


def test_a_script_that_calls_itself_ends() -> None:
    """And leaves the call as it is."""
    assert _starts("./a.sh", {"a.sh": "#!/bin/sh\n./a.sh\n./a.sh\n"})


_DISPATCH = """\
#!/bin/bash
beat() {
  echo "starting $(date)"
  exec celery -A app beat
}

web() {
  exec gunicorn -w 2 app:app
}

case "$1" in
  beat)
    shift
    beat
    ;;
  web|server) web ;;
  *)
    exec "$@"
    ;;
esac
"""


@pytest.mark.parametrize(
    ("arguments", "starts"),
    [
        ("beat", [("celery -A app beat", 4)]),
        ("server", [("gunicorn -w 2 app:app", 8)]),
        ("flask run", [("flask run", 1)]),
    ],
)
def test_a_script_that_dispatches_starts_the_named_branch(arguments: str, starts: list[tuple[str, int]]) -> None:
    """Functions are expanded where they are called, and only there."""
    found = _starts(f"/entry.sh {arguments}", {"entry.sh": _DISPATCH})
    assert [(command, line) for command, _, line in found if command not in ("date", "shift")] == starts


def test_s6_starts_each_of_its_services() -> None:
    """`/init` is its program."""
    files = {
        "rootfs/etc/s6-overlay/s6-rc.d/beat/run": "#!/command/with-contenv bash\nexec s6-setuidgid app celery beat\n",
        "rootfs/etc/s6-overlay/s6-rc.d/web/run": "#!/command/with-contenv bash\nexec gunicorn app:app\n",
    }
    assert [command for command, _, _ in _starts("/init", files)] == ["celery beat", "gunicorn app:app"]


def test_several_scripts_of_package_json_are_each_followed() -> None:
    """`run-p` and its like."""
    files = {"package.json": '{"scripts": {"start": "run-p web clock", "web": "node a.js", "clock": "node b.js"}}'}
    assert [command for command, _, _ in _starts("npm start", files)] == ["node a.js", "node b.js"]


def test_the_programs_of_supervisord_are_followed_with_their_number() -> None:
    """`numprocs` multiplies the copies."""
    files = {
        "deploy/supervisord.conf": "[supervisord]\nnodaemon=true\n[program:web]\nnumprocs=3\ncommand=gunicorn app:app\n"
        "[program:beat]\ncommand=/venv/bin/celery -A app beat\n"
    }
    found = started(("supervisord", "-c", "/etc/supervisord.conf"), HERE, ROOT, Files.of(files))
    assert [(start.argv[0], start.copies, start.place.line) for start in found] == [
        ("gunicorn", 3, 5),
        ("/venv/bin/celery", 1, 7),
    ]


@pytest.mark.parametrize(
    "text", ["no section", "[program:x", "[program:x]\ncommand=\n", "[program:x]\ncommand='open\n"]
)
def test_a_broken_supervisord_file_leaves_the_command_as_it_is_or_empty(text: str) -> None:
    """Nothing is raised."""
    assert _starts("supervisord -c s.conf", {"s.conf": text}) in ([], [("supervisord -c s.conf", "compose.yaml", 1)])


def test_honcho_starts_what_the_procfile_says() -> None:
    """All process types, or those that are named."""
    files = {"Procfile": "web: gunicorn app:app\n# no\nclock: python clock.py\n"}
    assert _starts("honcho start", files) == [("gunicorn app:app", "Procfile", 1), ("python clock.py", "Procfile", 3)]
    assert _starts("honcho start clock", files) == [("python clock.py", "Procfile", 3)]


def test_npm_start_is_the_script_of_package_json() -> None:
    """With the line of the script."""
    files = {"package.json": '{\n "scripts": {\n  "prestart": "x",\n  "start": "node server.js"\n }\n}\n'}
    assert _starts("npm start", files) == [("node server.js", "package.json", 4)]
    assert _starts("yarn run start", files) == [("node server.js", "package.json", 4)]


WORKSPACES = {
    "package.json": '{"scripts": {"start": "node root.js"}}',
    "apps/api/package.json": '{"name": "@acme/api", "scripts": {"start": "node dist/main.js"}}',
    "apps/web/package.json": '{"name": "web", "scripts": {"build": "next build"}}',
}


@pytest.mark.parametrize(
    "command",
    [
        "yarn workspace @acme/api start",
        "yarn workspace @acme/api run start",
        "yarn --cwd apps/api start",
        "npm run start -w @acme/api",
        "npm run start --workspace=apps/api",
        "npm --prefix apps/api start",
        "pnpm --filter @acme/api start",
        "pnpm --filter=@acme/api run start",
        "pnpm -C /srv/apps/api start",
        "turbo run start --filter=@acme/api",
        "npx turbo run start",
        "sh -c 'cd apps/api && npm start'",
    ],
)
def test_a_script_of_a_workspace_is_followed_into_its_folder(command: str) -> None:
    """Each tool names the workspace in its own way."""
    found = started(tuple(shlex.split(command)), HERE, ROOT, Files.of(WORKSPACES))
    wanted = [each for each in found if each.argv == ("node", "dist/main.js")]
    assert [str(each.folder) for each in wanted] == ["apps/api"]
    assert len(found) == (2 if command == "npx turbo run start" else 1)


def test_each_program_of_an_ecosystem_file_is_followed_with_its_number_and_settings() -> None:
    """One per CPU is more than one."""
    text = """module.exports = { apps: [
  { name: 'api', script: 'dist/api.js', instances: process.env.WEB || 3, exec_mode: 'cluster' },
  { name: 'jobs', script: './dist/jobs.js', cwd: 'apps/api', args: '--all', env: { RUN_JOBS: 'true' } },
  { name: 'all', script: 'npm', args: 'start', instances: 'max' },
] }"""
    files = Files.of({"ecosystem.config.js": text, **WORKSPACES})

    def programs(command: str) -> list[tuple[str, int, str, dict[str, str]]]:
        found = started(tuple(command.split()), HERE, ROOT, files)
        return [(" ".join(each.argv), each.copies, str(each.folder), dict(each.environment)) for each in found]

    assert programs("pm2-runtime start ecosystem.config.js") == [
        ("node dist/api.js", 3, "None", {}),
        ("node ./dist/jobs.js --all", 1, "apps/api", {"RUN_JOBS": "true"}),
        ("node root.js", 2, "None", {}),
    ]
    assert [each[0] for each in programs("pm2-runtime ecosystem.config.js --only api")] == ["node dist/api.js"]


@pytest.mark.parametrize("text", ["{", "[]", '{"scripts": []}', '{"scripts": {"start": 1}}', "[" * 100_000])
def test_a_broken_package_json_leaves_the_command_as_it_is(text: str) -> None:
    """Wrong types and depth do no harm."""
    assert _starts("npm start", {"package.json": text}) == [("npm start", "compose.yaml", 1)]


def test_an_option_is_read_in_each_of_its_forms() -> None:
    """The last one wins, as in the programs."""
    for words in ("-w 4", "-w4", "--workers 4", "--workers=4", "--workers=2 --workers 4"):
        assert option(("gunicorn", *words.split()), "-w", "--workers") == "4"
    assert option(("gunicorn", "app:app"), "-w", "--workers") is None


@pytest.mark.parametrize(
    ("command", "environment", "files", "count"),
    [
        ("gunicorn app:app", {}, {}, 1),
        ("gunicorn app:app", {"WEB_CONCURRENCY": "3"}, {}, 3),
        ("gunicorn -w 4 app:app", {"WEB_CONCURRENCY": "3"}, {}, 4),
        ("gunicorn -w 4 --preload app:app", {}, {}, 1),
        ("gunicorn app:app", {}, {"gunicorn.conf.py": "workers = 5\n"}, 5),
        ("gunicorn app:app", {}, {"gunicorn.conf.py": "workers = 5\npreload_app = True\n"}, 1),
        ("gunicorn app:app", {}, {"gunicorn.conf.py": "workers = multiprocessing.cpu_count() * 2 + 1\n"}, 2),
        ("gunicorn app:app", {}, {"gunicorn.conf.py": 'workers = int(os.environ.get("W", "3"))\n'}, 3),
        ("gunicorn -w ${WORKERS:-6} app:app", {}, {}, 6),
        ("gunicorn -w $WORKERS app:app", {}, {}, 2),
        ("uvicorn app:app --workers 2", {}, {}, 2),
        ("uvicorn app:app", {}, {}, 1),
        ("puma -C config/puma.rb", {}, {"config/puma.rb": 'workers ENV.fetch("WEB_CONCURRENCY") { 2 }\n'}, 2),
        ("rails server", {}, {"config/puma.rb": "workers 3\npreload_app!\n"}, 1),
        ("puma -w 3", {}, {}, 3),
        ("unicorn -c config/unicorn.rb", {}, {"config/unicorn.rb": "worker_processes 4\n"}, 4),
        ("unicorn -c config/unicorn.rb", {}, {"config/unicorn.rb": "worker_processes 4\npreload_app true\n"}, 1),
        ("uwsgi --processes 4 --module app", {}, {}, 1),
        ("uwsgi --processes 4 --lazy-apps --module app", {}, {}, 4),
        ("pm2-runtime server.js -i max", {}, {}, 2),
        ("gunicorn app:app", {"GUNICORN_CMD_ARGS": "--workers=4 --timeout 9"}, {}, 4),
        ("gunicorn -w 4 app:app", {"GUNICORN_CMD_ARGS": "--preload"}, {}, 1),
        ("celery worker", {"WEB_CONCURRENCY": "3"}, {}, 1),
    ],
)
def test_workers_that_load_the_code_are_counted(
    command: str, environment: dict[str, str], files: dict[str, str], count: int
) -> None:
    """A server that loads the code before it forks counts as one."""
    assert workers(tuple(command.split()), environment, ROOT, Files.of(files))[0] == count


def test_a_path_never_leads_out_of_the_folder() -> None:
    """Paths of containers are matched by their ends, and only inside."""
    files = Files.of({"app/run.py": "", "docker/start.sh": "", "a/x.sh": "", "b/x.sh": ""})
    assert below(PurePosixPath("app"), "../run.py") == PurePosixPath("run.py")
    assert below(PurePosixPath("app"), "../../etc/passwd") is None
    assert below(ROOT, "/etc/passwd") is None
    assert located("/srv/app/run.py", ROOT, files) == PurePosixPath("app/run.py")
    assert located("/start.sh", ROOT, files) == PurePosixPath("docker/start.sh")
    assert located("/x.sh", ROOT, files) is None
    assert located("../app/run.py", ROOT, files) is None


ROLES = """#!/bin/sh
role=${CONTAINER_ROLE:-web}
if [ "$role" = "web" ]; then
  if [ -n "$DEBUG" ]; then
    debugger
  fi
  gunicorn app:app
elif [ "$role" = worker ]
then
  celery worker
else
  celery beat
fi
case "$CONTAINER_ROLE" in
  web|"") nginx ;;
  *) sidecar ;;
esac
if unknown; then first; else second; fi
"""


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CONTAINER_ROLE": "web", "DEBUG": ""}, ["gunicorn app:app", "nginx", "unknown", "first", "second"]),
        ({"CONTAINER_ROLE": "worker"}, ["celery worker", "sidecar", "unknown", "first", "second"]),
        ({"CONTAINER_ROLE": "beat"}, ["celery beat", "sidecar", "unknown", "first", "second"]),
        ({}, ["debugger", "gunicorn app:app", "nginx", "sidecar", "unknown", "first", "second"]),
    ],
)
def test_a_setting_picks_what_a_script_starts(environment: dict[str, str], expected: list[str]) -> None:
    """What is not known may be either."""
    files = Files.of({"start.sh": ROLES})
    assert [" ".join(each.argv) for each in started(("./start.sh",), HERE, ROOT, files, environment)] == expected


@pytest.mark.parametrize(
    ("command", "files", "processes", "stated"),
    [
        (
            "python -m app",
            {"app/__main__.py": "uvicorn.run('a:b', port=int(x), workers=4)"},
            4,
            "workers in app/__main__.py: 4",
        ),
        ("python main.py", {"main.py": "uvicorn.run(app)\nworkers = 3"}, 1, ""),
        ("uwsgi --ini uwsgi.ini", {"uwsgi.ini": "[uwsgi]\nlazy-apps = true\nprocesses = 3\n"}, 3, "--processes 3"),
        ("uwsgi uwsgi.ini", {"uwsgi.ini": "[uwsgi]\nprocesses = 3\n"}, 1, ""),
    ],
)
def test_workers_are_counted_in_the_program_and_in_ini_files(
    command: str, files: dict[str, str], processes: int, stated: str
) -> None:
    """`uvicorn.run` in the file that is run, and the options of uWSGI."""
    assert workers(tuple(command.split()), {}, ROOT, Files.of(files)) == (processes, stated)


NAMED = {
    "Makefile": "all: web\n\nweb: build\n\t@gunicorn app:app\n\n# x\nclock:\n\t-celery \\\n\t\tbeat\n",
    "pyproject.toml": '[tool.pdm.scripts]\nserve = "gunicorn a:b"\n[tool.poe.tasks]\nclock = {cmd = "celery beat"}\n',
    "Pipfile": '[scripts]\njob = "python job.py"\n',
    "composer.json": '{"scripts": {\n"work": ["@php x", "php artisan queue:work"]}}',
}


@pytest.mark.parametrize(
    ("command", "starts"),
    [
        ("make web", [("gunicorn app:app", "Makefile", 4)]),
        ("pdm run serve", [("gunicorn a:b", "pyproject.toml", 2)]),
        ("poetry run poe clock", [("celery beat", "pyproject.toml", 4)]),
        ("pipenv run job", [("python job.py", "Pipfile", 2)]),
        ("composer run work", [("php artisan queue:work", "composer.json", 2)]),
        ("make none", [("make none", "compose.yaml", 1)]),
    ],
)
def test_a_command_with_a_name_is_followed(command: str, starts: list[tuple[str, str, int]]) -> None:
    """Targets of a Makefile, and scripts of the files of a package."""
    assert _starts(command, NAMED) == starts
