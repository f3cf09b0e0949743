"""`make` on a machine that lacks something says what, in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import pathlib, zipfile

def build_editable(folder, settings=None, metadata=None):
    name = "cronce-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.writestr("cronce-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: cronce\\nVersion: 1\\n")
        wheel.writestr("cronce-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("cronce-1.dist-info/RECORD", "")
    return name
"""
REFUSES_VERSION = "#!/bin/sh\nexit 1\n"
REFUSES_ENSUREPIP = f"""#!/bin/sh
case "$2" in *ensurepip*) exit 1;; esac
exec {sys.executable} "$@"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the Makefile and no environment yet."""
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "constraints.txt").touch()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "backend.py").write_text(BACKEND)
    return tmp_path


def _make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", "-C", str(checkout), *arguments], check=False, capture_output=True, text=True)


def test_make_alone_lists_every_target_with_its_help(checkout: Path) -> None:
    """Also the ones that were added later."""
    [phony] = re.findall(r"^\.PHONY: (.*)$", MAKEFILE.read_text(), re.MULTILINE)
    listed = re.findall(r"^make (\S+) +\S", _make(checkout).stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


@pytest.mark.parametrize(
    ("script", "said"),
    [(REFUSES_VERSION, "cronce needs Python 3.11 or newer"), (REFUSES_ENSUREPIP, "apt-get install python3-venv")],
    ids=["old", "no-ensurepip"],
)
def test_an_unfit_python_is_named_with_what_to_do(checkout: Path, script: str, said: str) -> None:
    """Nothing is left behind that the next try would take for an environment."""
    python = checkout / "python3"
    python.write_text(script)
    python.chmod(0o755)
    done = _make(checkout, "test", f"PYTHON={python}")
    assert done.returncode != 0
    assert said in done.stderr
    assert str(python) in done.stderr
    assert not (checkout / ".venv").exists()


def test_no_python_at_all_is_said_too(checkout: Path) -> None:
    """With the way to name one."""
    done = _make(checkout, "test", "PYTHON=")
    assert done.returncode != 0
    assert "Install one, or set PYTHON=" in done.stderr


@pytest.mark.slow
def test_a_fresh_checkout_gets_its_environment_once(checkout: Path) -> None:
    """The first call says what it installs; the second call finds it and does nothing."""
    first = _make(checkout, "venv", f"PYTHON={sys.executable}")
    assert first.returncode == 0, first.stderr
    assert "Installing the project and its tools into .venv" in first.stdout
    assert (checkout / ".venv" / "bin" / "python").exists()
    assert "Installing" not in _make(checkout, "venv").stdout
