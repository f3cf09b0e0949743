"""`cronce watchdog`: find missed ticks, lost runs and ticks to catch up, for ledgers without Lambda functions."""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from cronce.cli.runtime.options import CommandLine
from cronce.guard.signals import SignalQueue
from cronce.vocabulary import exit_codes
from cronce.vocabulary.environment import CLOCK, LEDGER, MISSED_AFTER, SCHEDULE_GROUP
from cronce.vocabulary.ledger_urls import FORMS, is_in_dynamodb

if TYPE_CHECKING:
    from argparse import Namespace

    from cronce.client.settings import TaskSettings
    from cronce.clock.watched import ClockWatchdog
    from cronce.watch.group_watchdog import GroupWatchdog

    Watchdog = ClockWatchdog | GroupWatchdog

_EXAMPLE = """\
example:
  cronce watchdog --config clock.toml --ledger postgresql://ada@db.example.com/shop
  cronce watchdog --config clock.toml --ledger sqlite:///runs.db --once
  cronce watchdog --schedule-group shop --ledger postgresql://ada@db.example.com/shop

With --config it looks at the runs of the jobs, each under the job's own name, as 'cronce exec' and 'run_once' write
them:
- A tick without a row, later than the job's starting_deadline and --missed-after, becomes MISSED(never_delivered),
  and is started through the job's target as its catch_up says.
- A run whose lease has expired (plus 5s) becomes FAILED(lease_lost), and is started again through the target unless
  it is held (CRONCE_POLICY is the policy of the work).
With --schedule-group it does the same for the ECS tasks of the group's schedules, and starts them by one-shot
schedules. Unless the ledger is in DynamoDB, where a recorder does, it also has runs that failed started again, within
their backoff_limit. The construct ExternalLedger gives the permissions for that.
A job misses nothing from before the first look at it. Jobs whose target is a task of an EventBridge schedule are left
out. Work that does not ask the ledger has no rows, so its ticks would seem missed: choose the others with --job.
Start any number of watchdogs: one looks at a time. Each finding is a line on stderr, and with CRONCE_METRICS=emf a
metric. 'cronce health --name cronce:watchdog' asks this process whether it is healthy.

exit codes: 0 asked to stop; with --once: 0 looked, 1 a job could not be looked at, 69 ledger or EventBridge
Scheduler unreachable; 64 bad usage.
Without --once, what is unreachable is asked again. Durations are seconds or 90s, 5m, 2h.
"""


def main(arguments: list[str], signals: SignalQueue) -> int:
    """Look until asked to stop, or once; the exit code."""
    options = _parse(arguments)

    from cronce.aws.errors import CallRefusedError, CallUnavailableError  # noqa: PLC0415  # bad usage needs none of it
    from cronce.client.reporting import report  # noqa: PLC0415
    from cronce.vocabulary.errors import InputInvalidError, InputMissingError, LedgerUnavailableError  # noqa: PLC0415

    def look(watchdog: Watchdog) -> dict[str, int]:
        found = watchdog.look()
        report("looked", found=found)
        return found

    try:
        watchdog, every, url = _watchdog(options)
        if options.once:
            return exit_codes.PROBLEM if "failed" in look(watchdog) else 0

        from cronce.cli.runtime.passes import Passes  # noqa: PLC0415
        from cronce.guard.health import HealthServer  # noqa: PLC0415
        from cronce.watch.turns import OWNER  # noqa: PLC0415

        passes = Passes(lambda: look(watchdog), every, signals)
        HealthServer(passes.trouble, name=OWNER, ledger=url).start()
        return passes.run()
    except (InputInvalidError, InputMissingError) as error:
        sys.stderr.write(f"cronce watchdog: {error}\n")
        return exit_codes.USAGE
    except (LedgerUnavailableError, CallUnavailableError) as error:
        sys.stderr.write(f"cronce watchdog: {error}\n")
        return exit_codes.UNAVAILABLE
    except CallRefusedError as error:
        sys.stderr.write(f"cronce watchdog: {error}\n")
        return exit_codes.PROBLEM


def _parse(arguments: list[str]) -> Namespace:
    parser = CommandLine(
        "cronce watchdog",
        usage="[options]",
        description="Find missed ticks, lost runs and ticks to catch up of a clock's jobs or a schedule group's.",
        epilog=_EXAMPLE,
    )
    parser.add_argument("--config", metavar="FILE", help=f"the jobs of 'cronce clock', in TOML [{CLOCK}: in JSON]")
    parser.add_argument("--schedule-group", metavar="G", help=f"or the jobs of this schedule group [{SCHEDULE_GROUP}]")
    parser.add_argument("--job", metavar="NAME", action="append", help="only this job of the configuration; repeatable")
    parser.add_argument("--ledger", metavar="URL", help=f"{FORMS} [{LEDGER}]")
    parser.add_argument("--every", metavar="D", help="the pause between two looks (default 60s)")
    parser.add_argument("--once", action="store_true", help="look once and exit, for a cron")
    parser.add_argument("--missed-after", metavar="D", help=f"how late a tick may be claimed [{MISSED_AFTER}] (5m)")
    parser.add_argument("--log-format", metavar="F", help="text or json (default: text on a terminal, else json)")
    parser.add_argument("--quiet", action="store_const", const="true", help="report only warnings and errors")
    return parser.parse(arguments)


