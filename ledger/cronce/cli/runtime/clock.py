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
from cronce.client.reporting import report, warn_of_unknown_variables
from cronce.client.settings import TaskSettings
from cronce.client.time_source import SystemClock
from cronce.clock.config import SEPARATOR, ClockJob, TaskTarget, config_from_file, config_from_json
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

A changed file is used within five seconds, or at once after SIGHUP; a bad one is reported, and the jobs stay.

exit codes: 0 asked to stop; 64 bad usage or configuration. Durations are seconds or 90s, 5m, 2h.
"""

_TICKS_SHOWN = 3
_NO_SCHEDULE = "no schedule: only people start it"
_LONGEST_WAIT = 60.0

_BETWEEN_LOOKS = 5.0
"""Seconds between two looks whether the configuration file has changed."""
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
    if options.config is not None:
        signals.hear(signal.SIGHUP)
    try:
        jobs = configured_jobs(options.config)
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


def configured_jobs(file: str | None) -> tuple[ClockJob, ...]:
    """The jobs of the file, or of the variable if there is none.

    Raises:
        InputInvalidError: They cannot be used; the error names the value.
        InputMissingError: Neither is given.
    """
    if file is not None:
        return config_from_file(file, what="--config")
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
        if job.delay:
            _print(f"  jitter {format_duration(job.jitter)}: each tick is sent {format_duration(job.delay)} later")
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
        lease=settings.policy.lease,
        clock=time,
    )

    def reload(following: Sequence[ClockJob]) -> None:
        if any(isinstance(job.target, TaskTarget) for job in following):
            schedule_group()
        service.reload(following)
        in_a_thread(lambda: targets.prepare(following))

    in_a_thread(lambda: targets.prepare(jobs))
    HealthServer(service.trouble, name=name, ledger=url).start()
    config = None if options.config is None else ConfigFile(options.config, name=name, reload=reload)
    return _serve(service, lambda: store.hear(name, run_key(LEADER)), signals, grace, config)


class ConfigFile:
    """Looks whether the configuration file has changed, and reloads it."""

    def __init__(self, file: str, *, name: str, reload: Callable[[Sequence[ClockJob]], None]) -> None:
        """Remember the file as it is now.

        Args:
            file: Its path.
            name: The clock's name, for the log.
            reload: Takes the jobs of the changed file.
        """
        self._file = file
        self._name = name
        self._reload = reload
        self._seen = self._state()

    def look(self, *, asked: bool = False) -> None:
        """Reload the file if it has changed or that was asked for. A bad one is reported, and changes nothing."""
        state = self._state()
        if state == self._seen and not asked:
            return
        self._seen = state
        try:
            jobs = config_from_file(self._file, what="--config")
            self._reload(jobs)
        except (InputInvalidError, InputMissingError) as error:
            report("reload_refused", level="ERROR", clock=self._name, message=f"{error}; the jobs stay as they were")
        else:
            report("reloaded", clock=self._name, count=len(jobs))

    def _state(self) -> tuple[int, ...] | None:
        """What changes with the file; None if it cannot be looked at."""
        try:
            status = Path(self._file).stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _serve(
    service: ClockService,
    before: Callable[[], None],
    signals: SignalQueue,
    grace: float,
    config: ConfigFile | None,
) -> int:
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
        number = signals.next(_LONGEST_WAIT if config is None else _BETWEEN_LOOKS)
        if config is not None:
            config.look(asked=number == signal.SIGHUP)
    service.stop()
    if not ended.wait(grace):
        service.break_off()
        ended.wait(_TO_BREAK_OFF)
    if failures:
        raise failures[0]
    return 0
