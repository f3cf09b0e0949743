"""The examples can be planned, and `cronce check` reads real plans of them."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce.cli.actions.check_plan import check_plan
from tests.support.terraform import MODULES, ROOT
from tests.terraform.hcl import NAMES, blocks, of_module

if TYPE_CHECKING:
    from tests.support.terraform import Terraform

NOW = datetime(2026, 11, 29, tzinfo=UTC)
JOBS = {
    "complete": ("daily-digest",),
    "minimal": ("daily-digest", "weekly-digest"),
    "any-image": ("rails-digest",),
    "postgresql": ("daily-digest",),
}


@pytest.fixture(scope="module")
def examples(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `examples` beside the modules, with the functions' code in each example."""
    folder = tmp_path_factory.mktemp("terraform") / "terraform"
    shutil.copytree(ROOT / "terraform", folder)
    for example in JOBS:
        shutil.copy(archive, folder / "examples" / example / "cronce-lambdas.zip")
    return folder / "examples"


def _plan(terraform: Terraform, folder: Path) -> dict[str, Any]:
    variables = {"image": "digest:1"} if folder.name == "complete" else {}
    return terraform.plan(folder, **variables)


@pytest.mark.parametrize("example", JOBS)
def test_it_is_formatted_and_its_plan_has_no_findings(terraform: Terraform, examples: Path, example: str) -> None:
    """From the VPC to the alarms, and for a cluster that exists."""
    terraform.run(examples / example, "fmt", "-check", "-diff")
    checked = check_plan(_plan(terraform, examples / example), now=NOW)
    assert (checked.jobs, checked.findings) == (JOBS[example], ())


def test_a_zone_that_does_not_exist_is_found_in_a_real_plan(terraform: Terraform, examples: Path) -> None:
    """Terraform plans it: HCL has no list of zones."""
    folder = shutil.copytree(examples / "minimal", examples / "no-such-zone")
    file = folder / "main.tf"
    file.write_text(file.read_text().replace("Europe/Berlin", "Europe/Berlim"))
    found = check_plan(_plan(terraform, folder), now=NOW).findings
    assert [(each.name, each.is_error) for each in found] == [("schedule-invalid", True)] * 2
    assert found[0].address == 'module.job["daily-digest"].aws_scheduler_schedule.this["first"]'


def test_a_container_without_the_url_is_found_in_a_real_plan(terraform: Terraform, examples: Path) -> None:
    """The module cannot put it into a task definition of others."""
    folder = shutil.copytree(examples / "postgresql", examples / "no-url")
    file = folder / "main.tf"
    file.write_text(file.read_text().replace("    secrets   = [module.ledger.container_secret]\n", ""))
    [found] = check_plan(_plan(terraform, folder), now=NOW).findings
    assert (found.name, found.is_error) == ("ledger-missing", True)


@pytest.mark.parametrize("module", NAMES)
def test_the_example_of_a_readme_names_its_variables(module: str) -> None:
    """Each argument is a variable, and each required variable is there."""
    example = re.findall(r"```hcl\n(.*?)```", (MODULES / module / "README.md").read_text(), re.DOTALL)[0]
    [block] = [each for each in blocks(example) if each.kind == "module"]
    given = {*re.findall(r"^  (\w+) +=", block.body, re.MULTILINE)} - {"source"}
    variables = of_module(module, "variable")
    required = {name for name, block in variables.items() if block.argument("default") is None}
    assert required <= given <= variables.keys()
