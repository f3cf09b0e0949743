"""What the ledger holds: one row per run, and one row per job that says which run holds the job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Self, TypeGuard

from cronce.protocol.transitions import TRANSITIONS, Event
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace, value_class

SCHEMA = 1
"""The layout of every row written. A row with a higher number is left unchanged."""

PAUSED_SCHEMA = 2
"""The layout of the slot of a paused job: a version that does not know pauses cannot read it, and so starts nothing."""

GROUP_SCHEMA = 3
"""The layout of an exclusion group's slot: a version that does not know groups cannot read it."""

SLOT_KEY = "slot"
RUN_PREFIX = "run#"
EFFECT_PREFIX = "effect#"

_END_OF_TIME = datetime.max.replace(tzinfo=UTC)

MOST_WAITING = 100
"""How many runs are listed as waiting; more wait too, but in no order."""

NOTHING: Mapping[str, Any] = {}
"""Shared by all rows without unknown attributes; never changed."""

KEPT_ATTEMPTS = 10
"""How many earlier attempts a run keeps; the oldest are dropped first."""

MAX_CLOCK_SKEW = timedelta(seconds=5)
"""How far apart the clocks of two hosts may be: an expired lease still counts for this long."""


class Liveness(StrEnum):
    """Whether the owner of a run still holds it, or the exclusion group."""

    ENDED = "ENDED"
    """The run is not RUNNING; of a group: no run holds it."""
    ALIVE = "ALIVE"
    """The lease has not expired, or not longer ago than clocks may differ."""
    EXPIRED = "EXPIRED"
    """The lease has expired: the owner counts as dead."""
    NO_LEASE = "NO_LEASE"
    """RUNNING without a lease, as a foreign writer leaves it: only a person may judge it."""


@value_class(kw_only=True)
class PastAttempt:
    """How an earlier attempt of a run ended."""

    attempt: int
    status: Status
    owner: str
    claimed_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    exit_code: int | None = None
    error: str | None = None
    note: str | None = None
    ran: str | None = None


@value_class(kw_only=True)
class RunRecord:
    """One (job, period). Field names are the attribute names in the table.

    Attributes:
        version: Rises by one with every write; 1 for the first.
        attempt: Number of the current or last attempt; the fencing token of the run.
        failures: Attempts that started and failed by themselves; limited by `backoff_limit`.
        token: Identifies the claim that wrote this attempt, so that its writer recognizes its own row.
        lease_until: When the lease expires. Absent on a foreign writer's row.
        result: What the work returned, as JSON text.
        result_flag: `TRUNCATED` or `NOT_JSON` if the result is not stored in full.
        checkpoint: A cursor of the work, as JSON text; the next attempt resumes from it.
        cancel_requested: Who asked the owner to stop.
        concurrency_policy: `ALLOW` for an attempt that holds no slot.
        blocked_by: The period of the run that held the job, or its exclusion group.
        blocked_by_job: The job of that run, if it is another one of the group.
        exclusion_group: The exclusion group that this attempt needs.
        actor: The person who released, forced or requested the run, or paused its job, or the observer that gave it up.
        note: The reason that the actor gave.
        ran: What the attempt ran: the version of the work, the task definition, the image, as far as they are known.
        expires_at: When DynamoDB may delete the row. No decision depends on it.
        extra: Attributes that this version does not know; written back unchanged.
    """

    job: str
    period: str
    version: int
    status: Status
    attempt: int
    token: str
    owner: str
    failures: int = 0
    trigger: Trigger = Trigger.SCHEDULE
    scheduled_at: datetime | None = None
    claimed_at: datetime | None = None
    heartbeat_at: datetime | None = None
    lease_until: datetime | None = None
    finished_at: datetime | None = None
    reason: str | None = None
    exit_code: int | None = None
    error: str | None = None
    result: str | None = None
    result_flag: str | None = None
    checkpoint: str | None = None
    cancel_requested: str | None = None
    concurrency_policy: str | None = None
    blocked_by: str | None = None
    blocked_by_job: str | None = None
    exclusion_group: str | None = None
    actor: str | None = None
    note: str | None = None
    ran: str | None = None
    attempts: tuple[PastAttempt, ...] = ()
    expires_at: datetime | None = None
    schema: int = SCHEMA
    extra: Mapping[str, Any] = NOTHING

    @property
    def key(self) -> str:
        """The sort key of the row."""
        return run_key(self.period)

    @property
    def blocker(self) -> str | None:
        """The run that was in the way, for messages: its period, with its job if that is another one."""
        return self.blocked_by and " ".join(part for part in (self.blocked_by_job, self.blocked_by) if part)

    def after(self, event: Event, **changes: Any) -> Self:
        """This run one version later, in the state that the transition table gives.

        Raises:
            KeyError: The event cannot happen in this state; a mistake in the protocol itself.
        """
        return replace(self, version=self.version + 1, status=TRANSITIONS[self.status, event], **changes)

    def past(self, *, lost_at: datetime | None = None) -> PastAttempt:
        """The current attempt as an earlier one; one that is still RUNNING was lost at `lost_at`."""
        running = self.status is Status.RUNNING
        return PastAttempt(
            attempt=self.attempt,
            status=Status.FAILED if running else self.status,
            owner=self.owner,
            claimed_at=self.claimed_at,
            finished_at=lost_at if running else self.finished_at,
            reason=Reason.LEASE_LOST if running else self.reason,
            exit_code=self.exit_code,
            error=self.error,
            note=self.note,
            ran=self.ran,
        )

    def liveness(self, now: datetime, *, max_clock_skew: timedelta = MAX_CLOCK_SKEW) -> Liveness:
        """Whether the owner still holds the run. Every judgement of that asks here."""
        return _by_lease(self.lease_until, now, max_clock_skew) if self.status is Status.RUNNING else Liveness.ENDED

    def is_attempt(self, attempt: int | None, token: str | None) -> bool:
        """True if the row has exactly this attempt of this claim."""
        return self.attempt == attempt and self.token == token


