"""`cronce show`."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import click

from cronce.cli.app import commands_for, complain, complain_if_unknown, json_option, ledger_option, look_up_row, opened
from cronce.cli.arguments import job_argument, period_argument
from cronce.client.ledger import Ledger
from cronce.operate.advice import Advice, advise
from cronce.operate.look_up import RowKind
from cronce.operate.pauses import pause_remark
from cronce.protocol.records import RunRecord
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError, RecordUnreadableError


@click.command(
    "show",
    epilog="""\b
Examples:
  cronce show daily-digest 2026-11-29
  cronce show daily-digest 2026-11-29T06:00:00Z --json

The JSON document is the run: every attribute of its row by name, null where
it has no value, times in ISO 8601 UTC. result and checkpoint are JSON texts,
as stored. exit_code is 0 for a success.

\b
Exit codes: 0 shown; 1 the run or the job does not exist; 64 bad usage; 69 the
ledger cannot be used.""",
)
@job_argument
@period_argument
@json_option
@ledger_option
@click.pass_context
def command(ctx: click.Context, *, job: str, period: str, as_document: bool, url: str | None) -> int:
    """Show one run in full, and what to do next.

    Its attempts, its owner and lease, what blocked it or made it fail, and the exact command to
    type next.
    """
    with opened(url) as ledger:
        run = ledger.run(job, period)
        if run is None and complain_if_unknown(ctx, ledger, job):
            return exit_codes.PROBLEM
        if run is None:
            missing = f"there is no run {job} {period} in {ledger.where}. To list the runs of the job:"
            return complain(missing, command=commands_for(ctx, job, period).runs())
        if as_document:
            from cronce.cli.output.documents import as_json, run_document  # noqa: PLC0415

            click.echo(as_json(run_document(run)))
            return 0
        blocker = _blocker_of(run, ledger)
        about, commands = look_up_row(ctx, ledger, run.job, run.period)
        remark = pause_remark(ledger, run.job, datetime.now(UTC))
    from cronce.cli.output.runs import run_page  # noqa: PLC0415  # rich
    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415
    from cronce.operate.row_causes import cause_of_row  # noqa: PLC0415  # loads what calls AWS

    now = datetime.now(UTC)
    advice = advise(run, now, commands, about)
    if about.kind is RowKind.RUN and (run.exit_code or run.error) and (cause := cause_of_row(run)) is not None:
        advice = Advice(f"{cause.sentence} {advice.meaning}", advice.steps)
    console = PlainConsole()
    for part in (*run_page(run, advice, now=now, width=console.width, blocker=blocker), ""):
        console.print(part)
    console.print_advice(advice)
    if remark is not None:
        console.say(remark)
    return 0


def _blocker_of(run: RunRecord, ledger: Ledger) -> RunRecord | None:
    """The run named in `blocked_by`, if it can be read: a foreign writer may have put anything there."""
    with suppress(InputInvalidError, RecordUnreadableError):
        return ledger.run(run.blocked_by_job or run.job, run.blocked_by) if run.blocked_by else None
    return None
