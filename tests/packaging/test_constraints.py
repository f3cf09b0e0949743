"""constraints.txt pins everything that an environment of the project gets, with the hashes of its files."""

from __future__ import annotations

import re
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)(?:\[[\w, -]+\])?==([\w.]+)", re.MULTILINE)


def _pins(file: str) -> set[tuple[str, str]]:
    return {(_normal(name), version) for name, version in PIN.findall((ROOT / file).read_text())}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_pin_of_the_requirements_is_there() -> None:
    """Else `make constraints` was forgotten."""
    assert len(_pins("requirements.txt")) > 10
    assert _pins("requirements.txt") <= _pins("constraints.txt")


def test_every_dependency_of_the_project_is_there() -> None:
    """The project itself is installed without its dependencies."""
    needed = {_normal(re.split(r"[^\w.-]", line)[0]) for line in requires("cronce") or ()}
    assert needed
    assert needed <= {name for name, _ in _pins("constraints.txt")}


def test_every_package_has_its_hashes() -> None:
    """Pip then installs no other file, wherever it comes from."""
    entries = re.split(r"\n(?=\S)", (ROOT / "constraints.txt").read_text().strip())
    assert len(entries) > 50
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry)] == []
