"""How long an interval in code is."""

from __future__ import annotations

import pytest

from cronce.adopt.audit.intervals import seconds_of

_DAY = 86_400.0


@pytest.mark.parametrize(
    ("expression", "text", "unit", "seconds"),
    [
        ("24 * 60 * 60 * 1000", "", 0.001, _DAY),
        ("DAY", "const DAY = 24 * 60 * 60 * 1000;", 0.001, _DAY),
        ("Interval", "static readonly TimeSpan Interval = TimeSpan.FromHours(24);", 0.001, _DAY),
        ("interval", "const interval = 24 * time.Hour", 1, _DAY),
        ("EVERY", "const EVERY: Duration = Duration::from_secs(60 * 60 * 24);", 1, _DAY),
        ("process.env.EVERY_MS ?? 3_600_000", "", 0.001, 3600.0),
        ("Number(process.env.EVERY_MS) || HOUR", "const HOUR = 3600e3", 0.001, 3600.0),
        ("24 * ONE_HOUR_MS", "import { ONE_HOUR_MS } from './times';", 0.001, _DAY),
        ("MS_PER_DAY", "", 0.001, _DAY),
        ("ms('1d')", "", 0.001, _DAY),
        ("'24h'", "", 0.001, _DAY),
        ("ms('90m')", "", 0.001, 5400.0),
        ("hoursToMilliseconds(24)", "", 0.001, _DAY),
        ("Duration.ofDays(1).toMillis()", "", 0.001, _DAY),
        ("TimeUnit.DAYS.toMillis(1)", "", 0.001, _DAY),
        ("24.hours.inWholeMilliseconds", "", 0.001, _DAY),
        ("0, 1, TimeUnit.DAYS", "", 0.001, 0.0),
        ("config.interval", "", 0.001, None),
        ("s.every", "type S struct { every time.Duration }\nreturn &S{every: 24 * time.Hour}", 1, _DAY),
        ("config.interval", "const config = { interval: 5000 };", 0.001, 5.0),
        ("config.interval", "interface Config { interval: number; }", 0.001, None),
        ("5000", "", 0.001, 5.0),
        ("TODAY", "", 0.001, None),
    ],
)
def test_an_interval_is_what_its_file_or_its_name_says(
    expression: str, text: str, unit: float, seconds: float | None
) -> None:
    """A constant with a unit of its own keeps it; one without gets that of the call."""
    assert seconds_of(expression, text, unit) == seconds
