"""Start runs for a person without ECS: through the target of a clock's job, or as a command in this process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from cronce.cli.runtime.exec import choose_format, claim_and_run
from cronce.client.ledger import Ledger, new_token
from cronce.client.refusal import Refusal
from cronce.client.settings import TaskSettings
from cronce.clock.config import ClockJob, TaskTarget, config_from_file
from cronce.clock.dispatch import Delivery, DispatchFailedError
from cronce.clock.targets import Targets
from cronce.ecs import Launched, NotLaunched
from cronce.guard.signals import SignalQueue
from cronce.schedule import PeriodForm, Timetable
from cronce.stores.urls import region_of
from cronce.vocabulary.environment import JOB, PERIOD, POLICY, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.errors import InputInvalidError, LeaseLostError
from cronce.vocabulary.names import period_of, scheduled_time_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger

_GRACE = 20.0
"""Seconds from SIGTERM to SIGKILL, as for `cronce exec`."""


def job_of_config(job: str, config: str) -> ClockJob:
    """The job in that configuration of `cronce clock`.

    Raises:
        InputInvalidError: The file cannot be read or is invalid, or does not have the job.
    """
    jobs = {each.name: each for each in config_from_file(config, what="--config")}
    if job not in jobs:
        raise InputInvalidError("JOB", job, f"a job of {config}: {', '.join(jobs)}")
    return jobs[job]


@dataclass(frozen=True, kw_only=True)
class HostJob:
    """A job without an EventBridge schedule, as `rerun` and `backfill` need it.

    Attributes:
        policy: The policy with which its work claims.
        configured: The job in a clock's configuration; None if only a command is known.
    """

    job: str
    policy: Policy
    configured: ClockJob | None
    end: datetime | None = None

    @property
    def only_people_start_it(self) -> bool:
        """True for a job that the configuration has without a schedule."""
        return self.configured is not None and self.configured.timetable is None

    @property
    def ticks_are_known(self) -> bool:
        """False for a job without a schedule."""
        return self.configured is not None and self.configured.timetable is not None

    @cached_property
    def schedule(self) -> Timetable:
        """When it is due. Only for a job whose ticks are known."""
        assert self.configured is not None  # noqa: S101  # `ticks_are_known`
        assert self.configured.timetable is not None  # noqa: S101
        return self.configured.timetable

    def period_of(self, tick: datetime) -> str:
        """The period of the run of this tick."""
        return period_of(tick) if self.configured is None else self.configured.period(tick)

    def tick_of(self, period: str) -> datetime | None:
        """The nominal time to which the period belongs; None if there is none."""
        if self.ticks_are_known and self._is_by_date:
            return self.schedule.tick_of_day(period, self.schedule.timezone)
        return scheduled_time_of(period)

    def is_period(self, period: str) -> bool:
        """True if the period has the form of those of ticks."""
        by_date = self.ticks_are_known and self._is_by_date
        return self.tick_of(period) is not None if by_date else scheduled_time_of(period) is not None

    @property
    def _is_by_date(self) -> bool:
        return self.configured is not None and self.configured.period_form is PeriodForm.DATE


class TargetStart:
    """Starts a run through the target of the clock's job, once; the work claims the run itself."""

    def __init__(self, job: ClockJob, *, url: str) -> None:
        """Check the target; nothing is called yet.

        Raises:
            InputInvalidError: The target is a task of an EventBridge schedule, which is started without `--config`.
        """
        if isinstance(job.target, TaskTarget):
            allowed = f"a job with another target; start a task of {job.target.job} without --config"
            raise InputInvalidError("JOB", job.name, allowed)
        self._job = job
        self._targets = Targets(schedule_group=lambda: "", region=region_of(url))

    def run(
        self,
        definition: HostJob,  # noqa: ARG002
        period: str,
        *,
        scheduled_at: datetime | None,
        trigger: Trigger,
        attempt: int,  # noqa: ARG002
        environment: Mapping[str, str],
    ) -> Launched | NotLaunched:
        """Call the target; what it answered."""
        delivery = Delivery(
            job=self._job,
            period=period,
            scheduled_at=scheduled_at,
            trigger=trigger,
            give_up=threading.Event(),
            environment={**environment, TRIGGER: trigger.value},
        )
        try:
            receipt = self._targets(delivery)
        except DispatchFailedError as error:
            return NotLaunched(reason=str(error))
        return Launched(task_arn=f"{self._job.target}" + (f" ({receipt})" if receipt else ""))


class CommandStart:
    """Runs the command here, under the guard: the path of `cronce exec`."""

    def __init__(self, ledger: Ledger, command: list[str], *, output_to_stderr: bool) -> None:
        """Take over the signals; nothing is started yet. Only in the main thread.

        Args:
            ledger: Where the runs are.
            command: Program and arguments; `{period}` in them is replaced.
            output_to_stderr: True to keep the command's output out of a JSON document.
        """
        self._ledger, self._command, self._output_to_stderr = ledger, command, output_to_stderr
        self._signals: SignalQueue | None = None

    def run(
        self,
        definition: HostJob,
        period: str,
        *,
        scheduled_at: datetime | None,
        trigger: Trigger,
        attempt: int,  # noqa: ARG002
        environment: Mapping[str, str],
    ) -> Launched | NotLaunched:
        """Claim the run and run the command to its end.

        Raises:
            LedgerUnavailableError: The ledger cannot be used; the command did not start.
            KeyboardInterrupt: This process was asked to stop; the command was stopped, and the run says so.
        """
        choose_format({})
        self._signals = self._signals or SignalQueue()
        variables = {JOB: definition.job, PERIOD: period, TRIGGER: trigger.value, POLICY: definition.policy.to_json()}
        if scheduled_at is not None:
            variables[SCHEDULED_TIME] = period_of(scheduled_at)
        settings = TaskSettings.from_environ(variables | dict(environment))
        request = settings.claim_request(token=new_token(), owner=self._ledger.owner, ran=self._ledger.ran)
        with _output_to_stderr() if self._output_to_stderr else _as_it_is():
            try:
                end = claim_and_run(self._ledger, request, self._command, self._signals, _GRACE)
            except LeaseLostError as error:
                return NotLaunched(reason=str(error))
        if self._signals.stopping:
            raise KeyboardInterrupt
        if isinstance(end, Refusal):
            return NotLaunched(reason=str(end))
        return Launched(task_arn="this process")


@contextmanager
def _output_to_stderr() -> Iterator[None]:
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield
