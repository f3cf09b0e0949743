"""Which ticks of a job a look must judge, and what the row of a tick says. Pure.

A schedule may change at any time, and the watchdog may not run for hours. Therefore the watchdog remembers when
each job was due at the last look, and up to which time its ticks are judged. If the schedule changed since then:

- A tick that was due before the last look is judged by the remembered timing.
- If only the target changed (a deployment), every tick is judged.
- If the form of the periods changed, nobody knows under which key an earlier tick ran. No tick from before the
  change is judged; each is counted.
- After any other change, including one that left no trace (disabled and enabled again), nobody knows when the job
  was due between the last look and the change. Ticks in between are not judged.

With one look per minute, that is a minute at most. No tick is marked missed on a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto

from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import never_began
from cronce.schedule import ScheduleInvalidError
from cronce.vocabulary.states import Reason, Status
from cronce.watch.jobs import WatchedJob
from cronce.watch.memory import Memory, Pending, Timing, fingerprint

_FURTHEST = timedelta(days=370)
"""Older ticks are not judged: rows expire after 400 days."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SURE_BEFORE = timedelta(seconds=5)
"""Margin for clock differences and stale replicas: what a look reads was true this long before the look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """The ticks to judge in one look.

    Attributes:
        ticks: Oldest first.
        left_out: The number of ticks that are not judged; see `MOST_COUNTED` of the schedule.
        memory: What to remember after the ticks are judged.
        changed_from: The timing before, if the schedule was moved since the last look.
    """

    ticks: tuple[datetime, ...]
    left_out: int
    memory: Memory
    changed_from: Timing | None = None


def due(
    memory: Memory | None,
    job: WatchedJob,
    *,
    looked_at: datetime | None,
    now: datetime,
    missed_after: timedelta,
    born_at: datetime | None = None,
) -> Due:
    """The ticks of the job to judge now.

    Args:
        memory: What the last look remembered; None if the job is new.
        job: Its definition.
        looked_at: When the last look began.
        now: When this look began.
        missed_after: How long after the end of its window a tick may still be delivered.
        born_at: When the ledger was created. Whatever ran before that has no row here, so it is not judged.

    Raises:
        ScheduleInvalidError: The expression cannot be parsed, or the zone has no data.
    """
    before = memory
    unknown = _unknown_ticks(memory, job)
    memory = up_to_date(memory, job, looked_at)
    moved = before is not None and before.timing.place != memory.timing.place and job.created_at <= before.modified_at
    late_before = now - missed_after
    until = late_before - memory.timing.window
    ticks, left_out = memory.timing.ticks(max(memory.since, until - _FURTHEST), until)
    old = [pending.tick for pending in memory.pending if pending.window_ends_at <= late_before]
    after = replace(
        memory,
        since=until if ticks else memory.since,
        pending=tuple(pending for pending in memory.pending if pending.window_ends_at > late_before),
    )
    every = sorted({*old, *ticks})
    judged = [tick for tick in every if born_at is None or tick >= born_at]
    if len(judged) < len(every) or (born_at is not None and after.backlog):
        assert born_at is not None  # noqa: S101  # or no tick would be left out
        backlog = tuple(tick for tick in after.backlog if tick >= born_at)
        after = replace(after, backlog=backlog, launched_at=after.launched_at if backlog == after.backlog else None)
    return Due(
        ticks=tuple(tick for tick in judged if not memory.timing.is_uncertain(tick)),
        left_out=left_out + len(every) - len(judged) + unknown,
        memory=after,
        changed_from=before.timing if before is not None and moved else None,
    )


class TickVerdict(Enum):
    """What happened to a tick."""

    DELIVERED = auto()
    MISSED = auto()
    """No row exists; the watchdog writes one."""
    MARKED = auto()
    """The row says that the tick was missed."""


def verdict(run: RunRecord | None) -> TickVerdict:
    """What the row of a tick says; None means that no row exists."""
    if run is None:
        return TickVerdict.MISSED
    return TickVerdict.MARKED if run.status is Status.MISSED and never_began(run) else TickVerdict.DELIVERED


def names_its_own_periods(job: WatchedJob, runs: Sequence[RunRecord], since: datetime) -> bool:
    """True if machines started runs of the job since then whose periods are not ticks.

    Such a job chooses its periods itself, so a missing row says nothing about a tick.

    Args:
        job: Its definition.
        runs: The newest runs of the job.
        since: The oldest tick without a row.
    """
    return any(
        not job.is_period(run.period)
        and not run.trigger.by_person
        and (run.claimed_at or run.finished_at or since) >= since
        for run in runs
    )


def is_unguarded(runs: Sequence[RunRecord]) -> bool:
    """True if the newest task of the job ended without asking the ledger, so that a missing row proves nothing.

    Args:
        runs: The newest runs of the job.
    """
    known = [run for run in runs if run.attempt > 0 or run.reason == Reason.UNCLAIMED]
    newest = max(known, key=lambda run: run.finished_at or run.claimed_at or _EPOCH, default=None)
    return newest is not None and newest.reason == Reason.UNCLAIMED


def up_to_date(memory: Memory | None, job: WatchedJob, looked_at: datetime | None) -> Memory:
    """The memory with the job as it is defined now; a new one if the job is new.

    Args:
        memory: What the last look remembered; None if the job is new.
        job: Its definition.
        looked_at: When the last look began.
    """
    timing, target = Timing.of(job), fingerprint(job.target)
    new = Memory(
        timing=timing,
        target=target,
        modified_at=job.modified_at,
        since=job.modified_at,
        job=job.job,
        date_in=job.date_in,
    )
    if memory is None or job.created_at > memory.modified_at or job.date_in != memory.date_in:
        return new
    memory = replace(memory, job=job.job)
    if job.modified_at <= memory.modified_at:
        return memory
    if timing == memory.timing and target != memory.target:
        return replace(memory, target=target, modified_at=job.modified_at)
    # If the last look began after the change and did not see it, that look read stale data: nothing is sure.
    sure_until = memory.since
    if looked_at is not None and looked_at < job.modified_at:
        sure_until = max(sure_until, min(looked_at - _SURE_BEFORE, job.modified_at))
    try:
        sure, _ = memory.timing.ticks(memory.since, sure_until)
    except ScheduleInvalidError:  # only an earlier version could parse it
        sure = ()
    more = (Pending(tick, tick + memory.timing.window) for tick in sure)
    return replace(new, pending=(*memory.pending, *more), backlog=memory.backlog, launched_at=memory.launched_at)


def _unknown_ticks(memory: Memory | None, job: WatchedJob) -> int:
    """How many ticks from before a change of the form of the periods are not judged or not caught up."""
    if memory is None or memory.date_in == job.date_in or job.created_at > memory.modified_at:
        return 0
    try:
        ticks, older = memory.timing.ticks(memory.since, max(memory.since, job.modified_at))
    except ScheduleInvalidError:  # only an earlier version could parse it
        ticks, older = (), 0
    return len({*ticks, *memory.backlog, *(pending.tick for pending in memory.pending)}) + older
