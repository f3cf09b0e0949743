"""The commands for people, on click: look at runs, release one, make a ledger, see the demo.

Only click is loaded here. A command loads rich and a store when it runs, so `--help` is quick.
"""

from __future__ import annotations

import io
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from cronce.cli import exit_codes
from cronce.cli.advice import Commands, advise
from cronce.cli.wording import visible
from cronce.environment import LEDGER, TaskSettings
from cronce.errors import InputInvalidError, InputMissingError, LedgerUnavailableError, RecordUnreadableError
from cronce.ledger import Ledger
from cronce.protocol.observing import NotReleased
from cronce.protocol.records import RunRecord
from cronce.protocol.states import Status

_MOST_A_PAGE = 1000

_MOST_READ = 10_000
"""So many runs `--status` looks through before it says how to go on."""


def main(arguments: list[str]) -> int:
    """Run the command; the exit code. Every error is one line on stderr."""
    _never_fail_to_print()
    try:
        code = cronce.main(args=arguments, prog_name="cronce", standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "cronce"
        return _complain(f"{error.format_message()} See {command} --help", exit_codes.USAGE)
    except (InputInvalidError, InputMissingError) as error:
        return _complain(str(error), exit_codes.USAGE)
    except LedgerUnavailableError as error:
        return _complain(str(error), exit_codes.UNAVAILABLE)
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.BY_SIGNAL + signal.SIGINT
    except _ReaderLeftError:
        # The interpreter must not stumble over what is not written yet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.BY_SIGNAL + signal.SIGPIPE
    return code if isinstance(code, int) else 0


class _ReaderLeftError(Exception):
    """Nobody reads our output any more; click would take a `BrokenPipeError` for a failure."""


class _Cronce(click.Group):
    """Lists its commands as they stand in this file."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            code: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _ReaderLeftError from None
        return code

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(self.commands)


@click.group(
    cls=_Cronce,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  cronce exec --ledger sqlite:///runs.db --job daily-digest \\
      --period 2026-11-29 -- ./send-digest
  cronce runs daily-digest

\b
CRONCE_LEDGER says where the ledger is, or --ledger URL on each command:
dynamodb://TABLE?region=REGION or sqlite:///PATH. Exit codes: 0 done, 1 could
not do what was asked, 64 bad usage, 69 ledger not usable; those of exec are
in 'cronce help exec'.""",
)
@click.version_option(package_name="cronce", message="%(prog)s %(version)s")
@click.pass_context
def cronce(ctx: click.Context) -> None:
    """cron, once: scheduled work that happens once per period across the whole fleet."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(exit_codes.USAGE)


F = TypeVar("F", bound=Callable[..., Any])


def _ledger_option(command: F) -> F:
    text = "Where the runs are: dynamodb://TABLE?region=REGION or sqlite:///PATH."
    return click.option("--ledger", "url", metavar="URL", envvar=LEDGER, show_envvar=True, help=text)(command)


_json_option = click.option("--json", "as_document", is_flag=True, help="Print one JSON document instead.")


class _HandedOver(click.Command):
    """A command with a parser and a help of its own, which `main` starts without click."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params["arguments"] = args
        return []


@cronce.command("exec", cls=_HandedOver, short_help="Run a command if this process is the one to run it.")
def _exec(*, arguments: list[str]) -> int:
    from cronce.cli.exec_command import main as command  # noqa: PLC0415
    from cronce.signals import SignalQueue  # noqa: PLC0415

    return command(arguments, SignalQueue())


