"""Run the searches on whatever package is imported, until one fails; `mutants` calls this in a process of its own."""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cronce
from tests.simulation.effects import EffectSearch, plan, short_segments
from tests.simulation.exhaustive import default_plan
from tests.simulation.fleet import Fleet
from tests.simulation.rules import BrokenRuleError

FLEETS = 2


def main() -> int:
    """Print what was caught, if anything; the exit code is 1 then."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.checks", description=__doc__)
    parser.add_argument("--package", required=True, help="the folder that the package must come from")
    parser.add_argument("--fleets-only", action="store_true", help="leave the exhaustive search out")
    options = parser.parse_args()
    folder = options.package
    if not Path(cronce.__file__).is_relative_to(folder):
        sys.stderr.write(f"the package comes from {cronce.__file__}, not from {folder}\n")
        return 2
    for scenario, bound in () if options.fleets_only else default_plan():
        try:
            scenario.search(bound).hunt()
        except Exception as error:  # noqa: BLE001  # a protocol that crashes is caught as well
            return _caught(f"exhaustive: {scenario}", error)
    for size, on_unknown, attempts, faults in () if options.fleets_only else plan():
        try:
            with short_segments(size):
                EffectSearch(on_unknown, attempts=attempts, faults=faults).explore()
        except Exception as error:  # noqa: BLE001
            return _caught(f"effects: {attempts} attempts, {on_unknown}", error)
    for seed in range(1, FLEETS + 1):
        try:
            Fleet(seed).run()
        except Exception as error:  # noqa: BLE001
            return _caught("fleet", error)
    return 0


def _caught(check: str, error: Exception) -> int:
    first = str(error).partition("\n")[0] if isinstance(error, BrokenRuleError) else repr(error)
    print(f"{check}: {first}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
