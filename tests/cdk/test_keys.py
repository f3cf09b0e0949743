"""Customer-managed keys, and tables that exist already."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from cronce_cdk import ConstructConfigError, LedgerKeys, RunLedger
from cronce_cdk.keys import checked_keys
from tests.cdk.shop import ENVIRONMENT, Shop, fargate_task, imported_cluster
from tests.cdk.test_sweep import raw_error, values_of_every_kind

if TYPE_CHECKING:
    from collections.abc import Callable

ARN = "arn:aws:kms:eu-west-1:111122223333:key/1a2b3c4d-0000-1111-2222-1a2b3c4d5e6f"
STRING = dynamodb.AttributeType.STRING
NAMES = ("table", "queues", "logs", "schedules")


def _keys(shop: Shop) -> LedgerKeys:
    """A key of its own for each purpose."""
    made = {name: kms.Key.from_key_arn(shop.stack, f"Key{name}", f"{ARN[:-4]}{name[:4]}") for name in NAMES}
    return LedgerKeys(**made)


def _on(statements: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The statements on the key for that purpose: actions, and the condition without the operators."""
    return [each for each in statements if each["Resource"] == f"{ARN[:-4]}{name[:4]}"]


def _statements(shop: Shop, role_id: str) -> list[dict[str, Any]]:
    """What a role may do by all its policies."""
    template = assertions.Template.from_stack(shop.stack).to_json()["Resources"]
    [(name, role)] = [
        each for each in template.items() if each[0].startswith(role_id) and each[1]["Type"] == "AWS::IAM::Role"
    ]
    found = [each["PolicyDocument"] for each in role["Properties"].get("Policies", ())]
    for policy_id, policy in template.items():
        attached = {"Ref": policy_id} in role["Properties"].get("ManagedPolicyArns", ())
        if attached or {"Ref": name} in policy.get("Properties", {}).get("Roles", ()):
            found.append(policy["Properties"]["PolicyDocument"])
    return [statement for document in found for statement in document["Statement"]]


def _told(statements: list[dict[str, Any]], name: str) -> list[tuple[list[str], list[str]]]:
    """For that key: the actions, and through which service or for which schedules."""
    return [
        (
            [each["Action"]] if isinstance(each["Action"], str) else each["Action"],
            sorted(f"{key} {_text(value)}" for part in each["Condition"].values() for key, value in part.items()),
        )
        for each in _on(statements, name)
    ]


def _text(value: Any) -> str:  # noqa: ANN401  # a template's value
    return value if isinstance(value, str) else json.dumps(value).rpartition('"')[0].rpartition('"')[2]


READS = ["kms:Decrypt", "kms:DescribeKey"]
WRITES = [
    *READS,
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
]
TABLE = ["kms:ViaService dynamodb.eu-west-1.amazonaws.com"]
QUEUE = (["kms:Decrypt", "kms:GenerateDataKey"], ["kms:ViaService sqs.eu-west-1.amazonaws.com"])
GROUP = "kms:EncryptionContext:aws:scheduler:schedule:arn /*"
SCHEDULER = "kms:ViaService scheduler.eu-west-1.amazonaws.com"


def test_everything_is_encrypted_with_its_key_and_everybody_may_use_what_they_need(shop: Shop) -> None:
    """Tasks, schedules, functions and people; each key through one service only."""
    ledger = RunLedger(shop.stack, "Own", keys=_keys(shop))
    job = shop.job(ledger=ledger)
    people = ("Reader", "Runner")
    reader, runner = (iam.Role(shop.stack, name, assumed_by=iam.AccountRootPrincipal()) for name in people)
    ledger.grant_read(reader)
    job.grant_run(runner)

    def properties(kind: str) -> list[dict[str, Any]]:
        return [each["Properties"] for name, each in shop.resources(kind).items() if name.startswith(("Own", "digest"))]

    [table] = properties("AWS::DynamoDB::GlobalTable")
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    assert table["Replicas"][0]["SSESpecification"]["KMSMasterKeyId"].endswith("tabl")
    assert {each["KmsMasterKeyId"][-4:] for each in properties("AWS::SQS::Queue")} == {"queu"}
    assert {each["KmsKeyId"][-4:] for each in properties("AWS::Logs::LogGroup")} == {"logs"}
    assert {each["KmsKeyArn"][-4:] for each in properties("AWS::Scheduler::Schedule")} == {"sche"}

    task = _statements(shop, "TaskTaskRole")
    assert [_told(task, name) for name in NAMES] == [[(WRITES, TABLE)], [], [], []]
    role = _statements(shop, "digestRole")
    assert [_told(role, name) for name in NAMES] == [[], [QUEUE], [], [(["kms:Decrypt"], [GROUP])]]
    creates = [(["kms:Decrypt", "kms:GenerateDataKey"], [GROUP, SCHEDULER]), (["kms:DescribeKey"], [SCHEDULER])]
    recorder, watchdog = _statements(shop, "OwnRecorderRole"), _statements(shop, "OwnWatchdogRole")
    assert [_told(recorder, name) for name in NAMES] == [[(WRITES, TABLE)], [QUEUE], [], creates]
    assert [_told(watchdog, name) for name in NAMES] == [[(WRITES, TABLE)], [], [], creates]
    assert [_told(_statements(shop, "Reader"), name) for name in NAMES] == [[(READS, TABLE)], [], [], []]
    runs = [(["kms:Decrypt"], [GROUP, SCHEDULER])]
    assert [_told(_statements(shop, "Runner"), name) for name in NAMES] == [[], [], [], runs]
    assert shop.warnings() == {"cronce:key-policy-not-changed"}


