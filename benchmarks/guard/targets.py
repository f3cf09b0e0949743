"""The speed targets, and whether this run meets them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from benchmarks.guard.contention import RACERS
from benchmarks.guard.figures import Series, percentile, ratio
from benchmarks.guard.measured import Measured
from benchmarks.guard.rates import THREADS

_BASE = "boto3 by hand"
_FLOOR = "stdlib by hand"
_PEERS = ("powertools", "python-dynamodb-lock", "pynamodb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One target.

    Attributes:
        says: The target in words.
        value: The measured value.
        limit: The limit, e.g. `at most 0.25x`.
        met: True if the value is within the limit.
    """

    says: str
    value: str
    limit: str
    met: bool


def judged(measured: Measured) -> list[Target]:
    """Every target, in the order of the report."""
    return [*_starting(measured), *_warm(measured), *_contended(measured), *_importing(measured)]


def _starting(measured: Measured) -> list[Target]:
    starts = measured.starts
    decision = _share(starts.decision)
    out = _share(starts.out)
    return [
        Target(
            says="cronce exec: start to decision, to the boto3 script's",
            value=f"{decision:.2f}x (CPU {_share(starts.decision_cpu):.2f}x)",
            limit="at most 0.25x",
            met=decision <= 0.25,
        ),
        _at_most("cronce exec: memory while the command runs, to the boto3 script's", _share(starts.memory), 0.5),
        Target(
            says="cronce exec: a loser is out, to the boto3 script's",
            value=f"{out:.2f}x (CPU {_share(starts.out_cpu):.2f}x)",
            limit="at most 0.25x",
            met=out <= 0.25,
        ),
    ]


def _share(series: Series) -> float:
    return ratio(series["cronce exec"], series[_BASE])


def _warm(measured: Measured) -> list[Target]:
    rates, cpu, claim = measured.rates.per_second, measured.rates.cpu[1], measured.rates.claim[1]
    targets = [
        _at_most(f"{name}: client CPU of a warm cycle, to boto3's two writes", ratio(cpu[name], cpu[_BASE]), limit)
        for name, limit in (("cronce ALLOW", 0.3), ("cronce FORBID", 0.6))
    ]
    floor = ratio(rates[1]["cronce ALLOW"], rates[1][_FLOOR])
    targets.append(_at_least("cronce ALLOW: warm cycles, one thread, to the standard library's two writes", floor, 0.9))
    wait = ratio(claim["cronce FORBID"], claim[_BASE])
    targets.append(_at_most("cronce FORBID: median latency of a warm claim, to one put of boto3", wait, 1.2))
    for threads in THREADS:
        for peer in _PEERS:
            ahead = ratio(rates[threads]["cronce ALLOW"], rates[threads][peer])
            targets.append(_at_least(f"warm cycles, {threads} thread{'s' * (threads > 1)}, to {peer}'s", ahead, 1.0))
    return targets


def _contended(measured: Measured) -> list[Target]:
    most, races = max(RACERS), measured.races
    names = ("cronce FORBID", "cronce ALLOW")
    keys = [count for name in names for racers in RACERS for count in races.winners[racers][name]]
    wrong = sum(count != 1 for count in keys)
    targets = [
        Target(
            says=f"exactly one winner a key, {'/'.join(map(str, RACERS))} processes",
            value=f"{wrong} of {len(keys)} wrong",
            limit="0 wrong",
            met=wrong == 0,
        )
    ]
    for name in names:
        share = percentile(races.took[most][name], 99) / percentile(races.took[most][_BASE], 99)
        targets.append(_at_most(f"{name}: p99 of deciding, {most} processes, to boto3's", share, 1.2))
    return targets


def _importing(measured: Measured) -> list[Target]:
    wall, cpu = measured.imports.wall, measured.imports.cpu
    loading = [
        _at_most_ms(f"{what} beyond the bare interpreter", _beyond_bare(wall, what), _beyond_bare(cpu, what), 40)
        for what in ("import cronce", "from cronce import Ledger")
    ]
    return [*loading, _at_most_ms("cronce --help", median(wall["cronce --help"]), median(cpu["cronce --help"]), 150)]


def _beyond_bare(series: Series, what: str) -> float:
    return median(one - bare for one, bare in zip(series[what], series["bare interpreter"], strict=True))


def _at_most_ms(says: str, wall: float, cpu: float, limit: int) -> Target:
    value = f"{wall * 1000:.0f} ms (CPU {cpu * 1000:.0f})"
    return Target(says=says, value=value, limit=f"at most {limit} ms", met=wall * 1000 <= limit)


def _at_most(says: str, value: float, limit: float) -> Target:
    return Target(says=says, value=f"{value:.2f}x", limit=f"at most {limit:g}x", met=value <= limit)


def _at_least(says: str, value: float, limit: float) -> Target:
    return Target(says=says, value=f"{value:.2f}x", limit=f"at least {limit:g}x", met=value >= limit)
