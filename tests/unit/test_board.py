"""The calendar of the board and its page, from values alone."""

from __future__ import annotations

import re
from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import pytest

from cronce.board.calendar import Board, JobCalendar, Mark, date_of, dates_until, days_of, mark_of, took
from cronce.board.fragments import MOST_RUNS_OF_A_DAY, SIGNS
from cronce.board.page import content_policy, page
from cronce.operate.look_up import About
from cronce.protocol.records import PastAttempt, RunRecord, UnreadableRow
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, LEASE_IS_OVER_AT, T0, TICK, run

NOW = T0 + timedelta(hours=3)
TODAY = date(2026, 11, 29)
HOSTILE = "\"'></template></script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[2J\u202e&lt;"


def board(*rows: RunRecord | UnreadableRow, days: int = 3, now: datetime = NOW, **job: object) -> Board:
    """A board of one job with these rows."""
    dates = dates_until(TODAY, days)
    overdue = job.pop("overdue", None)
    assert overdue is None or isinstance(overdue, datetime)
    found = days_of(rows, dates, now=now, overdue=overdue)
    given: dict[str, object] = {"name": JOB, "days": found}
    return Board(where="the ledger", now=now, dates=dates, jobs=[JobCalendar(**given | job)])  # type: ignore[arg-type]


