"""`cronce demo` and `cronce help`."""

from __future__ import annotations

import click

from cronce.cli.commands._group import cronce, json_option
from cronce.cli.commands._handed_over import HandedOver


@click.command(
    epilog="""\b
Examples:
  cronce demo
  cronce demo --keep story    (then look at the mails and logs there)

Exit code 1 if any number of the story is off. Every number is counted in the
mailboxes, the processes' logs and the ledger afterwards."""
)
@click.option(
    "--customers",
    metavar="N",
    type=click.IntRange(100, 100_000),
    default=3100,
    show_default=True,
    help="How many customers get the digest.",
)
@click.option("--keep", metavar="DIR", help="Play it in DIR, which must be new or empty, and leave the files there.")
@json_option
def demo(*, customers: int, keep: str | None, as_document: bool) -> int:
    """Play the story of the daily digest on this machine.

    It takes under a minute. Four processes with a clock each send every mail four times; with the
    ledger between them, once; then the one at work is killed half-way.
    """
    from cronce.demo.stage import play  # noqa: PLC0415

    return play(customers=customers, keep=keep, as_document=as_document)


@click.command("help", epilog="\b\nExample:\n  cronce help exec")
@click.argument("command", required=False)
@click.pass_context
def help_(ctx: click.Context, *, command: str | None) -> int:
    """Show the help of COMMAND."""
    outer = ctx.find_root()
    if command is None:
        click.echo(cronce.get_help(outer))
        return 0
    found = cronce.get_command(outer, command)
    if found is None:
        raise click.UsageError(f"No such command {command!r}.", ctx=outer)
    if isinstance(found, HandedOver):
        code: int = ctx.invoke(found, arguments=["--help"])
        return code
    with click.Context(found, info_name=command, parent=outer) as inner:
        click.echo(found.get_help(inner))
    return 0
