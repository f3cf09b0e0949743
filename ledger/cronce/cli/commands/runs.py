"""`cronce runs`."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import click

from cronce.cli.actions.look_up import RowKind, kind_by_name
from cronce.cli.app import json_option, ledger_option, look_up_row, opened
from cronce.cli.output.advice import deserves_a_look, may_be_run_again
from cronce.cli.output.wording import visible
from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Status

_MOST_A_PAGE = 1000

_MOST_READ = 10_000
"""How many runs `--status` searches before it prints how to continue."""


@click.command(
    "runs",
    epilog="""\b
Examples:
  cronce runs daily-digest
  cronce runs daily-digest --status FAILED --status MISSED
  cronce runs daily-digest --json | jq -r '.runs[] | .period + " " + .status'

The JSON document is {"job", "runs", "before"}: the runs, newest first, with
every attribute of their rows, and the value of --before for the next page
(null on the last one).""",
)
@click.argument("job")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, _MOST_A_PAGE), default=20, show_default=True, help="At most N runs."
)
@click.option("--before", metavar="PERIOD", help="Only periods before this one.")
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
) -> None:
    """List the runs of JOB, newest period first."""
    now = datetime.now(UTC)
    with opened(url) as ledger:
        found, following = _find(ledger, job, limit=limit, before=before, statuses=statuses or tuple(Status))
        odd = next((run for run in found if deserves_a_look(run, now, kind_by_name(run.job, run.period))), None)
        if odd is not None and not as_document:
            about, commands = look_up_row(ctx, ledger, job, odd.period)
    if as_document:
        from cronce.cli.output.documents import as_json, run_document  # noqa: PLC0415

        document = {"job": job, "runs": [run_document(run) for run in found], "before": following}
        click.echo(as_json(document))
        return
    from cronce.cli.output.tables import PlainConsole, is_wide, runs_table  # noqa: PLC0415  # rich

    console = PlainConsole()
    if found:
        console.print(runs_table(found, now=now, wide=is_wide(console)))
    else:
        matching = f" that are {' or '.join(statuses)}" if statuses else ""
        earlier = f" before {before}" if before else ""
        console.out(f"No runs of {visible(job)}{matching}{earlier} in {visible(ledger.where)}.")
    if following is not None:
        console.out(f"For earlier runs: --before {shlex.quote(visible(following))}")
    if odd is not None:
        is_run = about.kind in (RowKind.RUN, RowKind.DISPATCH)
        what = f"Why {visible(odd.period)} did not succeed, and what to do:" if is_run else "What to do about this row:"
        console.out(what)
        console.print_command(commands.show())
        if may_be_run_again(odd, now, about):
            console.out("To run it again now:")
            console.print_command(commands.run_again())


def _find(
    ledger: Ledger, job: str, *, limit: int, before: str | None, statuses: tuple[str, ...]
) -> tuple[list[RunRecord], str | None]:
    """The first runs with one of the statuses, and the period before which to continue."""
    found: list[RunRecord] = []
    read = 0
    every = len(statuses) == len(Status)
    while True:
        page = ledger.page(job, limit=limit if every else _MOST_A_PAGE, before=before)
        for run in page.runs:
            if run.status in statuses:
                found.append(run)
                if len(found) == limit:
                    return found, run.period if page.before or run is not page.runs[-1] else None
        read += len(page.runs)
        before = page.before
        if before is None or read >= _MOST_READ:
            return found, before
