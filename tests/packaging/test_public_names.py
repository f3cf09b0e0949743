"""The names that users import, and that each name in the package means one thing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import cronce

PACKAGE = Path(cronce.__file__).parent

PUBLIC = """
CatchUp Claim ClockSkewError ConcurrencyPolicy CronceError EffectState InputInvalidError InputMissingError
LeaseLostError Ledger LedgerUnavailableError OnLost OnUnknown Policy Reason RecordUnreadableError Refusal
RefusalReason Status StopRequestedError Trigger once run_once
"""

ENTRY_POINTS = {"main", "command"}
"""Each module of a command has one: the program calls it by the module's name."""

CONSUMER = """
import cronce
from cronce import {names}
reveal_type(cronce.Ledger.from_url)
reveal_type(Policy().lease)
reveal_type(run_once)
"""


def test_the_public_names_are_the_documented_ones() -> None:
    """They change in a release, not by accident."""
    assert getattr(cronce, "__all__") == PUBLIC.split()  # noqa: B009  # computed when it is asked for
    assert set(PUBLIC.split()) <= set(dir(cronce))
    assert [name for name in PUBLIC.split() if getattr(cronce, name).__name__ != name] == []


def test_no_other_name_is_public() -> None:
    """What the same modules define for the package itself is not reached through it."""
    for name in ("ClaimRequest", "new_token", "value_class", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'cronce' has no attribute '{name}'"):
            getattr(cronce, name)


def test_a_name_loads_its_own_module_and_no_more_than_that_needs() -> None:
    """A policy at synth loads no ledger."""
    code = "import sys; from cronce import Policy; print(sorted(n for n in sys.modules if n.startswith('cronce.')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {name.split(".")[1] for name in ast.literal_eval(done.stdout)} == {"vocabulary"}


@pytest.mark.slow
def test_a_type_checker_sees_the_real_types(tmp_path: Path) -> None:
    """Lazily loaded, and yet neither `object` nor `Any`."""
    program = tmp_path / "consumer.py"
    program.write_text(CONSUMER.format(names=", ".join(PUBLIC.split())))
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    revealed = [line.partition('"')[2] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert [line.split(" ")[0] for line in revealed] == ["def", 'datetime.timedelta"', "def"], done.stdout
    assert "error" not in done.stdout


def test_one_public_name_has_one_definition() -> None:
    """A reader who finds a name knows what it means, wherever it is used; the kit and new projects have their own."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "testing") or path.is_relative_to(PACKAGE / "adopt" / "new" / "templates"):
            continue
        for name in _defined(path):
            homes[name].add(str(path.relative_to(PACKAGE)))
    twice = {name: sorted(where) for name, where in homes.items() if len(where) > 1}
    assert twice == {}


def _defined(path: Path) -> set[str]:
    """The public classes, functions and constants of a module, apart from type variables."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_") and len(name) > 1} - ENTRY_POINTS
