"""Run the searches on whatever package is imported, until one fails; `mutants` calls this in a process of its own."""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import cronce
import cronce_lambdas
from tests.simulation.effects import EffectSearch, plan, short_segments
from tests.simulation.exhaustive import default_plan, group_plan
from tests.simulation.fleet import Fleet
from tests.simulation.machines import Machines
from tests.simulation.rules import BrokenRuleError

FLEETS = 2


def main() -> int:
    """Print what was caught, if anything; the exit code is 1 then."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.checks", description=__doc__)
    parser.add_argument("--package", required=True, help="the folder that the packages must come from")
    parser.add_argument("searches", nargs="+", choices=["exhaustive", "groups", "effects", "fleet", "machines"])
    options = parser.parse_args()
    for package in (cronce, cronce_lambdas):
        if not Path(str(package.__file__)).is_relative_to(options.package):
            sys.stderr.write(f"the package comes from {package.__file__}, not from {options.package}\n")
            return 2
    for search in options.searches:
        for name, run in _runs(search):
            try:
                run()
            except Exception as error:  # noqa: BLE001  # a protocol that crashes is caught as well
                return _caught(name, error)
    return 0


def _runs(search: str) -> Iterator[tuple[str, Callable[[], object]]]:
    match search:
        case "exhaustive":
            for scenario, bound in default_plan():
                yield f"exhaustive: {scenario}", scenario.search(bound).hunt
        case "groups":
            for scenario, bound in group_plan():
                yield f"groups: {scenario}", scenario.search(bound).hunt
        case "effects":
            for size, on_unknown, attempts, faults in plan():
                with short_segments(size):
                    explore = EffectSearch(on_unknown, attempts=attempts, faults=faults).explore
                    yield f"effects: {attempts} attempts, {on_unknown}", explore
        case "fleet":
            for seed in range(1, FLEETS + 1):
                yield "fleet", Fleet(seed).run
        case _:
            for seed in range(1, FLEETS + 1):
                yield "machines", Machines(seed, days=0.4).run


def _caught(check: str, error: Exception) -> int:
    first = str(error).partition("\n")[0] if isinstance(error, BrokenRuleError) else repr(error)
    print(f"{check}: {first}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
