"""Samples and their statistics."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

Series = dict[str, list[float]]
"""Samples by contender; the n-th of each were taken in the same round."""


def ratio(of: Sequence[float], to: Sequence[float]) -> float:
    """The median over rounds of one sample divided by the other: load slows both in a round."""
    return median(one / other for one, other in zip(of, to, strict=True))


def percentile(samples: Sequence[float], percent: int) -> float:
    """The value that this percentage of the samples does not exceed."""
    return quantiles(samples, n=100, method="inclusive")[percent - 1]


def add(series: Series, name: str, value: float) -> None:
    """Append a sample to a contender's."""
    series.setdefault(name, []).append(value)
