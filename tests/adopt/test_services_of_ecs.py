"""How many tasks a service of Amazon ECS runs: JSON for the AWS CLI, CloudFormation, CDK sources, Terraform."""

from __future__ import annotations

import json

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import FoundService
from cronce.adopt.audit.services import read_services

TASK = {"family": "web", "containerDefinitions": [{"name": "app", "image": "x", "command": ["celery", "beat"]}]}


def _services(files: dict[str, str]) -> list[FoundService]:
    reading = read_services(Files.of(files))
    assert reading.notes == []
    return reading.services


def _one(files: dict[str, str]) -> FoundService:
    (service,) = _services(files)
    return service


@pytest.mark.parametrize(
    ("fields", "most", "overlaps"),
    [
        ({"desiredCount": 4}, 4, False),
        ({"desiredCount": 1}, 1, True),
        ({"desiredCount": 1, "deploymentConfiguration": {"maximumPercent": 200}}, 1, True),
        ({"desiredCount": 1, "deploymentConfiguration": {"maximumPercent": 199}}, 1, False),
        ({"desiredCount": 1, "deploymentConfiguration": {"maximumPercent": 100}}, 1, False),
    ],
)
def test_a_service_of_the_cli_is_joined_with_its_task_definition(
    fields: dict[str, object], most: int, *, overlaps: bool
) -> None:
    """200 %, the default, lets a second task run during a deployment; 199 % of one task is one."""
    service = {"serviceName": "web", "taskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/web:7", **fields}
    found = _one({"ecs/task.json": json.dumps(TASK), "ecs/service.json": json.dumps(service, indent=1)})
    assert (found.most, bool(found.overlap), found.command) == (most, overlaps, ("celery", "beat"))
    assert (str(found.place.path), found.place.line) == ("ecs/service.json", 4)


def test_a_task_definition_without_a_service_has_an_unknown_number_of_copies() -> None:
    """The number is stated elsewhere."""
    found = _one({"task.json": json.dumps({"taskDefinition": TASK})})
    assert (found.least, found.most, found.copies) == (1, None, "")


TEMPLATE = """\
Parameters:
  Count: {{Type: Number, Default: 3}}
Resources:
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      ContainerDefinitions:
        - Name: app
          Image: !Sub '${{AWS::AccountId}}.dkr.ecr.amazonaws.com/x'
          Command: [celery, beat]
  Web:
    Type: AWS::ECS::Service
    Properties:
      TaskDefinition: !Ref Task
      {properties}
{more}
"""


@pytest.mark.parametrize(
    ("properties", "most", "line", "overlaps"),
    [
        ("DesiredCount: 4", 4, 15, False),
        ("DesiredCount: !Ref Count", 3, 15, False),
        ("DesiredCount: {Ref: Count}", 3, 15, False),
        ("DesiredCount: !If [A, 1, 2]", 2, 15, False),
        ("LaunchType: FARGATE", 1, 11, True),
        ("DeploymentConfiguration: {MaximumPercent: 100, MinimumHealthyPercent: 0}", 1, 11, False),
    ],
)
def test_a_template_states_its_copies_through_parameters(
    properties: str, most: int | None, line: int, *, overlaps: bool
) -> None:
    """Intrinsic functions in either form; what they cannot tell is unknown."""
    found = _one({"stack.yaml": TEMPLATE.format(properties=properties, more="")})
    assert (found.name, found.most, found.place.line) == ("Web", most, line)
    assert (bool(found.overlap), found.command) == (overlaps, ("celery", "beat"))


@pytest.mark.parametrize(
    "resource",
    [
        "!Sub service/${Cluster}/${Web.Name}",
        "!Join ['/', [service, !Ref Cluster, !GetAtt Web.Name]]",
        '{"Fn::Join": ["", ["service/", {"Ref": "Cluster"}, "/", {"Fn::GetAtt": ["Web", "Name"]}]]}',
    ],
)
def test_a_scaling_target_states_the_copies_of_the_service_that_it_names(resource: str) -> None:
    """As CDK writes it, too."""
    more = (
        "  Scaling:\n    Type: AWS::ApplicationAutoScaling::ScalableTarget\n"
        f"    Properties:\n      MinCapacity: 2\n      MaxCapacity: 10\n      ResourceId: {resource}\n"
    )
    found = _one({"stack.yml": TEMPLATE.format(properties="DesiredCount: 1", more=more)})
    assert (found.least, found.most, found.copies, found.place.line) == (2, 10, "autoscaling, at most 10", 20)


