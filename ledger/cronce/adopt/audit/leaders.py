"""Locks that a process holds as long as it lives, or renews: one copy at a time acts, on all hosts or on each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cronce.adopt.audit.checklist import timed_locks
from cronce.adopt.audit.tree import SourceFile
from cronce.adopt.audit.words import LOCKS, SESSIONS

_SESSION_LOCKS = (
    (
        re.compile(r"\bpg_(?:try_)?advisory_(?:xact_)?lock\b|\bwith_advisory_lock\b|\badvisory_lock\(|\bpglock\."),
        "an advisory lock of PostgreSQL",
    ),
    (re.compile(r"(?i)\bselect\s+get_lock\s*\("), "a named lock of MySQL"),
    (
        re.compile(r"\bleaderelection\.(?:RunOrDie|NewLeaderElector|LeaderElection)\b|\bLeaderElector\("),
        "the leader election of Kubernetes",
    ),
    (
        re.compile(
            r"\bconcurrency\.NewElection\(|\bnew Leader(?:Latch|Selector)\(|\b(?:zk|client|kazoo\w*)\.Election\("
        ),
        "an election of a leader",
    ),
    (re.compile(r"\bauto_renewal\s*=\s*True|\b\w*lock\.using\("), "a lock in Redis that its holder renews"),
    (re.compile(r"\bTryAcquire(?:Lock)?Async\(|\bnew \w+DistributedLock\("), "a distributed lock of .NET"),
)
_RENEWS = re.compile(
    r"lock\w*\.(?:extend|reacquire|renew)\(|\bp?expire\(|renew_?(?:lock|lease|leader)|extend_?lock", re.IGNORECASE
)
_HOST_LOCK = re.compile(
    r"\bflock\(|\blockf\(|\bportalocker\.|\bFileLock\(|\bInterProcessLock\(|\bzc\.lockfile|\.bind\(\(\s*[\"'](?:127\.0\.0\.1|localhost)"
)
_DEFINITION = re.compile(
    r"(?P<indent>[ \t]*)(?:(?:async|export|default|public|private|protected|static|final)\s+)*"
    r"(?:def|class|function|func|module|trait)\s+(?:self\.)?(?:\([^)]*\)\s*)?(?P<name>\w+)"
)
_GENERIC = frozenset(
    {"__init__", "__enter__", "initialize", "acquire", "execute", "handle", "perform", "start", "setup"}
)
_SHORTEST = 5


def held_lock(file: SourceFile) -> str | None:
    """The lock in the file that a process holds; None if there is none."""
    return next((by for _, by in _held(file)), None)


def is_once_per_host(file: SourceFile) -> bool:
    """Whether a lock of a file or a port lets one process per host go on."""
    return in_code(_HOST_LOCK, file)


class NamedLocks:
    """Functions and classes of the project that acquire such a lock, by their names."""

    def __init__(self) -> None:
        self._by: dict[str, str] = {}

    def see(self, file: SourceFile) -> None:
        """Take note of a file."""
        if file.language is not None and file.has_any(SESSIONS | LOCKS):
            for start, by in _held(file):
                self._by.update(dict.fromkeys(_names_around(file.text, start), by))

    def used_in(self, file: SourceFile) -> str | None:
        """The lock that the file takes by such a name."""
        found = (by for name, by in self._by.items() if in_code(re.compile(rf"\b{re.escape(name)}\b"), file))
        return next(found, None)


def in_code(pattern: re.Pattern[str], file: SourceFile) -> bool:
    """True if the pattern is in a line that is no comment."""
    return any(True for _ in _in_code(pattern, file.text))


def _held(file: SourceFile) -> Iterator[tuple[int, str]]:
    for pattern, by in _SESSION_LOCKS if file.has_any(SESSIONS) else ():
        yield from ((start, by) for start in _in_code(pattern, file.text))
    if file.has_any(LOCKS) and _RENEWS.search(file.text):
        yield from ((start, "a lock in Redis that its holder renews") for start, _ in timed_locks(file.text))


def _in_code(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    for match in pattern.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        if not text[start : match.start()].lstrip().startswith(("#", "//", "*", "--", "<!--")):
            yield match.start()


def _names_around(text: str, start: int) -> Iterable[str]:
    """The names of the function and the class around a place."""
    indent = len(text)
    for line in reversed(text[:start].split("\n")):
        match = _DEFINITION.match(line)
        if match is not None and len(match["indent"]) < indent:
            indent = len(match["indent"])
            if len(match["name"]) >= _SHORTEST and match["name"] not in _GENERIC:
                yield match["name"]
