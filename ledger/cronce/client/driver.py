"""Performs the protocol's operations against a real store, and decides how long to retry."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar, assert_never

from cronce.client.time_source import SteadyClock, StopSignal
from cronce.protocol.operations import Get, Now, Operation, Running, Skew, Sleep, Steps, StopTask, Swap, Take, Woke
from cronce.protocol.records import RunRecord
from cronce.stores.store import Store
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Status

_FIRST_BACKOFF = 0.05
_LONGEST_BACKOFF = 2.0

_NEVER = threading.Event()

_MOST_LOOKED_AT = 1000
_ROWS_OF_A_PAGE = 250

T = TypeVar("T")


class Patience(Protocol):
    """Says how much longer a failing call may be retried."""

    def __call__(self, error: LedgerUnavailableError, waited: float) -> float:
        """Seconds left after the call was tried for `waited` seconds; 0 or less to give up."""


class Driver:
    """Drives the operations of one claim or query: one store, one steady clock."""

    def __init__(
        self, store: Store, clock: SteadyClock, stop: StopSignal | None, stop_task: Callable[[str, str], None]
    ) -> None:
        """Set what the operations need.

        Args:
            store: Where the rows are.
            clock: The time of this claim.
            stop: Set when this process is asked to stop; this ends a wait for another run. None if nobody asks.
            stop_task: Stops an owner's task for a reason, if possible; never raises.
        """
        self.clock = clock
        self._stop = stop or _NEVER
        self._store = store
        self._stop_task = stop_task
        self._skew = timedelta(0)

    def run(self, steps: Steps[T], patience: Patience) -> T:
        """Perform the operation to its end.

        Raises:
            LedgerUnavailableError: A call failed for longer than the patience allows, and the operation did not
                handle it.
        """
        try:
            operation = next(steps)
            while True:
                try:
                    answer = self._perform(operation, patience)
                except LedgerUnavailableError as error:
                    operation = steps.throw(error)
                else:
                    operation = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def _perform(self, operation: Operation, patience: Patience) -> Any:
        match operation:
            case Swap(record, expected):
                return self.insist(lambda: self._store.swap(record, expected), patience)
            case Take(run, at):
                return self.insist(lambda: self._store.take(run, at), patience)
            case Get(job, key):
                return self.insist(lambda: self._store.get(job, key), patience)
            case Running(job):
                return self._running(job, patience)
            case Now():
                return self.clock.now()
            case Skew():
                return self._skew
            case Sleep(for_):
                return Woke(self.clock.wait(self._stop, for_.total_seconds()))
            case StopTask(owner, reason):
                return self._stop_task(owner, reason)
            case _:
                assert_never(operation)

    def _running(self, job: str, patience: Patience) -> tuple[RunRecord, ...]:
        found: list[RunRecord] = []
        before: str | None = None
        for _ in range(_MOST_LOOKED_AT // _ROWS_OF_A_PAGE):
            page = self.insist(partial(self._store.query, job, limit=_ROWS_OF_A_PAGE, before=before), patience)
            found += (run for run in page.runs if run.status is Status.RUNNING)
            before = page.before
            if before is None:
                break
        return tuple(found)

    def insist(self, call: Callable[[], T], patience: Patience) -> T:
        """Retry the same call, with jitter, as long as the patience allows.

        Raises:
            LedgerUnavailableError: The last try's error.
        """
        sent_at = began_at = self.clock.now()
        backoff = _FIRST_BACKOFF
        while True:
            try:
                answer = call()
            except LedgerUnavailableError as error:
                pause = backoff * (0.5 + int.from_bytes(os.urandom(2)) / 65536)
                if patience(error, (self.clock.now() - began_at).total_seconds()) <= pause:
                    raise
                self.clock.wait(_NEVER, pause)
                backoff = min(backoff * 2, _LONGEST_BACKOFF)
                sent_at = self.clock.now()
            else:
                self._note_skew(sent_at, self.clock.now())
                return answer

    def _note_skew(self, sent_at: datetime, received_at: datetime) -> None:
        """Compare the store's clock with the time in which it must have answered.

        Its `Date` is truncated to seconds, so it may be up to one second older than the answer.
        """
        store_at = self._store.answered_at
        if store_at is None or store_at.utcoffset() is None:  # a time without a zone says nothing
            return
        ahead = sent_at - store_at - timedelta(seconds=1)
        behind = store_at - received_at
        self._skew = max(ahead, behind, timedelta(0))
