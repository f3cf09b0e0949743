"""Events of the documented shapes, and both functions over a ledger in memory."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from cronce import Claim, Ledger, Policy
from cronce.aws.sdk import Service
from cronce.ecs import Launcher
from cronce.operate.event_bus import EventBus
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce.watch.turns import OWNER
from cronce_lambdas.ledger_age import Birth
from cronce_lambdas.recorder import Recorder
from cronce_lambdas.settings import Settings
from cronce_lambdas.watchdog import Watchdog
from tests.support.cloud import GROUP, T0, FakeEcs, FakeEvents, FakeScheduler, StillClock, schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cronce.protocol.records import RunRecord
    from cronce.stores.store import Store

JOB = "daily-digest"
PERIOD = period_of(T0)
ARN = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123456789abcdef0123456789abcdef"
OTHER = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/fedcba9876543210fedcba9876543210"
CLUSTER = "arn:aws:ecs:eu-west-1:111122223333:cluster/jobs"

EVENT: dict[str, Any] = {
    "version": "0",
    "id": "317aa3c6-0a1e-4e2b-9a4e-0c9c1c0a1b2d",
    "detail-type": "ECS Task State Change",
    "source": "aws.ecs",
    "account": "111122223333",
    "time": "2026-11-29T06:03:12Z",
    "region": "eu-west-1",
    "resources": [ARN],
    "detail": {
        "taskArn": ARN,
        "clusterArn": CLUSTER,
        "group": "family:digest",
        "taskDefinitionArn": "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1",
        "lastStatus": "STOPPED",
        "desiredStatus": "STOPPED",
        "stopCode": "EssentialContainerExited",
        "stoppedReason": "Essential container in task exited",
        "containers": [
            {"name": "sidecar", "exitCode": 0},
            {"name": "digest", "exitCode": 137, "reason": "OutOfMemoryError: Container killed due to memory usage"},
        ],
        "overrides": {
            "containerOverrides": [
                {"name": "sidecar"},
                {
                    "name": "digest",
                    "environment": [
                        {"name": "CRONCE_JOB", "value": JOB},
                        {"name": "CRONCE_SCHEDULED_TIME", "value": PERIOD},
                    ],
                },
            ]
        },
    },
}


def altered(**detail: object) -> dict[str, Any]:
    """The event with other details."""
    event = copy.deepcopy(EVENT)
    event["detail"] |= detail
    return event


def stopped(
    arn: str = ARN,
    *,
    exit_code: int | None = 1,
    stop_code: str = "EssentialContainerExited",
    reason: str | None = None,
    **environ: str,
) -> dict[str, Any]:
    """The event of a task of the job; `exit_code` is None if its container never ran."""
    container = {"name": "digest", "exitCode": exit_code, "reason": reason}
    override = {"name": "digest", "environment": variables(**environ)}
    return altered(
        taskArn=arn,
        stopCode=stop_code,
        containers=[{name: value for name, value in container.items() if value is not None}],
        overrides={"containerOverrides": [override]},
    )


def variables(**environ: str) -> list[dict[str, str]]:
    """The environment of an override of the job's container, with changes."""
    given = {"CRONCE_JOB": JOB, "CRONCE_SCHEDULED_TIME": PERIOD} | environ
    return [{"name": name, "value": value} for name, value in given.items()]


def running(
    arn: str = ARN,
    *,
    at: datetime = T0,
    stopped_at: datetime | None = None,
    changes: Mapping[str, Any] | None = None,
    **environ: str,
) -> dict[str, Any]:
    """What DescribeTasks answers about a task of the tick; it is at work, or has stopped."""
    status = "RUNNING" if stopped_at is None else "STOPPED"
    override = {"name": "digest", "environment": variables(**({"CRONCE_SCHEDULED_TIME": period_of(at)} | environ))}
    task: dict[str, Any] = {
        "taskArn": arn,
        "clusterArn": CLUSTER,
        "taskDefinitionArn": "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1",
        "lastStatus": status,
        "desiredStatus": status,
        "overrides": {"containerOverrides": [{"name": "sidecar"}, override]},
    }
    return {**task, **({} if stopped_at is None else {"stoppedAt": stopped_at}), **(changes or {})}


