"""`cronce init`."""

from __future__ import annotations

import click

from cronce.cli.app import json_option, ledger_option, opened
from cronce.operate.wording import visible
from cronce.vocabulary.ledger_urls import is_in_dynamodb

_OF_A_NEW_TABLE = (
    "It has no point-in-time recovery and no deletion protection; RunLedger makes one with both.",
    "If it replaces a deleted table, delete it again and restore that one: this one knows no run.",
)


@click.command(
    "init",
    epilog="""\b
Examples:
  cronce init --ledger sqlite:///runs.db
  cronce init --ledger 'dynamodb://runs?region=eu-west-1'
  cronce init --ledger postgresql://ada@db.example.com/shop
  cronce init --ledger rediss://app@cache.example.com

\b
The JSON document is {"ledger", "created", "notes"}: created is false if it
exists, notes are sentences about it.

\b
Exit codes: 0 created, or it exists; 64 bad usage, or a table with other keys;
69 the ledger cannot be used.""",
)
@json_option
@ledger_option
def command(*, url: str | None, as_document: bool) -> None:
    """Create the ledger's table or file, or upgrade its table."""
    with opened(url) as ledger:
        created, where = ledger.create(), ledger.where
        new_table = created and is_in_dynamodb(url)
        notes = [*_OF_A_NEW_TABLE] if new_table else [f"Note: {each}." for each in ledger.differences()]
    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        click.echo(as_json({"ledger": where, "created": created, "notes": notes}))
        return
    for line in (f"{'Created' if created else 'Already exists'}: {where}", *notes):
        click.echo(visible(line))