TERRAFORM = """\
variable "replicas" {{
  default = 3
}}
resource "aws_ecs_task_definition" "web" {{
  family = "web"
  container_definitions = {definitions}
}}
resource "aws_ecs_service" "web" {{
  task_definition = aws_ecs_task_definition.web.arn
  {service}
}}
{more}
"""
ENCODED = 'jsonencode([{ name = "app", image = "${aws_ecr_repository.x.url}:1", command = ["celery", "beat"] }])'
HEREDOC = '<<EOF\n[{"name": "app", "image": "x", "cpu": ${var.cpu},\n  "command": ["celery", "beat"]}]\nEOF'


@pytest.mark.parametrize(
    ("definitions", "service", "most", "line", "overlaps"),
    [
        (ENCODED, "desired_count = 4", 4, 10, False),
        (ENCODED, "desired_count = var.replicas", 3, 10, False),
        (ENCODED, "desired_count = local.many", None, 10, False),
        (ENCODED, "", 1, 8, True),
        (ENCODED, "deployment_maximum_percent = 100", 1, 8, False),
        (ENCODED, 'scheduling_strategy = "DAEMON"', None, 8, False),
        (HEREDOC, "desired_count = 4", 4, 13, False),
        ('file("${path.module}/web.json")', "desired_count = 4", 4, 10, False),
    ],
)
def test_terraform_states_its_copies_through_variables(
    definitions: str, service: str, most: int | None, line: int, *, overlaps: bool
) -> None:
    """Containers as `jsonencode`, as JSON in the text, and in a file of their own."""
    found = _one(
        {
            "infra/web.tf": TERRAFORM.format(definitions=definitions, service=service, more=""),
            "infra/web.json": json.dumps(TASK["containerDefinitions"]),
        }
    )
    assert (found.name, found.most, found.place.line) == ("web", most, line)
    assert (bool(found.overlap), found.command) == (overlaps, ("celery", "beat"))


@pytest.mark.parametrize(
    ("definitions", "command"),
    [
        ("jsonencode(local.containers)", ("celery", "beat")),
        ('jsonencode(concat([{ image = "x", command = ["celery", "beat"] }], local.more))', ("celery", "beat")),
        ("jsonencode(concat(local.containers, []))", None),
        ("module.container.json", None),
        ("var.a ? module.b[0].c : jsonencode([local.d])", None),
    ],
)
def test_terraform_follows_locals_and_leaves_out_what_it_cannot_follow(
    definitions: str, command: tuple[str, ...] | None
) -> None:
    """The service is there with its count, whatever its containers are."""
    more = 'locals {\n  containers = [{ image = "x", command = ["celery", "beat"] }]\n  two = 2\n}\n'
    text = TERRAFORM.format(definitions=definitions, service="desired_count = local.two", more=more)
    found = _one({"main.tf": text})
    assert (found.most, found.command) == (2, command)


def test_terraform_autoscaling_and_the_line_of_a_command_in_a_heredoc() -> None:
    """The limit of the target that names the service; the command's own line."""
    more = (
        'resource "aws_appautoscaling_target" "web" {\n  min_capacity = 2\n  max_capacity = 8\n'
        '  resource_id = "service/main/${aws_ecs_service.web.name}"\n}\n'
    )
    found = _one({"main.tf": TERRAFORM.format(definitions=HEREDOC, service="desired_count = 1", more=more)})
    assert (found.least, found.most, found.place.line) == (2, 8, 17)
    assert found.command_place is not None
    assert found.command_place.line == 8


def test_a_call_of_a_terraform_module_with_a_count_is_a_service() -> None:
    """The arguments of the community module for ECS."""
    text = (
        'module "web" {\n  source = "terraform-aws-modules/ecs/aws//modules/service"\n  desired_count = 3\n'
        '  container_definitions = {\n    app = {\n      command = ["celery", "beat"]\n    }\n  }\n}\n'
    )
    found = _one({"main.tf": text})
    assert (found.name, found.most, found.command) == ("web", 3, ("celery", "beat"))


