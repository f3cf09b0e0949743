"""A bar at the foot of a terminal, on rich."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cronce.cli.output.tables import PlainConsole


class BackfillBar:
    """How far a backfill is, at the foot of a terminal; nothing elsewhere."""

    def __init__(self, console: PlainConsole, *, total: int) -> None:
        """Nothing is shown before the `with` block.

        Args:
            console: Where lines are told meanwhile.
            total: How many ticks there are.
        """
        self._progress = Progress(
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("", total=total)

    def __enter__(self) -> Self:
        """Show it."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Take it away."""
        self._progress.stop()

    def show(self, *, done: int, failed: int, open_: int) -> None:
        """The counts as they are now."""
        text = "settled, " + (f"{failed} failed, " if failed else "") + f"{open_} at work"
        self._progress.update(self._task, completed=done + failed, description=text)
