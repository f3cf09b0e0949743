"""`cronce help`."""

from __future__ import annotations

import click

from cronce.cli.app import RuntimeCommand, cronce, no_such_command
from cronce.cli.parameters import TEXT


@click.command("help", epilog="\b\nExample:\n  cronce help exec\n\n\b\nExit codes: 0 shown; 64 no such command.")
@click.argument("name", metavar="COMMAND", callback=TEXT, required=False)
@click.pass_context
def command(ctx: click.Context, *, name: str | None) -> int:
    """Show the help of COMMAND."""
    outer = ctx.find_root()
    if name is None:
        click.echo(cronce.get_help(outer))
        return 0
    found = cronce.get_command(outer, name)
    if found is None:
        raise no_such_command(name, outer)
    if isinstance(found, RuntimeCommand):
        code: int = ctx.invoke(found, arguments=["--help"])
        return code
    with click.Context(found, info_name=name, parent=outer) as inner:
        click.echo(found.get_help(inner))
    return 0
