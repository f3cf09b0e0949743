"""Whether a machine starts the next task of a run, and after which delay.

Each kind of end has its own limit. `backoff_limit` limits the attempts that failed by themselves. It does not count
what the platform does to a job: `MOST_CRASHES` limits the attempts that died without reporting an outcome, and
`MOST_LAUNCHES` the tasks that stopped before they claimed. Without these limits, a job that always runs out of memory,
or whose image is missing, would be started every minute. Interruptions have no limit: a person or the platform
causes each of them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import RunRecord
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace, value_class

MOST_CRASHES = 5
"""How many attempts of a run may die without reporting an outcome before a person has to look."""

MOST_LAUNCHES = 5
"""How many tasks are started for one attempt if none of them claims it."""

_SHORTEST = timedelta(seconds=10)
_LONGEST = timedelta(minutes=6)
"""The delays of Kubernetes' Job controller. EventBridge Scheduler rounds them up to a minute."""

_CRASHES = LOST_REASONS | {Reason.CLOCK_SKEW, Reason.SLOT_UNUSABLE}
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER_BEGAN = frozenset({Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED, Reason.LAUNCH_FAILED})


@value_class(kw_only=True)
class Relaunch:
    """Start a task for the run.

    Attributes:
        attempt: The number that the attempt will have.
        launch: Which launch of that attempt it is.
        delay: How long to wait before it starts.
    """

    attempt: int
    launch: int
    delay: timedelta


@value_class
class Leave:
    """Start nothing.

    Attributes:
        why: The reason, for the log and the row.
        for_person: True if the run failed and only a person may start it again.
    """

    why: str
    for_person: bool = False


def after_attempt(run: RunRecord, *, policy: Policy, enabled: bool) -> Relaunch | Leave:
    """What follows an attempt that has ended.

    Args:
        run: The run as its row says.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled; nothing is started for a disabled one.
    """
    if run.status is not Status.FAILED:
        return Leave(f"the run is {run.status}")
    if not enabled:
        return Leave("the schedule is disabled")
    if policy.suspend:
        return Leave("the job is suspended")
    if run.reason in (Reason.REPLACED, Reason.RELEASED):
        return Leave(f"the run was {run.reason}")
    if run.reason in LOST_REASONS and policy.on_lost is OnLost.HOLD:
        return Leave("the run is held for a person (on_lost=HOLD)", for_person=True)
    if run.reason == Reason.UNCLAIMED:
        return Leave("its task ended without asking the ledger, and the work may be done", for_person=True)
    if run.failures > policy.backoff_limit:
        return Leave(f"no retry is left (backoff_limit={policy.backoff_limit})", for_person=True)
    crashes = sum(each.reason in _CRASHES for each in (*run.attempts, run.past()))
    if crashes > MOST_CRASHES:
        return Leave(f"it died {crashes} times", for_person=True)
    return Relaunch(attempt=run.attempt + 1, launch=1, delay=delay_after(run.failures + crashes))


def again_at(run: RunRecord, *, policy: Policy, enabled: bool = True) -> datetime | Leave:
    """When a machine may start the next attempt of a run that has ended, or why none does.

    The delay counts from the end of the attempt, or from its last heartbeat if it died: then most of it has passed when
    the lease expires.

    Args:
        run: The run as its row says.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled, or if it has none.
    """
    decision = after_attempt(run, policy=policy, enabled=enabled)
    if isinstance(decision, Leave):
        return decision
    ended_at = run.heartbeat_at if run.reason in LOST_REASONS else run.finished_at
    return (ended_at or _LONG_AGO) + decision.delay


def launch_due(
    run: RunRecord, *, policy: Policy, enabled: bool, since: datetime | None, now: datetime
) -> Relaunch | Leave | None:
    """The launch of the next attempt whose time came after `since`; None if there is none.

    For ledgers without a recorder, which hears of a task that never claims: a launch is repeated every six minutes, and
    left to a person after `MOST_LAUNCHES`. The times follow from the row alone, so nothing has to be remembered.

    Args:
        run: The run as its row says.
        policy: The job's current policy.
        enabled: True if the job's schedule is enabled.
        since: Up to when launches were made before; None if that is unknown. Then a run of which all launches are due
            is left alone: somebody may have seen to it.
        now: Aware.
    """
    decision = after_attempt(run, policy=policy, enabled=enabled)
    if isinstance(decision, Leave) or run.finished_at is None:
        return None
    launch = min(max((now - run.finished_at) // _LONGEST, 0), MOST_LAUNCHES) + 1
    due_at = run.finished_at + (launch - 1) * _LONGEST
    seen_to = launch > MOST_LAUNCHES if since is None else due_at <= since
    if seen_to:
        return None
    if launch <= MOST_LAUNCHES:
        return replace(decision, launch=launch, delay=decision.delay if launch == 1 else timedelta(0))
    return Leave(f"{MOST_LAUNCHES} tasks of it were started, and none claimed it", for_person=True)


def never_began(run: RunRecord) -> bool:
    """True if the row only says that no task of the tick ever claimed it."""
    return run.attempt == 0 and (run.reason or "").partition(":")[0] in _NEVER_BEGAN


def never_started(run: RunRecord) -> bool:
    """True if `never_began`, and no task of the tick was seen at work either, so that a catch-up repeats nothing."""
    return never_began(run) and run.reason != Reason.NEVER_CLAIMED


def delay_after(times: int) -> timedelta:
    """10 s after the first time, then twice as long each time, at most 6 minutes."""
    return min(_SHORTEST * (1 << min(max(times - 1, 0), 10)), _LONGEST)
