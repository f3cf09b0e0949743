"""One field of a cron expression: parses its text into the set of numbers that it matches.

The grammar is EventBridge Scheduler's (User Guide, "Schedule types", "Cron-based schedules"). That page
does not say which ranges wrap or how large a step may be. There the rule is Quartz's, whose dialect
EventBridge uses: every field except the year is circular, and a step is smaller than the circle.

A set of small numbers is a bit mask: bit `n` is set if `n` is in the set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cronce.schedule.errors import ScheduleInvalidError

FIRST_YEAR, LAST_YEAR = 1970, 2199

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_PART = re.compile(r"(?P<first>\*|[0-9]+|[A-Z]+)(?:-(?P<last>[0-9]+|[A-Z]+))?(?:/(?P<step>[0-9]+))?")
_PADDING = re.compile(r"(?<![0-9])0(?=[0-9](?![0-9]))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The numbers, names and signs that one field accepts.

    Attributes:
        names: Names for numbers, in ascending order.
        wraps: A range may cross the end of the field: `FRI-MON`, `22-2`.
        steps: `/` is allowed. AWS does not list it for the day-of-week field.
        circle: Number of values in the circle, if it differs from `high - low + 1`.
    """

    name: str
    low: int
    high: int
    names: Mapping[str, int] = field(default_factory=dict)
    wraps: bool = True
    steps: bool = True
    signs: str = ", - * /"
    circle: int | None = None

    def mask(self, text: str) -> int:
        """The set of numbers that `text` matches. Names must be in upper case.

        Raises:
            ScheduleInvalidError: `text` is not in the grammar or out of range, or a range runs
                backwards in a field that does not wrap.
        """
        parts = text.split(",")
        if len(parts) > 1 and "*" in parts:
            raise self.refusal(text, "`*` already matches every value and cannot be part of a list")
        mask = 0
        for part in parts:
            mask |= self._mask_of_part(part, text)
        return mask

    def refusal(self, text: str, reason: str = "") -> ScheduleInvalidError:
        """The error for a `text` that this field does not accept."""
        words = list(self.names)
        names = f" or {words[0]}-{words[-1]}" if words else ""
        allowed = f"{self.low}-{self.high}{names} with {self.signs}"
        return ScheduleInvalidError(self.name, text, f"{allowed}; {reason}" if reason else allowed)

    def number(self, word: str, text: str) -> int:
        """The number that `word`, a part of `text`, means: digits or a name."""
        if word in self.names:
            return self.names[word]
        if not word.isdecimal() or len(word) > len(str(self.high)) or not self.low <= int(word) <= self.high:
            raise self.refusal(text)
        return int(word)

    def _mask_of_part(self, part: str, text: str) -> int:
        match = _PART.fullmatch(part)
        if match is None:
            raise self.refusal(text)
        first, last, step = match["first"], match["last"], self._step(match["step"], text)
        if first == "*":
            if last is not None:
                raise self.refusal(text)
            low, high = self.low, self.high
        else:
            low = self.number(first, text)
            high = self.number(last, text) if last else self.high if match["step"] else low
        if high < low and not self.wraps:
            raise self.refusal(text, "a range must be ascending")
        circle = self.circle or self.high - self.low + 1
        up_to = high if high >= low else high + circle
        if step == 1 and up_to < self.low + circle:
            return (2 << up_to) - (1 << low)
        return mask_of((number - self.low) % circle + self.low for number in range(low, up_to + 1, step))

    def _step(self, step: str | None, text: str) -> int:
        if step is None:
            return 1
        if not self.steps:
            raise self.refusal(text, "steps are not allowed here; list the days instead")
        # More digits are out of range anyway, and int() of thousands of digits is slow.
        most = self.high - self.low if self.low in (0, FIRST_YEAR) else self.high
        if len(step) > len(str(most)) or not 1 <= int(step) <= most:
            raise self.refusal(text, f"a step is 1-{most}")
        return int(step)


MINUTES = Field(name="minutes", low=0, high=59)
HOURS = Field(name="hours", low=0, high=23)
DAY_OF_MONTH = Field(name="day-of-month", low=1, high=31, signs=", - * ? / L W")
MONTH = Field(name="month", low=1, high=12, names={name: i for i, name in enumerate(MONTH_NAMES, 1)})
DAY_OF_WEEK = Field(
    name="day-of-week",
    low=1,
    high=7,
    names={name: i for i, name in enumerate(DAY_NAMES, 1)},
    steps=False,
    signs=", - * ? L #",
)
YEAR = Field(name="year", low=FIRST_YEAR, high=LAST_YEAR, wraps=False)


def split_fields(text: str) -> list[str]:
    """The fields in canonical form: names in upper case, numbers without padding (`06` is 6), spaces removed."""
    # upper() turns some letters outside ASCII into ASCII ones; those words stay as they are and are refused.
    words = [word.upper() if word.isascii() else word for word in text.split()]
    return [_PADDING.sub("", word) for word in words] if "0" in text else words


def mask_of(numbers: Iterable[int]) -> int:
    """The set of these numbers."""
    mask = 0
    for number in numbers:
        mask |= 1 << number
    return mask


def numbers_in(mask: int) -> Iterator[int]:
    """The numbers in the set, in ascending order."""
    number = lowest(mask)
    while number >= 0:
        yield number
        number = lowest(mask, number + 1)


def runs_in(mask: int) -> Iterator[tuple[int, int]]:
    """The consecutive numbers in the set, in ascending order, as pairs of lowest and highest."""
    low = lowest(mask)
    while low >= 0:
        after = lowest(~mask, low)
        yield low, after - 1
        low = lowest(mask, after)


def lowest(mask: int, at_least: int = 0) -> int:
    """The smallest number in the set that is not below `at_least`, or -1."""
    rest = mask >> at_least
    return at_least + (rest & -rest).bit_length() - 1 if rest else -1


def highest(mask: int, at_most: int) -> int:
    """The largest number in the set that is not above `at_most`, or -1."""
    return (mask & ((2 << at_most) - 1)).bit_length() - 1 if at_most >= 0 else -1
