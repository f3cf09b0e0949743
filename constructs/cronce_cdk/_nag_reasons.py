"""The reasons for what cdk-nag's AwsSolutions finds in these constructs. cdk-nag itself is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct, IConstruct

from cronce_cdk._jsii_cache import stack_of

ANY_RESOURCE = "The action takes no resource (Service Authorization Reference)."
SCHEDULES_OF_A_GROUP = "A policy cannot name a single schedule, so it names the schedules of the ledger's group."
ROLES_OF_A_GROUP = "These are the scheduler roles of the jobs of the ledger, by their path."
TASKS_OF_A_CLUSTER = "The ID of a task is not known before it is started."
RUNTIME = "Python 3.13 is the newest version that the functions are tested on, and is supported until 2029."
DEAD_LETTERS = "It is a dead-letter queue: EventBridge Scheduler puts into it what it could not start."
VARIABLES = "The ledger's URL, the job's name and the policy are no secrets. Secrets belong in `secrets`."


def acknowledge(scope: IConstruct, rule: str, reason: str) -> None:
    """Record the reason for a finding of a rule in that construct."""
    cdk.Validations.of(scope).acknowledge(cdk.Acknowledgment(id=f"AwsSolutions-{rule}", reason=reason))


def acknowledge_wildcards(scope: IConstruct | iam.IGrantable, resources: Mapping[str, str]) -> None:
    """Record the reason for each resource with a wildcard in the policies of that construct: resource -> reason."""
    if not isinstance(scope, Construct):
        return
    for resource, reason in resources.items():
        for flat in _flattened(stack_of(scope).resolve(resource)):
            acknowledge(scope, f"IAM5[Resource::{flat}]", reason)


def _flattened(value: Any) -> Iterable[str]:  # noqa: ANN401  # a template's value
    """Yield the value as cdk-nag writes it in a finding: references in angle brackets."""
    match value:
        case str():
            yield value
        case {"Ref": name}:
            yield f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            yield f"<{name}.{attribute}>"
        case {"Fn::Join": [separator, parts]}:
            yield separator.join(text for part in parts for text in _flattened(part))
        case _:
            pass
