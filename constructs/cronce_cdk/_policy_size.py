"""What became of the policies of a role: whether it took any, and whether they fit into IAM's limit."""

from __future__ import annotations

import json
from collections.abc import Iterator

from aws_cdk import aws_iam as iam
from constructs import Construct

from cronce_cdk._checks import refusal, warn
from cronce_cdk._jsii_cache import cached, stack_of
from cronce_cdk._limits import INLINE_POLICIES

_SHORTEST_ARN = 40
"""Characters that stand for a reference, whose text is known only at deployment."""


def check_policies(scope: Construct, role: iam.IRole, *, by_role: bool = True) -> Iterator[str]:
    """Check a role at the end of synth: yield an error if its policies are certainly too long.

    If the ledger admits tasks by their role, one that takes no policies gets a warning: CDK says so nowhere else. IAM
    counts the characters of all inline policies of a role, white space aside. Of several constructs with this role, the
    first one has the error.
    """
    stack = stack_of(scope)
    policies = cached(
        stack, (role, "policies"), lambda: [each for each in role.node.find_all() if isinstance(each, iam.Policy)]
    )
    if by_role and not policies:
        warn(
            scope,
            "task-role-not-granted",
            f"The task role {role.node.path} takes no policies from this app. Grant it what docs/iam.md lists for this"
            " task, or the task cannot claim its runs.",
        )
    first: list[Construct] = cached(stack, (role, "policy size"), lambda: [scope])
    if first[0] is not scope:
        return
    size = sum(_size(stack_of(each).resolve(each.document)) for each in policies)
    if size > INLINE_POLICIES:
        value = f"{size} characters in the inline policies of {role.node.path}"
        allowed = f"at most {INLINE_POLICIES}: give some jobs a task definition with another task role"
        yield str(refusal(scope, "task role", value, allowed))


def _size(value: object) -> int:
    """Return the length of the JSON, with references counted as short as they can be."""
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)) in ("Ref", "Fn::GetAtt", "Fn::Join", "Fn::Sub", "Fn::ImportValue"):
            return _SHORTEST_ARN
        return 1 + sum(len(json.dumps(name)) + 2 + _size(each) for name, each in value.items())
    if isinstance(value, list):
        return 1 + sum(1 + _size(each) for each in value)
    return len(json.dumps(value, ensure_ascii=False))
