"""The examples in the docstrings of the constructs are apps that synthesize."""

from __future__ import annotations

import re
import textwrap
from datetime import timedelta
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_secretsmanager as secretsmanager
from aws_cdk import aws_sqs as sqs

import cronce_cdk
from cronce import Policy
from tests.cdk.shop import ENVIRONMENT, new_shop

WITHOUT = {"ConstructConfigError", "RunLedgerBase", "ClockTarget"}
"""What nobody constructs; the targets are in the example of ClockJob."""

TARGETS = {"CommandTarget", "EventTarget", "LambdaTarget", "SqsTarget", "TaskTarget"}
EXAMPLES = sorted({*cronce_cdk.__all__} - WITHOUT - TARGETS)


def _example(name: str) -> str:
    found = re.search(r"```python\n(.*?)```", getattr(cronce_cdk, name).__doc__ or "", re.DOTALL)
    assert found, f"{name} has no example"
    return textwrap.dedent(found.group(1))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_synthesizes(name: str) -> None:
    """In a stack that has what the example names, without a warning."""
    app = cdk.App()
    shop = new_shop(app)
    others: dict[str, Any] = {
        "stack": shop.stack,
        "other_stack": cdk.Stack(app, "Other", env=ENVIRONMENT),
        "ledger": shop.ledger,
        "cluster": shop.cluster,
        "task_definition": shop.task_definition,
        "task": shop.job("Compaction", enabled=False),
        "bucket": s3.Bucket(shop.stack, "Bucket"),
        "queue": sqs.Queue(shop.stack, "Work"),
        "function": lambda_.Function.from_function_arn(
            shop.stack, "Function", "arn:aws:lambda:eu-west-1:111122223333:function:tick"
        ),
        "vpc": shop.cluster.vpc,
        "secret": secretsmanager.Secret(shop.stack, "Url"),
        "database": ec2.SecurityGroup.from_security_group_id(shop.stack, "Database", "sg-0a1b2c3d4e5f60002"),
        "ec2": ec2,
        "ecs": ecs,
        "kms": kms,
        "logs": logs,
        "timedelta": timedelta,
        "Policy": Policy,
    }
    exec(_example(name), {**vars(cronce_cdk), **others})
    assertions.Template.from_stack(shop.stack)
    assert shop.warnings() == set()


def test_every_target_is_in_the_example_of_a_clocks_job() -> None:
    """A target alone does nothing."""
    assert {name for name in TARGETS if f"{name}(" in _example("ClockJob")} == TARGETS
