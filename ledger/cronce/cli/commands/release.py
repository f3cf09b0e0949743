"""`cronce release`."""

from __future__ import annotations

import click

from cronce.cli.app import complain, json_option, ledger_option, look_up_row, opened, operator
from cronce.cli.arguments import job_argument, period_argument
from cronce.cli.parameters import TEXT
from cronce.operate.advice import Commands
from cronce.operate.look_up import RowKind
from cronce.operate.wording import visible
from cronce.protocol.observing import NotReleased
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Status


@click.command(
    "release",
    epilog="""\b
Examples:
  cronce release daily-digest 2026-11-29 --reason "checked: half was sent"
  cronce release daily-digest 2026-11-29 --force --reason "host unplugged"

\b
The JSON document is {"job", "period", "released", "attempt", "reason",
"next"}: attempt is the one that has ended, reason says why nothing was
released, next is the command to type, or null.

\b
Exit codes: 0 released; 1 the run cannot be released, and the message says
what to do; 64 bad usage; 69 the ledger cannot be used.""",
)
@job_argument
@period_argument
@click.option("--reason", metavar="TEXT", callback=TEXT, help="Why; recorded with the run.")
@click.option("--force", is_flag=True, help="Release it even though its owner is alive.")
@click.option("--actor", metavar="NAME", callback=TEXT, help="Who releases it; recorded.  [default: you, as user@host]")
@json_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    period: str,
    reason: str | None,
    force: bool,
    actor: str | None,
    as_document: bool,
    url: str | None,
) -> int:
    """Release a held, lost or stuck run for its next attempt."""
    with opened(url) as ledger:
        was = ledger.run(job, period)
        released = ledger.release(job, period, actor=actor or operator(), note=reason, force=force)
        about, commands = look_up_row(ctx, ledger, job, period)
    name = f"{visible(job)} {visible(period)}"
    if isinstance(released, NotReleased):
        why, suggested = _why_not(released, was, commands)
        if as_document:
            _print_document(job, period, attempt=None, reason=why, following=suggested)
        return complain(f"{name} is not released: {why}", command=suggested)
    if as_document:
        following = commands.run_again() if about.kind is RowKind.RUN else None
        _print_document(job, period, attempt=released.attempt, reason=None, following=following)
        return 0
    click.echo(f"Released {name}: attempt {released.attempt} of {visible(released.owner)} has ended.")
    if was and was.status is Status.RUNNING and force:
        click.echo("If its owner is still alive, it stops at its next heartbeat: within a quarter of its lease.")
    match about.kind:
        case RowKind.LEADER:
            click.echo(f"The next process of {visible(job)!r} that stands by leads.")
        case RowKind.WATCHDOG:
            click.echo("The next look of the watchdog claims it.")
        case RowKind.DISPATCH:
            click.echo("The clock sends the tick again, unless its starting deadline has passed.")
        case RowKind.RUN:
            click.echo(f"The next start begins attempt {released.attempt + 1}. To start it now:")
            click.echo(f"  {visible(commands.run_again())}")
    return 0


def _print_document(job: str, period: str, *, attempt: int | None, reason: str | None, following: str | None) -> None:
    from cronce.cli.output.documents import as_json  # noqa: PLC0415

    told = {"job": job, "period": period, "released": attempt is not None, "attempt": attempt}
    click.echo(as_json(told | {"reason": reason, "next": following}))


def _why_not(reason: NotReleased, run: RunRecord | None, commands: Commands) -> tuple[str, str | None]:
    """The reason in words, and what to type."""
    match reason:
        case NotReleased.NO_SUCH_RUN:
            return "there is no such run.", None
        case NotReleased.STILL_RUNNING:
            owner = f" ({visible(run.owner)})" if run else ""
            return f"its owner{owner} is alive. Stop the owner, or take the run from it:", commands.release(force=True)
        case NotReleased.NOT_HELD:
            status = f" ({run.status})" if run else ""
            return f"it is not held{status}. To see what you can do:", commands.show()
