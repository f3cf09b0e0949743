"""The stack of `terraform/examples/complete`: applied, ticked, rerun, changed and destroyed on the emulated AWS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cronce import Ledger, Status, Trigger
from cronce.portable.lambda_archive import lambda_archive
from cronce.vocabulary.names import period_of
from tests.e2e import images
from tests.e2e.aws_parts.rules import Rules
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.aws_parts.task_events import TaskEvents
from tests.e2e.steps import step
from tests.support.host import until
from tests.support.terraform import ROOT, Terraform

if TYPE_CHECKING:
    from tests.e2e.emulator import Emulator
    from tests.e2e.engine import Engine

JOB = "daily-digest"


def test_a_stack_of_the_modules_runs_a_tick_once_and_is_changed_and_destroyed(
    aws: Emulator, docker: Engine, tmp_path: Path
) -> None:
    """A real container writes the row; the second one is refused; a person reruns it; nothing is left."""
    folder = tmp_path / "terraform"
    shutil.copytree(ROOT / "terraform", folder)
    example, archive = folder / "examples" / "complete", tmp_path / "cronce-lambdas.zip"
    archive.write_bytes(lambda_archive())
    variables: dict[str, object] = {
        "lambda_archive": str(archive),
        "image": images.DIGEST,
        "command": ["cronce", "exec", "--", "true"],
        "schedule": "cron(0/5 * * * ? *)",
    }
    denied = len(aws.denials())
    with Terraform(aws=aws.environment) as terraform:
        terraform.run(example, "init", "-backend=false")
        with step("terraform apply"):
            terraform.run(example, "apply", "-auto-approve", "-input=false", **variables)
        assert "No changes." in terraform.run(example, "plan", "-input=false", **variables)
        outputs = {
            name: output["value"] for name, output in json.loads(terraform.run(example, "output", "-json")).items()
        }
        assert _alarms(aws) == 18
        assert "<detail-text>" in _sentence(aws)

        _tick_and_rerun(aws, docker, outputs)
        _clock_ticks(aws, outputs)
        assert aws.denials()[denied:] == []

        _want_clocks(aws, outputs, 2)
        assert "Plan: 0 to add, 1 to change, 0 to destroy." in terraform.run(
            example, "plan", "-input=false", **variables
        )
        terraform.run(example, "apply", "-auto-approve", "-input=false", **variables)
        assert _clocks(aws, outputs) == 1

        variables |= {"schedule": "cron(0 7 * * ? *)", "deletion_protection_enabled": False}
        with step("terraform apply in place"):
            told = terraform.run(example, "apply", "-auto-approve", "-input=false", **variables)
        assert "Resources: 0 added, 2 changed, 0 destroyed." in told
        assert _schedule(aws, outputs)["ScheduleExpression"] == "cron(0 7 * * ? *)"
        assert "No changes." in terraform.run(example, "plan", "-input=false", **variables)
        with step("terraform destroy"):
            terraform.run(example, "destroy", "-auto-approve", "-input=false", **variables)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        _schedule(aws, outputs)
    assert _alarms(aws) == 0


def _tick_and_rerun(aws: Emulator, docker: Engine, outputs: dict[str, Any]) -> None:
    rules = Rules(aws)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    tick = now - timedelta(minutes=now.minute % 5)  # recent, because the example has a starting deadline
    period = period_of(tick)
    with (
        closing(Ledger.from_url(outputs["ledger_url"])) as ledger,
        closing(aws.client("logs")) as logs,
        closing(rules),
        TaskEvents(aws, docker, rules, cluster=outputs["cluster_name"]) as events,
    ):
        schedules = Schedules(aws, group=outputs["schedule_group"])

        def logged_by_a_delivery() -> list[str]:
            [task] = schedules.deliver(outputs["schedule_name"], tick).tasks

            def is_told() -> bool:
                events.check()
                return task in events.answers

            until(is_told, "the task's end", timeout=120, every=0.5)
            assert len(events.answers[task]) == 1  # the recorder, by the module's rule
            stream = f"run/digest/{task.rpartition('/')[2]}"
            found = logs.get_log_events(logGroupName=outputs["log_group_name"], logStreamName=stream)["events"]
            lines = [json.loads(event["message"]) for event in found if event["message"].startswith("{")]
            return [str(line["cronce.event"]) for line in lines]

        assert logged_by_a_delivery() == ["claimed", "succeeded"]
        assert logged_by_a_delivery() == ["refused"]
        run = ledger.run(JOB, period)
        assert run is not None
        assert (run.status, run.attempt, run.trigger) == (Status.SUCCEEDED, 1, Trigger.SCHEDULE)

        again = _cronce(aws, outputs, "rerun", JOB, period, "--force", "--reason", "half of it was spam", "--follow")
        assert again.returncode == 0, again
        run = ledger.run(JOB, period)
        assert run is not None
        assert (run.status, run.attempt, run.trigger) == (Status.SUCCEEDED, 2, Trigger.MANUAL)


def _clock_ticks(aws: Emulator, outputs: dict[str, Any]) -> None:
    """The pinned clock sends its job's ticks, each once, and each has a row."""
    told: list[dict[str, Any]] = []
    with closing(aws.client("sqs")) as sqs, closing(Ledger.from_url(outputs["ledger_url"])) as ledger:

        def has_three() -> bool:
            answer = sqs.receive_message(QueueUrl=outputs["reminders_url"], MaxNumberOfMessages=10)
            told.extend(json.loads(message["Body"]) for message in answer.get("Messages", ()))
            return len({each["period"] for each in told}) >= 3

        until(has_three, "three ticks of the clock", timeout=120, every=0.5)
        periods = sorted({each["period"] for each in told})
        runs = [ledger.run("clock:reminders", period) for period in periods]
    first, *rest = map(datetime.fromisoformat, periods)
    assert rest == [first + number * timedelta(seconds=10) for number in range(1, len(periods))]
    assert {each["job"] for each in told} == {"reminders"}
    assert [run and run.status for run in runs] == [Status.SUCCEEDED] * len(runs)


