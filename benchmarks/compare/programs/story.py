"""The work of every contender, and the clock of those that bring none.

The log is outside of all of them: one line at the begin of the work and one at its end, in a file that is only appended
to. Its time is the time since boot, which no contender's shifted wall clock touches.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable

INTERVAL = int(os.environ["STORY_INTERVAL"])
_SECONDS = float(os.environ["STORY_WORK"])


def write(*words: object) -> None:
    """Append one line to the log, atomically."""
    line = " ".join(map(str, words)) + "\n"
    log = os.open(os.environ["STORY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, line.encode())
    os.close(log)


def work(tick: int) -> None:
    """Do the work of the tick with that nominal time, in epoch seconds."""
    mark, process = uuid.uuid4().hex[:12], os.environ["STORY_PROCESS"]
    write("begin", tick, process, since_boot(), mark)
    time.sleep(_SECONDS)
    write("end", tick, process, since_boot(), mark)


def since_boot() -> float:
    """Seconds since boot."""
    return round(time.clock_gettime(time.CLOCK_BOOTTIME), 3)


def clock(fire: Callable[[int], None]) -> None:
    """Call `fire(tick)` in a thread at every multiple of the interval on this process's own wall clock, without end."""
    due = (int(time.time()) // INTERVAL + 1) * INTERVAL
    while True:
        if (left := due - time.time()) > 0:
            time.sleep(min(left, 0.2))
            continue
        threading.Thread(target=_fire, args=(fire, due), daemon=True).start()
        due = max(due + INTERVAL, int(time.time()) // INTERVAL * INTERVAL)  # ticks of a gap are over


def _fire(fire: Callable[[int], None], tick: int) -> None:
    try:
        fire(tick)
    except Exception as error:  # noqa: BLE001  # of any library; the process goes on, as an app does
        write("error", tick, type(error).__name__)


if __name__ == "__main__":
    work(int(sys.argv[1]))
