"""Single changes of the protocol and of the machines, each of which must be caught: so the checks are known to see.

`python -m tests.simulation.mutants` applies them one at a time to a copy of the packages, runs the checks on it and
prints which one caught it: the exhaustive search, a fleet, a fleet with its machines, or the unit tests.
"""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.simulation.changes import MUTANTS, Mutant

_REPOSITORY = Path(__file__).parents[2]
_PACKAGES = {name: _REPOSITORY / root / name for root, name in (("ledger", "cronce"), ("lambdas", "cronce_lambdas"))}


class MutantStaleError(Exception):
    """The old text does not stand in the file exactly once; the mutant has to follow the code."""


def mutated(mutant: Mutant, text: str) -> str:
    """The file with the change.

    Raises:
        MutantStaleError: The old text does not stand there exactly once.
    """
    if text.count(mutant.old) != 1:
        msg = f"mutant {mutant.name!r}: its old text stands {text.count(mutant.old)} times in {mutant.file}"
        raise MutantStaleError(msg)
    return text.replace(mutant.old, mutant.new)


def source(mutant: Mutant) -> str:
    """The file as it stands."""
    return (_PACKAGES[mutant.package] / mutant.file).read_text()


def caught_by(mutant: Mutant | None) -> str | None:
    """The check that fails on a copy of the package with the change, and how; None if all pass.

    Without a mutant the copy is as the package is: then none may fail, or being caught says nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, package in _PACKAGES.items():
            shutil.copytree(package, Path(folder) / name)
        if mutant:
            (Path(folder) / mutant.path).write_text(mutated(mutant, source(mutant)))
        environ = os.environ | {"PYTHONPATH": os.pathsep.join((folder, str(_REPOSITORY)))}
        pytest = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
        for name, command in _checks(mutant, folder, pytest):
            done = subprocess.run(command, env=environ, cwd=_REPOSITORY, capture_output=True, text=True, check=False)
            if done.returncode == 1:
                return name + next(
                    (line for line in done.stdout.splitlines() if not name or line.startswith("FAILED")), "?"
                )
            if done.returncode:
                raise RuntimeError(done.stdout + done.stderr)
    return None


def _checks(mutant: Mutant | None, folder: str, pytest: list[str]) -> list[tuple[str, list[str]]]:
    """What is run on the copy, by its name: the fastest first, or with LONG=1 what finds without being told where."""
    if mutant and mutant.file.startswith("stores/dynamo/"):
        stores = ("tests/conformance/test_store_contract.py", "tests/conformance/test_dynamo_rows.py")
        tests = (*stores, "tests/hostile/test_answers.py")
        return [("tests of the store: ", [*pytest, *tests, "-m", "slow or not slow", "-k", "moto or UpdateItem"])]
    searches = [sys.executable, "-m", "tests.simulation.checks", "--package", folder, *_searches(mutant)]
    checks = [("unit tests: ", [*pytest, *_unit_tests(mutant)]), ("", searches)]
    return checks[::-1] if os.environ.get("LONG") == "1" else checks


def _searches(mutant: Mutant | None) -> list[str]:
    """Those that reach the changed file: the exhaustive search only drives the protocol."""
    if mutant is None:
        # Not "groups": test_exhaustive.py makes the same search of the package as it is.
        return ["exhaustive", "effects", "fleet", "machines"]
    if mutant.file.endswith("/effects.py"):
        return ["effects"]
    if mutant.file.endswith("/groups.py") or "group" in mutant.name:
        return ["groups"]
    if mutant.package != "cronce" or mutant.file.startswith(("ecs/", "watch/")):
        return ["machines"]
    return ["exhaustive", "effects", "fleet"] if mutant.file.startswith("protocol/") else ["fleet"]


def _unit_tests(mutant: Mutant | None) -> list[str]:
    """Those of the protocol, or of the changed file of the Lambda functions."""
    if mutant and (mutant.package == "cronce_lambdas" or mutant.file.startswith("watch/")):
        return [*map(str, (_REPOSITORY / "tests" / "lambdas").glob(f"test_{Path(mutant.file).stem}*.py"))]
    folder = _REPOSITORY / "tests" / "unit"
    names = [
        f"test_{name}.py" for name in ("claiming", "holding", "overlap", "groups", "observing", "pausing", "states")
    ]
    names += ["test_effects.py", "test_claim_effects.py"]
    return [str(folder / name) for name in names if (folder / name).exists()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every mutant, a line each."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only mutants with this in their name")
    options = parser.parse_args(arguments)
    began, catchers, survived = time.monotonic(), Counter[str](), 0
    if caught := caught_by(None):
        print(f"the checks fail on the package as it is, so they cannot tell mutants: {caught}")
        return 2
    tried = [mutant for mutant in MUTANTS if options.only in mutant.name]
    for mutant in tried:
        caught = caught_by(mutant)
        survived += caught is None
        catchers[caught.partition(":")[0] if caught else "nothing"] += 1
        print(f"{'caught' if caught else 'SURVIVED':9} {mutant.name:45} {caught or mutant.breaks}", flush=True)
    ways = ", ".join(f"{count} by {name}" for name, count in sorted(catchers.items()))
    print(f"mutants: {len(tried)} tried, {survived} survived ({ways}), {time.monotonic() - began:.0f} s")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
