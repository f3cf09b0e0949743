"""Each module by itself: valid, formatted, tested case by case, and documented."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import schedule_group_name, schedule_name_stem
from cronce.vocabulary.policy import Policy
from cronce_cdk import ConstructConfigError
from cronce_cdk._names import function_name, queue_name
from tests.support.terraform import LANE, MODULES, ROOT, write_configuration
from tests.terraform.facts import planned_resources
from tests.terraform.hcl import NAMES, cases, of_module, texts_of, written

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce_cdk import ScheduledTask
    from tests.support.terraform import Terraform

LEDGERS = ["runs", "my.runs", "a" * 64, "a" * 65, "a" * 66, "a" * 67, "a.b" * 85]
JOBS = ["daily-digest", "a b  c", "--x--", "???", "ü" * 70, "x" * 70]
DATA = ("aws_partition", "aws_caller_identity")
"""Data sources without a Region."""
WITHOUT_TAGS = (
    "aws_cloudwatch_event_api_destination",
    "aws_cloudwatch_event_target",
    "aws_iam_role_policy",
    "aws_lambda_function_event_invoke_config",
    "aws_lambda_permission",
    "aws_scheduler_schedule",
    "aws_sqs_queue_policy",
)
"""Types that take no tags."""

DIFFERENT = {
    *("name", "image", "memory"),  # of another thing in each
    "ledger",  # each module takes what it needs of it
    "job",  # of a clock: the name of a service too
    *("command", "environment"),  # of a scheduled task: part of an input, in which EventBridge Scheduler replaces text
    "capacity_provider_strategy",  # of a clock: not Spot alone
    "subnet_ids",  # of a scheduled task: none on EC2
}
"""Variables of the same name that have another rule in each module."""


@pytest.mark.parametrize("module", NAMES)
def test_it_is_formatted_valid_and_every_case_passes(terraform: Terraform, module: str, tmp_path: Path) -> None:
    """`terraform fmt`, `validate` and `test`, against the provider's schema."""
    folder = shutil.copytree(MODULES, tmp_path / "modules") / module
    terraform.run(folder, "fmt", "-check", "-diff", "-recursive")
    terraform.run(folder, "init", "-backend=false")
    terraform.run(folder, "validate")
    told = terraform.run(folder, "test")
    assert f"Success! {len(cases(module))} passed, 0 failed." in told


@pytest.mark.parametrize("module", NAMES)
def test_every_refusal_and_warning_has_a_case(module: str) -> None:
    """As many cases as validations and preconditions; each warning also acknowledged."""
    expected = Counter(name for _, failures in cases(module) for name in failures)
    wanted: dict[str, int] = {}
    for name, block in of_module(module, "variable").items():
        wanted[f"var.{name}"] = block.count("validation")
    for address, block in of_module(module, "resource").items():
        wanted[address] = block.count("precondition")
    for name, block in of_module(module, "output").items():
        wanted[f"output.{name}"] = block.count("precondition")
    for name in of_module(module, "check"):
        wanted[f"check.{name}"] = 1
    assert {name: number for name, number in wanted.items() if expected[name] < number} == {}
    assert expected.keys() <= wanted.keys()
    text = "".join(file.read_text() for file in (MODULES / module / "tests").glob("*.hcl"))
    warnings = [name.replace("_", "-") for name in of_module(module, "check")]
    acknowledged = of_module(module, "variable").get("acknowledged_warnings")
    assert [name for name in warnings if f'"{name}"' not in text] == []
    assert [name for name in warnings if acknowledged is None or name not in acknowledged.body] == []


