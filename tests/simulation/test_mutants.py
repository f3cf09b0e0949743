"""The checks see what they should: each change of the protocol is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.simulation.changes import MUTANTS, Mutant
from tests.simulation.mutants import MutantStaleError, caught_by, mutated, source

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_list_is_long_and_names_each_mutant_once() -> None:
    """At least 25 distinct changes."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 25


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_follows_the_code(mutant: Mutant) -> None:
    """Its old text stands in the file exactly once."""
    assert mutated(mutant, source(mutant)) != source(mutant)


def test_a_mutant_whose_old_text_is_gone_is_an_error() -> None:
    """A mutant that changes nothing would be caught by nothing, or by accident."""
    mutant = Mutant("gone", "client/claim.py", "no such text", "", "nothing")

    with pytest.raises(MutantStaleError, match=r"'gone'.*0 times in client/claim\.py"):
        mutated(mutant, source(mutant))


@pytest.mark.prove
@pytest.mark.timeout(1200)
def test_no_check_fails_on_the_protocol_as_it_is() -> None:
    """Else being caught says nothing."""
    assert caught_by(None) is None


@pytest.mark.prove
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant: Mutant, record_property: Callable[[str, object], None]) -> None:
    """By the exhaustive search, a fleet or the unit tests."""
    caught = caught_by(mutant)

    assert caught is not None, mutant.breaks
    record_property(f"caught {mutant.name}", caught)
    record_property("mutants caught", 1)
