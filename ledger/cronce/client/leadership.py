"""One leader at a time: a term of leadership is an attempt of one run that never succeeds.

The row is `(name, "leader")`. Whoever claims it leads; `Claim.interrupt` ends the term and frees the
row at once, without counting as a failure; a leader that died is followed when its lease is over, or
when the recorder has marked its row. A checkpoint stays in the row: the next leader resumes from it.
"""

from __future__ import annotations

from datetime import timedelta

from cronce.client.claim import Claim, Refusal
from cronce.client.ledger import Ledger, new_token
from cronce.client.reporting import report
from cronce.client.time_source import Clock, StopSignal, SystemClock
from cronce.protocol.records import RunRecord, may_be_claimed
from cronce.protocol.requests import ClaimRequest, RefusalReason
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Status, Trigger
from cronce.vocabulary.values import replace

LEADER = "leader"
"""The period of a leader's row."""

_ENDS_FOR_MACHINES = frozenset(
    {RefusalReason.ALREADY_SUCCEEDED, RefusalReason.ATTEMPTS_EXHAUSTED, RefusalReason.REPLACED}
)
_ANOTHER_TERM = "a term of leadership follows the last one, however that ended"


class Leadership:
    """The wish to lead under a name, in one process among several."""

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
            ledger: Where the row is; its time limits must fit the lease.
            name: What is led; the row's job.
            lease: How long a term outlives a leader that died.
            poll: How often one that waits looks at the row.
            period: The row's period, where a name has several.
            clock: Where time comes from; None for this host's clock.

        Raises:
            InputInvalidError: A name or time cannot be used.
        """
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
        """Seconds since the ledger last answered `wait`, or since it began to ask; from any thread."""
        return self._clock.monotonic() - self._heard

    def try_once(self, stop: StopSignal | None = None) -> Claim | None:
        """The claim if nobody else leads, else None. One or two requests.

        Raises:
            InputInvalidError: The store's time limits do not fit in the lease.
            LedgerUnavailableError: The store did not answer; nobody may lead on that.
        """
        return self._claim(stop) or None

    def wait(self, stop: StopSignal) -> Claim | None:
        """The claim as soon as nobody else leads, or None once asked to stop.

        While another one leads it reads the row once every `poll`: a read costs less than a write
        that is refused. While the ledger is away, for whatever reason, it keeps asking; one line
        says so when it goes and one when it is back.

        Raises:
            InputInvalidError: The store's time limits do not fit in the lease.
        """
        self._heard = self._clock.monotonic()
        row: RunRecord | None = None  # nothing known yet: then a claim is the quickest question
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
            except Exception as error:  # noqa: BLE001  # nobody leads on a question that failed, and it may pass
                self._failed(error)
                row = None
            else:
                self._answered()
                self._tell_holder(row)
            self._clock.wait(stop, self._poll)
        return None

    def _may_have(self, row: RunRecord | None) -> bool:
        """True if a claim of the row may succeed, also where an earlier one of ours landed without an answer."""
        return may_be_claimed(row, self._clock.now()) or (row is not None and row.token == self._token)

    def _claim(self, stop: StopSignal | None) -> Claim | Refusal:
        """Ask with the token of every try since the last term: one that was given up may have landed."""
        ask = ClaimRequest(run=self._run, token=self._token, owner=self._ledger.owner, policy=self._policy)
        answer = self._ledger.submit(ask, stop=stop)
        if isinstance(answer, Refusal) and answer.reason in _ENDS_FOR_MACHINES:
            # However a term ended, it must not lock everybody out: no limit binds a person's claim.
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
        """Say who leads, once a term."""
        if row is None or row.status is not Status.RUNNING or self._told == (row.owner, row.attempt):
            return
        self._told = (row.owner, row.attempt)
        message = None
        if row.lease_until is None:
            message = "its row has no lease (something other than cronce wrote it); 'cronce release' frees it"
        report("standby", job=self._run.job, attempt=row.attempt, holder=row.owner, message=message)
