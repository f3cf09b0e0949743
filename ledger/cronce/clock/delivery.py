"""What a target is told, and how it says no."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Protocol

from cronce.client.time_source import StopSignal
from cronce.clock.config import ClockJob
from cronce.vocabulary.errors import CronceError
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import value_class


@value_class(kw_only=True)
class Delivery:
    """One tick on its way to its target.

    Attributes:
        job: Whose tick it is.
        period: Its nominal time, as the period of the run.
        scheduled_at: Its nominal time.
        trigger: `schedule`, or `catch_up` for one that is late.
        give_up: Set when this process cannot wait any longer.
    """

    job: ClockJob
    period: str
    scheduled_at: datetime
    trigger: Trigger
    give_up: StopSignal

    @property
    def message(self) -> str:
        """What queues, functions and buses are sent."""
        return json.dumps({"job": self.job.name, "period": self.period, "scheduled_at": self.period})


class Send(Protocol):
    """Brings a delivery to its target, within the job's `timeout`."""

    def __call__(self, delivery: Delivery) -> str | None:
        """What the target gave as a receipt, if it gave one.

        Raises:
            DispatchFailedError: The target did not take it.
            DispatchGivenUpError: `give_up` was set before it had.
        """


class DispatchFailedError(CronceError):
    """The target did not take the tick, or said nothing in time.

    Attributes:
        timed_out: True if it said nothing.
    """

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        self.timed_out = timed_out
        super().__init__(message)


class DispatchGivenUpError(CronceError):
    """The dispatch was broken off because this process ends."""
