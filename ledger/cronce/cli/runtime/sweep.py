"""`cronce sweep`: run a command for the runs that died or may be retried."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from cronce.cli.runtime.exec_help import add_policy
from cronce.cli.runtime.options import CommandLine
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import JOB, LEDGER
from cronce.vocabulary.ledger_urls import FORMS

if TYPE_CHECKING:
    from argparse import Namespace

    from cronce.client.ledger import Ledger
    from cronce.client.refusal import Refusal
    from cronce.client.settings import TaskSettings
    from cronce.guard.child import Ended
    from cronce.guard.sweep import Sweep
    from cronce.protocol.records import RunRecord

_EXAMPLE = """\
example:
  cronce sweep --ledger sqlite:///runs.db --job daily-digest --backoff-limit 2 -- ./send-digest --day '{period}'
  cronce sweep --once --ledger sqlite:///runs.db --job daily-digest -- ./send-digest --day '{period}'

For ledgers that no recorder and no watchdog looks after. A run whose process died is marked FAILED(lease_lost)
when its lease has expired (plus 5s), and taken over as --on-lost says; a run that failed or was interrupted is tried
again within --backoff-limit, after 10s, 20s, 40s, ... at most 6m. Give the policy that 'cronce exec' has for the job.
Runs that succeeded, were skipped, missed, replaced or released, and runs that are held, are left as they are.
Start any number of sweeps: the claim decides which one runs the command. One sweep runs one command at a time.
COMMAND gets what 'cronce exec' gives it: CRONCE_JOB, CRONCE_PERIOD, ..., and {period} in its arguments is replaced.

