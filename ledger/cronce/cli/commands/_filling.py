"""`cronce backfill`: run the periods of a span that were not done, one after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from cronce.cli.actions.fill import Backfill, Gap, plan
from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import Refuse, Start
from cronce.cli.actions.start import Starter
from cronce.cli.actions.ticks import moment_of, ticks_between
from cronce.cli.commands._group import (
    check_ticks_are_known,
    launcher_for,
    opened,
)
from cronce.cli.commands._progress import Teller, print_document
from cronce.cli.output.advice import Commands
from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord
from cronce.schedule import Schedule
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import CronceError, InputInvalidError
from cronce.vocabulary.names import period_of, scheduled_time_of
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition

PAUSE = 2.0
"""Seconds between two looks; a look costs the ledger one read for each run that is at work."""

_MOST_A_PAGE = 1000


def fill_gaps(
    commands: Commands,
    options: Sequence[str],
    *,
    start: str,
    end: str,
    dry_run: bool,
    parallel: int,
    keep_going: bool,
    limit: int,
    reason: str | None,
    actor: str,
    as_document: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Show what there is to do, or do it; the exit code.

    Args:
        commands: The lines to type about the job; their period does not matter.
        options: Those to give again, so that the same backfill goes on.
        start: The first day or time.
        end: The last one, included.
        dry_run: True to start nothing.
        parallel: So many at a time.
        keep_going: True to go on after a failure.
        limit: So many periods at most.
        reason: Why; recorded.
        actor: Who asks; recorded.
        as_document: True to print JSON.
        group: The schedule group, if it does not follow from the ledger.
        url: The ledger.
    """
    job = commands.job
    with opened(url) as ledger:
        launcher = launcher_for(url, group)
        definition = launcher.find(job)
        check_ticks_are_known(definition)
        policy, schedule = definition.policy, definition.schedule
        if parallel > 1 and policy.concurrency_policy is not ConcurrencyPolicy.ALLOW:
            allowed = f"1: runs of {job} must not overlap ({policy.concurrency_policy}); only ALLOW takes more"
            raise InputInvalidError("--parallel", parallel, allowed)
        now = datetime.now(UTC)
        starter = Starter(
            ledger,
            launcher,
            definition,
            commands,
            trigger=Trigger.BACKFILL,
            actor=actor,
            reason=reason,
        )
        _check_periods(ledger, job)
        span = _span(schedule, start, end)
        ticks = _ticks(definition, *span, limit=limit, now=now)
        gaps = plan(ticks, _standing(ledger, job, ticks), policy.on_lost, now)
        teller = Teller(schedule, gaps, on_stderr=as_document)
        filling = Backfill(gaps, _Work(starter, teller), parallel=parallel, keep_going=keep_going)
        again = commands.backfill(options)
        try:
            if not dry_run:
                code = _fill(filling, teller, again)
                for run in _skipped_for(ledger, gaps, since=now, job=job):
                    teller.tell_skipped(run, replace(commands, period=run.period).run_again())
                return code
            if not as_document:
                teller.show_plan(job, span, again, left_out=_has_coming(schedule, now, span[1]))
            return 0
        finally:
            if as_document:
                print_document(job, span, gaps, schedule, None if dry_run else filling)


def _check_periods(ledger: Ledger, job: str) -> None:
    """Return unless the job names its periods itself: each tick would seem missing, and its work be done again."""
    newest = ledger.page(job).runs
    if newest and not any(scheduled_time_of(run.period) for run in newest):
        allowed = f"a job whose periods are its ticks; the newest of its runs is for {newest[0].period}"
        raise InputInvalidError("JOB", job, f"{allowed}, and 'cronce rerun' can start it")


def _span(schedule: Schedule, start: str, end: str) -> tuple[datetime, datetime]:
    since, until = (
        moment_of(start, schedule.timezone, what="--from"),
        moment_of(end, schedule.timezone, what="--to", end=True),
    )
    if until < since:
        raise InputInvalidError("--to", end, f"a day or time not before {start} (--from)")
    return since, until


def _ticks(definition: JobDefinition, since: datetime, until: datetime, *, limit: int, now: datetime) -> list[datetime]:
    """The ticks that were due. One that is still to come would be refused as done when its time comes."""
    end = definition.end
    until = min(until, now)
    due = (t for t in ticks_between(definition.schedule, since, max(since, until)) if end is None or t < end)
    ticks = list(islice(due, limit + 1))
    if len(ticks) > limit:
        span = f"{period_of(since)} to {period_of(until)}"
        raise InputInvalidError("the span", span, f"at most {limit} periods, or as many as --limit N says")
    return [tick for tick in ticks if tick <= until]


def _skipped_for(ledger: Ledger, gaps: Sequence[Gap], *, since: datetime, job: str) -> list[RunRecord]:
    """The ticks of the schedule that came meanwhile and found a run of this backfill at work."""
    ours = {gap.period for gap in gaps}
    return [
        run
        for run in reversed(ledger.page(job).runs)
        if run.status is Status.SKIPPED and run.blocked_by in ours and run.period not in ours
        if run.finished_at is not None and run.finished_at >= since
    ]


def _has_coming(schedule: Schedule, now: datetime, until: datetime) -> bool:
    coming = schedule.next(now)
    return coming is not None and coming <= until


def _standing(ledger: Ledger, job: str, ticks: Sequence[datetime]) -> dict[str, RunRecord]:
    """The runs of the span, read page by page, newest first."""
    runs: dict[str, RunRecord] = {}
    before = period_of(ticks[-1] + timedelta(seconds=1)) if ticks else None
    while before is not None:
        page = ledger.page(job, limit=_MOST_A_PAGE, before=before)
        runs |= {run.period: run for run in page.runs}
        before = page.before if page.before and page.before > period_of(ticks[0]) else None
    return runs


def _fill(filling: Backfill, teller: Teller, again: str) -> int:
    try:
        with teller.at_work(filling):
            filling.run()
    except (KeyboardInterrupt, CronceError) as error:
        teller.tell_interrupted(filling, again, by_person=isinstance(error, KeyboardInterrupt))
        raise
    return 0 if teller.tell_end(filling, again) else exit_codes.PROBLEM


class _Work:
    """What the backfill does to the world: through the starter, on this host's clock."""

    def __init__(self, starter: Starter, teller: Teller) -> None:
        self._starter = starter
        self._run: RunRecord | None = None
        self.tell_waiting = teller.tell_waiting
        self.tell_started = teller.tell_started
        self.tell_settled = teller.tell_settled

    def may_start(self, gap: Gap) -> Start | Refuse:
        """Whether the tick's run may start now."""
        self._run, verdict = self._starter.may_start(gap.period)
        return verdict

    def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
        """Start its task; the reason if it was not started."""
        return self._starter.start(gap.period, self._run, start)

    def found(self, gap: Gap, run: RunRecord) -> StartedAttempt:
        """Follow the attempt that somebody else began."""
        return self._starter.attempt(gap.period, run, run.attempt)

    def now(self) -> datetime:
        """The time."""
        return datetime.now(UTC)

    def pause(self) -> None:
        """Wait until it is worth while to look again."""
        time.sleep(PAUSE)
