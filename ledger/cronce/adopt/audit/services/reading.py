"""What the readers return, and how they read numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from cronce.adopt.audit.model import AuditFinding, FoundService, Place, Severity

MOST_CHARACTERS = 1_000_000
"""Characters of a deployment file that are read. The largest template that CloudFormation takes has 1 MB."""

_VARIABLE = re.compile(r"\$\{?(?P<name>\w+)(?::?[-=](?P<default>[^}]*))?\}?")
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(slots=True, kw_only=True)
class Reading:
    """What one or more files deploy, and what could not be read of them.

    `runs_once` has the commands that the platform starts at set times, each once per run: a CronJob's.
    """

    services: list[FoundService] = field(default_factory=list)
    notes: list[AuditFinding] = field(default_factory=list)
    runs_once: list[Place] = field(default_factory=list)

    def add(self, other: Reading) -> None:
        """Takes over what another reading found."""
        self.services += other.services
        self.notes += other.notes
        self.runs_once += other.runs_once

    def not_read(self, path: PurePosixPath, line: int, why: str) -> None:
        """Notes that a file, or a part of it, was left out."""
        self.notes.append(not_read(Place(path=path, line=line), why))


def not_read(place: Place, why: str) -> AuditFinding:
    """The note that something was left out, so that nobody takes silence for "nothing found"."""
    return AuditFinding(rule="not-read", severity=Severity.INFO, place=place, message=f"not read: {why}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """A number of copies as a file states it: `least` without a limit above means that it is not known."""

    least: int
    most: int | None


def count_of(text: str | None) -> Count | None:
    """The number in a text: `4`, `${REPLICAS:-4}` (its default), `$REPLICAS` (unknown); None if it is no number."""
    if text is None:
        return None
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return Count(least=int(text), most=int(text))
    if variable := _VARIABLE.fullmatch(text):
        default = variable["default"]
        if default and _NUMBER.fullmatch(default.strip()):
            return Count(least=int(default), most=int(default))
        return Count(least=1, most=None)
    return None
