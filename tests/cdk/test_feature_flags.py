"""The same stack under the feature flags that CDK recommends for new apps, and under none."""

from __future__ import annotations

import json
import tarfile
from importlib.resources import files
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms

from cronce_cdk import FunctionSettings, LedgerKeys, PinnedScheduler, RunLedger
from tests.cdk.shop import every_target, new_shop

OF_CDK = {"Alarms", "DeploymentController", "LoadBalancers"}
"""What the flags change of a service: an empty list instead of nothing, or nothing instead of a default."""


def _recommended() -> dict[str, Any]:
    """The flags in the library that is installed, as `cdk init` writes them."""
    [library] = [each for each in files("aws_cdk").joinpath("_jsii").iterdir() if each.name.endswith(".tgz")]
    with library.open("rb") as opened, tarfile.open(fileobj=opened) as archive:
        member = archive.extractfile("package/recommended-feature-flags.json")
        assert member is not None
        flags: dict[str, Any] = json.load(member)
    return flags


def _resources(context: dict[str, Any]) -> dict[str, Any]:
    app = cdk.App(context=context)
    shop = new_shop(app)
    shop.job("digest", enable_execute_command=True, propagate_tags=True, own_security_group=True)
    image = ecs.ContainerImage.from_registry("clock:1")
    jobs = every_target(shop)
    PinnedScheduler(shop.stack, "Clock", ledger=shop.ledger, cluster=shop.cluster, image=image, jobs=jobs)
    keys, functions = LedgerKeys.all(kms.Key(shop.stack, "Key")), FunctionSettings(vpc=shop.cluster.vpc)
    RunLedger(shop.stack, "Locked", keys=keys, functions=functions)
    resources: dict[str, Any] = assertions.Template.from_stack(shop.stack).to_json()["Resources"]
    return {name: _normal(each.get("Properties", {})) for name, each in resources.items()}


def _normal(value: Any) -> Any:  # noqa: ANN401  # JSON
    """The value without what means the same: partitions by name, and one row for each action of a statement."""
    match value:
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Fn::Join": ["", [*parts]]}:
            return "".join(each if isinstance(each, str) else json.dumps(each) for each in map(_normal, parts))
        case {"Statement": [*statements]}:
            return sorted(json.dumps(row, sort_keys=True) for each in statements for row in _rows(_normal(each)))
        case dict():
            return {name: _normal(part) for name, part in value.items() if name not in OF_CDK}
        case list():
            return [_normal(each) for each in value]
        case _:
            return value


def _rows(statement: dict[str, Any]) -> list[dict[str, Any]]:
    actions, on = (
        each if isinstance(each, list) else [each] for each in (statement["Action"], statement.get("Resource"))
    )
    return [{**statement, "Action": action, "Resource": resource} for action in actions for resource in on]


@pytest.mark.slow
def test_the_recommended_flags_change_nothing_of_ours() -> None:
    """No resource, no permission, no setting; and the checks at the end of synth pass under both."""
    flags = _recommended()
    assert flags["@aws-cdk/aws-iam:minimizePolicies"] is True
    without, under = _resources({}), _resources(flags)
    assert without.keys() == under.keys()
    assert {name: (without[name], under[name]) for name in without if without[name] != under[name]} == {}
