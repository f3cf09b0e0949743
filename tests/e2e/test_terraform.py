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
from cronce.cli.actions.lambda_archive import lambda_archive
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
        assert _alarms(aws) == 14

        _tick_and_rerun(aws, docker, outputs)
        assert aws.denials()[denied:] == []

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


def _alarms(aws: Emulator) -> int:
    with closing(aws.client("cloudwatch")) as cloudwatch:
        return len(cloudwatch.describe_alarms(AlarmNamePrefix="digests/")["MetricAlarms"])
