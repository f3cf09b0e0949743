"""One field of a cron expression: its text becomes the set of numbers it means.

The grammar is EventBridge Scheduler's (User Guide, "Schedule types", "Cron-based schedules"). Where
that page is silent (which ranges wrap, how large a step may be) the rule is that of Quartz, whose
dialect EventBridge's is: every field but the year is a circle, and a step is smaller than the circle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cronce.schedule._bits import mask_of
from cronce.schedule.errors import ScheduleInvalidError

FIRST_YEAR, LAST_YEAR = 1970, 2199

MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")

_PART = re.compile(r"(?P<first>\*|[0-9]+|[A-Z]+)(?:-(?P<last>[0-9]+|[A-Z]+))?(?:/(?P<step>[0-9]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The numbers, names and signs that one field takes.

    Attributes:
        names: What else may stand for a number, in rising order.
        wraps: A range may run over the end: `FRI-MON`, `22-2`.
        steps: `/` is allowed. AWS leaves it out of the day-of-week field.
        circle: After how many values it begins again, where that is not after the last one.
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
        """The set of numbers that `text` means; names are in upper case.

        Raises:
            ScheduleInvalidError: It is not in the grammar, out of range, or a range that runs
                backwards where it cannot wrap.
        """
        parts = text.split(",")
        if len(parts) > 1 and "*" in parts:
            raise self.refusal(text, "`*` already holds every value, so it stands alone")
        mask = 0
        for part in parts:
            mask |= self._mask_of_part(part, text)
        return mask

    def refusal(self, text: str, reason: str = "") -> ScheduleInvalidError:
        """What to raise when `text` is not this field."""
        words = list(self.names)
        names = f" or {words[0]}-{words[-1]}" if words else ""
        allowed = f"{self.low}-{self.high}{names} with {self.signs}"
        return ScheduleInvalidError(self.name, text, f"{allowed}; {reason}" if reason else allowed)

    def number(self, word: str, text: str) -> int:
        """The number that one `word` of `text` says, in figures or as a name."""
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
            raise self.refusal(text, "a range goes upwards")
        circle = self.circle or self.high - self.low + 1
        up_to = high if high >= low else high + circle
        if step == 1 and up_to < self.low + circle:
            return (2 << up_to) - (1 << low)
        return mask_of((number - self.low) % circle + self.low for number in range(low, up_to + 1, step))

    def _step(self, step: str | None, text: str) -> int:
        if step is None:
            return 1
        if not self.steps:
            raise self.refusal(text, "no steps here, name the days instead")
        # Longer figures are out of range anyway, and int() of thousands of them is slow.
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
    """The fields, which any number of spaces separates, with their names in upper case."""
    # Some letters beyond ASCII become ASCII in upper case; they are left for the field to refuse.
    return [word.upper() if word.isascii() else word for word in text.split()]
