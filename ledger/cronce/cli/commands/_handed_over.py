"""Commands with a parser and a help of their own, which `cronce.cli.main` starts without click."""

from __future__ import annotations

import click


class HandedOver(click.Command):
    """A command that takes its arguments as they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave them alone."""
        ctx.params["arguments"] = args
        return []


@click.command("exec", cls=HandedOver, short_help="Run a command if this process is the one to run it.")
def exec_(*, arguments: list[str]) -> int:
    """See `cronce.cli.runtime.exec`."""
    from cronce.cli.runtime.exec import main as command  # noqa: PLC0415  # only what is used is loaded
    from cronce.guard.signals import SignalQueue  # noqa: PLC0415

    return command(arguments, SignalQueue())


@click.command("checkpoint", cls=HandedOver, short_help="Store a cursor from inside 'cronce exec'.")
def checkpoint(*, arguments: list[str]) -> int:
    """See `cronce.guard.checkpoints`."""
    from cronce.cli.runtime.checkpoint import main as command  # noqa: PLC0415

    return command(arguments)


@click.command("clock", cls=HandedOver, short_help="Be the clock: set each job's work going when it is due.")
def clock(*, arguments: list[str]) -> int:
    """See `cronce.cli.runtime.clock`."""
    from cronce.cli.runtime.clock import main as command  # noqa: PLC0415
    from cronce.guard.signals import SignalQueue  # noqa: PLC0415

    return command(arguments, SignalQueue())


@click.command("pin", cls=HandedOver, short_help="Run a command only while this process is the leader.")
def pin(*, arguments: list[str]) -> int:
    """See `cronce.cli.runtime.pin`."""
    from cronce.cli.runtime.pin import main as command  # noqa: PLC0415
    from cronce.guard.signals import SignalQueue  # noqa: PLC0415

    return command(arguments, SignalQueue())


@click.command("health", cls=HandedOver, short_help="Ask a clock or a pinned command on this host how it is.")
def health(*, arguments: list[str]) -> int:
    """See `cronce.cli.runtime.health`."""
    from cronce.cli.runtime.health import main as command  # noqa: PLC0415

    return command(arguments)
