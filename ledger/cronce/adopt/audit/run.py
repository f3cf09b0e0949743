"""An audit from the folder to the findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from cronce.adopt.audit.catalogue import known_names
from cronce.adopt.audit.checklist import (
    check_jobs,
    check_locks,
    check_retries,
    check_tables,
    check_web,
    may_have_lock,
    may_have_tasks,
)
from cronce.adopt.audit.clocks import find_clocks
from cronce.adopt.audit.elsewhere import Elsewhere
from cronce.adopt.audit.ignores import Ignore, ignores_in, wrong_ignores
from cronce.adopt.audit.join import join
from cronce.adopt.audit.model import AuditFinding, FoundClock, FoundService, Place, Severity
from cronce.adopt.audit.services import read_services
from cronce.adopt.audit.tree import Skipped, SourceFile, walk
from cronce.adopt.audit.words import CDK


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes:
        findings: Errors first, then by place.
        clocks: Every clock, those that nothing is wrong with included.
        services: Every service with its copies.
        files: How many files the folder has.
        skipped: What could not be read.
        ignored: How many findings and clocks a comment hides.
    """

    findings: tuple[AuditFinding, ...]
    clocks: tuple[FoundClock, ...]
    services: tuple[FoundService, ...]
    files: int
    skipped: tuple[Skipped, ...]
    ignored: int

    @property
    def failed(self) -> bool:
        """True if there is an error or a warning."""
        return any(finding.severity is not Severity.INFO for finding in self.findings)


def audit(root: Path, *, done: Callable[[str, int], object] = lambda _what, _count: None) -> Audit:
    """Audit a folder or a file.

    Args:
        root: The folder or file.
        done: Called now and then with what is going on and the number of files.

    Raises:
        OSError: The folder itself cannot be read.
    """
    tree = walk(root, done=lambda count: done("files listed", count))
    notes = _Notes()
    elsewhere = Elsewhere(tree.files)
    found = find_clocks(notes.of(tree.sources()), elsewhere=elsewhere, done=lambda count: done("files read", count))
    clocks = [clock for clock in found.found if not notes.hide(clock.place, {clock.rule})]
    reading = read_services(tree.files, code=notes.deploying)
    hidden = [clock for clock in found.found if clock not in clocks]
    joined = join(clocks, reading.services, tree.files, hidden=hidden, runs_once=frozenset(reading.runs_once))
    clocks = [clock for clock in clocks if clock not in joined.idle]
    kept = [(file, match) for file, match in found.matches if any(_same(clock, file, match.line) for clock in clocks)]
    known = {finding.place for finding in joined.findings if finding.rule in _MORE_IS_KNOWN}
    findings = [
        *joined.findings,
        *reading.notes,
        *check_jobs(kept),
        *check_retries(kept, notes.tasks),
        *check_web((clock for clock in clocks if clock.place not in known), (file for file, _ in kept)),
        *notes.locks(clocks),
        *check_tables(notes.tables),
    ]
    shown = [finding for finding in findings if not notes.hide(finding.place, {finding.rule})]
    shown += wrong_ignores(notes.ignores, known_names())
    return Audit(
        findings=tuple(sorted(set(shown), key=_order)),
        clocks=tuple(clocks),
        services=tuple(reading.services),
        files=tree.seen,
        skipped=tuple(tree.skipped),
        ignored=notes.hidden,
    )


_MORE_IS_KNOWN = {"clock-in-copies", "clock-in-services", "clock-in-web-process", "clock-doubles-in-deployment"}
"""Findings that say more than `clock-started-by-web-app` does."""
_SEVERITIES = tuple(Severity)


def _order(finding: AuditFinding) -> tuple[int, PurePosixPath, int, str]:
    return _SEVERITIES.index(finding.severity), finding.place.path, finding.place.line, finding.rule


def _same(clock: FoundClock, file: SourceFile, line: int) -> bool:
    return clock.place.path == file.path and line in (clock.place.line, *clock.also)


class _Notes:
    """What is kept of the files while they go by."""

    def __init__(self) -> None:
        self.ignores: list[Ignore] = []
        self.tables: list[SourceFile] = []
        self.tasks: list[SourceFile] = []
        self.deploying: set[PurePosixPath] = set()
        self.hidden = 0
        self._locks: list[SourceFile] = []

    def of(self, files: Iterable[SourceFile]) -> Iterator[SourceFile]:
        """Pass the files on."""
        for file in files:
            self.ignores += ignores_in(file)
            if file.path.suffix == ".sql":
                self.tables.append(file)
            if file.has_any(CDK):
                self.deploying.add(file.path)
            if may_have_lock(file):
                self._locks.append(file)
            if may_have_tasks(file):
                self.tasks.append(file)
            yield file

    def hide(self, place: Place, names: set[str]) -> bool:
        """True if a comment hides that place under one of these names."""
        hides = any(ignore.hides(place, names) for ignore in self.ignores)
        self.hidden += hides
        return hides

    def locks(self, clocks: Iterable[FoundClock]) -> Iterator[AuditFinding]:
        """The findings about locks."""
        with_clock = {clock.place.path for clock in clocks}
        for file in self._locks:
            yield from check_locks(file, has_clock=file.path in with_clock)
