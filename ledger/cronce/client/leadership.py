"""One leader at a time: a term of leadership is an attempt of one run that never succeeds.

The ledger's row `(name, "leader")` decides who leads; a process never concludes it from its own memory.

                 the row is free, or its lease has expired: claim it
      STANDBY -------------------------------------------------------> LEADING
        ^  |                                                             |  |
        |  | read the row every `poll`;                                  |  | heartbeat every quarter of the lease
        |  | ledger unavailable: keep asking                             |  |
        |  +--> STANDBY                                                  |  +--> LEADING
        |                                                                |
        +------ `Claim.interrupt`: the row is free at once --------------+
        +------ not renewed by `trusted_until`, or released by a person -+

A term is an attempt number and a token, and every write of the leader matches both. A leader trusts its claim for four
fifths of the lease, counted from when the last successful request was sent; then it must have stopped. The next one
may claim when the lease has expired and 5 s for differing clocks have passed, or when the recorder has marked the row,
so two leaders never overlap. If the ledger is unavailable, nobody starts to lead. A term that ends does not count as a
failure. A checkpoint stays in the row, and the next leader resumes from it.
"""

from __future__ import annotations

from datetime import timedelta

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger, new_token
from cronce.client.refusal import Refusal
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal, SystemClock
from cronce.protocol.records import RunRecord, may_be_claimed
from cronce.protocol.requests import ClaimRequest, RefusalReason
from cronce.vocabulary.durations import checked_duration, format_duration
from cronce.vocabulary.errors import InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace

LEADER = "leader"
"""The period of a leader's row."""

_ENDS_FOR_MACHINES = frozenset(
    {
        RefusalReason.ALREADY_SUCCEEDED,
        RefusalReason.ATTEMPTS_EXHAUSTED,
        RefusalReason.OVERLAPPING,
        RefusalReason.REPLACED,
        RefusalReason.SUSPENDED,
        RefusalReason.TOO_LATE,
    }
)
_ANOTHER_TERM = "a term of leadership follows the last one, however that ended"


class Leadership:
    """A candidate for leadership under a name, in one process among several.

    Example:
        A loop that only one process of a fleet runs at a time:

        >>> import threading
        >>> from datetime import timedelta
        >>> from cronce import Ledger
        >>> from cronce.client.leadership import Leadership
        >>> stop = threading.Event()
        >>> leadership = Leadership(Ledger.from_url("sqlite:///runs.db"), "poller", lease=timedelta(seconds=30))
        >>> claim = leadership.wait(stop)  # returns once nobody else leads
        >>> claim.start_heartbeat()
        >>> claim.check()  # between two steps of the work; raises if another process may lead
        >>> claim.interrupt()  # release the leadership at once
    """

    def __init__(
        self,
        ledger: Ledger,
        name: str,
        *,
        lease: timedelta,
        poll: timedelta = timedelta(seconds=1),
        period: str = LEADER,
        clock: Clock | None = None,
    ) -> None:
        """Use a ledger; nothing is read or written yet.

        Args:
            ledger: Where the row is; its timeouts must fit in the lease.
            name: What is led; the row's job.
            lease: How long the term of a dead leader is respected.
            poll: How often a process on standby reads the row.
            period: The row's period, if a name has several.
            clock: The source of time; None for this host's clock.

        Raises:
            InputInvalidError: A name or time cannot be used.
        """
        poll = checked_duration(poll, what="poll")
        if not timedelta(milliseconds=50) <= poll <= timedelta(minutes=10):
            raise InputInvalidError("poll", format_duration(poll), "50ms to 10m")
        self._ledger = ledger
        self._run = RunName.of(name, period)
        self._policy = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW, on_lost=OnLost.RETRY, lease=lease)
        self._poll = poll.total_seconds()
        self._clock = clock or SystemClock()
        self._heard = self._clock.monotonic()
        self._away = False
        self._told: tuple[str, int] | None = None
        self._token = new_token()

    @property
    def silent_for(self) -> float:
        """Seconds since the ledger last answered `wait`, or since `wait` began; from any thread."""
        return self._clock.monotonic() - self._heard

    def try_once(self, stop: StopSignal | None = None) -> Claim | None:
        """Return the claim if no other process leads, else None. Sends one or two requests.

        Raises:
            InputInvalidError: The store's timeouts do not fit in the lease.
            LedgerUnavailableError: The store did not answer, so this process must not lead.
        """
        return self._claim(stop) or None

    def wait(self, stop: StopSignal) -> Claim | None:
        """Return the claim as soon as no other process leads, or None once asked to stop.

        While another process leads, read the row every `poll`: a read costs less than a refused write. While the
        ledger is unavailable, for any reason, keep asking; one log line says that it is unavailable and one that it
        answers again.

        Raises:
            InputInvalidError: The store's timeouts do not fit in the lease.
        """
        self._heard = self._clock.monotonic()
        row: RunRecord | None = None  # nothing is known yet, so a claim is the quickest request
        while not stop.is_set():
            try:
                if not self._may_have(row):
                    row = self._ledger.run(self._run.job, self._run.period)
                if self._may_have(row):
                    answer = self._claim(stop)
                    if isinstance(answer, Claim):
                        self._answered()
                        return answer
                    row = answer.record
            except InputInvalidError:
                raise
            except Exception as error:  # noqa: BLE001  # nobody leads after a failed request, and it may pass
                self._failed(error)
                row = None
            else:
                self._answered()
                self._tell_holder(row)
            self._clock.wait(stop, self._poll)
        return None

    def _may_have(self, row: RunRecord | None) -> bool:
        """True if a claim of the row may succeed, also if an earlier claim of ours was stored but its answer lost."""
        return may_be_claimed(row, self._clock.now()) or (row is not None and row.token == self._token)

    def _claim(self, stop: StopSignal | None) -> Claim | Refusal:
        """Claim with one token for all tries since the last term: one whose answer was lost may be stored."""
        ask = ClaimRequest(
            run=self._run, token=self._token, owner=self._ledger.owner, policy=self._policy, has_slot=False
        )
        answer = self._ledger.submit(ask, stop=stop)
        if isinstance(answer, Refusal) and answer.reason in _ENDS_FOR_MACHINES:
            # However a term ended, the next one must be possible: a person's claim has no limits.
            answer = self._ledger.submit(replace(ask, trigger=Trigger.MANUAL, force=_ANOTHER_TERM), stop=stop)
        if isinstance(answer, Claim):
            self._token = new_token()
        return answer

    def _answered(self) -> None:
        self._heard = self._clock.monotonic()
        if self._away:
            self._away = False
            report("available", job=self._run.job, message=f"the ledger answers again: {self._ledger.where}")

    def _failed(self, error: Exception) -> None:
        if not self._away:
            self._away = True
            cause = str(error) if isinstance(error, LedgerUnavailableError) else repr(error)
            message = f"{cause}; {self._run.job} stays on standby and keeps asking"
            report("unavailable", level="ERROR", job=self._run.job, message=message)

    def _tell_holder(self, row: RunRecord | None) -> None:
        """Log who leads, once per term."""
        if row is None or row.status is not Status.RUNNING or self._told == (row.owner, row.attempt):
            return
        self._told = (row.owner, row.attempt)
        message = None
        if row.lease_until is None:
            message = "its row has no lease (something other than cronce wrote it); 'cronce release' releases it"
        report("standby", job=self._run.job, attempt=row.attempt, holder=row.owner, message=message)
