"""What the new project takes from the cronce that writes it: its code as a wheel, its versions, its Terraform modules.

So a project works with exactly the version that wrote it, on machines without that install, and nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

from cronce.vocabulary.errors import InputMissingError
from cronce.vocabulary.version import VERSION

_PACKAGES = ("cronce", "cronce_cdk", "cronce_lambdas")
_MODULES = "cronce_terraform/modules"
_OLDEST = (1980, 1, 1, 0, 0, 0)
_FILE = 0o100644
_INFO = f"cronce-{VERSION}.dist-info"
_WHEEL = "Wheel-Version: 1.0\nGenerator: cronce new\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel: the name of its file, and its bytes."""

    name: str
    content: bytes


@cache
def wheel_of_install() -> Wheel:
    """Return the installed cronce as a wheel that pip installs anywhere. Its bytes depend on the installed files only.

    Source of the form: the Python Packaging User Guide, "Binary distribution format".

    Raises:
        InputMissingError: A package or its metadata is not there.
    """
    files = [*_code(), *_metadata(distribution("cronce"))]
    record = "".join(f"{name},sha256={_hash(content)},{len(content)}\n" for name, content in files)
    files.append((f"{_INFO}/RECORD", f"{record}{_INFO}/RECORD,,\n".encode()))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, _OLDEST)
            entry.external_attr = _FILE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return Wheel(name=f"cronce-{VERSION}-py3-none-any.whl", content=buffer.getvalue())


def terraform_modules() -> list[tuple[str, bytes]]:
    """Return the files of the Terraform modules by their path below the folder of all modules.

    Raises:
        InputMissingError: They are not installed.
    """
    code = Path(_folder("cronce"))
    # In a checkout they are beside the source roots; a wheel has them beside the packages.
    for folder in (code.parents[1] / "terraform" / "modules", code.parent / _MODULES):
        if folder.is_dir():
            files = _files(folder, suffixes=(".tf", ".md"))
            return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in files]
    raise InputMissingError("the folder of the Terraform modules", "install cronce again")


def pinned(package: str) -> str:
    """Return the requirement: `boto3==1.44.8`, or the range that cronce needs where it is not installed."""
    try:
        return f"{package}=={version(package)}"
    except PackageNotFoundError:
        needed = [re.split(r"\s*;", each)[0] for each in distribution("cronce").requires or ()]
        return next((each for each in needed if re.match(rf"{package}(?![\w.-])", each)), package)


def _code() -> Iterator[tuple[str, bytes]]:
    for package in _PACKAGES:
        folder = _folder(package)
        for path in _files(folder):
            yield f"{package}/{path.relative_to(folder).as_posix()}", path.read_bytes()
    yield from ((f"{_MODULES}/{name}", content) for name, content in terraform_modules())


def _metadata(cronce: Distribution) -> Iterator[tuple[str, bytes]]:
    for name in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        text = cronce.read_text(name)
        if text is None:
            raise InputMissingError(f"{name} of the installed cronce", "install cronce again")
        if name == "METADATA":  # that of an editable install is as old as the install
            text = re.sub(r"^Version: .*$", f"Version: {VERSION}", text, count=1, flags=re.MULTILINE)
        yield f"{_INFO}/{name}", text.encode()
    yield f"{_INFO}/WHEEL", _WHEEL.encode()


def _files(folder: Path, suffixes: Iterable[str] = ()) -> list[Path]:
    wanted = tuple(suffixes)
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and (not wanted or path.suffix in wanted)
    )


def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise InputMissingError(f"the package {package}", "install cronce again")
    return Path(spec.submodule_search_locations[0])


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
