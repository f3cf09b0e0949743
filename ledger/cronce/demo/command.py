"""The click command `cronce demo`; `cronce.cli.app` finds it by its dotted name."""

from __future__ import annotations

import click

from cronce.cli.app import json_option
from cronce.cli.parameters import TEXT


@click.command(
    "demo",
    epilog="""\b
Examples:
  cronce demo
  cronce demo --keep story    (then look at the mails and logs there)

\b
The JSON document is {"right", "seconds", "folder", "checks"}. A check is
{"scene", "what", "counted", "expected", "right"}; folder is that of
--keep, or null.

\b
Exit codes: 0 every number of the story is right; 1 one is wrong; 64 bad
usage; 130 Ctrl-C. Every number is counted afterwards, in the mailboxes, the
processes' logs and the ledger.""",
)
@click.option(
    "--customers",
    metavar="N",
    type=click.IntRange(100, 100_000),
    default=3100,
    show_default=True,
    help="How many customers get the digest.",
)
@click.option(
    "--keep",
    metavar="DIR",
    callback=TEXT,
    help="Play it in DIR, which must be new or empty, and leave the files there.",
)
@json_option
def command(*, customers: int, keep: str | None, as_document: bool) -> int:
    """Play the story of the daily digest on this machine.

    It takes under a minute. Four processes, each with its own clock, send every mail four times.
    With the ledger between them they send it once. Then the active one is killed half-way.
    """
    from cronce.demo.stage import play  # noqa: PLC0415  # rich

    return play(customers=customers, keep=keep, as_document=as_document)
