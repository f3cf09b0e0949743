"""The widget in a real Chromium, inside a plain page as a dashboard is: what a person sees, and what axe-core finds."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger
from cronce.protocol.records import PastAttempt
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from cronce_lambdas.board import Boards
from tests.lambdas.board_rows import history, remembered
from tests.support.builders import run
from tests.support.cloud import T0

if TYPE_CHECKING:
    from tests.support.browser import Browser

pytestmark = pytest.mark.slow

HOSTILE = "\"'></cwdb-action></style><script>alert(1)</script><img src=x onerror=alert(2)>&lt;"
ARN = "arn:aws:lambda:eu-west-1:111122223333:function:runs-board"
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Dashboard</title>'
    "<style>body {{ background: {background}; color: {ink}; }}</style></head><body><main><h1>Dashboard</h1>"
    "<h2>Runs</h2>{widget}</main></body></html>"
)


@pytest.fixture(scope="module")
def seen(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen of a calendar of twelve jobs and of what a press on its failed day shows, in both themes."""
    store = MemoryStore()
    past = PastAttempt(attempt=1, status=Status.FAILED, owner=HOSTILE, claimed_at=T0, finished_at=T0, error=HOSTILE)
    about: dict[str, object] = {"attempt": 2, "attempts": (past,), "claimed_at": T0, "error": HOSTILE}
    rows = [
        remembered(HOSTILE, "s-hostile"),
        run(job=HOSTILE, period=period_of(T0), status=Status.FAILED, reason="error", result=HOSTILE, **about),
    ]
    for number in range(11):
        name = f"job-{number:02}"
        rows += [remembered(name, f"s-{number:02}"), *history(name, days=14, bad=number == 5)]
    for row in rows:
        store.swap(row, None)
    clock = ManualClock(T0 + timedelta(hours=3))
    boards = Boards(ledger=Ledger(store, owner="cronce:board"), name="runs", clock=clock)
    folder = tmp_path_factory.mktemp("widget")
    for theme, background, ink in (("light", "#fff", "rgb(1, 2, 3)"), ("dark", "#161d26", "rgb(250, 251, 252)")):
        context = {"widgetContext": {"theme": theme, "forms": {"all": {}}}}
        widget = boards.answer(context, endpoint=ARN)
        popup = boards.answer({"job": HOSTILE, "periods": [period_of(T0)]} | context, endpoint=ARN)
        for part, html in (("widget", widget), ("popup", popup)):
            page = PAGE.format(background=background, ink=ink, widget=html)
            (folder / f"{part}-{theme}.html").write_text(page)
    program = [browser.node, str(Path(__file__).parent / "press.mjs"), str(browser.playwright), str(browser.axe)]
    program += [browser.program, folder.as_uri(), *filter(None, [os.environ.get("SCREENSHOTS")])]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_axe_finds_nothing_in_the_widget_and_in_what_a_press_shows(seen: dict[str, Any]) -> None:
    """In both themes of a dashboard."""
    assert set(seen["axe"]) == {f"{part}, {theme}" for part in ("widget", "popup") for theme in ("light", "dark")}
    assert [problem for found in seen["axe"].values() for problem in found["violations"]] == []
    assert all(found["passes"] > 10 for found in seen["axe"].values())


def test_the_theme_is_the_dashboards_and_not_the_browsers(seen: dict[str, Any]) -> None:
    """The browser prefers the other one each time; the dashboard's own style stays as it is."""
    assert seen["light"]["background"] != seen["dark"]["background"]
    assert (seen["light"]["host"], seen["dark"]["host"]) == ("rgb(1, 2, 3)", "rgb(250, 251, 252)")


def test_hostile_texts_are_shown_and_do_nothing(seen: dict[str, Any]) -> None:
    """No element of theirs exists, and nothing but the pages is asked for."""
    assert HOSTILE in seen["light"]["names"]
    assert (seen["dialogs"], seen["light"]["scripts"], seen["console"]) == (0, 0, [])
    assert {address.rpartition(".")[2] for address in seen["requests"]} == {"html"}


def test_a_day_is_a_button_whose_press_names_its_run(seen: dict[str, Any]) -> None:
    """The keyboard reaches it; the element behind it takes no room and holds what the function takes."""
    pressed = seen["pressed"]
    assert pressed["focused"]
    assert (pressed["name"], pressed["display"], pressed["shown"]) == ("cwdb-action", "popup", 0)
    assert pressed["given"] == {"job": HOSTILE, "periods": [period_of(T0)]}
    assert pressed["label"].startswith(HOSTILE)
    assert seen["light"]["cells"] == 1 + 11 * 14
