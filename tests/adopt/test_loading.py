"""Which files of a project a command loads."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.loading import loaded_by
from cronce.adopt.audit.loading.python_reach import PythonReach
from cronce.adopt.audit.loading.python_values import Process
from cronce.adopt.audit.loading.ruby import runs_in_ruby

ROOT = PurePosixPath()


def _loaded(command: str, files: dict[str, str]) -> list[str] | None:
    found = loaded_by(tuple(command.split()), ROOT, Files.of(files))
    return None if found is None else sorted(str(path) for path in found.by)


PYTHON = {
    "app/__init__.py": "",
    "app/main.py": (
        "from app import jobs, nothing\nfrom . import views\nfrom .deep.er import (\n    one,  # two\n    three,\n)\n"
    ),
    "app/jobs.py": "import app.mail as mail\n",
    "app/mail.py": "import smtplib",
    "app/views.py": 'import_module("app.lazy")\n',
    "app/lazy.py": "",
    "app/deep/er/__init__.py": "",
    "app/deep/er/three.py": "from ....... import x\n",
    "app/other.py": "",
    "clock.py": "from app.mail import x",
}
_ALL = [
    f"app/{name}.py"
    for name in ("__init__", "deep/er/__init__", "deep/er/three", "jobs", "lazy", "mail", "main", "views")
]


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("gunicorn -w 4 app.main:app", _ALL),
        ("uvicorn --app-dir . app.main:create_app --factory", _ALL),
        ("python -m app.main", _ALL),
        ("celery -A app.main worker -B", _ALL),
        ("flask --app app.main run", _ALL),
        ("fastapi run app/main.py", _ALL),
        ("python /srv/clock.py", ["app/__init__.py", "app/mail.py", "clock.py"]),
        ("python -m http.server", None),
        ("celery beat", None),
        ("python -c pass", None),
        ("nginx -g daemon", None),
    ],
)
def test_python_loads_what_is_imported_from_the_module_of_the_command(command: str, files: list[str] | None) -> None:
    """Relative, parenthesised and named in strings; nothing else."""
    assert _loaded(command, PYTHON) == files


def test_a_command_of_the_project_is_found_in_pyproject() -> None:
    """Also below `src`."""
    files = {"pyproject.toml": '[project.scripts]\nshop-clock = "shop.clock:main"\n', "src/shop/clock.py": ""}
    assert _loaded("shop-clock --now", files) == ["src/shop/clock.py"]
    assert _loaded("shop-clock", {"pyproject.toml": "[[["}) is None


DJANGO = {
    "manage.py": "",
    "site/settings.py": "",
    "shop/apps.py": "def ready(self):\n    from shop import scheduler\n",
    "shop/scheduler.py": "",
    "shop/management/commands/runclock.py": "from shop import ticks\n",
    "shop/ticks.py": "",
}


def test_django_loads_apps_and_the_one_command_that_is_named() -> None:
    """`ready()` runs in every process, a command only in its own."""
    assert _loaded("python manage.py runserver", DJANGO) == ["manage.py", "shop/apps.py", "shop/scheduler.py"]
    assert "shop/ticks.py" in (_loaded("python manage.py runclock", DJANGO) or [])


def test_what_is_under_main_runs_only_in_the_file_that_the_command_names() -> None:
    """The line decides, and the entry."""
    files = Files.of({"a.py": "import b\n", "b.py": "x = 1\n\nif __name__ == '__main__':\n    start()\n"})
    path = PurePosixPath("b.py")
    imported, run = loaded_by(("python", "a.py"), ROOT, files), loaded_by(("python", "b.py"), ROOT, files)
    assert imported is not None
    assert run is not None
    process = Process(argv=("python",), names=frozenset(), environment={}, given=frozenset())
    assert not PythonReach(imported, files, process).runs(path, 4)
    assert PythonReach(imported, files, process).runs(path, 1)
    assert PythonReach(run, files, process).runs(path, 4)
    assert imported.trace(path) == "a.py imports b.py"


NODE = {
    "package.json": '{"main": "lib/index.js"}',
    "src/main.ts": "import { a } from './jobs';\nimport x from '@/mail'\nexport * from \"./util.js\"\n",
    "src/jobs/index.ts": "const y = require('../late')\nawait import(`./lazy`)\n",
    "src/jobs/lazy.ts": "",
    "src/late.js": "",
    "src/mail.ts": "",
    "src/util.ts": "require('..'); require('./../../..'); require('.')",
    "src/unused.ts": "",
    "src/index.ts": "",
}


def test_node_loads_what_is_required_from_the_file_of_the_command() -> None:
    """`dist/main.js` is built from `src/main.ts`."""
    loaded = [
        f"src/{n}" for n in ("index.ts", "jobs/index.ts", "jobs/lazy.ts", "late.js", "mail.ts", "main.ts", "util.ts")
    ]
    assert _loaded("node --enable-source-maps -r dotenv/config dist/main.js", NODE) == loaded
    assert _loaded("tsx watch src/main.ts", NODE) == loaded
    assert _loaded("node .", NODE) == ["src/index.ts"]
    assert _loaded("node missing.js", NODE) is None
    assert "src/unused.ts" in (_loaded("nest start", NODE) or [])


def test_node_follows_the_name_of_a_package_of_the_workspace() -> None:
    """Its own name, and not that of its author."""
    files = {
        "main.js": "require('@shop/jobs'); require('Ann/late')",
        "packages/jobs/package.json": '{"author": {"name": "Ann"}, "name": "@shop/jobs", "main": "lib/start.js"}',
        "packages/jobs/lib/start.js": "",
        "packages/jobs/src/late.js": "",
    }
    assert _loaded("node main.js", files) == ["main.js", "packages/jobs/lib/start.js"]


RAILS = {
    "config/application.rb": "",
    "config/initializers/scheduler.rb": "",
    "config/schedule.rb": "",
    "app/models/a.rb": "",
    "lib/tasks/x.rb": "",
    "lib/tasks/clock.rake": "namespace :shop do\n  task clock: :environment do\n  end\nend\n",
    "spec/a.rb": "",
    "clock.rb": "require_relative 'tick'\n",
    "tick.rb": "",
}


def test_every_process_of_rails_loads_the_application_and_a_script_does_not() -> None:
    """Tasks and the schedule of whenever are not loaded."""
    application = ["app/models/a.rb", "config/application.rb", "config/initializers/scheduler.rb"]
    assert _loaded("rails server -b 0.0.0.0", RAILS) == application
    assert _loaded("sidekiq -C config/sidekiq.yml", RAILS) == application
    assert _loaded("ruby clock.rb", RAILS) == ["clock.rb", "tick.rb"]
    assert _loaded("rake shop:clock", RAILS) == [*application, "lib/tasks/clock.rake"]
    assert _loaded("rails shop:other", RAILS) == application


def test_a_program_of_go_is_built_from_its_package_and_what_that_imports() -> None:
    """Two programs of one module are told apart."""
    files = {
        "go.mod": "module example.com/shop\n",
        "cmd/web/main.go": 'package main\nimport "example.com/shop/internal/jobs"\n',
        "cmd/mail/main.go": "package main\n",
        "internal/jobs/jobs.go": "package jobs\n",
    }
    assert _loaded("/app/web --port 80", files) == ["cmd/web/main.go", "internal/jobs/jobs.go"]
    assert _loaded("go run ./cmd/mail", files) == ["cmd/mail/main.go"]
    assert _loaded("/app/server", files) is None


def test_java_and_dotnet_load_their_project() -> None:
    """With the projects that it refers to."""
    files = {
        "src/main/java/A.java": "",
        "src/test/java/T.java": "",
        "Web/Web.csproj": '<ProjectReference Include="..\\Core\\Core.csproj" />',
        "Web/P.cs": "",
        "Core/Core.csproj": "",
        "Core/C.cs": "",
        "Tool/T.cs": "",
    }
    assert _loaded("java -Xmx1g -jar /app.jar", files) == ["src/main/java/A.java"]
    assert _loaded("dotnet Web.dll", files) == ["Core/C.cs", "Web/P.cs"]


def test_files_that_import_each_other_end() -> None:
    """Each is read once."""
    assert _loaded("python a.py", {"a.py": "import b", "b.py": "import a"}) == ["a.py", "b.py"]


PHP = {
    "artisan": "#!/usr/bin/env php",
    "app/Console/Commands/Sync.php": "<?php\nuse App\\Services\\Feed;\nclass Sync { $signature = 'feed:sync'; }",
    "app/Console/Commands/Other.php": "<?php\n#[AsCommand(name: 'feed:other')]\nclass Other {}",
    "app/Services/Feed.php": "<?php require __DIR__ . '/helpers.php';",
    "app/Services/helpers.php": "<?php",
    "app/Models/Feed.php": "<?php",
    "loop.php": "<?php require_once 'app/Services/Feed.php';",
}


def test_php_loads_the_script_or_the_class_of_the_console_command() -> None:
    """And the classes that it uses, by their names; a web server loads what each request needs, and no clock."""
    feed = ["app/Services/Feed.php", "app/Services/helpers.php"]
    assert _loaded("php artisan feed:sync --all", PHP) == ["app/Console/Commands/Sync.php", *feed]
    assert _loaded("php bin/console feed:other", PHP) == ["app/Console/Commands/Other.php"]
    assert _loaded("php -d memory_limit=1G loop.php", PHP) == [*feed, "loop.php"]
    assert _loaded("php artisan serve", PHP) == _loaded("php-fpm", PHP) == []
    assert _loaded("php artisan unknown", PHP) is None
    assert _loaded("php", PHP) is None


@pytest.mark.parametrize(
    ("text", "runs_in"),
    [
        ("return unless Sidekiq.server?", {"sidekiq"}),
        ("if defined?(Rails::Server)", {"rails server", "puma"}),
        ("scheduler = x", {"sidekiq", "rails server", "puma", "ruby clock.rb"}),
    ],
)
def test_code_of_ruby_may_be_for_one_program(text: str, runs_in: set[str]) -> None:
    """The server of Sidekiq, or a web server."""
    commands = ("sidekiq", "rails server", "puma", "ruby clock.rb")
    assert {command for command in commands if runs_in_ruby(text, tuple(command.split()))} == runs_in
