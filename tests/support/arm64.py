"""Programs for ARM64 on another processor: qemu runs them, in a chroot with Debian's packages for ARM64.

The kernel starts qemu by binfmt_misc. Since Linux 6.7 each user namespace has an instance, so nothing outside changes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from tests.support.debian import unpacked, unpacked_root
from tests.support.lanes import LaneUnavailableError
from tests.support.roots import CHROOT

if TYPE_CHECKING:
    from pathlib import Path

_BUILDS = ("python3", "gcc", "libc6-dev", "binutils", "libc-bin", "bash", "coreutils", "busybox-static")
"""What the portable folder is built with; Python and the compiler are those of Debian 12."""

_MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
_MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"

_SCRIPT = """
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf %s "$1" >/proc/sys/fs/binfmt_misc/register || exit 120
mount -t proc proc "$2/proc" && mount --bind "$3" "$2/build" || exit 121
shift 3 && exec env -i PATH=/bin:/usr/bin "$@"
"""


def prepare() -> Path:
    """The root in which programs for ARM64 run, fetched if it is missing: 130 MB.

    Raises:
        LaneUnavailableError: The kernel has no binfmt_misc for a user namespace, or there is no Debian or network.
    """
    if shutil.which("unshare") is None:
        raise LaneUnavailableError("there is no `unshare` (util-linux)")
    root = unpacked_root("arm64", "arm64", *_BUILDS)
    done = run_arm64(root, "/bin/busybox", "uname", "-m", work=root / "build")
    if (done.returncode, done.stdout) != (0, "aarch64\n"):
        raise LaneUnavailableError(f"programs for ARM64 do not run here: {done.returncode} {done.stderr.strip()}")
    return root


def run_arm64(root: Path, *command: str, work: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the root as PID 1 of a namespace; `work` is `/build` there."""
    qemu = unpacked("qemu", "qemu-user-static") / "usr" / "bin" / "qemu-aarch64-static"
    rule = f":aarch64:M::{_MAGIC}:{_MASK}:{qemu}:F"
    namespaces = ("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc")
    inside: tuple[str | Path, ...] = ("sh", "-c", _SCRIPT, "sh", rule, root, work, CHROOT, root, *command)
    return subprocess.run(
        (*namespaces, *inside), capture_output=True, text=True, check=False, timeout=300, env=os.environ
    )
