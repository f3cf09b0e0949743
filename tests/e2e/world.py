"""The deployed stack, in the words of a scenario: ticks, tasks, mails and runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from cronce import Ledger
from cronce.aws.sdk import Service
from cronce.board.page import page
from cronce.board.reading import read_board
from cronce.ecs import Launcher
from cronce.operate.examining import Examination
from cronce.stores.urls import open_store
from cronce.vocabulary.names import further_schedule_name, period_of
from cronce.vocabulary.policy import Policy
from tests.e2e import names
from tests.e2e.aws_parts.rules import Rules
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.aws_parts.task_events import TaskEvents
from tests.e2e.emulator import SCENARIO
from tests.e2e.pinned import Pinned
from tests.e2e.steps import StepFailedError
from tests.support.host import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from cronce.protocol.records import PastAttempt, RunRecord
    from tests.e2e.aws_parts.schedules import Delivery
    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

PATIENCE = 180.0
"""Seconds until a state that must come counts as missing."""

_TWO_MINUTES = timedelta(minutes=2, seconds=5)
"""The minute until the next tick, and the minute of `missed_after`."""

_FIRST_TICK = datetime(2025, 11, 29, 6, tzinfo=UTC)
"""Before every job was made, so that no watchdog expects it."""


class World:
    """What a scenario does to the deployed stack, and what it sees of it.

    Attributes:
        schedules: EventBridge Scheduler's group of the ledger.
        schedule_of: The name of each job's schedule.
        table: The name of the ledger's table.
        paused_at: Since when the schedule of `PAUSED` is disabled.
    """

    def __init__(self, aws: Emulator, engine: Engine, outputs: dict[str, str]) -> None:
        self.aws = aws
        self.engine = engine
        self.outputs = outputs
        self.ledger = Ledger.from_url(outputs["LedgerUrl"])
        self.schedules = Schedules(aws, group=outputs["ScheduleGroupName"])
        self.paused_at = datetime.now(UTC)
        self._rules = Rules(aws)
        self._events = TaskEvents(aws, engine, self._rules, cluster=outputs["ClusterName"])
        self.schedule_of: dict[str, str] = json.loads(outputs["Schedules"])
        self._cluster = outputs["ClusterName"]
        self._next_tick = _FIRST_TICK
        self._told: list[dict[str, Any]] = []
        self._services: dict[str, Service] = {}
        self.table = outputs["LedgerUrl"].removeprefix("dynamodb://").partition("?")[0]
        self.ecs, self.sqs, self._s3, self._logs = (aws.client(name) for name in ("ecs", "sqs", "s3", "logs"))

    def __enter__(self) -> Self:
        """Start sending task events and firing one-time schedules; the watchdog has run once."""
        self._events.__enter__()
        self.schedules.__enter__()
        self.watch()
        self.paused_at = datetime.now(UTC)
        self.turn(names.PAUSED, "DISABLED")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop sending and firing."""
        self.schedules.__exit__(kind, error, traceback)
        self._events.__exit__(kind, error, traceback)
        for opened in (self.ledger, self._rules, self.ecs, self.sqs, self._s3, self._logs):
            opened.close()

    def new_tick(self) -> datetime:
        """A tick that no scenario has used: 06:00 of the next day."""
        tick, self._next_tick = self._next_tick, self._next_tick + timedelta(days=1)
        return tick

    def latest_tick(self) -> datetime:
        """The last 06:00: recent enough for the recorder to start tasks again that never claimed; once per job."""
        today = datetime.now(UTC).replace(hour=6, minute=0, second=0, microsecond=0)
        return today if today < datetime.now(UTC) else today - timedelta(days=1)

    def deliver(self, job: str, tick: datetime, *, as_job: str | None = None, further: str | None = None) -> str:
        """Deliver one tick; return the ARN of its task.

        Args:
            job: The job.
            tick: The nominal time.
            as_job: The task gets this other job's name.
            further: The expression of the further schedule that delivers it; None for the first one.
        """
        told = {"CRONCE_JOB": as_job} if as_job else None
        first = self.schedule_of[job]
        schedule = first if further is None else further_schedule_name(first, further)
        (task,) = self.schedules.deliver(schedule, tick, environment=told).tasks
        return task

    def fail_to_deliver(self, job: str, tick: datetime, *, reason: str) -> None:
        """Deliver one tick that ECS answers with 200 and a failure at every try."""
        failures = [{"reason": reason, "arn": self.outputs["ClusterName"]}]
        assert self.schedules.deliver(self.schedule_of[job], tick, failures=failures).tasks == ()

    def fail_to_deliver_with(self, job: str, tick: datetime, *, code: str, message: str) -> None:
        """Deliver one tick that RunTask refuses with that error, which the emulator would not do by itself."""
        self.schedules.refuse(self.schedule_of[job], tick, code=code, message=message)

    def relaunches(self, job: str, tick: datetime) -> list[Delivery]:
        """The one-time schedules that have fired for the tick's run."""
        wanted = {"CRONCE_JOB": job, "CRONCE_PERIOD": period_of(tick)}
        return [fired for fired in self.schedules.fired if wanted.items() <= fired.environment.items()]

    def turn(self, job: str, state: str) -> None:
        """A person enables or disables the job's schedule."""
        self.schedules.turn(self.schedule_of[job], state)

    def two_minutes_after_deployment(self) -> None:
        """Return when the watchdog's patience with one tick of each minute has run out."""
        until(lambda: datetime.now(UTC) > self.paused_at + _TWO_MINUTES, "two minutes", timeout=PATIENCE, every=1)

    def watch(self) -> dict[str, int]:
        """Let a minute pass; return what the watchdog found."""
        (found,) = self._rules.pass_a_minute(self.outputs["WatchdogName"])
        assert isinstance(found, dict), found
        return found

    def run(self, job: str, tick: datetime) -> RunRecord | None:
        """The tick's run, as recorded in the ledger."""
        self._events.check()
        self.schedules.check()
        return self.ledger.run(job, period_of(tick))

    def eventually(self, look: Callable[[], bool], what: str) -> None:
        """Return when the condition holds; raise errors of the simulated parts of AWS."""

        def checked() -> bool:
            self._events.check()
            self.schedules.check()
            return look()

        until(checked, what, timeout=PATIENCE, every=0.2)

    def settled(self, job: str, tick: datetime) -> RunRecord:
        """Wait until the run is not RUNNING, and return it; a relaunch may continue it."""

        def look() -> RunRecord | None:
            run = self.run(job, tick)
            return run if run and run.status != "RUNNING" else None

        run = until(look, f"run of {job} {period_of(tick)} settled", timeout=PATIENCE)
        assert run is not None
        return run

    def done(self, job: str, tick: datetime) -> RunRecord:
        """Wait until the run has succeeded, and return it."""

        def look() -> RunRecord | None:
            run = self.run(job, tick)
            return run if run and run.status == "SUCCEEDED" else None

        run = until(look, f"run of {job} {period_of(tick)} done", timeout=PATIENCE)
        assert run is not None
        return run

    def attempt(self, job: str, tick: datetime, number: int) -> PastAttempt:
        """Wait until that attempt of the run has ended, and return it; the next attempt may be running."""

        def look() -> PastAttempt | None:
            run = self.run(job, tick)
            if run is None or run.attempt < number or (run.attempt == number and run.status == "RUNNING"):
                return None
            return next(each for each in (*run.attempts, run.past()) if each.attempt == number)

        ended = until(look, f"attempt {number} of {job} {period_of(tick)} ended", timeout=PATIENCE)
        assert ended is not None
        return ended

    def working(self, job: str, tick: datetime, *, sent: int) -> None:
        """Return when the tick's run has a checkpoint of at least that number of mails."""

        def look() -> bool:
            run = self.run(job, tick)
            return run is not None and run.checkpoint is not None and int(run.checkpoint) >= sent

        until(look, f"{sent} mails of {job} {period_of(tick)}", timeout=PATIENCE)

    def stopped(self, tasks: Sequence[str]) -> list[dict[str, Any]]:
        """Wait until all tasks have stopped and all subscribers have the event; return the tasks."""

        def look() -> bool:
            self._events.check()
            return self._events.answers.keys() >= {*tasks}

        until(look, f"{len(tasks)} tasks stopped", timeout=PATIENCE)
        described: list[dict[str, Any]] = self.ecs.describe_tasks(cluster=self._cluster, tasks=[*tasks])["tasks"]
        return described

    def answers(self, task: str) -> list[object]:
        """The recorder's answer to the event that the task stopped."""
        return self._events.answers[task]

    def stop(self, task: str) -> None:
        """StopTask: SIGTERM, then SIGKILL."""
        self.ecs.stop_task(cluster=self._cluster, task=task, reason="the scenario wants it")

    def kill(self, task: str) -> None:
        """`docker kill`: SIGKILL to the task's container, as when its host dies."""
        self.engine.docker("kill", self.container(task))

    def container(self, task: str) -> str:
        """The ID of the task's running container."""
        (container,) = self.engine.docker("ps", "--quiet", f"--filter=label=com.amazonaws.ecs.task-arn={task}").split()
        return container

    def denials(self) -> list[str]:
        """What IAM denied, except the calls with which scenarios test a denial."""
        return [line for line in self.aws.denials() if f"/{SCENARIO} " not in line and "['another']" not in line]

    def is_healthy(self, task: str) -> bool:
        """What the container's health check says, which the emulator does not run."""
        try:
            self.engine.docker("exec", self.container(task), "cronce", "health")
        except StepFailedError:
            return False
        return True

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The details of all events of that kind that cronce has put on the bus so far."""
        while messages := self.sqs.receive_message(QueueUrl=self.outputs["EventsUrl"], MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in messages:
                self._told.append(json.loads(message["Body"]))
                self.sqs.delete_message(QueueUrl=self.outputs["EventsUrl"], ReceiptHandle=message["ReceiptHandle"])
        return [event["detail"] for event in self._told if event["detail-type"] == kind]

    def dead_letters(self) -> int:
        """The number of messages in the dead-letter queue, including those in flight."""
        counts = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.sqs.get_queue_attributes(QueueUrl=self.outputs["DeadLettersUrl"], AttributeNames=[*counts])
        return sum(int(answer["Attributes"][count]) for count in counts)

    def log(self, task: str) -> list[dict[str, Any]]:
        """The JSON lines that the task of a job logged, as CloudWatch Logs has them."""
        lines = self.lines(self.outputs["LogGroupName"], f"run/work/{task.rpartition('/')[2]}")
        return [json.loads(line) for line in lines if line.startswith("{")]

    def await_events(self, task: str, expected: list[str]) -> None:
        """Wait until the log has these events of the guard; the row is written before its last line is."""
        self.eventually(
            lambda: [line["cronce.event"] for line in self.log(task)] == expected, f"{expected} in the log of {task}"
        )

    def printed(self, task: str) -> list[str]:
        """The other lines of the task of a job: what the work itself printed."""
        lines = self.lines(self.outputs["LogGroupName"], f"run/work/{task.rpartition('/')[2]}")
        return [line for line in lines if not line.startswith("{")]

    def lines(self, group: str, stream: str) -> list[str]:
        """The lines of a log stream; none if there is no such stream yet."""
        try:
            answer = self._logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=True)
        except self._logs.exceptions.ResourceNotFoundException:
            return []
        return [event["message"] for event in answer["events"]]

    def pinned(self, name: str) -> Pinned:
        """A pinned service."""
        return Pinned(self, self._cluster, **json.loads(self.outputs["Clocks"])[name])

    def mails(self, job: str, tick: datetime) -> int:
        """How many customers have a mail of the period."""
        return len({version["Key"] for version in self._versions(job, tick)})

    def sends(self, job: str, tick: datetime) -> int:
        """How often a mail of the period was sent, repetitions included."""
        return len(self._versions(job, tick))

    def type_as_on_call(self, *words: str, role: str = "OnCallRole") -> subprocess.CompletedProcess[str]:
        """The output of `cronce` for a person on call, who has only the role of that output."""
        credentials = self.aws.assume_role(self.outputs[role])
        return self.type(*words, **{name.upper(): value for name, value in credentials.items()})

    def type(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """The output of `cronce` for a person who may do everything, or for the one whose credentials are given."""
        where = {"CRONCE_LEDGER": self.outputs["LedgerUrl"], "CRONCE_SCHEDULE_GROUP": self.outputs["ScheduleGroupName"]}
        return subprocess.run(
            [Path(sys.executable).with_name("cronce"), *words],
            env=os.environ | self.aws.environment | env | where,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def why(self, job: str, tick: datetime | None = None) -> dict[str, Any]:
        """The document of `cronce why`, for a person who may read everything."""
        answer = self.type("why", job, *([period_of(tick)] if tick else []), "--json")
        assert answer.returncode == 0, answer
        document: dict[str, Any] = json.loads(answer.stdout)
        return document

    def doctor(self, name: str) -> list[tuple[str, str]]:
        """State and sentence of each check of that name, for a person who may read everything; in this process."""
        url, opened = self.outputs["LedgerUrl"], self._services
        with closing(open_store(url, lease=Policy().lease)) as store:
            examination = Examination(
                store=store,
                ledger=self.ledger,
                launcher=Launcher(group=self.outputs["ScheduleGroupName"]),
                services=lambda service: opened.setdefault(service, Service(service)),
                url=url,
                environ={},
                folder=Path.cwd(),
            )
            found = list(examination.checks())
        return [(check.state.value, check.sentence) for check in found if check.name == name]

    def on_the_board(self, job: str, tick: datetime | None = None) -> str:
        """What the page of `cronce board` shows of the tick in its cell, without one what it says of the job."""
        definition = Launcher(group=self.outputs["ScheduleGroupName"]).find(job)
        now = datetime.now(UTC) if tick is None else tick + timedelta(days=1)
        shown = page(read_board(self.ledger, [(job, definition)], days=2, now=now))
        if tick is None:
            return "".join(re.findall(r'<span class="remark">(.*?)</span>', shown))
        (cell,) = re.findall(rf'<button class="c \w+" tabindex="-1" aria-label="\w+ {tick.date()}: (.*?)">', shown)
        return str(cell)

    def event(self, kind: str, job: str, tick: datetime) -> dict[str, Any]:
        """The event of that kind about the tick's run, once the bus has it."""

        def found() -> dict[str, Any] | None:
            about = {"job": job, "period": period_of(tick)}
            return next((each for each in self.told(kind) if about.items() <= each.items()), None)

        event = until(found, f"{kind} of {job} {period_of(tick)}", timeout=PATIENCE)
        assert event is not None
        return event

    @contextmanager
    def without_permissions(self, job: str) -> Iterator[None]:
        """Somebody detaches the policies of the role of the job's schedule; it can still send dead letters."""
        role = self.schedules.role_of(self.schedule_of[job]).rpartition("/")[2]
        with closing(self.aws.client("iam")) as iam:
            taken = [each["PolicyArn"] for each in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]]
            assert taken
            send = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [send]})
            iam.put_role_policy(RoleName=role, PolicyName="letters", PolicyDocument=policy)
            for arn in taken:
                iam.detach_role_policy(RoleName=role, PolicyArn=arn)
            self.schedules.session = SCENARIO
            try:
                yield
            finally:
                self.schedules.session = "schedule"
                for arn in taken:
                    iam.attach_role_policy(RoleName=role, PolicyArn=arn)
                iam.delete_role_policy(RoleName=role, PolicyName="letters")

    def _versions(self, job: str, tick: datetime) -> list[dict[str, Any]]:
        pages = self._s3.get_paginator("list_object_versions").paginate(
            Bucket=self.outputs["OutboxName"], Prefix=f"{job}/{period_of(tick)}/"
        )
        return [version for page in pages for version in page.get("Versions", ())]
