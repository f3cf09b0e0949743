"""docs/iam.md has every statement of every role and policy that the constructs make, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import assertions
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

from cronce_cdk import (
    ClockJob,
    ClockTarget,
    CommandTarget,
    EventTarget,
    FunctionSettings,
    LambdaTarget,
    PinnedScheduler,
    RunLedger,
    SqsTarget,
    TaskTarget,
)
from tests.cdk.shop import ENVIRONMENT, new_shop

PAGE = (Path(__file__).parents[2] / "docs" / "iam.md").read_text()

SECTIONS = {
    "The schedule of a job": "JobRole",
    "The task of a job": "TaskTaskRole",
    "The recorder": "LedgerRecorderRole",
    "The watchdog": "LedgerWatchdogRole",
    "A clock with its jobs": "CLOCKTaskTaskRole",
    "A clock with a configuration in its image": "CONFIGUREDTaskTaskRole",
    "A foreign clock": "PINNEDTaskTaskRole",
    "A person who reads": "Reader",
    "A person on call": "Operator",
    "The rerun function": "LedgerRerunRole",
    "The board function": "LedgerBoardRole",
    "A person who looks at the board": "Viewer",
    "A person who runs periods again": "Runner",
    "A person who asks for reruns": "Asker",
    "A person who releases runs": "Releaser",
    "The dead-letter queues": "LedgerDeadLetters",
    "The functions": "Ledger",
}
"""Heading of the page -> beginning of the logical ID of the role or resource."""

LEFT_OUT = re.compile(r".*ExecutionRole")
"""CDK's own: to pull the image, to write the log, to read the secrets of the task definition."""

WORDS = {
    "AWS::DynamoDB::GlobalTable": "TABLE",
    "AWS::ECS::Service": "SERVICE",
    "AWS::ECS::TaskDefinition": "TASK_DEFINITION",
    "AWS::Events::Rule": "RULE",
    "AWS::Lambda::Function": "FUNCTION",
    "AWS::Logs::LogGroup": "LOG",
    "AWS::Scheduler::Schedule": "SCHEDULE",
    "AWS::Scheduler::ScheduleGroup": "GROUP",
    "AWS::SQS::Queue": "QUEUE",
}
"""What the page calls a resource of the type."""

_HERE = f"arn:aws:*:{ENVIRONMENT.region}:{ENVIRONMENT.account}"
_ARN = re.compile(r"^arn:[^:]*:[^:]*:[^:]*:[^:]*:")

Row = tuple[str, str, str]
"""Actions, resources or principals, and conditions of a statement, as the page has them."""


@pytest.fixture(scope="module")
def resources() -> Mapping[str, Any]:
    """The template of a stack with one construct of each kind."""
    shop = new_shop(board=True)
    job = shop.job("Job", job="JOB", propagate_tags=True, enabled=False, enable_execute_command=True)
    function = lambda_.Function.from_function_arn(shop.stack, "Their", f"{_HERE.replace('*', 'lambda')}:function:THEIR")
    targets: dict[str, ClockTarget] = {
        "QUEUE": SqsTarget(sqs.Queue.from_queue_arn(shop.stack, "Queue", f"{_HERE.replace('*', 'sqs')}:THEIR_QUEUE")),
        "TASK": TaskTarget(job),
        "LAMBDA": LambdaTarget(function),
        "EVENT": EventTarget(source="SOURCE", detail_type="due"),
        "COMMAND": CommandTarget(["true"]),
    }
    jobs = {name: ClockJob(every=timedelta(minutes=1), target=target) for name, target in targets.items()}
    clocks: dict[str, dict[str, Any]] = {
        "CLOCK": {"jobs": jobs},
        "CONFIGURED": {"config_file": "clock.toml"},
        "PINNED": {"command": ["beat"]},
    }
    for name, kind in clocks.items():
        image = ecs.ContainerImage.from_registry("clock:1")
        PinnedScheduler(shop.stack, name, ledger=shop.ledger, cluster=shop.cluster, image=image, **kind)
    shop.ledger.grant_operate(
        iam.ManagedPolicy(shop.stack, "Operator"),
        clusters=[shop.cluster],
        log_groups=[logs.LogGroup.from_log_group_name(shop.stack, "JobLog", "JOB_LOG")],
    )
    shop.ledger.grant_read(iam.ManagedPolicy(shop.stack, "Reader"))
    shop.ledger.grant_release(iam.ManagedPolicy(shop.stack, "Releaser"))
    shop.ledger.grant_rerun(iam.ManagedPolicy(shop.stack, "Asker"))
    shop.ledger.grant_board(iam.ManagedPolicy(shop.stack, "Viewer"))
    job.grant_run(iam.ManagedPolicy(shop.stack, "Runner"))
    found: Mapping[str, Any] = assertions.Template.from_stack(shop.stack).to_json()["Resources"]
    return found


