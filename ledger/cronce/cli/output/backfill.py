"""What `cronce backfill` shows on a terminal, on rich: a plan, a line per event, and a progress bar."""

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
from cronce.cli.actions.may_start import Standing
from cronce.cli.actions.ticks import local_of
from cronce.cli.output.tables import PlainConsole, gaps_table
from cronce.cli.output.wording import short_owner, visible
from cronce.protocol.records import RunRecord
from cronce.schedule import Schedule


class Teller:
    """Tells a person what there is to do and what happens: a bar on a terminal, plain lines elsewhere."""

    def __init__(self, schedule: Schedule, gaps: Sequence[Gap], *, on_stderr: bool) -> None:
        self._console = PlainConsole(sys.stderr if on_stderr else None)
        self._schedule, self._gaps = schedule, gaps
        self._filling: Backfill | None = None
        self._bar: BackfillBar | None = None

    def show_plan(self, job: str, span: tuple[datetime, datetime], again: str, *, left_out: bool) -> None:
        """What stands, and what would be started."""
        say = self._console.say
        since, until = (local_of(at, self._schedule.timezone) for at in span)
        say(f"{visible(job)}: {self._schedule.describe()}")
        say(f"{since:%Y-%m-%d %H:%M:%S %Z} to {until:%Y-%m-%d %H:%M:%S %Z}: {_counted(self._gaps)}")
        if self._gaps:
            self._console.print(gaps_table(self._gaps, self._schedule.timezone))
        if left_out:
            say("Ticks that are not due yet are left out.")
        if all(gap.is_done for gap in self._gaps):
            say("There is nothing to start.")
        else:
            say("Nothing was started. To start what is not done:")
            self._console.print_command(again)

    @contextmanager
    def at_work(self, filling: Backfill) -> Iterator[None]:
        """While the block lasts, a terminal shows how far it is."""
        self._filling = filling
        self._console.say(_counted(self._gaps))
        with BackfillBar(self._console, total=len(self._gaps)) as self._bar:
            self._show_counts()
            yield

    def tell_waiting(self, gap: Gap, why: str) -> None:
        """The tick has to wait for another run."""
        self._console.say(f"{gap.period}  waits: {visible(why)}")

    def tell_started(self, gap: Gap, attempt: StartedAttempt) -> None:
        """Its task was started, or it was found at work."""
        owner = attempt.task or (attempt.run.owner if attempt.run else "")
        what = "started" if attempt.task else "at work already"
        self._console.say(f"{gap.period}  {what}: attempt {attempt.attempt}, {short_owner(owner)}")
        self._show_counts()

    def tell_settled(self, gap: Gap, result: Result, text: str) -> None:
        """It has come to its end."""
        match result:
            case Result.NOT_LAUNCHED | Result.REFUSED:
                text = f"not started: {text}"
            case Result.ALREADY_DONE:
                text = "done meanwhile, by an attempt of somebody else"
            case _:
                pass
        self._console.say(f"{gap.period}  {visible(text)}")
        self._show_counts()

    def tell_interrupted(self, filling: Backfill, again: str, *, by_person: bool) -> None:
        """What goes on by itself, and how to go on with the rest."""
        say = self._console.say
        say("Interrupted." if by_person else "Cut short.")
        for gap, attempt in filling.open:
            say(f"{gap.period}  goes on by itself{_by(attempt)}")
        if filling.starting:
            say(f"{filling.starting.period}  may have been started; starting it again begins no second task")
        self._say_how_to_go_on(filling, again)

    def tell_end(self, filling: Backfill, again: str) -> bool:
        """How it ended; True if everything is done."""
        if filling.is_all_done:
            self._console.say("Everything is done.")
        else:
            self._say_how_to_go_on(filling, again)
        return filling.is_all_done

    def tell_skipped(self, run: RunRecord, again: str) -> None:
        """A tick of the schedule found the job at work here, and was skipped."""
        self._console.say(f"{run.period}  came while {run.blocked_by} was at work, and was skipped. To run it now:")
        self._console.print_command(again)

    def _say_how_to_go_on(self, filling: Backfill, again: str) -> None:
        counts = Counter(filling.result_of(gap) for gap in self._gaps)
        self._console.say(", ".join(f"{number} {result.replace('_', ' ')}" for result, number in counts.items()) + ".")
        self._console.say("What is done stays done. To go on:")
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
    counts = Counter(gap.standing for gap in gaps)
    if not gaps:
        return "no tick was due"
    many = f"{len(gaps)} tick{'s' if len(gaps) > 1 else ''}"
    return f"{many}: {', '.join(f'{counts[each]} {each}' for each in Standing if counts[each])}"


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