@cronce.command(
    epilog="""\b
Examples:
  cronce runs daily-digest
  cronce runs daily-digest --status FAILED --status MISSED
  cronce runs daily-digest --json | jq -r '.runs[] | .period + " " + .status'

The JSON document is {"job", "runs", "before"}: the runs newest first, each
with the attributes of the table, and for --before what leads to the next
page (null on the last)."""
)
@click.argument("job")
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, _MOST_A_PAGE), default=20, show_default=True, help="At most N runs."
)
@click.option("--before", metavar="PERIOD", help="Only periods before this one.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([status.value for status in Status], case_sensitive=False),
    help="Only runs in this state; may be repeated.",
)
@_json_option
@_ledger_option
def runs(
    *, job: str, limit: int, before: str | None, statuses: tuple[str, ...], as_document: bool, url: str | None
) -> None:
    """List the runs of JOB, newest period first."""
    with _opened(url) as ledger:
        found, following = _find(ledger, job, limit=limit, before=before, statuses=statuses or tuple(Status))
    if as_document:
        from cronce.cli.documents import as_json, run_document  # noqa: PLC0415

        document = {"job": job, "runs": [run_document(run) for run in found], "before": following}
        click.echo(as_json(document))
        return
    from cronce.cli.render import PlainConsole, is_wide, runs_table  # noqa: PLC0415  # rich

    console = PlainConsole()
    if found:
        console.print(runs_table(found, now=datetime.now(UTC), wide=is_wide(console)))
    else:
        matching = f" that are {' or '.join(statuses)}" if statuses else ""
        earlier = f" before {before}" if before else ""
        console.out(f"No runs of {visible(job)}{matching}{earlier} in {visible(ledger.where)}.")
    if following is not None:
        console.out(f"Earlier ones: --before {shlex.quote(visible(following))}")


def _find(
    ledger: Ledger, job: str, *, limit: int, before: str | None, statuses: tuple[str, ...]
) -> tuple[list[RunRecord], str | None]:
    """The first runs in one of the states, and the period before which to go on."""
    found: list[RunRecord] = []
    read = 0
    every = len(statuses) == len(Status)
    while True:
        page = ledger.page(job, limit=limit if every else _MOST_A_PAGE, before=before)
        for run in page.runs:
            if run.status in statuses:
                found.append(run)
                if len(found) == limit:
                    return found, run.period if page.before or run is not page.runs[-1] else None
        read += len(page.runs)
        before = page.before
        if before is None or read >= _MOST_READ:
            return found, before


@cronce.command(
    epilog="""\b
Examples:
  cronce show daily-digest 2026-11-29
  cronce show daily-digest 2026-11-29T06:00:00Z --json

The JSON document is the run: every attribute of the table under its own name,
null where it has none, times in ISO 8601 UTC. result and checkpoint are JSON
texts, as the table has them."""
)
@click.argument("job")
@click.argument("period")
@_json_option
@_ledger_option
@click.pass_context
def show(ctx: click.Context, *, job: str, period: str, as_document: bool, url: str | None) -> int:
    """Show all about one run, and what to do next.

    Its attempts, its owner and lease, what blocked or failed it, and the exact command that the
    state calls for.
    """
    with _opened(url) as ledger:
        run = ledger.run(job, period)
        blocker = _blocker_of(run, ledger) if run else None
    if run is None:
        hint = f"'cronce runs {visible(job)}' lists those there are."
        return _complain(f"there is no run {visible(job)} {visible(period)} in {visible(ledger.where)}. {hint}")
    if as_document:
        from cronce.cli.documents import as_json, run_document  # noqa: PLC0415

        click.echo(as_json(run_document(run)))
        return 0
    from cronce.cli.render import PlainConsole, run_page  # noqa: PLC0415  # rich

    now = datetime.now(UTC)
    advice = advise(run, now, Commands(run.job, run.period, _url_to_repeat(ctx, url)))
    console = PlainConsole()
    for part in (*run_page(run, advice, now=now, blocker=blocker), ""):
        console.print(part)
    console.print_advice(advice)
    return 0


def _blocker_of(run: RunRecord, ledger: Ledger) -> RunRecord | None:
    """The run that was in the way, if it can be found: somebody else may have written its name."""
    with suppress(InputInvalidError, RecordUnreadableError):
        return ledger.run(run.job, run.blocked_by) if run.blocked_by else None
    return None


