"""A project as `cronce new` writes it: its image is built, its stack deployed, its tick runs once."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cronce import Ledger, Status
from cronce.adopt.new.project import DeployedWith, Language, files_of, new_project
from cronce.adopt.new.writing import write_project
from cronce.vocabulary.names import period_of
from tests.e2e import images
from tests.e2e.aws_parts.rules import Rules
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.aws_parts.task_events import TaskEvents
from tests.support.host import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

JOB, STACK, IMAGE = "daily digest's", "new-project", "cronce-e2e/new-project:latest"


def test_a_tick_of_a_new_project_succeeds_and_its_second_start_is_refused(
    aws: Emulator, docker: Engine, tmp_path: Path
) -> None:
    """Nothing of it is changed but the image's base and where its packages come from: there is no network."""
    folder = tmp_path / STACK
    chosen = new_project(
        folder=STACK,
        job=JOB,
        schedule="cron(0/5 * * * ? *)",
        timezone="UTC",
        deployed_with=DeployedWith.CDK,
        language=Language.PYTHON,
        now=datetime.now(UTC),
    )
    write_project(folder, files_of(chosen))
    images.build_project(docker, folder, IMAGE)
    denied = len(aws.denials())
    outputs = aws.deploy(STACK, app=f"{sys.executable} {folder / 'app.py'}", env={}, context={"image": IMAGE})

    group, rules = outputs["ScheduleGroup"], Rules(aws)
    with closing(aws.client("scheduler")) as scheduler, closing(aws.client("ecs")) as ecs:
        [schedule] = scheduler.list_schedules(GroupName=group)["Schedules"]
        target = scheduler.get_schedule(GroupName=group, Name=schedule["Name"])["Target"]
        revision = ecs.describe_task_definition(taskDefinition=target["EcsParameters"]["TaskDefinitionArn"])
    [container] = revision["taskDefinition"]["containerDefinitions"]
    log_group = container["logConfiguration"]["options"]["awslogs-group"]
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    tick = now.replace(minute=now.minute - now.minute % 5)
    with (
        closing(Ledger.from_url(outputs["LedgerUrl"])) as ledger,
        closing(aws.client("logs")) as logs,
        closing(rules),
        TaskEvents(aws, docker, rules, cluster=target["Arn"].rpartition("/")[2]) as events,
    ):

        def delivered() -> tuple[list[str], list[str]]:
            """The events that the guard logged, and what the job printed."""
            [task] = Schedules(aws, group=group).deliver(schedule["Name"], tick).tasks

            def is_told() -> bool:
                events.check()
                return task in events.answers

            until(is_told, "the task's end", timeout=120, every=0.5)
            stream = f"run/job/{task.rpartition('/')[2]}"
            found = logs.get_log_events(logGroupName=log_group, logStreamName=stream, startFromHead=True)["events"]
            lines = [str(event["message"]) for event in found]
            told = [str(json.loads(line)["cronce.event"]) for line in lines if line.startswith("{")]
            return told, [line for line in lines if not line.startswith("{")]

        assert delivered() == (["claimed", "succeeded"], [f"digest for {period_of(tick)}"])
        assert delivered() == (["refused"], [])
        run = ledger.run(JOB, period_of(tick))
    assert run is not None
    assert (run.status, run.attempt) == (Status.SUCCEEDED, 1)
    assert aws.denials()[denied:] == []
