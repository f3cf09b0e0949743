"""The files of `files/`, one folder per kind: each has the shape of files that people have, with other content."""

from __future__ import annotations

from pathlib import Path

from cronce.adopt.convert.conversion import Converted, convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import Source

HERE = Path(__file__).parent / "files"
FILES = sorted((path.parent.name, path.name) for path in HERE.glob("*/*"))


def source(kind: str, name: str) -> Source:
    """The file, under its name alone."""
    return Source(file=name, text=(HERE / kind / name).read_text())


def converted(kind: str, name: str, target: ImportTarget = ImportTarget.CDK) -> Converted:
    """The file as code of the target."""
    return convert(kind, [source(kind, name)], target)


def of_text(kind: str, text: str, target: ImportTarget = ImportTarget.CDK, *, timezone: str | None = None) -> Converted:
    """The text as code of the target."""
    return convert(kind, [Source(file="given", text=text, timezone=timezone)], target)
