"""A watchdog over the jobs that a schedule group of EventBridge Scheduler defines.

The Lambda function of a `RunLedger` is one, and so is `cronce watchdog --schedule-group`, on every store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import islice

from cronce.aws.sdk import Service
from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import Launcher
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.payloads import decode_json
from cronce.watch.launches import WATCHDOG_LOOK, Bus
from cronce.watch.look_at_job import Look, memories_of
from cronce.watch.memory import from_value
from cronce.watch.notices import schedule_gone
from cronce.watch.one_shots import OneShots
from cronce.watch.readable_rows import Rows
from cronce.watch.tasks_at_work import TasksAtWork
from cronce.watch.turns import begin_look, end_look, left_by_the_last, look_at_one, look_failed, time_in

_TOGETHER = 100
"""How many jobs are read together, before the first of them is looked at."""

_MOST_GONE = 200
"""How many schedules that do not exist any more are remembered as reported: those that were looked at last."""


class GroupWatchdog:
    """Looks at the jobs of a schedule group: ticks without a run, runs whose owner died, ticks to catch up."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        url: str,
        name: str,
        launcher: Launcher,
        bus: Bus,
        ecs: Service,
        missed_after: timedelta,
        retries: bool = False,
        born_at: Callable[[], datetime | None] = lambda: None,
        clock: Clock | None = None,
    ) -> None:
        """Make no request yet.

        Args:
            ledger: Where the runs are; its owner is written into marked rows.
            url: The ledger's URL; a task that names another one is not counted.
            name: The ledger's name, a dimension of the metrics.
            launcher: The jobs.
            bus: Where events go.
            ecs: Lists the tasks.
            missed_after: How long after the end of its window a tick may be delivered.
            retries: True if no recorder has failed runs started again, so that each look does.
            born_at: When the ledger's table was created; None if that is unknown.
            clock: The source of time; None for this host's clock.
        """
        self._ledger, self._url, self._name = ledger, url, name
        self._launcher, self._bus, self._ecs = launcher, bus, ecs
        self._missed_after, self._retries, self._born_at = missed_after, retries, born_at
        self._clock = clock or SystemClock()

    def look(self) -> dict[str, int]:
        """Look at every job once; how many of each kind were found. A failure at one job never stops the others.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not list the schedules.
            CallRefusedError: Access to the schedules is denied.
        """
        claim, whole = begin_look(self._ledger, WATCHDOG_LOOK, Rows(self._ledger, self._name))
        if claim is None:
            return {"skipped": 1}
        claim.start_heartbeat()
        try:
            last = left_by_the_last(claim)
            now = self._clock.now()
            look = Look(
                ledger=self._ledger,
                ledger_name=self._name,
                missed_after=self._missed_after,
                launches=OneShots(ledger=self._ledger, launcher=self._launcher, bus=self._bus, name=self._name),
                at_work=TasksAtWork(self._ecs, ledger=self._url, now=now),
                bus=self._bus,
                now=now,
                looked_at=time_in(last.get("looked_at")),
                retries=self._retries,
                born_at=self._born_at(),
                first_at=now if whole and claim.resume_from is None else time_in(last.get("first_at")),
            )
            memories = memories_of(look.rows)
            names = self._look_at_jobs(claim, look, memories)
            gone = self._look_for_gone(look, memories, names, last.get("gone"))
            then = {"looked_at": look.now.isoformat(), "gone": gone, **self._look_at_others(look, last)}
            claim.checkpoint(then | ({} if look.first_at is None else {"first_at": look.first_at.isoformat()}))
            look.found["unreadable"] += look.rows.unreadable
        finally:
            end_look(claim)
        return dict(+look.found)

    def _look_at_others(self, look: Look, last: Mapping[str, object]) -> dict[str, object]:
        """For a subclass: look at more than the jobs; returns what is added to the row for the next look."""
        del look, last
        return {}

    def _look_at_jobs(self, claim: Claim, look: Look, memories: Mapping[str, RunRecord]) -> set[str]:
        """Look at each job, and return the names of their schedules."""
        names: set[str] = set()
        jobs = self._launcher.jobs()
        while some := list(islice(jobs, _TOGETHER)):
            look.lost.read_ahead(some)
            for job in some:
                names.add(job.schedule_name)
                row = memories.get(job.schedule_name)
                look_at_one(look, lambda _, job=job: job, row, job=job.job, schedule=job.schedule_name)  # type: ignore[misc]
                claim.check()
        return names

    def _look_for_gone(
        self, look: Look, memories: Mapping[str, RunRecord], names: set[str], known: object
    ) -> list[str]:
        """Report remembered jobs whose schedule does not exist any more, once, and settle their lost runs."""
        reported = {str(name) for name in known} if isinstance(known, list) else set()
        gone: list[str] = []
        written = {name: row.finished_at or row.claimed_at or look.now for name, row in memories.items()}
        for name in sorted(set(memories) - names, key=lambda each: (written[each], each), reverse=True)[:_MOST_GONE]:
            memory = from_value(decode_json(memories[name].checkpoint))
            job = None if memory is None else memory.job
            try:
                if name not in reported:
                    if self._launcher.exists(name):  # one whose definition is invalid; that is reported already
                        continue
                    self._bus.put([schedule_gone(job, name, ledger=self._name)])
                    look.found["gone"] += 1
                if job is not None:
                    look.lost.settle_without_definition(job)
            except LedgerUnavailableError as error:
                if not isinstance(error, RecordUnreadableError):
                    raise
                look.rows.report(error)
            except Exception as error:  # noqa: BLE001  # one job must not stop the others
                look_failed(job, name, error, look.found)
                continue
            gone.append(name)
        return gone
