"""Look for lost runs, missed ticks, ticks to catch up and wrong pinned services.

Invoke `handler` about once per minute. A look is cheap when nothing is due:

- EventBridge Scheduler: one ListSchedules per hundred jobs. A warm function does not read an unchanged schedule
  again; a cold one needs one GetSchedule per job.
- The ledger: three writes per look, and one Query for the memory of a hundred jobs. Per job one GetItem, one
  more while a run holds the job, and one Query every ten minutes. Under `WAIT` and `REPLACE` every look makes the
  Query; under `ALLOW` the Query replaces the GetItem.
- One GetItem per tick, once. A look that judged ticks of a job writes three times to remember that.

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
from cronce.client.leadership import Leadership
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import JobDefinition, Launcher
from cronce.vocabulary.payloads import decode_json
from cronce_lambdas.look import LEASE, MEMORY, Look
from cronce_lambdas.memory import Memory, from_value
from cronce_lambdas.notices import Bus
from cronce_lambdas.pinned import Services
from cronce_lambdas.settings import Settings

OWNER = "cronce:watchdog"
"""The owner in the rows that the watchdog writes."""

_LOOK = "cronce:watchdog:look"
"""The job of the row that allows one look at a time."""


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
        services: Services,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._ledger = ledger
        self._launcher = launcher
        self._bus = bus
        self._services = services
        self._clock = clock or SystemClock()

    def look(self) -> dict[str, int]:
        """Look at every job and service once. A failure at one job never stops the others.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not list the schedules.
            CallRefusedError: Access to the schedules is denied.
        """
        claim = Leadership(self._ledger, _LOOK, lease=LEASE).try_once()
        if claim is None:
            return {"skipped": 1}
        claim.start_heartbeat()
        try:
            last = claim.resume_from if isinstance(claim.resume_from, Mapping) else {}
            look = Look(
                settings=self._settings,
                ledger=self._ledger,
                launcher=self._launcher,
                bus=self._bus,
                now=self._clock.now(),
                looked_at=_time(last.get("looked_at")),
                found=Counter(),
            )
            self._look_at_jobs(claim, look)
            wrong = self._look_at_services(last.get("wrong"), look.found)
            claim.checkpoint({"looked_at": look.now.isoformat(), "wrong": wrong})
        finally:
            _give_back(claim)
        return dict(+look.found)

    def _look_at_jobs(self, claim: Claim, look: Look) -> None:
        memories = self._memories()
        for job in self._launcher.jobs():
            look.found["jobs"] += 1
            try:
                look.at(job, memories.get(job.schedule_name))
            except RecordUnreadableError as error:
                _failed(job, error, look.found)
            except LedgerUnavailableError:
                raise
            except Exception as error:  # noqa: BLE001  # one job must not stop the others
                _failed(job, error, look.found)
            claim.check()

    def _memories(self) -> dict[str, Memory | None]:
        return {row.period: from_value(decode_json(row.checkpoint)) for row in self._ledger.runs(MEMORY)}

    def _look_at_services(self, wrong_before: object, found: Counter[str]) -> list[str]:
        """Count pinned services whose desired count is not 1; send an event for those that were right before."""
        ledger = self._settings.ledger_name
        wrong = self._services.wrong(self._settings.pinned)
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
        services=Services(),
    )


def _failed(job: JobDefinition, error: Exception, found: Counter[str]) -> None:
    found["failed"] += 1
    told = str(error) if isinstance(error, CronceError) else repr(error)
    report("look_failed", level="ERROR", job=job.job, schedule=job.schedule_name, error=told)


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
