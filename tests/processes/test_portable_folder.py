"""How the portable folder is built, and what it is independent of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cronce
from cronce import Ledger

if TYPE_CHECKING:
    from tests.support.postgres_server import PostgresServer

CRONCE_TO_EXEC = ("exec", "--ledger", "sqlite:///runs.db", "--job", "daily-digest", "--period")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the folder is for Linux"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="the launcher needs a C compiler"),
]


@pytest.mark.parametrize("way", ["moved", "symlink", "relative", "PATH"])
def test_the_folder_works_wherever_it_is_and_however_it_is_called(portable: Path, tmp_path: Path, way: str) -> None:
    """It finds itself by the kernel's link, not by its name."""
    moved = tmp_path / "some where"
    shutil.copytree(portable, moved, copy_function=os.link)
    link = tmp_path / "guard"
    link.symlink_to(moved / "cronce")
    name = {"moved": str(moved / "cronce"), "symlink": str(link), "relative": "./some where/cronce", "PATH": "cronce"}
    answer = subprocess.run(
        [name[way], *CRONCE_TO_EXEC, "p1", "--", "/bin/echo", "{period}"],
        cwd=tmp_path,
        env={"PATH": str(moved)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (0, "p1\n"), answer.stderr


@pytest.mark.parametrize("given", [{}, {"LC_ALL": "de_DE.UTF-8"}, {"LC_CTYPE": "C", "LANG": "C"}, {"LC_ALL": ""}])
def test_it_neither_uses_nor_changes_the_locale(portable: Path, tmp_path: Path, given: dict[str, str]) -> None:
    """Without a locale, Python would set LC_CTYPE for itself and so for the command (PEP 538)."""
    answer = subprocess.run(
        [portable / "cronce", *CRONCE_TO_EXEC, "p1", "--", "/usr/bin/env"],
        cwd=tmp_path,
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )
    seen = dict(line.split("=", 1) for line in answer.stdout.splitlines())
    assert {name: value for name, value in seen.items() if not name.startswith("CRONCE_")} == given


def test_it_uses_no_file_outside_itself_to_decide(portable: Path, tmp_path: Path) -> None:
    """The processes that it maps: its own loader and libraries, none of the machine's."""
    script = r"cat /proc/$(cut -d ' ' -f 4 /proc/$PPID/stat)/maps"  # of the keeper's parent: the guard
    answer = subprocess.run(
        [portable / "cronce", *CRONCE_TO_EXEC, "p1", "--", "sh", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    mapped = {line.split(maxsplit=5)[5] for line in answer.stdout.splitlines() if line.count(" /")}
    code = {path for path in mapped if ".so" in path or "/bin/" in path}
    assert len(code) > 5
    assert {path for path in code if not path.startswith(str(portable))} == set()


def test_a_ledger_in_postgresql(portable: Path, postgres: PostgresServer, tmp_path: Path) -> None:
    """The folder needs no driver; a second start is refused."""
    ledger = Ledger.from_url(postgres.url())
    ledger.create()
    ledger.close()
    words = [
        "exec",
        "--ledger",
        postgres.url(),
        "--job",
        f"portable-{tmp_path.name}",
        "--period",
        "p1",
        "--",
        "echo",
        "once",
    ]
    said = [
        subprocess.run([portable / "cronce", *words], env={"PATH": "/bin"}, check=True, capture_output=True).stdout
        for _ in range(2)
    ]
    assert said == [b"once\n", b""]


def test_an_effect_of_the_command_happens_once(portable: Path, tmp_path: Path) -> None:
    """`/cronce/cronce once KEY -- COMMAND` from inside the command, twice."""
    script = '"$0" once charge -- echo charged; "$0" once charge -- echo charged'
    answer = subprocess.run(
        [portable / "cronce", *CRONCE_TO_EXEC, "p1", "--", "sh", "-c", script, portable / "cronce"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "charged\n"


def test_it_contains_no_source_and_no_absolute_path_of_its_builder(portable: Path) -> None:
    """Byte code only; the names in tracebacks are those of modules."""
    files = [path for path in portable.rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".py"] == []
    builder = str(Path(cronce.__file__).parent).encode()
    assert [path for path in files if path.suffix == ".pyc" and builder in path.read_bytes()] == []


def test_a_launcher_without_its_folder_is_one_line_and_exit_code_71(portable: Path, tmp_path: Path) -> None:
    """Somebody copied the program alone."""
    shutil.copy2(portable / "cronce", tmp_path)
    answer = subprocess.run([tmp_path / "cronce", "--version"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (71, "")
    assert answer.stderr == "cronce: cannot start its Python: No such file or directory\n"


def test_a_folder_with_content_is_not_touched(tmp_path: Path) -> None:
    """One line, exit code 1."""
    (tmp_path / "mine").write_text("precious")
    answer = build(tmp_path)
    assert answer == (1, f"cronce.portable: {tmp_path} is not an empty folder; name one that does not exist\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_without_a_compiler_it_says_which_packages_to_install(tmp_path: Path) -> None:
    """And leaves nothing behind."""
    answer = build(tmp_path / "folder", PATH="/nowhere")
    said = "cronce.portable: there is no 'cc' (on Debian: apt-get install gcc libc6-dev binutils)\n"
    assert answer == (1, said)
    assert list(tmp_path.iterdir()) == []


def build(folder: Path, **env: str) -> tuple[int, str]:
    """Exit code and errors of the command."""
    command = [sys.executable, "-m", "cronce.portable", str(folder)]
    answer = subprocess.run(command, env=os.environ | env, capture_output=True, text=True, check=False)
    return answer.returncode, answer.stderr
