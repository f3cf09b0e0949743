"""`cronce clock`: dispatch the ticks of jobs, in one of several processes."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cronce.cli.output.streams import OutputLostError, prepare_streams, silence_output
from cronce.cli.runtime.options import CommandLine
from cronce.client.leadership import LEADER, Leadership
from cronce.client.ledger import Ledger
from cronce.client.reporting import warn_of_unknown_variables
from cronce.client.settings import TaskSettings
from cronce.client.time_source import SystemClock
from cronce.clock.config import SEPARATOR, ClockJob, TaskTarget, config_from_json, config_from_toml
from cronce.clock.service import ClockService, in_a_thread
from cronce.clock.store_time import StoreTime, TimedStore
from cronce.clock.targets import Targets
from cronce.guard.health import HealthServer
from cronce.guard.signals import SignalQueue
from cronce.protocol.records import run_key
from cronce.stores.urls import open_store, region_of
from cronce.vocabulary import exit_codes
from cronce.vocabulary.durations import format_duration, parse_duration
from cronce.vocabulary.environment import CLOCK, JOB, LEDGER, SCHEDULE_GROUP
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.ledger_urls import FORMS

_EXAMPLE = """\
example:
  cronce clock --config clock.toml --check
  cronce clock --config clock.toml --ledger sqlite:///runs.db --job clock

clock.toml:
  [jobs.daily-digest]
  schedule = "0 6 * * *"
  timezone = "Europe/Berlin"
  target = { command = ["./enqueue-digest", "--day", "{period}"] }

Start any number of processes: one leads, the others stand by and take over about a second after it was stopped.
Ticks that became due in between are caught up. docs/clock.md has every setting.
A task of PinnedScheduler needs no options: the environment has CRONCE_CLOCK, CRONCE_LEDGER, CRONCE_JOB and
CRONCE_POLICY.

