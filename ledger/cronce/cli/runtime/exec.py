"""`cronce exec`: run a command if this process is the one to run it."""

from __future__ import annotations

from cronce.guard.signals import SignalQueue

OPTIONS = (
    "job",
    "period",
    "scheduled_time",
    "ledger",
    "trigger",
    "force",
    "concurrency_policy",
    "starting_deadline",
    "active_deadline",
    "backoff_limit",
    "on_lost",
    "lease",
    "grace",
    "refused_exit_code",
)
"""The options by the name of their field: `--on-lost` is `on_lost`."""


def main(arguments: list[str], signals: SignalQueue) -> int:
    """Claim, run, settle; the exit code."""
    own, command = arguments, []
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1 :]
    options = plain_options(own)
    if options is None or not command or not command[0]:
        from cronce.cli.runtime.exec_help import parse_in_full  # noqa: PLC0415  # argparse: only for help, and for what is wrong

        options, command = parse_in_full(arguments)

    from cronce.cli.runtime.guarded import guarded  # noqa: PLC0415  # bad usage needs none of it

    return guarded(options, command, signals)


def plain_options(arguments: list[str]) -> dict[str, str] | None:
    """The options' texts, if each is `--name VALUE` or `--name=VALUE`; None for all else, which argparse judges."""
    names = {f"--{name.replace('_', '-')}": name for name in OPTIONS}
    given: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if not equals:
            value = next(rest, "-")
        if option not in names or (not equals and value.startswith("-")):
            return None
        given[names[option]] = value
    return given
