"""The board in a real Chromium: what a person sees, by pointer and keyboard, and what axe-core finds."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce.board.calendar import Board, JobCalendar, dates_until, days_of
from cronce.board.page import page
from cronce.protocol.records import PastAttempt, RunRecord, UnreadableRow
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from tests.support.builders import run

if TYPE_CHECKING:
    from tests.support.browser import Browser

pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
TODAY = date(2026, 11, 29)
HOSTILE = "\"'></template></script><script>alert(1)</script><img src=x onerror=alert(2)><b>&lt;"


def rows_of(job: str, number: int, days: int) -> list[RunRecord | UnreadableRow]:
    """A row per day: every state, earlier attempts, and hostile texts."""
    rows: list[RunRecord | UnreadableRow] = []
    for back in range(days):
        at = NOW.replace(hour=6) - timedelta(days=back)
        status = Status.SUCCEEDED if (back + number) % 13 else list(Status)[(back + number) // 13 % 5]
        past = PastAttempt(attempt=1, status=Status.FAILED, owner="task", claimed_at=at, finished_at=at, error=HOSTILE)
        attempts = (past,) if back % 17 == 0 else ()
        about: dict[str, object] = {"scheduled_at": at, "claimed_at": at, "result": HOSTILE, "owner": HOSTILE}
        if status is Status.FAILED:
            about |= {"error": HOSTILE, "reason": HOSTILE}
        about |= {"attempt": 1 + len(attempts), "attempts": attempts}
        rows.append(run(job=job, period=period_of(at), status=status, **about))
    rows[1] = UnreadableRow(job=job, key=f"run#{rows[1].period}", problem=HOSTILE)
    return rows


def written(folder: Path, jobs: int, days: int = 90) -> Path:
    """The page of that many jobs, as a file."""
    dates = dates_until(TODAY, days)
    names = [HOSTILE, *(f"job-{number}" for number in range(1, jobs))]
    calendars = [
        JobCalendar(
            name=name,
            schedule="at 06:00 every day, Europe/Berlin",
            next_at=NOW + timedelta(hours=20),
            remark=HOSTILE if number == 1 else "",
            days=days_of(
                rows_of(name, number, days), dates, now=NOW, overdue=NOW - timedelta(hours=1) if number == 2 else None
            ),
        )
        for number, name in enumerate(names)
    ]
    file = folder / "runs.html"
    file.write_text(page(Board(where=HOSTILE, now=NOW, dates=dates, jobs=calendars)))
    return file


def node(browser: Browser, script: str, file: Path) -> dict[str, Any]:
    """What a script in this folder saw on the page."""
    program = [browser.node, str(Path(__file__).parent / script)]
    parts = [str(browser.playwright), str(browser.axe), browser.program, file.as_uri()]
    done = subprocess.run([*program, *parts], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(scope="module")
def seen(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen of three jobs and 90 days."""
    return node(browser, "look.mjs", written(tmp_path_factory.mktemp("board"), 3))


def test_axe_finds_nothing_in_light_in_dark_on_a_phone_and_in_the_panel(seen: dict[str, Any]) -> None:
    """It judged what it looked for."""
    assert set(seen["axe"]) == {"light", "light, panel", "dark", "dark, panel", "phone, panel"}
    assert [problem for found in seen["axe"].values() for problem in found["violations"]] == []
    assert all(found["passes"] > 25 for found in seen["axe"].values())


def test_hostile_texts_are_shown_and_do_nothing(seen: dict[str, Any]) -> None:
    """No script of theirs runs, no element of theirs exists, and the page asks for nothing but itself."""
    assert seen["names"][0] == HOSTILE
    assert (seen["dialogs"], seen["scripts"]) == (0, 1)
    assert {address.partition("#")[0].rpartition("/")[2] for address in seen["requests"]} == {"runs.html"}


def test_the_policy_of_the_page_holds(seen: dict[str, Any]) -> None:
    """The browser reports neither a violation of it nor an error."""
    assert seen["console"] == []


def test_the_calendar_is_used_by_keyboard(seen: dict[str, Any]) -> None:
    """Tab reaches one day, arrows go on from there, Enter opens, Escape returns."""
    assert seen["filterHasFocus"] == "filter"
    assert seen["stops"] == 1
    assert seen["first"] == seen["tip"]
    assert seen["first"].startswith("Sun 2026-11-29: ")
    assert seen["left"].startswith("Sat 2026-11-28: unreadable")
    assert seen["down"].startswith("Sat 2026-11-28: ")
    assert seen["panel"].count("2026-11-28") >= 2
    assert seen["panelIsClosed"]
    assert seen["back"] == seen["down"]
    assert seen["deep"] == "job-1, 2026-11-28"


def test_pointer_and_filter(seen: dict[str, Any]) -> None:
    """Pointing shows the text of a day; the filter leaves the jobs that were asked for."""
    assert seen["hover"].startswith("Tue 2026-09-01: succeeded")
    assert (seen["needLook"], seen["count"]) == (2, "2 of 3 jobs")
    assert seen["filtered"] == ["job-2"]
    assert seen["phoneOverflow"] == 0


def test_fifty_jobs_and_ninety_days_take_less_than_a_second_of_the_browser(browser: Browser, tmp_path: Path) -> None:
    """Of its processor, so that a busy machine does not decide."""
    seen = node(browser, "time.mjs", written(tmp_path, 50))
    assert seen["cells"] == 50 * 90
    assert min(seen["seconds"]) < 1
