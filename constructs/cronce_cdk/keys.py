"""The customer-managed keys of a ledger."""

from __future__ import annotations

from dataclasses import dataclass, fields

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from cronce_cdk._checks import is_text, refusal, warn
from cronce_cdk._jsii_cache import stack_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerKeys:
    """The KMS keys with which AWS encrypts what a ledger stores; None for a key that AWS owns.

    Everybody who uses the ledger also needs its keys. The constructs grant them to tasks, functions, schedules and
    people, each for calls through one service. If the key is one of this app, its policy also allows CloudWatch Logs.

    Example:
        ```python
        key = kms.Key(stack, "Key", enable_key_rotation=True)
        ledger = RunLedger(stack, "Runs", keys=LedgerKeys.all(key))
        ```

    Attributes:
        table: For the table. Tasks, clocks and people need it as well.
        queues: For the two dead-letter queues. The roles of the schedules need it as well.
        logs: For the logs of the functions and of clocks.
        schedules: For the schedules of the jobs, whose input has the environment of the tasks.
    """

    table: kms.IKey | None = None
    queues: kms.IKey | None = None
    logs: kms.IKey | None = None
    schedules: kms.IKey | None = None

    @classmethod
    def all(cls, key: kms.IKey) -> LedgerKeys:
        """Return the same key for everything."""
        return cls(table=key, queues=key, logs=key, schedules=key)


def checked_keys(scope: Construct, keys: object) -> LedgerKeys:
    """Return the keys, or none for None; warn of a key in another account, whose policy has to allow this one.

    Raises:
        ConstructConfigError: A key can never work: it is no key, an alias, asymmetric, or in another Region.
    """
    if keys is None:
        return LedgerKeys()
    if not isinstance(keys, LedgerKeys):
        raise refusal(scope, "keys", keys, "a cronce_cdk.LedgerKeys")
    given = {field.name: getattr(keys, field.name) for field in fields(keys)}
    for name, key in given.items():
        if key is not None:
            _check(scope, f"keys.{name}", key)
    foreign = {name: key for name, key in given.items() if key is not None and _is_foreign(key, stack_of(scope))}
    if foreign:
        warn(
            scope,
            "key-of-another-account",
            f"keys.{', keys.'.join(foreign)}: the key is in another account. Its policy must allow this account the"
            " same as the policies here (docs/iam.md, Customer-managed keys); no construct can change it.",
        )
    return keys


def _check(scope: Construct, argument: str, key: object) -> None:
    if not hasattr(key, "key_arn") or not hasattr(key, "key_id"):
        raise refusal(scope, argument, key, "a kms.Key, or kms.Key.from_key_arn(...)")
    arn, stack = str(key.key_arn), stack_of(scope)
    if isinstance(key, kms.Alias) or ":alias/" in arn:
        raise refusal(scope, argument, "an alias", "the key itself: a policy cannot name a key by its alias")
    parts = arn.split(":") if is_text(arn) else []
    for there in (parts[3] if len(parts) > 4 else "", str(key.env.region)):  # type: ignore[attr-defined]  # a resource
        if is_text(there) and is_text(stack.region) and there and there != stack.region:
            raise refusal(scope, argument, f"a key in {there}", f"a key in the same Region, {stack.region}")
    made = key.node.default_child  # type: ignore[attr-defined]  # a construct
    if isinstance(made, kms.CfnKey):
        for what, value, allowed in (
            ("key_spec", made.key_spec, "SYMMETRIC_DEFAULT"),
            ("key_usage", made.key_usage, "ENCRYPT_DECRYPT"),
        ):
            if value not in (None, allowed):
                raise refusal(scope, argument, f"{what} {value}", f"a symmetric key that encrypts: {what} {allowed}")


def _is_foreign(key: kms.IKey, stack: cdk.Stack) -> bool:
    parts = key.key_arn.split(":") if is_text(key.key_arn) else []
    there = parts[4] if len(parts) > 4 else key.env.account
    return is_text(there) and is_text(stack.account) and there != stack.account


