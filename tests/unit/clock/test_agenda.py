"""The ticks of one job that are not settled."""

from __future__ import annotations

from datetime import timedelta

from cronce.clock.agenda import Agenda
from cronce.clock.plan import MOST_TICKS
from cronce.schedule import Every, parse
from tests.support.clockwork import MINUTE, SECOND, T0, job


def test_the_cursor_stands_before_what_is_not_settled() -> None:
    """Else with the time that was looked at last."""
    agenda = Agenda(job(), T0)
    now = T0 + 2 * MINUTE + 30 * SECOND
    agenda.advance(now, 0)
    assert agenda.cursor == T0 + MINUTE - SECOND
    agenda.settle(T0 + MINUTE)
    assert agenda.cursor == T0 + 2 * MINUTE - SECOND
    agenda.settle(T0 + 2 * MINUTE)
    assert agenda.cursor == now


def test_what_is_at_work_or_waits_for_another_try_is_not_ready() -> None:
    """A second after its first try it is."""
    agenda = Agenda(job(), T0)
    now = T0 + 2 * MINUTE
    agenda.advance(now, 0)
    agenda.begin(T0 + MINUTE)
    agenda.postpone(T0 + MINUTE, now, failed=True)
    assert agenda.ready(now, busy=()) == [now]
    assert agenda.ready(now, busy=[now]) == []
    assert agenda.wake_at(now) == now + SECOND
    assert agenda.ready(now + SECOND, busy=[now]) == [T0 + MINUTE]


def test_the_first_failure_is_remembered() -> None:
    """The time for retries of what is caught up counts from it; a look at a row is no failure."""
    agenda = Agenda(job(), T0)
    tick = T0 + MINUTE
    agenda.advance(tick, 0)
    agenda.postpone(tick, tick, unresolved=True)
    assert (agenda.waiting[tick].failed_at, agenda.waiting[tick].unresolved) == (None, True)
    agenda.postpone(tick, tick, failed=True)
    agenda.postpone(tick, tick + SECOND, failed=True)
    assert (agenda.waiting[tick].failed_at, agenda.waiting[tick].unresolved) == (tick, False)


def test_what_is_on_time_comes_before_what_is_late() -> None:
    """Each kind oldest first."""
    agenda = Agenda(job(starting_deadline=2 * MINUTE), T0)
    now = T0 + 5 * MINUTE
    agenda.advance(now, 0)
    assert [(tick - T0) // MINUTE for tick in agenda.ready(now, busy=())] == [3, 4, 5, 1, 2]


def test_more_ticks_than_may_wait_push_out_the_oldest_that_nobody_tried() -> None:
    """A backlog that grows while a target hangs stays bounded."""
    agenda = Agenda(job(timetable=Every(SECOND)), T0)
    now = T0 + MOST_TICKS * SECOND
    assert agenda.advance(now, 0) is None
    agenda.begin(T0 + SECOND)
    dropped = agenda.advance(now + 2 * SECOND, 0)
    assert dropped is not None
    assert (dropped.dropped, dropped.first_dropped, dropped.last_dropped) == (2, T0 + 2 * SECOND, T0 + 3 * SECOND)
    assert T0 + SECOND in agenda.waiting
    assert len(agenda.waiting) == MOST_TICKS


def test_a_clock_that_is_set_back_forgets_what_is_not_due_any_more() -> None:
    """What is due stays."""
    agenda = Agenda(job(), T0)
    agenda.advance(T0 + 3 * MINUTE, 0)
    agenda.advance(T0 + MINUTE + SECOND, 0)
    assert list(agenda.waiting) == [T0 + MINUTE]
    assert agenda.wake_at(T0 + MINUTE + SECOND) == T0 + 2 * MINUTE


def test_a_timetable_that_is_over_wakes_nobody() -> None:
    """An `at` of the past."""
    agenda = Agenda(job(timetable=parse("at(2026-11-29T05:00:00)")), T0)
    assert agenda.advance(T0 + timedelta(days=1), 0) is None
    assert agenda.wake_at(T0) is None
    assert agenda.cursor == T0 + timedelta(days=1)


def test_news_of_a_tick_that_nobody_waits_for_changes_nothing() -> None:
    """A worker of an earlier term comes back."""
    agenda = Agenda(job(), T0)
    agenda.settle(T0)
    agenda.postpone(T0, T0, failed=True)
    assert agenda.waiting == {}
