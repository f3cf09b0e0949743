"""A project is written whole or not at all, and nothing that exists is touched."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from cronce.adopt.new.writing import write_project
from cronce.vocabulary.errors import InputInvalidError

FILES = {"README.md": b"1", "vendor/a/b": b"2", "z": b"3"}


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below the folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_new_folder_has_every_file_and_the_usual_permissions(tmp_path: Path) -> None:
    """Those of the umask, and nothing else is left beside it."""
    write_project(tmp_path / "new", FILES)
    (tmp_path / "other").mkdir()
    assert contents(tmp_path) == {f"new/{name}": content for name, content in FILES.items()}
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_an_empty_folder_stays_the_same_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the one in which the person works."""
    before = tmp_path.stat().st_ino
    monkeypatch.chdir(tmp_path)
    write_project(Path(), FILES)
    assert (tmp_path.stat().st_ino, contents(tmp_path)) == (before, FILES)


@pytest.mark.parametrize("name", ["full", "file", "dangling", "no/such/parent", "file/below", "a\0b", "x" * 300])
def test_anything_else_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    """One error that names the folder."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / ".hidden").touch()
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputInvalidError, match=r"^DIR: "):
        write_project(tmp_path / name, FILES)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("fails_at", range(1, 7))
def test_a_disk_that_fills_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int, *, exists: bool
) -> None:
    """At each write and at each rename."""
    folder, steps = tmp_path / "new", 0
    if exists:
        folder.mkdir()

    def failing(method: str) -> None:
        real = getattr(Path, method)

        def step(self: Path, argument: object) -> object:
            nonlocal steps
            steps += 1
            if steps == fails_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(self, argument)

        monkeypatch.setattr(Path, method, step)

    failing("write_bytes")
    failing("rename")
    try:
        write_project(folder, FILES)
    except InputInvalidError as error:
        assert "No space left on device" in str(error)  # noqa: PT017  # it is not raised by a step that does not exist
        assert contents(tmp_path) == {}
        assert sorted(tmp_path.iterdir()) == ([folder] if exists else [])
    else:
        assert steps < fails_at
        assert contents(folder) == FILES


def test_a_folder_that_somebody_made_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two people start at once: one project, and one error."""
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        target.mkdir()
        (target / "theirs").touch()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(InputInvalidError):
        write_project(tmp_path / "new", FILES)
    assert contents(tmp_path) == {"new/theirs": b""}
