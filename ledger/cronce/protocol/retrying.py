"""Whether a machine starts the next task of a run, and after which delay.

Each kind of end has its own limit. `backoff_limit` limits the attempts that failed by themselves. It does not count
what the platform does to a job: `MOST_CRASHES` limits the attempts that died without reporting an outcome, and
`MOST_LAUNCHES` the tasks that stopped before they claimed. Without these limits, a job that always runs out of memory,
or whose image is missing, would be started every minute. Interruptions have no limit: a person or the platform
causes each of them.
"""

from __future__ import annotations

from datetime import timedelta

from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import RunRecord
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import value_class

MOST_CRASHES = 5
"""How many attempts of a run may die without reporting an outcome before a person has to look."""

MOST_LAUNCHES = 5
"""How many tasks are started for one attempt if none of them claims it."""

_SHORTEST = timedelta(seconds=10)
_LONGEST = timedelta(minutes=6)
"""The delays of Kubernetes' Job controller. EventBridge Scheduler rounds them up to a minute."""

_CRASHES = LOST_REASONS | {Reason.CLOCK_SKEW, Reason.SLOT_UNUSABLE}
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


def never_began(run: RunRecord) -> bool:
    """True if the row only says that no task of the tick ever claimed it."""
    return run.attempt == 0 and (run.reason or "").partition(":")[0] in _NEVER_BEGAN


def never_started(run: RunRecord) -> bool:
    """True if `never_began`, and no task of the tick was seen at work either, so that a catch-up repeats nothing."""
    return never_began(run) and run.reason != Reason.NEVER_CLAIMED


def delay_after(times: int) -> timedelta:
    """10 s after the first time, then twice as long each time, at most 6 minutes."""
    return min(_SHORTEST * (1 << min(max(times - 1, 0), 10)), _LONGEST)