@value_class(kw_only=True)
class Waiter:
    """A claimed run that waits for the slot under `WAIT`."""

    period: str
    attempt: int
    token: str
    scheduled_at: datetime | None = None

    @property
    def order(self) -> tuple[datetime, str]:
        """Ticks wait in the order of their nominal times; a run without one comes last."""
        return (self.scheduled_at or _END_OF_TIME, self.period)

    def is_of(self, run: RunRecord) -> bool:
        """True if this attempt of the run waits."""
        return self.period == run.period and run.is_attempt(self.attempt, self.token)


class SlotMode(StrEnum):
    """What the slot says about runs of the job that hold no slot."""

    ALLOW = "ALLOW"
    """A claim under `ALLOW` was granted since the slot was last found to be the only one."""
    CHECKING = "CHECKING"
    """The holder has the slot and looks for such runs before it starts."""


@value_class(kw_only=True)
class Pause:
    """A person's decision that no machine starts runs of a job.

    Attributes:
        at: When it began.
        by: Who paused the job.
        why: That person's reason.
        until: When it ends by itself; None if only a person ends it.
    """

    at: datetime
    by: str
    why: str
    until: datetime | None = None

    def covers(self, at: datetime) -> bool:
        """True if the pause is in force at that moment."""
        return self.at <= at and (self.until is None or at < self.until)


