"""What the guard costs, compared with what people use today.

    python -m benchmarks.guard              # ten minutes; the report, .cache/bench/report.md, .json and charts
    python -m benchmarks.guard --quick      # two minutes, to see that it works; its figures are not meaningful
    python -m benchmarks.guard --record     # and writes report and charts into docs/

It creates the environment .cache/bench/venv, with cronce as its users install it and the peers of
benchmarks/requirements.txt. Contenders alternate within every round, so that noise affects all of them;
the figures are medians, and medians over rounds of ratios within a round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / ".cache" / "bench"
_VENV = _FOLDER / "venv"
_ENTERED = "CRONCE_BENCH_ENTERED"
_MOST_LOAD = 1.5
"""The load average above which nothing is recorded: other processes would be a part of every figure."""


def main() -> None:
    """Create the environment, continue in it, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--record", action="store_true", help="write docs/performance.md and docs/img")
    options = parser.parse_args()
    if _ENTERED not in os.environ:
        load = os.getloadavg()[0]
        if options.record and load > _MOST_LOAD:
            parser.error(f"the load average is {load:.1f}; figures are recorded at {_MOST_LOAD} or less")
        _prepare()
        os.chdir(_ROOT)
        python = str(_VENV / "bin" / "python")
        os.execve(python, [python, "-m", "benchmarks.guard", *sys.argv[1:]], os.environ | {_ENTERED: "1"})

    from benchmarks.guard import run  # noqa: PLC0415  # needs the environment

    run.run(quick=options.quick, record=options.record)


def _prepare() -> None:
    """The environment, with cronce as it is now."""
    if not (_VENV / "bin" / "python").exists():
        venv.create(_VENV, with_pip=True)
    pip = [str(_VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(_ROOT / "benchmarks" / "requirements.txt")], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(_ROOT)], check=True)


if __name__ == "__main__":
    main()
