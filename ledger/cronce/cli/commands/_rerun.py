"""`cronce rerun`: its options and its help."""

from __future__ import annotations

import click

from cronce.cli.commands._group import commands_for, group_option, json_option, ledger_option, operator


@click.command(
    epilog="""\b
Examples:
  cronce rerun daily-digest 2026-11-29T05:00:00Z --follow
  cronce rerun daily-digest 2026-11-29T05:00:00Z --force \\
      --reason "half of the mails went to spam"

A run that is at work, done or held is refused, with what to do instead.
PERIOD has to be a tick of the job's schedule, or a run in the ledger.

\b
Exit codes: 0 the task was started (with --follow: and the run succeeded);
1 it was not, or the run failed; 64 bad usage; 69 the ledger, the schedules
or ECS cannot be used.

The JSON document is {"job", "period", "started", "attempt", "task", "reason",
"run"}: the run as it stands at the end, and why nothing was started."""
)
@click.argument("job")
@click.argument("period")
@click.option("--reason", metavar="TEXT", help="Why; recorded with the run.")
@click.option("--force", is_flag=True, help="Repeat a success, or take over a held run; needs --reason.")
@click.option("--follow", is_flag=True, help="Wait until the run is settled, and tell how it goes.")
@click.option("--actor", metavar="NAME", help="Who asks; recorded.  [default: you, as user@host]")
@click.option("--unscheduled", is_flag=True, help="Also a PERIOD that the schedule does not have, or not yet.")
@json_option
@group_option
@ledger_option
@click.pass_context
def rerun(
    ctx: click.Context,
    *,
    job: str,
    period: str,
    reason: str | None,
    force: bool,
    follow: bool,
    actor: str | None,
    unscheduled: bool,
    as_document: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Start the task of one period of JOB again, as its schedule does."""
    from cronce.cli.commands._starting import start_again  # noqa: PLC0415  # only what is used is loaded

    if force and not reason:
        raise click.UsageError("--force needs --reason TEXT, which is recorded with the run.", ctx)
    return start_again(
        commands_for(ctx, job, period),
        actor=actor or operator(),
        reason=reason,
        force=force,
        follow=follow,
        unscheduled=unscheduled,
        as_document=as_document,
        group=group,
        url=url,
    )
