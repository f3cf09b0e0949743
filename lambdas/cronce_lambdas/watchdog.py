"""Look for lost runs, missed ticks, ticks to catch up and wrong pinned services.

Invoke `handler` about once per minute. A look is cheap when nothing is due:

- EventBridge Scheduler: one ListSchedules per hundred jobs. A warm function does not read an unchanged schedule
  again; a cold one needs one GetSchedule per job.
- The ledger: four writes per look, and one Query for the memory of a hundred jobs. Per job one GetItem, one
  more while a run holds the job, and one Query every ten minutes. Under `WAIT` and `REPLACE` every look makes the
  Query; under `ALLOW` the Query replaces the GetItem.
- DynamoDB: one DescribeTable per look, because no tick from before the table was created has a row.
- One GetItem per tick, once. A look that judged ticks of a job writes once to remember that.
- ECS: nothing, unless a tick has no row or is to be caught up. Then two ListTasks per cluster and task definition
  family, and a DescribeTasks per hundred tasks; at most twenty calls.

The watchdog remembers its work after it is done, and the names of rows and launches are derived from the tick.
A look that was interrupted is therefore repeated: rows and launches are never duplicated, a metric or an event may be.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from functools import cache

from cronce import Ledger
from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.client.time_source import Clock
from cronce.ecs import Launcher
from cronce.operate.event_bus import EventBus
from cronce.watch.group_watchdog import GroupWatchdog
from cronce.watch.launches import Bus
from cronce.watch.look_at_job import Look
from cronce.watch.turns import OWNER
from cronce_lambdas.ledger_age import Birth
from cronce_lambdas.pinned import Services
from cronce_lambdas.settings import Settings


def handler(_event: object, _context: object) -> dict[str, int]:
    """Look once; return how many of each kind were found.

    Raises:
        LedgerUnavailableError: The ledger did not answer; the next look tries again.
        CallUnavailableError: EventBridge Scheduler did not answer; the next look tries again.
        CallRefusedError: Access to the schedules is denied.
    """
    return _watchdog(Settings.from_environ(os.environ)).look()


class Watchdog(GroupWatchdog):
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
        super().__init__(
            ledger=ledger,
            url=settings.url,
            name=settings.ledger_name,
            launcher=launcher,
            bus=bus,
            ecs=ecs,
            missed_after=settings.missed_after,
            born_at=(birth or Birth("")).at,
            clock=clock,
        )
        self._pinned, self._services = settings.pinned, Services(ecs)

    def _look_at_others(self, look: Look, last: Mapping[str, object]) -> dict[str, object]:
        return {"wrong": self._look_at_services(last.get("wrong"), look.found)}

    def _look_at_services(self, wrong_before: object, found: Counter[str]) -> list[str]:
        """Count pinned services whose desired count is not 1; send an event for those that were right before."""
        wrong, is_whole = self._services.wrong(self._pinned)
        for each in wrong:
            found["pinned_count_wrong"] += 1
            report(
                "pinned_count_wrong",
                level="ERROR",
                job=each.service.job or each.service.service,
                ledger=self._name,
                cluster=each.service.cluster,
                service=each.service.service,
                desired_count=each.desired_count,
            )
        known = [str(key) for key in wrong_before] if isinstance(wrong_before, list) else []
        self._bus.put([each.notice(self._name) for each in wrong if each.key not in known])
        still = [] if is_whole else known  # one that is unknown now may be wrong as before
        return [*dict.fromkeys([*still, *(each.key for each in wrong)])]


@cache
def _watchdog(settings: Settings) -> Watchdog:
    """One watchdog for the life of this process: it keeps connections and the schedules it has read."""
    return Watchdog(
        settings,
        ledger=Ledger.from_url(settings.url, owner=OWNER),
        launcher=Launcher(group=settings.group),
        bus=EventBus(),
        ecs=Service("ecs"),
        birth=Birth(settings.url),
    )
