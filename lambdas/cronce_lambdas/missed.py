"""Which ticks of a job were due, which of them nobody delivered, and which of those are caught up. Pure.

A schedule is changed now and then, and the watchdog may sleep for hours. So it remembers of each job how it
was due when it last looked, and up to where it has judged. When the schedule has changed since:

- A tick that was due before the last look was due as remembered: it is judged, whatever followed.
- Only what is started has changed (a deployment): nothing is forgiven.
- Any other change, even one that cannot be seen any more (disabled and enabled again): nobody knows from
  when to when it was due, so ticks between the last look and the change are not judged.

With a look a minute that is a minute at most. A tick is never called missed on a guess.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import islice
from typing import Any, assert_never

from cronce import CatchUp, InputInvalidError, Policy, Status
from cronce.ecs import JobDefinition
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import too_late
from cronce.protocol.retrying import Relaunch, after_attempt, never_began
from cronce.schedule import ScheduleInvalidError, parse
from cronce.vocabulary.names import parse_scheduled_time, period_of, scheduled_time_of

MOST_TICKS = 100
"""So many ticks of a job are judged in one look, the newest; older ones are counted."""

CATCH_UP_WITHIN = timedelta(days=1)
"""How late a tick may be caught up where the job has no starting deadline."""

_FURTHEST = timedelta(days=370)
"""Nothing older is judged: rows are kept for 400 days."""

_MOST_COUNTED = 10_000
_SURE_BEFORE = timedelta(seconds=5)
"""What was read in a look was true a little before it, however the clocks and EventBridge's replicas stand."""

_NO_SHOW = timedelta(minutes=15)
"""A task that was started to catch up and has not claimed by then does not come any more."""

_PATIENCE_WITH_RETRIES = timedelta(minutes=30)
_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """When a job is due.

    Attributes:
        window: How late EventBridge Scheduler may deliver on purpose.
    """

    expression: str
    timezone: str
    start: datetime | None
    end: datetime | None
    enabled: bool
    window: timedelta = timedelta(0)

    @classmethod
    def of(cls, job: JobDefinition) -> Timing:
        """The definition's."""
        return cls(
            expression=job.expression,
            timezone=job.timezone,
            start=job.start,
            end=job.end,
            enabled=job.enabled,
            window=job.flexible_window,
        )

    def ticks(self, after: datetime, until: datetime) -> tuple[tuple[datetime, ...], int]:
        """The newest ticks after `after` up to `until`, and how many older ones there are besides.

        Raises:
            ScheduleInvalidError: The expression cannot be read, or the zone cannot be had.
        """
        if not self.enabled:
            return (), 0
        if self.end is not None:
            until = min(until, self.end - _INSTANT)  # at its EndDate a schedule is over
        schedule = parse(self.expression, timezone=self.timezone, start=self.start)
        newest: list[datetime] = []
        tick = schedule.previous(until + _INSTANT)
        while tick is not None and tick > after and len(newest) < MOST_TICKS:
            newest.append(tick)
            tick = schedule.previous(tick)
        left = 0
        if tick is not None and tick > after:
            left = sum(1 for _ in islice(schedule.between(after + _INSTANT, newest[-1]), _MOST_COUNTED))
        return tuple(reversed(newest)), left


