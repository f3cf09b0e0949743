"""`cronce backfill`: its options and its help."""

from __future__ import annotations

import click

from cronce.cli.commands._group import commands_for, group_option, json_option, ledger_option, operator

_MOST = 1000


@click.command(
    epilog="""\b
Examples:
  cronce backfill daily-digest --from 2026-11-01 --to 2026-11-28
  cronce backfill daily-digest --from 2026-11-01 --to 2026-11-28 --yes
  cronce backfill hourly --from 2026-11-28T06:00:00Z \\
      --to 2026-11-28T12:00:00Z --yes --parallel 3

\b
The ticks are those of the schedule as it is now. Days and times without a
zone are read in its zone; both ends are included; a tick that is not due yet
is left out. What is done is never repeated, so the same command again goes on
where it stopped, whatever stopped it.

\b
Exit codes: 0 the plan was shown (with --yes: everything is done now); 1 not
everything is done; 64 bad usage; 69 the ledger, the schedules or ECS cannot
be used; 130 Ctrl-C: what was started goes on by itself.

\b
The JSON document is {"job", "from", "to", "ticks", "counts"}; a tick is
{"period", "local", "was", "result"}, result null without --yes. With --yes
it comes at the end, and what happens meanwhile is told on stderr."""
)
@click.argument("job")
@click.option("--from", "start", metavar="T", required=True, help="The first day or time.")
@click.option("--to", "end", metavar="T", required=True, help="The last day or time, included.")
@click.option(
    "--dry-run/--yes", "dry_run", default=True, help="Only show what would be started, or start it.  [default: show]"
)
@click.option(
    "--parallel",
    metavar="N",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="So many at a time; more than one only for jobs whose runs may overlap (ALLOW).",
)
@click.option("--keep-going", is_flag=True, help="Go on after a failure, instead of stopping there.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    default=_MOST,
    show_default=True,
    help="Refuse more periods than that.",
)
@click.option("--reason", metavar="TEXT", help="Why; recorded with each run.")
@click.option("--actor", metavar="NAME", help="Who asks; recorded.  [default: you, as user@host]")
@json_option
@group_option
@ledger_option
@click.pass_context
def backfill(
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
    as_document: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Run the periods of JOB in a span of time that were not done.

    Without --yes it only shows what stands for each tick and what would be started. With it, each
    task is started as the schedule does, and followed until its run is settled.
    """
    from cronce.cli.commands._filling import fill_gaps  # noqa: PLC0415  # only what is used is loaded

    return fill_gaps(
        commands_for(ctx, job, "-"),
        _options(ctx),
        start=start,
        end=end,
        dry_run=dry_run,
        parallel=parallel,
        keep_going=keep_going,
        limit=limit,
        reason=reason,
        actor=actor or operator(),
        as_document=as_document,
        group=group,
        url=url,
    )


def _options(ctx: click.Context) -> list[str]:
    """The options to give again, so that the same backfill goes on."""
    given = [
        (f"--{name.replace('_', '-')}", ctx.params[param])
        for name, param in (
            ("from", "start"),
            ("to", "end"),
            ("parallel", "parallel"),
            ("limit", "limit"),
            ("reason", "reason"),
            ("actor", "actor"),
        )
        if ctx.get_parameter_source(param) is click.core.ParameterSource.COMMANDLINE
    ]
    return [f"{name}={value}" for name, value in given] + ["--keep-going"] * ctx.params["keep_going"] + ["--yes"]
