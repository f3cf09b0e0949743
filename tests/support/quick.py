"""Which parameters of a test `make test` runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def quick(values: Iterable[object], only: Collection[object]) -> list[object]:
    """The values as parameters: `make test` runs those in `only`, `make test-slow` the others."""
    return [each if each in only else pytest.param(each, marks=pytest.mark.slow) for each in values]