def test_the_cases_that_the_page_names_exist() -> None:
    """The table of problems in docs/terraform.md, one row for each; a name with an underscore is a run or a test."""
    page = (
        (ROOT / "docs" / "terraform.md")
        .read_text()
        .partition("## Problems of scheduled tasks")[2]
        .partition("\n## ")[0]
    )
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    assert [len(row) for row in rows] == [3] * 31
    runs = [name for module in NAMES for name, _ in cases(module)]
    runs += re.findall(r"^def test_(\w+)", "".join(file.read_text() for file in LANE.glob("test_*.py")), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", row[2])]
    assert len(named) >= 20
    assert [row[0] for row in rows if not row[2].strip(" |")] == []
    assert [name for name in named if not any(run.startswith(name) for run in runs)] == []


@pytest.mark.parametrize("module", NAMES)
def test_its_readme_lists_its_inputs_and_outputs(module: str) -> None:
    """Else: `python -m tests.terraform.hcl`."""
    assert (MODULES / module / "README.md").read_text() == written(module)


@pytest.mark.parametrize("module", NAMES)
def test_it_keeps_the_conventions(module: str) -> None:
    """What users of modules rely on."""
    variables, outputs = of_module(module, "variable"), of_module(module, "output")
    creates = bool(of_module(module, "resource"))
    assert {"create", "region", "tags"} <= variables.keys() or not creates
    assert [name for name, block in variables.items() if not block.argument("description")] == []
    assert [name for name, block in outputs.items() if not block.argument("description")] == []
    of_others = {"pinned-clock": ["config"], "guard": ["containers"]}
    """Words of `cronce clock` and of ECS, which these read."""
    assert [name for name, block in variables.items() if block.argument("type") in (None, "any")] == of_others.get(
        module, []
    )
    null = {name for name, block in variables.items() if block.argument("nullable") != "false"}
    assert {name for name in null if variables[name].argument("default") != "null"} <= {"schedule"}
    assert list(of_module(module, "provider")) == []
    text = "".join(texts_of(module).values())
    assert 'required_version = ">= 1.5.7"' in text
    assert re.findall(r'version = "([^"]*)"', text) == [">= 1.5.7", ">= 6.0"][: 1 + creates]


def test_a_variable_of_several_modules_is_the_same_in_all() -> None:
    """But for its description: type, default, and what is refused. Modules of Terraform share no declarations."""
    found: dict[str, dict[str, str]] = {}
    for module in NAMES:
        for name, block in of_module(module, "variable").items():
            found.setdefault(name, {})[module] = re.sub(r"^  description .*\n", "", block.body, flags=re.MULTILINE)
    different = {name for name, bodies in found.items() if len({*bodies.values()}) > 1}
    assert different == DIFFERENT
    first = {(*of_module(module, "variable"),)[:2] for module in NAMES if module != "guard"}
    assert first == {("create", "region")}


@pytest.mark.parametrize("module", NAMES)
def test_region_and_boundary_reach_every_resource(module: str) -> None:
    """One that was forgotten is in another Region, or cannot be created where boundaries are required."""
    for address, block in of_module(module, "resource").items():
        if address.startswith("aws_iam_"):
            assert block.argument("region") is None
        else:
            assert block.argument("region") == "var.region", address
        if address.startswith("aws_iam_role."):
            assert block.argument("permissions_boundary") == "var.iam_role_permissions_boundary", address
        if block.argument("tags") is None:
            assert address.partition(".")[0] in WITHOUT_TAGS, address
        assert block.argument("count") or block.argument("for_each"), address
    for address, block in of_module(module, "data").items():
        assert address.startswith(DATA) or block.argument("region") == "var.region", address


@pytest.mark.parametrize("module", NAMES)
def test_it_is_in_the_subset_that_opentofu_reads(module: str) -> None:
    """Nothing that only one of the two knows, or only a newer version than 1.5.7."""
    text = "".join(texts_of(module).values())
    newer = r"\bephemeral\b|provider::|^language \{|_wo\b|^removed \{|\benabled\s*=\s*var\.create|prevent_destroy"
    assert re.findall(newer, text, re.MULTILINE) == []


def test_a_release_of_the_modules_knows_the_archive_of_its_version(
    terraform: Terraform, archive: Path, tmp_path: Path
) -> None:
    """`make terraform` puts the archive and its hash beside the module; another archive in its place is a warning."""
    write_configuration(tmp_path, 'module "ledger" {\n  source = "MODULES/ledger"\n  name   = "runs"\n}\n')
    ledger = tmp_path / "modules" / "ledger"
    shutil.copy(archive, ledger / "cronce-lambdas.zip")
    digest = hashlib.sha256(archive.read_bytes()).digest()
    (ledger / "cronce-lambdas.sha256").write_text(base64.b64encode(digest).decode() + "\n")
    terraform.init(tmp_path)
    assert "archive-differs" not in terraform.run(tmp_path, "plan", "-input=false")
    with (ledger / "cronce-lambdas.zip").open("ab") as other:
        other.write(b"x")
    assert "Warning: Check block assertion failed" in (told := terraform.run(tmp_path, "plan", "-input=false"))
    assert f"not {base64.b64encode(digest).decode()}" in " ".join(told.split())


@pytest.fixture(scope="module")
def names(terraform: Terraform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The planned resources of a ledger and of a job of each name."""
    folder = tmp_path_factory.mktemp("names")
    write_configuration(folder, (LANE / "names" / "main.tf").read_text())
    planned = planned_resources(terraform.plan(folder, ledgers=LEDGERS, jobs=JOBS))
    return {address: resource["values"] for address, resource in planned.items()}


@pytest.mark.parametrize("name", LEDGERS)
def test_the_names_that_follow_from_a_ledgers_are_those_of_the_constructs(
    names: dict[str, dict[str, Any]], name: str
) -> None:
    """Also those that the other modules derive, for a ledger of another state."""
    group = schedule_group_name(name)
    dead_letters, unsettled = (queue_name(name, role) for role in ("dead-letters", "unsettled"))
    ledger, job = f'module.ledger["{name}"]', f'module.of_another_state["{name}"]'
    assert names[f"{ledger}.aws_scheduler_schedule_group.this"]["name"] == group
    assert names[f"{ledger}.aws_sqs_queue.dead_letters"]["name"] == dead_letters
    assert names[f"{ledger}.aws_sqs_queue.unsettled"]["name"] == unsettled
    for role in ("rerun", "board"):
        assert names[f'{ledger}.aws_lambda_function.this["{role}"]']["function_name"] == function_name(name, role)
    schedule = names[f"{job}.aws_scheduler_schedule.this"]
    assert schedule["group_name"] == group
    assert schedule["target"][0]["dead_letter_config"][0]["arn"].rpartition(":")[2] == dead_letters
    assert names[f"{job}.aws_iam_role.this"]["path"] == f"/cronce/{group}/"
    for kind, queue in (("dead_letters", dead_letters), ("unsettled", unsettled)):
        alarm = names[f'module.alarms["{name}"].aws_cloudwatch_metric_alarm.queue["{kind}"]']
        assert alarm["dimensions"] == {"QueueName": queue}
    alarm = names[f'module.alarms["{name}"].aws_cloudwatch_metric_alarm.rerun_errors']
    assert alarm["dimensions"] == {"FunctionName": function_name(name, "rerun")}


@pytest.mark.parametrize("job", JOBS)
def test_the_name_of_a_schedule_begins_as_that_of_the_constructs(names: dict[str, dict[str, Any]], job: str) -> None:
    """The job's name, with the characters that a schedule may have."""
    assert names[f'module.job["{job}"].aws_scheduler_schedule.this']["name"][:-13] == schedule_name_stem(job)


@pytest.mark.parametrize(
    ("variable", "changed"),
    [
        ("job", {"job": "日"}),
        ("job", {"job": " x"}),
        ("job", {"job": "cronce:x"}),
        ("description", {"description": "x" * 513}),
        ("command", {"command": []}),
        ("container_name", {"container_name": ""}),
        ("schedule", {"schedule": "cron(* 8 * * ? *)"}),
        ("task_tags", {"tags": {"aws:x": "y"}}),
        ("task_tags", {"tags": {f"t{n}": "x" for n in range(51)}}),
    ],
)
def test_a_refusal_says_what_the_constructs_say(
    try_job: Callable[..., ScheduledTask], variable: str, changed: dict[str, object]
) -> None:
    """The words after "allowed:", as far as they are about AWS and not about Python."""
    with pytest.raises(ConstructConfigError) as refused:
        try_job(**changed)
    text = of_module("scheduled-task", "variable")[variable].body
    allowed = refused.value.allowed.partition(" (minute=")[0]
    assert allowed in text or allowed.replace("the construct", "the module") in text or "printable" in text


@pytest.mark.parametrize(
    ("variable", "value"),
    [("concurrency_policy", "X"), ("catch_up", "X"), ("on_lost", "X"), ("backoff_limit", 1001), ("lease", "2h")],
)
def test_a_refused_policy_says_what_python_says(variable: str, value: object) -> None:
    """Each word of `Policy` has the variable of its name."""
    with pytest.raises(InputInvalidError) as refused:
        Policy(**{variable: value})  # type: ignore[arg-type]
    assert f"allowed: {refused.value.allowed}" in of_module("scheduled-task", "variable")[variable].body
