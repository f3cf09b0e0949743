"""Expressions of other programs: accepted where EventBridge can say the same, else refused with the one to write."""

from __future__ import annotations

import re

import pytest

from cronce.schedule import ScheduleInvalidError, parse

INSTEAD = re.compile(r"(?:cron|rate|at)\([A-Z0-9][^)]*\)")


@pytest.mark.parametrize(
    ("unix", "eventbridge"),
    [
        # crontab(5): a day field that begins with * does not restrict, so a day must match both.
        ("0 0 13 * */1", "cron(0 0 13 * ? *)"),
        ("0 0 */1 * 5", "cron(0 0 ? * FRI *)"),
        ("0 0 */1 * */1", "cron(0 0 * * ? *)"),
        ("0 0 1-7 * */7", "cron(0 0 ? * SUN#1 *)"),
        ("0 0 29-31 * */7", "cron(0 0 ? * SUN#5 *)"),
        ("0 0 * * */2", "cron(0 0 ? * SUN,TUE,THU,SAT *)"),
        # Neither begins with *: a day must match either, and every day does.
        ("0 0 13 * 0-6", "cron(0 0 * * ? *)"),
        ("0 0 1-31 * 1", "cron(0 0 * * ? *)"),
        # Padded numbers.
        ("00 06 01 01 *", "cron(0 6 1 1 ? *)"),
        ("0 6 * * 01", "cron(0 6 ? * MON *)"),
        ("0 6 * * 01-05", "cron(0 6 ? * MON-FRI *)"),
        ("0 6 * * 07", "cron(0 6 ? * SUN *)"),
        ("cron(0 6 ? * 01 *)", "cron(0 6 ? * 1 *)"),
        ("cron(0 6 ? * 02#01 *)", "cron(0 6 ? * 2#1 *)"),
        ("cron(0 6 ? * 06L *)", "cron(0 6 ? * 6L *)"),
        ("cron(00 06 05W 01 ? *)", "cron(0 6 5W 1 ? *)"),
        ("cron(0 6 L-03 * ? *)", "cron(0 6 L-3 * ? *)"),
        ("cron(0/05 6 * * ? *)", "cron(0/5 6 * * ? *)"),
    ],
)
def test_what_eventbridge_can_say_is_accepted(unix: str, eventbridge: str) -> None:
    """In its canonical form."""
    assert parse(unix).expression == eventbridge


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("0 0 */2 * 1", "begins with * does not restrict, so both must match"),
        ("0 0 13 * */2", "begins with * does not restrict, so both must match"),
        ("0 0 1-8 * */7", "both must match"),
    ],
)
def test_two_day_fields_that_eventbridge_cannot_combine_are_refused_with_the_true_reason(
    expression: str, why: str
) -> None:
    """Both would have to match."""
    with pytest.raises(ScheduleInvalidError, match=re.escape(why)) as caught:
        parse(expression)
    assert caught.value.field == "day-of-week"


