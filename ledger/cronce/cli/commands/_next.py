"""`cronce next`: its options and its help."""

from __future__ import annotations

import click

from cronce.cli.commands._group import group_option, json_option, ledger_option

_MOST = 1000


@click.command(
    "next",
    epilog="""\b
Examples:
  cronce next '0 6 * * 1-5' --timezone Europe/Berlin
  cronce next 'cron(30 2 * * ? *)' --timezone America/New_York \\
      --from 2026-03-07
  cronce next daily-digest --count 20
  cronce next daily-digest --config clock.toml

What has brackets or spaces, or begins with @, is an EXPRESSION. Without
--timezone it is read in UTC, and a rate counts from --from.

The JSON document is a list of {"utc", "local", "note"}: the tick, which is
also the period of its run; the same on the clocks of its zone; and what a
change of the clocks does to it ("" for nothing).

Exit code 64 for an expression that is none: one line names the field.""",
)
@click.argument("what", metavar="JOB|EXPRESSION")
@click.option("--timezone", metavar="TZ", help="The zone that an EXPRESSION is read in, such as Europe/Berlin.")
@click.option(
    "--from",
    "since",
    metavar="T",
    help="From this day or time on (a tick at it counts); without a zone, in the schedule's.  [default: now]",
)
@click.option(
    "--count", metavar="N", type=click.IntRange(1, _MOST), default=5, show_default=True, help="So many ticks."
)
@click.option(
    "--config", metavar="FILE", help="Look for JOB in this configuration of 'cronce clock', not in the schedule group."
)
@json_option
@group_option
@ledger_option
def next_(
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
    """List the coming ticks of a job, or of a schedule's expression."""
    from cronce.cli.commands._coming import show_next  # noqa: PLC0415  # only what is used is loaded

    show_next(
        what,
        timezone=timezone,
        since=since,
        count=count,
        config=config,
        as_document=as_document,
        group=group,
        url=url,
    )
