"""The policy of the module `operator` is the one that `RunLedger.grant_operate` makes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
from aws_cdk import assertions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from cronce_cdk import RunLedger
from tests.cdk.shop import ENVIRONMENT, imported_cluster
from tests.support.terraform import write_configuration
from tests.terraform.facts import planned_resources

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.terraform import Terraform

CLUSTER = "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
CONFIGURATION = f"""
module "operator" {{
  source = "MODULES/operator"

  ledger         = {{ name = "runs" }}
  role_name      = "on-call"
  cluster_arns   = ["{CLUSTER}"]
  log_group_arns = ["arn:aws:logs:eu-west-1:111122223333:log-group:/shop"]
}}
"""


def _statements(document: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    def listed(value: str | list[str]) -> list[str]:
        return [value] if isinstance(value, str) else value

    return sorted((listed(each["Action"]), listed(each["Resource"])) for each in document["Statement"])


def _by_the_construct() -> dict[str, Any]:
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    ledger = RunLedger.from_table_name(stack, "Ledger", table_name="runs")
    group = logs.LogGroup.from_log_group_name(stack, "Log", "/shop")
    ledger.grant_operate(iam.ManagedPolicy(stack, "Policy"), clusters=[imported_cluster(stack)], log_groups=[group])
    found = assertions.Template.from_stack(stack).find_resources("AWS::IAM::ManagedPolicy")
    text = json.dumps(next(iter(found.values()))["Properties"]["PolicyDocument"])
    document: dict[str, Any] = json.loads(text, object_hook=_joined)
    return document


def _joined(value: dict[str, Any]) -> Any:  # noqa: ANN401  # a template's value
    if "Fn::Join" in value:
        return "".join(value["Fn::Join"][1])
    return "aws" if value == {"Ref": "AWS::Partition"} else value


def test_the_module_allows_what_the_construct_allows(terraform: Terraform, tmp_path: Path) -> None:
    """Statement by statement."""
    write_configuration(tmp_path, CONFIGURATION)
    plan = terraform.plan(tmp_path)
    policy = planned_resources(plan)["module.operator.aws_iam_role_policy.this"]["values"]["policy"]
    assert _statements(json.loads(policy)) == _statements(_by_the_construct())
