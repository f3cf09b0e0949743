"""The figures of a run as charts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib as mpl
from benchmarks.guard.contention import RACERS
from benchmarks.guard.figures import percentile
from benchmarks.guard.measured import Measured
from benchmarks.guard.rates import THREADS

mpl.use("svg")

from matplotlib import pyplot as plt  # after the selection of the backend
from matplotlib.ticker import NullFormatter, ScalarFormatter

_OURS, _THEIRS = "#1f6f8b", "#b8c4cc"
_SETTINGS = {
    "svg.hashsalt": "cronce",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}


def draw(measured: Measured, folder: Path) -> list[Path]:
    """Write the charts into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(_SETTINGS):
        return [
            _saved(_starting(measured), folder / "bench-starting.svg"),
            _saved(_rates(measured), folder / "bench-rates.svg"),
            _saved(_races(measured), folder / "bench-contention.svg"),
        ]


def _starting(measured: Measured) -> Any:
    starts = measured.starts
    figure, axes = plt.subplots(1, 3, figsize=(11, 2.8), sharey=True)
    _bars(axes[0], "start to decision, ms", _medians(starts.decision, 1000))
    _bars(axes[1], "a loser's whole process, ms", _medians(starts.out, 1000))
    _bars(axes[2], "memory while the command runs, MB", _medians(starts.memory, 1e-6))
    return figure


def _rates(measured: Measured) -> Any:
    figure, axes = plt.subplots(1, len(THREADS), figsize=(9, 2.8), sharey=True)
    for axis, threads in zip(axes, THREADS, strict=True):
        title = f"claim+complete a second, {threads} thread{'s' * (threads > 1)}"
        _bars(axis, title, _medians(measured.rates.per_second[threads], 1))
    return figure


def _races(measured: Measured) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharex=True)
    for axis, percent in zip(axes, (50, 99), strict=True):
        for name in measured.races.took[RACERS[0]]:
            values = [1000 * percentile(measured.races.took[racers][name], percent) for racers in RACERS]
            style = "-" if name.startswith("cronce") else "--"
            axis.plot(RACERS, values, style, marker="o", label=name)
        axis.set(title=f"p{percent} of deciding, ms", xlabel="processes", xscale="log", yscale="log")
        axis.set_xticks(RACERS, [str(racers) for racers in RACERS])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
    axes[0].legend(frameon=False)
    return figure


def _bars(axis: Any, title: str, values: Mapping[str, float]) -> None:
    colours = [_OURS if name.startswith("cronce") else _THEIRS for name in values]
    bars = axis.barh(list(values), list(values.values()), color=colours)
    axis.bar_label(bars, fmt="%.0f", padding=2)
    axis.set_title(title, fontsize=9)
    axis.margins(x=0.15)
    axis.xaxis.set_visible(False)
    if not axis.yaxis_inverted():
        axis.invert_yaxis()


def _medians(series: Mapping[str, list[float]], factor: float) -> dict[str, float]:
    return {name: factor * median(samples) for name, samples in series.items()}


def _saved(figure: Any, path: Path) -> Path:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
