"""What the modules plan, given to the provider's own code: hashicorp/aws 3.39.0, as far as it knows the types.

The stand-in has the schema of 6.62 and validates nothing beyond it. The old binary has the code that refuses a queue
name with a blank, a policy that is no JSON or a metric's statistic that does not exist.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.terraform import TerraformFailedError, TerraformWithProvider
from tests.terraform.facts import planned_resources
from tests.terraform.for_provider import configuration, provider

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

LATER: dict[str, list[str]] = {
    "aws_cloudwatch_event_api_destination": [],
    "aws_cloudwatch_log_group": ["skip_destroy"],
    "aws_dynamodb_table": ["deletion_protection_enabled"],
    "aws_ecs_service": ["availability_zone_rebalancing"],
    "aws_ecs_task_definition": ["runtime_platform"],
    "aws_lambda_event_source_mapping": ["function_response_types", "scaling_config"],
    "aws_lambda_function": ["architectures", "logging_config"],
    "aws_scheduler_schedule": [],
    "aws_scheduler_schedule_group": [],
    "aws_sqs_queue": ["sqs_managed_sse_enabled"],
}
"""What came to the provider after 3.39, so that none of this says anything about it: types, and arguments."""


@pytest.fixture(scope="module")
def with_provider(terraform: object) -> Iterator[TerraformWithProvider]:  # noqa: ARG001  # the lane
    """Terraform with the provider's binary."""
    with TerraformWithProvider() as terraform_with_provider:
        yield terraform_with_provider


@pytest.fixture(scope="module")
def schema(with_provider: TerraformWithProvider, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What 3.39.0 knows."""
    folder = tmp_path_factory.mktemp("schema")
    (folder / "main.tf.json").write_text(json.dumps(provider()))
    return with_provider.schema(folder)


@pytest.fixture(scope="module")
def known(same_plan: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The configuration of what it knows of the stack of `same/main.tf`."""
    found, unknown = configuration(planned_resources(same_plan), schema)
    assert unknown == LATER
    return found


def planned(with_provider: TerraformWithProvider, folder: Path, known: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What the provider plans for it."""
    (folder / "main.tf.json").write_text(json.dumps(provider() | known))
    return planned_resources(with_provider.plan(folder))


def test_its_own_code_accepts_what_the_modules_plan(
    with_provider: TerraformWithProvider, known: dict[str, Any], tmp_path: Path
) -> None:
    """Every resource of the types that it knows, with the values that were given."""
    found = planned(with_provider, tmp_path, known)
    given = {f"{kind}.{name}": body for kind, all_of in known["resource"].items() for name, body in all_of.items()}
    assert found.keys() == given.keys()
    assert len(found) > 70
    texts = {(address, name): value for address, body in given.items() for name, value in body.items()}
    plain = {key: value for key, value in texts.items() if isinstance(value, str | int) and "{" not in str(value)}
    assert {(address, name): found[address]["values"][name] for address, name in plain} == plain


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "aws_sqs_queue": ({"fifo_queue": True}, "invalid queue name"),
    "aws_lambda_function": ({"runtime": "python9"}, "expected runtime to be one of"),
    "aws_iam_role_policy": ({"policy": "{"}, "contains an invalid JSON"),
    "aws_cloudwatch_metric_alarm": ({"comparison_operator": "Greater"}, "expected comparison_operator to be one of"),
    "aws_cloudwatch_log_group": ({"retention_in_days": 31}, "expected retention_in_days to be one of"),
    "aws_ecs_task_definition": ({"container_definitions": "[{}, 1]"}, "container_definitions"),
}
"""What the schema alone accepts, and how the provider refuses it."""


@pytest.mark.parametrize("kind", REFUSED)
def test_what_it_refuses_is_found(
    with_provider: TerraformWithProvider, known: dict[str, Any], tmp_path: Path, kind: str
) -> None:
    """The check can fail."""
    changed, said = REFUSED[kind]
    name, body = next(iter(known["resource"][kind].items()))
    with pytest.raises(TerraformFailedError, match=said):
        planned(with_provider, tmp_path, {"resource": {kind: {name: {**body, **changed, "depends_on": []}}}})
