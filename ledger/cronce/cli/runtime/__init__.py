"""The commands that run beside the work, on the standard library: exec, sweep, watchdog, pin, clock, ..."""

from __future__ import annotations


def run_runtime(name: str, arguments: list[str]) -> int:
    """Run one of the commands that do not use click and return its exit code."""
    match name:
        case "health":
            from cronce.cli.runtime.health import main as health  # noqa: PLC0415  # only what is used is loaded

            return health(arguments)
        case "checkpoint":
            from cronce.cli.runtime.checkpoint import main as checkpoint  # noqa: PLC0415  # only what is used is loaded

            return checkpoint(arguments)
        case "once":
            from cronce.cli.runtime.once import main as once  # noqa: PLC0415  # only what is used is loaded

            return once(*_around_command(arguments))
        case _:
            return _supervise(name, arguments)


def _supervise(name: str, arguments: list[str]) -> int:
    # First of all: until then PID 1 does not even hear SIGTERM (man 7 pid_namespaces).
    from cronce.guard.signals import SignalQueue  # noqa: PLC0415

    signals = SignalQueue()
    if name == "exec":
        from cronce.cli.runtime.exec import main as run_exec  # noqa: PLC0415

        return run_exec(*_around_command(arguments), signals)
    if name == "sweep":
        from cronce.cli.runtime.sweep import main as run_sweep  # noqa: PLC0415

        return run_sweep(*_around_command(arguments), signals)
    if name == "pin":
        from cronce.cli.runtime.pin import main as run_pin  # noqa: PLC0415

        return run_pin(*_around_command(arguments), signals)
    if name == "watchdog":
        from cronce.cli.runtime.watchdog import main as run_watchdog  # noqa: PLC0415

        return run_watchdog(arguments, signals)
    from cronce.cli.runtime.clock import main as run_clock  # noqa: PLC0415

    return run_clock(arguments, signals)


def _around_command(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first `--`, and the command after it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]
