"""Everything that one run measured, and on which machine."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.guard.contention import Races
from benchmarks.guard.costs import Costs
from benchmarks.guard.rates import Rates
from benchmarks.guard.starting import Imports, Starts

from tests.support.dynamodb_local import NPM_PACKAGE

_PACKAGES = ("cronce", "boto3", "aws-lambda-powertools", "python-dynamodb-lock", "pynamodb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The parts of a run.

    Attributes:
        loads: Load averages of the last minute, before each part and at the end.
    """

    starts: Starts
    imports: Imports
    rates: Rates
    races: Races
    costs: Costs
    loads: list[float]


def surroundings(measured: Measured) -> list[str]:
    """Machine, versions, date and load, one line each."""
    cpu = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    loads = ", ".join(f"{load:.1f}" for load in measured.loads)
    return [
        f"{datetime.now(UTC):%Y-%m-%d}",
        f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} CPUs, {memory:.0f} GiB, Linux {platform.release()}",
        f"Python {platform.python_version()}, DynamoDB Local of {NPM_PACKAGE}, on the same machine",
        ", ".join(f"{package} {version(package)}" for package in _PACKAGES),
        f"load average before each part and at the end: {loads}",
    ]
