"""Platforms that run an image in a number of instances: Cloud Run, Azure Container Apps, Copilot, Render, Nomad."""

from __future__ import annotations

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.services import read_services

DOCKERFILE = 'FROM node:24\nCMD ["node", "server.js"]\n'
KNATIVE = """apiVersion: serving.knative.dev/v1
kind: Service
metadata:
  name: api
spec:
  template:
    metadata:
      annotations: {{{}}}
    spec:
      containers:
        - image: eu.gcr.io/p/api
          env: [{{name: RUN_CRON, value: "true"}}]
"""
CONTAINER_APP = """type: Microsoft.App/containerApps
name: api
properties:
  template:
    containers: [{{name: api, image: r.azurecr.io/api}}]
    scale: {{{}}}
"""
BICEP = """param most int = 4

resource api 'Microsoft.App/containerApps@2024-03-01' = {
  name: 'api'
  properties: {
    template: {
      containers: [
        {
          name: 'api'
          image: 'r.azurecr.io/api:1'
          command: [ 'node', 'worker.js' ]
        }
      ]
      scale: {
        minReplicas: 1
        maxReplicas: most
      }
    }
  }
}
"""
COPILOT = "name: api\ntype: Backend Service\nimage:\n  build: Dockerfile\n{}\n"
RENDER = "services:\n  - type: web\n    name: api\n    runtime: node\n    startCommand: node server.js\n    {}\n"
NOMAD = """variable "copies" {{ default = 3 }}
job "api" {{
  {}
  group "api" {{
    {}
    task "api" {{
      driver = "docker"
      config {{
        image = "r.example.com/api:1"
      }}
      env {{
        RUN_CRON = "true"
      }}
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("path", "text", "least", "most", "line", "overlaps"),
    [
        (
            "service.yaml",
            KNATIVE.format("autoscaling.knative.dev/maxScale: '9', run.googleapis.com/x: y"),
            1,
            9,
            8,
            False,
        ),
        ("service.yaml", KNATIVE.format("autoscaling.knative.dev/max-scale: 1"), 1, 1, 8, True),
        ("service.yaml", KNATIVE.format("autoscaling.knative.dev/min-scale: 2"), 2, None, 4, False),
        ("service.yaml", KNATIVE.format("run.googleapis.com/cpu-throttling: 'false'"), 1, 100, 4, False),
        ("app.yaml", CONTAINER_APP.format("minReplicas: 2, maxReplicas: 5"), 2, 5, 6, False),
        ("app.yaml", CONTAINER_APP.format("minReplicas: 1, maxReplicas: 1"), 1, 1, 6, True),
        ("app.yaml", CONTAINER_APP.format(""), 1, 10, 2, False),
        ("main.bicep", BICEP, 1, 4, 16, False),
        ("copilot/api/manifest.yml", COPILOT.format("count: 2"), 2, 2, 5, False),
        ("copilot/api/manifest.yml", COPILOT.format("count: {range: 1-6}"), 1, 6, 5, False),
        ("copilot/api/manifest.yml", COPILOT.format("count:\n  range: {min: 2, max: 8}"), 2, 8, 6, False),
        ("copilot/api/manifest.yml", COPILOT.format("count: 1\nenvironments: {prod: {count: 3}}"), 3, 3, 6, False),
        ("copilot/api/manifest.yml", COPILOT.format("count: 1"), 1, 1, 5, True),
        ("copilot/api/manifest.yml", COPILOT.format("deployment: {rolling: recreate}"), 1, 1, 1, False),
        ("render.yaml", RENDER.format("numInstances: 2"), 2, 2, 6, False),
        ("render.yaml", RENDER.format("scaling: {minInstances: 1, maxInstances: 3}"), 1, 3, 6, False),
        ("render.yaml", RENDER.format("plan: starter"), 1, 1, 3, True),
        ("api.nomad", NOMAD.format("", "count = 2"), 2, 2, 5, False),
        ("api.nomad.hcl", NOMAD.format("", "count = var.copies"), 3, 3, 5, False),
        ("api.nomad.hcl", NOMAD.format("", ""), 1, 1, 4, False),
        ("api.nomad.hcl", NOMAD.format('type = "system"', ""), 2, None, 4, False),
    ],
)
def test_instances_are_counted(  # noqa: PLR0917  # the columns
    path: str,
    text: str,
    least: int,
    most: int | None,
    line: int,
    overlaps: bool,  # noqa: FBT001
) -> None:
    """As stated, or as the platform does it if nothing is stated; one instance is doubled by most deployments."""
    reading = read_services(Files.of({path: text, "Dockerfile": DOCKERFILE, "server.js": ""}))
    (found,) = reading.services
    assert (found.least, found.most, found.place.line, bool(found.overlap)) == (least, most, line, overlaps)
    assert found.command == ("node", "worker.js" if path == "main.bicep" else "server.js")
    assert reading.notes == []


def test_what_the_platform_itself_starts_is_no_service() -> None:
    """Batch jobs of Nomad, scheduled jobs of Copilot, cron jobs of Render."""
    files = {
        "a.nomad": NOMAD.format('type = "batch"', ""),
        "copilot/x/manifest.yml": "name: x\ntype: Scheduled Job\n",
        "render.yaml": "services: [{type: cron, name: x, schedule: '0 6 * * *'}]",
    }
    assert read_services(Files.of(files)).services == []


@pytest.mark.parametrize(
    "resource",
    [
        """resource "google_cloud_run_v2_service" "api" {
  template {
    scaling {
      max_instance_count = var.most
    }
    containers {
      image = "eu.gcr.io/p/api"
      env {
        name  = "RUN_CRON"
        value = "true"
      }
    }
  }
}""",
        """resource "google_cloud_run_service" "api" {
  template {
    metadata {
      annotations = { "autoscaling.knative.dev/maxScale" = var.most }
    }
    spec {
      containers {
        image = "eu.gcr.io/p/api"
        env {
          name  = "RUN_CRON"
          value = "true"
        }
      }
    }
  }
}""",
        """resource "azurerm_container_app" "api" {
  template {
    min_replicas = 1
    max_replicas = var.most
    container {
      image = "r.azurecr.io/api"
      env {
        name  = "RUN_CRON"
        value = "true"
      }
    }
  }
}""",
        """resource "kubernetes_deployment_v1" "api" {
  spec {
    replicas = var.most
    template {
      spec {
        container {
          image = "r.example.com/api"
          env {
            name  = "RUN_CRON"
            value = "true"
          }
        }
      }
    }
  }
}""",
    ],
)
def test_services_of_other_platforms_in_terraform_are_counted(resource: str) -> None:
    """With the value of the variable, and the settings of the container."""
    files = {
        "infra/main.tf": resource,
        "infra/variables.tf": 'variable "most" {\n  default = 1\n}\n',
        "infra/prod.tfvars": "most = 6\n",
        "Dockerfile": DOCKERFILE,
        "server.js": "",
    }
    (found,) = read_services(Files.of(files)).services
    assert (found.most, found.command, dict(found.environment)) == (6, ("node", "server.js"), {"RUN_CRON": "true"})


@pytest.mark.parametrize(
    ("variable", "most"), [('default = "staging"', 2), ('default = "production"', 5), ("type = string", 5)]
)
def test_a_table_of_environments_is_read_with_the_variable_that_chooses(variable: str, most: int) -> None:
    """The largest number if nothing says which environment it is."""
    text = (
        "locals {\n  all = {\n    staging = { copies = 2 }\n    production = { copies = 5 }\n  }\n"
        "  copies = local.all[var.environment].copies\n}\n"
        f'variable "environment" {{\n  {variable}\n}}\n'
        'resource "aws_ecs_service" "s" {\n  desired_count = local.copies\n}\n'
    )
    (found,) = read_services(Files.of({"main.tf": text})).services
    assert found.most == most


def test_what_a_caller_gives_to_a_module_is_known_inside_through_every_level() -> None:
    """A variable of the caller, a local with a condition, a member of an object, and a module in a module."""
    files = {
        "prod/main.tf": 'module "app" {\n  source = "../modules/app"\n  settings = { copies = var.copies }\n}\n'
        'variable "copies" {}\n',
        "prod/prod.tfvars": "copies = 5\n",
        "modules/app/main.tf": 'module "service" {\n  source = "../service"\n  copies = var.settings.copies\n}\n',
        "modules/service/main.tf": "locals {\n  copies = var.copies > 0 ? var.copies : 1\n"
        '  one = { name = "x", image = "api", command = ["celery", "beat"] }\n}\n'
        'resource "aws_ecs_task_definition" "t" {\n  container_definitions = jsonencode([local.one])\n}\n'
        'resource "aws_ecs_service" "s" {\n  task_definition = aws_ecs_task_definition.t.arn\n'
        "  desired_count = local.copies\n}\n",
    }
    (found,) = read_services(Files.of(files)).services
    assert (found.name, found.most, found.command) == ("app.service.s", 5, ("celery", "beat"))
