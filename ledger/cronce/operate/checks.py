"""What `cronce doctor` concludes from what it has seen: one check per line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from cronce.ecs import JobDefinition
from cronce.operate.advice import PLAIN, Commands
from cronce.operate.look_up import WATCHDOG_SILENT
from cronce.operate.remedies import HOST_CLOCK, ZONE_DATA
from cronce.operate.row_causes import first_sentence
from cronce.operate.wording import age, count, length, one_line
from cronce.protocol.records import MAX_CLOCK_SKEW, Liveness, RunRecord
from cronce.schedule import ZoneData
from cronce.vocabulary import environment
from cronce.vocabulary.metrics import LEDGER_DIMENSION, NAMESPACE
from cronce.vocabulary.states import Reason, Status

_NOTICEABLE = timedelta(seconds=2)
_MOST_NAMED = 5


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Review:
    """One thing that was checked.

    Attributes:
        name: Stable, for scripts: `dead-letters`.
        sentence: What was found.
        why: Why it matters, if it is not ok.
        command: What to type next; None if there is nothing to type.
    """

    name: str
    state: State
    sentence: str
    why: str = ""
    command: str | None = None


def ok(name: str, sentence: str) -> Review:
    """A check that found nothing wrong."""
    return Review(name, State.OK, sentence)


def unknown(name: str, why: str) -> Review:
    """A check that could not be made."""
    return Review(name, State.UNKNOWN, one_line(why))


def some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - _MOST_NAMED} more" if len(every) > _MOST_NAMED else ""
    return ", ".join(every[:_MOST_NAMED]) + more


def skew(sent_at: datetime, received_at: datetime, store_at: datetime | None) -> Review:
    """Whether this host's clock agrees with the store's, whose time is truncated to seconds."""
    if store_at is None:
        return Review("clock-skew", State.UNKNOWN, "the store does not tell its time")
    off = max(sent_at - store_at - timedelta(seconds=1), store_at - received_at, timedelta(0))
    told = f"this host's clock differs from the store's by {length(off)}"
    if off > MAX_CLOCK_SKEW:
        why = "a claim from here is refused: synchronize the clock (NTP)"
        return Review("clock-skew", State.PROBLEM, told, why, HOST_CLOCK)
    if off > _NOTICEABLE:
        return Review("clock-skew", State.WARNING, told, f"leases tolerate {length(MAX_CLOCK_SKEW)}")
    return ok("clock-skew", "this host's clock agrees with the store's")


def watchdog(looked_at: datetime | None, now: datetime) -> Review:
    """Whether the watchdog has looked lately."""
    if looked_at is None:
        why = "missed ticks and lost runs are not recorded, and nothing is caught up"
        return Review("watchdog", State.PROBLEM, "the watchdog has never looked at this ledger", why)
    if now - looked_at > WATCHDOG_SILENT:
        why = "missed ticks and lost runs are not recorded: look at the function's log and its rule EachMinute"
        return Review("watchdog", State.PROBLEM, f"the watchdog last looked {age(looked_at, now=now)}", why)
    return ok("watchdog", f"the watchdog looked {age(looked_at, now=now)}")


def overridden(jobs: Iterable[JobDefinition]) -> Iterator[Review]:
    """Schedules that no construct makes: what an override in a template, or a change by hand, has altered."""
    jobs = list(jobs)
    many = [job.job for job in jobs if (job.target["EcsParameters"].get("TaskCount") or 1) != 1]
    if many:
        why = "a tick starts several tasks: the ledger refuses all but one, and each costs; set TaskCount to 1"
        yield Review("schedules", State.WARNING, f"more than one task per tick: {some(many)}", why)
    mute = [job.job for job in jobs if job.enabled and not job.delivers_ticks and not job.only_people_start_it]
    if mute:
        why = (
            "their input does not pass <aws.scheduler.scheduled-time>, so no task knows its period and each ends with"
            " 64: deploy the schedule again without an override of Input"
        )
        yield Review("schedules", State.PROBLEM, f"without the scheduled time: {some(mute)}", why)


def guards(newest: Mapping[str, Sequence[RunRecord]], commands: Commands = PLAIN) -> Iterator[Review]:
    """Whether the image of each job has ever claimed a run.

    Args:
        newest: The newest runs of each job, newest first.
        commands: The command lines to suggest.
    """
    started = {
        job: [run for run in runs if run.attempt or run.reason == Reason.UNCLAIMED] for job, runs in newest.items()
    }
    bare = [job for job, runs in started.items() if runs and runs[0].reason == Reason.UNCLAIMED]
    unproven = [job for job, runs in started.items() if not runs]
    if bare:
        why = (
            "its work runs without the ledger, so it may run twice, and no failure is seen: put 'cronce exec --' first"
        )
        yield Review(
            "guard", State.PROBLEM, f"the image has no guard: {some(bare)}", why, commands.about(bare[0]).why()
        )
    if unproven:
        why = "no task has claimed a run yet, so nothing shows that its command runs under 'cronce exec'"
        yield Review("guard", State.WARNING, f"unproven: {some(unproven)}", why)
    proven = len(newest) - len(bare) - len(unproven)
    if proven:
        yield ok("guard", f"the newest task of {proven} of {count(len(newest), 'job')} claimed its run")


def newest_runs(
    newest: Mapping[str, Sequence[RunRecord]], now: datetime, commands: Commands = PLAIN
) -> Iterator[Review]:
    """Whether the newest run of each job is well; if not, its cause, with the jobs of that cause.

    A run that was skipped because of another one says nothing, and the one before it counts. A run that is active says
    nothing yet.

    Args:
        newest: The newest runs of each job, newest first.
        now: Aware.
        commands: The command lines to suggest.
    """
    bad: dict[str, list[str]] = {}
    for job, runs in newest.items():
        run = next((each for each in runs if each.status is not Status.SKIPPED or each.reason == Reason.PAUSED), None)
        if run is None or run.status is Status.SUCCEEDED or run.liveness(now) is Liveness.ALIVE:
            continue
        lost = "Its owner lost its lease, and nobody has taken it over."
        bad.setdefault(lost if run.status is Status.RUNNING else first_sentence(run), []).append(job)
    for sentence, jobs in bad.items():
        told = f"{some(jobs)}: {sentence.rstrip('.')}"
        yield Review("runs", State.WARNING, told, "its newest run did not succeed", commands.about(jobs[0]).why())
    if newest and not bad:
        yield ok("runs", f"the newest run of {count(len(newest), 'job')}: none failed or was missed")


def clock(
    name: str,
    leader: RunRecord | None,
    desired: int | None,
    running: int,
    now: datetime,
    *,
    commands: Commands = PLAIN,
) -> Review:
    """Whether a pinned clock leads, and is the only one.

    Args:
        name: The job of the leader's row.
        leader: That row.
        desired: The desired count of its service; None if there is no active service.
        running: How many of its tasks run.
        now: Aware.
        commands: The command lines to suggest.
    """
    if desired is None:
        return Review(
            "clock", State.PROBLEM, f"the service of the clock {name} does not exist", "its ticks are not sent"
        )
    if desired != 1:
        why = "its ticks are not sent" if desired == 0 else "only one may lead; the others wait and cost"
        told = f"the service of the clock {name} has a desired count of {desired} instead of 1"
        return Review("clock", State.PROBLEM, told, why, commands.about(name).why())
    if leader is None or leader.liveness(now) is not Liveness.ALIVE:
        told = f"nobody leads as {name}, with {count(running, 'task')} running"
        return Review("clock", State.PROBLEM, told, "its ticks are not sent", commands.about(name).why())
    since = f" since {age(leader.claimed_at, now=now)}" if leader.claimed_at else ""
    return ok("clock", f"{name} leads{since}, and is the only one")


def zones(copies: Mapping[str, Sequence[ZoneData]], now: datetime) -> Iterator[Review]:
    """Which zone data this host has, and whether its copies agree about the next year."""
    versions = sorted({str(each) for found in copies.values() for each in found})
    apart = [zone for zone, found in copies.items() if len({_offsets(each, now) for each in found}) > 1]
    if apart:
        why = "EventBridge has its own copy, too: a tick that one has and the other has not is not judged"
        told = f"the copies of zone data here disagree about {some(apart)}"
        yield Review("zone-data", State.WARNING, told, why, ZONE_DATA)
    elif old := [version for version in versions if _is_old(version, now)]:
        why = "a country may have changed its clocks since then: a tick may be computed an hour off, or not at all"
        yield Review("zone-data", State.WARNING, f"the zone data here is old: {', '.join(old)}", why, ZONE_DATA)
    elif versions:
        yield ok("zone-data", f"zone data {', '.join(versions)} for {count(len(copies), 'zone')}")
    else:
        yield ok("zone-data", "every schedule is in UTC")


def _is_old(version: str, now: datetime) -> bool:
    """True for a version such as `2024a` of two years ago or before: IANA publishes several in most years."""
    year = version[:4]
    return year.isdecimal() and int(year) <= now.year - 2


def gone(jobs: Sequence[str], commands: Commands = PLAIN) -> Iterator[Review]:
    """The jobs that the watchdog remembers and whose schedule does not exist any more: removed or renamed."""
    if jobs:
        why = "nothing starts it: its stack was removed, or it was renamed"
        yield Review(
            "schedules", State.WARNING, f"without a schedule: {some(jobs)}", why, commands.about(jobs[0]).why()
        )


def _offsets(copy: ZoneData, now: datetime) -> tuple[timedelta | None, ...]:
    """The offsets from UTC in the coming year, week by week."""
    return tuple((now + timedelta(weeks=week)).astimezone(copy.zone).utcoffset() for week in range(53))


def alarms(found: Sequence[Mapping[str, Any]], ledger: str, *, is_all: bool = True) -> Iterator[Review]:
    """Whether the ledger has alarms, and each tells somebody.

    Args:
        found: The answer's `MetricAlarms` of DescribeAlarms.
        ledger: The name of the ledger.
        is_all: False if the account has more alarms.
    """
    ours = [alarm for alarm in found if ledger in _ledgers_of(alarm)]
    mute = [str(a["AlarmName"]) for a in ours if not a.get("AlarmActions") or a.get("ActionsEnabled") is False]
    if not ours and not is_all:
        yield unknown("alarms", f"none of the first {len(found)} alarms is on the metrics of this ledger")
    elif not ours:
        yield Review("alarms", State.WARNING, "no alarm is on the metrics of this ledger", "a missed tick tells nobody")
    if mute:
        yield Review("alarms", State.WARNING, f"without an action: {some(mute)}", "the alarm changes, and tells nobody")
    if ours and not mute:
        yield ok("alarms", f"{count(len(ours), 'alarm')}, each with an action")


def _ledgers_of(alarm: Mapping[str, Any]) -> set[str]:
    """The ledgers on whose metrics the alarm is, directly or in an expression."""
    metrics = [alarm, *(each.get("MetricStat", {}).get("Metric", {}) for each in alarm.get("Metrics", ()))]
    return {
        str(dimension.get("Value"))
        for metric in metrics
        if metric.get("Namespace") == NAMESPACE
        for dimension in metric.get("Dimensions", ())
        if dimension.get("Name") == LEDGER_DIMENSION
    }


def variables(environ: Mapping[str, str]) -> Iterator[Review]:
    """Whether a variable has a name that cronce does not read."""
    known = {value for name, value in vars(environment).items() if name.isupper() and isinstance(value, str)}
    odd = sorted(name for name in environ if name.startswith("CRONCE_") and name not in known)
    for name in odd:
        near = get_close_matches(name, known, n=1)
        meant = f"did you mean {near[0]}?" if near else "cronce reads no variable of this name"
        yield Review("variables", State.WARNING, f"{name} is not read", meant)
    if not odd:
        read = count(sum(name in known for name in environ), "variable")
        yield ok("variables", f"{read} of cronce, none with a name that is not read")