def _want_clocks(aws: Emulator, outputs: dict[str, Any], count: int) -> None:
    """Somebody changes the desired count by hand."""
    with closing(aws.client("ecs")) as ecs:
        ecs.update_service(cluster=outputs["cluster_name"], service="clock", desiredCount=count)


def _clocks(aws: Emulator, outputs: dict[str, Any]) -> int:
    """The desired count."""
    with closing(aws.client("ecs")) as ecs:
        [service] = ecs.describe_services(cluster=outputs["cluster_name"], services=["clock"])["services"]
        return int(service["desiredCount"])


def _cronce(aws: Emulator, outputs: dict[str, Any], *words: str) -> subprocess.CompletedProcess[str]:
    where = {"CRONCE_LEDGER": outputs["ledger_url"], "CRONCE_SCHEDULE_GROUP": outputs["schedule_group"]}
    return subprocess.run(
        [Path(sys.executable).with_name("cronce"), *words],
        env=os.environ | aws.environment | where,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def _schedule(aws: Emulator, outputs: dict[str, Any]) -> dict[str, Any]:
    with closing(aws.client("scheduler")) as scheduler:
        found: dict[str, Any] = scheduler.get_schedule(
            GroupName=outputs["schedule_group"], Name=outputs["schedule_name"]
        )
        return found


def _sentence(aws: Emulator) -> str:
    """What the rule of the notices tells the topic."""
    with closing(aws.client("events")) as events:
        [rule] = [
            each["Name"] for each in events.list_rules(NamePrefix="digests")["Rules"] if "notices" in each["Name"]
        ]
        [target] = events.list_targets_by_rule(Rule=rule)["Targets"]
        return str(target["InputTransformer"]["InputTemplate"])


def _alarms(aws: Emulator) -> int:
    with closing(aws.client("cloudwatch")) as cloudwatch:
        return len(cloudwatch.describe_alarms(AlarmNamePrefix="digests/")["MetricAlarms"])
