"""Look for lost runs, missed ticks, ticks to catch up and wrong pinned services.

Invoke `handler` about once per minute. A look is cheap when nothing is due:

- EventBridge Scheduler: one ListSchedules per hundred jobs. A warm function does not read an unchanged schedule
  again; a cold one needs one GetSchedule per job.
- The ledger: three writes per look, and one Query for the memory of a hundred jobs. Per job one GetItem, one
  more while a run holds the job, and one Query every ten minutes. Under `WAIT` and `REPLACE` every look makes the
  Query; under `ALLOW` the Query replaces the GetItem.
- DynamoDB: one DescribeTable per look, because no tick from before the table was created has a row.
- One GetItem per tick, once. A look that judged ticks of a job writes three times to remember that.
- ECS: nothing, unless a tick has no row or is to be caught up. Then two ListTasks per cluster and task definition
  family, and a DescribeTasks per hundred tasks; at most twenty calls.

The watchdog remembers its work after it is done, and the names of rows and launches are derived from the tick.
A look that was interrupted is therefore repeated: rows and launches are never duplicated, a metric or an event may be.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import cache

from cronce import Claim, CronceError, Ledger, LedgerUnavailableError, RecordUnreadableError
from cronce.aws.sdk import Service
from cronce.client.leadership import LEADER, Leadership
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import Launcher
from cronce.protocol.records import RunRecord
from cronce.vocabulary.payloads import decode_json
from cronce_lambdas.ledger_age import Birth
from cronce_lambdas.look_at_job import LEASE, SPARE, Look, memories_of
from cronce_lambdas.notices import Bus, schedule_gone
from cronce_lambdas.pinned import Services
from cronce_lambdas.readable_rows import Rows
from cronce_lambdas.settings import Settings
from cronce_lambdas.watchdog_memory import from_value

OWNER = "cronce:watchdog"
"""The owner in the rows that the watchdog writes."""

_LOOK = "cronce:watchdog:look"
"""The job of the row that allows one look at a time."""

_MOST_GONE = 200
"""How many schedules that do not exist any more are remembered as reported."""


def handler(_event: object, _context: object) -> dict[str, int]:
    """Look once; return how many of each kind were found.

    Raises:
        LedgerUnavailableError: The ledger did not answer; the next look tries again.
        CallUnavailableError: EventBridge Scheduler did not answer; the next look tries again.
        CallRefusedError: Access to the schedules is denied.
    """
    return _watchdog(Settings.from_environ(os.environ)).look()


class Watchdog:
    """Looks at the jobs that the ledger's schedule group defines, and at pinned services."""

    def __init__(
        self,
        settings: Settings,
        *,
        ledger: Ledger,
        launcher: Launcher,
        bus: Bus,
        ecs: Service,
        birth: Birth | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._launcher = launcher
        self._bus = bus
        self._ecs = ecs
        self._birth = birth or Birth("")
        self._clock = clock or SystemClock()

    def look(self) -> dict[str, int]:
        """Look at every job and service once. A failure at one job never stops the others.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not list the schedules.
            CallRefusedError: Access to the schedules is denied.
        """
        rows = Rows(self._ledger, self._settings.ledger_name)
        claim, whole = self._begin(rows)
        if claim is None:
            return {"skipped": 1}
        claim.start_heartbeat()
        try:
            last = claim.resume_from if isinstance(claim.resume_from, Mapping) else {}
            now = self._clock.now()
            first = now if whole and claim.resume_from is None else _time(last.get("first_at"))
            look = Look(
                settings=self._settings,
                ledger=self._ledger,
                launcher=self._launcher,
                bus=self._bus,
                ecs=self._ecs,
                now=now,
                looked_at=_time(last.get("looked_at")),
                born_at=self._birth.at(),
                first_at=first,
            )
            memories = memories_of(look.rows)
            names = self._look_at_jobs(claim, look, memories)
            gone = self._look_for_gone(look, memories, names, last.get("gone"))
            wrong = self._look_at_services(last.get("wrong"), look.found)
            then = {"looked_at": look.now.isoformat(), "wrong": wrong, "gone": gone}
            claim.checkpoint(then | ({} if first is None else {"first_at": first.isoformat()}))
            look.found["unreadable"] += look.rows.unreadable
        finally:
            _give_back(claim)
        return dict(+look.found)

    def _begin(self, rows: Rows) -> tuple[Claim | None, bool]:
        """The claim of the look's row, or of a spare one if that is unreadable; False if it is the spare one."""
        for period in (LEADER, LEADER + SPARE):
            try:
                claim = Leadership(self._ledger, _LOOK, period=period, lease=LEASE).try_once()
            except RecordUnreadableError as error:
                rows.report(error)
            else:
                return claim, period == LEADER
        return None, False

    def _look_at_jobs(self, claim: Claim, look: Look, memories: Mapping[str, RunRecord]) -> set[str]:
        """Look at each job, and return the names of their schedules."""
        names: set[str] = set()
        for job in self._launcher.jobs():
            look.found["jobs"] += 1
            names.add(job.schedule_name)
            row = memories.get(job.schedule_name)
            try:
                look.at(job, None if row is None else from_value(decode_json(row.checkpoint)))
            except RecordUnreadableError as error:
                look.rows.report(error)
                _failed(job.job, job.schedule_name, error, look.found)
            except LedgerUnavailableError:
                raise
            except Exception as error:  # noqa: BLE001  # one job must not stop the others
                _failed(job.job, job.schedule_name, error, look.found)
            claim.check()
        return names

    def _look_for_gone(
        self, look: Look, memories: Mapping[str, RunRecord], names: set[str], known: object
    ) -> list[str]:
        """Report remembered jobs whose schedule does not exist any more, once, and settle their lost runs."""
        reported = {str(name) for name in known} if isinstance(known, list) else set()
        gone: list[str] = []
        for name in sorted(set(memories) - names)[:_MOST_GONE]:
            memory = from_value(decode_json(memories[name].checkpoint))
            job = None if memory is None else memory.job
            try:
                if name not in reported:
                    if self._launcher.exists(name):  # one whose definition is invalid; that is reported already
                        continue
                    self._bus.put([schedule_gone(job, name, ledger=self._settings.ledger_name)])
                    look.found["gone"] += 1
                if job is not None:
                    look.lost.settle_without_definition(job)
            except LedgerUnavailableError as error:
                if not isinstance(error, RecordUnreadableError):
                    raise
                look.rows.report(error)
            except Exception as error:  # noqa: BLE001  # one job must not stop the others
                _failed(job, name, error, look.found)
                continue
            gone.append(name)
        return gone

    def _look_at_services(self, wrong_before: object, found: Counter[str]) -> list[str]:
        """Count pinned services whose desired count is not 1; send an event for those that were right before."""
        ledger = self._settings.ledger_name
        wrong = Services(self._ecs).wrong(self._settings.pinned)
        for each in wrong:
            found["pinned_count_wrong"] += 1
            report(
                "pinned_count_wrong",
                level="ERROR",
                job=each.service.job or each.service.service,
                ledger=ledger,
                cluster=each.service.cluster,
                service=each.service.service,
                desired_count=each.desired_count,
            )
        known = wrong_before if isinstance(wrong_before, list) else []
        self._bus.put([each.notice(ledger) for each in wrong if each.key not in known])
        return [each.key for each in wrong]


@cache
def _watchdog(settings: Settings) -> Watchdog:
    """One watchdog for the life of this process: it keeps connections and the schedules it has read."""
    return Watchdog(
        settings,
        ledger=Ledger.from_url(settings.url, owner=OWNER),
        launcher=Launcher(group=settings.group),
        bus=Bus(),
        ecs=Service("ecs"),
        birth=Birth(settings.url),
    )


def _failed(job: str | None, schedule: str, error: Exception, found: Counter[str]) -> None:
    found["failed"] += 1
    told = str(error) if isinstance(error, CronceError) else repr(error)
    report("look_failed", level="ERROR", job=job, schedule=schedule, error=told)


def _give_back(claim: Claim) -> None:
    """Release the row for the next look; if that fails, the next look begins when the lease expires."""
    try:
        claim.interrupt()
    except CronceError as error:
        report("look_not_ended", level="ERROR", error=str(error))


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
