"""Value classes behave as frozen dataclasses with slots do."""

from __future__ import annotations

import copy
import pickle

import pytest

from cronce.vocabulary.values import field_names, replace, value_class


@value_class
class Point:
    """Two numbers, the second with a default."""

    x: int
    y: int = 0


@value_class(kw_only=True)
class Span:
    """Two points in order."""

    begin: int
    end: int

    def __post_init__(self) -> None:
        if self.end < self.begin:
            msg = "ends before it begins"
            raise ValueError(msg)

    @property
    def length(self) -> int:
        """How long it is."""
        return self.end - self.begin


def test_values_are_equal_by_type_and_content() -> None:
    """And hash alike."""
    assert Point(1, y=2) == Point(1, 2)
    assert hash(Point(1)) == hash(Point(1, 0))
    assert Point(1, 2) != Point(2, 1)
    others: list[object] = [Span(begin=1, end=2), (1, 2)]
    assert Point(1, 2) not in others


def test_a_value_cannot_be_changed_only_replaced() -> None:
    """Neither a field nor a new attribute."""
    point = Point(1)
    with pytest.raises(AttributeError, match=r"Point\.x cannot be changed"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.y
    with pytest.raises(AttributeError):
        point.z = 3  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")
    assert replace(point, y=5) == Point(1, 5)
    assert point == Point(1)


def test_a_check_of_its_own_runs_for_copies_too() -> None:
    """`__post_init__` after construction and replacement; methods of the class stay."""
    assert Span(begin=1, end=3).length == 2
    with pytest.raises(ValueError, match="before"):
        replace(Span(begin=1, end=3), end=0)


@pytest.mark.parametrize(
    "build",
    [
        lambda: Point(y=1),  # type: ignore[call-arg]
        lambda: Point(1, 2, 3),  # type: ignore[call-arg]
        lambda: Point(1, x=1),  # type: ignore[misc]
        lambda: Point(1, z=1),  # type: ignore[call-arg]
        lambda: Point(1, y=2, z=3),  # type: ignore[call-arg]
        lambda: Span(1, 2),  # type: ignore[call-arg]
        lambda: Span(begin=1),  # type: ignore[call-arg]
    ],
)
def test_wrong_arguments_are_refused(build: object) -> None:
    """As any function refuses them."""
    assert callable(build)
    with pytest.raises(TypeError):
        build()


def test_a_value_copies_pickles_prints_and_matches() -> None:
    """What users of value classes take for granted."""
    point = Point(1, 2)
    assert copy.deepcopy(point) == point == pickle.loads(pickle.dumps(point))
    assert repr(point) == "Point(x=1, y=2)"
    assert field_names(Point) == ("x", "y")
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
