"""Any number of clocks on one ledger, in time that only the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from cronce.client.leadership import LEADER, Leadership
from cronce.client.ledger import Ledger
from cronce.clock.config import ClockJob, CommandTarget
from cronce.clock.service import ClockService
from cronce.clock.store_time import StoreTime, TimedStore
from cronce.schedule import Every
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.errors import LedgerUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cronce.client.claim import Claim
    from cronce.clock.dispatch import Delivery
    from cronce.stores.store import Store
    from cronce.testing.clocks import HostClock

T0 = datetime(2026, 11, 29, 6, tzinfo=UTC)
"""When the stage opens."""

CLOCK = "clock"
MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LEASE = timedelta(seconds=60)


def job(name: str = "beat", **changes: Any) -> ClockJob:  # noqa: ANN401  # fields of several types
    """A job with a tick every minute; a test gives the settings that matter to it."""
    default: dict[str, Any] = {
        "name": name,
        "timetable": Every(MINUTE),
        "target": CommandTarget(arguments=("enqueue", "{period}")),
    }
    return ClockJob(**default | changes)


def at(offset: timedelta) -> str:
    """The period of a tick that long after the stage opened."""
    return f"{T0 + offset:%Y-%m-%dT%H:%M:%SZ}"


class Process:
    """One process of a clock; the test decides when it works."""

    def __init__(
        self, stage: Stage, service: ClockService, leadership: Leadership, ledger: Ledger, host: HostClock
    ) -> None:
        self.host = host
        self.service = service
        self.leadership = leadership
        self.ledger = ledger
        self.claim: Claim | None = None
        self.leads = False
        self.ended = False
        self.later: list[Callable[[], None]] = []
        self._stage = stage

    def turn(self) -> float:
        """Try to lead, or dispatch what is due; return the seconds until the next call."""
        if self.ended:
            return 1.0
        if not self.leads:
            try:
                claim = self.leadership.try_once()
            except LedgerUnavailableError:  # as `Leadership.wait` does
                return 1.0
            self.claim = claim
            self.leads = claim is not None and self.service.take_over(claim)
            return 0.0 if self.leads else 1.0
        pause = self.service.turn()
        self.leads = pause is not None
        return 1.0 if pause is None else pause

    def stop(self) -> None:
        """SIGTERM: it hands over and ends."""
        self.service.stop()
        if self.leads:
            self.turn()
        self.ended = True

    def kill(self) -> None:
        """SIGKILL."""
        self.ended = True


class Stage:
    """The ledger, the time and what the targets received.

    Attributes:
        sent: Each delivery that reached its target: process, job, period, trigger.
        receive: What the targets do; raise an error to refuse a delivery.
    """

    def __init__(self, store: Store | None = None, *, start: datetime = T0) -> None:
        self.store = store or MemoryStore()
        self.clock = ManualClock(start)
        self.sent: list[tuple[str, str, str, str]] = []
        self.receive: Callable[[Delivery], None] = lambda _: None
        self.processes: list[Process] = []

    def process(
        self,
        jobs: Sequence[ClockJob],
        *,
        store: Store | None = None,
        period: str = LEADER,
        beside: bool = False,
        lease: timedelta = LEASE,
        wrong_by: timedelta = timedelta(0),
    ) -> Process:
        """Start a process.

        Args:
            jobs: What it dispatches.
            store: The store through which it reaches the ledger; the stage's own by default.
            period: The leader's row. With a different one this process leads at the same time as the others.
            beside: True to collect dispatches in `Process.later`; by default they run at once.
            lease: The leader's.
            wrong_by: How far the wall clock of its host is ahead.
        """
        owner = f"process-{len(self.processes) + 1}"
        host = self.clock.host()
        host.wrong_by = wrong_by
        time = StoreTime(host)
        ledger = Ledger(TimedStore(store or self.store, time), owner=owner, clock=time)
        leadership = Leadership(ledger, CLOCK, lease=lease, period=period, clock=time)

        def send(delivery: Delivery) -> str | None:
            self.receive(delivery)
            self.sent.append((owner, delivery.job.name, delivery.period, str(delivery.trigger)))
            return None

        process: Process

        def start(work: Callable[[], None]) -> None:
            process.later.append(work) if beside else work()

        service = ClockService(
            jobs,
            name=CLOCK,
            ledger=ledger,
            leading=leadership,
            send=send,
            grace=20.0,
            clock=time,
            start=start,
        )
        process = Process(self, service, leadership, ledger, host)
        self.processes.append(process)
        return process

    def play(self, duration: timedelta) -> None:
        """Let all processes work for that long; each is called when its pause has passed."""
        until = self.clock.now() + duration
        while True:
            pause = min(process.turn() for process in self.processes) if self.processes else 1.0
            left = (until - self.clock.now()).total_seconds()
            if left <= 0:
                return
            self.clock.advance(timedelta(seconds=min(max(pause, 0.001), left)))

    def periods(self, name: str = "beat") -> list[str]:
        """The ticks of a job that reached the target, in that order."""
        return [period for _, job, period, _ in self.sent if job == name]

    def rows(self, name: str = "beat") -> dict[str, str]:
        """Every row of a job: period -> status, or status and reason."""
        ledger = Ledger(self.store, owner="test", clock=self.clock)
        return {
            run.period: f"{run.status}({run.reason})" if run.reason else str(run.status)
            for run in ledger.runs(f"{CLOCK}:{name}")
        }

    def claim_lead(self) -> Claim | None:
        """Another owner takes the lead if it is free."""
        ledger = Ledger(self.store, owner="somebody else", clock=self.clock)
        return Leadership(ledger, CLOCK, lease=LEASE, clock=self.clock).try_once()


def ticks(first: timedelta, last: timedelta, every: timedelta = MINUTE) -> list[str]:
    """The periods from one tick to another, both included."""
    return [at(first + n * every) for n in range((last - first) // every + 1)]
