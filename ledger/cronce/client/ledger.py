"""The ledger: claim a run, read runs, release or mark one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from cronce.client.claim import Claim, Refusal
from cronce.client.driver import Driver, Patience
from cronce.client.settings import TaskSettings
from cronce.client.time_source import Clock, SteadyClock, StopSignal, SystemClock
from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held
from cronce.protocol.observing import (
    NotReleased,
    ReleaseRequest,
    Sighting,
    give_up,
    holder,
    mark_all_lost,
    mark_lost,
    mark_missed,
    mark_not_started,
    mark_stopped,
    release,
)
from cronce.protocol.operations import get_run, get_slot
from cronce.protocol.records import RunRecord, UnreadableRow, Waiter
from cronce.protocol.requests import ClaimRequest, Refused
from cronce.stores.store import Bound, Cautious, Inspectable, JobLister, Page, Store
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import ClockSkewError, InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.names import (
    RunName,
    checked_exit_code,
    checked_job,
    checked_period,
    checked_words,
    optional_words,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason, Trigger
from cronce.vocabulary.values import checked_instance, checked_whole

__all__ = ["Ledger"]

TRIES_IN_HALF_A_LEASE = 3
"""This many calls, each of the longest duration, must fit in half a lease, so that one failure loses nothing."""

_LONGEST_PATIENCE = timedelta(seconds=9)
"""How long a claim retries a failing store before it gives up and the work does not start."""

_PATIENCE_WHEN_STOPPING = timedelta(seconds=3)


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
        self._clock = clock or SystemClock()
        self._stop_task = stop_task or _stop_task
        self._caution_reported = False
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
        return self._driver().run(holder(checked_job(job)), _patience(_LONGEST_PATIENCE))

    def waiting(self, job: str) -> tuple[Waiter, ...]:
        """The runs that wait for the job's slot under `WAIT`, in the order in which they get it.

        One that gave up is listed until a later one gets the slot.

        Raises:
            InputInvalidError: The name cannot be used.
            RecordUnreadableError: The slot cannot be read.
            LedgerUnavailableError: The store did not answer.
        """
        slot = self._driver().run(get_slot(checked_job(job)), _patience(_LONGEST_PATIENCE))
        return slot.waiting if slot else ()

    def run(self, job: str, period: str) -> RunRecord | None:
        """The current row of the run, or None.

        Raises:
            InputInvalidError: A name cannot be used.
            RecordUnreadableError: The row exists but cannot be read; `page` and `rows` list it.
            LedgerUnavailableError: The store did not answer.
        """
        driver = self._driver()
        return driver.run(get_run(checked_job(job), checked_period(period)), _patience(_LONGEST_PATIENCE))

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
        driver = self._driver()
        return driver.run(release(ask), _patience(_LONGEST_PATIENCE))

    def mark_stopped(
        self, job: str, period: str, *, owner: str, exit_code: int | None = None, error: str | None = None
    ) -> RunRecord | None:
        """Settle the run of a task that stopped without reporting an outcome; returns the current row.

        Args:
            job: Name of the job.
            period: Its period.
            owner: The task; the run of another owner is left unchanged.
            exit_code: Exit code of the job's container, None if it has none.
            error: The platform's reason.

        Raises:
            LedgerUnavailableError: The store did not answer; call again.
        """
        driver = self._driver()
        steps = mark_stopped(
            checked_job(job),
            checked_period(period),
            owner=checked_words(owner, what="owner", allowed="the name of the task"),
            exit_code=checked_exit_code(exit_code),
            error=optional_words(error, what="error"),
        )
        return driver.run(steps, _patience(_LONGEST_PATIENCE))

    def mark_lost(self, job: str, period: str) -> RunRecord | None:
        """Mark the run FAILED(lease_lost) if its lease has expired; returns the current row, None if there is none.

        Raises:
            InputInvalidError: A name cannot be used.
            LedgerUnavailableError: The store did not answer; call again.
        """
        driver = self._driver()
        run = driver.run(get_run(checked_job(job), checked_period(period)), _patience(_LONGEST_PATIENCE))
        return run and driver.run(mark_lost(run), _patience(_LONGEST_PATIENCE))

    def mark_all_lost(self, job: str) -> tuple[RunRecord, ...]:
        """Mark the runs of the job FAILED(lease_lost) whose leases have expired; returns those.

        For a job that no watchdog looks at, for instance one without a schedule.

        Raises:
            InputInvalidError: The name cannot be used.
            LedgerUnavailableError: The store did not answer; call again.
        """
        return self._driver().run(mark_all_lost(checked_job(job)), _patience(_LONGEST_PATIENCE))

    def mark_missed(
        self, job: str, period: str, *, reason: str, scheduled_at: datetime | None, error: str | None = None
    ) -> RunRecord:
        """Record that the tick was not delivered, unless its row says more; return the run after that.

        Args:
            job: Name of the job.
            period: Its period.
            reason: `never_delivered`, `never_claimed`, or `launch_failed` and what the platform said.
            scheduled_at: The nominal time of the tick; None to take it from a period that is one.
            error: What the platform said at length.

        Raises:
            InputInvalidError: A name or time cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer; call again.
        """
        seen = self._sighting(job, period, owner=self.owner, reason=reason, scheduled_at=scheduled_at, error=error)
        return self._driver().run(mark_missed(seen), _patience(_LONGEST_PATIENCE))

    def mark_not_started(
        self,
        job: str,
        period: str,
        *,
        owner: str,
        error: str | None,
        scheduled_at: datetime | None,
        trigger: Trigger,
        exit_code: int | None = None,
        reason: Reason = Reason.LAUNCH_FAILED,
    ) -> RunRecord:
        """Record that a task stopped before it claimed its run, unless its row says more; return the run after that.

        Args:
            job: Name of the job.
            period: Its period.
            owner: The task.
            error: Why the platform says that it stopped.
            scheduled_at: The nominal time of the tick; None to take it from a period that is one.
            trigger: Who asked for the task.
            exit_code: Exit code of the job's container, None if it has none.
            reason: `launch_failed`, or `unclaimed` if the task ended as if its work were done.

        Raises:
            InputInvalidError: A name or time cannot be used; nothing was written.
            LedgerUnavailableError: The store did not answer; call again.
        """
        seen = self._sighting(
            job,
            period,
            owner=owner,
            reason=reason,
            scheduled_at=scheduled_at,
            error=error,
            exit_code=exit_code,
            trigger=trigger,
        )
        return self._driver().run(mark_not_started(seen), _patience(_LONGEST_PATIENCE))

    def give_up(self, run: RunRecord, note: str) -> RunRecord | None:
        """Note in a failed or missed run that no machine starts it again; return the run after that.

        Args:
            run: The run as it was read; if its row has changed since, nothing is written.
            note: Why; recorded, with this ledger's owner as the actor.

        Raises:
            LedgerUnavailableError: The store did not answer; call again.
        """
        steps = give_up(run, actor=self.owner, note=checked_words(note, what="note"))
        return self._driver().run(steps, _patience(_LONGEST_PATIENCE))

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
        if self._caution_reported or not isinstance(self._store, Cautious) or self._store.caution is None:
            return
        from cronce.client.reporting import report  # noqa: PLC0415  # most stores keep what they answered

        self._caution_reported = True
        report("ledger_caution", level="WARNING", message=f"{self.where}: {self._store.caution}")

    def _page(self, job: str, *, limit: int, before: str | None) -> Page:
        return self._driver().insist(
            lambda: self._store.query(job, limit=limit, before=before), _patience(_LONGEST_PATIENCE)
        )

    def _driver(self, stop: StopSignal | None = None) -> Driver:
        return Driver(self._store, SteadyClock(self._clock), stop or threading.Event(), self._stop_task)

    def _sighting(
        self,
        job: str,
        period: str,
        *,
        owner: str,
        reason: str,
        scheduled_at: datetime | None,
        error: str | None,
        exit_code: int | None = None,
        trigger: Trigger = Trigger.SCHEDULE,
    ) -> Sighting:
        return Sighting(
            run=RunName.of(job, period, scheduled_at),
            token=new_token(),
            owner=owner,
            reason=reason,
            error=error,
            exit_code=exit_code,
            trigger=trigger,
        )

    @property
    def owner(self) -> str:
        """What this process is called in the ledger. The first call may ask the network for the ECS task."""
        if self._owner is None:
            from cronce.aws.task_identity import task_identity  # noqa: PLC0415  # may ask the network

            self._owner = task_identity()
        elif callable(self._owner):
            self._owner = checked_words(self._owner(), what="owner", allowed="the name of this process")
        return self._owner

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
