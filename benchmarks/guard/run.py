"""One run: all parts against one DynamoDB Local, then the report."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from benchmarks.guard.contention import measure_races
from benchmarks.guard.costs import measure_costs
from benchmarks.guard.measured import Measured
from benchmarks.guard.plots import draw
from benchmarks.guard.rates import measure_rates
from benchmarks.guard.report import as_json, markdown
from benchmarks.guard.starting import measure_imports, measure_starts
from benchmarks.guard.world import ROOT, SCRATCH, World

_DOCUMENT = ROOT / "docs" / "performance.md"
_PICTURES = ROOT / "docs" / "img"
_BEGIN, _END = "<!-- measured: python -m benchmarks.guard --record -->\n", "<!-- end of measured -->\n"

T = TypeVar("T")


def run(*, quick: bool, record: bool) -> None:
    """Measure everything, print the report, and write it."""
    loads: list[float] = []

    def part(name: str, measure: Callable[[], T]) -> T:
        loads.append(os.getloadavg()[0])
        began = time.monotonic()
        sys.stderr.write(f"{name} ... ")
        sys.stderr.flush()
        measured = measure()
        sys.stderr.write(f"{time.monotonic() - began:.0f} s\n")
        return measured

    with World.running() as world:
        starts = part("start to decision", lambda: measure_starts(world, 3 if quick else 25))
        imports = part("imports", lambda: measure_imports(world, 5 if quick else 40))
        rates = part("warm cycles", lambda: measure_rates(world, *((2, 0.3) if quick else (30, 0.5))))
        races = part("contention", lambda: measure_races(world, 2 if quick else 40))
        costs = part("costs", lambda: measure_costs(world))
    loads.append(os.getloadavg()[0])
    measured = Measured(starts=starts, imports=imports, rates=rates, races=races, costs=costs, loads=loads)

    report = markdown(measured)
    sys.stdout.write(report)
    (SCRATCH / "report.md").write_text(report)
    (SCRATCH / "report.json").write_text(json.dumps(as_json(measured)))
    for picture in draw(measured, _PICTURES if record else SCRATCH):
        sys.stderr.write(f"{picture.relative_to(ROOT)}\n")
    if record:
        _record(_DOCUMENT, report)


def _record(document: Path, report: str) -> None:
    """Write the report between the document's markers."""
    text = document.read_text()
    head, _, rest = text.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    document.write_text(f"{head}{_BEGIN}\n{report}\n{_END}{tail}")
