"""Which files of a project a command loads: one module per language, each conservative, each able to say why."""

from __future__ import annotations

from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.loading.compiled import loaded_by_compiled
from cronce.adopt.audit.loading.loaded import Loaded
from cronce.adopt.audit.loading.node import loaded_by_node
from cronce.adopt.audit.loading.php import loaded_by_php
from cronce.adopt.audit.loading.python import loaded_by_python
from cronce.adopt.audit.loading.ruby import loaded_by_ruby

__all__ = ["Loaded", "loaded_by"]


def loaded_by(command: tuple[str, ...], folder: PurePosixPath, files: Files) -> Loaded | None:
    """The files of the folder that the command loads; None if it is not known how it loads any.

    Args:
        command: One program with its arguments, without shells and wrappers.
        folder: The folder that the image is built from.
        files: The project.
    """
    for reader in (loaded_by_python, loaded_by_node, loaded_by_ruby, loaded_by_php, loaded_by_compiled):
        if (found := reader(command, folder, files)) is not None:
            return found
    return None
