"""`cronce init`."""

from __future__ import annotations

import click

from cronce.cli.app import is_in_dynamodb, ledger_option, opened
from cronce.cli.output.wording import visible


@click.command(
    "init",
    epilog="""\b
Examples:
  cronce init --ledger sqlite:///runs.db
  cronce init --ledger 'dynamodb://runs?region=eu-west-1'
  cronce init --ledger postgresql://ada@db.example.com/shop
  cronce init --ledger rediss://app@cache.example.com

\b
Exit codes: 0 created, or it exists; 64 bad usage, or a table with other keys;
69 the ledger cannot be used.""",
)
@ledger_option
def command(*, url: str | None) -> None:
    """Create the ledger's table or file, or upgrade its table."""
    with opened(url) as ledger:
        created = ledger.create()
        click.echo(f"{'Created' if created else 'Already exists'}: {visible(ledger.where)}")
        if created and is_in_dynamodb(url):
            click.echo("It has no point-in-time recovery and no deletion protection; RunLedger makes one with both.")
            click.echo("If it replaces a deleted table, delete it again and restore that one: this one knows no run.")
        for difference in () if created and is_in_dynamodb(url) else ledger.differences():
            click.echo(f"Note: {visible(difference)}.")
