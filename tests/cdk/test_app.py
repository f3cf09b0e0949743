"""The example app: what it deploys, and what the context changes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from app import DOCKERFILE, PROJECT, DailyDigest
from aws_cdk import assertions

from tests.cdk.shop import container_override


def _deployed(outdir: Path, **context: str) -> assertions.Template:
    app = cdk.App(outdir=str(outdir), context=context)
    stack = DailyDigest(app, "CronceDailyDigest")
    return assertions.Template.from_stack(stack)


@pytest.fixture(scope="module")
def outdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the app is synthesized to."""
    return tmp_path_factory.mktemp("example")


@pytest.fixture(scope="module")
def example(outdir: Path) -> assertions.Template:
    """The app as `cdk deploy` has it."""
    return _deployed(outdir)


def _resources(template: assertions.Template, kind: str) -> list[dict[str, Any]]:
    return [each["Properties"] for each in template.find_resources(kind).values()]


def test_there_is_no_nat_gateway_and_each_service_of_volume_has_an_endpoint(example: assertions.Template) -> None:
    """A NAT gateway would cost more than all else; endpoints of the gateway kind cost nothing."""
    example.resource_count_is("AWS::EC2::NatGateway", 0)
    endpoints = [json.dumps(each["ServiceName"]) for each in _resources(example, "AWS::EC2::VPCEndpoint")]
    assert sorted(endpoint.rpartition(".")[2].split('"')[0] for endpoint in endpoints) == ["dynamodb", "s3"]


def test_each_job_may_write_its_own_mails_and_no_others(example: assertions.Template) -> None:
    """The prefix of the bucket is the job's name."""
    allowed = [
        statement["Resource"]["Fn::Join"][1][-1]
        for policy in _resources(example, "AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "s3:PutObject"
    ]
    assert sorted(allowed) == ["/daily-digest/*", "/weekly-digest/*"]


def test_one_job_is_a_python_program_and_the_other_a_shell_script(example: assertions.Template) -> None:
    """The first has its image's own command."""
    commands = {}
    for schedule in _resources(example, "AWS::Scheduler::Schedule"):
        override = container_override(schedule["Target"]["Input"])
        variables = {each["name"]: each["value"] for each in override["environment"]}
        assert "DIGEST_BUCKET" in variables
        commands[variables["CRONCE_JOB"]] = override.get("command")
    assert commands == {"daily-digest": None, "weekly-digest": ["cronce", "exec", "--", "./digest.sh"]}


def test_the_clock_sends_its_ticks_to_the_queue_and_may_send_to_no_other(example: assertions.Template) -> None:
    """Twice a minute, which EventBridge Scheduler cannot."""
    [queue] = [
        name for name, each in example.find_resources("AWS::SQS::Queue").items() if each["Properties"].get("FifoQueue")
    ]
    [clock] = [
        container
        for task in _resources(example, "AWS::ECS::TaskDefinition")
        for container in task["ContainerDefinitions"]
        if container["Name"] == "clock"
    ]
    settings = next(each["Value"] for each in clock["Environment"] if each["Name"] == "CRONCE_CLOCK")
    assert {"Ref": queue} in settings["Fn::Join"][1]
    assert '"every":"30s"' in settings["Fn::Join"][1][0].replace(" ", "")
    sends = [
        statement["Resource"]
        for policy in _resources(example, "AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "sqs:SendMessage"
    ]
    assert sends == [{"Fn::GetAtt": [queue, "Arn"]}]


def test_the_image_is_built_for_the_processor_that_the_tasks_say(example: assertions.Template, outdir: Path) -> None:
    """A laptop with another one would build an image that no task can start."""
    [asset] = json.loads((outdir / "CronceDailyDigest.assets.json").read_text())["dockerImages"].values()
    assert (asset["source"]["dockerFile"], asset["source"]["platform"]) == (DOCKERFILE, "linux/amd64")
    tasks = _resources(example, "AWS::ECS::TaskDefinition")
    assert {task["RuntimePlatform"]["CpuArchitecture"] for task in tasks} == {"X86_64"}


def test_the_image_is_made_of_the_project_and_of_nothing_else(example: assertions.Template, outdir: Path) -> None:
    """Environments, caches and the synthesized app itself would travel to the engine, and change its hash."""
    del example
    [asset] = json.loads((outdir / "CronceDailyDigest.assets.json").read_text())["dockerImages"].values()
    context = outdir / asset["source"]["directory"]
    found = {path.relative_to(context).as_posix() for path in context.rglob("*") if path.is_file()}
    copied = [
        each
        for line in re.findall(r"^COPY (.*) \S+$", (context / DOCKERFILE).read_text(), re.MULTILINE)
        for each in line.split()
    ]
    assert [each for each in copied if not (context / each).exists()] == []
    assert {"pyproject.toml", "ledger/cronce/__init__.py", "examples/digest/digest.sh"} <= found
    folders = {path.partition("/")[0] for path in found if "/" in path}
    assert folders == {"constructs", "examples", "lambdas", "ledger", "terraform"}
    assert [path for path in found if "__pycache__" in path] == []


def test_every_alarm_is_quiet_while_nothing_happens_but_that_of_the_clock(example: assertions.Template) -> None:
    """Its silence is the one thing to be told of. They go to nobody, unless the context names an address."""
    alarms = _resources(example, "AWS::CloudWatch::Alarm")
    on_silence = [alarm["MetricName"] for alarm in alarms if alarm["TreatMissingData"] == "breaching"]
    assert on_silence == ["TickDispatched"]
    assert {alarm["TreatMissingData"] for alarm in alarms} == {"breaching", "notBreaching"}
    assert [alarm for alarm in alarms if "AlarmActions" in alarm] == []
    example.resource_count_is("AWS::SNS::Topic", 0)


def test_every_alarm_goes_to_the_address_of_the_context(tmp_path: Path) -> None:
    """By a topic, which the stack makes."""
    template = _deployed(tmp_path, alarm_email="oncall@example.com")
    [topic] = template.find_resources("AWS::SNS::Topic")
    alarms = _resources(template, "AWS::CloudWatch::Alarm")
    assert [alarm["AlarmActions"] for alarm in alarms] == [[{"Ref": topic}]] * len(alarms)
    [subscription] = _resources(template, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "oncall@example.com")


def test_an_image_of_the_context_is_taken_as_it_is(tmp_path: Path) -> None:
    """Nothing is built then."""
    template = _deployed(tmp_path, image="registry.example.com/digest:7")
    tasks = _resources(template, "AWS::ECS::TaskDefinition")
    images = [container["Image"] for task in tasks for container in task["ContainerDefinitions"]]
    assert {*images} == {"registry.example.com/digest:7"}
    assert json.loads((tmp_path / "CronceDailyDigest.assets.json").read_text())["dockerImages"] == {}


def test_the_costs_page_counts_the_alarms_that_there_are(example: assertions.Template) -> None:
    """They are a line of its costs; so is the size of the clock's task."""
    page = (PROJECT / "docs" / "costs.md").read_text()
    assert f"| {len(_resources(example, 'AWS::CloudWatch::Alarm'))} alarms |" in page
    [clock] = [each for each in _resources(example, "AWS::ECS::TaskDefinition") if "CLOCK" in json.dumps(each)]
    assert (clock["Cpu"], clock["Memory"]) == ("256", "512")
    assert "730 hours of 0.25 vCPU and 0.5 GB" in page
