"""Which ticks a look judges, and what the row of a tick says: tables of times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import Reason, Status, Trigger
from cronce.ecs import JobDefinition, definition_of
from cronce.protocol.records import RunRecord
from cronce.schedule import MOST_COUNTED, ScheduleInvalidError
from cronce.watch.due_ticks import Due, TickVerdict, due, names_its_own_periods, verdict
from cronce.watch.memory import MOST_JUDGED, Memory, Pending, Timing
from tests.support.builders import run
from tests.support.cloud import T0, schedule

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = 5 * MINUTE
SECOND = timedelta(seconds=1)


def job(**changes: Any) -> JobDefinition:  # noqa: ANN401
    """An hourly job that was created at T0."""
    made: dict[str, Any] = {"ScheduleExpression": "cron(0 * * * ? *)", "CreationDate": T0, "LastModificationDate": T0}
    found = definition_of(schedule(**made | changes))
    assert found is not None
    return found


def judge(memory: Memory | None, at: datetime, *, looked_at: datetime | None = None, **changes: Any) -> Due:  # noqa: ANN401
    """What is due of the job at `at`."""
    return due(memory, job(**changes), looked_at=looked_at, now=at, missed_after=LATE)


def remembered(at: datetime, **changes: Any) -> Memory:  # noqa: ANN401
    """What is remembered after a look at `at` at a job never seen before."""
    return judge(None, at, **changes).memory


class TestDue:
    """Ticks of a schedule that does not change."""

    def test_a_new_job_does_not_miss_its_past(self) -> None:
        """06:00 was before its creation; 07:00 is its first tick."""
        assert judge(None, T0 + LATE).ticks == ()
        assert judge(None, T0 + HOUR + LATE, CreationDate=T0 + SECOND, LastModificationDate=T0 + SECOND).ticks == (
            T0 + HOUR,
        )

    @pytest.mark.parametrize(("past", "is_due"), [(-SECOND, False), (timedelta(0), True), (SECOND, True)])
    def test_a_tick_is_judged_once_it_cannot_be_in_time_any_more(self, past: timedelta, is_due: bool) -> None:  # noqa: FBT001
        """Not before, at it, after it."""
        ticks = judge(None, T0 + HOUR + LATE + past).ticks
        assert ticks == ((T0 + HOUR,) if is_due else ())

    @pytest.mark.parametrize(("past", "is_due"), [(-SECOND, False), (timedelta(0), True)])
    def test_a_flexible_window_is_waited_for(self, past: timedelta, is_due: bool) -> None:  # noqa: FBT001
        """EventBridge delivers anywhere in it."""
        window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
        ticks = judge(None, T0 + HOUR + 15 * MINUTE + LATE + past, FlexibleTimeWindow=window).ticks
        assert ticks == ((T0 + HOUR,) if is_due else ())

    def test_a_tick_is_judged_once(self) -> None:
        """However long the watchdog sleeps in between."""
        first = judge(None, T0 + 2 * HOUR + LATE)
        assert first.ticks == (T0 + HOUR, T0 + 2 * HOUR)
        assert judge(first.memory, T0 + 2 * HOUR + LATE + MINUTE).ticks == ()
        assert judge(first.memory, T0 + 5 * HOUR + LATE).ticks == tuple(T0 + n * HOUR for n in (3, 4, 5))

    def test_nothing_new_is_nothing_to_remember(self) -> None:
        """A look at an idle job writes nothing."""
        first = remembered(T0 + MINUTE)
        assert judge(first, T0 + 2 * MINUTE).memory == first

    def test_a_long_sleep_is_bounded(self) -> None:
        """The newest are judged, the others are counted, and the watchdog continues."""
        late = T0 + 36 * HOUR
        todo = judge(None, late + LATE, ScheduleExpression="cron(* * * * ? *)")
        assert (len(todo.ticks), todo.ticks[-1], todo.left_out) == (MOST_JUDGED, late, 36 * 60 - MOST_JUDGED)
        again = judge(todo.memory, late + LATE + MINUTE, ScheduleExpression="cron(* * * * ? *)")
        assert again.ticks == (late + MINUTE,)

    def test_the_count_is_bounded_too(self) -> None:
        """Ten thousand minutes are counted, not half a million."""
        todo = judge(None, T0 + 300 * DAY, ScheduleExpression="cron(* * * * ? *)")
        assert (len(todo.ticks), todo.left_out) == (MOST_JUDGED, MOST_COUNTED)

    def test_nothing_is_judged_whose_row_may_be_gone(self) -> None:
        """Rows expire after 400 days."""
        todo = judge(None, T0 + 5 * 365 * DAY, ScheduleExpression="cron(0 6 29 11 ? *)")
        assert len(todo.ticks) == 1

    def test_a_schedule_has_no_ticks_before_its_start_nor_from_its_end_on(self) -> None:
        """The start is inclusive ("on or after"), the end is exclusive."""
        todo = judge(None, T0 + 6 * HOUR, StartDate=T0 + 2 * HOUR, EndDate=T0 + 4 * HOUR)
        assert todo.ticks == (T0 + 2 * HOUR, T0 + 3 * HOUR)

    def test_a_schedule_for_one_moment_has_one_tick(self) -> None:
        """The schedule stays enabled afterwards."""
        once: dict[str, Any] = {"ScheduleExpression": "at(2026-11-29T07:30:00)"}
        todo = judge(None, T0 + 2 * HOUR, **once)
        assert todo.ticks == (T0 + 90 * MINUTE,)
        assert judge(todo.memory, T0 + 9 * HOUR, **once).ticks == ()

    def test_a_rate_counts_from_its_start(self) -> None:
        """Its first tick is the start itself."""
        todo = judge(None, T0 + HOUR, ScheduleExpression="rate(20 minutes)", StartDate=T0 + 7 * MINUTE)
        assert todo.ticks == tuple(T0 + n * MINUTE for n in (7, 27, 47))

    def test_an_expression_that_cannot_be_read_is_an_error(self) -> None:
        """Not a job without ticks."""
        with pytest.raises(ScheduleInvalidError):
            judge(None, T0 + HOUR, ScheduleExpression="cron(0 0 31 2 ? *)")

    @pytest.mark.parametrize(
        ("day", "expression", "count"),
        [
            (datetime(2026, 3, 8, 5, tzinfo=UTC), "cron(30 2 * * ? *)", 0),
            (datetime(2026, 3, 9, 4, tzinfo=UTC), "cron(30 2 * * ? *)", 1),
            (datetime(2026, 11, 1, 4, tzinfo=UTC), "cron(30 1 * * ? *)", 1),
            (datetime(2026, 11, 1, 4, tzinfo=UTC), "cron(0 * * * ? *)", 25),
            (datetime(2026, 3, 8, 5, tzinfo=UTC), "cron(0 * * * ? *)", 23),
        ],
    )
    def test_a_day_on_which_the_clocks_change_has_its_own_number_of_ticks(
        self, day: datetime, expression: str, count: int
    ) -> None:
        """New York: what the clocks skip is not missed, what they repeat is due once (hourly: twice)."""
        until = day + (23 + (day.month == 11) * 2 + (day.day == 9)) * HOUR
        made = {"CreationDate": day - SECOND, "LastModificationDate": day - SECOND}
        todo = due(
            None,
            job(ScheduleExpression=expression, ScheduleExpressionTimezone="America/New_York", **made),
            looked_at=None,
            now=until - SECOND,
            missed_after=timedelta(0),
        )
        assert len(todo.ticks) == count


class TestChanges:
    """A schedule that was changed since it was last seen; the last look was at 09:50, the tick of 09:00 judged."""

    LOOKED = T0 + 3 * HOUR + 50 * MINUTE
    CHANGED = T0 + 3 * HOUR + 50 * MINUTE + 30 * SECOND

    def judge(self, at: datetime, *, before: dict[str, Any] | None = None, **now: Any) -> Due:  # noqa: ANN401
        """What is due at `at`, of a job that was `before` and is `now`."""
        memory = remembered(self.LOOKED, **before or {})
        assert memory.since == self.LOOKED - LATE or not memory.timing.enabled
        return judge(memory, at, looked_at=self.LOOKED, **{"LastModificationDate": self.CHANGED} | now)

    def test_a_deployment_forgives_nothing(self) -> None:
        """Another image, the same times: also while the watchdog slept."""
        late: dict[str, Any] = {"LastModificationDate": T0 + 5 * HOUR + MINUTE, "image": "2"}
        assert self.judge(T0 + 6 * HOUR + LATE, **late).ticks == tuple(T0 + n * HOUR for n in (4, 5, 6))

    def test_a_disabled_job_misses_nothing(self) -> None:
        """From the change on."""
        todo = self.judge(T0 + 9 * HOUR, State="DISABLED")
        assert todo.ticks == ()
        assert judge(todo.memory, T0 + 20 * HOUR, LastModificationDate=self.CHANGED, State="DISABLED").ticks == ()

    def test_a_job_that_is_enabled_again_does_not_miss_what_was_before(self) -> None:
        """From that change on it does."""
        todo = self.judge(
            T0 + 6 * HOUR + LATE, before={"State": "DISABLED"}, LastModificationDate=T0 + 5 * HOUR + MINUTE
        )
        assert todo.ticks == (T0 + 6 * HOUR,)

    def test_a_job_that_was_disabled_and_enabled_unseen_does_not_miss_what_was_between(self) -> None:
        """The only trace is the time of the last change."""
        todo = self.judge(T0 + 6 * HOUR + LATE, LastModificationDate=T0 + 5 * HOUR + MINUTE)
        assert todo.ticks == (T0 + 6 * HOUR,)

    def test_a_job_that_is_due_at_other_times_does_not_miss_what_was_before(self) -> None:
        """Neither by the new times, nor by the old."""
        changed: dict[str, Any] = {
            "ScheduleExpression": "cron(30 * * * ? *)",
            "LastModificationDate": T0 + 5 * HOUR + 31 * MINUTE,
        }
        assert self.judge(T0 + 7 * HOUR, **changed).ticks == (T0 + 6 * HOUR + 30 * MINUTE,)

    @pytest.mark.parametrize("change", [{"State": "DISABLED"}, {"ScheduleExpression": "cron(0 6 * * ? *)"}, {}])
    def test_a_tick_that_was_due_before_the_last_look_is_judged_whatever_followed(self, change: dict[str, Any]) -> None:
        """10:00 was due, the look of 10:02 saw that, and the change came at 10:03."""
        ten = T0 + 4 * HOUR
        memory = remembered(ten - MINUTE)
        changed = {"LastModificationDate": ten + 3 * MINUTE} | change
        todo = judge(memory, ten + 4 * MINUTE, looked_at=ten + 2 * MINUTE, **changed)
        assert (todo.ticks, todo.memory.pending) == ((), (Pending(ten, ten),))
        later = judge(todo.memory, ten + LATE, looked_at=ten + 4 * MINUTE, **changed)
        assert (later.ticks, later.memory.pending) == ((ten,), ())

    def test_a_pending_tick_keeps_the_window_that_it_had(self) -> None:
        """EventBridge may still deliver it."""
        ten = T0 + 4 * HOUR
        window = {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 30}}
        memory = remembered(ten - MINUTE, **window)
        changed = {"LastModificationDate": ten + 3 * MINUTE}
        todo = judge(memory, ten + 4 * MINUTE, looked_at=ten + 2 * MINUTE, **changed)
        assert judge(todo.memory, ten + 34 * MINUTE, **changed).ticks == ()
        assert judge(todo.memory, ten + 35 * MINUTE, **changed).ticks == (ten,)

    def test_a_job_that_gets_a_second_schedule_loses_no_tick_and_has_none_twice(self) -> None:
        """Those of the first before and after, those of the second from the change on; one that both have is one."""
        todo = self.judge(T0 + 6 * HOUR + LATE, further="cron(0,30 * * * ? *)")
        assert todo.ticks == tuple(T0 + n * 30 * MINUTE for n in (8, 9, 10, 11, 12))
        assert todo.changed_from == Timing.of(job())

    def test_a_job_that_loses_its_second_schedule_misses_nothing_of_it_afterwards(self) -> None:
        """And its first one stays what it is."""
        todo = self.judge(T0 + 6 * HOUR + LATE, before={"further": "cron(30 * * * ? *)"})
        assert todo.ticks == tuple(T0 + n * HOUR for n in (4, 5, 6))

    def test_a_tick_between_the_last_look_and_the_change_is_not_judged(self) -> None:
        """Nobody knows whether it was due."""
        ten = T0 + 4 * HOUR
        memory = remembered(ten - 10 * MINUTE)
        changed = {"LastModificationDate": ten + 20 * SECOND, "State": "DISABLED"}
        todo = judge(memory, ten + MINUTE, looked_at=ten - 40 * SECOND, **changed)
        assert todo.memory.pending == ()

    def test_a_change_that_the_last_look_did_not_see_leaves_nothing_sure(self) -> None:
        """It failed for this job, or read stale data."""
        ten = T0 + 4 * HOUR
        memory = remembered(ten - MINUTE)
        changed = {"LastModificationDate": ten + MINUTE, "State": "DISABLED"}
        todo = judge(memory, ten + 4 * MINUTE, looked_at=ten + 2 * MINUTE, **changed)
        assert todo.memory.pending == ()

    def test_a_job_made_anew_under_its_name_is_a_new_job(self) -> None:
        """Its stack was deleted and deployed again."""
        made = T0 + 5 * HOUR + MINUTE
        todo = self.judge(T0 + 6 * HOUR + LATE, CreationDate=made, LastModificationDate=made, image="2")
        assert todo.ticks == (T0 + 6 * HOUR,)

    def test_an_older_answer_changes_nothing(self) -> None:
        """A replica of EventBridge may answer with stale data."""
        memory = remembered(self.LOOKED, LastModificationDate=T0 + MINUTE)
        assert judge(memory, self.LOOKED + MINUTE, State="DISABLED", LastModificationDate=T0).memory == memory

    def test_times_that_only_an_earlier_version_could_read_are_no_obstacle(self) -> None:
        """They are not judged."""
        memory = replace(remembered(self.LOOKED), timing=replace(Timing.of(job()), expression="cron(?)"))
        changed = {"LastModificationDate": T0 + 5 * HOUR + MINUTE}
        todo = due(memory, job(**changed), looked_at=T0 + 5 * HOUR, now=T0 + 6 * HOUR + LATE, missed_after=LATE)
        assert todo.ticks == (T0 + 6 * HOUR,)

    def test_what_is_to_be_caught_up_survives_a_change(self) -> None:
        """It was missed before."""
        memory = replace(remembered(self.LOOKED), backlog=(T0 + HOUR,), launched_at=T0 + 2 * HOUR)
        changed = job(LastModificationDate=self.CHANGED)
        todo = due(memory, changed, looked_at=self.LOOKED, now=self.CHANGED, missed_after=LATE)
        assert (todo.memory.backlog, todo.memory.launched_at) == ((T0 + HOUR,), T0 + 2 * HOUR)


def missed(reason: str = Reason.NEVER_DELIVERED, **changes: Any) -> RunRecord:  # noqa: ANN401
    """The row of a missed tick."""
    default = {"status": Status.MISSED, "reason": reason, "attempt": 0, "scheduled_at": T0}
    return run(**default | changes)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, TickVerdict.MISSED),
        (missed(), TickVerdict.MARKED),
        (missed("launch_failed: AccessDeniedException"), TickVerdict.MARKED),
        (missed(Reason.TOO_LATE), TickVerdict.DELIVERED),
        (run(), TickVerdict.DELIVERED),
        (run(status=Status.SUCCEEDED), TickVerdict.DELIVERED),
        (run(status=Status.SKIPPED, reason=Reason.OVERLAP), TickVerdict.DELIVERED),
        (run(status=Status.FAILED, reason=Reason.LAUNCH_FAILED, attempt=0), TickVerdict.DELIVERED),
    ],
)
def test_a_tick_is_missed_only_without_a_row(row: RunRecord | None, expected: TickVerdict) -> None:
    """A task that started and failed is not a missed tick."""
    assert verdict(row) is expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (run(period="2026-11-29", claimed_at=T0), True),
        (run(period="2026-11-28", claimed_at=T0 - SECOND), False),
        (run(period="2026-11-29T06:00:00Z", claimed_at=T0), False),
        (run(period="2026-W48", claimed_at=T0, trigger=Trigger.MANUAL), False),
        (run(period="2026-11-29", status=Status.SKIPPED, claimed_at=None, finished_at=T0), True),
    ],
)
def test_a_job_that_names_its_own_periods_is_known_by_its_runs(row: RunRecord, expected: bool) -> None:  # noqa: FBT001
    """`cronce exec --period $(...)`: the tick itself never gets a row."""
    assert names_its_own_periods(job(), [row], T0) is expected
