"""`cronce backfill`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

import click

from cronce.cli.actions.fill import Backfill, Gap, plan
from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import Refuse, Start
from cronce.cli.actions.start import Starter
from cronce.cli.actions.ticks import moment_of, ticks_between
from cronce.cli.app import (
    check_ticks_are_known,
    commands_for,
    group_option,
    json_option,
    ledger_option,
    opened,
    operator,
)
from cronce.cli.arguments import job_argument
from cronce.cli.output.documents import as_json, backfill_document
from cronce.cli.parameters import TEXT
from cronce.cli.ways import WithCommand, command_suffix, config_option, way_for
from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.schedule import Timetable
from cronce.stores.store import Bound
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import CronceError, InputInvalidError
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import ConcurrencyPolicy
from cronce.vocabulary.states import Status, Trigger

if TYPE_CHECKING:
    from cronce.cli.actions.host_start import HostJob
    from cronce.cli.output.backfill import BackfillReport
    from cronce.ecs import JobDefinition

BETWEEN_LOOKS = 2.0
"""Seconds between two looks; each costs one read of the ledger per active run."""

_MOST = 1000
_MOST_A_PAGE = 1000


@click.command(
    "backfill",
    cls=WithCommand,
    epilog="""\b
Examples:
  cronce backfill daily-digest --from 2026-11-01 --to 2026-11-28
  cronce backfill daily-digest --from 2026-11-01 --to 2026-11-28 --yes
  cronce backfill hourly --from 2026-11-28T06:00:00Z \\
      --to 2026-11-28T12:00:00Z --yes --parallel 3
  cronce backfill daily-digest --from 2026-11-01 --to 2026-11-28 --yes \\
      --config clock.toml -- ./send-digest --day '{period}'

\b
Without ECS, --config has the schedule. Each run is started through the target
of the clock's job; COMMAND runs here instead, under the guard of 'cronce
exec', with CRONCE_POLICY, one period after the other.

The ticks are those of the schedule as it is now. Days and times without a
zone are read in the schedule's zone. Both ends are included; ticks that are
not due yet are left out. A run that succeeded is never repeated, so you can
give the same command again to continue where it stopped.

\b
Exit codes: 0 the plan was shown (with --yes: every run has succeeded); 1 not
every run has succeeded; 64 bad usage; 69 the ledger, the schedules or ECS
cannot be used; 130 Ctrl-C: tasks that were started continue.

\b
The JSON document is {"job", "from", "to", "ticks", "counts"}; a tick is
{"period", "local", "was", "result"}, with result null without --yes. With
--yes it is printed at the end; progress is reported on stderr.""",
)
@job_argument
@click.option("--from", "start", metavar="T", callback=TEXT, required=True, help="The first day or time.")
@click.option("--to", "end", metavar="T", callback=TEXT, required=True, help="The last day or time, included.")
@click.option(
    "--dry-run/--yes", "dry_run", default=True, help="Show what would be started, or start it.  [default: show]"
)
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="How many runs at a time; more than 1 needs a job whose runs may overlap (ALLOW).",
)
@click.option("--keep-going", is_flag=True, help="Continue after a failure instead of stopping.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    default=_MOST,
    show_default=True,
    help="Refuse to plan more periods than this.",
)
@click.option("--reason", metavar="TEXT", callback=TEXT, help="Why; recorded with each run.")
@click.option("--actor", metavar="NAME", callback=TEXT, help="Who asks; recorded.  [default: you, as user@host]")
@config_option
@json_option
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    start: str,
    end: str,
    dry_run: bool,
    parallel: int,
    keep_going: bool,
    limit: int,
    reason: str | None,
    actor: str | None,
    config: str | None,
    as_document: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Run the periods of JOB in a time range that did not succeed.

    Without --yes it only shows the state of each tick and what would be started. With --yes it
    starts each task as the schedule does and follows it until its run has ended.
    """
    from cronce.cli.output.backfill import BackfillReport  # noqa: PLC0415  # rich

    commands = commands_for(ctx, job, "-")
    with opened(url) as ledger:
        way = way_for(ctx, ledger, job, url=url, group=group, config=config)
        definition = way.definition
        check_ticks_are_known(definition)
        policy, schedule = definition.policy, definition.schedule
        if parallel > 1 and policy.concurrency_policy is not ConcurrencyPolicy.ALLOW:
            allowed = f"1: runs of {job} must not overlap ({policy.concurrency_policy}); only ALLOW takes more"
            raise InputInvalidError("--parallel", parallel, allowed)
        if parallel > 1 and way.is_here:
            raise InputInvalidError("--parallel", parallel, "1 with COMMAND: it runs in this process")
        now = datetime.now(UTC)
        starter = Starter(
            ledger,
            way.launcher,
            definition,
            commands,
            tasks=way.tasks,
            trigger=Trigger.BACKFILL,
            actor=actor or operator(),
            reason=reason,
        )
        _check_periods(ledger, definition)
        span = _span(schedule, start, end)
        ticks = _ticks(definition, *span, limit=limit, now=now)
        gaps = plan(ticks, _existing(ledger, job, [*ticks.values()]), policy.on_lost, now)
        report = BackfillReport(schedule, gaps, on_stderr=as_document)
        filling = Backfill(gaps, _Work(starter, report), parallel=parallel, keep_going=keep_going)
        again = f"{commands.backfill(_options(ctx))}{command_suffix(ctx)}"
        try:
            if not dry_run:
                code = _fill(filling, report, again)
                for run in _skipped_for(ledger, gaps, since=now, job=job):
                    report.skipped(run, replace(commands, period=run.period).run_again())
                return code
            if not as_document:
                report.plan(job, span, again, left_out=_has_coming(schedule, now, span[1]))
            return 0
        finally:
            if as_document:
                document = backfill_document(job, span, gaps, schedule.timezone, None if dry_run else filling)
                click.echo(as_json(document))