def test_every_statement_is_on_the_page_and_no_other(resources: Mapping[str, Any]) -> None:
    """Role by role: what, on what, under which condition."""
    made: dict[str, set[Row]] = {}
    for owner, statement in _statements(resources):
        if not LEFT_OUT.match(owner):
            made.setdefault(_section_of(owner), set()).add(_row(statement, resources))
    assert made == {section: _rows(section) for section in SECTIONS}


def test_what_a_vpc_adds_is_on_the_page(resources: Mapping[str, Any]) -> None:
    """To each function the same."""
    shop = new_shop()
    RunLedger(shop.stack, "In", functions=FunctionSettings(vpc=shop.cluster.vpc))
    found: Mapping[str, Any] = assertions.Template.from_stack(shop.stack).to_json()["Resources"]
    rows = {
        function: {_row(each, found) for owner, each in _statements(found) if owner.startswith(f"In{function}Role")}
        for function in ("Recorder", "Watchdog")
    }
    for function, told in rows.items():
        base = {
            _row(each, resources) for owner, each in _statements(resources) if owner.startswith(f"Ledger{function}")
        }
        assert told - base == _rows("Functions in a VPC")


def test_every_row_says_why() -> None:
    """The last column is not empty."""
    rows = re.findall(r"^\|.*\|$", PAGE, re.MULTILINE)
    assert [row for row in rows if not row.rpartition("|")[0].rpartition("|")[2].strip()] == []


def _section_of(owner: str) -> str:
    owner = owner.replace("LedgerUnsettled", "LedgerDeadLetters")  # they are on the page as one
    return next((section for section, prefix in SECTIONS.items() if owner.startswith(prefix)), f"none for {owner}")


def _rows(section: str) -> set[Row]:
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\| `.*\|$", text, re.MULTILINE)]
    return {(actions, on, condition) for actions, on, condition, _ in cells}


def _statements(resources: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each statement, with the logical ID of the role, policy or resource that it is of."""
    for logical_id, resource in resources.items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::IAM::Role":
            documents = [each["PolicyDocument"] for each in properties.get("Policies", [])]
            owners = {logical_id: [*documents, properties["AssumeRolePolicyDocument"]]}
        elif resource["Type"] == "AWS::Lambda::Permission":
            owners = {properties["FunctionName"]["Fn::GetAtt"][0]: [{"Statement": [_permission(properties)]}]}
        elif "PolicyDocument" in properties:
            attached = properties.get("Roles") or properties.get("Queues") or _takers(logical_id, resources)
            owners = {each["Ref"]: [properties["PolicyDocument"]] for each in attached}
        else:
            continue
        yield from (
            (owner, statement)
            for owner, documents in owners.items()
            for document in documents
            for statement in document["Statement"]
        )


def _takers(policy_id: str, resources: Mapping[str, Any]) -> list[dict[str, str]]:
    """The roles that have a managed policy; one that no role here has stands for itself."""
    wanted = {"Ref": policy_id}
    roles = [
        name for name, each in resources.items() if wanted in each.get("Properties", {}).get("ManagedPolicyArns", ())
    ]
    return [{"Ref": name} for name in roles] or [wanted]


def _permission(properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """A function's permission as the statement that Lambda makes of it."""
    return {
        "Effect": "Allow",
        "Action": properties["Action"],
        "Principal": {"Service": properties["Principal"]},
        "Condition": {"ArnLike": {"aws:SourceArn": properties["SourceArn"]}},
    }


def _row(statement: Mapping[str, Any], resources: Mapping[str, Any]) -> Row:
    def texts(value: object, separator: str = "`<br>`") -> str:
        return separator.join(_text(each, resources) for each in (value if isinstance(value, list) else [value]))

    actions = f"`{texts(statement['Action'])}`" + (" denied" if statement["Effect"] == "Deny" else "")
    whom = [f"`{texts(each)}`" if each != "*" else "anybody" for each in statement.get("Principal", {}).values()]
    on = [f"`{texts(statement['Resource'])}`"] if "Resource" in statement else []
    conditions = [
        f"`{operator} {key} {texts(value, ', ')}`"
        for operator, keys in statement.get("Condition", {}).items()
        for key, value in keys.items()
    ]
    return actions, " ".join([*on, *(f"by {each}" for each in whom)]), "<br>".join(conditions)


def _text(value: Any, resources: Mapping[str, Any]) -> str:  # noqa: ANN401  # a template's value
    """The value as the page has it: no account, Region or partition, and resources by what they are."""
    if isinstance(value, str):
        return _ARN.sub("", value).replace(str(ENVIRONMENT.account), "ACCOUNT")
    [(function, argument)] = value.items()
    if function == "Fn::Join":
        return _ARN.sub("", "".join(part if isinstance(part, str) else _text(part, resources) for part in argument[1]))
    name = argument[0] if function == "Fn::GetAtt" else argument
    if name.startswith("AWS::"):
        return str(name.removeprefix("AWS::"))
    if resources[name]["Type"] == "AWS::IAM::Role":
        return "EXECUTION_ROLE" if "ExecutionRole" in name else "TASK_ROLE"
    return WORDS[resources[name]["Type"]]
