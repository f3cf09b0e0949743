"""Deployments of the simulated jobs: another revision, policy, pace or name of a job, in the midst of its ticks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cronce.protocol.records import RunRecord
from cronce.vocabulary.environment import POLICY
from cronce.vocabulary.states import Status
from tests.simulation.fleet import Job, period_at
from tests.simulation.kernel import EPOCH, Kernel, Proc
from tests.support.cloud import schedule

RENAMED = "-renamed"


class Deployments:
    """What the schedules of the group are, and which ticks each of them had.

    Attributes:
        looks: When the looks of the watchdog began that came to their end.
    """

    def __init__(
        self,
        kernel: Kernel,
        schedules: dict[str, Any],
        jobs: Sequence[Job],
        *,
        counts: Counter[str],
        rows: Callable[[str], Sequence[RunRecord]],
    ) -> None:
        """Take over the group.

        Args:
            kernel: Where the time passes.
            schedules: What GetSchedule answers, by name; changed in place.
            jobs: The jobs that have a schedule from the beginning.
            counts: Where deployments are counted.
            rows: The runs of a job, newest first.
        """
        self._kernel = kernel
        self._schedules = schedules
        self._counts = counts
        self._rows = rows
        self._pace = {job.name: 1 for job in jobs}
        self._now: dict[str, list[Job]] = {job.name: [job] for job in jobs}
        self._changes: dict[str, list[float]] = {job.name: [] for job in jobs}
        self.looks: list[float] = []
        self._due: set[tuple[str, float]] = set()

    @property
    def jobs(self) -> list[Job]:
        """Every job that has or had a schedule."""
        return [job for names in self._now.values() for job in names]

    def receivers(self, job: Job, tick: float) -> list[Job]:
        """Whom EventBridge Scheduler delivers a tick of the job to, by its first name: nobody while it is not due."""
        due = [each for each in self._now[job.name] if self._has(each, tick)]
        self._due |= {(each.name, tick) for each in due}
        return due

    def is_due(self, job: Job, tick: float) -> bool:
        """True if the job's schedule had this tick."""
        return (job.name, tick) in self._due

    def is_sure(self, job: Job, tick: float) -> bool:
        """False if the schedule changed so soon after the tick that hardly a look saw before that it was due."""
        change = min((at for at in self._changes[job.name] if at > tick), default=None)
        return change is None or sum(tick + 5 < look < change for look in self.looks) > 1

    def is_enabled(self, job: Job) -> bool:
        """True if the job's schedule exists, and starts tasks."""
        return self._pace[job.name] > 0

    def revision(self, job: Job) -> str | None:
        """The task definition that the job's role may start; None if the job is gone."""
        answer = self._schedules.get(_name(job))
        return None if answer is None else str(answer["Target"]["EcsParameters"]["TaskDefinitionArn"])

    def deploy(self, job: Job) -> None:
        """Register a new revision of the task definition; the schedule starts it, with the policy of the moment."""
        if self.revision(job) is None:
            return
        self._counts["deployments"] += 1
        target = json.loads(json.dumps(self._schedules[_name(job)]["Target"]))
        family = target["EcsParameters"]["TaskDefinitionArn"].rpartition(":")[0]
        target["EcsParameters"]["TaskDefinitionArn"] = f"{family}:{self._counts['deployments'] + 1}"
        override = json.loads(target["Input"])
        for variable in override["containerOverrides"][1]["environment"]:
            if variable["name"] == POLICY:
                variable["value"] = job.policy_at(self._kernel.now).to_json()
        self._change(job, Target=target | {"Input": json.dumps(override)})

    def move(self, job: Job) -> None:
        """Give the schedule half its ticks, or all of them again."""
        if self.is_enabled(job):
            self._counts["moved"] += 1
            self._set_pace(job, 3 - self._pace[job.name])
            self._change(job, ScheduleExpression=expression(job, self._pace[job.name]))

    def rename(self, job: Job, proc: Proc, *, removed_after: float = 30.0) -> None:
        """Rename the job as docs/constructs.md says: disable it, wait, replace it by one that starts later.

        Args:
            job: One that was not renamed yet.
            proc: Who waits.
            removed_after: For how long the old schedule stays beside the new one, until CloudFormation removes it.
        """
        assert proc.alive
        pace = self.stand_down(job)
        new = replace(job, name=job.name + RENAMED, formerly=job.name)
        self._now[job.name].append(new)
        self._changes[new.name] = []
        self._pace[new.name] = pace
        answer = schedule_of(new, pace, at=self._kernel.now)
        revision = self.revision(job)
        answer["Target"]["EcsParameters"]["TaskDefinitionArn"] = revision
        self._schedules[answer["Name"]] = answer | {"EndDate": self._schedules[_name(job)]["EndDate"]}
        self._kernel.sleep(removed_after)
        self._set_pace(job, 0)
        del self._schedules[_name(job)]
        self._counts["renamed"] += 1

    def stand_down(self, job: Job) -> int:
        """Disable the job, and wait until its last ticks have rows and none is RUNNING; the pace that it had."""
        pace = self._pace[job.name]
        self._set_pace(job, 0)
        self._change(job, State="DISABLED")
        disabled_at = self._kernel.now
        while not self._is_at_rest(job, patient=self._kernel.now < disabled_at + 900):
            self._kernel.sleep(60)
        return pace

    def _is_at_rest(self, job: Job, *, patient: bool) -> bool:
        rows = {run.period: run.status for run in self._rows(job.name)}
        recent = [tick for name, tick in self._due if name == job.name and tick > self._kernel.now - 3600]
        without_row = [tick for tick in recent if period_at(tick) not in rows and self.is_sure(job, tick)]
        return Status.RUNNING not in rows.values() and not (patient and without_row)

    def _has(self, job: Job, tick: float) -> bool:
        pace = self._pace[job.name]
        return pace > 0 and tick / job.every % pace == 0

    def _set_pace(self, job: Job, pace: int) -> None:
        self._pace[job.name] = pace
        self._changes[job.name].append(self._kernel.now)

    def _change(self, job: Job, **changes: object) -> None:
        at = EPOCH + timedelta(seconds=self._kernel.now)
        self._schedules[_name(job)] = self._schedules[_name(job)] | changes | {"LastModificationDate": at}


def schedule_of(job: Job, pace: int = 1, *, at: float | None = None, ends: datetime | None = None) -> dict[str, Any]:
    """What GetSchedule answers about the job; `at` is when it was created and what it starts at."""
    created = EPOCH - timedelta(seconds=1) if at is None else EPOCH + timedelta(seconds=at)
    answer: dict[str, Any] = schedule(
        job.name,
        policy=job.policy_at(at or 0.0),
        ScheduleExpression=expression(job, pace),
        CreationDate=created,
        LastModificationDate=created,
        StartDate=None if at is None else created,
        EndDate=ends,
    )
    return answer


def expression(job: Job, pace: int) -> str:
    """Every tick of the job, or every second one."""
    minutes = int(job.every * pace // 60)
    return "cron(0 * * * ? *)" if minutes == 60 else f"cron(*/{minutes} * * * ? *)"


def _name(job: Job) -> str:
    return f"{job.name}-0123456789ab"
