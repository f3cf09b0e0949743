"""How long an interval in code is, if its own file says so."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\d[\d_]*(?:\.\d+)?(?:e\d+)?[lLfFdD]?")
_DURATION = re.compile(
    r"(?:TimeSpan\.From|Duration\.of|TimeUnit\.|Duration::from_|time\.|datetime\.)?"
    r"(?P<unit>Milliseconds?|MILLISECONDS|Seconds?|SECONDS|secs|Minutes?|MINUTES|Hours?|HOURS|Days?|DAYS)\b(?:\((?P<count>[^()]+)\))?"
)
_SECONDS = {"milli": 0.001, "sec": 1.0, "min": 60.0, "hou": 3600.0, "day": 86_400.0, "week": 604_800.0}
_RUBY = re.compile(r"(\d+)\.(second|minute|hour|day|week)s?")
_NAME = re.compile(r"[A-Za-z_$][\w$.]*")
_DEEPEST = 5


def seconds_of(expression: str, text: str, unit: float) -> float | None:
    """The seconds of an expression of numbers, constants of the file and words for durations; None if unknown.

    Args:
        expression: For instance `24 * HOUR`, `24 * time.Hour`, `TimeSpan.FromDays(1)`, `1, TimeUnit.DAYS`.
        text: The file, for its constants.
        unit: Seconds in a bare number.
    """
    return _value(expression, text, unit, 0)


def _value(expression: str, text: str, unit: float, depth: int) -> float | None:
    words = expression.strip()
    if depth > _DEEPEST or len(words) > 200:
        return None
    if keyed := _keyed(words):
        return keyed
    if ruby := _RUBY.fullmatch(words):
        return int(ruby[1]) * _size(ruby[2])
    if duration := _DURATION.search(words):
        size = _size(duration["unit"])
        rest = words[: duration.start()] + (duration["count"] or "1") + words[duration.end() :]
        number = _product(rest.replace(",", "*").rstrip("* "), text, depth)
        return None if number is None else number * size
    number = _product(words, text, depth)
    return None if number is None else number * unit


def _keyed(words: str) -> float | None:
    """`timedelta(days=1, hours=2)`."""
    pairs = re.findall(r"(milliseconds|seconds|minutes|hours|days|weeks)\s*[=:]\s*([\d.]+)\b", words)
    return sum(float(number) * _size(name) for name, number in pairs) if pairs else None


def _size(word: str) -> float:
    return next(size for prefix, size in _SECONDS.items() if word.lower().startswith(prefix))


def _product(words: str, text: str, depth: int) -> float | None:
    """A product of numbers and constants."""
    total = 1.0
    for part in re.sub(r"[()]", " ", words).split("*"):
        factor = part.strip()
        if _NUMBER.fullmatch(factor):
            total *= float(factor.replace("_", "").rstrip("lLfFdD"))
        elif _NAME.fullmatch(factor) and (value := _constant(factor, text, depth)) is not None:
            total *= value
        else:
            return None
    return total


def _constant(name: str, text: str, depth: int) -> float | None:
    last = re.escape(name.rpartition(".")[2])
    found = re.search(rf"\b{last}\s*(?::\s*\w+\s*)?:?=\s*([^;\n#]+?)\s*(?:;|//|#|$)", text, re.MULTILINE)
    return _value(found.group(1), text, 1.0, depth + 1) if found else None