def let_logs_use(scope: Construct, key: kms.IKey | None) -> None:
    """Allow CloudWatch Logs in the key's policy to use it for logs of this account and Region; warn of an imported key.

    The statement is that of the CloudWatch Logs User Guide, "Encrypt log data using AWS KMS".
    """
    if key is None:
        return
    stack = stack_of(scope)
    logs = stack.format_arn(
        service="logs", resource="log-group", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    verbs = ("Encrypt", "Decrypt", "ReEncrypt", "GenerateDataKey", "Describe")
    added = key.add_to_resource_policy(
        iam.PolicyStatement(
            actions=[f"kms:{verb}*" for verb in verbs],
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": logs}},
        )
    )
    if not added.statement_added:
        warn(
            scope,
            "key-policy-not-changed",
            f"keys.logs: the key was imported, so its policy must already allow logs.{stack.region}.amazonaws.com to"
            " use it for the logs of this account (docs/iam.md, Customer-managed keys). If not, the deployment fails.",
        )


_WRITING = ("Encrypt", "GenerateDataKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo")


def table_statements(stack: cdk.Stack, keys: LedgerKeys, *, writes: bool) -> list[iam.PolicyStatement]:
    """Return what a principal needs of the table's key to read the table, or to write it as well.

    The actions are those that CDK's grants on a table have, written out; DynamoDB calls KMS in the name of its caller.
    """
    actions = ["kms:Decrypt", "kms:DescribeKey"]
    if writes:
        actions += [f"kms:{verb}" for verb in _WRITING]
    return _using(keys.table, actions, _through(stack, "dynamodb"))


def queue_statements(stack: cdk.Stack, keys: LedgerKeys) -> list[iam.PolicyStatement]:
    """Return what a principal needs of the queues' key to send or receive (SQS Developer Guide, "Key management")."""
    return _using(keys.queues, ["kms:Decrypt", "kms:GenerateDataKey"], _through(stack, "sqs"))


def schedule_statements(
    stack: cdk.Stack, keys: LedgerKeys, schedules: str, *, creates: bool
) -> list[iam.PolicyStatement]:
    """Return what a principal needs of the schedules' key to read schedules, or to create one-shot schedules as well.

    The conditions are those of the EventBridge Scheduler User Guide, "Using identity-based policies".

    Args:
        stack: The stack of the principal.
        keys: The keys of the ledger.
        schedules: The ARN of the group's schedules.
        creates: True for one who creates schedules.
    """
    through = _through(stack, "scheduler")
    actions = ["kms:Decrypt", *(["kms:GenerateDataKey"] if creates else [])]
    found = _using(keys.schedules, actions, through | _encrypting(schedules))
    return found + (_using(keys.schedules, ["kms:DescribeKey"], through) if creates else [])


def firing_statements(stack: cdk.Stack, keys: LedgerKeys, schedules: str) -> list[iam.PolicyStatement]:
    """Return what the role of a schedule needs to read its encrypted input and to send to an encrypted queue."""
    return _using(keys.schedules, ["kms:Decrypt"], _encrypting(schedules)) + queue_statements(stack, keys)


def _using(key: kms.IKey | None, actions: list[str], conditions: dict[str, object]) -> list[iam.PolicyStatement]:
    """Return the statement for that key; none without one."""
    if key is None:
        return []
    return [iam.PolicyStatement(actions=actions, resources=[key.key_arn], conditions=conditions)]


def _through(stack: cdk.Stack, service: str) -> dict[str, object]:
    """Return the condition that the service uses the key in the principal's name."""
    return {"StringEquals": {"kms:ViaService": f"{service}.{stack.region}.amazonaws.com"}}


def _encrypting(schedules: str) -> dict[str, object]:
    """Return the condition that the key is used for one of these schedules."""
    return {"StringLike": {"kms:EncryptionContext:aws:scheduler:schedule:arn": schedules}}
