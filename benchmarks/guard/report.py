"""The figures of a run as Markdown tables, for the terminal and for docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from benchmarks.guard.contention import RACERS
from benchmarks.guard.figures import percentile, ratio
from benchmarks.guard.measured import Measured, surroundings
from benchmarks.guard.rates import THREADS
from benchmarks.guard.targets import judged

_BASE = "boto3 by hand"


def markdown(measured: Measured) -> str:
    """The whole report."""
    sections = (
        ("Where and when", "\n".join(f"- {line}" for line in surroundings(measured))),
        ("Targets", _targets(measured)),
        ("Start to decision, winner", _winners(measured)),
        ("Start to exit, loser", _losers(measured)),
        ("Warm claim+complete cycles", _rates(measured)),
        ("Many processes, one key", _races(measured)),
        ("Requests and capacity units of a run", _costs(measured)),
        ("Imports", _imports(measured)),
    )
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in sections) + "\n"


def as_json(measured: Measured) -> dict[str, Any]:
    """Every sample."""
    return asdict(measured)


def _targets(measured: Measured) -> str:
    rows = ([t.says, t.value, t.limit, "met" if t.met else "**NOT met**"] for t in judged(measured))
    return _table(["", "measured", "target", ""], rows)


def _winners(measured: Measured) -> str:
    starts = measured.starts
    head = [
        "",
        "median ms",
        "best ms",
        "to boto3",
        "CPU ms",
        "to boto3",
        "1/4 vCPU: ms",
        "exit ms",
        "memory MB",
        "to boto3",
    ]
    rows = (
        [
            name,
            _ms(median(decision)),
            _ms(min(decision)),
            f"{ratio(decision, starts.decision[_BASE]):.2f}x",
            _ms(median(starts.decision_cpu[name])),
            f"{ratio(starts.decision_cpu[name], starts.decision_cpu[_BASE]):.2f}x",
            _ms(4 * median(starts.decision_cpu[name])),
            _ms(median(starts.after[name])),
            _mb(median(starts.memory[name])),
            f"{ratio(starts.memory[name], starts.memory[_BASE]):.2f}x",
        ]
        for name, decision in starts.decision.items()
    )
    return _table(head, rows)


def _losers(measured: Measured) -> str:
    starts = measured.starts
    head = ["", "median ms", "best ms", "to boto3", "CPU ms", "to boto3", "1/4 vCPU: ms", "memory MB"]
    rows = (
        [
            name,
            _ms(median(out)),
            _ms(min(out)),
            f"{ratio(out, starts.out[_BASE]):.2f}x",
            _ms(median(starts.out_cpu[name])),
            f"{ratio(starts.out_cpu[name], starts.out_cpu[_BASE]):.2f}x",
            _ms(4 * median(starts.out_cpu[name])),
            _mb(median(starts.out_memory[name])),
        ]
        for name, out in starts.out.items()
    )
    return _table(head, rows)


def _rates(measured: Measured) -> str:
    rates = measured.rates
    head = [""]
    for threads in THREADS:
        head += [f"{threads} thread{'s' * (threads > 1)}: a second", "to boto3", "client CPU ms"]
    rows = []
    for name in rates.per_second[1]:
        row = [name]
        for threads in THREADS:
            of = rates.per_second[threads]
            row.append(f"{median(of[name]):.0f}")
            row.append(f"{ratio(of[name], of[_BASE]):.2f}x")
            row.append(_ms(median(rates.cpu[threads][name]), digits=2))
        rows.append(row)
    return _table(head, rows)


def _races(measured: Measured) -> str:
    races = measured.races
    head = ["", "processes", "keys", "one winner", "p50 ms", "p99 ms", "p99 to boto3", "from the shot: p50", "p99"]
    rows = []
    for racers in RACERS:
        base = percentile(races.took[racers][_BASE], 99)
        for name, took in races.took[racers].items():
            winners, since = races.winners[racers][name], races.since[racers][name]
            rows.append(
                [
                    name,
                    str(racers),
                    str(len(winners)),
                    str(sum(count == 1 for count in winners)),
                    _ms(percentile(took, 50), digits=1),
                    _ms(percentile(took, 99), digits=1),
                    f"{percentile(took, 99) / base:.2f}x",
                    _ms(percentile(since, 50), digits=1),
                    _ms(percentile(since, 99), digits=1),
                ]
            )
    return _table(head, rows)


def _costs(measured: Measured) -> str:
    head = [
        "",
        "winner: writes",
        "reads",
        "write units",
        "read units",
        "loser: writes",
        "reads",
        "write units",
        "read units",
    ]
    rows = (
        [name, *_cost(measured.costs.winner[name]), *_cost(measured.costs.loser[name])]
        for name in measured.costs.winner
    )
    return _table(head, rows)


def _imports(measured: Measured) -> str:
    wall, cpu = measured.imports.wall, measured.imports.cpu
    bare = wall["bare interpreter"]
    rows = (
        [
            name,
            _ms(median(taken)),
            _ms(min(taken)),
            _ms(median(one - other for one, other in zip(taken, bare, strict=True))),
            _ms(median(cpu[name])),
            _ms(min(cpu[name])),
        ]
        for name, taken in wall.items()
    )
    return _table(["", "median ms", "best ms", "beyond bare ms", "CPU ms", "best CPU ms"], rows)


def _cost(cost: Any) -> list[str]:
    return [str(cost.writes), str(cost.reads), f"{cost.write_units:g}", f"{cost.read_units:g}"]


def _ms(seconds: float, *, digits: int = 0) -> str:
    return f"{seconds * 1000:.{digits}f}"


def _mb(size: float) -> str:
    return f"{size / 1e6:.1f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns line up in a terminal too."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    text = [
        "| "
        + " | ".join(
            cell.ljust(width) if not index else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        + " |"
        for line in lines
    ]
    rule = (
        "|"
        + "|".join("-" * (width + 2) if not index else "-" * (width + 1) + ":" for index, width in enumerate(widths))
        + "|"
    )
    return "\n".join([text[0], rule, *text[1:]])