exit codes: 0 asked to stop; with --once: 0 nothing was left or every command succeeded, 1 one did not, 69 ledger
unreachable, 128+n for signal n; 64 bad usage. Without --once, a ledger that is unreachable is asked again.
Durations are seconds or 90s, 5m, 2h.
"""

_MOST = 20


def main(own: list[str], command: list[str], signals: SignalQueue) -> int:
    """Sweep until asked to stop, or once; the exit code.

    Args:
        own: The arguments before `--`.
        command: Those after it.
        signals: What this process receives.
    """
    options = _parse(own, command)

    from cronce.vocabulary.errors import InputInvalidError, InputMissingError  # noqa: PLC0415  # as in `exec`

    try:
        sweep, every = _sweep(options, command, signals)
        if options.once:
            return _once(sweep, signals)
        from cronce.cli.runtime.passes import Passes  # noqa: PLC0415

        return Passes(lambda: sweep.once(signals), every, signals).run()
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce sweep: {error}\n")
        return exit_codes.USAGE


def _parse(own: list[str], command: list[str]) -> Namespace:
    parser = CommandLine(
        "cronce sweep",
        usage="[options] -- COMMAND [ARGUMENT ...]",
        description="Run COMMAND for each run whose process died, or that may be retried.",
        epilog=_EXAMPLE,
    )
    what = parser.add_argument_group("which runs")
    what.add_argument("--job", metavar="NAME", action="append", help="a job, may be repeated [CRONCE_JOB]")
    what.add_argument("--all-jobs", action="store_true", help="every job of the ledger; COMMAND reads CRONCE_JOB")
    what.add_argument("--ledger", metavar="URL", help=f"{FORMS} [{LEDGER}]")
    when = parser.add_argument_group("when")
    when.add_argument("--every", metavar="D", help="the pause between two passes (default 10s)")
    when.add_argument("--once", action="store_true", help="make one pass and exit, for a cron")
    when.add_argument("--most", metavar="N", help=f"run at most this many commands in a pass (default {_MOST})")
    add_policy(parser)
    more = parser.add_argument_group("this process")
    more.add_argument("--grace", metavar="D", help="from SIGTERM to SIGKILL (default 20s; ECS kills at 30s)")
    more.add_argument("--log-format", metavar="F", help="text or json (default: text on a terminal, else json)")
    more.add_argument("--quiet", action="store_const", const="true", help="report only warnings and errors")
    return parser.parse_with_command(own, command)


def _sweep(options: Namespace, command: list[str], signals: SignalQueue) -> tuple[Sweep, float]:
    """The sweep, and the seconds between its passes.

    Raises:
        InputInvalidError: An option or a variable cannot be used.
        InputMissingError: The ledger or the jobs are missing.
    """
    from cronce.cli.runtime.exec import choose_format, claim_and_run  # noqa: PLC0415  # bad usage needs none of it
    from cronce.client.ledger import Ledger, new_token  # noqa: PLC0415
    from cronce.client.reporting import warn_of_unknown_variables  # noqa: PLC0415
    from cronce.client.settings import TaskSettings  # noqa: PLC0415
    from cronce.client.time_source import SystemClock  # noqa: PLC0415
    from cronce.guard.sweep import Sweep  # noqa: PLC0415
    from cronce.protocol.requests import ClaimRequest  # noqa: PLC0415
    from cronce.vocabulary.durations import parse_duration  # noqa: PLC0415
    from cronce.vocabulary.errors import InputInvalidError  # noqa: PLC0415
    from cronce.vocabulary.names import RunName  # noqa: PLC0415
    from cronce.vocabulary.states import Trigger  # noqa: PLC0415
    from cronce.vocabulary.values import checked_whole  # noqa: PLC0415

    given = {name: text for name, text in vars(options).items() if isinstance(text, str)}
    choose_format(given)
    warn_of_unknown_variables(os.environ)
    settings = TaskSettings.from_environ(os.environ, given)
    grace = parse_duration(given.get("grace", "20s"), what="--grace").total_seconds()
    every = parse_duration(given.get("every", "10s"), what="--every")
    if not timedelta(seconds=1) <= every <= timedelta(days=1):
        raise InputInvalidError("--every", given["every"], "1s to 1d")
    text = given.get("most", str(_MOST))
    whole = int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else text
    most = checked_whole(whole, what="--most", least=1, most=1000)
    ledger = Ledger.from_settings(settings)
    jobs = _jobs_of(ledger, settings, options)

    def take_up(run: RunRecord) -> Ended | Refusal:
        while signals.next(0) is not None:
            """What arrived while there was no command is not for it; a request to stop is remembered."""
        request = ClaimRequest(
            run=RunName.of(run.job, run.period, run.scheduled_at),
            token=new_token(),
            owner=ledger.owner,
            ran=ledger.ran,
            policy=settings.policy,
            trigger=Trigger.RETRY,
        )
        return claim_and_run(ledger, request, command, signals, grace)

    sweep = Sweep(ledger, jobs, policy=settings.policy, take_up=take_up, clock=SystemClock(), most=most)
    return sweep, every.total_seconds()


def _jobs_of(ledger: Ledger, settings: TaskSettings, options: Namespace) -> Callable[[], Sequence[str]]:
    """Returns the jobs of a pass when it is called.

    Raises:
        InputInvalidError: A name cannot be used.
        InputMissingError: Nobody gave a job.
    """
    from cronce.operate.look_up import RowKind, kind_of_row  # noqa: PLC0415  # bad usage needs none of it
    from cronce.vocabulary.errors import InputInvalidError, InputMissingError  # noqa: PLC0415
    from cronce.vocabulary.names import checked_job  # noqa: PLC0415

    named = [*dict.fromkeys(checked_job(job, what="--job") for job in options.job or ())]
    if options.all_jobs and named:
        raise InputInvalidError("--all-jobs", "also --job", "one of both")
    if not options.all_jobs and not named and settings.job is None:
        how = f"give --job, several times for several jobs, or set {JOB}; --all-jobs runs COMMAND for every job"
        raise InputMissingError("the job's name", how)

    def jobs() -> Sequence[str]:
        if not options.all_jobs:
            for job in named or [settings.required_job()]:
                if kind_of_row(ledger, job, "-") is not RowKind.RUN:
                    allowed = "a job of yours; the rows of this one are not work that a command does"
                    raise InputInvalidError("--job", job, allowed)
            return named or [settings.required_job()]
        found = ledger.jobs()
        if found is None:
            allowed = "--job: only a scan of the whole table would find its jobs"
            raise InputInvalidError("--all-jobs", ledger.where, allowed)
        return [job for job in found if kind_of_row(ledger, job, "-") is RowKind.RUN]

    return jobs


def _once(sweep: Sweep, signals: SignalQueue) -> int:
    from cronce.vocabulary.errors import LedgerUnavailableError  # noqa: PLC0415

    try:
        well = sweep.once(signals)
    except LedgerUnavailableError as error:
        sys.stderr.write(f"cronce sweep: {error}\n")
        return exit_codes.UNAVAILABLE
    if signals.stopping:
        return exit_codes.BY_SIGNAL + signals.stopping
    return 0 if well else exit_codes.PROBLEM
