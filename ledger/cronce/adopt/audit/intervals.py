"""How long an interval in code is, if its own file or its name says so."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(r"\d[\d_]*(?:\.\d+)?(?:e\d+)?[lLfFdD]?")
_DURATION = re.compile(
    r"(?:TimeSpan\.From|Duration\.of|TimeUnit\.|Duration::from_|time\.|datetime\.|(?<!_))"
    r"(?P<unit>Milliseconds?|MILLISECONDS|Seconds?|SECONDS|secs|Minutes?|MINUTES|Hours?|HOURS|Days?|DAYS)\b"
    r"(?:\.to\w+)?(?:\((?P<count>[^()]+)\))?"
)
_SECONDS = {"sec": 1.0, "min": 60.0, "milli": 0.001, "hou": 3600.0, "day": 86_400.0, "week": 604_800.0}
_WORD = re.compile(r"(\d+)\.(second|minute|hour|day|week)s?(?:\(\))?")
_TEXT = re.compile(
    r"\w*\(?\s*[\"'`](\d+)\s*(s|m|h|d|w|secs?|mins?|seconds?|minutes?|hours?|hrs?|days?|weeks?)[\"'`]\s*\)?"
)
_CONVERTED = re.compile(r"(seconds|minutes|hours|days|weeks)To(?:Milliseconds|Seconds|Minutes)\(([^()]+)\)")
_AS_NUMBER = re.compile(
    r"\.(?:to(?:Millis|Seconds)\w*|inWhole\w+|Total\w+|total_seconds|as_\w+|in_\w+)(?:\(\))?$|\s+as\s+\w+$"
)
_NAME = re.compile(r"[A-Za-z_$](?:[\w$.]|->|::)*")
_NAMED = re.compile(
    r"(?:ONE_|A_)?(?:(?:MS|MILLIS\w*|SECONDS?)_(?:PER|IN)_(?:A_|ONE_)?)?(?P<unit>HOUR|DAY|WEEK)"
    r"(?:S?_(?:IN_)?(?:MS|MILLIS[A-Z]*|SECONDS?|SECS))?"
)
"""Names that say what they are wherever they come from: `DAY`, `ONE_HOUR_MS`, `MS_PER_DAY`."""
_OPTION = re.compile(r"\A(?:timeout|interval|delay|period|every)\s*=\s*")
_FROM_ENVIRONMENT = re.compile(
    r"(?:os\.environ\.get|os\.getenv|getenv|ENV\.fetch|config|env(?:\.\w+)?)\(\s*[\"']\w+[\"']\s*,"
    r"\s*(?:default\s*=\s*)?[\"']?(?P<default>[\w.* ]+?)[\"']?\s*(?:,\s*cast\s*=\s*\w+\s*)?\)"
)
"""A number that the environment may give, and its default."""
_TYPE = re.compile(r"\A(?:int|float|Integer|Float)\(([^()]*)\)\Z")
_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number; of seconds if it is a time, else without a unit."""

    number: float
    is_time: bool = False


def seconds_of(expression: str, text: str, unit: float) -> float | None:
    """The seconds of an expression of numbers, constants of the file and words for durations; None if unknown.

    Args:
        expression: For instance `24 * HOUR`, `24 * time.Hour`, `TimeSpan.FromDays(1)`, `1, TimeUnit.DAYS`, `ms('1d')`.
        text: The file, for its constants.
        unit: Seconds in a bare number.
    """
    found = _value(expression, text, 0)
    return None if found is None else found.number if found.is_time else found.number * unit


def _value(expression: str, text: str, depth: int) -> _Amount | None:
    words = _AS_NUMBER.sub("", re.split(r"\?\?|\|\|", expression)[-1].strip().rstrip(","))
    words = _TYPE.sub(r"\1", _FROM_ENVIRONMENT.sub(lambda found: found["default"], _OPTION.sub("", words)))
    if depth > _DEEPEST or len(words) > 200:
        return None
    if keyed := _keyed(words):
        return _Amount(keyed, is_time=True)
    if word := _WORD.fullmatch(words) or _TEXT.fullmatch(words):
        return _Amount(int(word[1]) * _size(word[2]), is_time=True)
    if converted := _CONVERTED.search(words):
        number = _product(converted[2], text, depth)
        return None if number is None else _Amount(number.number * _size(converted[1]), is_time=True)
    if duration := _DURATION.search(words):
        size = _size(duration["unit"])
        rest = words[: duration.start()] + (duration["count"] or "1") + words[duration.end() :]
        number = _product(rest.replace(",", "*").rstrip("* "), text, depth)
        return None if number is None else _Amount(number.number * size, is_time=True)
    return _product(words, text, depth)


def _keyed(words: str) -> float | None:
    """`timedelta(days=1, hours=2)`."""
    pairs = re.findall(r"(milliseconds|seconds|minutes|hours|days|weeks)\s*[=:]\s*([\d.]+)\b", words)
    return sum(float(number) * _size(name) for name, number in pairs) if pairs else None


def _size(word: str) -> float:
    """The seconds of a unit by its name, or by the letter that it begins with."""
    lower = word.lower()
    return next(size for prefix, size in _SECONDS.items() if lower.startswith(prefix) or prefix.startswith(lower))


def _product(words: str, text: str, depth: int) -> _Amount | None:
    """A product of numbers and constants."""
    total = _Amount(1.0)
    for part in re.sub(r"[()]", " ", words).split("*"):
        factor = part.strip()
        if _NUMBER.fullmatch(factor):
            value: _Amount | None = _Amount(float(factor.replace("_", "").rstrip("lLfFdD")))
        else:
            value = _constant(factor, text, depth) if _NAME.fullmatch(factor) else None
        if value is None:
            return None
        total = _Amount(total.number * value.number, is_time=total.is_time or value.is_time)
    return total


def _constant(name: str, text: str, depth: int) -> _Amount | None:
    last = re.split(r"\.|->|::", name)[-1].lstrip("$")
    found = re.search(
        rf"\b{re.escape(last)}\s*(?::\s*[\w:.]+\s*)?:?=(?!=)\s*([^;\n#]+?)\s*(?:;|//|#|$)", text, re.MULTILINE
    )
    if found is not None:
        return _value(_first_value(found.group(1)), text, depth + 1)
    if "." in name:  # a member, set where the object is made: `&Scheduler{every: 24 * time.Hour}`
        members = re.finditer(rf"\b{re.escape(last)}[\"']?\s*:\s*([^,;\n{{}}]+)", text)
        return next((value for each in members if (value := _value(each.group(1), text, depth + 1))), None)
    named = _NAMED.fullmatch(last)
    return _Amount(_size(named["unit"]), is_time=True) if named else None


def _first_value(text: str) -> str:
    """The text up to what ends it from outside: `DAY` of `DAY, times=1):`."""
    depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or (depth == 0 and letter == ","):
            return text[:place]
    return text
