"""Prints the story on a terminal, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Protocol

from rich.progress import BarColumn, Progress, TextColumn
from rich.rule import Rule
from rich.text import Text

from cronce.cli.output.runs import runs_table
from cronce.cli.output.tables import PlainConsole
from cronce.demo.checks import Check
from cronce.operate.wording import visible_lines
from cronce.protocol.records import RunRecord

ShowProgress = Callable[[str, int, str], None]
"""Called with the name of a bar, its count, and a word about it."""


class Narrator(Protocol):
    """Reports what happens while it happens; decides nothing."""

    def scene(self, number: int, title: str) -> None:
        """Announce a scene."""

    def say(self, text: str) -> None:
        """Print a paragraph."""

    def command(self, line: str) -> None:
        """Print a command line."""

    def progress(self, names: Sequence[str], *, total: int, unit: str) -> AbstractContextManager[ShowProgress]:
        """Show progress bars until the block ends."""

    def runs(self, runs: Sequence[RunRecord]) -> None:
        """Print the runs in the ledger."""

    def check(self, check: Check) -> None:
        """Print a counted number."""


_LONGEST_LINE = 100


class Silence:
    """Prints nothing, for `--json`."""

    def scene(self, number: int, title: str) -> None:
        """See `Narrator`, as for all methods."""

    def say(self, text: str) -> None:
        """Nothing."""

    def command(self, line: str) -> None:
        """Nothing."""

    def progress(self, names: Sequence[str], *, total: int, unit: str) -> AbstractContextManager[ShowProgress]:  # noqa: ARG002
        """Nothing."""
        return nullcontext(lambda _name, _done, _word: None)

    def runs(self, runs: Sequence[RunRecord]) -> None:
        """Nothing."""

    def check(self, check: Check) -> None:
        """Nothing."""


class Storyteller:
    """Prints the story on stdout."""

    def __init__(self) -> None:
        self._console = PlainConsole()
        self._width = min(self._console.width, _LONGEST_LINE)

    def scene(self, number: int, title: str) -> None:
        """Print a rule with the title."""
        rule = Rule(Text(f"Scene {number}: {title}", style="bold"), align="left", style="dim")
        self._console.print("", rule, width=self._width)

    def say(self, text: str) -> None:
        """Print a paragraph."""
        self._console.print(Text(visible_lines(text)), width=self._width)

    def command(self, line: str) -> None:
        """Print a line to copy."""
        self._console.print_command(line)

    @contextmanager
    def progress(self, names: Sequence[str], *, total: int, unit: str) -> Iterator[ShowProgress]:
        """Show one bar per name."""
        columns = (
            TextColumn("  {task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}", justify="right", markup=False),
            TextColumn("{task.fields[word]}", style="dim", markup=False),
        )
        with Progress(*columns, console=self._console, auto_refresh=False) as bars:
            tasks = {name: bars.add_task(name, total=total, word="", count="") for name in names}

            def show(name: str, done: int, word: str) -> None:
                bars.update(
                    tasks[name], completed=done, word=word, count=f"{done:>6,} {unit}" if unit else "", refresh=True
                )

            yield show

    def runs(self, runs: Sequence[RunRecord]) -> None:
        """Print the table of `cronce runs`."""
        self._console.print(runs_table(runs, now=datetime.now(UTC), width=self._console.width))

    def check(self, check: Check) -> None:
        """Print a check mark with the number, or a cross with the expected one too."""
        mark = Text("  ✓ " if check.right else "  ✗ ", style="green" if check.right else "bold red")
        mark.append(f"{check.what}: ", style="default")
        mark.append(_number(check.counted), style="bold")
        if not check.right:
            mark.append(f", expected {_number(check.expected)}", style="bold red")
        self._console.print(mark)


def _number(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else value