def _watchdog(options: Namespace) -> tuple[Watchdog, float, str]:
    """The watchdog, the seconds between its looks, and the ledger's URL.

    Raises:
        InputInvalidError: An option, a variable or the configuration cannot be used.
        InputMissingError: The ledger, or what defines the jobs, is missing.
    """
    from cronce.cli.runtime.exec import choose_format  # noqa: PLC0415  # bad usage needs none of it
    from cronce.client.reporting import warn_of_unknown_variables  # noqa: PLC0415
    from cronce.client.settings import TaskSettings  # noqa: PLC0415
    from cronce.vocabulary.durations import parse_duration  # noqa: PLC0415
    from cronce.vocabulary.errors import InputInvalidError  # noqa: PLC0415

    given = {name: text for name, text in vars(options).items() if isinstance(text, str)}
    choose_format(given)
    warn_of_unknown_variables(os.environ)
    settings = TaskSettings.from_environ(os.environ, {name: given[name] for name in ("ledger",) if name in given})
    every = parse_duration(given.get("every", "60s"), what="--every")
    if not timedelta(seconds=1) <= every <= timedelta(days=1):
        raise InputInvalidError("--every", given["every"], "1s to 1d")
    called = "--missed-after" if "missed_after" in given else MISSED_AFTER
    missed_after = parse_duration(given.get("missed_after") or os.environ.get(MISSED_AFTER) or "5m", what=called)
    group = options.schedule_group
    if group is None and options.config is None and not os.environ.get(CLOCK):
        group = os.environ.get(SCHEDULE_GROUP) or None
    make = _of_clock if group is None else _of_group
    return make(options, settings, missed_after), every.total_seconds(), settings.required_ledger()


def _of_group(options: Namespace, settings: TaskSettings, missed_after: timedelta) -> GroupWatchdog:
    """The watchdog over the jobs of a schedule group."""
    from cronce.aws.sdk import Service  # noqa: PLC0415  # a clock's watchdog needs none of it
    from cronce.client.ledger import Ledger  # noqa: PLC0415
    from cronce.ecs import Launcher  # noqa: PLC0415
    from cronce.operate.event_bus import EventBus  # noqa: PLC0415
    from cronce.stores.urls import region_of  # noqa: PLC0415
    from cronce.vocabulary.errors import InputInvalidError  # noqa: PLC0415
    from cronce.vocabulary.names import checked_schedule_group, ledger_name  # noqa: PLC0415
    from cronce.watch.group_watchdog import GroupWatchdog  # noqa: PLC0415
    from cronce.watch.turns import OWNER  # noqa: PLC0415

    for name in ("config", "job"):
        if value := getattr(options, name):
            allowed = f"no --{name} with a schedule group, all of whose jobs are looked at"
            raise InputInvalidError(f"--{name}", value, allowed)
    group = options.schedule_group or os.environ[SCHEDULE_GROUP]
    checked_schedule_group(group, what=SCHEDULE_GROUP if options.schedule_group is None else "--schedule-group")
    url = settings.required_ledger()
    return GroupWatchdog(
        ledger=Ledger.from_settings(settings, owner=OWNER),
        url=url,
        name=ledger_name(url),
        launcher=Launcher(group=group, region=region_of(url)),
        bus=EventBus(),
        ecs=Service("ecs", region=region_of(url)),
        missed_after=missed_after,
        # In DynamoDB, the recorder of the `RunLedger` does.
        retries=not is_in_dynamodb(url),
    )


def _of_clock(options: Namespace, settings: TaskSettings, missed_after: timedelta) -> ClockWatchdog:
    """The watchdog over the jobs of a clock's configuration."""
    from cronce.cli.runtime.clock import configured_jobs  # noqa: PLC0415  # a group's watchdog needs none of it
    from cronce.client.ledger import Ledger  # noqa: PLC0415
    from cronce.clock.config import TaskTarget  # noqa: PLC0415
    from cronce.clock.targets import Targets  # noqa: PLC0415
    from cronce.clock.watched import ClockWatchdog  # noqa: PLC0415
    from cronce.stores.urls import region_of  # noqa: PLC0415
    from cronce.vocabulary.errors import InputInvalidError  # noqa: PLC0415
    from cronce.vocabulary.names import ledger_name  # noqa: PLC0415
    from cronce.watch.turns import OWNER  # noqa: PLC0415

    jobs = {job.name: job for job in configured_jobs(options.config)}
    for name in options.job or ():
        if name not in jobs:
            raise InputInvalidError("--job", name, f"a job of the configuration: {', '.join(jobs)}")
    url = settings.required_ledger()
    return ClockWatchdog(
        [job for job in (jobs[name] for name in options.job or jobs) if not isinstance(job.target, TaskTarget)],
        ledger=Ledger.from_settings(settings, owner=OWNER),
        name=ledger_name(url),
        policy=settings.policy,
        send=Targets(schedule_group=lambda: "", region=region_of(url)),
        missed_after=missed_after,
    )
