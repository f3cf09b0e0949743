"""The click group `cronce`: where its commands are, what they share, and how an error becomes an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cronce.cli.output.advice import Commands
from cronce.cli.output.wording import visible
from cronce.client.ledger import Ledger
from cronce.client.settings import TaskSettings
from cronce.stores.urls import region_of
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import LEDGER, SCHEDULE_GROUP
from cronce.vocabulary.errors import CronceError, InputInvalidError, InputMissingError, LedgerUnavailableError

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition, Launcher


def main(arguments: list[str]) -> int:
    """Run the command; the exit code. Every error is one line on stderr."""
    _never_fail_to_print()
    try:
        code = cronce.main(args=arguments, prog_name="cronce", standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "cronce"
        return complain(f"{error.format_message()} See {command} --help", exit_codes.USAGE)
    except (InputInvalidError, InputMissingError) as error:
        return complain(str(error), exit_codes.USAGE)
    except CronceError as error:
        return complain(str(error), _code_of(error))
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.BY_SIGNAL + signal.SIGINT
    except _ReaderLeftError:
        # The interpreter must not stumble over what is not written yet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.BY_SIGNAL + signal.SIGPIPE
    return code if isinstance(code, int) else 0


def _code_of(error: CronceError) -> int:
    from cronce.aws.errors import CallRefusedError, CallUnavailableError  # noqa: PLC0415  # loaded by who raised it

    away = isinstance(error, LedgerUnavailableError | CallRefusedError | CallUnavailableError)
    return exit_codes.UNAVAILABLE if away else exit_codes.PROBLEM


class _ReaderLeftError(Exception):
    """Nobody reads our output any more; click would take a `BrokenPipeError` for a failure."""


class RuntimeCommand(click.Command):
    """A command of `cronce.cli.runtime`: `cronce.cli.main` starts it without click; here it is listed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the arguments to the parser of the command."""
        ctx.params["arguments"] = args
        return []


_RUNTIME = {
    "exec": "Run a command if this process is the one to run it.",
    "clock": "Be the clock: start each job's work when it is due.",
    "pin": "Run a command only while this process is the leader.",
    "health": "Ask a clock or a pinned command on this host how it is.",
    "checkpoint": "Store a cursor from inside 'cronce exec'.",
}
"""What the list of commands says about those that are not loaded to be listed."""

COMMANDS = {
    "exec": "cronce.cli.runtime.exec",
    "runs": "cronce.cli.commands.runs",
    "show": "cronce.cli.commands.show",
    "next": "cronce.cli.commands.next",
    "rerun": "cronce.cli.commands.rerun",
    "backfill": "cronce.cli.commands.backfill",
    "release": "cronce.cli.commands.release",
    "init": "cronce.cli.commands.init",
    "clock": "cronce.cli.runtime.clock",
    "pin": "cronce.cli.runtime.pin",
    "health": "cronce.cli.runtime.health",
    "checkpoint": "cronce.cli.runtime.checkpoint",
    "demo": "cronce.demo.command",
    "help": "cronce.cli.commands.help",
}
"""The module of each command, loaded when the command is needed.

In the order of `cronce --help`: what a task does, what on-call does, what is set up once, the rest.
A click command is the attribute `command` of its module.
"""


class _Cronce(click.Group):
    """Loads a command when it is asked for it."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            code: object = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise _ReaderLeftError from None
        return code

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name in _RUNTIME:
            return RuntimeCommand(cmd_name, callback=partial(_run_runtime, cmd_name), short_help=_RUNTIME[cmd_name])
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command


def _run_runtime(name: str, *, arguments: list[str]) -> int:
    from cronce.cli.main import run_runtime  # noqa: PLC0415  # what it loads is not needed to list the command

    return run_runtime(name, arguments)


