"""What the modules plan, applied by the provider's own code: a binary of hashicorp/aws 3.39.0, to the emulated AWS."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from cronce.portable.lambda_archive import lambda_archive
from tests.e2e.emulator import ACCOUNT
from tests.e2e.steps import step
from tests.support.terraform import ACCOUNT as STANDS_FOR
from tests.support.terraform import LANE, Terraform, TerraformWithProvider, write_configuration
from tests.terraform.facts import planned_resources
from tests.terraform.for_provider import configuration, provider

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.emulator import Emulator

NOT_HERE = ("aws_ecs_service", "aws_cloudwatch_metric_alarm")
"""The emulator answers without what the provider reads back: the ARN of a cluster, half of an alarm."""

ELSEWHERE = ("module.locked", "module.closed", "module.vault")
"""Keys and subnets that the emulator does not have."""

SERVICES = ("cloudwatchevents", "cloudwatchlogs", "dynamodb", "ecs", "iam", "lambda", "sqs", "sts")


def test_the_providers_own_code_applies_the_stack_reads_it_back_and_destroys_it(aws: Emulator, tmp_path: Path) -> None:
    """Table, queues, functions, rules, roles, logs and task definitions; the second plan is empty."""
    archive, asked, applied = tmp_path / "archive.zip", tmp_path / "asked", tmp_path / "applied"
    archive.write_bytes(lambda_archive())
    for folder in (asked, applied):
        folder.mkdir()
    write_configuration(asked, (LANE / "same" / "main.tf").read_text().replace(STANDS_FOR, ACCOUNT))
    with Terraform(account=ACCOUNT) as terraform:
        planned = planned_resources(terraform.plan(asked, archive=str(archive)))
    resources = {
        address: each
        for address, each in planned.items()
        if each["type"] not in NOT_HERE and not address.startswith(ELSEWHERE)
    }
    resources |= {f"aws_iam_role.{name}": _role(f"{name}-task") for name in ("digest", "report", "migration")}

    here = provider(endpoints=[dict.fromkeys(SERVICES, aws.endpoint)])
    with TerraformWithProvider() as terraform:
        (applied / "main.tf.json").write_text(json.dumps(here))
        known, _ = configuration(resources, terraform.schema(applied))
        (applied / "main.tf.json").write_text(json.dumps(here | known))
        number = sum(map(len, known["resource"].values()))
        with step(f"the provider's binary applies {number} resources"):
            told = terraform.run(applied, "apply", "-auto-approve", "-input=false")
        assert f"Resources: {number} added, 0 changed, 0 destroyed." in told
        assert "No changes." in terraform.run(applied, "plan", "-input=false")
        assert _functions(aws) == {"recorder", "watchdog", "rerun", "board"}
        with step("the provider's binary destroys them"):
            told = terraform.run(applied, "destroy", "-auto-approve", "-input=false")
        assert f"Resources: {number} destroyed." in told
    assert _functions(aws) == set()


def _role(name: str) -> dict[str, Any]:
    """A role of a task definition, which the stack only knows."""
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ecs-tasks.amazonaws.com"}}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    return {"type": "aws_iam_role", "values": {"name": name, "assume_role_policy": document}}


def _functions(aws: Emulator) -> set[str]:
    """The functions of that ledger, by what they do."""
    with closing(aws.client("lambda")) as functions:
        names = [each["FunctionName"] for each in functions.list_functions()["Functions"]]
    return {name.rpartition("-")[2] for name in names if name.startswith("runs-of-shop-")}
