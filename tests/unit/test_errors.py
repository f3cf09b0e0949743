"""Every error under one root, with fields, and a message of one line that says what to do."""

from __future__ import annotations

import pytest

from cronce.vocabulary import errors
from cronce.vocabulary.errors import (
    ClockSkewError,
    CronceError,
    Found,
    InputInvalidError,
    InputMissingError,
    LeaseLostError,
    LedgerUnavailableError,
    RecordUnreadableError,
)

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_has_one_root(kind: type) -> None:
    """`except CronceError` catches all of them, and nothing else's."""
    assert issubclass(kind, CronceError)
    assert kind.__doc__


def test_a_bad_value_is_shown_with_what_is_allowed() -> None:
    """And kept in fields."""
    error = InputInvalidError("--lease", "soon", "seconds")
    assert str(error) == "--lease: 'soon' is not usable; allowed: seconds"
    assert (error.what, error.value, error.allowed) == ("--lease", "soon", "seconds")


@pytest.mark.parametrize(("length", "cut"), [(117, False), (118, False), (119, True), (100_000, True)])
def test_a_long_bad_value_is_shown_in_part(length: int, cut: bool) -> None:  # noqa: FBT001  # a table's column
    """Just before, at and just after 120 characters with their quotes."""
    message = str(InputInvalidError("job", "x" * length, "less"))
    assert (f"({length + 2} characters)" in message) is cut
    assert len(message) < 200


def test_a_bad_value_cannot_break_the_line() -> None:
    """It is shown as Python would write it."""
    assert "\n" not in str(InputInvalidError("job", "two\nlines", "one"))


def test_a_missing_value_says_how_to_give_it() -> None:
    """It is not guessed."""
    assert str(InputMissingError("the job's name", "set CRONCE_JOB")) == "the job's name is missing: set CRONCE_JOB"


def test_an_unavailable_ledger_is_named_with_the_cause() -> None:
    """Where it is, what went wrong, what to do."""
    error = LedgerUnavailableError("DynamoDB table runs in eu-west-1", "Throttled", transient=True, hint="wait")
    assert str(error) == "the ledger cannot be used: DynamoDB table runs in eu-west-1: Throttled; wait"
    assert error.transient
    assert str(LedgerUnavailableError("here", "gone", transient=False)) == "the ledger cannot be used: here: gone"


def test_an_unreadable_row_is_never_tried_again() -> None:
    """It will not change by itself."""
    error = RecordUnreadableError("digest", "run#2026", "schema 2")
    assert isinstance(error, LedgerUnavailableError)
    assert (error.job, error.key, error.transient) == ("digest", "run#2026", False)


def test_a_skewed_clock_is_a_ledger_that_cannot_be_used() -> None:
    """So that the work does not start."""
    assert issubclass(ClockSkewError, LedgerUnavailableError)


def test_a_lost_lease_names_attempt_job_and_period() -> None:
    """And says to stop."""
    error = LeaseLostError("digest", "2026", 2, "its row is gone")
    assert str(error).startswith("attempt 2 of digest 2026 no longer holds its run: its row is gone; stop the work")
    assert (error.job, error.period, error.attempt, error.why) == ("digest", "2026", 2, "its row is gone")


def test_what_was_found_is_told_in_words_and_a_value_in_quotes() -> None:
    """`'nothing' is not usable` reads as if somebody had written nothing."""
    assert str(InputInvalidError("jobs", "nothing", "a job")) == "jobs: 'nothing' is not usable; allowed: a job"
    found = InputInvalidError("jobs", Found("nothing, \x1b[2J"), "a job")
    assert str(found) == "jobs: nothing, \\x1b[2J; allowed: a job"
    assert str(found.called("x")) == "x: nothing, \\x1b[2J; allowed: a job"