def test_a_key_of_the_app_lets_cloudwatch_logs_in(shop: Shop) -> None:
    """And only for the logs of this account and Region; nobody else is added."""
    RunLedger(shop.stack, "Own", keys=LedgerKeys.all(kms.Key(shop.stack, "Key")))
    [key] = shop.resources("AWS::KMS::Key").values()
    _, added = key["Properties"]["KeyPolicy"]["Statement"]
    assert added["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    verbs = ("Encrypt", "Decrypt", "ReEncrypt", "GenerateDataKey", "Describe")
    assert {*added["Action"]} == {f"kms:{verb}*" for verb in verbs}
    [arn] = added["Condition"]["ArnLike"].values()
    assert _text(arn) == ":logs:eu-west-1:111122223333:log-group:*"
    assert shop.warnings() == set()


def test_a_job_of_another_stack_uses_the_same_keys() -> None:
    """By their ARNs, without an export."""
    app = cdk.App()
    ledgers, jobs = (cdk.Stack(app, name, env=ENVIRONMENT) for name in ("Ledgers", "Jobs"))
    keys = LedgerKeys.all(kms.Key.from_key_arn(ledgers, "Key", ARN))
    ledger = RunLedger(ledgers, "Ledger", table_name="runs", keys=keys)
    shop = Shop(stack=jobs, cluster=imported_cluster(jobs), task_definition=fargate_task(jobs), ledger=ledger)
    shop.job()
    assert shop.schedule()["KmsKeyArn"] == ARN
    task = [each for each in _statements(shop, "TaskTaskRole") if each["Resource"] == ARN]
    assert [each["Action"] for each in task] == [WRITES]
    there = RunLedger.from_table_name(jobs, "There", table_name="others", keys=keys)
    assert there.keys is keys


def _symmetric(shop: Shop) -> kms.IKey:
    return kms.Key(shop.stack, "Asymmetric", key_spec=kms.KeySpec.RSA_2048, key_usage=kms.KeyUsage.SIGN_VERIFY)


@pytest.mark.parametrize(
    ("make", "allowed"),
    [
        (lambda shop: kms.Key.from_key_arn(shop.stack, "There", ARN.replace("eu-west-1", "us-east-1")), "same Region"),
        (lambda shop: kms.Alias.from_alias_name(shop.stack, "Alias", "alias/runs"), "by its alias"),
        (lambda shop: kms.Key(shop.stack, "Named").add_alias("runs"), "by its alias"),
        (_symmetric, "symmetric key"),
    ],
)
def test_a_key_that_can_never_work_is_refused(shared_shop: Shop, make: Callable[[Shop], Any], allowed: str) -> None:
    """In words, before anything is deployed."""
    key = make(shared_shop)
    for name in NAMES:
        number = len(shared_shop.stack.node.children)
        with pytest.raises(ConstructConfigError, match=f"keys.{name}") as caught:
            RunLedger(shared_shop.stack, f"No{number}", keys=LedgerKeys(**{name: key}))
        assert allowed in caught.value.allowed


def test_a_table_key_needs_a_known_region() -> None:
    """CDK would fail at the end of synth, in its own words; the other keys need none."""
    stack = cdk.Stack(cdk.App(), "Anywhere")
    key = kms.Key(stack, "Key")
    with pytest.raises(ConstructConfigError, match=r"keys\.table") as caught:
        RunLedger(stack, "Ledger", keys=LedgerKeys(table=key))
    assert "a Region that is known at synth" in caught.value.allowed
    RunLedger(stack, "Others", keys=LedgerKeys(queues=key, logs=key, schedules=key))
    assertions.Template.from_stack(stack)


def test_a_key_of_another_account_is_a_warning(shop: Shop) -> None:
    """Its policy decides, and that is not here."""
    key = kms.Key.from_key_arn(shop.stack, "Theirs", ARN.replace("111122223333", "444455556666"))
    RunLedger(shop.stack, "Own", keys=LedgerKeys(table=key))
    assert shop.warnings() == {"cronce:key-of-another-account"}


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_any_kind_works_or_gets_our_own_error(shared_shop: Shop, name: str) -> None:
    """As every argument of the constructs."""
    found = {}
    for label, value in values_of_every_kind(shared_shop).items():
        scope = Construct(shared_shop.stack, f"Any{len(shared_shop.stack.node.children)}")
        keys: dict[str, Any] = {name: value}
        found[label] = raw_error(lambda scope=scope, keys=keys: checked_keys(scope, LedgerKeys(**keys)))  # type: ignore[misc]
    assert {label: raw for label, raw in found.items() if raw} == {}


def _table(shop: Shop, name: str = "Theirs", **changed: Any) -> dynamodb.TableV2:  # noqa: ANN401  # any argument
    arguments: dict[str, Any] = {
        "partition_key": dynamodb.Attribute(name="job", type=STRING),
        "sort_key": dynamodb.Attribute(name="key", type=STRING),
        "time_to_live_attribute": "expires_at",
        **changed,
    }
    return dynamodb.TableV2(shop.stack, name, **arguments)


def test_a_table_of_the_app_becomes_a_ledger(shop: Shop) -> None:
    """With its own key and name; the ledger creates none."""
    key = kms.Key(shop.stack, "Key")
    table = _table(shop, table_name="their-runs", encryption=dynamodb.TableEncryptionV2.customer_managed_key(key))
    ledger = RunLedger(shop.stack, "Own", table=table)
    shop.job(ledger=ledger)
    assert [name for name in shop.resources("AWS::DynamoDB::GlobalTable") if name.startswith("Own")] == []
    assert (ledger.ledger_name, ledger.keys.table) == (table.table_name, key)
    assert [each["Action"] for each in _statements(shop, "TaskTaskRole") if "kms:Decrypt" in each["Action"]] == [WRITES]
    assert shop.warnings() == set()


def test_an_older_table_construct_is_taken_too(shop: Shop) -> None:
    """dynamodb.Table makes another type of resource."""
    attributes = [dynamodb.Attribute(name=name, type=STRING) for name in ("job", "key")]
    table = dynamodb.Table(shop.stack, "Old", partition_key=attributes[0], sort_key=attributes[1])
    RunLedger(shop.stack, "Own", table=table)
    assert shop.warnings() == {"cronce:table-without-expiry"}


def test_an_imported_table_names_the_ledger_and_is_checked_by_init(shop: Shop) -> None:
    """Nothing of it is known at synth but its place."""
    table = dynamodb.TableV2.from_table_name(shop.stack, "Imported", "their-runs")
    ledger = RunLedger(shop.stack, "Own", table=table)
    [group] = [each for name, each in shop.resources("AWS::Scheduler::ScheduleGroup").items() if name.startswith("Own")]
    assert (ledger.table_url, group["Properties"]["Name"]) == ("dynamodb://their-runs?region=eu-west-1", "their-runs")
    assert shop.warnings() == {"cronce:table-not-checked"}


@pytest.mark.parametrize(
    ("make", "argument", "allowed"),
    [
        (lambda shop: {"table": _table(shop, "W1", sort_key=None)}, "table", "partition key job"),
        (
            lambda shop: {"table": _table(shop, "W2", sort_key=dynamodb.Attribute(name="period", type=STRING))},
            "table",
            "sort key key",
        ),
        (
            lambda shop: {
                "table": _table(shop, "W3", sort_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.NUMBER))
            },
            "table",
            "(S)",
        ),
        (lambda shop: {"table": _table(shop, "W4", time_to_live_attribute="ttl")}, "table", "expires_at"),
        (lambda shop: {"table": _table(shop, "W5"), "table_name": "runs"}, "table_name", "together with table"),
        (
            lambda shop: {"table": _table(shop, "W6"), "keys": LedgerKeys(table=kms.Key(shop.stack, "K6"))},
            "keys.table",
            "together with table",
        ),
        (
            lambda shop: {
                "table": dynamodb.TableV2.from_table_arn(
                    shop.stack, "W7", "arn:aws:dynamodb:us-east-1:111122223333:table/runs"
                )
            },
            "table",
            "same region",
        ),
    ],
)
def test_a_table_that_can_be_no_ledger_is_refused(
    shared_shop: Shop, make: Callable[[Shop], dict[str, Any]], argument: str, allowed: str
) -> None:
    """As far as it is known at synth."""
    with pytest.raises(ConstructConfigError) as caught:
        RunLedger(shared_shop.stack, f"No{len(shared_shop.stack.node.children)}", **make(shared_shop))
    assert caught.value.argument == argument
    assert allowed in caught.value.allowed
