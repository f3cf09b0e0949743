"""What happens to the contenders."""

from __future__ import annotations

from dataclasses import dataclass

INTERVAL = 2
"""Seconds between two ticks."""
TICKS = 30
PROCESSES = 3
"""Of each contender."""
AHEAD = 30
"""Seconds by which one clock is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happens.

    Attributes:
        title: Its name on the page.
        says: What happens, in a sentence.
        work: Seconds that the work takes.
        after: Seconds in which what was cut off may still be resumed.
    """

    title: str
    says: str
    work: float = 1.0
    after: float = 10.0


STORIES = {
    "undisturbed": Story(title="Undisturbed", says="Nothing happens."),
    "kills": Story(
        title="Kills",
        says="Every 8 s a process and all that it started is killed, every other time one that is at work; it starts"
        " again 3 s later. After the last tick, what was cut off has 40 s to be resumed.",
        after=40.0,
    ),
    "long": Story(
        title="Work longer than the interval",
        says="The work takes 5 s, a tick is due every 2 s.",
        work=5.0,
        after=20.0,
    ),
    "frozen": Story(
        title="Frozen owner",
        says="A process at work is stopped by SIGSTOP for 15 s with all that it started, then goes on.",
        after=30.0,
    ),
    "ahead": Story(title="One clock ahead", says=f"The wall clock of one process is {AHEAD} s ahead."),
    "restart": Story(title="Database restarted", says="The database is away for 5 s, then is back.", after=25.0),
}
