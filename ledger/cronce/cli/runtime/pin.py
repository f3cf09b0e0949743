"""`cronce pin`: run a command in one process of many, for as long as that process leads."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cronce.cli.runtime.options import CommandLine
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.ledger_urls import FORMS

if TYPE_CHECKING:
    from argparse import Namespace

    from cronce.guard.pin_command import Pinned

_EXAMPLE = """\
example:
  cronce pin --ledger sqlite:///runs.db --job clock -- celery -A shop beat

For any clock that must run once: celery beat, clockwork, sidekiq-cron, a shell loop. Start any number of them:
one leads and runs COMMAND, the others stand by. On SIGTERM the leader stops COMMAND and releases the lease; another
process starts it about a second later. After a crash, that takes until the lease expires (plus 5s), or until the
recorder has seen the task stop. While the ledger is unavailable, nothing runs; the process keeps asking.
In a task of PinnedScheduler no option is needed: the environment has CRONCE_LEDGER, CRONCE_JOB and CRONCE_POLICY.
COMMAND gets CRONCE_ATTEMPT and CRONCE_FENCE, a number that rises with every leader.

exit codes: the command's own (128+n for signal n); 128+n also if signal n arrived while standing by; 64 bad usage;
70 another process took the lease, command stopped; 71 the guard itself failed, lease released; 126 or 127 the command
cannot be started.
Durations are seconds or 90s, 5m, 2h.
"""


def main(own: list[str], command: list[str], signals: SignalQueue) -> int:
    """Stand by and lead in turn; the exit code.

    Args:
        own: The arguments before `--`.
        command: Those after it.
        signals: What this process receives.
    """
    options = _parse(own, command)

    from cronce.vocabulary.errors import InputInvalidError, InputMissingError  # noqa: PLC0415  # bad usage needs none of it

    try:
        return _pinned(options, command).run(signals)
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce pin: {error}\n")
        return exit_codes.USAGE


def _parse(own: list[str], command: list[str]) -> Namespace:
    parser = CommandLine(
        "cronce pin",
        usage="[options] -- COMMAND [ARGUMENT ...]",
        description="Run COMMAND in one process of many, for as long as that process leads.",
        epilog=_EXAMPLE,
    )
    what = parser.add_argument_group("what it leads")
    what.add_argument("--job", metavar="NAME", help="name of the leader's lease [CRONCE_JOB]")
    what.add_argument("--ledger", metavar="URL", help=f"{FORMS} [{LEDGER}]")
    how = parser.add_argument_group("how")
    how.add_argument("--lease", metavar="D", help="how long the lease of a dead leader lasts [CRONCE_POLICY] (60s)")
    how.add_argument("--poll", metavar="D", default="1s", help="how often a standby looks (default 1s)")
    how.add_argument("--grace", metavar="D", default="20s", help="from SIGTERM to SIGKILL (default 20s; ECS: 30s)")
    return parser.parse_with_command(own, command)


def _pinned(options: Namespace, command: list[str]) -> Pinned:
    """The command with its leadership, and its health served."""
    from cronce.client.leadership import Leadership  # noqa: PLC0415
    from cronce.client.ledger import Ledger  # noqa: PLC0415
    from cronce.client.reporting import warn_of_unknown_variables  # noqa: PLC0415
    from cronce.client.settings import TaskSettings  # noqa: PLC0415
    from cronce.guard.health import HealthServer  # noqa: PLC0415
    from cronce.guard.pin_command import Pinned  # noqa: PLC0415  # bad usage needs none of it
    from cronce.vocabulary.durations import parse_duration  # noqa: PLC0415

    given = {name: text for name, text in vars(options).items() if text is not None}
    warn_of_unknown_variables(os.environ)
    settings = TaskSettings.from_environ(os.environ, given)
    poll = parse_duration(options.poll, what="--poll")
    grace = parse_duration(options.grace, what="--grace").total_seconds()
    job, ledger = settings.required_job(), Ledger.from_settings(settings)
    pinned = Pinned(Leadership(ledger, job, lease=settings.policy.lease, poll=poll), command, grace=grace)
    HealthServer(pinned.trouble, name=job, ledger=settings.required_ledger()).start()
    return pinned
