"""The problems of docs/terraform.md whose answer is in the modules' text: what they leave out, and in which order."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.terraform import MODULES, ROOT, prepare
from tests.terraform.hcl import NAMES, blocks, of_module, texts_of

EXAMPLES = sorted((ROOT / "terraform" / "examples").glob("*/main.tf"))


def types_of(module: str, kind: str) -> set[str]:
    """The types of a module's resources, or of its data sources."""
    return {address.partition(".")[0] for address in of_module(module, kind)}


@pytest.mark.parametrize("module", NAMES)
def test_nothing_is_ignored_and_nothing_is_looked_up(module: str) -> None:
    """No change is hidden, no time is that of the plan, and no cluster or role must exist before it."""
    assert re.findall(r"ignore_changes|timestamp\(", "".join(texts_of(module).values())) == []
    assert types_of(module, "data") <= {"aws_partition", "aws_region", "aws_caller_identity"}


@pytest.mark.parametrize("module", NAMES)
def test_it_creates_nothing_that_a_stack_has_already(module: str) -> None:
    """No network, no cluster, no task definition of a job: only a service has one of its own."""
    of_others = {"aws_security_group", "aws_vpc", "aws_subnet", "aws_ecs_cluster"}
    of_others |= set() if module in ("pinned-clock", "external-ledger") else {"aws_ecs_task_definition"}
    assert types_of(module, "resource") & of_others == set()


@pytest.mark.parametrize("module", NAMES)
def test_the_keys_of_a_plan_are_known_before_the_apply(module: str) -> None:
    """What `count` and `for_each` depend on: arguments and literals, or other resources by their keys, never an ARN."""
    for address, block in of_module(module, "resource").items():
        expression = f"{block.argument('count')} {block.argument('for_each')}"
        unknown = re.findall(r"\.(arn|id|url|name)\b", expression)
        assert unknown == [], address


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_an_example_keeps_the_revision_that_a_schedule_still_names(example: Path) -> None:
    """Between the two calls of an apply a tick may start it."""
    definitions = [each for each in blocks(example.read_text()) if each.labels[:1] == ("aws_ecs_task_definition",)]
    assert [each.address for each in definitions if each.argument("skip_destroy") != "true"] == []


@pytest.mark.parametrize(
    ("module", "resource", "policies"),
    [
        ("pinned-clock", "aws_ecs_service.this", {"ledger", "targets", "execution", "url"}),
        ("external-ledger", "aws_ecs_service.this", {"task", "execution"}),
        ("scheduled-task", "aws_scheduler_schedule.this", {"start", "claim", "url"}),
        ("ledger", "aws_lambda_function.this", {"this"}),
    ],
)
def test_what_needs_a_role_comes_after_its_policies_and_goes_before_them(
    module: str, resource: str, policies: set[str]
) -> None:
    """IAM is eventually consistent; a service at its end still needs its role."""
    resources = of_module(module, "resource")
    assert {
        address.partition(".")[2] for address in resources if address.startswith("aws_iam_role_policy.")
    } == policies
    waits_for = re.findall(r"aws_iam_role_policy\.(\w+)", resources[resource].argument("depends_on") or "")
    assert {*waits_for} == policies


def test_a_functions_log_is_created_before_the_function() -> None:
    """Lambda would create it without a retention, and the apply would find it there."""
    assert (
        "aws_cloudwatch_log_group.this[each.key].name"
        in of_module("ledger", "resource")["aws_lambda_function.this"].body
    )


@pytest.mark.lane("terraform")
def test_a_schedule_has_no_argument_for_a_volume() -> None:
    """In the schema of hashicorp/aws 6.62; once there is one, the module can take it."""
    schema = json.loads((prepare() / "schema.json").read_text())["aws_scheduler_schedule"]
    assert "ecs_parameters" in json.dumps(schema)
    assert "volume" not in json.dumps(schema)


def test_rules_are_named_by_their_targets() -> None:
    """A reference, so that targets are removed first."""
    for address, block in of_module("ledger", "resource").items():
        if address.startswith("aws_cloudwatch_event_target."):
            assert re.fullmatch(
                r"aws_cloudwatch_event_rule\.\w+\[0\]\.name|each\.value\.name", block.argument("rule") or ""
            )


def test_the_modules_have_no_provider_that_a_caller_could_not_replace() -> None:
    """`for_each`, `count` and `providers` on a module need that."""
    assert [path for path in MODULES.rglob("*.tf") if re.search(r"^provider ", path.read_text(), re.MULTILINE)] == []