@click.group(
    cls=_Cronce,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  cronce exec --ledger sqlite:///runs.db --job daily-digest \\
      --period 2026-11-29 -- ./send-digest
  cronce runs daily-digest
  cronce next '0 6 * * 1-5' --timezone Europe/Berlin

\b
CRONCE_LEDGER says where the ledger is, or --ledger URL on each command:
dynamodb://TABLE?region=REGION or sqlite:///PATH. Exit codes: 0 done, 1 could
not do what was asked, 64 bad usage, 69 the ledger or AWS not usable; those of
exec are in 'cronce help exec'.""",
)
@click.version_option(package_name="cronce", message="%(prog)s %(version)s")
@click.pass_context
def cronce(ctx: click.Context) -> None:
    """cron, once: scheduled work that happens once per period across the whole fleet."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(exit_codes.USAGE)


F = TypeVar("F", bound=Callable[..., Any])


def ledger_option(command: F) -> F:
    """`--ledger URL`, as `url`."""
    text = "Where the runs are: dynamodb://TABLE?region=REGION or sqlite:///PATH."
    return click.option("--ledger", "url", metavar="URL", envvar=LEDGER, show_envvar=True, help=text)(command)


json_option = click.option("--json", "as_document", is_flag=True, help="Print one JSON document instead.")
"""`--json`, as `as_document`."""


@contextmanager
def opened(url: str | None) -> Iterator[Ledger]:
    """The ledger, until the block ends."""
    ledger = Ledger.from_url(TaskSettings(ledger=url or None).required_ledger())
    try:
        yield ledger
    finally:
        ledger.close()


def commands_for(ctx: click.Context, job: str, period: str) -> Commands:
    """The lines to type about that run, with the options that this command was given."""
    url = ctx.params["url"]
    return Commands(
        job,
        period,
        ledger=_to_repeat(ctx, "url"),
        group=_to_repeat(ctx, "group"),
        has_schedules=is_in_dynamodb(url) or bool(ctx.params.get("group") or os.environ.get(SCHEDULE_GROUP)),
    )


def group_option(command: F) -> F:
    """`--schedule-group NAME`, as `group`."""
    text = "Where the jobs' schedules are.  [default: the group that goes with the ledger's table]"
    return click.option(
        "--schedule-group", "group", metavar="NAME", envvar=SCHEDULE_GROUP, show_envvar=True, help=text
    )(command)


def launcher_for(url: str | None, group: str | None) -> Launcher:
    """What reads the jobs' schedules and starts their tasks.

    Raises:
        InputMissingError: There is no telling which schedule group.
    """
    from cronce.ecs import Launcher, schedule_group_of  # noqa: PLC0415  # only what is used is loaded

    if not group and not is_in_dynamodb(url):
        raise InputMissingError(
            "the schedule group",
            f"give --schedule-group or set {SCHEDULE_GROUP}; only a ledger in DynamoDB has one that follows from"
            " its table's name. Work without a schedule is started with 'cronce exec'",
        )
    return Launcher(group=group or schedule_group_of(url or ""), region=region_of(url or ""))


def check_ticks_are_known(definition: JobDefinition) -> None:
    """Return if the job's ticks can be counted.

    Raises:
        InputInvalidError: Its rate has no start.
    """
    if not definition.ticks_are_known:
        what, allowed = (
            f"schedule of {definition.job}",
            "a rate with a StartDate; without, only EventBridge knows its ticks",
        )
        raise InputInvalidError(what, definition.expression, allowed)


def is_in_dynamodb(url: str | None) -> bool:
    """True for a ledger that has a schedule group, from which tasks are started."""
    return (url or "").startswith("dynamodb:")


def _to_repeat(ctx: click.Context, name: str) -> str | None:
    """What was given for that option; None if the environment has it."""
    from_environment = ctx.get_parameter_source(name) is click.core.ParameterSource.ENVIRONMENT
    given: str | None = ctx.params.get(name)
    return None if from_environment else given


def operator() -> str:
    """Who types this: user@host."""
    import getpass  # noqa: PLC0415

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container's user id may have no name
        user = f"uid {os.getuid()}"
    return f"{user}@{os.uname().nodename}"


def complain(message: str, code: int = exit_codes.PROBLEM) -> int:
    """One line on stderr; the exit code."""
    click.echo(f"cronce: {visible(message)}", err=True)
    return code


def _never_fail_to_print() -> None:
    """What the terminal's encoding does not have is printed as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
