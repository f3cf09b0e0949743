"""Python loads this file when the folder is in its path. cronce then uses the wall clock of the simulated machine.

The clock differs from the true time by the seconds in a file. `libfaketime` would do the same from outside, but it
leaves a semaphore behind for every killed process. The monotonic clock cannot be set.
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
