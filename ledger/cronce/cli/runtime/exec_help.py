"""The options of `cronce exec` in full, on argparse: the help, and what is wrong with a command line."""

from __future__ import annotations

from cronce.cli.runtime.options import CommandLine
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.ledger_urls import FORMS

_EXAMPLE = """\
example:
  cronce exec --ledger sqlite:///runs.db --job daily-digest --period 2026-11-29 -- ./send-digest --day '{period}'

  0 6 * * *  cronce exec --schedule '0 6 * * *' --timezone Europe/Berlin --job daily-digest -- ./send-digest

The second is a line of a crontab on several hosts. Exactly one tick must have been due within --tolerance, or be
due within 5 s; else nothing starts (64). Several lines are one job if each has all of their expressions: 'E; E'.
CRONCE_PERIOD and CRONCE_SCHEDULED_TIME take precedence.

In a task of ScheduledTask no option is needed: the environment has CRONCE_LEDGER, CRONCE_JOB, CRONCE_POLICY
and CRONCE_SCHEDULED_TIME. The command gets CRONCE_PERIOD, CRONCE_ATTEMPT, CRONCE_FENCE and CRONCE_RESUME_FROM,
and {period} in its arguments is replaced.

exit codes: the command's own (128+n for signal n); 0 not started because another process does or did it;
64 bad usage; 69 ledger unreachable, not started; 70 claim lost, command stopped; 71 the guard itself failed, run
given back; 124 active deadline; 126 or 127 the command cannot be started. Durations are seconds or 90s, 5m, 2h.
"""


def parse_in_full(own: list[str], command: list[str]) -> dict[str, str]:
    """The options' texts; a command line that cannot be used ends the process with one line."""
    parser = CommandLine(
        "cronce exec",
        usage="[options] -- COMMAND [ARGUMENT ...]",
        description="Run COMMAND once per job and period across the whole fleet.",
        epilog=_EXAMPLE,
    )
    what = parser.add_argument_group("which run")
    what.add_argument("--job", metavar="NAME", help="name of the scheduled work [CRONCE_JOB]")
    what.add_argument("--period", metavar="P", help="the interval the run is for [CRONCE_PERIOD]")
    what.add_argument("--scheduled-time", metavar="T", help="nominal time; the period follows [CRONCE_SCHEDULED_TIME]")
    what.add_argument("--date-in", metavar="TZ", help="the period is the scheduled time's day there [CRONCE_DATE_IN]")
    what.add_argument("--schedule", metavar="E", help="derive the period from the clock: the tick of E just due")
    what.add_argument("--timezone", metavar="TZ", help="time zone of --schedule (default UTC)")
    what.add_argument("--tolerance", metavar="D", help="how long ago the tick of --schedule may be (default 30s)")
    what.add_argument("--ledger", metavar="URL", help=f"{FORMS} [{LEDGER}]")
    what.add_argument("--trigger", metavar="T", help="schedule, retry, catch_up, manual, backfill [CRONCE_TRIGGER]")
    what.add_argument("--force", metavar="REASON", help="repeat a success; needs --trigger manual [CRONCE_FORCE]")
    add_policy(parser)
    more = parser.add_argument_group("this process")
    more.add_argument("--grace", metavar="D", help="from SIGTERM to SIGKILL (default 20s; ECS kills at 30s)")
    more.add_argument("--refused-exit-code", metavar="N", help="exit code when not started (default 0)")
    more.add_argument("--actor", metavar="NAME", help="who starts it, recorded (with --force: you) [CRONCE_ACTOR]")
    more.add_argument("--log-format", metavar="F", help="text or json (default: text on a terminal, else json)")
    more.add_argument("--quiet", action="store_const", const="true", help="report only warnings and errors")
    options = parser.parse_with_command(own, command)
    return {name: text for name, text in vars(options).items() if text is not None}


def add_policy(parser: CommandLine) -> None:
    """Add the options of the policy with which runs are claimed."""
    how = parser.add_argument_group("policy (each wins over CRONCE_POLICY)")
    how.add_argument("--concurrency-policy", metavar="P", help="ALLOW, FORBID (default), REPLACE, WAIT")
    how.add_argument("--starting-deadline", metavar="D", help="how late a run may start")
    how.add_argument("--active-deadline", metavar="D", help="how long an attempt may take")
    how.add_argument("--backoff-limit", metavar="N", help="retries of a failed run (default 0)")
    how.add_argument("--on-lost", metavar="O", help="RETRY (default), or HOLD: after a crash wait for a person")
    how.add_argument("--lease", metavar="D", help="how long a claim outlives a dead process (default 60s)")
    how.add_argument("--exclusion-group", metavar="G", help="jobs of one group never overlap [CRONCE_EXCLUSION_GROUP]")
