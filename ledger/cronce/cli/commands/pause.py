"""`cronce pause`."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import click

from cronce.cli.actions.ticks import moment_of
from cronce.cli.app import commands_for, complain_if_unknown, json_option, ledger_option, opened, operator
from cronce.cli.arguments import job_argument
from cronce.cli.parameters import LINE, TEXT
from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.operate.look_up import RowKind, kind_by_name
from cronce.operate.wording import visible
from cronce.vocabulary import exit_codes
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.errors import InputInvalidError


@click.command(
    "pause",
    epilog="""\b
Examples:
  cronce pause daily-digest --why "the mail provider is down"
  cronce pause billing --why "month end" --until 2026-12-01T06:00:00Z
  cronce pause billing --why "deploying" --until 2h

Until then no machine starts a run of JOB: no schedule, clock, retry or
catch-up. Its ticks become SKIPPED(paused) and are not made up later. A run
that has begun goes on. A person can start a run by hand, with 'cronce rerun'
or 'cronce backfill'. A deployment does not end the pause. Pause CLOCK:JOB, and
that clock sends nothing for JOB.

A time without a zone is read in UTC. To change reason or end, pause again.

The JSON document is {"job", "paused"}, where paused is {"at", "by", "why",
"until"}; until is null if only 'cronce resume' ends the pause.

\b
Exit codes: 0 paused; 1 the job does not exist; 64 bad usage; 69 the ledger
cannot be used.""",
)
@job_argument
@click.option("--why", metavar="TEXT", required=True, callback=LINE, help="The reason; shown with each skipped run.")
@click.option(
    "--until", metavar="TIME", callback=TEXT, help="When it ends by itself: a day, a time, or a duration such as 2h."
)
@click.option("--actor", metavar="NAME", callback=LINE, help="Who pauses it; recorded.  [default: you, as user@host]")
@json_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    why: str,
    until: str | None,
    actor: str | None,
    as_document: bool,
    url: str | None,
) -> int:
    """Let no machine start a run of JOB until it is resumed."""
    now = datetime.now(UTC)
    ends = None if until is None else _end_of(until, now)
    if ends is not None and ends <= now:
        raise InputInvalidError("--until", until, "a time in the future")
    with opened(url) as ledger:
        _check_is_a_job(ledger, job)
        if not ledger.page(job, limit=1).rows and complain_if_unknown(ctx, ledger, job):
            return exit_codes.PROBLEM
        pause = ledger.pause(job, actor=actor or operator(), why=why, until=ends)
    from cronce.cli.output.documents import as_json, pause_document  # noqa: PLC0415

    if as_document:
        click.echo(as_json({"job": job, "paused": pause_document(pause)}))
        return 0
    end = f" until {pause.until:%Y-%m-%d %H:%M:%S} UTC" if pause.until else ""
    click.echo(f"Paused {visible(job)}{end}: no machine starts a run of it. A run that has begun goes on.")
    click.echo("To resume it:" if pause.until is None else "To resume it before:")
    click.echo(f"  {visible(commands_for(ctx, job, '').resume())}")
    return 0


def _end_of(text: str, now: datetime) -> datetime:
    """The moment that a person means.

    Raises:
        InputInvalidError: It is neither a day, a time nor a duration.
    """
    with suppress(InputInvalidError):
        return (now + parse_duration(text, what="--until")).replace(microsecond=0)
    try:
        return moment_of(text, "UTC", what="--until", end=True)
    except InputInvalidError:
        allowed = "a duration such as 2h, a day such as 2026-11-30 (its end), or a time such as 2026-11-30T06:00:00Z"
        raise InputInvalidError("--until", text, allowed) from None


def _check_is_a_job(ledger: Ledger, job: str) -> None:
    """Refuse what is no job: cronce's own rows and a leader's name.

    Raises:
        InputInvalidError: It is one of those.
    """
    if kind_by_name(job, "") is RowKind.WATCHDOG:
        raise InputInvalidError("JOB", job, "a job; this name is one of cronce's own")
    if ledger.run(job, LEADER) is not None:
        raise InputInvalidError("JOB", job, "a job; this is the name under which processes elect a leader")