def letter(body: object = None, *, message_id: str = "1", **attributes: str) -> dict[str, Any]:
    """A record of an SQS event: what EventBridge Scheduler puts into a dead-letter queue."""
    default = {"containerOverrides": [{"name": "digest", "environment": variables()}]}
    known = {
        "ERROR_CODE": "AccessDeniedException",
        "ERROR_MESSAGE": "not authorized to perform: ecs:RunTask",
        "EXECUTION_ID": "3d2f3f1e-1111-2222-3333-444455556666",
        "IS_PAYLOAD_TRUNCATED": "false",
        "RETRY_ATTEMPTS": "0",
        "SCHEDULED_TIME": PERIOD,
        "SCHEDULE_ARN": f"arn:aws:scheduler:eu-west-1:111122223333:schedule/{GROUP}/{JOB}-0123456789ab",
        "TARGET_ARN": CLUSTER,
    }
    return {
        "messageId": message_id,
        "receiptHandle": "AQEB",
        "body": body if isinstance(body, str) else json.dumps(default if body is None else body),
        "attributes": {"ApproximateReceiveCount": "1"},
        "messageAttributes": {
            name: {"stringValue": value, "stringListValues": [], "binaryListValues": [], "dataType": "String"}
            for name, value in (known | attributes).items()
            if value
        },
        "eventSource": "aws:sqs",
    }


SETTINGS = Settings(url="dynamodb://runs?region=eu-west-1", group=GROUP, missed_after=timedelta(minutes=5))


@dataclass(kw_only=True)
class World:
    """A ledger in memory, and an AWS whose answers the test defines.

    Attributes:
        scheduler: With the job's schedule.
        clock: Everybody's.
        created_at: When the table was created; None if the ledger is no table in DynamoDB, an error if DynamoDB fails.
    """

    policy: Policy | None = None
    store: Store = field(default_factory=MemoryStore)
    scheduler: FakeScheduler = field(default_factory=FakeScheduler)
    events: FakeEvents = field(default_factory=FakeEvents)
    ecs: FakeEcs = field(default_factory=FakeEcs)
    clock: StillClock = field(default_factory=lambda: StillClock(T0))
    settings: Settings = SETTINGS
    created_at: datetime | Exception | None = None

    def __post_init__(self) -> None:
        if not self.scheduler.schedules:
            self.define(policy=self.policy)
        self.launcher = Launcher(group=GROUP, scheduler=self.scheduler, ecs=self.ecs)

    def define(self, job: str = JOB, **changes: Any) -> None:  # noqa: ANN401
        """Make or change the job's schedule."""
        answer = schedule(job, **changes)
        self.scheduler.schedules[answer["Name"]] = answer

    def ledger(self, owner: str = ARN) -> Ledger:
        """The ledger, as a task sees it."""
        return Ledger(self.store, owner=owner, clock=self.clock, stop_task=lambda *_: None)

    def claim(self, owner: str = ARN, *, at: datetime = T0, **changes: Any) -> Claim:  # noqa: ANN401
        """A claim of the tick."""
        claimed = self.ledger(owner).claim(JOB, period_of(at), **{"policy": self.policy} | changes)
        assert isinstance(claimed, Claim), claimed
        return claimed

    def run(self, at: datetime = T0, *, job: str = JOB) -> RunRecord | None:
        """The run of the tick."""
        return self.ledger().run(job, period_of(at))

    def standing(self, at: datetime = T0) -> RunRecord:
        """The run of the tick, which must exist."""
        run = self.run(at)
        assert run is not None
        return run

    def settle(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Give the event to the recorder."""
        return self.recorder().settle(event)

    def sort(self, *records: Mapping[str, Any]) -> dict[str, Any]:
        """Give messages of the queue to the recorder."""
        return self.recorder().sort(list(records))

    def recorder(self, *, account: str = "") -> Recorder:
        """The recorder, which knows its account if it is given."""
        return Recorder(
            self.settings,
            ledger=self.ledger("cronce:recorder"),
            launcher=self.launcher,
            bus=EventBus(self.events),
            clock=self.clock,
            account=account,
        )

    def look(self, at: datetime | None = None) -> dict[str, int]:
        """Let the watchdog look, at `at` if it is given."""
        if at is not None:
            self.clock.advance(at - self.clock.now())
        return Watchdog(
            self.settings,
            ledger=self.ledger(OWNER),
            launcher=self.launcher,
            bus=EventBus(self.events),
            ecs=Service("ecs", client=self.ecs),
            birth=Birth(self.settings.url if self.created_at else "", client=self),
            clock=self.clock,
        ).look()

    def describe_table(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """DescribeTable, as DynamoDB answers."""
        assert request == {"TableName": "runs"}
        if isinstance(self.created_at, Exception):
            raise self.created_at
        return {"Table": {"TableName": "runs", "CreationDateTime": self.created_at}}

    def launches(self) -> list[tuple[str, str, str, str]]:
        """The launches that were arranged: time, period, trigger, launch number."""
        return [
            (
                made["ScheduleExpression"].removeprefix("at(2026-11-").rstrip(")"),
                environ["CRONCE_PERIOD"],
                environ["CRONCE_TRIGGER"],
                environ["CRONCE_LAUNCH"],
            )
            for made, environ in zip(
                self.scheduler.one_shots,
                map(self.scheduler.environ_of, range(len(self.scheduler.one_shots))),
                strict=True,
            )
        ]
