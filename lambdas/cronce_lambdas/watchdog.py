"""A look at everything that should be happening: lost runs, missed ticks, ticks to catch up, pinned services.

Invoke `handler` every minute or so. A look is cheap where nothing is due:

- EventBridge Scheduler: one ListSchedules for a hundred jobs. A schedule that did not change is not read
  again by a function that is warm; a cold one needs one GetSchedule a job.
- The ledger: three writes for the look, one Query for what is remembered of a hundred jobs. For each job one
  GetItem, one more while a run holds it, and one Query every ten minutes; under `WAIT` and `REPLACE` the Query
  comes with each look, under `ALLOW` it is all there is.
- A tick costs one GetItem, once. A look that judged ticks of a job writes three times to remember it.

What is done is remembered afterwards, and rows and launches have names of their own. So a look that was cut
short is simply repeated: no row and no launch comes twice, a metric or an event may.
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
from cronce_lambdas.missed import Memory, from_value
from cronce_lambdas.notices import Bus
from cronce_lambdas.pinned import Services
from cronce_lambdas.settings import Settings

OWNER = "cronce:watchdog"
"""What the watchdog is called in the rows that it writes."""

_LOOK = "cronce:watchdog:look"
"""The job of the row that one look at a time holds."""


def handler(_event: object, _context: object) -> dict[str, int]:
    """Look once; says how many of what were found.

    Raises:
        LedgerUnavailableError: The ledger did not answer; the next look comes.
        CallUnavailableError: EventBridge Scheduler did not answer; as above.
        CallRefusedError: The schedules may not be read.
    """
    return _watchdog(Settings.from_environ(os.environ)).look()


class Watchdog:
    """Looks at the jobs of a ledger as its schedule group defines them, and at pinned services."""

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
        """Look at every job and service once. One job's failure never hides another's.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not list the schedules.
            CallRefusedError: The schedules may not be read.
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
            except Exception as error:  # noqa: BLE001  # whatever it is, the other jobs are looked at
                _failed(job, error, look.found)
            claim.check()

    def _memories(self) -> dict[str, Memory | None]:
        return {row.period: from_value(decode_json(row.checkpoint)) for row in self._ledger.runs(MEMORY)}

    def _look_at_services(self, wrong_before: object, found: Counter[str]) -> list[str]:
        """Count pinned services whose desired count is not 1; an event tells of those that were not wrong before."""
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
    """One for as long as Lambda keeps this process: connections and what was read of the schedules last."""
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
    """Let the next look begin; if that fails, it begins when the lease is over."""
    try:
        claim.interrupt()
    except CronceError as error:
        report("look_not_ended", level="ERROR", error=str(error))


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
