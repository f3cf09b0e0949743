"""Writes the files of a project into a folder: all of them, or none."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from cronce.vocabulary.errors import InputInvalidError

_ALLOWED = "a folder that does not exist in one that does, or an empty folder"


def write_project(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files into the folder, which is made if it does not exist.

    They are written beside it and then renamed, so that nobody sees a part of them.

    Args:
        folder: Where the project goes.
        files: The content of each file by its path in the folder.

    Raises:
        InputInvalidError: The folder has something in it, or it cannot be written. Nothing was written.
    """
    try:
        exists = os.path.lexists(folder)
        if exists and any(folder.iterdir()):
            raise InputInvalidError("DIR", str(folder), f"{_ALLOWED}; this one has something in it")
        home = folder if exists else folder.absolute().parent
        scratch = home / f".cronce-new-{secrets.token_hex(8)}"
        try:
            _write(scratch, files)
            if exists:  # it may be the folder in which somebody works, so it stays that folder
                _move_up(scratch, folder)
            else:
                scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise InputInvalidError("DIR", str(folder), f"{_ALLOWED} ({cause})") from None


def _write(scratch: Path, files: Mapping[str, bytes]) -> None:
    scratch.mkdir()
    for name, content in files.items():
        path = scratch / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _move_up(scratch: Path, folder: Path) -> None:
    moved: list[Path] = []
    try:
        for entry in sorted(scratch.iterdir()):
            target = folder / entry.name
            entry.rename(target)
            moved.append(target)
    except BaseException:
        for target in moved:
            shutil.rmtree(target) if target.is_dir() else target.unlink()
        raise
