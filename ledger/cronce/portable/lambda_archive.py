"""The code of the Lambda functions as one archive, from the installed packages: no Docker, no network.

Its bytes depend on the files of the packages only: they are the same from an editable install and from a wheel, on
every machine and Python version. The CDK constructs deploy it, and `cronce lambda-archive` writes it for Terraform.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("cronce", "cronce_lambdas", "tzdata")
"""What the functions import besides their runtime. tzdata: AWS does not promise zone data in Lambda's runtime."""

_LEFT_OUT = tuple(f"cronce/{name}/" for name in ("guard", "clock", "adopt", "cli", "demo", "testing", "portable"))
"""What only tasks run, what tests use, and what builds."""
_OLDEST = (1980, 1, 1, 0, 0, 0)
_FILE = 0o100644


def missing_packages() -> list[str]:
    """Return the packages that are not installed. An archive without them would fail when its first event arrives."""
    return [package for package in PACKAGES if _folder(package) is None]


@cache
def lambda_archive() -> bytes:
    """Return the archive. Files are stored, not deflated, because compressors differ."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, file in sorted(_files()):
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.external_attr = _FILE << 16
            archive.writestr(entry, file.read_bytes())
    return buffer.getvalue()


def _files() -> Iterator[tuple[str, Path]]:
    """Yield each file with its name in the archive: all that a wheel has, data files included."""
    for package in PACKAGES:
        folder = _folder(package)
        if folder is None:
            continue
        for file in folder.rglob("*"):
            name = f"{package}/{file.relative_to(folder).as_posix()}"
            if file.is_file() and "__pycache__" not in file.parts and not name.startswith(_LEFT_OUT):
                yield name, file


def _folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None
