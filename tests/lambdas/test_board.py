"""The board function: what a dashboard gets for what it sends, and how little it reads for that."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger, LedgerUnavailableError
from cronce.board.widget import MOST_BYTES
from cronce.protocol.records import PastAttempt, RunRecord
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Status
from cronce_lambdas import board
from cronce_lambdas.board import DESCRIPTION, JOBS_OF_A_PAGE, Boards, handler
from tests.lambdas.board_rows import DAY, history, remembered
from tests.support.builders import run
from tests.support.cloud import T0

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record

ARN = "arn:aws:lambda:eu-west-1:111122223333:function:runs-board"
NOW = T0 + timedelta(hours=3)
HOSTILE = "\"'></cwdb-action></style><script>alert(1)</script><img src=x onerror=alert(2)>&lt;"


class CountingStore(MemoryStore):
    """A store that counts what is asked of it, and that nobody may write once it is closed."""

    closed = False

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.meanwhile: Callable[[], object] = lambda: None

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Write, until the store is closed."""
        assert not self.closed
        return super().swap(record, expected)

    def get(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Count, and answer."""
        self.asked["get"] += 1
        return super().get(*args, **options)

    def query(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        """Count, and answer."""
        self.asked["query"] += 1
        self.meanwhile()
        return super().query(*args, **options)


class Parsed(HTMLParser):
    """The tags of a widget, the attributes that could run or load something, and what each press calls."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.risky: list[str] = []
        self.calls: list[tuple[dict[str, str | None], Any]] = []
        self.jobs: list[str] = []
        self._attributes: dict[str, str | None] = {}
        self._inside = ""
        self._text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the tag."""
        self.tags[tag] += 1
        self.risky += [name for name, _ in attrs if name.startswith("on") or name in ("src", "href", "style")]
        if tag == "cwdb-action" or dict(attrs).get("class") == "job":
            self._inside, self._text, self._attributes = tag, "", dict(attrs)

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        """Note what was inside."""
        if tag != self._inside:
            return
        self._inside = ""
        if tag == "cwdb-action":
            self.calls.append((self._attributes, json.loads(self._text)))
        else:
            self.jobs.append(self._text)


def boards(rows: Iterable[RunRecord], store: CountingStore | None = None, clock: ManualClock | None = None) -> Boards:
    """The function over these rows; from now on nothing is written."""
    store = store or CountingStore()
    for row in rows:
        store.swap(row, None)
    store.closed = True
    return Boards(ledger=Ledger(store, owner="cronce:board"), name="runs", clock=clock or ManualClock(NOW))


def fleet(jobs: int, *, days: int = 3, bad: Sequence[int] = ()) -> list[RunRecord]:
    """The rows of that many jobs."""
    rows = []
    for number in range(jobs):
        rows += [
            remembered(f"job-{number:04}", f"s-{number:04}"),
            *history(f"job-{number:04}", days=days, bad=number in bad),
        ]
    return rows


def show(of: Boards, **event: Any) -> str:  # noqa: ANN401
    """The widget, as Lambda passes it on: JSON."""
    html: str = json.loads(json.dumps(of.answer(event, endpoint=ARN)))
    return html


def test_a_dashboard_asks_for_a_description() -> None:
    """In Markdown, with parameters to copy; nothing is read for it."""
    store = CountingStore()
    assert show(boards([], store), describe=True) == DESCRIPTION
    assert "```yaml" in DESCRIPTION
    assert store.asked == {}


def test_jobs_that_need_a_look_come_first_and_the_rest_is_on_other_pages() -> None:
    """Each page has as many jobs as the constant says; the last one has the rest."""
    function = boards(fleet(2 * JOBS_OF_A_PAGE + 5, bad=[60, 7]))
    html = show(function, days=3)
    seen = Parsed(html)
    assert seen.jobs[:3] == ["job-0007", "job-0060", "job-0000"]
    assert len(seen.jobs) == JOBS_OF_A_PAGE
    assert "<b>85 jobs</b>; 2 need a look. Read 2026-11-29 09:00:00 UTC from" in html
    assert "Page 1 of 3" in html
    assert ({"days": 3, "page": 2}) in [given for _, given in seen.calls]
    last = Parsed(show(function, days=3, page=3))
    assert (len(last.jobs), last.jobs[-1]) == (5, "job-0084")
    assert Parsed(show(function, days=3, page=99)).jobs == last.jobs


def test_a_page_of_a_thousand_jobs_takes_a_bounded_number_of_requests() -> None:
    """A page of memories per hundred jobs, a row of each job, and the rows and the slot of those on the page."""
    store = CountingStore()
    html = show(boards(fleet(1000, days=1), store))
    assert "<b>1000 jobs</b>; none needs a look." in html
    assert store.asked["query"] <= 11 + 1000 + JOBS_OF_A_PAGE
    assert store.asked["get"] <= JOBS_OF_A_PAGE


def test_what_cannot_be_read_in_time_is_said() -> None:
    """The store is slow: the page has what there was time for."""
    store, clock = CountingStore(), ManualClock(NOW)
    function = boards(fleet(300), store, clock)
    store.meanwhile = lambda: clock.advance(timedelta(milliseconds=50))
    html = show(function)
    [not_read] = re.findall(r"(\d+) jobs could not be read in time, and are not counted", html)
    assert 200 < int(not_read) < 300
    assert len(Parsed(html).jobs) == JOBS_OF_A_PAGE
    assert "could not be read" not in show(function, part="job-000")


def test_a_press_on_a_day_shows_its_runs_with_their_history() -> None:
    """What the calendar passes is what the function takes."""
    past = PastAttempt(attempt=1, status=Status.FAILED, owner="task", claimed_at=T0, finished_at=T0, error="no mail")
    failed = run(
        job="mail",
        period=period_of(T0),
        status=Status.FAILED,
        attempt=2,
        attempts=(past,),
        claimed_at=T0,
        error="no server",
    )
    function = boards([remembered("mail", "s-mail"), failed, *list(history("mail", days=3))[1:]])
    seen = Parsed(show(function, days=3))
    pressed = [(about, given) for about, given in seen.calls if "job" in given]
    assert [given["periods"] for _, given in pressed] == [[period_of(T0 - back * DAY)] for back in (2, 1, 0)]
    assert {(about["action"], about["display"], about["endpoint"]) for about, _ in pressed} == {("call", "popup", ARN)}
    html = show(function, **pressed[-1][1], widgetContext={"theme": "dark", "forms": {"all": {"part": "x"}}})
    assert "no server" in html
    assert "<td>1</td><td>FAILED</td>" in html
    assert f"cronce why mail {period_of(T0)}" in html
    assert "cronce-dark" in html
    assert "There is no such run any more." in show(function, job="mail", periods=["2020-01-01"])


def test_a_tick_without_a_row_is_overdue_and_its_press_says_so() -> None:
    """The watchdog's memory knows when the job was due."""
    function = boards([remembered("mail", "s-mail"), *list(history("mail", days=3))[1:]])
    html = show(function, days=3)
    assert "1 needs a look" in html
    assert 'class="c overdue"' in html
    *_, (_, given) = Parsed(html).calls
    assert given == {"job": "mail", "periods": [], "overdue": period_of(T0)}
    assert "A tick was due 2026-11-29 06:00:00 UTC (3h ago), and has no row." in show(function, **given)


def test_the_filter_is_what_a_person_typed_else_what_the_dashboard_says() -> None:
    """Letters of either case; the text stays in the field."""
    function = boards(fleet(12))
    typed = show(function, part="job", widgetContext={"forms": {"all": {"part": "JOB-001 "}}})
    assert Parsed(typed).jobs == ["job-0010", "job-0011"]
    assert 'name="part" value="JOB-001"' in typed
    assert Parsed(show(function, part="0003")).jobs == ["job-0003"]
    assert Parsed(show(function, jobs=["job-0005", "no-such"])).jobs == ["job-0005"]
    assert "No schedule, and no run in these days: no-such." in show(function, jobs=["job-0005", "no-such"])


def test_no_text_of_the_ledger_becomes_a_tag_or_an_attribute() -> None:
    """In the calendar, in what it passes on, and in what a press shows."""
    past = PastAttempt(attempt=1, status=Status.FAILED, owner=HOSTILE, reason=HOSTILE, error=HOSTILE)
    texts = dict.fromkeys(("reason", "error", "result", "note", "actor", "owner"), HOSTILE)
    rows = [
        remembered(HOSTILE, "s", since=NOW),
        run(job=HOSTILE, period=HOSTILE, status=Status.FAILED, claimed_at=T0, attempts=(past,), **texts),
    ]
    function = boards(rows)
    html = show(function)
    seen, clean = Parsed(html), Parsed(show(boards([remembered("a", "s"), run(job="a", status=Status.FAILED)])))
    assert set(seen.tags) == set(clean.tags)
    assert seen.jobs == [HOSTILE]
    *_, (_, given) = seen.calls
    assert given == {"job": HOSTILE, "periods": [HOSTILE]}
    pressed = Parsed(show(function, **given))
    assert "script" not in pressed.tags
    assert "img" not in pressed.tags
    assert pressed.risky == seen.risky == []


@pytest.mark.parametrize("period", [" x", "a#b", "\x1b[2J"])
def test_a_row_with_a_foreign_key_hides_no_other_run_of_its_day(period: str) -> None:
    """A press on the day passes on every key that the calendar lists."""
    store = CountingStore()
    function = boards([remembered("mail", "s"), run(job="mail", period=period_of(NOW), status=Status.FAILED)], store)
    store._items["mail", f"run#{period}"] = {"job": "mail", "key": f"run#{period}", "schema": 99}
    *_, (_, given) = Parsed(show(function)).calls
    assert sorted(given["periods"]) == sorted([period, period_of(NOW)])
    html = show(function, **given)
    assert period_of(NOW) in html
    assert "is not usable" in html
    assert "\x1b" not in html


def test_a_widget_that_would_be_too_long_has_fewer_jobs_and_says_so() -> None:
    """Names of the greatest length, on every day."""
    rows = []
    for number in range(JOBS_OF_A_PAGE):
        name = f"{number:04}" + "x" * 2044
        rows += [remembered(name, f"s-{number:04}"), *history(name, days=14)]
    html = show(boards(rows))
    assert len(html.encode()) <= MOST_BYTES
    assert 0 < len(Parsed(html).jobs) < JOBS_OF_A_PAGE
    assert "jobs of this page are too long to be shown" in html


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"dayz": 3}, "dayz"),
        ({"days": 0}, "days"),
        ({"days": "7"}, "days"),
        ({"days": True}, "days"),
        ({"page": 0}, "page"),
        ({"jobs": "mail"}, "jobs"),
        ({"jobs": [7]}, "job"),
        ({"jobs": ["a"] * 201}, "jobs"),
        ({"part": ["x"]}, "part"),
        ({"part": "x" * 201}, "part"),
        ({"widgetContext": {"forms": {"all": {"part": 7}}}}, "part"),
        ({"job": ""}, "job"),
        ({"job": "a", "periods": "2026-11-29"}, "periods"),
        ({"job": "a", "periods": [{}]}, "period"),
        ({"job": "a", "overdue": "soon"}, "overdue"),
        ({"job": "a", "overdue": 7}, "overdue"),
    ],
)
def test_an_event_of_another_shape_is_one_clear_error(event: dict[str, Any], said: str) -> None:
    """In the widget, without a read."""
    store = CountingStore()
    html = show(boards([], store), **event)
    [problem] = re.findall(r'role="alert">(.*?)</p>', html)
    assert said in problem
    assert "Traceback" not in html
    assert store.asked == {}


