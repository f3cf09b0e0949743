"""The CDK's own command synthesizes the example app, with what requirements.txt brought and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.emulator import cdk_cli

ROOT = Path(__file__).parents[2]
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@pytest.mark.slow
def test_cdk_synth_needs_python_alone(tmp_path: Path) -> None:
    """Node.js comes from PyPI; neither Docker nor an AWS account is asked."""
    cli = cdk_cli()
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{SYSTEM}",
        "HOME": str(tmp_path),
        "CDK_DOCKER": "false",
        "CDK_DISABLE_CLI_TELEMETRY": "true",
    }
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    done = subprocess.run(
        [cli, "synth", "--quiet", "--no-notices", f"--output={tmp_path / 'out'}"],
        cwd=ROOT,
        env=environment | proxies,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    template = json.loads((tmp_path / "out" / "CronceDailyDigest.template.json").read_text())
    assert "AWS::DynamoDB::GlobalTable" in {resource["Type"] for resource in template["Resources"].values()}