@dataclass(frozen=True, slots=True, order=True)
class Pending:
    """A tick that is still to be judged, and the end of the window in which it may be delivered."""

    tick: datetime
    window_ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the watchdog remembers of a job between two looks.

    Attributes:
        timing: When the job was due, as last seen.
        target: A fingerprint of what was started, as last seen.
        modified_at: The change of the schedule that was last seen.
        since: Every tick up to here is judged, or stands in `pending`.
        pending: Ticks of an earlier timing that are still to be judged.
        backlog: Missed ticks to catch up, oldest first.
        launched_at: When a task for the first of these was arranged; None if that is still to do.
    """

    timing: Timing
    target: str
    modified_at: datetime
    since: datetime
    pending: tuple[Pending, ...] = ()
    backlog: tuple[datetime, ...] = ()
    launched_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """The ticks to judge in a look.

    Attributes:
        ticks: Oldest first.
        left_out: How many older ones are not judged; at most 10,000 are counted.
        memory: What to remember once they are judged.
    """

    ticks: tuple[datetime, ...]
    left_out: int
    memory: Memory


def due(
    memory: Memory | None, job: JobDefinition, *, looked_at: datetime | None, now: datetime, missed_after: timedelta
) -> Due:
    """What is to be judged of the job now.

    Args:
        memory: What was remembered; None at the first sight of the job.
        job: Its definition.
        looked_at: When the last look began.
        now: When this look began.
        missed_after: How much later than its window a tick may be delivered.

    Raises:
        ScheduleInvalidError: The expression cannot be read, or the zone cannot be had.
    """
    memory = _up_to_date(memory, job, looked_at)
    late_before = now - missed_after
    until = late_before - memory.timing.window
    ticks, left_out = memory.timing.ticks(max(memory.since, until - _FURTHEST), until)
    old = [pending.tick for pending in memory.pending if pending.window_ends_at <= late_before]
    after = replace(
        memory,
        since=until if ticks else memory.since,
        pending=tuple(pending for pending in memory.pending if pending.window_ends_at > late_before),
    )
    return Due(ticks=tuple(sorted({*old, *ticks})), left_out=left_out, memory=after)


class Verdict(Enum):
    """What became of a tick."""

    DELIVERED = auto()
    MISSED = auto()
    """Its row has to be written."""
    MARKED = auto()
    """Its row says so already."""


def verdict(run: RunRecord | None) -> Verdict:
    """What the row of a tick says, None for no row."""
    if run is None:
        return Verdict.MISSED
    return Verdict.MARKED if run.status is Status.MISSED and never_began(run) else Verdict.DELIVERED


def names_its_own_periods(runs: Sequence[RunRecord], since: datetime) -> bool:
    """True if machines' runs of the job since then have periods that are no ticks: the job makes them up itself.

    Then a missing row says nothing about a tick.

    Args:
        runs: The newest runs of the job.
        since: The oldest tick without a row.
    """
    return any(
        scheduled_time_of(run.period) is None
        and not run.trigger.by_person
        and (run.claimed_at or run.finished_at or since) >= since
        for run in runs
    )


def to_catch_up(policy: Policy, missed: Sequence[datetime], *, newest: datetime | None) -> tuple[datetime, ...]:
    """Which missed ticks are to be caught up, oldest first.

    Args:
        policy: The job's.
        missed: Missed ticks, oldest first.
        newest: The newest tick of the job that was delivered.
    """
    if policy.suspend or not missed:
        return ()
    match policy.catch_up:
        case CatchUp.NONE:
            return ()
        case CatchUp.LATEST:
            return () if newest is not None and newest > missed[-1] else (missed[-1],)
        case CatchUp.ALL:
            return tuple(missed)
        case _:
            assert_never(policy.catch_up)


def with_backlog(memory: Memory, policy: Policy, ticks: Sequence[datetime]) -> Memory:
    """The memory with more ticks to catch up; of `LATEST` only the newest stays."""
    if not ticks:
        return memory
    known = set(memory.backlog)
    backlog = (*memory.backlog, *(tick for tick in ticks if tick not in known))
    backlog = tuple(sorted(backlog))[-1 if policy.catch_up is CatchUp.LATEST else -MOST_TICKS :]
    kept = bool(memory.backlog) and backlog[0] == memory.backlog[0]
    return replace(memory, backlog=backlog, launched_at=memory.launched_at if kept else None)


class Step(Enum):
    """What to do about the first tick of the backlog."""

    LAUNCH = auto()
    WAIT = auto()
    DROP = auto()


def catch_up_step(
    memory: Memory, run: RunRecord | None, *, policy: Policy, enabled: bool, busy: bool, now: datetime
) -> Step:
    """One tick after the other: the next one begins when the one before it has ended.

    Args:
        memory: With a backlog.
        run: The row of its first tick.
        policy: The job's, as it is defined now.
        enabled: True if the job's schedule is.
        busy: True if another run of the job is at work.
        now: Aware.
    """
    tick, policy_says = memory.backlog[0], policy.catch_up is not CatchUp.NONE and not policy.suspend
    if run is None or not enabled or not policy_says:
        return Step.DROP
    if run.status is Status.RUNNING:
        return Step.WAIT
    if never_began(run):
        if memory.launched_at is not None:
            return Step.WAIT if now - memory.launched_at < _NO_SHOW else Step.DROP
        if too_late(tick, policy.starting_deadline or CATCH_UP_WITHIN, now):
            return Step.DROP
        return Step.WAIT if busy else Step.LAUNCH
    if isinstance(after_attempt(run, policy=policy, enabled=enabled), Relaunch):
        since = run.finished_at or now
        return Step.WAIT if now - since < _PATIENCE_WITH_RETRIES else Step.DROP
    return Step.DROP


def first_done(memory: Memory) -> Memory:
    """The memory without the first tick of its backlog."""
    return replace(memory, backlog=memory.backlog[1:], launched_at=None)


def to_value(memory: Memory) -> dict[str, Any]:
    """The memory as a checkpoint."""
    timing = memory.timing
    times = {"modified_at": memory.modified_at, "since": memory.since, "launched_at": memory.launched_at}
    times |= {"start": timing.start, "end": timing.end}
    return {
        "expression": timing.expression,
        "timezone": timing.timezone,
        "enabled": timing.enabled,
        "window": timing.window // timedelta(minutes=1),
        "target": memory.target,
        **{name: at.isoformat() for name, at in times.items() if at is not None},
        "pending": [[period_of(each.tick), period_of(each.window_ends_at)] for each in memory.pending],
        "backlog": [period_of(tick) for tick in memory.backlog],
    }


def from_value(value: object) -> Memory | None:
    """The memory that a checkpoint is; None if it is none."""
    if not isinstance(value, Mapping):
        return None
    try:
        timing = Timing(
            expression=str(value["expression"]),
            timezone=str(value["timezone"]),
            start=_time(value.get("start")),
            end=_time(value.get("end")),
            enabled=value["enabled"] is True,
            window=timedelta(minutes=value["window"]),
        )
        return Memory(
            timing=timing,
            target=str(value["target"]),
            modified_at=_instant(value["modified_at"]),
            since=_instant(value["since"]),
            pending=tuple(Pending(_tick(tick), _tick(end)) for tick, end in value["pending"]),
            backlog=tuple(_tick(tick) for tick in value["backlog"]),
            launched_at=_time(value.get("launched_at")),
        )
    except (KeyError, TypeError, ValueError, InputInvalidError):
        return None


def _up_to_date(memory: Memory | None, job: JobDefinition, looked_at: datetime | None) -> Memory:
    timing, target = Timing.of(job), _fingerprint(job.target)
    new = Memory(timing=timing, target=target, modified_at=job.modified_at, since=job.modified_at)
    if memory is None or job.created_at > memory.modified_at:
        return new
    if job.modified_at <= memory.modified_at:
        return memory
    if timing == memory.timing and target != memory.target:
        return replace(memory, target=target, modified_at=job.modified_at)
    # A change that the last look should have seen and did not: then nothing was sure at that look either.
    sure_until = memory.since
    if looked_at is not None and looked_at < job.modified_at:
        sure_until = max(sure_until, min(looked_at - _SURE_BEFORE, job.modified_at))
    try:
        sure, _ = memory.timing.ticks(memory.since, sure_until)
    except ScheduleInvalidError:  # an expression that only an earlier version could read
        sure = ()
    more = (Pending(tick, tick + memory.timing.window) for tick in sure)
    return replace(new, pending=(*memory.pending, *more), backlog=memory.backlog, launched_at=memory.launched_at)


def _fingerprint(target: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(target, sort_keys=True, default=str).encode()).hexdigest()[:12]


def _tick(text: str) -> datetime:
    return parse_scheduled_time(text, what="a tick")


def _time(text: str | None) -> datetime | None:
    return None if text is None else _instant(text)


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(text)
    return at
