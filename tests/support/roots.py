"""Root file systems without Python, each with a program of its own: no libc at all, busybox, musl, glibc."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tests.support.debian import CACHE, unpacked
from tests.support.lanes import LaneUnavailableError, prepare_pid_namespace

KINDS = ("scratch", "busybox", "musl", "glibc")
_PACKAGES = ("busybox-static", "musl", "musl-dev")
_CACHE = CACHE / "roots"

# The image's own program, `/app VERB`, in C and for busybox as a script.
_PROGRAM = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void end(int number) { _exit(number); }
static void say(const char *word) { puts(word); fflush(stdout); }
int main(int count, char **words) {
    const char *verb = words[1];
    if (!strcmp(verb, "env")) for (char **each = environ; *each; each++) say(*each);
    if (!strcmp(verb, "exit")) return atoi(words[2]);
    if (!strcmp(verb, "store")) {
        int status;
        if (!fork()) { execl("/cronce/cronce", "cronce", "checkpoint", words[2], NULL); _exit(99); }
        wait(&status);
        if (status) return 98;
    }
    if (!strcmp(verb, "wait") || !strcmp(verb, "store")) {
        signal(SIGTERM, end);
        say("ready");
        for (;;) pause();
    }
    return 0;
}
"""
_SCRIPT = """#!/bin/sh
case $1 in
env) env ;;
exit) exit $2 ;;
store) /cronce/cronce checkpoint "$2" || exit 98 ;;
esac
case $1 in wait | store) trap 'exit 15' TERM; echo ready; while :; do sleep 0.1; done ;; esac
"""
_PRELOADED = r"""
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) { write(1, "preloaded\n", 10); }
"""


def prepare() -> None:
    """The machine has what the roots are made of; busybox and musl are downloaded once into `.cache/`.

    Raises:
        LaneUnavailableError: It has not: not root, no compiler, no Debian, or no network.
    """
    prepare_pid_namespace()
    if os.geteuid() != 0:
        raise LaneUnavailableError("chroot needs root")
    for tool in ("gcc", "chroot", "mount"):
        if shutil.which(tool, path=_PATH) is None:
            raise LaneUnavailableError(f"there is no `{tool}` (Debian: apt-get install gcc libc6-dev util-linux)")
    unpacked(_CACHE.name, *_PACKAGES)


def make_root(kind: str, root: Path, folder: Path) -> None:
    """Write the root: `/app`, `/data` for anybody, and the portable folder as `/cronce`."""
    root.mkdir()
    for name in ("data", "proc"):
        (root / name).mkdir()
    (root / "data").chmod(0o777)
    shutil.copytree(folder, root / "cronce", copy_function=os.link)
    app = root / "app"
    match kind:
        case "scratch":
            _compile("-static", "-o", str(app))
        case "busybox":
            (root / "bin").mkdir()
            shutil.copy2(_CACHE / "bin" / "busybox", root / "bin")
            for name in ("env", "sh", "sleep"):
                (root / "bin" / name).symlink_to("busybox")
            app.write_text(_SCRIPT)
            app.chmod(0o755)
        case "musl":
            _compile_with_musl(app)
            shutil.copytree(_CACHE / "lib", root / "lib", symlinks=True)
        case _:
            _compile("-o", str(app))
            _compile("-shared", "-fPIC", "-o", str(root / "preloaded.so"), program=_PRELOADED)
            for library in re.findall(r"(/\S+) \(0x", _run("ldd", str(app))):
                target = root / library.removeprefix("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(library, target)


_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
CHROOT = shutil.which("chroot", path=_PATH) or "chroot"


def _compile(*options: str, program: str = _PROGRAM) -> None:
    subprocess.run(["gcc", "-x", "c", "-", "-O1", *options], input=program, check=True, text=True)


def _compile_with_musl(app: Path) -> None:
    """A dynamic program: its loader is /lib/ld-musl-ARCH.so.1."""
    [headers] = (_CACHE / "usr" / "include").glob("*-linux-musl")
    [objects] = (_CACHE / "usr" / "lib").glob("*-linux-musl")
    [library] = (_CACHE / "lib").glob("*-linux-musl/libc.so")
    [loader] = (_CACHE / "lib").glob("ld-musl-*")
    start, end = [objects / "crt1.o", objects / "crti.o"], objects / "crtn.o"
    with tempfile.TemporaryDirectory() as temporary:
        code = Path(temporary) / "app.o"
        _compile("-c", "-nostdinc", "-isystem", str(headers), "-fno-pie", "-o", str(code))
        link = ["-nostdlib", "-no-pie", f"-Wl,-dynamic-linker,/lib/{loader.name}", "-o", app]
        _run("gcc", *map(str, [*link, *start, code, f"-L{library.parent}", "-l:libc.so", end]))


@cache
def _environment() -> dict[str, str]:
    return os.environ | {"PATH": _PATH, "DEBIAN_FRONTEND": "noninteractive"}


def _run(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd, env=_environment()).stdout
