"""`cronce rerun`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import click

from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import Refuse, Start
from cronce.cli.actions.start import Starter
from cronce.cli.actions.through import Arranged, NotArranged, RerunFunction
from cronce.cli.actions.ticks import check_is_due, newest_due
from cronce.cli.app import (
    commands_for,
    complain,
    group_option,
    json_option,
    ledger_option,
    opened,
    operator,
)
from cronce.cli.arguments import complete_period, job_argument
from cronce.cli.parameters import FUNCTION, PERIOD, TEXT
from cronce.cli.ways import COMMAND_WORDS, WithCommand, config_option, way_for
from cronce.client.ledger import Ledger
from cronce.operate.advice import Commands
from cronce.operate.look_up import RowKind, kind_by_name
from cronce.operate.pauses import pause_remark
from cronce.operate.wording import short_owner, visible
from cronce.protocol.records import RunRecord
from cronce.stores.urls import region_of
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import RERUN_FUNCTION
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.states import Trigger

PAUSE = 2.0
"""Seconds between two looks at a run; each costs one read of the ledger."""

_BAD_USAGE = ("INVALID", "NO_TICK")
"""Reasons of the rerun function that are mistakes in the request."""


@click.command(
    "rerun",
    cls=WithCommand,
    epilog="""\b
Examples:
  cronce rerun daily-digest 2026-11-29T05:00:00Z --follow
  cronce rerun daily-digest 2026-11-29T05:00:00Z --force \\
      --reason "half of the mails went to spam"
  cronce rerun daily-digest --now --config clock.toml
  cronce rerun daily-digest 2026-11-29 -- ./send-digest --day '{period}'

A run that is active, done or held is refused, with what to do instead.
PERIOD must be a tick of the job's schedule, or a run in the ledger.

Without ECS, --config starts the run through the target of the clock's job, and
COMMAND runs here, under the guard of 'cronce exec', with CRONCE_POLICY. Without
a schedule, PERIOD is any period: nothing is taken from the clock.

With --through, a function of the ledger's stack checks the same, and has the
task started within two minutes. You need permission to invoke it, and with
--follow to read the ledger.

\b
Exit codes: 0 the task was started (with --follow or COMMAND: and the run
succeeded); 1 it was not started, or the run failed; 64 bad usage; 69 the
ledger, the schedules, ECS or the function cannot be used; 130 a signal
stopped COMMAND.

