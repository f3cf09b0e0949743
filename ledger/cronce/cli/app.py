"""The click group `cronce`: its commands, what they share, and the exit code of each error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from cronce.cli.actions.find_jobs import find_jobs, nearest
from cronce.cli.output.streams import OutputLostError, prepare_streams, silence_output
from cronce.cli.parameters import GROUP, TEXT
from cronce.client.ledger import Ledger
from cronce.client.settings import TaskSettings
from cronce.operate.advice import Commands
from cronce.operate.look_up import About, RowKind, kind_by_name, look_up
from cronce.operate.wording import visible
from cronce.stores.urls import region_of
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import LEDGER, SCHEDULE_GROUP
from cronce.vocabulary.errors import CronceError, InputInvalidError, InputMissingError, LedgerUnavailableError
from cronce.vocabulary.ledger_urls import FORMS, is_in_dynamodb
from cronce.vocabulary.version import VERSION

if TYPE_CHECKING:
    from cronce.cli.actions.host_start import HostJob
    from cronce.ecs import JobDefinition, Launcher


def main(arguments: list[str]) -> int:
    """Run the command and return its exit code. Every error is one line on stderr."""
    prepare_streams()
    try:
        code = cronce.main(args=arguments, prog_name="cronce", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "cronce"
        message = error.format_message()
        stop = "" if message.endswith((".", "?")) else "."
        return complain(f"{message}{stop} See {command} --help", exit_codes.USAGE)
    except (InputInvalidError, InputMissingError) as error:
        return complain(str(error), exit_codes.USAGE)
    except CronceError as error:
        return complain(str(error), _code_of(error))
    except (click.Abort, KeyboardInterrupt):
        return exit_codes.BY_SIGNAL + signal.SIGINT
    except OutputLostError as lost:
        silence_output()
        if lost.reader_left:
            return exit_codes.BY_SIGNAL + signal.SIGPIPE
        return complain(f"the output cannot be written: {lost.cause}")
    return code if isinstance(code, int) else 0


def _code_of(error: CronceError) -> int:
    from cronce.aws.errors import CallRefusedError, CallUnavailableError  # noqa: PLC0415  # loaded by who raised it

    away = isinstance(error, LedgerUnavailableError | CallRefusedError | CallUnavailableError)
    return exit_codes.UNAVAILABLE if away else exit_codes.PROBLEM


class RuntimeCommand(click.Command):
    """A command of `cronce.cli.runtime`, listed here; `cronce.cli.main` runs it without click."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the arguments to the parser of the command."""
        ctx.params["arguments"] = args
        return []


class CommandEntry(NamedTuple):
    """Where a command is, and its line in `cronce --help`, which loads no command."""

    module: str
    summary: str


COMMANDS = {
    "exec": CommandEntry("cronce.cli.runtime.exec", "Run a command if this process is the one to run it."),
    "jobs": CommandEntry("cronce.cli.commands.jobs", "List the jobs, and how each is doing."),
    "runs": CommandEntry("cronce.cli.commands.runs", "List the runs of JOB, newest period first."),
    "show": CommandEntry("cronce.cli.commands.show", "Show one run in full, and what to do next."),
    "why": CommandEntry("cronce.cli.commands.why", "Explain why a run happened, or did not, and what to do."),
    "doctor": CommandEntry("cronce.cli.commands.doctor", "Check the ledger, its jobs and this environment."),
    "board": CommandEntry("cronce.cli.commands.board", "Show the runs of every job as a calendar, in a browser."),
    "next": CommandEntry("cronce.cli.commands.next", "List the next ticks of a job or of a schedule expression."),
    "logs": CommandEntry("cronce.cli.commands.logs", "Print the log of one attempt."),
    "open": CommandEntry("cronce.cli.commands.open", "Print the pages of JOB in the console of AWS."),
    "tail": CommandEntry("cronce.cli.commands.tail", "Print the changes of runs as they happen."),
    "wait": CommandEntry("cronce.cli.commands.wait", "Wait until the run has ended, for pipelines."),
    "rerun": CommandEntry("cronce.cli.commands.rerun", "Start one period of JOB: its task, target or command."),
    "backfill": CommandEntry(
        "cronce.cli.commands.backfill", "Run the periods of JOB in a time range that did not succeed."
    ),
    "pause": CommandEntry("cronce.cli.commands.pause", "Let no machine start a run of JOB until it is resumed."),
    "resume": CommandEntry("cronce.cli.commands.resume", "End the pause of JOB."),
    "release": CommandEntry("cronce.cli.commands.release", "Release a held, lost or stuck run for its next attempt."),
    "init": CommandEntry("cronce.cli.commands.init", "Create the ledger's table or file, or upgrade its table."),
    "check": CommandEntry("cronce.cli.commands.check", "Check the jobs of a Terraform plan before it is applied."),
    "audit": CommandEntry("cronce.cli.commands.audit", "Find clocks that act once per copy in a project."),
    "lambda-archive": CommandEntry(
        "cronce.cli.commands.lambda_archive", "Write the code of the Lambda functions, for Terraform."
    ),
    "import": CommandEntry("cronce.cli.commands.import_", "Write the schedules of another tool as code of cronce."),
    "clock": CommandEntry("cronce.cli.runtime.clock", "Be the clock: start each job's work when it is due."),
    "sweep": CommandEntry("cronce.cli.runtime.sweep", "Run a command for the runs that died or may be retried."),
    "watchdog": CommandEntry("cronce.cli.runtime.watchdog", "Find missed ticks, lost runs and ticks to catch up."),
    "pin": CommandEntry("cronce.cli.runtime.pin", "Run a command only while this process is the leader."),
    "health": CommandEntry("cronce.cli.runtime.health", "Ask a clock or a pinned command on this host how it is."),
    "checkpoint": CommandEntry("cronce.cli.runtime.checkpoint", "Store a cursor from inside 'cronce exec'."),
    "once": CommandEntry("cronce.cli.runtime.once", "Run a command that must not run twice, inside 'cronce exec'."),
    "new": CommandEntry("cronce.cli.commands.new", "Write a small project with a job that can be deployed."),
    "demo": CommandEntry("cronce.demo.command", "Play the story of the daily digest on this machine."),
    "help": CommandEntry("cronce.cli.commands.help", "Show the help of COMMAND."),
}
"""The commands in the order of `cronce --help`; a module is loaded when its command runs.

A click command is the attribute `command` of its module.
"""