@value_class(kw_only=True)
class SlotRecord:
    """Which run holds the job; free if `period` is None.

    It has no lease: it is stale as soon as that run is not RUNNING with that attempt and token. It is never deleted,
    so `fence` never falls.

    Attributes:
        fence: Rises by one each time the slot is acquired; the fencing token of the job.
        newest: The period of the newest tick that ever held the slot.
        newest_at: Its nominal time. Under `REPLACE` no older tick starts after it.
        waiting: The runs that wait for the slot under `WAIT`; one that gave up may still be listed.
        mode: Whether there may be runs that hold no slot; None if there are none.
        paused_at: When a person paused the job; absent if it is not paused. `pause` has this and the next three.
        paused_by: Who paused it.
        paused_why: That person's reason.
        paused_until: When the pause ends by itself.
    """

    job: str
    version: int
    fence: int = 0
    period: str | None = None
    attempt: int | None = None
    token: str | None = None
    owner: str | None = None
    claimed_at: datetime | None = None
    newest: str | None = None
    newest_at: datetime | None = None
    waiting: tuple[Waiter, ...] = ()
    mode: str | None = None
    paused_at: datetime | None = None
    paused_by: str | None = None
    paused_why: str | None = None
    paused_until: datetime | None = None
    schema: int = SCHEMA
    extra: Mapping[str, Any] = NOTHING

    @property
    def key(self) -> str:
        """The sort key of the row."""
        return SLOT_KEY

    @property
    def expires_at(self) -> None:
        """None: it is never deleted."""
        return

    @property
    def pause(self) -> Pause | None:
        """The pause of the job, in force or over; a person who wrote it in the console may have left out the rest."""
        if self.paused_at is None:
            return None
        return Pause(
            at=self.paused_at, by=self.paused_by or "unknown", why=self.paused_why or "", until=self.paused_until
        )

    def is_paused(self, now: datetime) -> bool:
        """True until the pause ends. Its beginning does not matter: another host's clock may have written it."""
        return self.paused_at is not None and (self.paused_until is None or now < self.paused_until)

    def is_held_as(self, other: object) -> TypeGuard[Self]:
        """True if the other is a slot too, and both name the same attempt of the same run."""
        return isinstance(other, SlotRecord) and (
            (self.period, self.attempt, self.token) == (other.period, other.attempt, other.token)
        )

    def held_by(self, run: RunRecord | None) -> bool:
        """True if the run is the slot's holder: RUNNING, with the attempt and token that the slot names."""
        return (
            run is not None
            and run.period == self.period
            and run.status is Status.RUNNING
            and run.is_attempt(self.attempt, self.token)
        )

    def is_free_for(self, run: RunRecord) -> bool:
        """True if the run may acquire the slot without a look at other runs.

        Nobody holds it or waits for it, no run without a slot is announced, the job is not paused, and no newer tick
        has held it.
        """
        overtaken = self.newest_at is not None and run.scheduled_at is not None and self.newest_at > run.scheduled_at
        is_free = self.period is None and self.mode is None and self.paused_at is None and self.schema <= SCHEMA
        return is_free and not self.waiting and not overtaken

    def taken_by(self, run: RunRecord, *, at: datetime) -> Self:
        """The slot one version later, held by the run's current attempt, its fence one higher.

        An expired pause is removed.
        """
        mine = Waiter(period=run.period, attempt=run.attempt, token=run.token, scheduled_at=run.scheduled_at)
        newest = {"newest": run.period, "newest_at": run.scheduled_at} if self._is_newest(run, at) else {}
        has_pause = self.paused_at is not None or self.schema > SCHEMA
        still = self.with_pause(None) if has_pause and not self.is_paused(at) else self
        return replace(
            still,
            **newest,
            waiting=tuple(waiter for waiter in self.waiting if waiter.order > mine.order),
            mode=SlotMode.CHECKING if self.mode else None,
            version=self.version + 1,
            fence=self.fence + 1,
            period=run.period,
            attempt=run.attempt,
            token=run.token,
            owner=run.owner,
            claimed_at=at,
        )

    def freed(self) -> Self:
        """The slot one version later, free."""
        return replace(
            self, version=self.version + 1, period=None, attempt=None, token=None, owner=None, claimed_at=None
        )

    def with_waiter(self, run: RunRecord) -> Self:
        """The slot one version later; the run waits for it."""
        mine = Waiter(period=run.period, attempt=run.attempt, token=run.token, scheduled_at=run.scheduled_at)
        others = (waiter for waiter in self.waiting if waiter.period != run.period)
        waiting = tuple(sorted((*others, mine), key=lambda waiter: waiter.order))
        return replace(self, version=self.version + 1, waiting=waiting)

    def ahead_of(self, run: RunRecord) -> tuple[Waiter, ...]:
        """Those that waited before the run, in their order."""
        line = self.with_waiter(run).waiting
        return line[: [waiter.is_of(run) for waiter in line].index(True)]

    def with_pause(self, pause: Pause | None) -> Self:
        """The slot one version later, with that pause, or without any."""
        return replace(
            self,
            version=self.version + 1,
            paused_at=pause and pause.at,
            paused_by=pause and pause.by,
            paused_why=pause and pause.why,
            paused_until=pause and pause.until,
            schema=PAUSED_SCHEMA if pause else min(self.schema, SCHEMA),
        )

    def in_mode(self, mode: SlotMode | None) -> Self:
        """The slot one version later, in that mode."""
        return replace(self, version=self.version + 1, mode=mode)

    def _is_newest(self, run: RunRecord, at: datetime) -> bool:
        """True for a tick that no newer one precedes. A person's run, or one of the future, is no measure."""
        due = run.scheduled_at
        if due is None or run.trigger.by_person or due > at + MAX_CLOCK_SKEW:
            return False
        return self.newest_at is None or due >= self.newest_at


