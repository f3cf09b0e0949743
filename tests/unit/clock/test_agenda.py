"""The ticks of one job that are not settled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from cronce.clock.agenda import Agenda
from cronce.clock.plan import MOST_TICKS
from cronce.schedule import Every, parse
from tests.support.clockwork import MINUTE, SECOND, T0, job

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime


def ready(agenda: Agenda, now: datetime, *, busy: Collection[datetime]) -> list[datetime]:
    """The nominal times of the ticks that may be tried now."""
    return [tick.at for tick in agenda.ready(now, busy=busy)]


def test_the_cursor_is_before_the_oldest_open_tick() -> None:
    """If none is open, it is the time of the last look."""
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
    agenda.waiting[T0 + MINUTE].tries = 1
    agenda.waiting[T0 + MINUTE].postpone(now, failed=True)
    assert ready(agenda, now, busy=()) == [now]
    assert ready(agenda, now, busy=[now]) == []
    assert agenda.wake_at(now) == now + SECOND
    assert ready(agenda, now + SECOND, busy=[now]) == [T0 + MINUTE]


def test_a_tick_with_a_delay_waits_for_it_and_keeps_its_time() -> None:
    """Just before, at and after; who comes in between waits as long, because the cursor is before the tick."""
    late = replace(job(), jitter=20 * SECOND)
    assert late.delay > 2 * SECOND
    tick = T0 + MINUTE
    agenda = Agenda(late, T0)
    agenda.advance(tick, 0)
    assert (ready(agenda, tick, busy=()), agenda.wake_at(tick)) == ([], tick + late.delay)
    assert agenda.cursor < tick
    following = Agenda(late, agenda.cursor)
    for each in (agenda, following):
        just_before = tick + late.delay - SECOND
        each.advance(just_before, 0)
        assert ready(each, just_before, busy=()) == []
        each.advance(tick + late.delay, 0)
        assert ready(each, tick + late.delay, busy=()) == [tick]
        assert each.waiting[tick].period == job().period(tick)


def test_a_tick_that_two_expressions_have_is_dispatched_once() -> None:
    """T0 is 06:00 on a Sunday; in between, each has ticks of its own."""
    agenda = Agenda(replace(job(), timetable=parse("*/2 * * * *; */3 * * * *")), T0)
    agenda.advance(T0 + 6 * MINUTE, 0)
    assert list(agenda.waiting) == [T0 + n * MINUTE for n in (2, 3, 4, 6)]
    assert agenda.wake_at(T0 + 6 * MINUTE) == T0 + 8 * MINUTE


def test_the_first_failure_is_remembered() -> None:
    """The time for retries of what is caught up counts from it; a look at a row is no failure."""
    agenda = Agenda(job(), T0)
    tick = T0 + MINUTE
    agenda.advance(tick, 0)
    it = agenda.waiting[tick]
    it.postpone(tick, unresolved=True)
    assert (it.failed_at, it.unresolved) == (None, True)
    it.postpone(tick, failed=True)
    it.postpone(tick + SECOND, failed=True)
    assert (it.failed_at, it.unresolved) == (tick, False)


def test_what_is_on_time_comes_before_what_is_late() -> None:
    """Each kind oldest first."""
    agenda = Agenda(job(starting_deadline=2 * MINUTE), T0)
    now = T0 + 5 * MINUTE
    agenda.advance(now, 0)
    assert [(at - T0) // MINUTE for at in ready(agenda, now, busy=())] == [3, 4, 5, 1, 2]


def test_more_ticks_than_may_wait_push_out_the_oldest_that_nobody_tried() -> None:
    """A backlog that grows while a target hangs stays bounded."""
    agenda = Agenda(job(timetable=Every(SECOND)), T0)
    now = T0 + MOST_TICKS * SECOND
    assert agenda.advance(now, 0) is None
    agenda.waiting[T0 + SECOND].tries = 1
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


def test_settling_a_tick_that_is_not_open_changes_nothing() -> None:
    """A worker of an earlier term comes back."""
    agenda = Agenda(job(), T0)
    agenda.settle(T0)
    assert agenda.waiting == {}
