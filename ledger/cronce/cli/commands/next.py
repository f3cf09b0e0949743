"""`cronce next`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from cronce.cli.actions.ticks import is_expression, moment_of
from cronce.cli.app import check_ticks_are_known, group_option, json_option, launcher_for, ledger_option, opened
from cronce.cli.arguments import complete_job
from cronce.cli.parameters import TEXT
from cronce.operate.pauses import pause_remark
from cronce.operate.wording import visible
from cronce.schedule import Kind, Schedule, ScheduleInvalidError, Timetable, parse, zone_data
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.ledger_urls import is_in_dynamodb
from cronce.vocabulary.names import period_of

if TYPE_CHECKING:
    from cronce.ecs import WaitingTask

_MOST = 1000
_OPTION_OF_FIELD = {"start": "--from", "timezone": "--timezone"}


class _OneArgument(click.Command):
    """A command that says how an expression becomes one argument."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if "extra argument" not in error.message:
                raise
            text = "More than one argument. Quote an EXPRESSION: cronce next '0 6 * * *'."
            raise click.UsageError(text, ctx) from None


@click.command(
    "next",
    cls=_OneArgument,
    epilog="""\b
Examples:
  cronce next '0 6 * * 1-5' --timezone Europe/Berlin
  cronce next 'cron(30 2 * * ? *)' --timezone America/New_York \\
      --from 2026-03-07
  cronce next '0 6 * * 1-5; 0 9 * * 0' --count 10
  cronce next daily-digest --count 20
  cronce next daily-digest --config clock.toml

An argument with brackets or spaces, or with @ in front, is an EXPRESSION.
Without --timezone it is read in UTC. A rate counts from --from. Several cron
expressions have ';' between them.

\b
The JSON document is {"job", "schedule", "timezone", "remark", "delay",
"waiting", "ticks"}: job is null for an EXPRESSION, remark says why the ticks
do not become runs (null if they do), and delay how long after its time a
clock sends each of them because of its jitter, such as "17s" (null for none).
A tick is {"period", "local", "note"}: the period of its run, the instant of
the tick in the schedule's zone, and how daylight saving affects it ("" if it
does not). waiting has the retries and
catch-ups that machines have arranged: {"period", "trigger", "starts_at"}.

\b
Exit codes: 0 listed, even if there are no ticks; 1 unknown job; 64 bad usage,
such as an invalid expression; 69 the schedules cannot be used.""",
)
@click.argument("what", metavar="JOB|EXPRESSION", callback=TEXT, shell_complete=complete_job)
@click.option("--timezone", metavar="TZ", callback=TEXT, help="The time zone of an EXPRESSION, such as Europe/Berlin.")
@click.option(
    "--from",
    "since",
    metavar="T",
    callback=TEXT,
    help="The first day or time, included; without a zone, in the schedule's.  [default: now]",
)
@click.option(
    "--count", metavar="N", type=click.IntRange(1, _MOST), default=5, show_default=True, help="How many ticks."
)
@click.option(
    "--config",
    metavar="FILE",
    callback=TEXT,
    help="Find JOB in this configuration of 'cronce clock' instead of the schedule group.",
)
@json_option
@group_option
@ledger_option
def command(
    *,
    what: str,
    timezone: str | None,
    since: str | None,
    count: int,
    config: str | None,
    as_document: bool,
    group: str | None,
    url: str | None,
) -> None:
    """List the next ticks of a job or of a schedule expression."""
    if is_expression(what):
        if config is not None:
            raise InputInvalidError("--config", config, "no --config with an EXPRESSION; it belongs to a JOB")
        table = _of_expression(what, timezone or "UTC", since)
    elif timezone is not None:
        allowed = "no --timezone with a JOB, which has its own; it belongs to an EXPRESSION"
        raise InputInvalidError("--timezone", timezone, allowed)
    else:
        table = _of_clock(what, config) if config is not None else _of_job(what, url, group)
    start = table.start or (moment_of(since, table.ticks.timezone, what="--from") if since else datetime.now(UTC))
    ticks = [tick for tick in table.ticks.preview(start, count) if table.end is None or tick.utc < table.end]
    periods = [table.period_of(tick.utc) for tick in ticks]
    if as_document:
        from cronce.cli.output.documents import as_json, tick_document, waiting_document  # noqa: PLC0415

        document = {
            "job": table.job,
            "schedule": table.expression,
            "timezone": table.ticks.timezone,
            "remark": table.remark or None,
            "delay": format_duration(table.delay) if table.delay else None,
            "waiting": [waiting_document(task) for task in table.waiting],
            "ticks": [tick_document(tick, period) for tick, period in zip(ticks, periods, strict=True)],
        }
        click.echo(as_json(document))
        return
    from cronce.cli.output.tables import PlainConsole, ticks_table  # noqa: PLC0415  # rich

    console = PlainConsole()
    name = "" if table.job is None else f"{visible(table.job)}: "
    console.say(f"{name}{table.ticks.describe()}")
    if table.remark:
        console.say(f"{table.remark[0].upper()}{table.remark[1:]}.")
    if table.delay:
        console.say(f"Each is sent {format_duration(table.delay)} later, because of the job's jitter.")
    if copies := zone_data(table.ticks.timezone):
        console.say(f"Time zone data: {copies[0]}.")
    if ticks:
        console.print(
            ticks_table(
                ticks, periods, zone=table.ticks.timezone, now=None if since else datetime.now(UTC), width=console.width
            )
        )
    if not ticks:
        console.say("No further ticks." if since is None else f"No ticks from {start:%Y-%m-%d %H:%M:%S} UTC on.")
    elif len(ticks) < count:
        console.say("No ticks after that.")
    for task in table.waiting:
        console.say(f"Also {visible(task.period)} ({visible(task.trigger)}), at {period_of(task.starts_at)}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timetable:
    """The ticks that were asked for.

    Attributes:
        start: The first instant to list, if it is fixed already.
        job: The job; None for an expression.
        period_of: The period of a tick's run.
        end: No ticks from this instant on; None for no end.
        remark: Why these ticks do not become runs; empty if they do.
        delay: How long after its time a clock sends each tick.
        waiting: The job's tasks that machines have arranged, besides its ticks.
    """

    ticks: Timetable
    start: datetime | None = None
    job: str | None = None
    period_of: Callable[[datetime], str] = period_of
    end: datetime | None = None
    remark: str = ""
    delay: timedelta = timedelta(0)
    waiting: Sequence[WaitingTask] = ()

    @property
    def expression(self) -> str:
        """The schedule's expression, or `every 10s` of a clock's job."""
        return self.ticks.expression if isinstance(self.ticks, Schedule) else self.ticks.describe()


def _of_expression(text: str, timezone: str, since: str | None) -> _Timetable:
    try:
        schedule = parse(text, timezone=timezone)
        if schedule.kind is not Kind.RATE:
            return _Timetable(ticks=schedule)
        start = datetime.now(UTC) if since is None else moment_of(since, timezone, what="--from")
        start = start.replace(microsecond=0)
        return _Timetable(ticks=parse(text, timezone=timezone, start=start), start=start)
    except ScheduleInvalidError as error:
        option = _OPTION_OF_FIELD.get(error.field)
        raise error if option is None else error.called(option) from None


def _of_job(job: str, url: str | None, group: str | None) -> _Timetable:
    if not group and not is_in_dynamodb(url):
        raise InputMissingError(
            f"the schedule of the job {job}",
            f"give --schedule-group, --config of a clock, or a ledger in DynamoDB by --ledger or {LEDGER};"
            " an EXPRESSION has spaces or brackets, such as '0 6 * * *'",
        )
    launcher = launcher_for(url, group)
    definition = launcher.find(job)
    check_ticks_are_known(definition)
    paused = None
    if url:
        with opened(url) as ledger:
            paused = pause_remark(ledger, job, datetime.now(UTC))
    remarks = [
        paused or "",
        "" if definition.enabled else "its schedule is disabled: none of these ticks will be delivered",
        "the job is suspended: each of these ticks will be skipped" if definition.policy.suspend else "",
    ]
    remark = "; ".join(filter(None, remarks))
    return _Timetable(
        ticks=definition.schedule,
        job=job,
        period_of=definition.period_of,
        end=definition.end,
        remark=remark,
        waiting=launcher.waiting(job),
    )


def _of_clock(job: str, config: str) -> _Timetable:
    from cronce.cli.actions.host_start import job_of_config  # noqa: PLC0415  # only what is used is loaded

    found = job_of_config(job, config)
    timetable = found.timetable
    if timetable is None:
        raise InputInvalidError("JOB", job, f"a job of {config} with a schedule; only people start this one")
    remark = "the job is suspended, so each of these is skipped" if found.suspend else ""
    return _Timetable(ticks=timetable, job=job, period_of=found.period, remark=remark, delay=found.delay)
