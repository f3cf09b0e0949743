"""What a process loads, and by which way each file got in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

_MOST = 5000
_LONGEST_TRACE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The files that a process loads.

    Attributes:
        by: Each file with the file that loads it; None for those that the command names.
        entries: The files that the command itself runs, in which `__main__` is true.
        names: Functions that the command names.
        whole: Why the whole folder counts as loaded, as the end of a sentence; empty if imports were followed.
    """

    by: dict[PurePosixPath, PurePosixPath | None]
    entries: frozenset[PurePosixPath] = frozenset()
    names: frozenset[str] = frozenset()
    whole: str = ""

    def trace(self, path: PurePosixPath) -> str:
        """How the file is loaded: `app/main.py imports app/jobs.py`; empty for a file that the command names."""
        if self.whole:
            return self.whole
        chain = [path]
        while (before := self.by.get(chain[-1])) is not None and len(chain) < _LONGEST_TRACE:
            chain.append(before)
        return " imports ".join(str(each) for each in reversed(chain)) if len(chain) > 1 else ""


def followed(
    starts: Iterable[PurePosixPath], imports: Callable[[PurePosixPath], Iterable[PurePosixPath]]
) -> dict[PurePosixPath, PurePosixPath | None]:
    """The starts and all that they import, directly or not, each with the file that was first to import it."""
    by: dict[PurePosixPath, PurePosixPath | None] = dict.fromkeys(starts)
    waiting = list(by)
    for path in waiting:
        for target in imports(path):
            if target not in by and len(by) < _MOST:
                by[target] = path
                waiting.append(target)
    return by
