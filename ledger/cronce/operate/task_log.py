"""Where the task of an attempt logs in CloudWatch Logs, and what it logged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cronce.aws.sdk import Service
from cronce.ecs import CallRefusedError, JobDefinition, Launcher
from cronce.ecs.tasks import job_container
from cronce.operate.facts import RevisionFact, is_task, revision_fact
from cronce.protocol.records import RunRecord
from cronce.vocabulary.errors import CronceError
from cronce.vocabulary.payloads import decode_json

_LAST_LINES = 20
"""How many lines at the end of a log are looked at: `cronce exec` writes its own after those of the work."""


class NoLogError(CronceError):
    """There is no log of the attempt in CloudWatch Logs, or none is known; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """The log stream of one task."""

    task: str
    region: str
    group: str
    stream: str
    link: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event of a log stream."""

    at: datetime
    message: str


def task_of(run: RunRecord, attempt: int | None) -> str:
    """The task that made that attempt of the run; None for the newest.

    Raises:
        NoLogError: There was no such attempt, it is too old to be known, or no task made it.
    """
    owner = _owner_of(run, attempt)
    if not is_task(owner):
        raise NoLogError(f"the attempt was made by {owner}, which is no ECS task: its log is where its output goes")
    return owner


def _owner_of(run: RunRecord, attempt: int | None) -> str:
    owners = {past.attempt: past.owner for past in run.attempts} | ({run.attempt: run.owner} if run.attempt else {})
    number = run.attempt if attempt is None else attempt
    if number in owners:
        return owners[number]
    if not owners:
        # The task of a run that never began is its owner too, where the recorder saw one stop.
        if attempt is None and is_task(run.owner):
            return run.owner
        msg = f"{run.job} {run.period} is {run.status}: no attempt of it began"
    else:
        msg = f"{run.job} {run.period} has no attempt {number}; known: {', '.join(map(str, sorted(owners)))}"
    raise NoLogError(msg)


def place_of(launcher: Launcher, job: JobDefinition | None, owner: str) -> LogPlace:
    """Where the task logs: at most a DescribeTasks and a DescribeTaskDefinition.

    ECS forgets a task an hour after it stopped. Then the revision that the schedule starts now counts.

    Raises:
        NoLogError: The owner is no task, or its container does not log to CloudWatch Logs by a known name.
        CallUnavailableError: ECS did not answer.
        CallRefusedError: ECS refused the request.
    """
    if not is_task(owner):
        raise NoLogError(f"the attempt was made by {owner}, which is no ECS task: its log is where its output goes")
    arn, container = _revision_and_container(launcher, owner)
    if arn is None:
        if job is None:
            raise NoLogError(f"ECS does not know {owner} any more, and no schedule says what it was")
        arn, container = str(job.target["EcsParameters"]["TaskDefinitionArn"]), container or job.container
    revision = _revision(launcher, arn, container)
    link = revision.log_of(owner)
    if link is None:
        msg = f"container {container!r} of {arn} has no awslogs-group with an awslogs-stream-prefix"
        raise NoLogError(msg)
    return LogPlace(
        task=owner,
        region=revision.region_of_log(owner),
        group=revision.log_group,
        stream=revision.stream_of_log(owner),
        link=link,
    )


class TaskLog:
    """Reads a log stream from its beginning; each look continues where the last one ended."""

    def __init__(self, place: LogPlace, client: Any = None) -> None:  # noqa: ANN401  # a boto client, made at run time
        self._place = place
        self._logs = Service("logs", region=place.region, client=client)
        self._token: str | None = None

    def look(self) -> Iterator[LogLine]:
        """What was logged since the last look; one GetLogEvents per megabyte, and one that finds nothing new.

        Raises:
            NoLogError: The stream does not exist, or not yet.
            CallUnavailableError: CloudWatch Logs did not answer.
            CallRefusedError: It refused the request.
        """
        place = self._place
        while True:
            request = {"nextToken": self._token} if self._token else {}
            try:
                page = self._logs.call(
                    "get_log_events",
                    f"{place.group} {place.stream}",
                    logGroupName=place.group,
                    logStreamName=place.stream,
                    startFromHead=True,
                    **request,
                )
            except CallRefusedError as error:
                if error.code == "ResourceNotFoundException":
                    msg = f"there is no log stream {place.stream} in {place.group}: the task has logged nothing yet"
                    raise NoLogError(f"{msg}, or the group's retention has deleted it") from error
                raise
            for event in page["events"]:
                yield LogLine(datetime.fromtimestamp(event["timestamp"] / 1000, UTC), str(event["message"]))
            before, self._token = self._token, page["nextForwardToken"]
            if self._token == before:  # the end of the stream (CloudWatch Logs API Reference, GetLogEvents)
                return


def last_words(logs: Service, group: str, stream: str) -> str:
    """The last line that a task logged, or what `cronce exec` said if it could not use the ledger; one GetLogEvents.

    Raises:
        CallUnavailableError: CloudWatch Logs did not answer.
        CallRefusedError: It refused the request.
    """
    request = {"logGroupName": group, "logStreamName": stream, "startFromHead": False, "limit": _LAST_LINES}
    try:
        page = logs.call("get_log_events", f"{group} {stream}", **request)
    except CallRefusedError as error:
        if error.code == "ResourceNotFoundException":
            return ""
        raise
    for event in reversed(page.get("events", ())):
        message = str(event.get("message") or "")
        line = _line_of_cronce(message)
        if line is not None and line.get("cronce.event") == "unavailable":
            return str(line.get("cronce.message") or "")
        if line is None and message.strip():
            return message
    return ""


def _line_of_cronce(message: str) -> Mapping[str, object] | None:
    if not message.startswith("{"):
        return None
    value = decode_json(message)
    return value if isinstance(value, dict) and "cronce.event" in value else None


def _revision_and_container(launcher: Launcher, owner: str) -> tuple[str | None, str]:
    """The task definition of the task and its job's container; None and empty if ECS does not know the task."""
    answer = launcher.ecs.call("describe_tasks", owner, cluster=owner.split("/")[1], tasks=[owner])
    for task in answer.get("tasks", ()):
        try:
            container, _ = job_container(task["overrides"]["containerOverrides"])
        except (KeyError, TypeError):
            continue
        return task.get("taskDefinitionArn"), container
    return None, ""


def _revision(launcher: Launcher, arn: str, container: str) -> RevisionFact:
    answer = launcher.ecs.call("describe_task_definition", arn, taskDefinition=arn)
    return revision_fact(arn, answer["taskDefinition"], container)
