"""`# cronce: ignore[rule] reason`: what people decided, in the comments of any language."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from cronce.adopt.audit.model import AuditFinding, Place, Severity
from cronce.adopt.audit.tree import SourceFile
from cronce.adopt.audit.words import IGNORES

_COMMENT = re.compile(r"(#|//|--|/\*|<!--|;|%|\*|\bREM\b)\s*cronce:\s*ignore\b(?P<rest>.*)$", re.IGNORECASE)
_REST = re.compile(r"\s*\[(?P<rules>[^\]]*)\]\s*(?P<reason>.*?)\s*(\*/|-->|#\}|%>)?\s*$")
_ALONE = re.compile(r"\s*(#|//|--|/\*|<!--|;|%|\*|REM\b|\{#)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """A comment that hides findings.

    Attributes:
        place: Of the comment.
        lines: The lines whose findings it hides: its own, and the next one if the comment is alone on its line.
        rules: Names of findings or of tools.
        reason: In the words of a person; empty if there is none.
    """

    place: Place
    lines: tuple[int, ...]
    rules: tuple[str, ...]
    reason: str

    def hides(self, place: Place, names: Collection[str]) -> bool:
        """True if it hides a finding of that place with one of those names."""
        return (
            bool(self.reason)
            and place.path == self.place.path
            and place.line in self.lines
            and any(name in self.rules for name in names)
        )


def ignores_in(file: SourceFile) -> Iterator[Ignore]:
    """Every such comment in the file."""
    if not file.has_any(IGNORES):
        return
    lines = file.text.split("\n")
    for number, line in enumerate(lines, 1):
        if not (found := _COMMENT.search(line)):
            continue
        rest = _REST.match(found["rest"])
        covered = [number]
        if _ALONE.match(line):
            # Above several comments, it is for what follows them.
            following = number + 1
            while following <= len(lines) and _ALONE.match(lines[following - 1]):
                following += 1
            covered.append(following)
        yield Ignore(
            place=Place(path=file.path, line=number),
            lines=tuple(covered),
            rules=tuple(name.strip() for name in rest["rules"].split(",") if name.strip()) if rest else (),
            reason=rest["reason"] if rest else "",
        )


def wrong_ignores(ignores: Collection[Ignore], known: Collection[str]) -> Iterator[AuditFinding]:
    """A finding for each comment that hides nothing because it is not complete."""
    for ignore in ignores:
        if not ignore.rules:
            yield _wrong(ignore, "ignore-incomplete", "This comment names no rule, so it hides nothing.")
        elif not ignore.reason:
            yield _wrong(ignore, "ignore-incomplete", "This comment gives no reason, so it hides nothing.")
        for rule in ignore.rules:
            if rule not in known:
                yield _wrong(
                    ignore, "ignore-unknown-rule", f"There is no rule {rule}, so this comment hides nothing of it."
                )


def _wrong(ignore: Ignore, rule: str, message: str) -> AuditFinding:
    return AuditFinding(
        rule=rule,
        severity=Severity.WARNING,
        place=ignore.place,
        message=message,
        fix="# cronce: ignore[clock-in-copies] one copy only: see the service's definition",
    )
