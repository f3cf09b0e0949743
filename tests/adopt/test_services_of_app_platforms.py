"""Platforms with one file for an application, and what Compose takes from files of settings."""

from __future__ import annotations

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.services import read_services

Told = tuple[str, str, int, int | None, int, str]


def _read(files: dict[str, str]) -> list[Told]:
    """Name, command, least and most copies, line and what states it."""
    reading = read_services(Files.of(files))
    assert reading.notes == []
    return [
        (each.name, " ".join(each.command or ()), each.least, each.most, each.place.line, each.copies)
        for each in reading.services
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        pytest.param(
            "railway.json",
            '{"deploy": {"startCommand": "python main.py",\n "numReplicas": 3}}\n',
            [("default", "python main.py", 3, 3, 2, "numReplicas: 3")],
            id="Railway",
        ),
        pytest.param(
            "config/deploy.yml",
            "service: shop\nimage: me/shop\nservers:\n  web:\n    - 10.0.0.1\n    - 10.0.0.2\n  jobs:\n"
            "    hosts: [10.0.0.3]\n    cmd: bin/jobs\n",
            [("web", "", 2, 2, 4, "2 hosts"), ("jobs", "bin/jobs", 1, 1, 7, "")],
            id="Kamal",
        ),
        pytest.param(
            "heroku.yml",
            "run:\n  web: gunicorn a:b\n  release: x\n  clock:\n    command: [python clock.py]\n",
            [("web", "gunicorn a:b", 1, 1, 2, ""), ("clock", "python clock.py", 1, 1, 5, "")],
            id="heroku.yml",
        ),
        pytest.param(
            "app.yaml",
            "runtime: python312\nentrypoint: gunicorn a:b\nautomatic_scaling:\n  max_instances: 5\n",
            [("default", "gunicorn a:b", 1, 5, 4, "automatic_scaling.max_instances: 5")],
            id="App Engine",
        ),
        pytest.param(
            "app.yaml",
            "runtime: python312\nentrypoint: gunicorn a:b\n",
            [("default", "gunicorn a:b", 1, None, 1, "automatic scaling")],
            id="App Engine, which scales without limit",
        ),
        pytest.param("app.yaml", "title: shop\nservices: [1, x]\n", [], id="another tool's file"),
        pytest.param("config/deploy.yml", "servers: 3\n", [], id="of another shape"),
    ],
)
def test_a_platforms_file_states_command_and_copies(path: str, text: str, expected: list[Told]) -> None:
    """A job that the platform starts on a schedule is no service."""
    assert _read({path: text}) == expected


def test_compose_takes_numbers_commands_and_settings_from_env_files() -> None:
    """`.env` fills in variables, `env_file` gives settings, `environment` wins."""
    files = {
        ".env": "COPIES=4\nCMD='celery -A a beat'\n",
        "web.env": "A=1\nB=2\n",
        "compose.yaml": "services:\n  x:\n    image: x\n    command: ${CMD}\n    scale: ${COPIES:-1}\n"
        "    env_file: [web.env, none.env]\n    environment: {B: '${COPIES}'}\n",
    }
    [service] = read_services(Files.of(files)).services
    assert (service.command, service.most) == (("celery", "-A", "a", "beat"), 4)
    assert service.environment == (("A", "1"), ("B", "4"))


@pytest.mark.parametrize(
    ("text", "is_compose"),
    [
        ("services:\n  web: &web\n    build: .\n", True),
        ("version: '3'\n\nservices:\n  # the web\n\n  web:\n    ports: [1]\n    image: x\n", True),
        ("services:\n  - type: web\n    image: x\n", False),
        ("services:\n  App\\Mail:\n    arguments: [1]\n  x:\n    class: y\n", False),
    ],
)
def test_a_compose_file_may_have_any_name(text: str, is_compose: bool) -> None:  # noqa: FBT001  # a column of the table
    """`production.yml`; the services of Symfony and of CI are other things."""
    assert bool(_read({"production.yml": text})) is is_compose
