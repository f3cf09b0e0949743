"""The terminal output of `cronce backfill`, on rich."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cronce.cli.actions.fill import Backfill, Gap, Result
from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import PeriodState, Refuse
from cronce.cli.actions.ticks import local_of
from cronce.cli.output.tables import PlainConsole, gaps_table
from cronce.operate.wording import short_owner, visible
from cronce.protocol.records import RunRecord
from cronce.schedule import Timetable

_RESULT_WORDS = {
    Result.ALREADY_DONE: "already done",
    Result.NOT_LAUNCHED: "not launched",
    Result.AT_WORK: "still running",
    Result.NOT_STARTED: "not started",
}


class BackfillReport:
    """Prints the plan and the progress: a line per event, and a bar on a terminal."""

    def __init__(self, schedule: Timetable, gaps: Sequence[Gap], *, on_stderr: bool) -> None:
        self._console = PlainConsole(sys.stderr if on_stderr else None)
        self._schedule, self._gaps = schedule, gaps
        self._filling: Backfill | None = None
        self._bar: BackfillBar | None = None

    def plan(self, job: str, span: tuple[datetime, datetime], again: str, *, left_out: bool) -> None:
        """Print the state of each tick, and the command that starts the missing runs."""
        say = self._console.say
        since, until = (local_of(at, self._schedule.timezone) for at in span)
        say(f"{visible(job)}: {self._schedule.describe()}")
        say(f"{since:%Y-%m-%d %H:%M:%S %Z} to {until:%Y-%m-%d %H:%M:%S %Z}: {_counted(self._gaps)}")
        if self._gaps:
            self._console.print(gaps_table(self._gaps, self._schedule.timezone, self._console.width))
        if left_out:
            say("Ticks that are not due yet are left out.")
        if all(gap.is_done for gap in self._gaps):
            say("Nothing to start.")
        else:
            say("Nothing was started. To start the runs that have not succeeded:")
            self._console.print_command(again)

    @contextmanager
    def progress_of(self, filling: Backfill) -> Iterator[None]:
        """Show a progress bar until the block ends."""
        self._filling = filling
        self._console.say(_counted(self._gaps))
        with BackfillBar(self._console, total=len(self._gaps)) as self._bar:
            self._show_counts()
            yield

    def waiting(self, gap: Gap, verdict: Refuse) -> None:
        """Report that the tick waits for another run."""
        self._console.say_with_command(f"{gap.period}  waits: {visible(verdict.why)}", verdict.command)

    def started(self, gap: Gap, attempt: StartedAttempt) -> None:
        """Report that its task was started, or that its run was found active."""
        owner = attempt.task or (attempt.run.owner if attempt.run else "")
        what = "started" if attempt.task else "already running"
        self._console.say(f"{gap.period}  {what}: attempt {attempt.attempt}, {short_owner(owner)}")
        self._show_counts()

    def settled(self, gap: Gap, result: Result, text: str, command: str | None) -> None:
        """Report its outcome."""
        match result:
            case Result.NOT_LAUNCHED | Result.REFUSED:
                text = f"not started: {text}"
            case Result.ALREADY_DONE:
                text = "succeeded meanwhile, by another start"
            case _:
                pass
        self._console.say_with_command(f"{gap.period}  {visible(text)}", command)
        self._show_counts()

    def interrupted(self, filling: Backfill, again: str, *, by_person: bool) -> None:
        """Report which tasks continue, and how to continue the backfill."""
        say = self._console.say
        say("Interrupted." if by_person else "Stopped by an error.")
        for gap, attempt in filling.open:
            say(f"{gap.period}  continues{_by(attempt)}")
        if filling.starting:
            say(f"{filling.starting.period}  may have been started; starting it again starts no second task")
        self._say_how_to_continue(filling, again)

    def ended(self, filling: Backfill, again: str) -> bool:
        """Report how it ended; True if every run has succeeded."""
        if filling.is_all_done:
            self._console.say("All runs have succeeded.")
        else:
            self._say_how_to_continue(filling, again)
        return filling.is_all_done

    def skipped(self, run: RunRecord, again: str) -> None:
        """Report a scheduled run that was skipped because this backfill was active."""
        self._console.say(
            f"{run.period}  was skipped because {run.blocked_by} was active when it was due. To run it now:"
        )
        self._console.print_command(again)

    def _say_how_to_continue(self, filling: Backfill, again: str) -> None:
        counts = Counter(filling.result_of(gap) for gap in self._gaps)
        self._console.say(
            ", ".join(f"{number} {_RESULT_WORDS.get(result, result)}" for result, number in counts.items()) + "."
        )
        self._console.say("Runs that succeeded are not repeated. To continue:")
        self._console.print_command(again)

    def _show_counts(self) -> None:
        if self._bar is None or self._filling is None:
            return
        results = Counter(self._filling.results.values())
        done = results[Result.SUCCEEDED] + results[Result.ALREADY_DONE]
        self._bar.show(done=done, failed=results.total() - done, open_=len(self._filling.open))


def _by(attempt: StartedAttempt) -> str:
    owner = attempt.task or (attempt.run.owner if attempt.run else None)
    return f": attempt {attempt.attempt}, {short_owner(owner)}" if owner else ""


def _counted(gaps: Sequence[Gap]) -> str:
    """`30 ticks: 20 done, 3 failed, 7 missing`."""
    counts = Counter(gap.state for gap in gaps)
    if not gaps:
        return "no ticks were due"
    many = f"{len(gaps)} tick{'s' if len(gaps) > 1 else ''}"
    return f"{many}: {', '.join(f'{counts[each]} {each}' for each in PeriodState if counts[each])}"


class BackfillBar:
    """A progress bar at the bottom of a terminal; prints nothing elsewhere."""

    def __init__(self, console: PlainConsole, *, total: int) -> None:
        """Prepare the bar; it is shown during the `with` block.

        Args:
            console: Where lines are printed meanwhile.
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
        """Show the bar."""
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the bar."""
        self._progress.stop()

    def show(self, *, done: int, failed: int, open_: int) -> None:
        """Show the current counts."""
        text = "settled, " + (f"{failed} failed, " if failed else "") + f"{open_} running"
        self._progress.update(self._task, completed=done + failed, description=text)