The JSON document is {"job", "period", "started", "attempt", "task", "reason",
"run"}: reason says why nothing was started or why the run failed, run is the
run at the end. COMMAND's own output then goes to stderr. With --through, task is null, and without --follow run has
only what the function saw.""",
)
@job_argument
@click.argument("period", callback=PERIOD, required=False, shell_complete=complete_period)
@click.option("--now", "newest", is_flag=True, help="The newest tick that was due, instead of PERIOD.")
@click.option("--reason", metavar="TEXT", callback=TEXT, help="Why; recorded with the run.")
@click.option("--force", is_flag=True, help="Repeat a success, or take over a held run; needs --reason.")
@click.option("--follow", is_flag=True, help="Wait until the run has ended, and report its progress.")
@click.option("--actor", metavar="NAME", callback=TEXT, help="Who asks; recorded.  [default: you, as user@host]")
@click.option("--unscheduled", is_flag=True, help="Accept a PERIOD that is no tick of the schedule, or not due yet.")
@click.option(
    "--through",
    metavar="FUNCTION",
    callback=FUNCTION,
    envvar=RERUN_FUNCTION,
    show_envvar=True,
    help="Have the ledger's rerun function start the task.",
)
@config_option
@json_option
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    period: str | None,
    newest: bool,
    reason: str | None,
    force: bool,
    follow: bool,
    actor: str | None,
    unscheduled: bool,
    through: str | None,
    config: str | None,
    as_document: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Start one period of JOB: its task, target or command."""
    if newest is (period is not None):
        raise click.UsageError("Give either PERIOD or --now.", ctx)
    if force and not reason:
        raise click.UsageError("--force needs --reason TEXT, which is recorded with the run.", ctx)
    if through and unscheduled:
        text = f"--unscheduled is not possible with --through ({RERUN_FUNCTION}): the function takes no other periods."
        raise click.UsageError(text, ctx)
    if through and (newest or config or ctx.meta.get(COMMAND_WORDS)):
        raise click.UsageError("--through starts the task of a PERIOD, without --now, --config and COMMAND.", ctx)
    _check_is_a_run(job, period or "-")
    with opened(url) as ledger:
        if through:
            assert period is not None  # noqa: S101  # checked above
            commands = commands_for(ctx, job, period)
            function = RerunFunction(through, region=region_of(url or ""))
            report = _Report(job, period, as_document=as_document)
            answer = function.arrange(
                commands, actor=actor or operator(), reason=reason, force=force, now=datetime.now(UTC)
            )
            return _arranged(answer, ledger, report, commands, follow=follow)
        way = way_for(ctx, ledger, job, url=url, group=group, config=config)
        definition = way.definition
        period = period or newest_due(definition, now=datetime.now(UTC))
        commands = commands_for(ctx, job, period)
        starter = Starter(
            ledger,
            way.launcher,
            definition,
            commands,
            tasks=way.tasks,
            trigger=Trigger.MANUAL,
            actor=actor or operator(),
            reason=reason,
            force=force,
        )
        verdict = starter.may_start(period)
        if verdict.run is None and not unscheduled and definition.ticks_are_known:
            check_is_due(definition, period, now=datetime.now(UTC))
        report = _Report(job, period, as_document=as_document)
        if newest:
            report.newest()
        if isinstance(verdict, Refuse):
            return report.not_started(verdict.reason, verdict.why, verdict.run, command=verdict.command)
        report.remark(pause_remark(ledger, job, datetime.now(UTC)))
        if way.is_here:
            report.runs_here(verdict)
        started = starter.start(period, verdict)
        if isinstance(started, str):
            tried = starter.attempt(period, verdict.run, verdict.attempt)
            if tried.look(datetime.now(UTC)) is None:
                return report.not_started("NOT_LAUNCHED", started, verdict.run)
            return report.ended(tried)
        if not way.is_here:
            report.started(started, verdict, commands, follow=follow, by_target=way.tasks is None)
        return _follow(started, report, commands) if follow or way.is_here else report.ended(started)


def _arranged(
    answer: Arranged | Refuse | NotArranged, ledger: Ledger, report: _Report, commands: Commands, *, follow: bool
) -> int:
    """Report the function's answer, and follow the attempt if that is asked for; the exit code."""
    if isinstance(answer, NotArranged):
        code = exit_codes.USAGE if answer.reason in _BAD_USAGE else exit_codes.PROBLEM
        return report.not_started(answer.reason, answer.why, None, code=code)
    if isinstance(answer, Refuse):
        return report.not_started(answer.reason, answer.why, answer.run, command=answer.command)
    start = answer.start
    started = StartedAttempt(
        ledger, None, job=commands.job, period=commands.period, attempt=start.attempt, before=start.run, task=None
    )
    report.arranged(started, start, commands, before=answer.before, follow=follow)
    return _follow(started, report, commands) if follow else report.ended(started)


def _check_is_a_run(job: str, period: str) -> None:
    """Refuse rows that are no run of a job.

    Raises:
        InputInvalidError: It is a leader's row, or one of the watchdog.
    """
    match kind_by_name(job, period):
        case RowKind.LEADER:
            raise InputInvalidError("PERIOD", period, "the period of a run; this row says who leads, it is not a run")
        case RowKind.WATCHDOG:
            raise InputInvalidError("JOB", job, "a job of yours; this row is the watchdog's own, it is not a run")
        case _:
            pass


def _follow(started: StartedAttempt, report: _Report, commands: Commands) -> int:
    try:
        with report.waiting() as news:
            while started.look(datetime.now(UTC)) is None:
                news(started)
                time.sleep(PAUSE)
    except KeyboardInterrupt:
        complain("no longer following; the task continues. To see the run:", command=commands.show())
        raise
    return report.ended(started)


