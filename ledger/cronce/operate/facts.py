"""What is known about a run, or could not be found out. Values, without a judgement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from cronce.operate.look_up import RowKind
from cronce.protocol.records import Pause, RunRecord, UnreadableRow

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition


@dataclass(frozen=True, slots=True)
class NotKnown:
    """What could not be found out, and why: `AccessDeniedException for ecs:DescribeTasks`."""

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


GROUP_GONE = "the schedule group does not exist"
"""What is not known about a job whose group was deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFact:
    """A task as ECS describes it.

    Attributes:
        group: `service:NAME` for a task of a service.
        stop_code: E.g. `EssentialContainerExited`, `SpotInterruption`; empty while it runs.
        stopped_reason: Why it stopped, in the words of ECS; empty while it runs.
        container: The job's container, empty if unknown.
        container_reason: What ECS says about that container, e.g. `OutOfMemoryError: ...`; empty if nothing.
        exit_code: Exit code of that container; None if it has none.
    """

    arn: str
    status: str
    group: str = ""
    revision: str = ""
    stop_code: str = ""
    stopped_reason: str = ""
    container: str = ""
    container_reason: str = ""
    exit_code: int | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    stopped_at: datetime | None = None

    @property
    def cause(self) -> str:
        """Everything that ECS says about its end."""
        return ": ".join(part for part in (self.stop_code, self.stopped_reason, self.container_reason) if part)


