"""Find out what is known about a run. Each question that is not answered becomes a `NotKnown`.

A look at one run asks at most

- the ledger: one Query and five GetItem;
- EventBridge Scheduler: one ListSchedules and one GetSchedule for the job (more only if the name of its schedule is not
  derived from the job's), one GetSchedule for each further schedule of the job, one ListSchedules for retries, and one
  GetSchedule per retry that waits in the group;
- ECS: two ListTasks, two DescribeTasks and one DescribeTaskDefinition; for a clock one DescribeTasks, one ListServices
  and one DescribeServices;
- CloudWatch Logs: one GetLogEvents, for the last line of a task that failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.aws.sdk import Service
from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.ecs import JobDefinition, JobUnknownError, Launcher
from cronce.ecs.tasks import family_of, run_of
from cronce.operate.facts import (
    GROUP_GONE,
    Facts,
    NotKnown,
    RevisionFact,
    ServiceFact,
    TaskFact,
    is_task,
    revision_fact,
    task_fact,
)
from cronce.operate.look_up import RowKind, kind_of_row, looked_at
from cronce.operate.task_log import last_words
from cronce.protocol.records import RunRecord, UnreadableRow
from cronce.schedule import ScheduleInvalidError
from cronce.vocabulary.errors import CronceError, InputInvalidError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.states import Status
from cronce.watch.launches import WATCHDOG_LOOK

T = TypeVar("T")

_HISTORY = 20
_INSTANT = timedelta(microseconds=1)
_MOST_TASKS = 100
"""The limit of one ListTasks and one DescribeTasks call (ECS API Reference)."""

_MOST_SERVICES = 10


class Gathering:
    """Asks for the facts about one run, and keeps what was not answered."""

    def __init__(
        self,
        ledger: Ledger,
        launcher: Launcher | None,
        *,
        url: str,
        now: datetime,
        logs: Callable[[str], Service] | None = None,
    ) -> None:
        """Name what is asked; nothing is called yet.

        Args:
            ledger: The runs.
            launcher: Reads schedules and tasks; None for a ledger without a schedule group.
            url: URL of the ledger; a task of another one is not of the run.
            now: Aware.
            logs: CloudWatch Logs of a Region; None if the logs of tasks are not read.
        """
        self._logs = logs
        self._ledger = ledger
        self._launcher = launcher
        self._url = url
        self._now = now
        self._not_known: list[NotKnown] = []

    def about(self, job: str, period: str | None) -> Facts:
        """The facts about the run of that period, or about the newest tick of the job."""
        facts = Facts(job=job, period=period, asked=period is not None, now=self._now, ledger=self._ledger.where)
        facts = replace(facts, url=self._url)
        try:
            facts = self._of_ledger(facts)
        except RecordUnreadableError as error:
            facts = replace(facts, row=UnreadableRow(job=job, key=error.key, problem=error.problem))
        except LedgerUnavailableError as error:
            facts = replace(facts, row=NotKnown("the ledger", error.cause))
        if facts.kind is RowKind.LEADER:
            facts = replace(facts, service=self._service_of(facts))
        if facts.kind is RowKind.RUN:
            facts = self._of_schedule(facts)
            facts = self._of_ecs(facts)
        return replace(facts, not_known=tuple(self._not_known))

    def _of_ledger(self, facts: Facts) -> Facts:
        if facts.period is None and self._leader_of(facts.job) is not None:
            facts = replace(facts, period=LEADER)
        period = facts.period or ""
        facts = replace(facts, kind=kind_of_row(self._ledger, facts.job, period))
        if facts.kind is not RowKind.LEADER:
            page = self._ledger.page(facts.job, limit=_HISTORY)
            facts = replace(facts, history=tuple(page.runs))
        if facts.kind is RowKind.RUN:
            looked = self._asked("when the watchdog looked", self._watchdog_looked_at)
            pause = self._asked("whether the job is paused", lambda: self._ledger.pause_of(facts.job))
            facts = replace(facts, looked_at=looked, pause=None if isinstance(pause, NotKnown) else pause)
        else:
            facts = self._with_newest_row(facts)
        return facts

    def _leader_of(self, job: str) -> RunRecord | None:
        return self._ledger.run(job, LEADER)

    def _watchdog_looked_at(self) -> datetime | None:
        return looked_at(self._ledger.run(WATCHDOG_LOOK, LEADER))

    def _of_schedule(self, facts: Facts) -> Facts:
        launcher = self._launcher
        if launcher is None:
            told = "the ledger has no schedule group (--schedule-group names one)"
            self._not_known.append(NotKnown("schedules and tasks were not looked at", told))
            job: JobDefinition | NotKnown | None = None
            facts = replace(facts, schedules_unknown=True)
        else:
            defined = self._asked("the schedule", lambda: self._defined(launcher, facts.job))
            job = None if isinstance(defined, JobUnknownError) else defined
            facts = replace(facts, similar=defined.near if isinstance(defined, JobUnknownError) else ())
        facts = replace(facts, definition=job)
        if isinstance(job, JobDefinition):
            facts = self._with_ticks(facts, job)
        if launcher is not None and isinstance(job, JobDefinition):
            faults = self._asked("the job's further schedules", lambda: launcher.faults_of_further(job))
            facts = facts if isinstance(faults, NotKnown) else replace(facts, faults=faults)
        facts = self._with_newest_row(facts)
        if launcher is not None and isinstance(job, JobDefinition) and facts.period is not None:
            waiting = self._asked("which retries wait", lambda: launcher.waiting(facts.job))
            if isinstance(waiting, list):
                mine = [task.starts_at for task in waiting if task.period == facts.period]
                facts = replace(facts, next_task_at=mine[0] if mine else None)
        return facts

    def _defined(self, launcher: Launcher, job: str) -> JobDefinition | JobUnknownError | None:
        """The job as its schedule defines it, or why there is none; None if the group does not exist."""
        try:
            return launcher.find(job)
        except JobUnknownError as unknown:
            return unknown
        except CallRefusedError as error:
            if error.code != "ResourceNotFoundException":
                raise
            self._not_known.append(NotKnown(GROUP_GONE, launcher.group))
            return None

    def _with_ticks(self, facts: Facts, job: JobDefinition) -> Facts:
        """With the ticks around now, and the newest one if no period was named."""
        if not job.ticks_are_known or not job.delivers_ticks:
            return facts
        try:
            schedule = job.schedule
            following = schedule.next(self._now)
            facts = replace(
                facts, next_tick=None if job.end is not None and following and following >= job.end else following
            )
            if facts.period is None:
                newest = schedule.previous(self._now + _INSTANT)
                if newest is not None and job.end is not None and newest >= job.end:
                    newest = schedule.previous(job.end)
                if newest is not None and (newest >= job.created_at or facts.history):
                    return replace(facts, period=job.period_of(newest), tick=newest, is_tick=True)
                return facts
            tick = job.tick_of(facts.period)
            return replace(facts, tick=tick, is_tick=tick is not None and schedule.has_tick(tick))
        except (ScheduleInvalidError, InputInvalidError) as error:
            self._not_known.append(NotKnown("the ticks of the schedule", str(error)))
            return facts

    def _with_newest_row(self, facts: Facts) -> Facts:
        """With the row of the period; without a period it is that of the newest run."""
        if facts.period is None and facts.history:
            facts = replace(facts, period=facts.history[0].period)
        if facts.period is None or isinstance(facts.row, NotKnown):
            return facts
        return self._with_row(facts, facts.period)

    def _with_row(self, facts: Facts, period: str) -> Facts:
        try:
            row = next((run for run in facts.history if run.period == period), None) or self._ledger.run(
                facts.job, period
            )
            blocker = None
            if row is not None and row.blocked_by:
                blocker = self._ledger.run(row.blocked_by_job or facts.job, row.blocked_by)
        except RecordUnreadableError as error:
            return replace(facts, row=UnreadableRow(job=facts.job, key=error.key, problem=error.problem))
        except InputInvalidError:  # a foreign writer may have put anything into `blocked_by`
            return replace(facts, row=row)
        except LedgerUnavailableError as error:
            return replace(facts, row=NotKnown("the ledger", error.cause))
        tick = facts.tick or (row.scheduled_at if row is not None else None)
        return replace(facts, row=row, blocker=blocker, tick=tick)

    def _of_ecs(self, facts: Facts) -> Facts:
        job, launcher = facts.definition, self._launcher
        if launcher is None:
            return facts
        owner = facts.row.owner if isinstance(facts.row, RunRecord) else ""
        tasks: tuple[TaskFact, ...] = ()
        if is_task(owner):
            tasks = self._described(launcher, owner.split("/")[1], [owner])
        if isinstance(job, JobDefinition):
            settled = isinstance(facts.row, RunRecord) and is_task(owner)
            if not settled and facts.period is not None:
                tasks = tuple(self._tasks_of(launcher, job, facts.period))
            arn = str(job.target["EcsParameters"]["TaskDefinitionArn"])
            container = next((task.container for task in tasks if task.container), "") or job.container
            revision = self._asked("the revision that the schedule starts", lambda: _revision(launcher, arn, container))
            facts = replace(facts, revision=revision if isinstance(revision, RevisionFact) else None)
        return self._with_log(replace(facts, tasks=tasks))

    def _with_log(self, facts: Facts) -> Facts:
        """With the last line of the task that failed, where it is known that it has a log."""
        row, revision, logs = facts.row, facts.revision, self._logs
        if isinstance(row, RunRecord) and row.status is Status.FAILED and is_task(row.owner):
            owner = row.owner if row.exit_code or any(task.exit_code for task in facts.tasks) else ""
        else:
            owner = next((task.arn for task in facts.tasks if task.stopped_at and task.exit_code), "")
        if logs is None or revision is None or not owner or revision.log_of(owner) is None:
            return facts
        group, stream = revision.log_group, revision.stream_of_log(owner)
        said = self._asked(
            "the log of the task", lambda: last_words(logs(revision.region_of_log(owner)), group, stream)
        )
        return facts if isinstance(said, NotKnown) else replace(facts, logged=said)

    def _tasks_of(self, launcher: Launcher, job: JobDefinition, period: str) -> Iterator[TaskFact]:
        """The tasks of the period that ECS lists, the newest first: it forgets them an hour after they stopped."""
        cluster = str(job.target["Arn"])
        family = family_of(str(job.target["EcsParameters"]["TaskDefinitionArn"]))
        found: list[TaskFact] = []
        for status in ("RUNNING", "STOPPED") if family else ():
            request = {"cluster": cluster, "family": family, "desiredStatus": status, "maxResults": _MOST_TASKS}
            page = self._asked("the list of the tasks", partial(launcher.ecs.call, "list_tasks", cluster, **request))
            if isinstance(page, NotKnown):
                return
            if page.get("taskArns"):
                found += self._described(launcher, cluster, page["taskArns"], (job.job, period))
        yield from sorted(found, key=lambda task: task.created_at.timestamp() if task.created_at else 0, reverse=True)

    def _described(
        self, launcher: Launcher, cluster: str, arns: list[str], run: tuple[str, str] | None = None
    ) -> tuple[TaskFact, ...]:
        """The tasks; with `run` those whose overrides name that job and period."""
        answer = self._asked(
            "the task", lambda: launcher.ecs.call("describe_tasks", cluster, cluster=cluster, tasks=arns)
        )
        if isinstance(answer, NotKnown):
            return ()
        tasks = (task for task in answer.get("tasks", ()) if run is None or run_of(task, self._url) == run)
        return tuple(task_fact(task) for task in islice(tasks, _MOST_TASKS))

    def _service_of(self, facts: Facts) -> ServiceFact | None:
        """The service of a clock: that of its leader's task, or the one of the cluster whose name has the clock's."""
        launcher, row = self._launcher, facts.row
        if launcher is None or not isinstance(row, RunRecord) or not is_task(row.owner):
            return None
        cluster = row.owner.split("/")[1]
        (task, *_) = self._described(launcher, cluster, [row.owner]) or (None,)
        if task is not None and task.group.startswith("service:"):
            names = [task.group.partition(":")[2]]
        else:
            answer = self._asked(
                "the list of the services",
                lambda: launcher.ecs.call("list_services", cluster, cluster=cluster, maxResults=100),
            )
            arns = () if isinstance(answer, NotKnown) else answer.get("serviceArns", ())
            names = [str(arn).rpartition("/")[2] for arn in arns if facts.job in str(arn).rpartition("/")[2]]
        if not names:
            return None
        answer = self._asked(
            "the service",
            lambda: launcher.ecs.call("describe_services", cluster, cluster=cluster, services=names[:_MOST_SERVICES]),
        )
        services = () if isinstance(answer, NotKnown) else answer.get("services", ())
        found = [_service_fact(each, cluster) for each in services]
        return found[0] if len(found) == 1 else None

    def _asked(self, what: str, ask: Callable[[], T]) -> T | NotKnown:
        """The answer, or what is not known because there is none."""
        try:
            return ask()
        except CronceError as error:
            unknown = NotKnown(f"{what} is not known", why_not(error))
            if unknown not in self._not_known:
                self._not_known.append(unknown)
            return unknown


def why_not(error: CronceError) -> str:
    """Why a question was not answered: `AccessDeniedException for GetSchedule`, or the error's own text."""
    if isinstance(error, CallRefusedError) and error.code:
        operation = "".join(part.title() for part in error.what.split(" ")[0].split("_"))
        return f"{error.code} for {operation}"
    if isinstance(error, CallRefusedError | CallUnavailableError | LedgerUnavailableError):
        return error.cause
    return str(error)


def _revision(launcher: Launcher, arn: str, container: str) -> RevisionFact:
    try:
        answer = launcher.ecs.call("describe_task_definition", arn, taskDefinition=arn)
    except CallRefusedError as error:
        if error.code == "ClientException":  # "Unable to describe task definition."
            return RevisionFact(arn=arn, status="MISSING")
        raise
    return revision_fact(arn, answer["taskDefinition"], container)


def _service_fact(service: Mapping[str, Any], cluster: str) -> ServiceFact:
    return ServiceFact(
        name=str(service.get("serviceName")),
        cluster=cluster,
        status=str(service.get("status")),
        desired=int(service.get("desiredCount", 0)),
        running=int(service.get("runningCount", 0)),
    )
