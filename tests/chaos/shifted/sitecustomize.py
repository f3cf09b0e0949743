"""Loaded by Python itself where this folder is in its path: cronce's wall clock is then the machine's own.

Shifted by as many seconds as the file says at that moment. `libfaketime` would do the same from outside, but it
leaves a semaphore behind for every process that is killed. The monotonic clock is nobody's to set.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cronce.client.time_source import SystemClock


def _now(self: SystemClock) -> datetime:  # noqa: ARG001  # a method
    return datetime.now(UTC) + timedelta(seconds=float(Path(os.environ["CHAOS_CLOCK"]).read_text()))


if "CHAOS_CLOCK" in os.environ:
    SystemClock.now = _now  # type: ignore[method-assign]
