"""`cronce board`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cronce.cli.actions.find_jobs import find_jobs
from cronce.cli.app import complain, group_option, launcher_for, ledger_option, opened, to_repeat
from cronce.cli.output.files import why_not_written, write_whole
from cronce.cli.output.progress import progress
from cronce.cli.parameters import checked_by
from cronce.operate.wording import visible
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.ledger_urls import is_in_dynamodb

if TYPE_CHECKING:
    from cronce.board.calendar import Board
    from cronce.client.ledger import Ledger
    from cronce.ecs import Launcher

_PORT = 8724


def _address(host: str, *, what: str) -> str:
    with contextlib.suppress(ValueError):
        return host if host == "localhost" else str(ip_address(host))
    raise InputInvalidError(what, host, "an IP address of this host, or localhost")


@click.command(
    "board",
    epilog="""\b
Examples:
  cronce board
  cronce board -o runs.html
  cronce board --days 14 --port 0

Without -o the page is served on this host until Ctrl-C, and read again when it
is reloaded. It changes nothing, and has no password: whoever may connect to the
address may read all runs. A file is written with your permissions only.

The page has one row per job and one column per day, in the time zone of the
job's schedule. It needs no other file and no network.

Costs two requests to the ledger per job and hundred runs, one ListSchedules per
hundred jobs, and one GetSchedule per job. At most 2,000 runs per job are read;
days that may have more are hatched.

\b
Exit codes: 0 written; 1 the file or the address cannot be used; 64 bad usage;
69 the ledger or the schedules cannot be used; 130 Ctrl-C.""",
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Write the page to FILE."
)
@click.option(
    "--days", metavar="N", type=click.IntRange(1, 400), default=90, show_default=True, help="Days of the calendar."
)
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    callback=checked_by(_address),
    help="Serve there.",
)
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="0 for a free one."
)
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context, *, output: Path | None, days: int, host: str, port: int, group: str | None, url: str | None
) -> int:
    """Show the runs of every job as a calendar, in a browser."""
    from cronce.board.page import content_policy, page  # noqa: PLC0415  # reads files

    launcher = launcher_for(url, group) if group or is_in_dynamodb(url) else None
    repeated = to_repeat(ctx, "url")
    with opened(url) as ledger:
        if output is not None:
            with progress() as count:
                board = _read(ledger, launcher, days, count)
            return _write(output, page(board, ledger=repeated))
        from cronce.cli.actions.serve_board import BoardServer, serve  # noqa: PLC0415  # http.server

        try:
            server = BoardServer(
                host, port, render=lambda: page(_read(ledger, launcher, days), ledger=repeated), policy=content_policy()
            )
        except OSError as error:
            return complain(f"{visible(host)} port {port} cannot be used: {error.strerror or error}")
        click.echo(f"The board is at {server.url} until Ctrl-C.")
        sys.stdout.flush()
        serve(server)
    return 0


def _read(
    ledger: Ledger,
    launcher: Launcher | None,
    days: int,
    count: Callable[[int], Callable[[], object]] = lambda _jobs: lambda: None,
) -> Board:
    from cronce.board.reading import read_board  # noqa: PLC0415  # schedules

    jobs = find_jobs(ledger, launcher)
    known = [(job.name, job.definition) for job in jobs]
    return read_board(ledger, known, days=days, now=datetime.now(UTC), done=count(len(jobs)))


def _write(output: Path, text: str) -> int:
    """Write the page; errors and results of runs are for its owner's eyes."""
    try:
        write_whole(output, text.encode(errors="backslashreplace"), replace=True, private=True)
    except (OSError, ValueError) as error:
        return complain(f"{visible(str(output))} cannot be written: {why_not_written(error)}", exit_codes.PROBLEM)
    click.echo(f"Wrote {visible(str(output))}.")
    return 0
