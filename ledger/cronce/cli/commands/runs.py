"""`cronce runs`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from cronce.cli.app import complain_if_unknown, json_option, ledger_option, look_up_row, opened
from cronce.cli.arguments import job_argument
from cronce.cli.parameters import PERIOD
from cronce.client.ledger import Ledger
from cronce.operate.advice import deserves_a_look, may_be_run_again
from cronce.operate.look_up import RowKind, kind_by_name
from cronce.operate.pauses import pause_remark
from cronce.operate.wording import visible
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.states import Status

_MOST_A_PAGE = 1000

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BEGINNING_OF_DATE = re.compile(r"[0-9]{4}(?![0-9])")

_MOST_READ = 10_000
"""How many runs `--status` searches before it prints how to continue."""


@click.command(
    "runs",
    epilog="""\b
Examples:
  cronce runs daily-digest
  cronce runs daily-digest --status FAILED --status MISSED
  cronce runs daily-digest --json | jq -r '.runs[] | .period + " " + .status'

The JSON document is {"job", "runs", "unreadable", "before"}: the runs, newest
first, with every attribute of their rows; the {"period", "problem"} of rows
that this version cannot read; and the value of --before for the next page
(null on the last one).

\b
Exit codes: 0 listed, even if there are no runs; 1 the job does not exist;
64 bad usage; 69 the ledger cannot be used.""",
)
@job_argument
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, _MOST_A_PAGE), default=20, show_default=True, help="At most N runs."
)
@click.option("--before", metavar="PERIOD", callback=PERIOD, help="Only periods before this one.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in Status], case_sensitive=False),
    help="Only runs with this status; may be repeated.",
)
@json_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    limit: int,
    before: str | None,
    statuses: tuple[str, ...],
    as_document: bool,
    url: str | None,
) -> int:
    """List the runs of JOB, newest period first."""
    now = datetime.now(UTC)
    with opened(url) as ledger:
        if before is not None:
            _check_before(ledger, job, before)
        found, unreadable, following = _find(
            ledger, job, limit=limit, before=before, statuses=statuses or tuple(Status)
        )
        is_empty = not found and not ((statuses or before) and ledger.page(job, limit=1).rows)
        is_unknown = is_empty and complain_if_unknown(ctx, ledger, job)
        if as_document:
            from cronce.cli.output.documents import as_json, run_document  # noqa: PLC0415

            document = {
                "job": job,
                "runs": [run_document(row) for row in found if isinstance(row, RunRecord)],
                "unreadable": [{"period": row.period, "problem": row.problem} for row in unreadable],
                "before": following,
            }
            click.echo(as_json(document))
        elif found:
            _print_table(found, now)
        elif not is_unknown:
            matching = f" that are {' or '.join(statuses)}" if statuses else ""
            earlier = f" before {visible(before)}" if before else ""
            about, _ = look_up_row(ctx, ledger, job, "")
            state = "" if about.enabled else " Its schedule is disabled."
            click.echo(f"No runs of {visible(job)}{matching}{earlier} in {visible(ledger.where)}.{state}")
        if not as_document and not is_unknown and (remark := pause_remark(ledger, job, now)):
            click.echo(remark)
        if statuses and unreadable and not as_document:
            rows = f"{len(unreadable)} row{'s' if len(unreadable) > 1 else ''} cannot be read"
            click.echo(f"{rows}: {', '.join(visible(row.period) for row in unreadable)}")
        if following is not None and not as_document:
            click.echo(f"For earlier runs: --before {shlex.quote(visible(following))}")
        if found and not as_document:
            _print_hint(ctx, ledger, [row for row in found if isinstance(row, RunRecord)], now)
    return exit_codes.PROBLEM if is_unknown else 0


def _check_before(ledger: Ledger, job: str, before: str) -> None:
    """Refuse a text that no period of the job resembles: it would sort before or after all of them.

    Raises:
        InputInvalidError: The newest period is a date or a time, and this is neither, nor the beginning of one.
    """
    newest = ledger.page(job, limit=1).runs
    if newest and _DATE.match(newest[0].period) and not _BEGINNING_OF_DATE.match(before):
        period = newest[0].period
        raise InputInvalidError("--before", before, f"a period such as {period}, or its beginning such as {period[:7]}")


def _print_table(runs: Sequence[RunRecord | UnreadableRow], now: datetime) -> None:
    from cronce.cli.output.runs import runs_table  # noqa: PLC0415  # rich
    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415

    console = PlainConsole()
    console.print(runs_table(runs, now=now, width=console.width))


def _print_hint(ctx: click.Context, ledger: Ledger, runs: Sequence[RunRecord], now: datetime) -> None:
    """Lead to the newest run that did not succeed."""
    odd = next((run for run in runs if deserves_a_look(run, now, kind_by_name(run.job, run.period))), None)
    if odd is None:
        return
    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415  # rich

    console = PlainConsole()
    about, commands = look_up_row(ctx, ledger, odd.job, odd.period)
    is_run = about.kind in (RowKind.RUN, RowKind.DISPATCH)
    console.say(
        f"Why {visible(odd.period)} did not succeed, and what to do:" if is_run else "What to do about this row:"
    )
    console.print_command(commands.why() if about.kind is RowKind.RUN else commands.show())
    if may_be_run_again(odd, now, about):
        console.say("To run it again now:")
        console.print_command(commands.run_again())


def _find(
    ledger: Ledger, job: str, *, limit: int, before: str | None, statuses: tuple[str, ...]
) -> tuple[list[RunRecord | UnreadableRow], list[UnreadableRow], str | None]:
    """The first rows with one of the statuses, the unreadable ones, and the period before which to continue.

    The first list has the unreadable rows too if every status is wanted.
    """
    found: list[RunRecord | UnreadableRow] = []
    unreadable: list[UnreadableRow] = []
    read = 0
    every = len(statuses) == len(Status)
    while True:
        page = ledger.page(job, limit=limit if every else _MOST_A_PAGE, before=before)
        for row in page.rows:
            if isinstance(row, UnreadableRow):
                unreadable.append(row)
            if every or (isinstance(row, RunRecord) and row.status in statuses):
                found.append(row)
                if len(found) == limit:
                    return found, unreadable, row.period if page.before or row is not page.rows[-1] else None
        read += len(page.rows)
        before = page.before
        if before is None or read >= _MOST_READ:
            return found, unreadable, before
