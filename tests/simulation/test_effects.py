"""No interleaving of attempts does an effect twice, loses one, or tells a later attempt something untrue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce.protocol.effects import OnUnknown
from tests.simulation.effects import EffectSearch, plan, short_segments

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(("size", "on_unknown", "attempts", "faults"), list(plan()))
def test_no_interleaving_of_attempts_breaks_a_promise(
    size: int, on_unknown: OnUnknown, attempts: int, faults: int
) -> None:
    """Attempts that overlap freely: no lease protects them here."""
    with short_segments(size):
        assert EffectSearch(on_unknown, attempts=attempts, faults=faults).explore() > 100


@pytest.mark.prove
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("on_unknown", OnUnknown)
@pytest.mark.parametrize(("attempts", "faults"), [(2, 2), (3, 1)])
def test_no_interleaving_breaks_a_promise_within_the_wide_bound(
    on_unknown: OnUnknown, attempts: int, faults: int, record_property: Callable[[str, object], None]
) -> None:
    """Two faults, or three attempts."""
    with short_segments(15):
        states = EffectSearch(on_unknown, attempts=attempts, faults=faults).explore()

    record_property("scenarios", 1)
    record_property("states", states)
