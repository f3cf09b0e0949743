"""The modules and the constructs describe one stack: what changes in one fails here until the other follows."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.terraform.constructs_stack import synthesized
from tests.terraform.facts import facts_of_plan, facts_of_template, planned_resources

STARTS = "module.digest.aws_iam_role_policy.start"


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    """The resources of the constructs' template."""
    return synthesized()


@pytest.fixture
def plan(same_plan: dict[str, Any]) -> dict[str, Any]:
    """The plan of the modules' stack."""
    return same_plan


def test_every_resource_and_every_statement_is_the_same(plan: dict[str, Any], template: dict[str, Any]) -> None:
    """Resource by resource, with the statements of each role."""
    planned, synthesized = facts_of_plan(plan), facts_of_template(template, plan)
    assert planned.keys() == synthesized.keys()
    different = {name: (planned[name], synthesized[name]) for name in planned if planned[name] != synthesized[name]}
    assert different == {}


@pytest.mark.parametrize("number", range(4))
def test_a_statement_that_is_missing_in_the_plan_is_found(
    plan: dict[str, Any], template: dict[str, Any], number: int
) -> None:
    """The comparison can fail: of each statement of a schedule's role."""
    changed = copy.deepcopy(plan)
    values = planned_resources(changed)[STARTS]["values"]
    policy = json.loads(values["policy"])
    del policy["Statement"][number]
    values["policy"] = json.dumps(policy)
    assert _differences(changed, template) == {f"policies of {values['role']}"}


def test_a_resource_that_is_missing_in_the_template_is_found(plan: dict[str, Any], template: dict[str, Any]) -> None:
    """And so is each that is only in one of the two."""
    [unsettled] = [
        name
        for name, resource in template.items()
        if resource["Metadata"]["aws:cdk:path"] == "Stack/Ledger/Unsettled/Policy/Resource"
    ]
    rest = {name: resource for name, resource in template.items() if name != unsettled}
    assert _differences(plan, rest) == {"module.ledger.aws_sqs_queue_policy.unsettled"}


def test_another_value_is_found(plan: dict[str, Any], template: dict[str, Any]) -> None:
    """In the middle of a schedule's input."""
    changed = copy.deepcopy(plan)
    address = "module.digest.aws_scheduler_schedule.this"
    [target] = planned_resources(changed)[address]["values"]["target"]
    target["input"] = target["input"].replace("<aws.scheduler.scheduled-time>", "\\u003caws.scheduler.scheduled-time>")
    assert _differences(changed, template) == set()  # JSON says the same; the next test looks at the letters
    target["input"] = target["input"].replace("daily-digest", "nightly-digest")
    assert _differences(changed, template) == {address}


def test_the_placeholders_are_there_letter_by_letter(plan: dict[str, Any]) -> None:
    """EventBridge Scheduler replaces text: an escaped < would never be filled. What a user wrote stays JSON."""
    [target] = planned_resources(plan)["module.digest.aws_scheduler_schedule.this"]["values"]["target"]
    assert target["input"].count("<aws.scheduler.") == 2
    assert '"<aws.scheduler.scheduled-time>"' in target["input"]
    assert '"<aws.scheduler.execution-id>"' in target["input"]
    [override] = json.loads(target["input"])["containerOverrides"]
    told = {each["name"]: each["value"] for each in override["environment"]}
    assert told["GREETING"] == '<hello> & "goodbye" \\u003caws.scheduler.x\\u003e'
    assert override["command"][-1] == '<&> "\\u003c" é ${x}'


def _differences(plan: dict[str, Any], template: dict[str, Any]) -> set[str]:
    planned, synthesized = facts_of_plan(plan), facts_of_template(template, plan)
    return {name for name in {*planned, *synthesized} if planned.get(name) != synthesized.get(name)}