def task_fact(task: Mapping[str, Any]) -> TaskFact:
    """The task in an answer of DescribeTasks.

    The job's container is the one with variables in its overrides, else the one that failed.
    """
    overrides = task.get("overrides", {}).get("containerOverrides", ())
    named = {each.get("name") for each in overrides if each.get("environment")}
    containers = [each for each in task.get("containers", ()) if isinstance(each, Mapping)]
    own = [each for each in containers if each.get("name") in named] or [
        each for each in containers if each.get("exitCode") or each.get("reason")
    ]
    container = (own or containers or [{}])[0]
    return TaskFact(
        arn=str(task.get("taskArn") or ""),
        status=str(task.get("lastStatus") or ""),
        group=str(task.get("group") or ""),
        revision=str(task.get("taskDefinitionArn") or ""),
        stop_code=str(task.get("stopCode") or ""),
        stopped_reason=str(task.get("stoppedReason") or ""),
        container=str(container.get("name") or ""),
        container_reason=str(container.get("reason") or ""),
        exit_code=container.get("exitCode"),
        created_at=task.get("createdAt"),
        started_at=task.get("startedAt"),
        stopped_at=task.get("stoppedAt"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionFact:
    """The revision of a task definition that a schedule starts.

    Attributes:
        status: `ACTIVE`, `INACTIVE` or `DELETE_IN_PROGRESS`; `MISSING` if ECS does not know it.
        image: The image of the job's container.
        log_group: Where that container logs; empty if not to CloudWatch Logs.
        log_stream: The streams are called `log_stream/TASK_ID`.
        variables: The variables of that container; those of the schedule take precedence.
    """

    arn: str
    status: str
    image: str = ""
    log_group: str = ""
    log_stream: str = ""
    log_region: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    def log_of(self, task_arn: str) -> str | None:
        """The link to the log of a task in the console of AWS; None if it does not log there."""
        region = self.region_of_log(task_arn)
        if not self.log_group or not region or not is_task(task_arn):
            return None
        group, stream = (_twice(text) for text in (self.log_group, self.stream_of_log(task_arn)))
        console = f"https://{console_host(region)}/cloudwatch/home?region={region}"
        return f"{console}#logsV2:log-groups/log-group/{group}/log-events/{stream}"

    def stream_of_log(self, task_arn: str) -> str:
        """The log stream of a task."""
        return f"{self.log_stream}/{task_arn.rpartition('/')[2]}"

    def region_of_log(self, task_arn: str) -> str:
        """The Region in which the task logs: that of `awslogs-region`, or else its own; empty if neither is known."""
        return self.log_region or (task_arn.split(":")[3] if is_task(task_arn) else "")


def console_host(region: str) -> str:
    """The host of the console of AWS for a Region, whose name begins as its partition does.

    Sources: AWS General Reference, "AWS Management Console endpoints"; for `aws-us-gov` and `aws-cn` the links to their
    consoles in the ECS Developer Guide, "Amazon ECS-optimized Linux AMIs".
    """
    for beginning, domain in (("cn-", "console.amazonaws.cn"), ("us-gov-", "console.amazonaws-us-gov.com")):
        if region.startswith(beginning):
            return f"{region}.{domain}"
    return f"{region}.console.aws.amazon.com"


_REGION = "[a-z]{2,3}(?:-[a-z]+)+-[0-9]{1,2}"
"""The name of a Region, which becomes part of a host's name."""

_TASK = re.compile(rf"arn:[a-z-]+:ecs:{_REGION}:[0-9]{{12}}:task/[A-Za-z0-9_-]+/[A-Za-z0-9-]+")


def is_task(owner: str) -> bool:
    """True if the owner is an ECS task. Its Region may then be part of the name of a host."""
    return _TASK.fullmatch(owner) is not None


def _twice(text: str) -> str:
    """The console quotes twice, and writes `$` for the percent sign."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")


def revision_fact(arn: str, definition: Mapping[str, Any], container: str) -> RevisionFact:
    """The revision in an answer of DescribeTaskDefinition."""
    found = [each for each in definition.get("containerDefinitions", ()) if each.get("name") == container]
    log = (found[0].get("logConfiguration") or {}) if found else {}
    options = log.get("options") or {} if log.get("logDriver") == "awslogs" else {}
    prefix = options.get("awslogs-stream-prefix")
    return RevisionFact(
        arn=str(definition.get("taskDefinitionArn") or arn),
        status=str(definition.get("status") or "ACTIVE"),
        image=str(found[0].get("image") or "") if found else "",
        log_group=str(options.get("awslogs-group") or "") if prefix else "",
        log_stream=f"{prefix}/{container}" if prefix else "",
        log_region=region if re.fullmatch(_REGION, region := str(options.get("awslogs-region") or "")) else "",
        variables=_variables(found[0]) if found else {},
    )


def _variables(container: Mapping[str, Any]) -> dict[str, str]:
    given = container.get("environment") or ()
    return {str(each["name"]): str(each["value"]) for each in given if "name" in each and "value" in each}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFact:
    """A service of ECS; `status` is `MISSING` if there is none of this name."""

    name: str
    cluster: str
    status: str
    desired: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that was found out about a run.

    Attributes:
        period: None if the job has neither a run nor a tick until now.
        asked: True if the person named the period.
        now: When the facts were gathered, aware.
        ledger: The store, for messages.
        url: URL of the ledger; empty if it is not known.
        row: The run's row; None if there is none.
        history: The newest runs of the job.
        blocker: The run in `blocked_by`, as it is now.
        definition: The job as its schedule defines it; None if no schedule starts it.
        faults: The further schedules of the job, by name, that do not start what its first one says, and why.
        tick: The nominal time of the period; None if it has none.
        is_tick: False if the schedule has no such tick; None if that cannot be known.
        next_tick: The next tick; None if there is none or it is unknown.
        next_task_at: When a task for the run starts that a machine has arranged.
        tasks: The tasks of the run that ECS still lists.
        logged: The last line of the log of the task that ended; empty if it was not read.
        similar: Jobs with a similar name, if no schedule is for this one.
        pause: The pause of the job that is in force.
        looked_at: When the watchdog last looked; None if it never did.
        schedules_unknown: True if there is no schedule group in which to look for the job.
        not_known: What could not be found out.
    """

    job: str
    period: str | None
    asked: bool
    now: datetime
    ledger: str
    url: str = ""
    kind: RowKind = RowKind.RUN
    row: RunRecord | UnreadableRow | NotKnown | None = None
    history: tuple[RunRecord, ...] = ()
    blocker: RunRecord | None = None
    definition: JobDefinition | NotKnown | None = None
    faults: Mapping[str, str] = field(default_factory=dict)
    tick: datetime | None = None
    is_tick: bool | None = None
    next_tick: datetime | None = None
    next_task_at: datetime | None = None
    tasks: tuple[TaskFact, ...] = ()
    revision: RevisionFact | None = None
    service: ServiceFact | None = None
    looked_at: datetime | NotKnown | None = None
    logged: str = ""
    similar: tuple[str, ...] = ()
    pause: Pause | None = None
    schedules_unknown: bool = False
    not_known: tuple[NotKnown, ...] = ()