_WITHOUT_CLICK = "cronce.cli.runtime."


class _Cronce(click.Group):
    """A group that loads a command on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            raise no_such_command(args[0], ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = COMMANDS[cmd_name].module
        if module.startswith(_WITHOUT_CLICK):
            return RuntimeCommand(cmd_name, callback=partial(_run_runtime, cmd_name))
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


def no_such_command(name: str, ctx: click.Context) -> click.UsageError:
    """The error for a command that does not exist, with the one that was probably meant."""
    close = get_close_matches(name, COMMANDS, n=1)
    return click.UsageError(f"No such command {name!r}.{f' Did you mean {close[0]!r}?' if close else ''}", ctx=ctx)


def _run_runtime(name: str, *, arguments: list[str]) -> int:
    from cronce.cli.runtime import run_runtime  # noqa: PLC0415  # not needed to list the command

    return run_runtime(name, arguments)


@click.group(
    cls=_Cronce,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=f"""\b
Examples:
  cronce exec --ledger sqlite:///runs.db --job daily-digest \\
      --period 2026-11-29 -- ./send-digest
  cronce runs daily-digest
  cronce next '0 6 * * 1-5' --timezone Europe/Berlin

\b
The ledger is the URL in CRONCE_LEDGER, or --ledger URL on each command:
{FORMS}.

\b
Exit codes: 0 done; 1 the command could not do what was asked; 64 bad usage;
69 the ledger or AWS cannot be used. 'cronce help exec' lists those of exec.""",
)
@click.version_option(VERSION, message="%(prog)s %(version)s")
@click.pass_context
def cronce(ctx: click.Context) -> None:
    """cron, once: scheduled work that happens once per period across the whole fleet."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(exit_codes.USAGE)


F = TypeVar("F", bound=Callable[..., Any])


def ledger_option(command: F) -> F:
    """Add `--ledger URL`, passed as `url`."""
    text = f"The ledger: {FORMS}."
    return click.option("--ledger", "url", metavar="URL", callback=TEXT, envvar=LEDGER, show_envvar=True, help=text)(
        command
    )


json_option = click.option("--json", "as_document", is_flag=True, help="Print one JSON document instead.")
"""Add `--json`, passed as `as_document`."""


@contextmanager
def opened(url: str | None) -> Iterator[Ledger]:
    """Open the ledger and close it when the block ends."""
    ctx = click.get_current_context()
    by_option = ctx.get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
    ledger = Ledger.from_settings(TaskSettings(ledger=url, ledger_called="--ledger" if by_option else LEDGER))
    try:
        yield ledger
    finally:
        ledger.close()


def commands_for(ctx: click.Context, job: str, period: str) -> Commands:
    """The command lines to suggest about that run, repeating the options of this one."""
    url = ctx.params["url"]
    return Commands(
        job,
        period,
        ledger=to_repeat(ctx, "url"),
        group=to_repeat(ctx, "group"),
        through=to_repeat(ctx, "through"),
        has_schedules=is_in_dynamodb(url)
        or bool(ctx.params.get("group") or os.environ.get(SCHEDULE_GROUP) or ctx.params.get("through")),
    )


