"""`cronce exec`: run a command if this process is the one to run it."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from cronce.cli import exit_codes
from cronce.signals import SignalQueue

_EXAMPLE = """\
example:
  cronce exec --ledger sqlite:///runs.db --job daily-digest --period 2026-11-29 -- ./send-digest --day '{period}'

In a task of ScheduledTask no option is needed: the environment has CRONCE_LEDGER, CRONCE_JOB, CRONCE_POLICY
and CRONCE_SCHEDULED_TIME. The command gets CRONCE_PERIOD, CRONCE_ATTEMPT, CRONCE_FENCE and CRONCE_RESUME_FROM,
and {period} in its arguments is replaced.

exit codes: the command's own (128+n for signal n); 0 not started because somebody else does or did it;
64 bad usage; 69 ledger unreachable, not started; 70 claim lost, command stopped; 124 active deadline;
126 or 127 the command cannot be started. Durations are seconds or 90s, 5m, 2h.
"""


def main(arguments: list[str], signals: SignalQueue) -> int:
    """Claim, run, settle; the exit code."""
    options, command = _parse(arguments)

    from cronce.cli.guard import guarded  # noqa: PLC0415  # bad usage needs none of it

    return guarded(options, command, signals)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = _Parser(
        prog="cronce exec",
        usage="cronce exec [options] -- COMMAND [ARGUMENT ...]",
        description="Run COMMAND once per job and period across the whole fleet.",
        epilog=_EXAMPLE,
        # With a width of its own it does not load shutil to ask the terminal.
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100),
        allow_abbrev=False,
    )
    what = parser.add_argument_group("which run")
    what.add_argument("--job", metavar="NAME", help="name of the scheduled work [CRONCE_JOB]")
    what.add_argument("--period", metavar="P", help="the interval the run is for [CRONCE_PERIOD]")
    what.add_argument("--scheduled-time", metavar="T", help="nominal time; the period follows [CRONCE_SCHEDULED_TIME]")
    what.add_argument("--ledger", metavar="URL", help="dynamodb://TABLE?region=R or sqlite:///PATH [CRONCE_LEDGER]")
    what.add_argument("--trigger", metavar="T", help="schedule, retry, catch_up, manual, backfill [CRONCE_TRIGGER]")
    what.add_argument("--force", metavar="REASON", help="repeat a success, for this reason, which is recorded")
    how = parser.add_argument_group("policy (each wins over CRONCE_POLICY)")
    how.add_argument("--concurrency-policy", metavar="P", help="ALLOW, FORBID (default), REPLACE, WAIT")
    how.add_argument("--starting-deadline", metavar="D", help="how late a run may start")
    how.add_argument("--active-deadline", metavar="D", help="how long an attempt may take")
    how.add_argument("--backoff-limit", metavar="N", help="retries of a failed run (default 0)")
    how.add_argument("--on-lost", metavar="O", help="RETRY (default), or HOLD: after a crash wait for a person")
    how.add_argument("--lease", metavar="D", help="how long a claim outlives a dead process (default 60s)")
    more = parser.add_argument_group("this process")
    more.add_argument(
        "--grace", metavar="D", default="20s", help="from SIGTERM to SIGKILL (default 20s; ECS kills at 30s)"
    )
    more.add_argument("--refused-exit-code", metavar="N", default="0", help="exit code when not started (default 0)")
    own, command = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1 :]
    options = parser.parse_args(own)
    if not command or not command[0]:
        parser.error("the command is missing: cronce exec [options] -- COMMAND [ARGUMENT ...]")
    return options, command


class _Parser(argparse.ArgumentParser):
    """One line on stderr and exit code 64, as for every other bad value."""

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.split())  # the message may hold what was given, line breaks included
        sys.stderr.write(f"cronce exec: {line}; see cronce exec --help\n")
        sys.exit(exit_codes.USAGE)