class _Report:
    """Reports what happens: line by line to a person, or as one document at the end."""

    def __init__(self, job: str, period: str, *, as_document: bool) -> None:
        from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415  # rich

        self._console = PlainConsole(sys.stderr if as_document else None)
        self._document: dict[str, object] | None = {"job": job, "period": period} if as_document else None
        self._name = f"{visible(job)} {visible(period)}"

    def not_started(
        self,
        reason: str,
        why: str,
        run: RunRecord | None,
        *,
        command: str | None = None,
        code: int = exit_codes.PROBLEM,
    ) -> int:
        """Report that nothing was started; the exit code."""
        self._print_document(started=False, attempt=None, task=None, reason=reason, run=run)
        return complain(f"{self._name} is not started: {why}", code, command=command)

    def remark(self, remark: str | None) -> None:
        """Report that the job is paused, which does not bind a person."""
        if remark is not None:
            self._console.say(f"{remark} (This start is yours, so it is not bound by that.)")

    def newest(self) -> None:
        """Report which period `--now` means."""
        self._console.say(f"{self._name} is the newest tick that was due.")

    def runs_here(self, start: Start) -> None:
        """Report that the command is about to run in this process."""
        self._console.say(f"Running {self._name} here: attempt {start.attempt}.")
        if start.remark:
            self._console.say(visible(start.remark))

    def started(
        self, started: StartedAttempt, start: Start, commands: Commands, *, follow: bool, by_target: bool
    ) -> None:
        """Report that the task was started."""
        task = short_owner(started.task or "")
        self._console.say(f"Started {self._name}: attempt {started.attempt}, {task}.")
        self._say_what_follows(start, commands, follow=follow, started_by_target=by_target)

    def arranged(
        self, started: StartedAttempt, start: Start, commands: Commands, *, before: bool, follow: bool
    ) -> None:
        """Report that EventBridge Scheduler is to start the task."""
        self._console.say(f"Arranged {self._name}: attempt {started.attempt}. Its task starts within two minutes.")
        if before:
            text = "It was arranged before, as a retry or by a person, so your name and reason are not recorded."
            self._console.say(text)
        self._say_what_follows(start, commands, follow=follow)

    def _say_what_follows(
        self, start: Start, commands: Commands, *, follow: bool, started_by_target: bool = False
    ) -> None:
        if start.remark:
            self._console.say(visible(start.remark))
        if not follow:
            claims = "It claims the run when its container is up."
            if started_by_target:
                claims = "Its work claims the run; work that does not ask the ledger leaves no row."
            self._console.say(f"{claims} To see the run:")
            self._console.print_command(commands.show())

    @contextmanager
    def waiting(self) -> Iterator[Callable[[StartedAttempt], None]]:
        """Show what the command waits for until the block ends; call the function after each look."""
        told: list[bool] = []
        warned: list[bool] = []

        def news(started: StartedAttempt) -> None:
            if started.warning and not warned:
                warned.append(True)
                self._console.say(visible(started.warning))
            if started.claimed and not told:
                told.append(True)
                owner = short_owner(started.run.owner) if started.run else ""
                self._console.say(f"Running: attempt {started.attempt} by {owner}.")
                status.update("waiting for the run to end")

        with self._console.status("waiting for the container") as status:
            yield news

    def ended(self, started: StartedAttempt) -> int:
        """Report how the attempt ended, if it was followed; the exit code."""
        outcome = started.outcome
        self._print_document(
            started=True,
            attempt=started.attempt,
            task=started.task,
            reason=None if outcome is None or outcome.ok else outcome.text,
            run=started.run,
        )
        if outcome is None:
            return 0
        self._console.say(f"{self._name} {visible(outcome.text)}")
        return 0 if outcome.ok else exit_codes.PROBLEM

    def _print_document(self, *, run: RunRecord | None, **fields: object) -> None:
        if self._document is None:
            return
        from cronce.cli.output.documents import as_json, run_document  # noqa: PLC0415

        click.echo(as_json(self._document | fields | {"run": run and run_document(run)}))