def group_option(command: F) -> F:
    """Add `--schedule-group NAME`, passed as `group`."""
    text = "The group of the jobs' schedules.  [default: derived from the ledger's table]"
    return click.option(
        "--schedule-group", "group", metavar="NAME", callback=GROUP, envvar=SCHEDULE_GROUP, show_envvar=True, help=text
    )(command)


def launcher_for(url: str | None, group: str | None) -> Launcher:
    """The launcher that reads the jobs' schedules and starts their tasks.

    Raises:
        InputMissingError: No schedule group was given and none follows from the ledger.
    """
    from cronce.ecs import Launcher, schedule_group_of  # noqa: PLC0415  # only what is used is loaded

    if not group and not is_in_dynamodb(url):
        raise InputMissingError(
            "the schedule group",
            f"give --schedule-group or set {SCHEDULE_GROUP}; only for a ledger in DynamoDB does it follow from the"
            " table's name",
        )
    return Launcher(group=group or schedule_group_of(url or ""), region=region_of(url or ""))


def check_ticks_are_known(definition: JobDefinition | HostJob) -> None:
    """Refuse a job whose ticks cannot be computed.

    Raises:
        InputInvalidError: Its rate has no start date, it has no schedule, or its schedule is not known here.
    """
    if definition.only_people_start_it:
        raise InputInvalidError("JOB", definition.job, "a job with a schedule; only people start this one")
    if not definition.ticks_are_known:
        from cronce.cli.actions.host_start import HostJob  # noqa: PLC0415  # only for the error

        if isinstance(definition, HostJob):
            raise InputInvalidError("JOB", definition.job, "a job with a schedule; --config of its clock has one")
        what, allowed = (
            f"schedule of {definition.job}",
            "a rate with a StartDate; without one, only EventBridge knows its ticks",
        )
        raise InputInvalidError(what, definition.expression, allowed)


def look_up_row(ctx: click.Context, ledger: Ledger, job: str, period: str) -> tuple[About, Commands]:
    """What is known about the row, and the command lines to suggest for it."""
    commands, url = commands_for(ctx, job, period), ctx.params["url"]
    group = ctx.params.get("group") or os.environ.get(SCHEDULE_GROUP)
    # Without a group, the schedules are not looked for in AWS if the table is somewhere else.
    known = commands.has_schedules and (group or "endpoint=" not in url)
    about = look_up(ledger, launcher_for(url, group) if known else None, job, period)
    return about, replace(commands, has_schedules=about.has_schedule)


def complain_if_unknown(ctx: click.Context, ledger: Ledger, job: str) -> bool:
    """Print an error and return True if it is known that the job does not exist.

    Raises:
        LedgerUnavailableError: The store did not answer.
    """
    url, group = ctx.params["url"], ctx.params.get("group") or os.environ.get(SCHEDULE_GROUP)
    launcher = launcher_for(url, group) if group or is_in_dynamodb(url) else None
    if kind_by_name(job, "") is not RowKind.RUN:
        return False
    try:
        jobs = find_jobs(ledger, launcher)
    except LedgerUnavailableError:
        raise
    except CronceError:  # the schedules cannot be read, so the job may exist
        return False
    if any(known.name == job for known in jobs):
        return False
    near = nearest(job, jobs)
    where = f"{ledger.where} or the schedule group {launcher.group}" if launcher else ledger.where
    unknown = f"there is no job {job} in {where}"
    if near:
        complain(f"{unknown}. Did you mean {near}?")
    else:
        complain(f"{unknown}. To list the jobs:", command=commands_for(ctx, job, "").jobs())
    return True


def to_repeat(ctx: click.Context, name: str) -> str | None:
    """The value given on the command line; None if it came from the environment."""
    from_environment = ctx.get_parameter_source(name) is click.core.ParameterSource.ENVIRONMENT
    given: str | None = ctx.params.get(name)
    return None if from_environment else given


def operator() -> str:
    """The person at the keyboard: user@host."""
    import getpass  # noqa: PLC0415

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user id in a container may have no name
        user = f"uid {os.getuid()}"
    return f"{user}@{os.uname().nodename}"


def complain(message: str, code: int = exit_codes.PROBLEM, *, command: str | None = None) -> int:
    """Print one line on stderr and return the exit code.

    Args:
        message: What is wrong; it ends with a colon before a command.
        code: The exit code.
        command: What the person can type. A terminal gets it on its own line.
    """
    if sys.stderr.isatty():
        from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415  # rich

        PlainConsole(sys.stderr).say_with_command(f"cronce: {visible(message)}", command)
    else:
        click.echo(f"cronce: {visible(message)}{f' {visible(command)}' if command else ''}", err=True)
    return code
