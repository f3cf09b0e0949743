"""The ledger: claim a run, read runs, release or mark one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from cronce.client.claim import Claim
from cronce.client.driver import Driver, Patience
from cronce.client.refusal import Refusal
from cronce.client.time_source import Clock, SteadyClock, StopSignal, SystemClock
from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held
from cronce.protocol.observing import (
    NotReleased,
    ReleaseRequest,
    holder,
    release,
)
from cronce.protocol.operations import Steps, get_run, get_slot
from cronce.protocol.records import Pause, RunRecord, UnreadableRow, Waiter
from cronce.protocol.requests import ClaimRequest, Refused
from cronce.stores.store import Bound, Cautious, Inspectable, JobLister, Page, Store
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import WORK_VERSION
from cronce.vocabulary.errors import ClockSkewError, InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.names import (
    RunName,
    checked_group,
    checked_job,
    checked_period,
    checked_words,
    optional_words,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import checked_instance, checked_whole

if TYPE_CHECKING:
    from cronce.client.settings import TaskSettings

__all__ = ["Ledger"]

TRIES_IN_HALF_A_LEASE = 3
"""This many calls, each of the longest duration, must fit in half a lease, so that one failure loses nothing."""

_LONGEST_PATIENCE = timedelta(seconds=9)
"""How long a claim retries a failing store before it gives up and the work does not start."""

_LONGEST_VERSION = 200
"""Characters of `CRONCE_VERSION` that a row keeps."""

_PATIENCE_WHEN_STOPPING = timedelta(seconds=3)


T = TypeVar("T")


class Ledger:
    """One row per job and period, which every task asks on start."""

    def __init__(
        self,
        store: Store,
        *,
        policy: Policy | None = None,
        owner: str | Callable[[], str] | None = None,
        clock: Clock | None = None,
        stop_task: Callable[[str, str], None] | None = None,
    ) -> None:
        """Use a store; nothing is read or written yet.

        Args:
            store: Where the rows are.
            policy: The policy of claims that give none.
            owner: The name of this process in the ledger; None for the ECS task's ARN, or host and process id
                outside ECS. A function is called at the first claim.
            clock: The source of time; None for this host's clock.
            stop_task: Stops another owner's task under `REPLACE`; None for ECS StopTask.

        Raises:
            InputInvalidError: The store's timeouts do not fit in the lease.
        """
        self._store = store
        self._policy = _checked_policy(policy, Policy())
        self._owner = owner if callable(owner) else optional_words(owner, what="owner")
        self._image: str | None = None
        self._clock = clock or SystemClock()
        self._stop_task = stop_task or _stop_task
        self._cautious = store if isinstance(store, Cautious) else None
        self._check_call_timeout(self._policy)

    @classmethod
    def from_url(
        cls, url: str, *, policy: Policy | None = None, what: str = "ledger", owner: str | None = None
    ) -> Ledger:
        """The ledger at `dynamodb://TABLE`, `postgresql://USER@HOST/DATABASE`, `rediss://USER@HOST` or `sqlite:///PATH`.

        Args:
            url: Where the rows are.
            policy: The policy of claims that give none; the store's timeouts follow from its lease.
            what: The name under which the URL was given, for errors.
            owner: The name of this process in the ledger; None for the task's ARN, or host and process id.

        Raises:
            InputInvalidError: The URL is not one of a store.
        """
        from cronce.stores.urls import open_store  # noqa: PLC0415  # not needed with a given store

        policy = _checked_policy(policy, Policy())
        return cls(open_store(url, lease=policy.lease, what=what), policy=policy, owner=owner)

    @classmethod
    def from_env(cls, *, owner: str | None = None) -> Ledger:
        """The ledger that `CRONCE_LEDGER` names, with the policy of `CRONCE_POLICY`.

        Args:
            owner: As in `from_url`.

        Raises:
            InputInvalidError: A variable is missing or not usable; the error names it.
        """
        from cronce.client.settings import TaskSettings  # noqa: PLC0415  # not needed with a URL

        settings = TaskSettings.from_environ(os.environ)
        return cls.from_settings(settings, owner=owner)

    @classmethod
    def from_settings(cls, settings: TaskSettings, *, owner: str | None = None) -> Ledger:
        """The ledger of the settings, with their policy.

        Raises:
            InputInvalidError: The URL is not one of a store; the error names the option or variable.
            InputMissingError: Nobody gave the URL.
        """
        url = settings.required_ledger()
        return cls.from_url(url, policy=settings.policy, what=settings.ledger_called, owner=owner)

    @property
    def where(self) -> str:
        """The store, for messages."""
        return self._store.where

    def claim(
        self,
        job: str,
        period: str,
        *,
        policy: Policy | None = None,
        scheduled_at: datetime | None = None,
        trigger: Trigger = Trigger.SCHEDULE,
        force: str | None = None,
        actor: str | None = None,
        note: str | None = None,
        token: str | None = None,
        stop: StopSignal | None = None,
    ) -> Claim | Refusal:
        """Acquire the run for this process, or say why it must not start.

        Exactly one of any number of concurrent callers gets a `Claim`. It may act until `claim.trusted_until`; after
        that another process may hold the run, so stop or renew.

        Args:
            job: Name of the scheduled work, at most 2,048 bytes in UTF-8.
            period: The interval that this run is for, the same for every delivery of one tick.
            policy: How overlaps, lateness and crashes are handled; None for the ledger's policy.
            scheduled_at: The nominal time, aware; None to derive it from a period that is one.
            trigger: Who asks. Limits on attempts and lateness do not apply to a person's rerun.
            force: The reason for repeating a success; None not to repeat it.
            actor: The person who asks, if any; recorded.
            note: That person's reason, if nothing is forced; recorded.
            token: Identifies this claim; None for a new one. A caller that asks again after an error gives the same
                token, and gets its own claim if that was stored.
            stop: Set it to end a wait for another run; the answer is then a refusal.

        Raises:
            InputInvalidError: A name, time or policy cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer. It is unknown whether the claim was stored. If it was,
                its lease expires and the next claim begins attempt 2, unless that one has the same token.

        Example:
            A claim is truthy, and a refusal is falsy and says why:

            >>> from cronce import Ledger
            >>> ledger = Ledger.from_url("sqlite:///runs.db")
            >>> if claim := ledger.claim("daily-digest", "2026-11-29"):
            ...     with claim:  # renews the lease; records success at the end, or failure on an exception
            ...         print("digest for", claim.period)
            digest for 2026-11-29
            >>> print(ledger.claim("daily-digest", "2026-11-29").reason)
            ALREADY_SUCCEEDED
        """
        ask = ClaimRequest(
            run=RunName.of(job, period, scheduled_at),
            token=new_token() if token is None else token,
            owner=self.owner,
            policy=_checked_policy(policy, self._policy),
            trigger=trigger,
            force=force,
            actor=actor,
            note=note,
            ran=self.ran,
        )
        return self.submit(ask, stop=stop)

    def submit(self, ask: ClaimRequest, *, stop: StopSignal | None = None) -> Claim | Refusal:
        """Acquire the requested run, or say why it must not start; see `claim`."""
        self._check_call_timeout(ask.policy)
        if stop is not None and not (callable(getattr(stop, "wait", None)) and callable(getattr(stop, "is_set", None))):
            raise InputInvalidError("stop", stop, "a threading.Event, or what has its wait and is_set")
        driver = self._driver(stop)
        answer = driver.run(claim(ask), _patience(min(_LONGEST_PATIENCE, ask.policy.lease / 2), stop))
        if isinstance(answer, Held):
            self._report_caution()
            return Claim(answer, driver, ask.policy)
        if isinstance(answer, Refused):
            return Refusal(job=ask.job, period=ask.period, reason=answer.reason, record=answer.record)
        raise ClockSkewError(
            self.where,
            f"this host's clock differs from the store's by {answer.skew.total_seconds():.0f} s, more than leases"
            f" tolerate ({format_duration(ask.max_clock_skew)})",
            transient=False,
            hint=f"{ask.run} was not started; synchronize the clock (NTP)",
        )

    def holder(self, job: str) -> RunRecord | None:
        """The run that holds the job's slot; None if the slot is free or stale.

        Under `ALLOW` no run holds it. The run is RUNNING; its lease may have expired.

        Raises:
            InputInvalidError: The name cannot be used.
            RecordUnreadableError: The slot, or the row of the run that it names, cannot be read. It is then unknown
                whether a run is alive.
            LedgerUnavailableError: The store did not answer.
        """
        return self.perform(holder(checked_job(job)))

    def holder_of_group(self, group: str) -> RunRecord | None:
        """The run that holds the exclusion group; None if the group is free or its lease has expired.

        Raises:
            InputInvalidError: The name cannot be used.
            RecordUnreadableError: The group's slot, or the row of the run that it names, cannot be read.
            LedgerUnavailableError: The store did not answer, or may not be asked about the group or the other job.
        """
        from cronce.protocol.groups import holder_of_group  # noqa: PLC0415

        slot = self.perform(holder_of_group(checked_group(group)))
        if slot is None or slot.of_job is None or slot.period is None:
            return None
        run = self.run(slot.of_job, slot.period)
        return run if run is not None and run.is_attempt(slot.attempt, slot.token) else None

    def waiting(self, job: str) -> tuple[Waiter, ...]:
        """The runs that wait for the job's slot under `WAIT`, in the order in which they get it.

        One that gave up is listed until a later one gets the slot.

        Raises:
            InputInvalidError: The name cannot be used.
            RecordUnreadableError: The slot cannot be read.
            LedgerUnavailableError: The store did not answer.
        """
        slot = self.perform(get_slot(checked_job(job)))
        return slot.waiting if slot else ()

    def run(self, job: str, period: str) -> RunRecord | None:
        """The current row of the run, or None.

        Raises:
            InputInvalidError: A name cannot be used.
            RecordUnreadableError: The row exists but cannot be read; `page` and `rows` list it.
            LedgerUnavailableError: The store did not answer.
        """
        return self.perform(get_run(checked_job(job), checked_period(period)))

    def page(self, job: str, *, limit: int = 20, before: str | None = None) -> Page:
        """At most `limit` runs of the job, newest period first; pass `page.before` to get the next page.

        Rows that cannot be read are in `page.rows` and `page.unreadable`, not in `page.runs`.

        Raises:
            InputInvalidError: A name or number cannot be used.
            LedgerUnavailableError: The store did not answer.
        """
        limit = checked_whole(limit, what="limit", least=1, most=1000)
        job = checked_job(job)
        if before is not None and not isinstance(before, Bound):
            before = checked_period(before, what="before")
        return self._page(job, limit=limit, before=before)

    def runs(self, job: str) -> Iterator[RunRecord]:
        """Every run of the job, newest period first, read page by page; rows that cannot be read are left out."""
        return (row for row in self.rows(job) if isinstance(row, RunRecord))

    def rows(self, job: str) -> Iterator[RunRecord | UnreadableRow]:
        """Every row of a run of the job, newest period first, read page by page; unreadable rows are among them."""
        job = checked_job(job)
        before: Bound | None = None
        while True:
            page = self._page(job, limit=100, before=before)
            yield from page.rows
            if page.before is None:
                return
            before = page.before

    def jobs(self) -> tuple[str, ...] | None:
        """The jobs with rows, in the order of their names; None if only a scan of the whole table would find them.

        Raises:
            LedgerUnavailableError: The store did not answer.
        """
        store = self._store
        if not isinstance(store, JobLister):
            return None
        return self._driver().insist(store.jobs, _patience(_LONGEST_PATIENCE))

    def release(
        self, job: str, period: str, *, actor: str, note: str | None = None, force: bool = False
    ) -> RunRecord | NotReleased:
        """Release a held, lost or stuck run, so that the next claim begins its next attempt.

        Args:
            job: Name of the job.
            period: Its period.
            actor: Who releases it; recorded.
            note: Why; recorded.
            force: True to release the run although its owner is alive.

        Raises:
            InputInvalidError: A name cannot be used.
            LedgerUnavailableError: The store did not answer.
        """
        ask = ReleaseRequest(
            run=RunName.of(job, period),
            actor=actor,
            note=note,
            force=force,
        )
        return self.perform(release(ask))

    def pause(self, job: str, *, actor: str, why: str, until: datetime | None = None) -> Pause:
        """Let no machine start a run of the job until a person resumes it; runs that have begun go on.

        Args:
            job: Name of the job; it needs no run yet.
            actor: Who pauses it; recorded.
            why: That person's reason; recorded in the job's slot and in each run that is skipped.
            until: When the pause ends by itself, aware; None if only `resume` ends it.

        Raises:
            InputInvalidError: A value cannot be used, or the pause would be over already.
            LedgerUnavailableError: The store did not answer; call again.
        """
        from cronce.protocol.pausing import PauseRequest, pause  # noqa: PLC0415  # claims do not need it

        ask = PauseRequest(job=job, actor=actor, why=why, until=until)
        return self.perform(pause(ask))

    def resume(self, job: str) -> Pause | None:
        """End the job's pause; returns that pause, or None if there was none.

        Raises:
            InputInvalidError: The name cannot be used.
            LedgerUnavailableError: The store did not answer; call again.
        """
        from cronce.protocol.pausing import resume  # noqa: PLC0415

        return self.perform(resume(checked_job(job)))

    def pause_of(self, job: str) -> Pause | None:
        """The job's pause if it is in force now; one read.

        Raises:
            InputInvalidError: The name cannot be used.
            RecordUnreadableError: The slot cannot be read. No machine starts a run of the job then.
            LedgerUnavailableError: The store did not answer.
        """
        from cronce.protocol.pausing import pause_of  # noqa: PLC0415

        return self.perform(pause_of(checked_job(job)))

    def create(self) -> bool:
        """Make the table or file ready; True if it was made, False if it stood already."""
        return self._driver().insist(self._store.create, _patience(_LONGEST_PATIENCE))

    def differences(self) -> tuple[str, ...]:
        """How the table differs from one that `create` makes, one sentence each; empty if it does not.

        Raises:
            LedgerUnavailableError: The store did not answer, or may not be asked.
        """
        if not isinstance(self._store, Inspectable):
            return ()
        return self._driver().insist(self._store.differences, _patience(_LONGEST_PATIENCE))

    def close(self) -> None:
        """Close connections; the ledger is not usable afterwards."""
        self._store.close()

    def _report_caution(self) -> None:
        """Report once how the store can forget claims. The losers of a run need not know."""
        if self._cautious is None or (caution := self._cautious.caution) is None:
            return
        from cronce.client.reporting import report  # noqa: PLC0415  # most stores keep what they answered

        self._cautious = None
        report("ledger_caution", level="WARNING", message=f"{self.where}: {caution}")

    def _page(self, job: str, *, limit: int, before: str | None) -> Page:
        return self._driver().insist(
            lambda: self._store.query(job, limit=limit, before=before), _patience(_LONGEST_PATIENCE)
        )

    def perform(self, steps: Steps[T]) -> T:
        """Perform an operation of the protocol, and insist for as long as an answer is worth waiting for.

        Raises:
            LedgerUnavailableError: The store did not answer; call again.
        """
        return self._driver().run(steps, _patience(_LONGEST_PATIENCE))

    def _driver(self, stop: StopSignal | None = None) -> Driver:
        return Driver(self._store, SteadyClock(self._clock), stop, self._stop_task)

    @property
    def owner(self) -> str:
        """What this process is called in the ledger. The first call may ask the network for the ECS task."""
        if self._owner is None:
            from cronce.aws.task_identity import task_identity  # noqa: PLC0415  # may ask the network

            identity = task_identity()
            self._owner, self._image = identity.name, identity.image
        elif callable(self._owner):
            self._owner = checked_words(self._owner(), what="owner", allowed="the name of this process")
        return self._owner

    @property
    def ran(self) -> str | None:
        """What this process runs: `CRONCE_VERSION`, the task definition and the image, as far as they are known."""
        parts = (os.environ.get(WORK_VERSION, "").strip()[:_LONGEST_VERSION], self.owner and self._image)
        return " ".join(part for part in parts if part) or None

    def _check_call_timeout(self, policy: Policy) -> None:
        needed = self._store.call_timeout * TRIES_IN_HALF_A_LEASE
        if needed >= policy.lease / 2:
            raise InputInvalidError(
                f"timeouts of {self.where}",
                format_duration(self._store.call_timeout),
                f"{TRIES_IN_HALF_A_LEASE} calls in less than half the lease of {format_duration(policy.lease)};"
                " shorten the client's timeouts and retries, lengthen the lease, or give the policy to Ledger.from_url",
            )


def _patience(limit: timedelta, stop: StopSignal | None = None) -> Patience:
    """Retry transient errors for this long, for less time once asked to stop, and other errors not at all."""

    def left(error: LedgerUnavailableError, waited: float) -> float:
        if not error.transient:
            return 0.0
        most = _PATIENCE_WHEN_STOPPING if stop is not None and stop.is_set() else limit
        return most.total_seconds() - waited

    return left


def _checked_policy(policy: object, default: Policy) -> Policy:
    if policy is None:
        return default
    return checked_instance(Policy, policy, what="policy", allowed="a cronce.Policy")


def new_token() -> str:
    """A name for one claim that no other claim has."""
    return os.urandom(16).hex()


def _stop_task(owner: str, reason: str) -> None:
    from cronce.aws.stop_task import stop_ecs_task  # noqa: PLC0415  # REPLACE only

    stop_ecs_task(owner, reason)
