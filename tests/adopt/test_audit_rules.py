"""Every rule of the audit, on its own cases."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from cronce.adopt.audit.clocks import find_clocks, verdict_of_case
from cronce.adopt.audit.rules import AnyRule, Rule, every_rule
from cronce.adopt.audit.tree import source

CASES = [
    pytest.param(rule, language, expected, text, id=f"{rule.id}-{language or 'command'}-{expected}-{number}")
    for rule in every_rule()
    for language in (rule.cases.languages or (None,))
    for expected in ("found", "protected", "not_found")
    for number, text in enumerate(getattr(rule.cases, expected), 1)
]


@pytest.mark.parametrize(("rule", "language", "expected", "text"), CASES)
def test_a_rule_judges_its_cases(rule: AnyRule, language: str | None, expected: str, text: str) -> None:
    """In each language that it is for."""
    assert verdict_of_case(rule, text, language) == expected


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: f"{rule.id}-{type(rule).__name__}")
def test_a_rule_has_cases_of_both_kinds(rule: AnyRule) -> None:
    """And for each lock that it knows, code that has it."""
    assert rule.cases.found or rule.cases.protected
    assert rule.cases.not_found
    assert bool(rule.cases.protected) or not rule.protections or rule.id == "celery-beat"


@pytest.mark.parametrize("rule", every_rule(), ids=lambda rule: f"{rule.id}-{type(rule).__name__}")
def test_a_case_that_is_found_has_a_word_of_its_rule(rule: AnyRule) -> None:
    """Otherwise the file would never be parsed, however well the rule matches."""
    for text in (*rule.cases.found, *rule.cases.protected):
        assert any(word in text for word in rule.words)


def test_what_is_looked_for_in_a_whole_project_has_words() -> None:
    """Without them no file would be searched."""
    every = [protection for rule in every_rule() for protection in rule.protections]
    wide = [protection for protection in every if protection.scope == "project" or protection.unless]
    assert wide
    assert [protection.by for protection in wide if not protection.words] == []


@pytest.mark.parametrize(
    ("lock", "by"),
    [
        ("db.execute('SELECT pg_advisory_lock(42)')", "an advisory lock of PostgreSQL"),
        ("db.execute('SELECT GET_LOCK(%s, 0)')", "a named lock of MySQL"),
        ("await redlock.using(['nightly'], 60_000, work)", "a lock in Redis that its holder renews"),
        ("await using var held = await provider.TryAcquireLockAsync('nightly')", "a distributed lock of .NET"),
        ("# pg_advisory_lock would be an alternative", None),
    ],
)
def test_a_lock_that_lives_as_long_as_its_session_protects_the_clock(lock: str, by: str | None) -> None:
    """In code; a comment that names one protects nothing."""
    text = f"import schedule\n{lock}\nschedule.every().day.do(print)\n"
    [clock] = find_clocks([source(PurePosixPath("app.py"), text)]).found
    assert clock.protected == by


@pytest.mark.parametrize(
    ("lock", "use", "by"),
    [
        ("def as_leader():\n    db.execute('SELECT pg_try_advisory_lock(4)')\n", "as_leader()", "PostgreSQL"),
        ("class Leader:\n    def take(self):\n        election.LeaderElector(x)\n", "Leader().take()", "Kubernetes"),
        (
            "class Leader:\n    def take(self):\n        r.set('x', me, nx=True, ex=9)\n        r.expire('x', 9)\n",
            "Leader()",
            "its holder renews",
        ),
        ("def as_leader():\n    r.set('leader', me, nx=True, ex=30)\n", "as_leader()", None),
        ("def as_leader():\n    db.execute('SELECT pg_try_advisory_lock(4)')\n", "# as_leader()", None),
    ],
)
def test_a_lock_of_another_file_protects_the_clock_that_uses_it_by_name(lock: str, use: str, by: str | None) -> None:
    """The function or class around the lock; not one that expires while its holder works."""
    clock = f"import schedule\nfrom locks import *\n{use}\nschedule.every().day.do(print)\n"
    files = [source(PurePosixPath("app.py"), clock), source(PurePosixPath("locks.py"), lock)]
    [found] = find_clocks(files).found
    assert (by in found.protected if by and found.protected else found.protected is by) is True


def test_rules_for_one_language_have_names_of_their_own() -> None:
    """`ignore` and `--json` name a tool by it."""
    named = [(rule.id, language) for rule in every_rule() if isinstance(rule, Rule) for language in rule.languages]
    assert sorted(named) == sorted(set(named))
