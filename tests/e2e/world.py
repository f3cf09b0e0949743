"""The deployed stack, in the words of a scenario: ticks, tasks, mails and runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from cronce import Ledger
from cronce.names import period_of
from tests.e2e.aws_parts import TaskEvents, deliver
from tests.support.host import until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from cronce.protocol.records import RunRecord
    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

PATIENCE = 180.0
"""Seconds until a state that must come counts as missing."""

_FIRST_TICK = datetime(2026, 11, 29, 6, tzinfo=UTC)


class World:
    """What a scenario does to the deployed stack, and what it sees of it."""

    def __init__(self, aws: Emulator, engine: Engine, outputs: dict[str, str]) -> None:
        self.aws = aws
        self.engine = engine
        self._outbox = outputs["OutboxName"]
        self._cluster = outputs["ClusterName"]
        self._schedules: dict[str, str] = json.loads(outputs["Schedules"])
        self._schedule_group = outputs["ScheduleGroupName"]
        self._next_tick = _FIRST_TICK
        self._events = TaskEvents(aws, engine, cluster=self._cluster)
        self._ecs = aws.client("ecs")
        self._s3 = aws.client("s3")
        self._logs = aws.client("logs")
        self._log_group = outputs["LogGroupName"]
        self.ledger = Ledger.from_url(f"{outputs['LedgerUrl']}&endpoint={aws.endpoint}")

    def __enter__(self) -> Self:
        """Begin to tell of stopped tasks."""
        self._events.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop telling."""
        self._events.__exit__(kind, error, traceback)
        for opened in (self.ledger, self._ecs, self._s3, self._logs):
            opened.close()

    def new_tick(self) -> datetime:
        """A tick that no scenario has used: 06:00 of the next day."""
        tick, self._next_tick = self._next_tick, self._next_tick + timedelta(days=1)
        return tick

    def deliver(self, job: str, tick: datetime) -> str:
        """Deliver one tick; the ARN of the task that it starts."""
        (task,) = deliver(self.aws, self._schedules[job], tick, group=self._schedule_group)
        return task

    def run(self, job: str, tick: datetime) -> RunRecord | None:
        """The run of the tick as the ledger has it."""
        self._events.check()
        return self.ledger.run(job, period_of(tick))

    def settled(self, job: str, tick: datetime) -> RunRecord:
        """The run once it is not running any more."""

        def look() -> RunRecord | None:
            run = self.run(job, tick)
            return run if run and run.status != "RUNNING" else None

        run = until(look, f"run of {job} {period_of(tick)} settled", timeout=PATIENCE)
        assert run is not None
        return run

    def working(self, job: str, tick: datetime, *, sent: int) -> None:
        """Return once the tick's run has a checkpoint at so many mails or more."""

        def look() -> bool:
            run = self.run(job, tick)
            return run is not None and run.checkpoint is not None and int(run.checkpoint) >= sent

        until(look, f"{sent} mails of {job} {period_of(tick)}", timeout=PATIENCE)

    def stopped(self, tasks: Sequence[str]) -> list[dict[str, Any]]:
        """The tasks once all have stopped, and whoever subscribed was told."""
        until(lambda: self._events.answers.keys() >= {*tasks}, f"{len(tasks)} tasks stopped", timeout=PATIENCE)
        described: list[dict[str, Any]] = self._ecs.describe_tasks(cluster=self._cluster, tasks=[*tasks])["tasks"]
        return described

    def answers(self, task: str) -> list[object]:
        """What the recorder said when it was told that the task had stopped."""
        return self._events.answers[task]

    def stop(self, task: str) -> None:
        """StopTask: SIGTERM, then SIGKILL."""
        self._ecs.stop_task(cluster=self._cluster, task=task, reason="the scenario wants it")

    def kill(self, task: str) -> None:
        """`docker kill`: SIGKILL to the task's container, as when its host dies."""
        (container,) = self.engine.docker("ps", "--quiet", f"--filter=label=com.amazonaws.ecs.task-arn={task}").split()
        self.engine.docker("kill", container)

    def log(self, job: str, task: str) -> list[dict[str, Any]]:
        """The JSON lines that the task logged, as CloudWatch Logs has them."""
        stream = f"{job}/digest/{task.rpartition('/')[2]}"
        events = self._logs.get_log_events(logGroupName=self._log_group, logStreamName=stream)["events"]
        return [json.loads(event["message"]) for event in events if event["message"].startswith("{")]

    def mails(self, job: str, tick: datetime) -> int:
        """How many customers have a mail of the period."""
        return len({version["Key"] for version in self._versions(job, tick)})

    def sends(self, job: str, tick: datetime) -> int:
        """How often a mail of the period was sent, repetitions included."""
        return len(self._versions(job, tick))

    def _versions(self, job: str, tick: datetime) -> list[dict[str, Any]]:
        pages = self._s3.get_paginator("list_object_versions").paginate(
            Bucket=self._outbox, Prefix=f"{job}/{period_of(tick)}/"
        )
        return [version for page in pages for version in page.get("Versions", ())]
