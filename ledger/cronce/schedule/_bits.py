"""Sets of small numbers as bit masks: bit `n` is set if `n` is in the set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def mask_of(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def numbers_in(mask: int) -> Iterator[int]:
    """The numbers of the set, in rising order."""
    number = lowest(mask)
    while number >= 0:
        yield number
        number = lowest(mask, number + 1)


def runs_in(mask: int) -> Iterator[tuple[int, int]]:
    """The unbroken runs of the set in rising order, each as its lowest and highest number."""
    low = lowest(mask)
    while low >= 0:
        after = lowest(~mask, low)
        yield low, after - 1
        low = lowest(mask, after)


def lowest(mask: int, at_least: int = 0) -> int:
    """The smallest number of the set that is `at_least` so large, or -1."""
    rest = mask >> at_least
    return at_least + (rest & -rest).bit_length() - 1 if rest else -1


def highest(mask: int, at_most: int) -> int:
    """The largest number of the set that is `at_most` so large, or -1."""
    return (mask & ((2 << at_most) - 1)).bit_length() - 1 if at_most >= 0 else -1
