"""The portable folder beside a virtual environment: size, time from start to decision, memory.

    python -m benchmarks.portable [ROUNDS]

The environment has cronce and nothing else, compiled to byte code, and the same Python. Both ask the same ledger in a
file, where the run has succeeded: what is measured is a refused start, from `exec` to its exit. The rounds alternate.
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from io import BytesIO
from pathlib import Path

import cronce
from cronce.portable.build import build

SCRIPT = """#!{python}
from cronce.cli.main import main
main()
"""


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as scratch:
        folder, environment = Path(scratch, "folder"), Path(scratch, "environment")
        began = time.monotonic()
        build(folder)
        built = time.monotonic() - began
        programs = {"folder": folder / "cronce", "environment": _make_environment(environment)}
        ask = ["exec", "--ledger", f"sqlite:///{scratch}/runs.db", "--job", "j", "--period", "p", "--", "true"]
        for program in [programs["folder"], *programs.values()]:
            subprocess.run([program, *ask], check=True, stderr=subprocess.DEVNULL)
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in programs}
        for _ in range(rounds):
            for name, program in programs.items():
                taken[name].append(_measured([str(program), *ask]))
        print(f"folder: built in {built:.1f} s, {_size(folder) / 1e6:.1f} MB, gzipped {_packed(folder) / 1e6:.1f} MB")
        print(f"median of {rounds} refused starts, load {os.getloadavg()[0]:.1f}: wall ms, CPU ms, peak memory MB")
        medians = {
            name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in taken.items()
        }
        for name, (wall, cpu, memory) in medians.items():
            print(f"{name:12} {wall:6.1f} {cpu:6.1f} {memory:6.1f}")
        ratios = [one / other for one, other in zip(medians["folder"], medians["environment"], strict=True)]
        print("ratio        " + " ".join(f"{ratio:6.2f}" for ratio in ratios))


def _make_environment(folder: Path) -> Path:
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    shutil.copytree(Path(cronce.__file__).parent, packages / "cronce", ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(packages, quiet=1)
    program = folder / "bin" / "cronce"
    program.write_text(SCRIPT.format(python=folder / "bin" / "python"))
    program.chmod(0o755)
    return program


def _measured(command: list[str]) -> tuple[float, float, float]:
    """Wall and CPU milliseconds of a process, and its peak memory in MB."""
    began = time.perf_counter()
    pid = os.posix_spawn(
        command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - began
    assert os.waitstatus_to_exitcode(status) == 0
    return wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / 1000


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _packed(folder: Path) -> int:
    archive = BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        tar.add(folder)
    return archive.tell()


if __name__ == "__main__":
    main()
