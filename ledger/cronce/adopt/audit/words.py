"""Which words of the rules a text has: all are looked for in one pass, so most files are never parsed."""

from __future__ import annotations

from functools import cache

from ahocorasick_rs import AhoCorasick, Implementation

from cronce.adopt.audit.rules import every_rule

LOCKS = frozenset(("NX", "nx=", "nx:", "setnx", ".lock(", ".Lock(", "::lock(", "edlock.", "lockAtMostFor", "cache.add"))
"""One of them is in every file in which a lock may be acquired."""

SESSIONS = frozenset(("advisory_lock", "advisory_xact_lock", "get_lock", "GET_LOCK", "pglock", "auto_renewal"))
SESSIONS |= {"leaderelection", "LeaderElector", "NewElection", ".Election(", "LeaderLatch", "LeaderSelector"}
SESSIONS |= {"lock.using(", "TryAcquire", "DistributedLock("}
"""One of them is in every file with a lock that lasts as long as a session."""

TASKS = frozenset(("task",))
"""In every file with a task of Celery."""

CDK = frozenset(("aws_cdk", "aws-cdk"))
"""In every file that deploys with CDK."""

DEPLOYS = frozenset(("aws_cdk", "aws-cdk-lib", "pulumi"))
"""In code whose strings may be commands of containers."""

IGNORES = frozenset(("cronce:", "Cronce:", "CRONCE:"))
"""In every file with a comment that hides findings."""


def words_in(text: str) -> frozenset[str]:
    """The words of rules and checks that are somewhere in the text."""
    words, automaton = _automaton()
    return frozenset(words[index] for index, _, _ in automaton.find_matches_as_indexes(text, overlapping=True))


@cache
def _automaton() -> tuple[list[str], AhoCorasick]:
    every = LOCKS | SESSIONS | TASKS | CDK | DEPLOYS | IGNORES
    for rule in every_rule():
        every |= rule.words
        every = every.union(*(protection.words for protection in rule.protections))
    words = sorted(every)
    return words, AhoCorasick(words, implementation=Implementation.DFA)
