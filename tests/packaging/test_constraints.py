"""What is installed is pinned, with the hashes of its files: in the environment, and in the images of the e2e lane."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = {
    "constraints.txt": "requirements.txt",
    "tests/e2e/locks/emulator.txt": "tests/e2e/requirements.txt",
    "tests/e2e/locks/digest.txt": "tests/e2e/digest-requirements.txt",
    "tests/e2e/locks/beats.txt": "tests/e2e/beats/requirements.txt",
    "tests/terraform/locks/terraform.txt": "tests/terraform/requirements.txt",
}
PIN = re.compile(r"^([\w.-]+)(?:\[[\w, -]+\])?==([\w.]+)", re.MULTILINE)


def _pins(file: str) -> set[tuple[str, str]]:
    return {(_normal(name), version) for name, version in PIN.findall((ROOT / file).read_text())}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(("lock", "requirements"), LOCKS.items())
def test_every_pin_of_the_requirements_is_there(lock: str, requirements: str) -> None:
    """Else `make constraints` was forgotten."""
    assert _pins(requirements)
    assert _pins(requirements) <= _pins(lock)


def test_every_dependency_of_the_project_is_there() -> None:
    """The project itself is installed without its dependencies."""
    needed = {_normal(re.split(r"[^\w.-]", line)[0]) for line in requires("cronce") or ()}
    assert needed
    assert needed <= {name for name, _ in _pins("constraints.txt")}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_has_its_hashes(lock: str) -> None:
    """Pip then installs no other file, wherever it comes from."""
    entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())
    assert len(entries) > 10
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)] == []
