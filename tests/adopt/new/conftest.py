"""Projects as `cronce new` writes them, and their own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.adopt.new.project import TEST_COMMANDS, DeployedWith, Language, NewProject, files_of, new_project
from cronce.adopt.new.writing import write_project

if TYPE_CHECKING:
    from collections.abc import Callable

CRONCE = Path(sys.executable).with_name("cronce")
HOSTILE = """it's "quoted" \\ $HOME `id` $(id) #{1} #$0 #@a ${var.name} %{if} {{stack}} {{test}} <b>&amp; ' + 1/0 + '"""
"""The name of a job that means something in every language."""

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def project(  # the arguments of `new_project`, each with a usual value
    *,
    folder: str = "digest",
    job: str | None = None,
    schedule: str = "0 6 * * *",
    timezone: str = "UTC",
    deployed_with: DeployedWith = DeployedWith.CDK,
    language: Language = Language.PYTHON,
) -> NewProject:
    """What is written for these choices."""
    return new_project(
        folder=folder,
        job=job,
        schedule=schedule,
        timezone=timezone,
        deployed_with=deployed_with,
        language=language,
        now=NOW,
    )


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Writes a project; its folder."""

    def write(chosen: NewProject, name: str = "digest") -> Path:
        write_project(tmp_path / name, files_of(chosen))
        return tmp_path / name

    return write


def own_test(folder: Path, language: Language, *paths: Path) -> subprocess.CompletedProcess[str]:
    """What the project's own test says, by its documented command, with these folders of programs first in PATH."""
    path = os.pathsep.join([*map(str, paths), str(CRONCE.parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "CRONCE_JOB": "another", "CRONCE_LEDGER": "sqlite:///nowhere/runs.db"}
    return subprocess.run(
        TEST_COMMANDS[language], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
