"""A table that exists already, as a ledger."""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from cronce_cdk._account_and_region import same_place
from cronce_cdk._checks import refusal, warn

KEY_SCHEMA = {"HASH": "job", "RANGE": "key"}
TIME_TO_LIVE = "expires_at"

_ALLOWED = "a table with the partition key job (S) and the sort key key (S)"


def checked_table(scope: Construct, table: Any) -> dynamodb.ITableV2:  # noqa: ANN401  # jsii's interfaces have no isinstance
    """Return the table. Of one that this app creates the keys are checked; of another one `cronce init` checks them.

    Raises:
        ConstructConfigError: It is no table, in another account or Region, or has other keys.
    """
    if not hasattr(table, "table_arn") or not hasattr(table, "table_name"):
        raise refusal(scope, "table", table, "a dynamodb.TableV2 or dynamodb.Table")
    same_place(scope, "table", table, table.table_arn, Stack.of(scope))
    made = table.node.default_child
    if isinstance(made, dynamodb.CfnGlobalTable | dynamodb.CfnTable):
        _check_keys(scope, made)
    else:
        warn(
            scope,
            "table-not-checked",
            f"{table.node.path} is a table of another app, so its keys are not known at synth: it needs job (S) as"
            " partition key, key (S) as sort key, time to live on expires_at, and no replicas without strong"
            " consistency. `cronce init` and `cronce doctor` check that.",
        )
    found: dynamodb.ITableV2 = table
    return found


def _check_keys(scope: Construct, made: dynamodb.CfnGlobalTable | dynamodb.CfnTable) -> None:
    stack = Stack.of(scope)
    schema, definitions = (_plain(stack, each) for each in (made.key_schema, made.attribute_definitions))
    types = {each["attributename"]: each["attributetype"] for each in definitions}
    keys = {each["keytype"]: each["attributename"] for each in schema}
    if keys != KEY_SCHEMA or {types.get(name) for name in keys.values()} != {"S"}:
        told = " and ".join(f"{name} ({types.get(name)}) as {kind}" for kind, name in sorted(keys.items()))
        raise refusal(scope, "table", told, _ALLOWED)
    expiry = stack.resolve(made.time_to_live_specification) or {}
    attribute = {name.replace("_", "").lower(): value for name, value in expiry.items()}.get("attributename")
    strong = getattr(made, "multi_region_consistency", None) == "STRONG"  # such a table takes no time to live
    if attribute not in (None, TIME_TO_LIVE):
        raise refusal(scope, "table", f"time to live on {attribute}", f"time to live on {TIME_TO_LIVE}")
    if attribute is None and not strong:
        warn(
            scope,
            "table-without-expiry",
            f"The table has no time to live on {TIME_TO_LIVE}: rows are never deleted, also those of old runs.",
        )


def _plain(stack: Stack, value: object) -> list[dict[str, Any]]:
    """Return the members of a list in a template; CDK spells their names in several ways."""
    found = stack.resolve(value) or []
    return [{name.replace("_", "").lower(): part for name, part in each.items()} for each in found]
