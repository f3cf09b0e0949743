"""The portable folder for ARM64: built by Python and gcc for ARM64, and run in a root that has nothing but busybox."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import cronce
from cronce.vocabulary.version import VERSION
from tests.support.arm64 import prepare, run_arm64

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.slow, pytest.mark.lane("arm64")]

LEDGER = "sqlite:////build/runs.db"
PACKAGE = Path(cronce.__file__).parent
AARCH64 = (183).to_bytes(2, "little")
"""The machine in the header of an ELF file."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with busybox and the folder, for ARM64."""
    work = tmp_path_factory.mktemp("arm64")
    shutil.copytree(PACKAGE, work / "package" / "cronce", ignore=shutil.ignore_patterns("__pycache__"))
    (work / "cc").symlink_to("/usr/bin/gcc")  # the link that Debian makes when it configures the package
    builder = prepare()
    environment = ("/usr/bin/env", "PATH=/build:/usr/bin", "PYTHONPATH=/build/package")
    built = run_arm64(builder, *environment, "/usr/bin/python3", "-m", "cronce.portable", "/build/cronce", work=work)
    assert built.returncode == 0, built.stderr
    root = work / "root"
    for name in ("bin", "proc", "build"):
        (root / name).mkdir(parents=True)
    shutil.copy2(builder / "bin" / "busybox", root / "bin")
    shutil.move(work / "cronce", root)
    return root


def guarded(
    root: Path, work: Path, options: str, script: str
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Run a script of busybox under the guard; what it did, and what the guard logged."""
    words = ("exec", "--ledger", LEDGER, "--job", "digest", "--period", "2026-11-29", *options.split())
    done = run_arm64(root, "/cronce/cronce", *words, "--", "/bin/busybox", "sh", "-c", script, work=work)
    return done, [json.loads(line) for line in done.stderr.splitlines()]


def test_it_is_for_arm64_decides_and_refuses_the_second_start(root: Path, tmp_path: Path) -> None:
    """Launcher, loader, interpreter and libraries; with a checkpoint and an effect from inside, and exit codes."""
    binaries = [path for path in (root / "cronce").rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert len(binaries) > 20
    assert {path.read_bytes()[18:20] for path in binaries} == {AARCH64}

    said = run_arm64(root, "/cronce/cronce", "--version", work=tmp_path)
    assert (said.returncode, said.stdout) == (0, f"cronce {VERSION}\n"), said.stderr

    mail = "/cronce/cronce once ann -- busybox echo mail ann"
    failed, events = guarded(root, tmp_path, "--backoff-limit 1", f"/cronce/cronce checkpoint 7; {mail}; exit 3")
    assert (failed.returncode, failed.stdout) == (3, "mail ann\n"), failed.stderr
    assert [each["cronce.event"] for each in events] == ["claimed", "failed"]

    again = f"busybox uname -m; busybox echo $CRONCE_RESUME_FROM; {mail}"
    done, events = guarded(root, tmp_path, "--backoff-limit 1", again)
    assert (done.returncode, done.stdout) == (0, "aarch64\n7\n"), done.stderr
    assert [each["cronce.event"] for each in events] == ["claimed", "succeeded"]

    refused, events = guarded(root, tmp_path, "", again)
    assert (refused.returncode, refused.stdout) == (0, "")
    assert [(each["cronce.event"], each["cronce.reason"]) for each in events] == [("refused", "ALREADY_SUCCEEDED")]
