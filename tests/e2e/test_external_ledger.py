"""The stack of `terraform/examples/postgresql` on the emulated AWS, with a real PostgreSQL on this machine."""

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
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from cronce import Ledger, Status, Trigger
from cronce.vocabulary.names import period_of
from tests.e2e import images
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.emulator import HOST
from tests.e2e.steps import step
from tests.support.host import until
from tests.support.postgres_server import PASSWORD, PostgresServer
from tests.support.proxy import Proxy
from tests.support.terraform import ROOT, Terraform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.emulator import Emulator

JOB = "daily-digest"
NAME = "postgresql"
PATIENCE = 120.0


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a prepared ledger, with a password, at an address that containers reach."""
    with PostgresServer() as postgres, Proxy(f"http://127.0.0.1:{postgres.port}", address=HOST) as door:
        postgres.sql("GRANT CREATE ON SCHEMA public TO scram")
        url = f"postgresql://scram:{quote(PASSWORD, safe='')}@{HOST}:{door.port}/runs?sslmode=disable"
        cronce = Path(sys.executable).with_name("cronce")
        subprocess.run([cronce, "init"], env=os.environ | {"CRONCE_LEDGER": url}, check=True, capture_output=True)
        yield url


@pytest.fixture
def given(aws: Emulator, url: str) -> dict[str, object]:
    """What exists before the apply, as variables of the example."""
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ecs-tasks.amazonaws.com"}}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    with (
        closing(aws.client("secretsmanager")) as secrets,
        closing(aws.client("iam")) as iam,
        closing(aws.client("ecs")) as ecs,
        closing(aws.client("ec2")) as ec2,
    ):
        secret = secrets.create_secret(Name=NAME, SecretString=json.dumps({"url": url}))["ARN"]
        roles = {
            f"{kind}_role_arn": iam.create_role(RoleName=f"{NAME}-{kind}", AssumeRolePolicyDocument=document)["Role"][
                "Arn"
            ]
            for kind in ("task", "execution")
        }
        subnet = ec2.describe_subnets()["Subnets"][0]
        groups = ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [subnet["VpcId"]]}])
        return roles | {
            "url_secret_arn": f"{secret}:url::",
            "cluster_arn": ecs.create_cluster(clusterName=NAME)["cluster"]["clusterArn"],
            "subnet_ids": [subnet["SubnetId"]],
            "security_group_ids": [groups["SecurityGroups"][0]["GroupId"]],
            "image": images.DIGEST,
            # The first attempt fails.
            "command": ["cronce", "exec", "--", "sh", "-c", 'exec test "$CRONCE_ATTEMPT" = 2'],
        }


@pytest.mark.usefixtures("docker")
def test_a_job_on_postgresql_fails_and_is_started_again_by_the_watchdogs_service(
    aws: Emulator, url: str, given: dict[str, object], tmp_path: Path
) -> None:
    """Nobody but the containers has the URL; the roles allow what is needed; another delivery is refused."""
    folder = shutil.copytree(ROOT / "terraform", tmp_path / "terraform") / "examples" / "postgresql"
    denied = len(aws.denials())
    with Terraform(aws=aws.environment) as terraform, closing(Ledger.from_url(url)) as ledger:
        terraform.run(folder, "init", "-backend=false")
        with step("terraform apply, with a ledger in PostgreSQL"):
            terraform.run(folder, "apply", "-auto-approve", "-input=false", **given)
        assert "No changes." in terraform.run(folder, "plan", "-input=false", **given)
        assert quote(PASSWORD, safe="") not in (folder / "terraform.tfstate").read_text()
        outputs = {name: each["value"] for name, each in json.loads(terraform.run(folder, "output", "-json")).items()}

        tick = _latest_tick()
        with Schedules(aws, group=outputs["schedule_group"]) as schedules, step("a run, and its second attempt"):
            delivery = schedules.deliver(outputs["schedule_name"], tick)
            assert "CRONCE_LEDGER" not in delivery.environment
            until(lambda: _run(ledger, tick) == (Status.FAILED, 1, Trigger.SCHEDULE), "a failure", timeout=PATIENCE)
            _replace_the_watchdog(aws, outputs)  # the new one looks at once, the old one each minute

            def is_repaired() -> bool:
                schedules.check()
                return _run(ledger, tick) == (Status.SUCCEEDED, 2, Trigger.RETRY)

            until(is_repaired, "the second attempt", timeout=PATIENCE, every=0.2)
            [retry] = schedules.fired
            assert "CRONCE_LEDGER" not in retry.environment
            [task] = schedules.deliver(outputs["schedule_name"], tick).tasks
            until(lambda: _has_stopped(aws, task), "the end of another delivery", timeout=PATIENCE, every=0.2)
            assert _run(ledger, tick) == (Status.SUCCEEDED, 2, Trigger.RETRY)
        assert aws.denials()[denied:] == []
        with step("terraform destroy, with a ledger in PostgreSQL"):
            terraform.run(folder, "destroy", "-auto-approve", "-input=false", **given)
    with closing(aws.client("ecs")) as ecs:
        assert ecs.list_services(cluster=NAME)["serviceArns"] == []


def _latest_tick() -> datetime:
    now = datetime.now(ZoneInfo("Europe/Berlin"))
    tick = now.replace(hour=6, minute=0, second=0, microsecond=0)
    return (tick if tick <= now else tick - timedelta(days=1)).astimezone(UTC)


def _run(ledger: Ledger, tick: datetime) -> tuple[Status, int, Trigger | None] | None:
    run = ledger.run(JOB, period_of(tick))
    return None if run is None else (run.status, run.attempt, run.trigger)


def _replace_the_watchdog(aws: Emulator, outputs: dict[str, Any]) -> None:
    with closing(aws.client("ecs")) as ecs:
        ecs.update_service(cluster=NAME, service=outputs["watchdog_service"], forceNewDeployment=True)


def _has_stopped(aws: Emulator, task: str) -> bool:
    with closing(aws.client("ecs")) as ecs:
        [found] = ecs.describe_tasks(cluster=NAME, tasks=[task])["tasks"]
        return bool(found["lastStatus"] == "STOPPED")
