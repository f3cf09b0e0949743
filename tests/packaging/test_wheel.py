"""What a user gets: the wheel, in an environment that has nothing else."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"cronce": "ledger", "cronce_cdk": "constructs", "cronce_lambdas": "lambdas"}
EXTRAS = ["ahocorasick_rs", "ast_grep_py", "aws_cdk", "click", "constructs", "jsii", "opentelemetry", "rich", "yaml"]
HEAVY = [*EXTRAS, "boto3", "botocore"]

OF_EXTRAS = (
    "cronce.adopt.",
    "cronce.cli.",
    "cronce.demo",
    "cronce.guard.telemetry",
    "cronce.testing.con",
    "cronce.testing.plugin",
)
IMPORTS_EVERYTHING = f"""
OF_EXTRAS = {OF_EXTRAS}
import importlib, json, pkgutil, sys
import cronce, cronce_lambdas
for package in (cronce, cronce_lambdas):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.startswith(OF_EXTRAS):
            importlib.import_module(module.name)
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def clean_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with the wheel and its base dependencies."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", str(wheel))
    return folder / "bin"


@pytest.fixture(scope="module")
def stack_environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with what a stack needs; the zone data are of the same release."""
    folder = tmp_path_factory.mktemp("stack")
    venv.create(folder, with_pip=True)
    zone_data = f"tzdata=={importlib.metadata.version('tzdata')}"
    _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", f"{wheel}[cdk]", zone_data)
    return folder / "bin"


def _run(program: Path, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True, cwd=program.parent)
    return done.stdout


def _lambda_code(python: Path, folder: Path, **context: str) -> str:
    """Where the functions' code is, as the example app in the folder says it, synthesized by this interpreter."""
    out = folder / "out"
    variables = {"CDK_OUTDIR": str(out), "CDK_CONTEXT_JSON": json.dumps(context)}
    subprocess.run([python, "app.py"], check=True, cwd=folder, env={**os.environ, **variables})
    resources = json.loads((out / "CronceDailyDigest.template.json").read_text())["Resources"].values()
    functions = [each for each in resources if each["Type"] == "AWS::Lambda::Function"]
    [code] = {each["Properties"]["Code"]["S3Key"] for each in functions}
    return str(code)


def test_the_wheel_holds_the_three_packages_in_full_and_nothing_else(wheel: Path) -> None:
    """Each source file is there under its import name, with `py.typed`; and the Terraform modules for `cronce new`."""
    expected = {
        str(path.relative_to(ROOT / root))
        for package, root in PACKAGES.items()
        for path in (ROOT / root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    modules = (ROOT / "terraform" / "modules").rglob("*")
    expected |= {f"cronce_{path.relative_to(ROOT)}" for path in modules if path.is_file()}
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == expected


def test_the_wheel_carries_its_licence_and_asks_for_boto3_alone(wheel: Path) -> None:
    """Everything else is an extra."""
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        told = Parser().parsestr(archive.read(metadata).decode())
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in archive.namelist())
    needed = [line for line in told.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert [line.partition(">")[0] for line in needed] == ["boto3"]
    assert told["License-Expression"] == "Apache-2.0"


@pytest.mark.slow
def test_a_task_needs_nothing_but_the_base_install(clean_environment: Path) -> None:
    """Every module of run time and event time, commands for people aside, imports without the extras."""
    loaded = set(json.loads(_run(clean_environment / "python", "-c", IMPORTS_EVERYTHING)))
    assert {"cronce", "cronce_lambdas"} <= loaded
    assert loaded.isdisjoint(EXTRAS)


@pytest.mark.slow
def test_exec_works_with_the_base_install(clean_environment: Path, tmp_path: Path) -> None:
    """The command that every task runs needs no extra."""
    run = ["exec", "--ledger", f"sqlite:///{tmp_path}/runs.db", "--job", "j", "--period", "2026-11-29"]
    assert _run(clean_environment / "cronce", *run, "--", "echo", "{period}") == "2026-11-29\n"


@pytest.mark.slow
def test_the_example_synthesizes_from_the_wheel_in_another_folder_with_the_same_code(
    stack_environment: Path, tmp_path: Path
) -> None:
    """A wheel and a checkout deploy the same functions; the image of the context needs no project around."""
    python = stack_environment / "python"
    assert "site-packages" in _run(python, "-c", "import cronce_cdk; print(cronce_cdk.__file__)")
    folders = [tmp_path / name for name in ("wheel", "editable")]
    for folder in folders:
        folder.mkdir()
        shutil.copy(ROOT / "app.py", folder)
    image = "registry.example.com/digest:1"
    from_wheel = _lambda_code(python, folders[0], image=image)
    from_checkout = _lambda_code(Path(sys.executable), folders[1], image=image)
    assert from_wheel == from_checkout


@pytest.mark.parametrize("module", ["cronce", "cronce_lambdas"])
def test_importing_loads_no_library_even_where_all_are_installed(module: str) -> None:
    """boto3 alone is most of a short task's start; it is loaded by the first call that needs it."""
    code = f"import {module}, json, sys; print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    assert json.loads(_run(Path(sys.executable), "-c", code)) == []


def test_deploy_time_loads_no_aws_client() -> None:
    """A synth talks to nobody."""
    code = "import cronce_cdk, sys; print('boto3' in sys.modules or 'botocore' in sys.modules)"
    assert _run(Path(sys.executable), "-c", code) == "False\n"