@pytest.mark.parametrize("event", [None, [], "describe", 7])
def test_what_no_dashboard_sends_is_refused(event: object) -> None:
    """Also by the handler itself."""
    assert "no dashboard sent it" in boards([]).answer(event, endpoint=ARN)


@pytest.mark.parametrize("context", [None, [], "dark", {"theme": 7}, {"theme": '"><b>', "forms": []}])
def test_a_context_of_another_shape_changes_nothing(context: object) -> None:
    """It is a hint: the theme is one of two, or none."""
    html = show(boards(fleet(1)), widgetContext=context)
    assert '<div class="cronce cronce-widget">' in html


def test_a_ledger_that_does_not_answer_is_said_in_the_widget() -> None:
    """Not as an error of the function, which a dashboard shows without its words."""
    store = CountingStore()
    function = boards(fleet(1), store)

    def refuse() -> None:
        raise LedgerUnavailableError("read", "access denied", transient=False)

    store.meanwhile = refuse
    assert "access denied" in show(function)


def test_the_handler_takes_its_ledger_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its own ARN from the context."""
    monkeypatch.setenv(LEDGER, "dynamodb://runs?region=eu-west-1")
    assert handler({"describe": True}, SimpleNamespace(invoked_function_arn=ARN)) == DESCRIPTION
    assert "dayz" in handler({"dayz": 1}, None)


@pytest.mark.slow
def test_a_thousand_jobs_in_dynamodb_local(dynamodb_local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the handler and the lean transport: all of them are on the pages, and the function used little memory."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "board")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    url = f"dynamodb://thousand?region=eu-west-1&endpoint={dynamodb_local}"
    rows = fleet(1000, days=2)
    with closing(Ledger.from_url(url)) as ledger, ThreadPoolExecutor(16) as writers:
        ledger.create()
        assert len(list(writers.map(lambda row: ledger._store.swap(row, None), rows))) == 3000
    monkeypatch.setenv(LEDGER, url)
    with closing(board._boards(url)._ledger):
        part, every = (handler(event, SimpleNamespace(invoked_function_arn=ARN)) for event in ({"part": "job-09"}, {}))
    board._boards.cache_clear()
    assert "<b>100 jobs</b>" in part
    assert len(Parsed(part).jobs) == JOBS_OF_A_PAGE
    assert "<b>1000 jobs</b>" in every
