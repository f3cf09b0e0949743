"""The processes that descend from one: find them, kill them, adopt them (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends (`PR_SET_CHILD_SUBREAPER`)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends. A change of credentials cancels it (man 2 prctl)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def name_this_process(name: bytes) -> None:
    """Set the name that `ps` and `pkill` know this process by, at most 15 bytes."""
    _prctl(_PR_SET_NAME, name)


def descendants(pid: int) -> list[int] | None:
    """The descendants of a process; None if this system cannot list them.

    A process that starts in the meantime may be missing, so look again.
    """
    parents = _parents()
    if parents is None:
        return None
    children: dict[int, list[int]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    left = [pid]
    while left:
        below = children.pop(left.pop(), [])
        found += below
        left += below
    return found


def is_descendant(pid: int, of: int) -> bool:
    """True if the process descends from `of`; False if that cannot be seen."""
    if not _numbers_are_ours():
        return False
    while pid not in (0, of):
        pid = _parent(pid) or 0
    return pid == of


def _parents() -> dict[int, int] | None:
    """The parent of every process."""
    if not _numbers_are_ours():
        return None
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # pathlib is not loaded here
    return {pid: parent for pid in pids if (parent := _parent(pid)) is not None}


def _parent(pid: int) -> int | None:
    """The parent of a process (man 5 proc_pid_stat); None if the process is gone."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        # The name in parentheses may hold anything, parentheses too.
        _state, parent, *_ = os.read(file, 4096).rpartition(b")")[2].split(maxsplit=2)
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)
    return int(parent)


def _numbers_are_ours() -> bool:
    """True if /proc shows the process numbers of our own PID namespace."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115  # pathlib is not loaded here
    except OSError:
        return False


_LIBC = ctypes.CDLL(None)  # loaded here and not after a fork, when another thread may have held the loader's lock


def _prctl(option: int, value: int | bytes) -> None:
    if sys.platform == "linux":
        _LIBC.prctl(option, value, 0, 0, 0)
