"""`cronce tail`, and what counts as a change."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator

import pytest

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.operate.changes import Watch
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said
from tests.support.builders import JOB, PERIOD, run


def won(ledger: Ledger, period: str = PERIOD, job: str = JOB) -> Claim:
    """A claim."""
    claim = ledger.claim(job, period)
    assert isinstance(claim, Claim)
    return claim


def news(watch: Watch) -> list[tuple[str, str, str | None, str]]:
    """What a look finds."""
    return [(change.run.job, change.run.period, change.was, change.run.status) for change in watch.look()]


def test_each_change_is_seen_once() -> None:
    """A start, an end, the next attempt; of each job, and only of those asked for."""
    ledger = Ledger(MemoryStore(), owner="me")
    watch = Watch(ledger, [JOB, "other"])
    assert news(watch) == []
    claim = won(ledger)
    assert news(watch) == [(JOB, PERIOD, None, "RUNNING")]
    assert news(watch) == []
    claim.heartbeat()
    claim.checkpoint(7)
    assert news(watch) == []
    claim.interrupt()
    won(ledger, job="other").complete()
    won(ledger, job="unasked")
    assert news(watch) == [(JOB, PERIOD, "RUNNING", "FAILED"), ("other", PERIOD, None, "SUCCEEDED")]
    won(ledger)
    assert news(watch) == [(JOB, PERIOD, "FAILED", "RUNNING")]


def test_an_attempt_that_was_taken_over_between_two_looks_is_a_change() -> None:
    """Though the status is the same."""
    ledger = Ledger(MemoryStore(), owner="me")
    claim = won(ledger)
    watch = Watch(ledger, [JOB])
    watch.look()
    claim.interrupt()
    won(ledger)
    assert news(watch) == [(JOB, PERIOD, "RUNNING", "RUNNING")]


def test_old_rows_are_no_news_when_newer_ones_are_gone() -> None:
    """A page of twenty then reaches further back."""
    store = MemoryStore()
    for day in range(1, 26):
        store.swap(run(period=f"2026-11-{day:02}", status=Status.SUCCEEDED, lease_until=None), None)
    watch = Watch(Ledger(store, owner="me"), [JOB])
    watch.look()
    del store._items[JOB, "run#2026-11-25"]
    assert news(watch) == []
    won(Ledger(store, owner="me"), "2026-11-30")
    assert news(watch) == [(JOB, "2026-11-30", None, "RUNNING")]


@pytest.fixture
def at_work(
    ledger_file: LedgerFile, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Ledger, list[Callable[[], object]]]]:
    """Another process, and what it does in each wait of the command."""
    ledger, at = Ledger.from_url(ledger_file.url, owner="host:7"), [0.0]
    happens: list[Callable[[], object]] = []

    def sleep(seconds: float) -> None:
        at[0] += seconds
        if happens:
            happens.pop(0)()

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr("cronce.cli.commands.tail.time.monotonic", lambda: at[0])
    ledger_file.put(run(period="2026-11-28", status=Status.SUCCEEDED, lease_until=None))
    yield ledger, happens
    ledger.close()


def test_a_line_per_change(cronce: Callable[..., Said], at_work: tuple[Ledger, list[Callable[[], object]]]) -> None:
    """As it happens; what was before is no news."""
    ledger, happens = at_work
    claims: list[Claim] = []
    happens += [lambda: claims.append(won(ledger)), lambda: claims[0].fail("the mail\nserver \x1b[31msaid no")]
    said = cronce("tail", "--for", "20s")
    assert (said.code, said.err) == (0, "")
    assert [re.sub(r"^\d\d:\d\d:\d\dZ ", "", line) for line in said.out.splitlines()] == [
        f"{JOB} {PERIOD} RUNNING attempt 1 by host:7",
        f"{JOB} {PERIOD} FAILED attempt 1 by host:7: error, the mail ...",
    ]


def test_with_json_each_change_is_a_line_of_the_documented_schema(
    cronce: Callable[..., Said], at_work: tuple[Ledger, list[Callable[[], object]]]
) -> None:
    """Of the jobs that were named."""
    ledger, happens = at_work
    happens += [lambda: (won(ledger), won(ledger, job="other"))]
    said = cronce("tail", JOB, "--json", "--for", "20s", "--every", "2s")
    (line,) = [json.loads(text) for text in said.out.splitlines()]
    documented = re.findall(r"\w+", cronce("tail", "--help").out.partition("one line: {")[2].partition("}")[0])
    assert list(line) == documented
    assert line | {"at": ""} == {
        "at": "",
        "job": JOB,
        "period": PERIOD,
        "was": None,
        "status": "RUNNING",
        "attempt": 1,
        "reason": None,
        "exit_code": None,
        "owner": "host:7",
    }


def test_a_job_that_does_not_exist_is_not_watched(
    cronce: Callable[..., Said], at_work: tuple[Ledger, list[Callable[[], object]]]
) -> None:
    """Nothing would ever come."""
    assert at_work
    said = cronce("tail", JOB, "daily-digst")
    assert (said.code, said.out) == (1, "")
    assert f"Did you mean {JOB}?" in said.err


@pytest.mark.parametrize("arguments", [("--every", "often"), ("--for", "-1s"), ("a\nb",)])
def test_what_cannot_be_used_is_64(cronce: Callable[..., Said], arguments: tuple[str, ...]) -> None:
    """One line that names it."""
    said = cronce("tail", *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
