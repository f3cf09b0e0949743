"""`cronce resume`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from cronce.cli.app import commands_for, complain_if_unknown, json_option, ledger_option, opened
from cronce.cli.arguments import job_argument
from cronce.operate.wording import pause_in_words, visible
from cronce.vocabulary import exit_codes
from cronce.vocabulary.names import period_of


@click.command(
    "resume",
    epilog="""\b
Examples:
  cronce resume daily-digest
  cronce resume daily-digest --json

The next tick of JOB starts again. Ticks that were skipped meanwhile are not
made up; the command to do that is printed. On a ledger without schedules it is
the one that lists them.

The JSON document is {"job", "was_paused"}: the pause that ended, {"at", "by",
"why", "until"}, or null if the job was not paused.

\b
Exit codes: 0 the job is not paused any more, or was not; 1 no such job;
64 bad usage; 69 the ledger cannot be used.""",
)
@job_argument
@json_option
@ledger_option
@click.pass_context
def command(ctx: click.Context, *, job: str, as_document: bool, url: str | None) -> int:
    """End the pause of JOB."""
    now = datetime.now(UTC)
    with opened(url) as ledger:
        pause = ledger.resume(job)
        if pause is None and not ledger.page(job, limit=1).rows and complain_if_unknown(ctx, ledger, job):
            return exit_codes.PROBLEM
    if as_document:
        from cronce.cli.output.documents import as_json, pause_document  # noqa: PLC0415

        click.echo(as_json({"job": job, "was_paused": pause and pause_document(pause)}))
        return 0
    if pause is None:
        click.echo(f"{visible(job)} is not paused.")
        return 0
    click.echo(f"Resumed {visible(job)}. It was {pause_in_words(pause, now=now)}")
    commands, span = commands_for(ctx, job, ""), [f"--from={period_of(pause.at)}", f"--to={period_of(now)}"]
    if commands.has_schedules:
        click.echo(f"To run the periods that were skipped meanwhile:\n  {visible(commands.backfill(span))}")
    else:
        click.echo(f"To see the periods that were skipped meanwhile:\n  {visible(commands.runs())}")
    return 0