PYTHON = """\
from aws_cdk import aws_ecs as ecs
task = ecs.FargateTaskDefinition(self, "Task")
task.add_container("app", image=ecs.ContainerImage.from_asset("../app"), command=["celery", "beat"])
service = ecs.FargateService(self, "Web", cluster=cluster, task_definition=task{count})
{more}
"""
TYPESCRIPT = """\
import * as ecs from 'aws-cdk-lib/aws-ecs';
const task = new ecs.FargateTaskDefinition(this, 'Task');
const image = ecs.ContainerImage.fromAsset(path.join(__dirname, '../app'));
task.addContainer('app', {{ image, command: ['celery', 'beat'] }});
const service = new ecs.FargateService(this, 'Web', {{ cluster, taskDefinition: task{count} }});
{more}
"""


@pytest.mark.parametrize(
    ("path", "template", "count", "more", "most", "line"),
    [
        ("stack.py", PYTHON, ", desired_count=4", "", 4, 4),
        ("stack.py", PYTHON, ", desired_count=count", "", None, 4),
        ("stack.py", PYTHON, "", "", 1, 4),
        ("stack.py", PYTHON, "", "service.auto_scale_task_count(max_capacity=6)", 6, 5),
        ("stack.ts", TYPESCRIPT, ", desiredCount: 4", "", 4, 5),
        ("stack.ts", TYPESCRIPT, "", "service.autoScaleTaskCount({ minCapacity: 2, maxCapacity: 6 });", 6, 6),
    ],
)
def test_a_cdk_source_states_its_copies(  # noqa: PLR0917
    path: str, template: str, count: str, more: str, most: int | None, line: int
) -> None:
    """With the folder of the image and the command of the container."""
    found = _one({path: template.format(count=count, more=more), "app/x.py": ""})
    assert (found.name, found.most, found.place.line) == ("Web", most, line)
    assert (found.command, str(found.folder)) == (("celery", "beat"), "app")


def test_the_pattern_with_a_load_balancer_has_its_container_inside() -> None:
    """`task_image_options`."""
    text = (
        "from aws_cdk import aws_ecs_patterns as patterns\n"
        'patterns.ApplicationLoadBalancedFargateService(self, "Web", desired_count=2,\n'
        "    task_image_options=patterns.ApplicationLoadBalancedTaskImageOptions(\n"
        '        image=ecs.ContainerImage.from_asset("web")))\n'
    )
    found = _one({"stack.py": text, "web/Dockerfile": 'FROM x\nCMD ["gunicorn", "app:app"]\n'})
    assert (found.most, str(found.folder), found.command) == (2, "web", ("gunicorn", "app:app"))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.json", '{"containerDefinitions": 5, "desiredCount": []}'),
        ("a.json", '{"containerDefinitions": [1, {"command": {"a": 1}}], "desiredCount": {"x": 1}}'),
        ("a.yaml", "Resources:\n  A: {Type: AWS::ECS::Service, Properties: 5}\n"),
        ("a.yaml", "Resources:\n  A: {Type: AWS::ECS::TaskDefinition, Properties: {ContainerDefinitions: {a: 1}}}\n"),
        ("a.yaml", "AWS::ECS::Service: [1]\n"),
        ("a.tf", 'resource "aws_ecs_service" "web" {\n  desired_count = [\n'),
        ("a.tf", 'resource "aws_ecs_service" {}\nresource {}\nmodule "x" { desired_count = {} }\n'),
        ("a.tf", "desired_count = " + "[" * 50_000),
        ("a.py", "import aws_cdk\nFargateService(" + "(" * 50_000),
        ("a.ts", "import 'aws-cdk-lib';\nnew FargateService(this, {desiredCount: }"),
    ],
)
def test_files_of_wrong_types_do_no_harm(path: str, text: str) -> None:
    """What can be read is read; nothing is raised."""
    read_services(Files.of({path: text}))


def test_a_definition_outside_of_the_project_is_noted() -> None:
    """With the line that names it."""
    text = TERRAFORM.format(definitions='file("../../web.json")', service="", more="")
    reading = read_services(Files.of({"infra/main.tf": text}))
    assert [(note.place.line, note.message) for note in reading.notes] == [
        (6, "not read: container_definitions are in a file outside of the project")
    ]
