"""The container images, made without a registry: Debian from its packages, Python packages as wheels from PyPI."""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e import names
from tests.e2e.steps import CACHE, ROOT, run, step

if TYPE_CHECKING:
    from tests.e2e.engine import Engine

BASE = "cronce-e2e/base:bookworm-2"
EMULATOR = "cronce-e2e/emulator:latest"
DIGEST = "cronce-e2e/digest:latest"
BEATS = "cronce-e2e/beats:latest"
_DIGEST_BASE = "cronce-e2e/digest-base:latest"

GUARD = names.GUARD_IMAGE
LANGUAGES = names.LANGUAGES_IMAGE
STATIC = names.STATIC_IMAGE

_SUITE, _SUITE_PYTHON = "bookworm", "3.11"
_PACKAGES = "python3,python3-venv,ca-certificates,gcc,libc6-dev,ruby,nodejs"
_NOT_NEEDED = (
    "./var/cache/apt/",
    "./var/lib/apt/lists/",
    "./usr/share/doc/",
    "./usr/share/man/",
    "./usr/share/locale/",
)

_HERE = Path(__file__).parent
_EXAMPLE = ROOT / "examples" / "digest"
_BEATS = _HERE / "beats"
_ANY_IMAGE = ROOT / "examples" / "any-image"


def build_base(engine: Engine) -> None:
    """The engine has a Debian with Python, Ruby, Node.js and a C compiler."""
    if engine.docker("image", "ls", "--quiet", BASE).strip():
        return
    archive = CACHE / f"{BASE.rpartition(':')[2]}.tar"
    if not archive.exists():
        with step(f"debootstrap {_SUITE}"), tempfile.TemporaryDirectory(dir=_made(CACHE)) as scratch:
            root, packed = Path(scratch, "root"), Path(scratch, "root.tar")
            # It mounts /proc in there; in a separate mount namespace that mount goes away when it ends.
            debootstrap = ("unshare", "--mount", "debootstrap", "--variant=minbase", f"--include={_PACKAGES}")
            run(*debootstrap, _SUITE, root, log="debootstrap")
            with tarfile.open(packed, "w") as tar:
                tar.add(root, arcname=".", filter=_needed)
            packed.rename(archive)  # complete or not there
    with step("import the base image"):
        engine.docker("import", archive, BASE)


def build_emulator(engine: Engine) -> None:
    """The engine has the image of the emulated AWS."""
    with step("build the emulator's image"):
        _build_python(engine, EMULATOR, "emulator", _HERE / "requirements.txt")


def build_digest(engine: Engine) -> None:
    """The engine has the digest's image, with cronce as it is in the working tree."""
    with step("build the image of what the digest needs"):
        wanted = (_EXAMPLE / "requirements.txt", _HERE / "digest-requirements.txt")
        _build_python(engine, _DIGEST_BASE, "digest", *wanted)
    with step("build the digest's image"):
        # From the project's root, as `app.py` does it.
        _build(engine, DIGEST, ROOT, _EXAMPLE / "Dockerfile", base=_DIGEST_BASE)


def build_beats(engine: Engine) -> None:
    """The engine has the image of the digest with Celery in it."""
    with step("build Celery's image"), tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch, "beats")
        shutil.copytree(_BEATS, context, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(_wheels("beats"), context / "wheels")
        _build(engine, BEATS, context, context / "Dockerfile", base=DIGEST)


def build_any_images(engine: Engine) -> None:
    """The engine has the portable folder's image, and images without Python that know nothing of cronce."""
    with step("build the portable folder's image"):
        package = ROOT / "ledger" / "cronce"
        _build(engine, GUARD, package, package / "portable" / "Dockerfile", base=BASE)
    with step("build images without Python"):
        for target, image in (("languages", LANGUAGES), ("static", STATIC)):
            _build(engine, image, _ANY_IMAGE, _ANY_IMAGE / "Dockerfile", f"--target={target}", base=BASE)


def build_project(engine: Engine, folder: Path, image: str) -> None:
    """The engine has the image of a project of `cronce new`, by its own Dockerfile."""
    with step("build the image of a new project"):
        _build(engine, image, folder, folder / "Dockerfile", base=_DIGEST_BASE)


def _build_python(engine: Engine, image: str, lock: str, *requirements: Path) -> None:
    with tempfile.TemporaryDirectory() as context:
        Path(context, "requirements.txt").write_text("".join(file.read_text() for file in requirements))
        shutil.copytree(_wheels(lock), Path(context, "wheels"))
        _build(engine, image, Path(context), _HERE / "python.Dockerfile", base=BASE)


def _build(engine: Engine, image: str, context: Path, dockerfile: Path, *more: str, base: str) -> None:
    wheels = ("--build-arg=PIP_NO_INDEX=1", "--build-arg=PIP_FIND_LINKS=/tmp/wheels")
    arguments = (f"--tag={image}", f"--file={dockerfile}", f"--build-arg=BASE={base}", *wheels, "--network=none", *more)
    engine.docker("build", *arguments, context, log="build", timeout=900)


def _wheels(lock: str) -> Path:
    """A folder with wheels for the image's Python, fetched once for each text of a file in `locks/`."""
    file = _HERE / "locks" / f"{lock}.txt"
    folder = _made(CACHE / "wheels") / hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        machine = platform.machine()
        target = ["--only-binary=:all:", "--implementation=cp", f"--python-version={_SUITE_PYTHON}"]
        target += [f"--platform=manylinux{libc}_{machine}" for libc in ("2014", "_2_28")]
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            fetched = Path(scratch, "wheels")
            pinned = ("--require-hashes", "--no-deps", f"--dest={fetched}", "-r", file)
            run(sys.executable, "-m", "pip", "download", *target, *pinned, log="wheel")
            fetched.rename(folder)
    return folder


def _needed(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if any(member.name.startswith(folder) for folder in _NOT_NEEDED) else member


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
