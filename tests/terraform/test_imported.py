"""What `cronce import` writes for Terraform is formatted, plans, and says what the source said."""

from __future__ import annotations

import json
import random
import shutil
import unicodedata
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Policy
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import ImageWork, TaskWork
from cronce.adopt.convert.writers.literals import hcl_key, hcl_string
from cronce.cli.actions.check_plan import check_plan
from tests.adopt.convert.files import FILES, converted
from tests.support.terraform import MODULES, REGION

if TYPE_CHECKING:
    from tests.support.terraform import Terraform

pytestmark = pytest.mark.slow  # one plan of every file: half a minute

NOW = datetime(2026, 11, 29, tzinfo=UTC)
ROLE = "arn:aws:iam::111122223333:role"
ROLES = f'task_role_arn = "{ROLE}/task", execution_role_arn = "{ROLE}/execution"'
CLUSTER = f"arn:aws:ecs:{REGION}:111122223333:cluster"
DEFINITION = f"arn:aws:ecs:{REGION}:111122223333:task-definition/app:1"
HOSTILE = [*"ab\"'\\${}%#\n\r\t `<>=[]()!@:;,/*\u0301e\u202e\x1b\x85\u2028\U0001f600"]
GIVEN = {
    "ledger": "module.ledger.ledger",
    "cluster_arn": f'"{CLUSTER}/main"',
    "cluster_arns": f'{{ "" = "{CLUSTER}/main", api = "{CLUSTER}/api", archive = "{CLUSTER}/archive" }}',
    "task_definition": f'{{ arn = "{DEFINITION}", container_name = "app", {ROLES} }}',
    "task_definitions": "local.task_definitions",
    "entry_points": "local.entry_points",
    "secret_arns": "local.secret_arns",
    "config": "local.config",
    "guard_image": '"cronce:1"',
    "roles": f"{{ {ROLES} }}",
    "log_configuration": '{ logDriver = "awslogs", options = { awslogs-group = "jobs" } }',
    "subnet_ids": '["subnet-0a1b2c3d4e5f60001"]',
    "security_group_ids": '["sg-0a1b2c3d4e5f60001"]',
}
ROOT = f"""
provider "aws" {{
  region = "{REGION}"
}}
variable "archive" {{
  type = string
}}
module "ledger" {{
  source         = "./modules/ledger"
  name           = "runs"
  lambda_archive = var.archive
}}
"""


def texts() -> list[str]:
    """Texts of characters that mean something to HCL."""
    chance = random.Random(20261201)
    return ["".join(chance.choices(HOSTILE, k=chance.randrange(1, 12))) for _ in range(400)]


def for_all(name: str, value: str) -> str:
    """A local value with an entry for each name that any file has."""
    works = [job.work for kind, file in FILES for job in converted(kind, file).jobs]
    images = [work for work in works if isinstance(work, ImageWork)]
    names = {
        "task_definitions": {work.definition for work in works if isinstance(work, TaskWork)},
        "entry_points": {job.name for kind, file in FILES for job in converted(kind, file).jobs},
        "secret_arns": {each.name for work in images for each in work.secrets.values()},
        "config": {each.name for work in images for each in work.config.values()}.union(
            *(work.config_maps for work in images)
        ),
    }[name]
    return f"  {name} = {{ for name in {json.dumps(sorted(names))} : name => {value} }}\n"


def module_of(kind: str, name: str, folder: Path) -> str:
    """The file as a module in that folder; the block that calls it."""
    code = converted(kind, name, ImportTarget.TERRAFORM).code
    label = f"{kind}-{name}".replace(".", "-")
    (folder / label / "cronce" / "terraform").mkdir(parents=True)
    (folder / label / "cronce" / "terraform" / "modules").symlink_to(folder / "modules")
    (folder / label / "jobs.tf").write_text(code)
    needed = [line.split('"')[1] for line in code.splitlines() if line.startswith("variable ")]
    values = {"source": f'"./{label}"', **{each: GIVEN[each] for each in needed if each in GIVEN}}
    assert {*needed} - values.keys() <= {"assign_public_ip"}
    return "\n".join([f'module "{label}" {{', *(f"  {key} = {value}" for key, value in values.items()), "}"])


