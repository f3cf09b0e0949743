"""The example app and one stack of each kind, under the linters and against the snapshot."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from app import DailyDigest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from cdk_nag import AwsSolutionsChecks

from cronce_cdk import FunctionSettings, LedgerKeys, PinnedScheduler, RunLedger, TaskSize
from tests.cdk.shop import ENVIRONMENT, Shop, add_container, every_target, fargate_task, imported_cluster, new_shop

SNAPSHOT = Path(__file__).parent / "snapshots" / "daily_digest.json"

IGNORED_BY_CFN_LINT = {
    "W3005": "CDK's Function depends on its role twice, by DependsOn and by reference",
}

ACCEPTED_BY_NAG = {
    ("AwsSolutions-VPC7", r"CronceDailyDigest/Vpc/Resource"): (
        "flow logs cost more than the rest of the example; nothing comes into this network"
    ),
    ("AwsSolutions-ECS4", r"CronceDailyDigest/Cluster/Resource"): (
        "Container Insights costs more than the rest of the example; what ran is in the ledger"
    ),
    ("AwsSolutions-S1", r"CronceDailyDigest/Outbox/Resource"): (
        "access logs of the example's mails would want a second bucket"
    ),
    ("AwsSolutions-IAM5", r"CronceDailyDigest/\w+Task/TaskRole/DefaultPolicy/Resource"): (
        "the mails of one job: their names are the customers'"
    ),
    ("AwsSolutions-IAM5", r"CronceDailyDigest/[\w/]+/ExecutionRole/DefaultPolicy/Resource"): (
        "ecr:GetAuthorizationToken takes no resource"
    ),
    ("AwsSolutions-SQS3", r"CronceDailyDigest/Reminders/Resource"): (
        "a reminder that nobody took within the hour is worth nothing any more, neither in another queue"
    ),
    ("AwsSolutions-ECS2", r"Ec2/OnEc2/Resource"): "CDK itself tells a container on EC2 its Region",
}


@dataclass(frozen=True, kw_only=True)
class Synthesized:
    """What one app came to.

    Attributes:
        folder: The cloud assembly.
        findings: Rule and construct of everything that cdk-nag found.
    """

    folder: Path
    findings: set[tuple[str, str]]


def _spot(shop: Shop) -> None:
    spot = ecs.CapacityProviderStrategy(capacity_provider="FARGATE_SPOT", weight=1)
    shop.job(capacity_provider_strategies=[spot], propagate_tags=True, tags={"team": "growth"})


def _ec2(shop: Shop) -> None:
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2", network_mode=ecs.NetworkMode.AWS_VPC)
    add_container(task_definition, memory_limit_mib=64)
    shop.job(task_definition=task_definition, enable_execute_command=True)


def _external(shop: Shop) -> None:
    task_definition = ecs.ExternalTaskDefinition(shop.stack, "Anywhere")
    add_container(task_definition, memory_limit_mib=64)
    shop.job(task_definition=task_definition)


def _imported(shop: Shop) -> None:
    roles = [iam.Role.from_role_name(shop.stack, name, name) for name in ("task", "execution")]
    task_definition = ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        shop.stack,
        "Imported",
        task_definition_arn="arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7",
        task_role=roles[0],
        execution_role=roles[1],
    )
    shop.job(task_definition=task_definition, container_name="app", command=["digest"], environment={"MODE": "live"})


def _pinned(shop: Shop) -> None:
    image = ecs.ContainerImage.from_registry("clock:1")
    ledger, cluster = shop.ledger, shop.cluster
    clock = PinnedScheduler(shop.stack, "Clock", ledger=ledger, cluster=cluster, image=image, jobs=every_target(shop))
    beat = PinnedScheduler(shop.stack, "Beat", ledger=ledger, cluster=cluster, image=image, command=["celery", "beat"])
    clock.alarm_no_tick()
    beat.alarm_no_leader()


def _rate_and_at(shop: Shop) -> None:
    shop.job("Often", schedule="rate(5 minutes)", enabled=False)
    shop.job("Once", schedule="at(2126-11-29T06:00:00)", timezone="Europe/Berlin")


def _people(shop: Shop) -> None:
    job = shop.job(enable_execute_command=True, propagate_tags=True)
    role = iam.Role(shop.stack, "OnCallRole", assumed_by=iam.AccountRootPrincipal())
    for grantee in (iam.ManagedPolicy(shop.stack, "OnCall"), role):
        shop.ledger.grant_read(grantee)
        shop.ledger.grant_release(grantee)
        shop.ledger.grant_rerun(grantee)
        job.grant_run(grantee)


def _replicated(shop: Shop) -> None:
    RunLedger(
        shop.stack,
        "Strong",
        replicas=[dynamodb.ReplicaTableProps(region="eu-central-1")],
        multi_region_consistency=dynamodb.MultiRegionConsistency.STRONG,
        witness_region="eu-west-2",
    )


def _locked(shop: Shop) -> None:
    key = kms.Key(shop.stack, "Key", enable_key_rotation=True)
    ledger = RunLedger(
        shop.stack,
        "Locked",
        keys=LedgerKeys.all(key),
        functions=FunctionSettings(vpc=shop.cluster.vpc, reserved_concurrency=2),
    )
    job = shop.job(ledger=ledger, size=TaskSize(cpu=512, memory_mib=1024), own_security_group=True, managed_tags=True)
    role = iam.Role(shop.stack, "OnCallRole", assumed_by=iam.AccountRootPrincipal())
    ledger.grant_read(role)
    ledger.grant_release(role)
    job.grant_run(role)


VARIANTS: dict[str, Callable[[Shop], Any]] = {
    "Fargate": lambda shop: shop.job(),
    "Spot": _spot,
    "Ec2": _ec2,
    "External": _external,
    "Imported": _imported,
    "Pinned": _pinned,
    "RateAndAt": _rate_and_at,
    "Replicated": _replicated,
    "People": _people,
    "Locked": _locked,
}


def _checked(app: cdk.App) -> Synthesized:
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed: "):  # there are findings; the tests say which
        app.synth()
    report = json.loads((Path(app.outdir) / "validation-report.json").read_text())
    return Synthesized(
        folder=Path(app.outdir),
        findings={
            (violation["ruleName"].partition("[")[0], construct["constructPath"])
            for plugin in report["pluginReports"]
            if plugin["pluginName"] == "AwsSolutions"
            for violation in plugin["violations"]
            for construct in violation["violatingConstructs"]
        },
    )


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """The example app."""
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("example")))
    DailyDigest(app, "CronceDailyDigest")
    return _checked(app)


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> Synthesized:
    """A stack of each kind, and two that share a ledger, in one app."""
    app = cdk.App(outdir=str(tmp_path_factory.mktemp("variants")))
    for name, add in VARIANTS.items():
        add(new_shop(app, name))
    ledger = RunLedger(cdk.Stack(app, "Ledgers", env=ENVIRONMENT), "Ledger", table_name="runs")
    jobs = cdk.Stack(app, "Jobs", env=ENVIRONMENT)
    Shop(stack=jobs, cluster=imported_cluster(jobs), task_definition=fargate_task(jobs), ledger=ledger).job()
    return _checked(app)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["example", "variants"])
def test_cfn_lint_finds_nothing(name: str, request: pytest.FixtureRequest) -> None:
    """In every template that the constructs make."""
    synthesized: Synthesized = request.getfixturevalue(name)
    templates = sorted(synthesized.folder.glob("*.template.json"))
    command = ["cfn-lint", "--format", "parseable", "--ignore-checks", *IGNORED_BY_CFN_LINT, "--", *map(str, templates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)
    assert len(templates) == (1 if name == "example" else len(VARIANTS) + 2)


@pytest.mark.slow
def test_cdk_nag_finds_nothing_that_is_not_accepted_with_a_reason(example: Synthesized, variants: Synthesized) -> None:
    """The constructs carry their reasons; those here are of the example app and of CDK, and are still needed."""
    findings = example.findings | variants.findings
    used, left = set(), set()
    for rule, path in findings:
        accepted = [key for key in ACCEPTED_BY_NAG if key[0] == rule and re.search(f"{key[1]}$", path)]
        used |= {*accepted}
        if not accepted:
            left.add((rule, path))
    assert left == set()
    assert used == {*ACCEPTED_BY_NAG}


def test_the_example_is_the_snapshot(example: Synthesized) -> None:
    """Asset hashes blanked. When a change is meant, delete the file and run this once: it is written anew."""
    text = (example.folder / "CronceDailyDigest.template.json").read_text()
    found = json.loads(re.sub(r"[0-9a-f]{64}", "HASH", text))
    del found["Parameters"]["BootstrapVersion"], found["Rules"]
    if not SNAPSHOT.exists():
        SNAPSHOT.parent.mkdir(exist_ok=True)
        SNAPSHOT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        pytest.fail(f"{SNAPSHOT.name} was written; look at it and run again")
    assert found == json.loads(SNAPSHOT.read_text())


def test_the_code_of_the_functions_has_one_hash_in_every_app(example: Synthesized, variants: Synthesized) -> None:
    """Wherever the app is synthesized to."""
    keys = {
        resource["Properties"]["Code"]["S3Key"]
        for synthesized in (example, variants)
        for template in synthesized.folder.glob("*.template.json")
        for resource in json.loads(template.read_text())["Resources"].values()
        if resource["Type"] == "AWS::Lambda::Function"
    }
    assert len(keys) == 1