@pytest.mark.parametrize(
    ("expression", "instead"),
    [
        ("CRON_TZ=Europe/Berlin 0 6 * * *", "write 0 6 * * * and timezone='Europe/Berlin'"),
        ("TZ=America/New_York 30 2 * * 1-5", "write 30 2 * * 1-5 and timezone='America/New_York'"),
        ("tz=UTC  cron(0 6 * * ? *)", "write cron(0 6 * * ? *) and timezone='UTC'"),
        ("@every 5m", "rate(5 minutes)"),
        ("@every 1h", "rate(1 hour)"),
        ("@every 1h30m", "rate(90 minutes)"),
        ("@EVERY 48h", "rate(2 days)"),
        ("@every 10s", 'every = "10s"'),
        ("@every soon", "rate(5 minutes), rate(1 hour), rate(1 day)"),
        ("H/15 * * * *", "*/15 * * * *"),
        ("0 0 6 * * *", "no field for seconds: 0 6 * * *"),
        ("30 0 6 * * MON-FRI", "no field for seconds: 0 6 * * MON-FRI"),
        ("0 0 12 * * ?", "no field for seconds: cron(0 12 * * ? *)"),
        ("0 0 12 ? * MON-FRI 2027", "no field for seconds: cron(0 12 ? * MON-FRI 2027)"),
        ("*/10 * * * * *", 'every = "10s"'),
        ("* * * * * *", 'every = "1s"'),
        ("0 6 * * ? *", "cron(0 6 * * ? *)"),
        ("0 6 L * *", "cron(0 6 L * ? *)"),
        ("0 6 LW * *", "cron(0 6 LW * ? *)"),
        ("0 6 15W * *", "cron(0 6 15W * ? *)"),
        ("0 6 * * 5L", "cron(0 6 ? * FRIL *)"),
        ("0 6 * * 1#2", "cron(0 6 ? * MON#2 *)"),
        ("0 6 * * 0#1", "cron(0 6 ? * SUN#1 *)"),
        ("0 6 * * FRI#1", "cron(0 6 ? * FRI#1 *)"),
        ("0 6 ? * 1-5", "cron(0 6 ? * MON-FRI *)"),
        ("0 6 1 * ?", "cron(0 6 1 * ? *)"),
        ("0 6 ? * *", "cron(0 6 ? * * *)"),
        ("cron(0 6 ? * MON-FRI)", "cron(0 6 ? * MON-FRI *)"),
        ("cron(0 6 * * *)", "without the brackets, 0 6 * * * is Unix cron"),
        ("rate(1 hours)", "rate(1 hour)"),
        ("rate(5 minute)", "rate(5 minutes)"),
        ("rate(5 min)", "rate(5 minutes)"),
        ("rate(5m)", "rate(5 minutes)"),
        ("rate(Hour)", "rate(1 hour)"),
        ("rate(2 weeks)", "rate(14 days)"),
        ("rate(30 seconds)", 'every = "30s"'),
        ("rate(90 seconds)", 'every = "90s"'),
        ("rate(120 seconds)", "rate(2 minutes)"),
        ("rate(0 minutes)", "a whole number from 1"),
        ("at(2026-11-29T06:00:00Z)", "at(2026-11-29T06:00:00) and timezone='UTC'"),
        ("at(2026-11-29T06:00:00+01:00)", "at(2026-11-29T05:00:00) and timezone='UTC'"),
        ("at(2026-11-29T06:00)", "at(2026-11-29T06:00:00)"),
        ("at(2026-11-29 06:00:00)", "at(2026-11-29T06:00:00)"),
        ("at(2026-11-29)", "yyyy-mm-ddThh:mm:ss"),
        ("at(2026-02-30T06:00:00)", "yyyy-mm-ddThh:mm:ss"),
    ],
)
def test_a_refusal_has_the_expression_to_write_instead(expression: str, instead: str) -> None:
    """And that expression is accepted."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse(expression)
    assert instead in caught.value.allowed
    for advised in INSTEAD.findall(caught.value.allowed):
        parse(advised)


@pytest.mark.parametrize("expression", ["H 6 * * *", "H H * * *", "H H(0-7) * * 1-5", "H/30 H 1 H *"])
def test_jenkins_h_is_replaced_by_numbers_that_are_accepted(expression: str) -> None:
    """The same ones each time."""
    advice = set()
    for _ in range(2):
        with pytest.raises(ScheduleInvalidError, match="in place of Jenkins") as caught:
            parse(expression)
        advice.add(caught.value.allowed.partition(": ")[2])
    (advised,) = advice
    assert "H" not in advised
    parse(advised)


@pytest.mark.parametrize(
    "expression",
    ["0 6 L * 1", "0 6 99W * *", "0 6 * * 1,L", "1 2 3", "0 0 0 0 0 0 0", "@reboot", "*/10 5 * * * *"],
)
def test_where_nothing_does_the_same_nothing_is_advised(expression: str) -> None:
    """One error, one line."""
    with pytest.raises(ScheduleInvalidError) as caught:
        parse(expression)
    assert len(str(caught.value).splitlines()) == 1
