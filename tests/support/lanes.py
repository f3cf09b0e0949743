"""Lanes: what some tests need on the machine in addition to Python."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


IN_PID_NAMESPACE = ("unshare", "-pf", "--mount-proc")
"""Put before a command, which is then PID 1 of a new namespace with a `/proc` of its own."""


class LaneUnavailableError(Exception):
    """The machine lacks what a lane needs; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Something on the machine that some tests need.

    Attributes:
        name: Its name in the marker and in the summary. A test that uses the fixture of this name (with
            underscores) is in the lane.
        prepare: Makes it ready for this process; raises `LaneUnavailableError` if that is impossible.
    """

    name: str
    prepare: Callable[[], object]

    @property
    def fixture(self) -> str:
        """The name of the lane's fixture."""
        return self.name.replace("-", "_")

    def missing(self) -> str | None:
        """Why the lane cannot run here, or None; checked once per process."""
        return _missing(self)


def lanes_are_required() -> bool:
    """True where a lane that cannot run is a failure, because a missing server would look like success."""
    return any(os.environ.get(name, "").lower() in {"1", "true"} for name in ("CI", "CRONCE_REQUIRE_LANES"))


def prepare_pid_namespace() -> None:
    """A process can be PID 1 of a namespace that has its own `/proc`, exactly as the tests start it.

    Raises:
        LaneUnavailableError: There is no `unshare`, or it may not do that here: not root, or a chroot or container.
    """
    try:
        command = [*IN_PID_NAMESPACE, "sh", "-c", 'test "$(cut -d " " -f 1 /proc/self/stat)" -lt 10']
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=30)
    except FileNotFoundError:
        raise LaneUnavailableError("there is no `unshare` (util-linux)") from None
    except subprocess.CalledProcessError as error:
        raise LaneUnavailableError(f"`{' '.join(IN_PID_NAMESPACE)}` failed: {error.stderr.strip()}") from error


def prepare_terminal() -> None:
    """A process can have a terminal here.

    Raises:
        LaneUnavailableError: The machine gives no pseudo-terminal.
    """
    try:
        for end in os.openpty():
            os.close(end)
    except OSError as error:
        raise LaneUnavailableError(f"there is no pseudo-terminal: {error}") from error


@cache
def _missing(lane: Lane) -> str | None:
    try:
        lane.prepare()
    except LaneUnavailableError as error:
        return str(error)
    return None
