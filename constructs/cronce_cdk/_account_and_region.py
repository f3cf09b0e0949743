"""Checks that what a construct uses is in the account and Region of its stack."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

from cronce_cdk._checks import Tree, is_text, refusal
from cronce_cdk._jsii_cache import stack_of, top_of


def same_place(scope: Tree, argument: str, resource: cdk.IResource, arn: str, stack: cdk.Stack) -> None:
    """Refuse a resource of another account or Region.

    Raises:
        ConstructConfigError: Both places are known at synth, and they differ.
    """
    parts = arn.split(":") if is_text(arn) or arn.startswith("arn:") else []
    of_arn = dict(zip(("region", "account"), parts[3:5], strict=False))
    for what in ("account", "region"):
        here = getattr(stack, what)
        for there in (of_arn.get(what, ""), getattr(resource.env, what)):
            if is_text(here) and is_text(there) and there and there != here:
                raise refusal(scope, argument, f"{resource.node.path} in {there}", f"one in the same {what}, {here}")


def same_account(scope: Tree, argument: str, role: iam.IRole, stack: cdk.Stack) -> None:
    """Refuse a role of another account, which iam:PassRole does not take.

    Raises:
        ConstructConfigError: Both accounts are known at synth, and they differ.
    """
    parts = role.role_arn.split(":")
    there, here = (parts[4] if len(parts) > 4 else role.env.account), stack.account
    if is_text(here) and is_text(there) and there != here:
        raise refusal(scope, argument, f"{role.node.path} in {there}", f"roles in the same account, {here}")


def deployed_together(one: cdk.Stack, other: cdk.Stack) -> bool:
    """Return whether both are nested stacks of one stack, or the same: then references need no export."""
    return one is other or top_of(one) is top_of(other)


def is_of(resource: cdk.IResource, stack: cdk.Stack) -> bool:
    """Return whether the resource's stack is deployed together with `stack`."""
    return deployed_together(stack_of(resource), stack)  # type: ignore[arg-type]  # a resource is a construct