def _options(ctx: click.Context) -> list[str]:
    """The options to repeat in the command that continues this backfill."""
    given = [
        (f"--{name.replace('_', '-')}", ctx.params[param])
        for name, param in (
            ("from", "start"),
            ("to", "end"),
            ("parallel", "parallel"),
            ("limit", "limit"),
            ("reason", "reason"),
            ("actor", "actor"),
            ("config", "config"),
        )
        if ctx.get_parameter_source(param) is click.core.ParameterSource.COMMANDLINE
    ]
    return [f"{name}={value}" for name, value in given] + ["--keep-going"] * ctx.params["keep_going"] + ["--yes"]


def _check_periods(ledger: Ledger, definition: JobDefinition | HostJob) -> None:
    """Refuse a job that names its own periods: each tick would seem missing, and its work would be repeated."""
    newest = ledger.page(definition.job).runs
    if newest and not any(definition.is_period(run.period) for run in newest):
        allowed = f"a job whose periods are its ticks; its newest run is for {newest[0].period}"
        raise InputInvalidError("JOB", definition.job, f"{allowed}. Start single runs with 'cronce rerun'")


def _span(schedule: Timetable, start: str, end: str) -> tuple[datetime, datetime]:
    since, until = (
        moment_of(start, schedule.timezone, what="--from"),
        moment_of(end, schedule.timezone, what="--to", end=True),
    )
    if until < since:
        raise InputInvalidError("--to", end, f"a day or time not before {start} (--from)")
    return since, until


def _ticks(
    definition: JobDefinition | HostJob, since: datetime, until: datetime, *, limit: int, now: datetime
) -> dict[datetime, str]:
    """The ticks that were due, with their periods. One run before its time would be refused as done when it is due."""
    end = definition.end
    until = min(until, now)
    due = (t for t in ticks_between(definition.schedule, since, max(since, until)) if end is None or t < end)
    ticks = list(islice(due, limit + 1))
    if len(ticks) > limit:
        span = f"{period_of(since)} to {period_of(until)}"
        raise InputInvalidError("the span", span, f"at most {limit} periods; raise the limit with --limit N")
    return {tick: definition.period_of(tick) for tick in ticks if tick <= until}


def _skipped_for(ledger: Ledger, gaps: Sequence[Gap], *, since: datetime, job: str) -> list[RunRecord]:
    """The scheduled runs that were skipped meanwhile because a run of this backfill was active."""
    ours = {gap.period for gap in gaps}
    return [
        run
        for run in reversed(ledger.page(job).runs)
        if run.status is Status.SKIPPED and run.blocked_by in ours and run.period not in ours
        if run.blocked_by_job is None
        if run.finished_at is not None and run.finished_at >= since
    ]


def _has_coming(schedule: Timetable, now: datetime, until: datetime) -> bool:
    coming = schedule.next(now)
    return coming is not None and coming <= until


def _existing(ledger: Ledger, job: str, periods: Sequence[str]) -> dict[str, RunRecord | UnreadableRow]:
    """The existing runs of the span by period, read page by page, newest first."""
    runs: dict[str, RunRecord | UnreadableRow] = {}
    before = Bound.at(periods[-1]) if periods else None
    while before is not None:
        page = ledger.page(job, limit=_MOST_A_PAGE, before=before)
        runs |= {row.period: row for row in page.rows}
        before = page.before if page.before and page.before > periods[0] else None
    return runs


def _fill(filling: Backfill, report: BackfillReport, again: str) -> int:
    try:
        with report.progress_of(filling):
            filling.run()
    except (KeyboardInterrupt, CronceError) as error:
        report.interrupted(filling, again, by_person=isinstance(error, KeyboardInterrupt))
        raise
    return 0 if report.ended(filling, again) else exit_codes.PROBLEM


class _Work:
    """The world of a backfill: the starter, and this host's clock."""

    def __init__(self, starter: Starter, report: BackfillReport) -> None:
        self._starter = starter
        self.report_waiting = report.waiting
        self.report_started = report.started
        self.report_settled = report.settled

    def may_start(self, gap: Gap) -> Start | Refuse:
        """Whether the run of the tick may start now."""
        return self._starter.may_start(gap.period)

    def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
        """Start its task, or return the reason why ECS did not."""
        return self._starter.start(gap.period, start)

    def found(self, gap: Gap, run: RunRecord) -> StartedAttempt:
        """Follow an attempt that another start began."""
        return self._starter.attempt(gap.period, run, run.attempt)

    def now(self) -> datetime:
        """The current time."""
        return datetime.now(UTC)

    def pause(self) -> None:
        """Wait until the next look."""
        time.sleep(BETWEEN_LOOKS)
