"""A part of a CPU, as a task of Fargate has it: a control group of Linux, for root."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/cpu")
_V2 = Path("/sys/fs/cgroup")
_PERIOD = 100_000
"""Microseconds, the kernel's default."""


@contextmanager
def limited_to(share: float) -> Iterator[list[str]]:
    """The beginning of a command line whose process has this share of one CPU, together with the others that do.

    Raises:
        OSError: There is no such control group for this user.
    """
    group = (_V1 if _V1.is_dir() else _V2) / f"cronce-bench-{os.getpid()}"
    group.mkdir()
    try:
        quota = int(share * _PERIOD)
        if _V1.is_dir():
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD}")
        yield ["sh", "-c", 'echo $$ >"$0" && exec "$@"', str(group / "cgroup.procs")]
    finally:
        while (group / "cgroup.procs").read_text():
            time.sleep(0.01)
        group.rmdir()