@cronce.command(
    epilog="""\b
Examples:
  cronce release daily-digest 2026-11-29 --reason "checked: half was sent"
  cronce release daily-digest 2026-11-29 --force --reason "host unplugged"

Exit code 1 if the run is not one to release; the message says what to do."""
)
@click.argument("job")
@click.argument("period")
@click.option("--reason", metavar="TEXT", help="Why; recorded with the run.")
@click.option("--force", is_flag=True, help="Take it from an owner that is still alive.")
@click.option("--actor", metavar="NAME", help="Who releases it; recorded. [default: you, as user@host]")
@_ledger_option
@click.pass_context
def release(
    ctx: click.Context,
    *,
    job: str,
    period: str,
    reason: str | None,
    force: bool,
    actor: str | None,
    url: str | None,
) -> int:
    """Free a held, lost or stuck run for its next attempt."""
    with _opened(url) as ledger:
        was = ledger.run(job, period)
        released = ledger.release(job, period, actor=actor or _operator(), note=reason, force=force)
    commands = Commands(job, period, _url_to_repeat(ctx, url))
    name = f"{visible(job)} {visible(period)}"
    if isinstance(released, NotReleased):
        return _complain(f"{name} is not released: {_why_not(released, was, commands)}")
    click.echo(f"Released {name}: attempt {released.attempt} of {visible(released.owner)} is over.")
    if was and was.status is Status.RUNNING and force:
        click.echo("If that owner still lives it stops at its next heartbeat, a quarter of its lease from now at most.")
    click.echo(f"The next start begins attempt {released.attempt + 1}. To start it now:")
    click.echo(f"  {visible(commands.run_again())}")
    return 0


@cronce.command(
    epilog="""\b
Examples:
  cronce init --ledger sqlite:///runs.db
  cronce init --ledger 'dynamodb://runs?region=eu-west-1'"""
)
@_ledger_option
def init(*, url: str | None) -> None:
    """Create the ledger's table or file, unless it stands already."""
    with _opened(url) as ledger:
        made = ledger.create()
    click.echo(f"{'Made' if made else 'Stood already'}: {visible(ledger.where)}")


@cronce.command("checkpoint", cls=_HandedOver, short_help="Store a cursor from inside 'cronce exec'.")
def _checkpoint(*, arguments: list[str]) -> int:
    from cronce.checkpoints import main as command  # noqa: PLC0415

    return command(arguments)


@cronce.command(
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
@_json_option
def demo(*, customers: int, keep: str | None, as_document: bool) -> int:
    """Play the story of the daily digest on this machine.

    It takes under a minute. Four processes with a clock each send every mail four times; with the
    ledger between them, once; then the one at work is killed half-way.
    """
    from cronce.demo.stage import play  # noqa: PLC0415

    return play(customers=customers, keep=keep, as_document=as_document)


@cronce.command("help", epilog="\b\nExample:\n  cronce help exec")
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
    if isinstance(found, _HandedOver):
        code: int = ctx.invoke(found, arguments=["--help"])
        return code
    with click.Context(found, info_name=command, parent=outer) as inner:
        click.echo(found.get_help(inner))
    return 0


@contextmanager
def _opened(url: str | None) -> Iterator[Ledger]:
    ledger = Ledger.from_url(TaskSettings(ledger=url or None).required_ledger())
    try:
        yield ledger
    finally:
        ledger.close()


def _url_to_repeat(ctx: click.Context, url: str | None) -> str | None:
    """The URL for a suggested command; None if the environment has it."""
    from_environment = ctx.get_parameter_source("url") is click.core.ParameterSource.ENVIRONMENT
    return None if from_environment else url


def _why_not(reason: NotReleased, run: RunRecord | None, commands: Commands) -> str:
    match reason:
        case NotReleased.NO_SUCH_RUN:
            return "there is no such run."
        case NotReleased.STILL_RUNNING:
            owner = f" ({visible(run.owner)})" if run else ""
            take = visible(commands.release(force=True))
            return f"its owner{owner} is alive. Stop that one; or take the run from it: {take}"
        case NotReleased.NOT_HELD:
            status = f" ({run.status})" if run else ""
            return f"it is not held{status}. What can be done: {visible(commands.show())}"


def _operator() -> str:
    """Who types this: user@host."""
    import getpass  # noqa: PLC0415

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user id may have no name
        user = f"uid {os.getuid()}"
    return f"{user}@{os.uname().nodename}"


def _complain(message: str, code: int = exit_codes.PROBLEM) -> int:
    click.echo(f"cronce: {visible(message)}", err=True)
    return code


def _never_fail_to_print() -> None:
    """What the terminal's encoding does not have is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