exit codes: 0 asked to stop; 64 bad usage or configuration. Durations are seconds or 90s, 5m, 2h.
"""

_TICKS_SHOWN = 3
_NO_SCHEDULE = "no schedule: only people start it"
_LONGEST_WAIT = 60.0
_TO_BREAK_OFF = 2.0


def main(arguments: list[str], signals: SignalQueue) -> int:
    """Check the configuration or run the clock. Returns the exit code."""
    prepare_streams()
    try:
        try:
            return _check_or_run(arguments, signals)
        finally:
            sys.stdout.flush()
    except OutputLostError as lost:
        silence_output()
        if lost.reader_left:
            return exit_codes.BY_SIGNAL + signal.SIGPIPE
        sys.stderr.write(f"cronce clock: the output cannot be written: {lost.cause}\n")
        return exit_codes.PROBLEM


def _check_or_run(arguments: list[str], signals: SignalQueue) -> int:
    options = _parser().parse(arguments)
    try:
        jobs = _jobs(options.config)
        if options.check:
            _show(jobs, datetime.now(UTC))
            return 0
        return _run(jobs, options, signals)
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce clock: {error}\n")
        return exit_codes.USAGE


def _parser() -> CommandLine:
    parser = CommandLine(
        "cronce clock",
        usage="[options]",
        description="Dispatch the ticks of scheduled jobs, each once, to queues, tasks, functions, buses or commands.",
        epilog=_EXAMPLE,
    )
    parser.add_argument("--config", metavar="FILE", help="the jobs, in TOML [CRONCE_CLOCK: in JSON]")
    parser.add_argument("--check", action="store_true", help="show what the configuration means and exit")
    parser.add_argument("--job", metavar="NAME", help="name of the clock [CRONCE_JOB]")
    parser.add_argument("--ledger", metavar="URL", help=f"{FORMS} [{LEDGER}]")
    parser.add_argument("--schedule-group", metavar="G", help="schedule group that defines the jobs of task targets")
    parser.add_argument("--lease", metavar="D", help="lease of the leader, in case it dies (default 60s)")
    parser.add_argument("--poll", metavar="D", default="1s", help="how often a standby checks the lease (default 1s)")
    parser.add_argument(
        "--grace",
        metavar="D",
        default="20s",
        help="time for running dispatches on SIGTERM (default 20s; ECS kills at 30s)",
    )
    return parser


def _jobs(file: str | None) -> tuple[ClockJob, ...]:
    if file is not None:
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputInvalidError("--config", file, f"a TOML file that can be read ({why})") from None
        return config_from_toml(text, what=file)
    if text := os.environ.get(CLOCK, ""):
        return config_from_json(text, what=CLOCK)
    raise InputMissingError("the configuration", f"give --config FILE, or set {CLOCK}; see docs/clock.md")


def _show(jobs: Sequence[ClockJob], now: datetime) -> None:
    for job in jobs:
        timetable = job.timetable
        _print(f"{job.name}: {timetable.describe() if timetable else _NO_SCHEDULE}; {job.target}")
        _print(
            f"  starting_deadline {format_duration(job.starting_deadline)}, catch_up {job.catch_up},"
            f" timeout {format_duration(job.timeout)}, backoff_limit {job.backoff_limit}"
        )
        if job.suspend:
            _print("  suspended: each tick is recorded as skipped")
        ticks = timetable.preview(now, _TICKS_SHOWN) if timetable else []
        for tick in ticks:
            local = f"{tick.local:%Y-%m-%d %H:%M:%S %Z}" if tick.local.tzname() != "UTC" else ""
            _print(f"  {job.period(tick.utc)}  {local}  {tick.note}".rstrip())
        if timetable and not ticks:
            _print("  never again")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def _run(jobs: Sequence[ClockJob], options: argparse.Namespace, signals: SignalQueue) -> int:
    given = {name: text for name, text in vars(options).items() if isinstance(text, str)}
    warn_of_unknown_variables(os.environ)
    settings = TaskSettings.from_environ(os.environ, given)
    grace = parse_duration(options.grace, what="--grace").total_seconds()
    name, url = settings.required_job(), settings.required_ledger()
    if SEPARATOR in name:
        raise InputInvalidError(JOB if options.job is None else "--job", name, f"a name without {SEPARATOR!r}")
    time = StoreTime(SystemClock())
    store = TimedStore(open_store(url, lease=settings.policy.lease, what=settings.ledger_called), time)
    ledger = Ledger(store, policy=settings.policy, clock=time)

    def schedule_group() -> str:
        from cronce.ecs import schedule_group_of  # noqa: PLC0415  # for task targets only

        return options.schedule_group or os.environ.get(SCHEDULE_GROUP) or schedule_group_of(url)

    if any(isinstance(job.target, TaskTarget) for job in jobs):
        schedule_group()  # if it is unknown, fail now and not at the first tick
    targets = Targets(schedule_group=schedule_group, region=region_of(url))
    service = ClockService(
        jobs,
        name=name,
        ledger=ledger,
        leading=Leadership(
            ledger, name, lease=settings.policy.lease, poll=parse_duration(options.poll, what="--poll"), clock=time
        ),
        send=targets,
        grace=grace,
        clock=time,
    )
    in_a_thread(lambda: targets.prepare(jobs))
    HealthServer(service.trouble, name=name, ledger=url).start()
    return _serve(service, lambda: store.hear(name, run_key(LEADER)), signals, grace)


def _serve(service: ClockService, before: Callable[[], None], signals: SignalQueue, grace: float) -> int:
    """Run the loop until it ends or a signal arrives.

    The loop has its own thread: this one handles signals while the loop retries an unavailable ledger.
    """
    ended = threading.Event()
    failures: list[Exception] = []

    def loop() -> None:
        try:
            before()
            service.run()
        except Exception as error:  # noqa: BLE001  # handed on
            failures.append(error)
        finally:
            ended.set()
            signals.wake()

    in_a_thread(loop)
    while not ended.is_set() and not signals.is_set():
        signals.next(_LONGEST_WAIT)
    service.stop()
    if not ended.wait(grace):
        service.break_off()
        ended.wait(_TO_BREAK_OFF)
    if failures:
        raise failures[0]
    return 0
