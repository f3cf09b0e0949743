"""`cronce exec`: run a command if this process is the one to run it."""

from __future__ import annotations

from cronce.guard.signals import SignalQueue
from cronce.vocabulary.values import field_names, value_class


@value_class(kw_only=True)
class ExecOptions:
    """What the command line says, as text; None where it says nothing. `--on-lost` is `on_lost`."""

    job: str | None = None
    period: str | None = None
    scheduled_time: str | None = None
    ledger: str | None = None
    trigger: str | None = None
    force: str | None = None
    concurrency_policy: str | None = None
    starting_deadline: str | None = None
    active_deadline: str | None = None
    backoff_limit: str | None = None
    on_lost: str | None = None
    lease: str | None = None
    grace: str = "20s"
    refused_exit_code: str = "0"


def main(arguments: list[str], signals: SignalQueue) -> int:
    """Claim, run, settle; the exit code."""
    own, command = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1 :]
    options = plain_options(own)
    if options is None or not command or not command[0]:
        from cronce.cli.runtime.exec_help import parse  # noqa: PLC0415  # argparse: only for help, and for what is wrong

        options, command = parse(arguments)

    from cronce.cli.runtime.guarded import guarded  # noqa: PLC0415  # bad usage needs none of it

    return guarded(options, command, signals)


def plain_options(arguments: list[str]) -> ExecOptions | None:
    """The options, if each is `--name VALUE` or `--name=VALUE`; None for all else, which argparse judges."""
    names = {f"--{name.replace('_', '-')}": name for name in field_names(ExecOptions)}
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if not equals:
            value = next(rest, "-")
        if option not in names or (not equals and value.startswith("-")):
            return None
        given[names[option]] = value
    return ExecOptions(**given)