@value_class(kw_only=True)
class EffectsRecord:
    """One segment of a run's effects and steps. Only the last segment is ever written, by the attempt that took it.

    Attributes:
        number: Its place among the segments of the run, from 1.
        attempt: The attempt that wrote it last; an earlier attempt can no longer write.
        token: The token of that attempt.
        effects: State by key; a later segment overrides an earlier one.
        steps: Result by name, as JSON text.
        closed: `yes` if it is full and the next segment continues it.
        expires_at: As in the run's row.
    """

    job: str
    period: str
    number: int
    version: int
    attempt: int
    token: str
    effects: Mapping[str, str] = NOTHING
    steps: Mapping[str, str] = NOTHING
    closed: str | None = None
    expires_at: datetime | None = None
    schema: int = SCHEMA
    extra: Mapping[str, Any] = NOTHING

    @property
    def key(self) -> str:
        """The sort key of the row."""
        return effects_key(self.period, self.number)


@value_class(kw_only=True)
class GroupSlotRecord:
    """Which run holds an exclusion group; free if `period` is None. `protocol.groups` has its rules.

    It has a lease of its own, which the holder renews with that of its run: nobody has to read, or may write, the runs
    of another job to know whether the group is held. It is never deleted, so `fence` never falls.

    Attributes:
        job: `cronce:group:` and the name of the group.
        fence: Rises each time the group is acquired; the fencing token of all its jobs.
        of_job: The job of the run that holds it; the next four are of that run.
        lease_until: When the lease expires.
    """

    job: str
    version: int
    fence: int = 0
    of_job: str | None = None
    period: str | None = None
    attempt: int | None = None
    token: str | None = None
    owner: str | None = None
    claimed_at: datetime | None = None
    heartbeat_at: datetime | None = None
    lease_until: datetime | None = None
    schema: int = GROUP_SCHEMA
    extra: Mapping[str, Any] = NOTHING

    @property
    def key(self) -> str:
        """The sort key of the row."""
        return SLOT_KEY

    @property
    def expires_at(self) -> None:
        """None: it is never deleted."""
        return

    def liveness(self, now: datetime, *, max_clock_skew: timedelta = MAX_CLOCK_SKEW) -> Liveness:
        """Whether a run still holds the group."""
        return Liveness.ENDED if self.period is None else _by_lease(self.lease_until, now, max_clock_skew)

    def is_held_as(self, other: object) -> TypeGuard[Self]:
        """True if the other is a group's slot too, and both name the same attempt of the same run."""
        return isinstance(other, GroupSlotRecord) and (
            (self.of_job, self.period, self.attempt, self.token)
            == (other.of_job, other.period, other.attempt, other.token)
        )

    def freed(self) -> Self:
        """The slot one version later, free."""
        return type(self)(job=self.job, version=self.version + 1, fence=self.fence, extra=self.extra)


Record = RunRecord | SlotRecord | EffectsRecord | GroupSlotRecord


@value_class(kw_only=True)
class UnreadableRow:
    """A row that this version cannot read: of a newer schema, or with a value that it does not know.

    It is listed so that a person sees it. Nothing acts on it, and it stops nothing else.

    Attributes:
        key: Its sort key.
        problem: Why it cannot be read.
    """

    job: str
    key: str
    problem: str

    @property
    def period(self) -> str:
        """The period in the row's key."""
        return self.key.removeprefix(RUN_PREFIX)


def may_be_claimed(row: RunRecord | None, now: datetime) -> bool:
    """True if a claim of the row may succeed: no row, no owner, or an owner whose lease has expired."""
    return row is None or row.liveness(now) in (Liveness.ENDED, Liveness.EXPIRED)


def run_key(period: str) -> str:
    """The sort key of the run of that period."""
    return RUN_PREFIX + period


def effects_key(period: str, number: int) -> str:
    """The sort key of that segment of the period's effects."""
    return f"{EFFECT_PREFIX}{period}#{number:06}"


def whole_milliseconds(at: datetime) -> datetime:
    """The instant as stored: truncated to milliseconds, so that a row reads back equal."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


def lease_end(now: datetime, lease: timedelta) -> datetime:
    """When a lease that starts now expires, as stored."""
    return whole_milliseconds(now + lease)


def expiry(now: datetime, retention: timedelta) -> datetime:
    """When a row written now may be deleted, in whole seconds as DynamoDB's TTL requires."""
    return (now + retention).replace(microsecond=0)


def _by_lease(lease_until: datetime | None, now: datetime, max_clock_skew: timedelta) -> Liveness:
    if lease_until is None:
        return Liveness.NO_LEASE
    # Subtracted from now: a foreign writer's lease may end on the last day of the calendar.
    return Liveness.EXPIRED if now - max_clock_skew > lease_until else Liveness.ALIVE
