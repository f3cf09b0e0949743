"""The folders that decide what Python finds under a name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_constructs_folder_is_no_package() -> None:
    """It would shadow the PyPI package `constructs`, and `import aws_cdk` would fail."""
    assert (ROOT / "constructs").is_dir()
    assert not (ROOT / "constructs" / "__init__.py").exists()


def test_no_folder_of_the_tests_is_called_constructs() -> None:
    """A test runner that puts its parent on the path would shadow the PyPI package in the same way."""
    assert [path for path in (ROOT / "tests").rglob("constructs") if path.is_dir()] == []


def test_the_pypi_package_is_found_from_the_root() -> None:
    """The repository's root on the path, as every script there has it, does not hide `constructs`."""
    code = "import constructs, sys; assert sys.path[0] == ''; print(constructs.Construct.__name__)"
    assert _python(code) == "Construct"


def test_every_package_says_that_it_is_typed() -> None:
    """Type checkers of its users ignore the annotations of a package without this file."""
    roots = [ROOT / "constructs" / "cronce_cdk", ROOT / "lambdas" / "cronce_lambdas", ROOT / "ledger" / "cronce"]
    assert [root.name for root in roots if not (root / "py.typed").is_file()] == []


@pytest.mark.slow
def test_the_example_app_synthesizes_by_the_command_that_cdk_runs(tmp_path: Path) -> None:
    """`cdk deploy` on a clean checkout finds a stack with the ledger's table, and is told what `cronce` has to know."""
    command = json.loads((ROOT / "cdk.json").read_text())["app"]
    subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, env={**os.environ, "CDK_OUTDIR": str(tmp_path)}, check=True)
    template = json.loads((tmp_path / "CronceDailyDigest.template.json").read_text())
    assert "AWS::DynamoDB::GlobalTable" in {resource["Type"] for resource in template["Resources"].values()}
    assert list(template["Outputs"]) == ["LedgerUrl", "OutboxName", "ScheduleGroup"]


def _python(code: str) -> str:
    return subprocess.run(["python", "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