class _Tags(HTMLParser):
    """The tags of a page and the attributes that could run or load something."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.risky: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.risky += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href", "style")]


@pytest.mark.parametrize(
    ("row", "now", "mark"),
    [
        (run(status=Status.SUCCEEDED), NOW, Mark.SUCCEEDED),
        (run(status=Status.FAILED), NOW, Mark.FAILED),
        (run(status=Status.SKIPPED), NOW, Mark.SKIPPED),
        (run(status=Status.MISSED), NOW, Mark.MISSED),
        (run(), LEASE_IS_OVER_AT, Mark.RUNNING),
        (run(), LEASE_IS_OVER_AT + TICK, Mark.LOST),
        (run(lease_until=None), T0, Mark.LOST),
        (UnreadableRow(job=JOB, key="run#2026-11-29", problem="schema 2"), NOW, Mark.UNREADABLE),
    ],
)
def test_every_state_has_its_mark(row: RunRecord | UnreadableRow, now: datetime, mark: Mark) -> None:
    """A run without a living owner does not look as if it ran."""
    assert mark_of(row, now) is mark


def test_every_mark_has_a_sign_of_its_own() -> None:
    """Nobody needs to see its colour."""
    assert set(SIGNS) == set(Mark)
    assert len(set(SIGNS.values())) == len(Mark)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (run(period="2026-11-28", scheduled_at=T0), date(2026, 11, 28)),
        (run(period="2026-11-28T23:30:00Z"), date(2026, 11, 29)),
        (run(period="2026-11-28T22:59:59Z"), date(2026, 11, 28)),
        (run(period="week-48", scheduled_at=T0 - timedelta(days=1)), date(2026, 11, 28)),
        (run(period="week-48"), TODAY),
        (run(period="0000000000", claimed_at=None, finished_at=None), TODAY),
        (run(period="x", scheduled_at=datetime.max.replace(tzinfo=UTC)), date(9999, 12, 31)),
        (UnreadableRow(job=JOB, key="run#2026-11-27T06:00:00Z", problem=""), date(2026, 11, 27)),
    ],
)
def test_a_run_is_on_the_date_of_its_tick_in_the_zone_of_its_schedule(
    row: RunRecord | UnreadableRow, expected: date
) -> None:
    """Half past midnight in Berlin is the new day, although it is the old one in UTC."""
    assert date_of(row, NOW, ZoneInfo("Europe/Berlin")) == expected


def test_a_day_has_the_mark_of_its_worst_run() -> None:
    """An overdue tick is worse than any; days without anything have no entry."""
    rows = [run(period=f"2026-11-29T0{hour}:00:00Z", status=status) for hour, status in enumerate(Status)]
    [day] = days_of(rows, dates_until(TODAY, 5), now=NOW).values()
    assert (day.date, day.mark, len(day.rows)) == (TODAY, Mark.LOST, len(rows))
    [day] = days_of(rows, dates_until(TODAY, 5), now=NOW, overdue=NOW).values()
    assert day.mark is Mark.OVERDUE
    [day] = days_of(rows[1:2], dates_until(TODAY, 5), now=NOW).values()
    assert day.mark is Mark.SUCCEEDED


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (run(status=Status.SUCCEEDED, finished_at=T0 + timedelta(minutes=4)), timedelta(minutes=4)),
        (run(), timedelta(hours=3)),
        (run(status=Status.MISSED, attempt=0), None),
        (run(status=Status.SKIPPED), None),
    ],
)
def test_work_that_began_took_time(of: RunRecord, expected: timedelta | None) -> None:
    """Also work that has not ended."""
    assert took(of, NOW) == expected


def test_pointing_at_a_day_shows_state_attempts_duration_and_cause() -> None:
    """The same text is the name of the day for a screen reader."""
    failed = run(
        status=Status.FAILED, attempt=2, reason="exit_code", exit_code=3, finished_at=T0 + timedelta(seconds=72)
    )
    text = page(board(failed))
    assert 'aria-label="Sun 2026-11-29: failed, 2 attempts, took 1m 12s, exit code 3">F</button>' in text
    hourly = [run(period=f"2026-11-29T0{hour}:00:00Z", status=Status.SUCCEEDED) for hour in range(3)]
    assert 'aria-label="Sun 2026-11-29: 3 runs, 3 succeeded">' in page(board(*hourly))
    late = page(board(overdue=NOW - timedelta(hours=1)))
    assert 'aria-label="Sun 2026-11-29: overdue, was due 1h ago">!</button>' in late
    again = page(board(run(status=Status.SUCCEEDED, attempt=3)))
    assert 'aria-label="Sun 2026-11-29: succeeded, 3 attempts, took 0.0s">3</button>' in again


def test_a_day_tells_its_runs_with_their_earlier_attempts_and_what_to_type() -> None:
    """As `cronce show` does: a meaning, and the next command."""
    past = PastAttempt(attempt=1, status=Status.FAILED, owner="a", claimed_at=T0, finished_at=NOW, error="no mail")
    failed = run(status=Status.FAILED, attempt=2, failures=1, attempts=(past,), reason="error", error="no\nserver")
    text = page(
        board(failed, schedule="daily", about=About(policy=Policy())), ledger="dynamodb://runs?region=eu-west-1"
    )
    assert "No machine starts it again: no retry is left (backoff_limit=0)." in text
    assert "<td>1</td><td>FAILED</td>" in text
    assert "cronce rerun &#x27;--ledger=dynamodb://runs?region=eu-west-1&#x27; daily-digest 2026-11-29" in text
    assert "<pre>no\nserver</pre>" in text
    assert "cronce why &#x27;--ledger=dynamodb://runs?region=eu-west-1&#x27; daily-digest 2026-11-29" in text
    assert "cronce show daily-digest 2026-11-29" in page(board(run(status=Status.SUCCEEDED)))


def test_no_text_of_the_ledger_becomes_a_tag_or_an_attribute() -> None:
    """Whatever a name, a cause, an error or a result says."""
    past = PastAttempt(attempt=1, status=Status.FAILED, owner=HOSTILE, reason=HOSTILE, error=HOSTILE)
    texts = dict.fromkeys(("reason", "error", "result", "checkpoint", "note", "actor", "blocked_by"), HOSTILE)
    rows: list[RunRecord | UnreadableRow] = [
        run(status=Status.FAILED, owner=HOSTILE, attempts=(past,), **texts),
        run(period=HOSTILE, status=Status.SKIPPED, cancel_requested=HOSTILE, **texts | {"reason": "overlap"}),
        UnreadableRow(job=HOSTILE, key=f"run#{HOSTILE}", problem=HOSTILE),
    ]
    text = page(board(*rows, name=HOSTILE, schedule=HOSTILE, remark=HOSTILE), ledger=f"sqlite:///{HOSTILE}")
    clean = page(board(run(status=Status.FAILED, attempts=(past,), error="no", result="1"), name="a"))
    assert _Tags(text).tags == _Tags(clean).tags | {"p", "pre"}
    assert _Tags(text).risky == []
    assert text.count("<script") == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)


def test_the_policy_admits_exactly_the_style_and_the_script_of_the_page() -> None:
    """By their hashes, as a browser computes them."""
    text = page(board())
    for tag in ("style", "script"):
        [inside] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in content_policy()
    assert f'content="{content_policy()}"' in text
    assert "unsafe" not in content_policy()
    assert content_policy().startswith("default-src 'none';")


def test_the_page_says_what_it_leaves_out() -> None:
    """Of a day with very many runs the newest are described; days that were not read are hatched."""
    minutes = [run(period=period_of(T0 - timedelta(minutes=n)), status=Status.SUCCEEDED) for n in range(60)]
    text = page(board(*minutes, unread_before=TODAY))
    assert text.count("<article>") == MOST_RUNS_OF_A_DAY
    assert "10 earlier runs of this day are not on the page." in text
    assert text.count('class="unread"') == 2


def test_jobs_whose_newest_run_is_bad_are_named_first() -> None:
    """One that has recovered needs no look."""
    bad = run(status=Status.FAILED)
    assert "1 job; 1 needs a look:" in page(board(bad))
    good = run(status=Status.SUCCEEDED)
    assert "1 job; none needs a look." in page(board(good, run(period="2026-11-28", status=Status.FAILED)))
    assert "0 jobs; none needs a look." in page(Board(where="", now=NOW, dates=[TODAY], jobs=[]))
