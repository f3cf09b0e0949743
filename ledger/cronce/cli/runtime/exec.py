"""`cronce exec`: run a command if this process is the one to run it."""

from __future__ import annotations

import os
import sys

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger, new_token
from cronce.client.refusal import Refusal
from cronce.client.reporting import warn_of_unknown_variables, write_lines
from cronce.client.settings import TaskSettings
from cronce.guard.attempt import attempt
from cronce.guard.signals import SignalQueue
from cronce.protocol.requests import ClaimRequest, RefusalReason
from cronce.vocabulary import exit_codes
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.environment import METRICS
from cronce.vocabulary.errors import InputInvalidError, InputMissingError, LeaseLostError, LedgerUnavailableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cronce.guard.child import Ended

OPTIONS = (
    "job",
    "period",
    "scheduled_time",
    "date_in",
    "schedule",
    "timezone",
    "tolerance",
    "ledger",
    "trigger",
    "force",
    "concurrency_policy",
    "starting_deadline",
    "active_deadline",
    "backoff_limit",
    "on_lost",
    "lease",
    "exclusion_group",
    "grace",
    "refused_exit_code",
    "actor",
    "log_format",
)
"""The options with a value, by the name of their field: `--on-lost` is `on_lost`."""

_OF_A_FOREIGN_CLOCK = frozenset({"schedule", "timezone", "tolerance"})

QUIET = "--quiet"


def main(own: list[str], command: list[str], signals: SignalQueue) -> int:
    """Claim, run, settle; the exit code, see `exit_codes`.

    Args:
        own: The arguments before `--`.
        command: Those after it.
        signals: What this process receives.
    """
    options = plain_options(own)
    if options is None or not command or not command[0]:
        from cronce.cli.runtime.exec_help import parse_in_full  # noqa: PLC0415  # argparse: only for help and errors

        options = parse_in_full(own, command)
    try:
        choose_format(options)
        warn_of_unknown_variables(os.environ)
        if not _OF_A_FOREIGN_CLOCK.isdisjoint(options):
            from datetime import UTC, datetime  # noqa: PLC0415  # loaded already

            from cronce.cli.runtime.just_due import with_scheduled_time  # noqa: PLC0415  # only where it is needed

            options = with_scheduled_time(options, os.environ, datetime.now(UTC))
        settings = TaskSettings.from_environ(os.environ, options)
        grace = parse_duration(options.get("grace", "20s"), what="--grace").total_seconds()
        refused_code = _exit_code(options.get("refused_exit_code", "0"))
        settings.run_name()  # what is wrong with the run is reported before what is wrong with the ledger
        ledger = Ledger.from_settings(settings)
        request = settings.claim_request(token=new_token(), owner=ledger.owner, ran=ledger.ran)
        end = claim_and_run(ledger, request, command, signals, grace)
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce exec: {error}\n")
        return exit_codes.USAGE
    except LedgerUnavailableError:
        return exit_codes.UNAVAILABLE
    except LeaseLostError:
        return exit_codes.LEASE_LOST
    return _code_of_refusal(end, signals, refused_code) if isinstance(end, Refusal) else end.exit_code


def claim_and_run(
    ledger: Ledger, request: ClaimRequest, command: list[str], signals: SignalQueue, grace: float
) -> Ended | Refusal:
    """Claim the run, run the command under the claim, and settle it; or report why the command must not start.

    Args:
        ledger: Where the run is.
        request: For the run.
        command: Program and arguments; `{period}` in them is replaced.
        signals: What this process receives.
        grace: Seconds from SIGTERM to SIGKILL.

    Raises:
        LedgerUnavailableError: The ledger cannot be used; the command did not start. Reported.
        LeaseLostError: Another process may have the run. Reported.
    """

    def work(claim: Claim) -> Ended:
        from cronce.guard.run_command import guard_command  # noqa: PLC0415  # most processes are refused

        return guard_command(claim, [part.replace("{period}", request.period) for part in command], signals, grace)

    def settle(claim: Claim, ended: Ended) -> int:
        from cronce.guard.run_command import settle  # noqa: PLC0415  # loaded by now

        return settle(claim, ended)

    return attempt(request.run, lambda: ledger.submit(request, stop=signals), work, settle, errors_are_ours=True)


def plain_options(arguments: list[str]) -> dict[str, str] | None:
    """The options' texts, if each is `--name VALUE` or `--name=VALUE`; None for all else, which argparse judges."""
    names = {f"--{name.replace('_', '-')}": name for name in OPTIONS}
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == QUIET:
            given["quiet"] = "true"
            continue
        option, equals, value = argument.partition("=")
        if not equals:
            value = next(rest, "-")
        if option not in names or (not equals and value.startswith("-")):
            return None
        given[names[option]] = value
    return given


def choose_format(options: dict[str, str]) -> None:
    """JSON for a collector of logs; a short line for a person at a terminal."""
    given = options.get("log_format")
    if given not in (None, "json", "text"):
        raise InputInvalidError("--log-format", given, "json, text")
    for_people = os.isatty(2) and METRICS not in os.environ if given is None else given == "text"
    write_lines(text=for_people, quiet="quiet" in options)


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and int(text) <= 255):
        raise InputInvalidError("--refused-exit-code", text, "a whole number from 0 to 255")
    return int(text)


def _code_of_refusal(refusal: Refusal, signals: SignalQueue, refused_code: int) -> int:
    if refusal.reason is RefusalReason.LEASE_LOST:
        return exit_codes.LEASE_LOST
    if refusal.reason is RefusalReason.INTERRUPTED and signals.stopping:
        return exit_codes.BY_SIGNAL + signals.stopping
    return refused_code
