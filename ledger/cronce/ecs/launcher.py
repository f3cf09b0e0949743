"""`Launcher` finds the jobs of a schedule group and starts their tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from cronce.aws.errors import CallRefusedError
from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs.definition import (
    JobDefinition,
    WaitingTask,
    definition_of,
    fault_of_further,
    launch_overrides,
    waiting_task,
)
from cronce.ecs.errors import JobUnknownError
from cronce.ecs.names import ONE_SHOT_PREFIX, at_expression, client_token, is_one_shot, one_shot_name
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import is_further_schedule, schedule_name_stem
from cronce.vocabulary.states import Trigger

MOST_LAUNCHES_AT_ONCE = 10
"""How many launches of one attempt `run` tries. It skips launches whose task has already stopped."""

_MOST_OVERRIDES = 8192
"""Characters of a task's overrides, as JSON (ECS API Reference, RunTask)."""

_TASK_CLUSTER = re.compile(r"arn:[^:]+:ecs:[^:]+:[0-9]*:task/(?P<cluster>[^/]+)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The task of this launch was started, by this call or by an earlier one."""

    task_arn: str


@dataclass(frozen=True, slots=True)
class NotLaunched:
    """ECS did not start a task, and the same call would fail again; `reason` is the answer of ECS."""

    reason: str


class Launcher:
    """The jobs of one schedule group, as they are defined now."""

    def __init__(
        self,
        *,
        group: str,
        region: str | None = None,
        endpoint: str | None = None,
        scheduler: Any = None,  # noqa: ANN401  # a boto client, made at run time
        ecs: Any = None,  # noqa: ANN401
    ) -> None:
        """Create a launcher; the first request happens later.

        Args:
            group: The schedule group.
            region: AWS Region; None for the one in the environment.
            endpoint: URL to use instead of the AWS endpoints.
            scheduler: A botocore or boto3 client for EventBridge Scheduler.
            ecs: A botocore or boto3 client for ECS.
        """
        self.group = group
        self._scheduler = Service("scheduler", region=region, endpoint=endpoint, client=scheduler)
        self._ecs = Service("ecs", region=region, endpoint=endpoint, client=ecs)
        self._read: dict[str, tuple[datetime, JobDefinition | None]] = {}

    @property
    def ecs(self) -> Service:
        """ECS, for other questions about the tasks of the jobs."""
        return self._ecs

    def jobs(self, *, at_once: int = 1, done: Callable[[], object] = lambda: None) -> Iterator[JobDefinition]:
        """Every job of the group, ordered by the name of its schedule.

        The launcher caches schedules until they change, so a repeated call costs one request per
        hundred jobs. A job whose definition is invalid or cannot be read is reported and left out.

        Args:
            at_once: How many schedules are read at the same time.
            done: Called after each schedule that was read.

        Raises:
            CallUnavailableError: A call had no answer.
            CallRefusedError: The group does not exist, or access to it or to every schedule is denied.
        """
        refused: dict[str, CallRefusedError] = {}
        found = 0
        for definition in self._definitions(self._schedules(), refused, at_once=at_once, done=done):
            found += 1
            yield definition
        if refused and not found:
            raise next(iter(refused.values()))
        for name, error in refused.items():
            report("unreadable_job", level="ERROR", schedule=name, error=str(error))

    def _definitions(
        self,
        schedules: Iterable[Mapping[str, Any]],
        refused: dict[str, CallRefusedError],
        *,
        at_once: int = 1,
        done: Callable[[], object] = lambda: None,
    ) -> Iterator[JobDefinition]:
        """The jobs that the schedules define; `refused` gets the schedules that may not be read."""

        def read(schedule: Mapping[str, Any]) -> JobDefinition | None:
            try:
                return self._definition(schedule)
            except CallRefusedError as error:
                refused[schedule["Name"]] = error
                return None
            finally:
                done()

        if at_once == 1:
            yield from filter(None, map(read, schedules))
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # only for people who wait

        with ThreadPoolExecutor(at_once) as readers:
            yield from filter(None, readers.map(read, list(schedules)))

    def jobs_like(self, beginning: str, *, most: int) -> list[str]:
        """At most `most` names of jobs that begin so; one ListSchedules, and one GetSchedule for each.

        Raises:
            CallUnavailableError: A call had no answer.
            CallRefusedError: The group does not exist, or access is denied.
        """
        prefix = {"NamePrefix": schedule_name_stem(beginning)} if beginning else {}
        request = {"GroupName": self.group, "MaxResults": most, **prefix}
        page = self._scheduler.call("list_schedules", f"the group {self.group}", **request)
        jobs = self._definitions(filter(_defines_a_job, page["Schedules"]), {})
        return [job.job for job in jobs if job.job.startswith(beginning)]

    def find(self, job: str) -> JobDefinition:
        """The job's definition.

        Raises:
            JobUnknownError: No schedule of the group is for this job.
            CallUnavailableError: A call had no answer.
            CallRefusedError: The group does not exist, or access is denied, maybe to the job's schedule only.
        """
        refused: dict[str, CallRefusedError] = {}
        jobs: dict[str, None] = {}
        for filters in ({"NamePrefix": schedule_name_stem(job)}, {}):
            for definition in self._definitions(self._schedules(**filters), refused):
                if definition.job == job:
                    return definition
                jobs[definition.job] = None
        if refused:
            raise next(iter(refused.values()))
        raise JobUnknownError(job, self.group, get_close_matches(job, jobs, n=3))

    def known(self, job: str) -> JobDefinition | None:
        """The job's definition; None if no schedule of the group is for this job.

        Raises:
            CallUnavailableError: A call had no answer.
            CallRefusedError: The group does not exist, or access is denied.
        """
        try:
            return self.find(job)
        except JobUnknownError:
            return None

    def exists(self, schedule_name: str) -> bool:
        """True if the group has a schedule of this name, whatever it defines.

        Raises:
            CallUnavailableError: The call had no answer.
            CallRefusedError: Access to the group is denied.
        """
        try:
            self._scheduler.call("get_schedule", schedule_name, GroupName=self.group, Name=schedule_name)
        except CallRefusedError as no:
            if no.code == "ResourceNotFoundException":
                return False
            raise
        return True

    def defined_by(self, schedule_name: str) -> JobDefinition | None:
        """The job that this schedule defines; None if there is no such schedule, or it is not a job of cronce.

        Raises:
            CallUnavailableError: The call had no answer.
            CallRefusedError: Access to the group is denied.
        """
        definition = self._definition({"Name": schedule_name})
        return self.known(definition.job) if definition and is_further_schedule(schedule_name) else definition

    def faults_of_further(self, definition: JobDefinition) -> dict[str, str]:
        """The further schedules of the job, by name, that do not start what its first one says, and why.

        It reads each of them.

        Raises:
            CallUnavailableError: A call had no answer.
            CallRefusedError: Access to the group is denied.
        """
        faults = {}
        for name, expression in definition.further.items():
            try:
                answer = self._scheduler.call("get_schedule", name, GroupName=self.group, Name=name)
            except CallRefusedError as no:
                if no.code != "ResourceNotFoundException":
                    raise
                answer = None
            if fault := fault_of_further(definition, expression, answer):
                faults[name] = fault
        return faults

    def run(
        self,
        definition: JobDefinition,
        period: str,
        *,
        scheduled_at: datetime | None,
        trigger: Trigger,
        attempt: int,
        launch: int = 1,
        environment: Mapping[str, str] | None = None,
    ) -> Launched | NotLaunched:
        """Start a task for the period now, as the schedule would.

        Calls with the same job, period, attempt and launch start one task within a day. If that
        task has already stopped, the next launch number is tried.

        Args:
            definition: The job.
            period: The period of the task.
            scheduled_at: Its nominal time, if it has one.
            trigger: Who starts the task.
            attempt: The number that the attempt will have.
            launch: Number of this launch within the attempt.
            environment: Additional variables for the job's container.

        Raises:
            CallUnavailableError: ECS did not answer, or is busy.
            CallRefusedError: The call cannot be made: no Region, no credentials, invalid arguments.
        """
        target = definition.target
        parameters = _as_run_task(target["EcsParameters"])
        stopped = ""
        for number in range(launch, launch + MOST_LAUNCHES_AT_ONCE):
            overrides = launch_overrides(
                definition, period, scheduled_at=scheduled_at, trigger=trigger, launch=number, environment=environment
            )
            try:
                answer = self._ecs.call(
                    "run_task",
                    f"{definition.job} {period}",
                    cluster=target["Arn"],
                    overrides=overrides,
                    clientToken=client_token(definition.job, period, attempt=attempt, launch=number),
                    startedBy=f"cronce/{trigger}",
                    **parameters,
                )
            except CallRefusedError as no:
                if no.code == "ConflictException":
                    tasks = ", ".join(no.details.get("resourceIds") or ()) or no.cause
                    return NotLaunched(f"it was already started, with other settings: {tasks}")
                if not no.code:
                    raise
                return NotLaunched(no.cause)
            if answer.get("failures") or not answer.get("tasks"):
                return NotLaunched(_failures(answer))
            task = answer["tasks"][0]
            if "STOPPED" not in (task.get("lastStatus"), task.get("desiredStatus")):
                return Launched(task_arn=task["taskArn"])
            stopped = task["taskArn"]
        return NotLaunched(f"{MOST_LAUNCHES_AT_ONCE} tasks of this attempt have stopped, most recently {stopped}")

    def run_later(
        self,
        definition: JobDefinition,
        period: str,
        *,
        scheduled_at: datetime | None,
        trigger: Trigger,
        attempt: int,
        launch: int,
        not_before: datetime,
        environment: Mapping[str, str] | None = None,
    ) -> bool:
        """Have EventBridge Scheduler start one task for the period, at the first whole minute not before `not_before`.

        Args:
            definition: The job.
            period: The period of the task.
            scheduled_at: Its nominal time, if it has one.
            trigger: Who starts the task.
            attempt: The number that the attempt will have.
            launch: Number of this launch within the attempt.
            not_before: Aware, and a few seconds in the future.
            environment: Additional variables for the job's container.

        Returns:
            True if this call created the one-shot schedule, False if it already exists.

        Raises:
            CallUnavailableError: EventBridge Scheduler did not answer, or is busy.
            CallRefusedError: EventBridge Scheduler rejects the schedule.
        """
        overrides = launch_overrides(
            definition, period, scheduled_at=scheduled_at, trigger=trigger, launch=launch, environment=environment
        )
        text, what = json.dumps(overrides), f"{definition.job} {period}"
        if len(text) > _MOST_OVERRIDES:  # only RunTask would refuse it, when nobody waits for its answer
            limit = f"its overrides have {len(text)} characters, and ECS takes {_MOST_OVERRIDES}"
            raise CallRefusedError(f"create_schedule for {what}", limit)
        try:
            self._scheduler.call(
                "create_schedule",
                what,
                GroupName=definition.group_name,
                Name=one_shot_name(definition.job, period, attempt=attempt, launch=launch),
                Description=f"{trigger}, attempt {attempt}, launch {launch}: {definition.job} {period}"[:512],
                ScheduleExpression=at_expression(not_before),
                ScheduleExpressionTimezone="UTC",
                FlexibleTimeWindow={"Mode": "OFF"},
                ActionAfterCompletion="DELETE",
                State="ENABLED",
                Target={**definition.target, "Input": text},
                **({"KmsKeyArn": definition.key_arn} if definition.key_arn else {}),
            )
        except CallRefusedError as no:
            if no.code == "ConflictException":
                return False
            raise
        return True

    def waiting(self, job: str) -> list[WaitingTask]:
        """The tasks of the job that one-shot schedules will start, in the order of their times.

        It reads every one-shot schedule of the group, up to a hundred.

        Raises:
            CallUnavailableError: A call had no answer.
            CallRefusedError: The group does not exist, or access is denied.
        """
        request = {"GroupName": self.group, "MaxResults": 100, "NamePrefix": ONE_SHOT_PREFIX}
        page = self._scheduler.call("list_schedules", f"the group {self.group}", **request)
        found: list[WaitingTask] = []
        for name in (each["Name"] for each in page["Schedules"] if is_one_shot(each["Name"])):
            try:
                answer = self._scheduler.call("get_schedule", name, GroupName=self.group, Name=name)
            except CallRefusedError as no:
                if no.code == "ResourceNotFoundException":  # it has fired since it was listed
                    continue
                raise
            task = waiting_task(answer)
            if task is not None and task.job == job:
                found.append(task)
        return sorted(found, key=lambda task: task.starts_at)

    def stop_reason(self, task_arn: str) -> str | None:
        """Why the task stopped; None while it runs.

        Raises:
            CallUnavailableError: ECS did not answer, or is busy.
            CallRefusedError: The task may not be described, or ECS does not list it.
        """
        cluster = _TASK_CLUSTER.match(task_arn)
        request = {"cluster": cluster["cluster"]} if cluster else {}
        answer = self._ecs.call("describe_tasks", task_arn, tasks=[task_arn], **request)
        for task in answer.get("tasks", ()):
            return _stop_reason(task) if task.get("lastStatus") == "STOPPED" else None
        raise CallRefusedError(f"describe_tasks for {task_arn}", f"ECS does not list it: {_failures(answer)}")

    def _schedules(self, **filters: str) -> Iterator[Mapping[str, Any]]:
        """The summaries of ListSchedules for the group, without one-shot and further schedules."""
        request: dict[str, Any] = {"GroupName": self.group, "MaxResults": 100, **filters}
        while True:
            page = self._scheduler.call("list_schedules", f"the group {self.group}", **request)
            yield from filter(_defines_a_job, page["Schedules"])
            if not page.get("NextToken"):
                return
            request["NextToken"] = page["NextToken"]

    def _definition(self, schedule: Mapping[str, Any]) -> JobDefinition | None:
        name, modified_at = schedule["Name"], schedule.get("LastModificationDate")
        if name in self._read and self._read[name][0] == modified_at:
            return self._read[name][1]
        try:
            answer = self._scheduler.call("get_schedule", name, GroupName=self.group, Name=name)
            definition = definition_of(answer)
        except CallRefusedError as no:
            if no.code == "ResourceNotFoundException":  # deleted since it was listed
                return None
            raise
        except InputInvalidError as error:
            report("unreadable_job", level="ERROR", schedule=name, error=str(error))
            definition = None
        if modified_at is not None:
            self._read[name] = (modified_at, definition)
        return definition


def _defines_a_job(schedule: Mapping[str, Any]) -> bool:
    return not is_one_shot(schedule["Name"]) and not is_further_schedule(schedule["Name"])


def _failures(answer: Mapping[str, Any]) -> str:
    """The failures in an answer that has status 200 but no task (ECS API Reference, "API failure reasons")."""
    told = [
        ": ".join(str(failure[key]) for key in ("reason", "detail", "arn") if failure.get(key))
        for failure in answer.get("failures", ())
    ]
    return "; ".join(told) or "the answer has neither a task nor a failure"


def _stop_reason(task: Mapping[str, Any]) -> str:
    containers = [
        f"{container.get('name')}: {container.get('reason') or 'exit code ' + str(container['exitCode'])}"
        for container in task.get("containers", ())
        if container.get("reason") or container.get("exitCode") is not None
    ]
    return "; ".join([task.get("stoppedReason") or task.get("stopCode") or "stopped", *containers])


def _as_run_task(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """EcsParameters of a schedule as arguments of RunTask, which uses lower camel case and other names for two."""
    names = {"TaskDefinitionArn": "taskDefinition", "TaskCount": "count"}
    return {names.get(name, _lower_first(name)): _lower_keys(value) for name, value in parameters.items()}


def _lower_keys(value: object) -> object:
    match value:
        case dict():
            return {_lower_first(name): _lower_keys(part) for name, part in value.items()}
        case list():
            return [_lower_keys(part) for part in value]
        case _:
            return value


def _lower_first(name: str) -> str:
    return name[:1].lower() + name[1:]
