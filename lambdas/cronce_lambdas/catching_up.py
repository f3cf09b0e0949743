"""Which missed ticks the watchdog catches up, and when it launches the next one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import assert_never

from cronce import CatchUp, Policy, Status
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import too_late
from cronce.protocol.retrying import Relaunch, after_attempt, never_began
from cronce_lambdas.memory import MOST_TICKS, Memory

CATCH_UP_WITHIN = timedelta(days=1)
"""How late a tick may be caught up if the job has no starting deadline."""

_NO_SHOW = timedelta(minutes=15)
"""A catch-up task that has not claimed its run after this time is given up."""

_PATIENCE_WITH_RETRIES = timedelta(minutes=30)


def to_catch_up(policy: Policy, missed: Sequence[datetime], *, newest: datetime | None) -> tuple[datetime, ...]:
    """The missed ticks to catch up, oldest first.

    Args:
        policy: The job's policy.
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
    """The memory with more ticks to catch up; under `LATEST` only the newest remains."""
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
    """What to do about the first tick of the backlog. Ticks run one after the other.

    Args:
        memory: A memory with a backlog.
        run: The row of the first tick.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled.
        busy: True if another run of the job is RUNNING.
        now: Aware.
    """
    tick, policy_allows = memory.backlog[0], policy.catch_up is not CatchUp.NONE and not policy.suspend
    if run is None or not enabled or not policy_allows:
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
