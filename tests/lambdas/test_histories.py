"""Over random histories of a job, the watchdog marks what was missed, and nothing else."""

from __future__ import annotations

from datetime import datetime
from functools import cache

import pytest

from cronce import Status
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from tests.lambdas.events import JOB, SETTINGS
from tests.lambdas.history import SEASONS, History, play

HISTORIES = [(season, seed) for season in SEASONS for seed in range(3)]
ONE_A_SEASON = [pytest.param(each, marks=[pytest.mark.slow] if each[1] else []) for each in HISTORIES]

played = cache(play)


@pytest.fixture(scope="module", params=ONE_A_SEASON, ids=lambda each: f"{each[0]}-{each[1]}")
def history(request: pytest.FixtureRequest) -> History:
    """A history, played to its end."""
    return played(*request.param)


def marked(history: History) -> set[datetime]:
    """The ticks that were ever marked missed, by the row or its history."""
    return {
        run.scheduled_at
        for run in history.world.ledger().runs(JOB)
        if run.scheduled_at and "never_delivered" in (run.reason, *(past.reason for past in run.attempts))
    }


def test_no_tick_is_called_missed_that_was_delivered_in_time_or_not_due(history: History) -> None:
    """Nor while the schedule was disabled, different or absent."""
    wrong = [
        tick
        for tick in marked(history)
        if tick not in history.due
        or ((delivered := history.due[tick]) is not None and delivered <= tick + SETTINGS.missed_after)
    ]
    assert wrong == [], (history.seed, history.lines)


def test_every_tick_is_called_missed_that_was_due_and_not_delivered(history: History) -> None:
    """Whatever happened to the schedule afterwards, and however long the watchdog did not run."""
    lost = {tick for tick, delivered in history.due.items() if delivered is None and history.is_sure(tick)}
    lost -= history.silent.keys()
    assert lost - marked(history) == set(), (history.seed, history.lines)


def test_every_missed_tick_sends_an_event(history: History) -> None:
    """Once, or more often if a look was interrupted."""
    assert history.told == {period_of(tick) for tick in marked(history)}


def test_only_missed_ticks_are_caught_up(history: History) -> None:
    """Each once."""
    periods = [period for _, period, _, _ in history.world.launches()]
    assert {*periods} <= history.told
    assert len(periods) == len({*periods})


def test_no_tick_is_called_missed_or_started_again_whose_task_works_without_asking(history: History) -> None:
    """The row comes with the stop of the task, and tells the truth; before, nothing is written."""
    silent = {tick for tick in history.silent if history.is_recorded(tick)}
    wrong = {period_of(tick) for tick in silent} & {*history.told, *(each[1] for each in history.world.launches())}
    assert wrong == set(), (history.seed, history.lines)
    assert {history.world.standing(tick).reason for tick in silent} <= {"unclaimed"}


def test_every_due_tick_has_a_row_in_the_end(history: History) -> None:
    """SUCCEEDED, MISSED or FAILED(unclaimed); only a tick that nobody can be sure of may have no row."""
    for tick in history.due:
        run = history.world.run(tick)
        assert run is not None or not history.is_sure(tick), (history.seed, tick)
        assert run is None or run.status in (Status.SUCCEEDED, Status.MISSED) or run.reason == "unclaimed"


def test_only_ticks_have_rows_and_only_the_job_has_any(history: History) -> None:
    """Forged events and letters came in between: of other definitions, accounts, days, periods and jobs."""
    periods = {run.period for run in history.world.ledger().runs(JOB)}
    assert periods <= {period_of(tick) for tick in history.due}, (history.seed, history.lines)
    store = history.world.store
    assert isinstance(store, MemoryStore)
    assert {job for job, _ in store._items} <= {JOB, "cronce:watchdog", "cronce:watchdog:look"}


@pytest.mark.slow
def test_the_histories_cover_every_kind_of_event() -> None:
    """Together they cover every kind of event."""
    histories = [played(*each) for each in HISTORIES]
    assert any(not history.is_sure(tick) for history in histories for tick in history.due)
    assert sum(len(marked(history)) for history in histories) > 20
    assert any(deployment for history in histories for _, deployment in history.changes)
    assert any(not deployment for history in histories for _, deployment in history.changes)
    assert any(history.world.launches() for history in histories)
    assert sum(history.intrusions for history in histories) > 50
    assert sum(history.is_recorded(tick) for history in histories for tick in history.silent) > 25