@pytest.fixture(scope="module")
def folder(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with a module for each file."""
    assert archive.exists()
    folder = tmp_path_factory.mktemp("imported")
    shutil.copytree(MODULES, folder / "modules")
    local = "".join(
        (
            for_all("task_definitions", f'{{ arn = "{DEFINITION}", container_name = "app", {ROLES} }}'),
            for_all("entry_points", '["/entry"]'),
            for_all("secret_arns", f'"arn:aws:secretsmanager:{REGION}:111122223333:secret:s"'),
            for_all("config", '{ region = "eu" }'),
        )
    )
    said = "\n".join([f"    {hcl_string(text)}," for text in texts()])
    keys = "\n".join([f"    {hcl_key(text)} = {hcl_string(text)}" for text in dict.fromkeys(texts())])
    outputs = f'output "texts" {{\n  value = [\n{said}\n  ]\n}}\noutput "keys" {{\n  value = {{\n{keys}\n  }}\n}}\n'
    calls = "\n".join(module_of(kind, name, folder) for kind, name in FILES)
    (folder / "main.tf").write_text(f"{ROOT}locals {{\n{local}}}\n{outputs}{calls}\n")
    return folder


@pytest.fixture(scope="module")
def plan(terraform: Terraform, archive: Path, folder: Path) -> dict[str, Any]:
    """The plan of all of it."""
    return terraform.plan(folder, archive=str(archive))


def test_it_is_formatted(terraform: Terraform, folder: Path) -> None:
    """As `terraform fmt` does."""
    flat = folder.parent / "flat"
    flat.mkdir()
    for kind, name in FILES:
        (flat / f"{kind}-{name}.tf".replace(".tf", "_tf")).with_suffix(".tf").write_text(
            converted(kind, name, ImportTarget.TERRAFORM).code
        )
    assert terraform.run(flat, "fmt", "-check", "-diff") == ""


def test_every_job_is_planned(plan: dict[str, Any]) -> None:
    """With its schedule, zone, state, policy and command."""
    found = {}
    for resource in _resources(plan["planned_values"]["root_module"]):
        if resource["type"] == "aws_scheduler_schedule":
            [override] = json.loads(resource["values"]["target"][0]["input"])["containerOverrides"]
            variables = {each["name"]: each["value"] for each in override["environment"]}
            label = resource["address"].split(".")[1]
            found[label, variables["CRONCE_JOB"]] = (resource["values"], override, variables)
    for kind, name in FILES:
        for job in converted(kind, name, ImportTarget.TERRAFORM).jobs:
            values, override, variables = found.pop((f"{kind}-{name}".replace(".", "-"), job.name))
            assert (values["schedule_expression"], values["schedule_expression_timezone"]) == (
                job.when.text,
                job.when.timezone,
            )
            assert values["state"] == ("ENABLED" if job.enabled else "DISABLED")
            assert Policy.from_json(variables["CRONCE_POLICY"]) == job.policy
            if not isinstance(job.work, ImageWork):
                words = job.work.command
                assert override.get("command") == (words and ["cronce", "exec", "--", *words])
                assert job.environment.items() <= variables.items()
    assert found == {}


def test_a_plan_of_imported_jobs_has_no_error(plan: dict[str, Any]) -> None:
    """But for names that two files have: they share one ledger here."""
    names = {each.name for each in check_plan(plan, now=NOW).findings if each.is_error}
    assert names <= {"job-name-used-twice", "duplicate-job"}


def test_hostile_texts_are_the_same_in_the_plan(plan: dict[str, Any]) -> None:
    """As values and as keys; HCL has them in NFC."""
    outputs = plan["planned_values"]["outputs"]
    expected = [unicodedata.normalize("NFC", text) for text in texts()]
    assert outputs["texts"]["value"] == expected
    assert outputs["keys"]["value"] == {text: text for text in expected}


def _resources(module: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(module.get("resources", ()))
    for child in module.get("child_modules", ()):
        found += _resources(child)
    return found
