"""Which ticks were due, what became of them, and which are caught up: tables of times."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import CatchUp, Policy, Reason, Status, Trigger
from cronce.ecs import JobDefinition, definition_of
from cronce.protocol.records import RunRecord
from cronce.schedule import ScheduleInvalidError
from cronce_lambdas.missed import (
    MOST_TICKS,
    Due,
    Memory,
    Pending,
    Step,
    Timing,
    Verdict,
    catch_up_step,
    due,
    first_done,
    from_value,
    names_its_own_periods,
    to_catch_up,
    to_value,
    verdict,
    with_backlog,
)
from tests.support.builders import run
from tests.support.cloud import T0, schedule

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
LATE = 5 * MINUTE
SECOND = timedelta(seconds=1)


def job(**changes: Any) -> JobDefinition:  # noqa: ANN401
    """An hourly job that was made at T0."""
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
        """06:00 was before it was made, a moment before too; 07:00 is its first tick."""
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
        """The newest are judged, the others are counted, and it goes on (K4)."""
        late = T0 + 36 * HOUR
        todo = judge(None, late + LATE, ScheduleExpression="cron(* * * * ? *)")
        assert (len(todo.ticks), todo.ticks[-1], todo.left_out) == (MOST_TICKS, late, 36 * 60 - MOST_TICKS)
        again = judge(todo.memory, late + LATE + MINUTE, ScheduleExpression="cron(* * * * ? *)")
        assert again.ticks == (late + MINUTE,)

    def test_the_count_is_bounded_too(self) -> None:
        """Ten thousand minutes are counted, not half a million."""
        todo = judge(None, T0 + 300 * DAY, ScheduleExpression="cron(* * * * ? *)")
        assert (len(todo.ticks), todo.left_out) == (MOST_TICKS, 10_000)

    def test_nothing_is_judged_whose_row_may_be_gone(self) -> None:
        """Rows are kept for 400 days."""
        todo = judge(None, T0 + 5 * 365 * DAY, ScheduleExpression="cron(0 6 29 11 ? *)")
        assert len(todo.ticks) == 1

    def test_a_schedule_has_no_ticks_before_its_start_nor_from_its_end_on(self) -> None:
        """As EventBridge has it: "on or after" the start; at the end it may be over."""
        todo = judge(None, T0 + 6 * HOUR, StartDate=T0 + 2 * HOUR, EndDate=T0 + 4 * HOUR)
        assert todo.ticks == (T0 + 2 * HOUR, T0 + 3 * HOUR)

    def test_a_schedule_for_one_moment_has_one_tick(self) -> None:
        """It stays enabled for ever after."""
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
        """All that is left to see is that somebody changed something."""
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
        """10:00 was due, the look of 10:02 saw it so, the change of 10:03 is too late."""
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

    def test_a_tick_between_the_last_look_and_the_change_is_not_judged(self) -> None:
        """Nobody knows whether it was due."""
        ten = T0 + 4 * HOUR
        memory = remembered(ten - 10 * MINUTE)
        changed = {"LastModificationDate": ten + 20 * SECOND, "State": "DISABLED"}
        todo = judge(memory, ten + MINUTE, looked_at=ten - 40 * SECOND, **changed)
        assert todo.memory.pending == ()

    def test_a_change_that_the_last_look_did_not_see_leaves_nothing_sure(self) -> None:
        """It failed for this job, or read an old answer."""
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
        """EventBridge's replicas are not equally fresh."""
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
        (None, Verdict.MISSED),
        (missed(), Verdict.MARKED),
        (missed("launch_failed: AccessDeniedException"), Verdict.MARKED),
        (missed(Reason.TOO_LATE), Verdict.DELIVERED),
        (run(), Verdict.DELIVERED),
        (run(status=Status.SUCCEEDED), Verdict.DELIVERED),
        (run(status=Status.SKIPPED, reason=Reason.OVERLAP), Verdict.DELIVERED),
        (run(status=Status.FAILED, reason=Reason.LAUNCH_FAILED, attempt=0), Verdict.DELIVERED),
    ],
)
def test_a_tick_is_missed_only_without_a_row(row: RunRecord | None, expected: Verdict) -> None:
    """A task that was started and failed is another thing."""
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
    """`cronce exec --period $(...)`: the tick's own row never comes."""
    assert names_its_own_periods([row], T0) is expected


TICKS = (T0, T0 + HOUR, T0 + 2 * HOUR)


@pytest.mark.parametrize(
    ("policy", "newest", "chosen"),
    [
        (Policy(), None, ()),
        (Policy(catch_up=CatchUp.ALL), T0 + DAY, TICKS),
        (Policy(catch_up=CatchUp.ALL, suspend=True), None, ()),
        (Policy(catch_up=CatchUp.LATEST), None, TICKS[2:]),
        (Policy(catch_up=CatchUp.LATEST), T0 + HOUR, TICKS[2:]),
        (Policy(catch_up=CatchUp.LATEST), T0 + 3 * HOUR, ()),
    ],
)
def test_the_policy_says_what_is_caught_up(
    policy: Policy, newest: datetime | None, chosen: tuple[datetime, ...]
) -> None:
    """The latest is not caught up where a newer tick has been delivered."""
    assert to_catch_up(policy, TICKS, newest=newest) == chosen
    assert to_catch_up(policy, (), newest=newest) == ()


ALL = Policy(catch_up=CatchUp.ALL)

STEPS = {
    "missed": (missed(), {}, Step.LAUNCH),
    "could not be started": (missed("launch_failed: X"), {}, Step.LAUNCH),
    "another run is at work": (missed(), {"busy": True}, Step.WAIT),
    "its task is on its way": (missed(), {"launched": T0 + HOUR}, Step.WAIT),
    "its task may still come": (
        missed(),
        {"launched": T0 + HOUR, "at": T0 + HOUR + 15 * MINUTE - SECOND},
        Step.WAIT,
    ),
    "its task does not come": (missed(), {"launched": T0 + HOUR, "at": T0 + HOUR + 15 * MINUTE}, Step.DROP),
    "it runs": (run(), {}, Step.WAIT),
    "it is done": (run(status=Status.SUCCEEDED), {}, Step.DROP),
    "it was skipped": (run(status=Status.SKIPPED, reason=Reason.OVERLAP), {}, Step.DROP),
    "it failed for good": (run(status=Status.FAILED, reason=Reason.EXIT_CODE, failures=1), {}, Step.DROP),
    "it is retried": (run(status=Status.FAILED, reason=Reason.TASK_STOPPED, finished_at=T0 + HOUR), {}, Step.WAIT),
    "its retry does not come": (
        run(status=Status.FAILED, reason=Reason.TASK_STOPPED, finished_at=T0 + HOUR),
        {"at": T0 + HOUR + 30 * MINUTE},
        Step.DROP,
    ),
    "its row is gone": (None, {}, Step.DROP),
    "the schedule is disabled": (missed(), {"enabled": False}, Step.DROP),
    "the job is suspended": (missed(), {"policy": Policy(catch_up=CatchUp.ALL, suspend=True)}, Step.DROP),
    "nothing is caught up any more": (missed(), {"policy": Policy()}, Step.DROP),
    "a day late": (missed(), {"at": T0 + DAY}, Step.LAUNCH),
    "more than a day late": (missed(), {"at": T0 + DAY + SECOND}, Step.DROP),
    "at its starting deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=HOUR)},
        Step.LAUNCH,
    ),
    "after its starting deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=HOUR), "at": T0 + HOUR + SECOND},
        Step.DROP,
    ),
    "later, with a longer deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=2 * DAY), "at": T0 + DAY + HOUR},
        Step.LAUNCH,
    ),
}


class TestBacklog:
    """Ticks that are to be caught up, one after the other."""

    MEMORY = remembered(T0 + MINUTE)

    def test_it_is_sorted_and_has_each_tick_once(self) -> None:
        """A look that was cut short finds them again; what was arranged stays arranged."""
        memory = replace(self.MEMORY, backlog=TICKS[:2], launched_at=T0)
        again = with_backlog(memory, ALL, TICKS[1:])
        assert (again.backlog, again.launched_at) == (TICKS, T0)

    def test_an_older_tick_goes_first(self) -> None:
        """Then it is still to be arranged."""
        memory = with_backlog(replace(self.MEMORY, backlog=TICKS[1:], launched_at=T0), ALL, TICKS[:1])
        assert (memory.backlog, memory.launched_at) == (TICKS, None)

    def test_of_the_latest_there_is_one(self) -> None:
        """The newer replaces the older."""
        memory = replace(self.MEMORY, backlog=TICKS[:1], launched_at=T0)
        newer = with_backlog(memory, Policy(catch_up=CatchUp.LATEST), TICKS[2:])
        assert (newer.backlog, newer.launched_at) == (TICKS[2:], None)

    def test_it_is_bounded(self) -> None:
        """The oldest are dropped."""
        ticks = tuple(T0 + n * MINUTE for n in range(MOST_TICKS + 5))
        assert with_backlog(self.MEMORY, ALL, ticks).backlog == ticks[5:]

    def test_without_more_it_stays(self) -> None:
        """The memory is the same object's equal."""
        assert with_backlog(self.MEMORY, ALL, ()) == self.MEMORY

    def test_the_next_one_is_still_to_be_arranged(self) -> None:
        """Its launch is another one."""
        memory = first_done(replace(self.MEMORY, backlog=TICKS, launched_at=T0))
        assert (memory.backlog, memory.launched_at) == (TICKS[1:], None)

    @pytest.mark.parametrize(("row", "given", "step"), STEPS.values(), ids=STEPS)
    def test_what_is_done_about_the_first(self, row: RunRecord | None, given: dict[str, Any], step: Step) -> None:
        """At 07:00, of the tick of 06:00, if nothing else is said."""
        memory = replace(self.MEMORY, backlog=TICKS, launched_at=given.get("launched"))
        done = catch_up_step(
            memory,
            row,
            policy=given.get("policy", ALL),
            enabled=given.get("enabled", True),
            busy=given.get("busy", False),
            now=given.get("at", T0 + HOUR),
        )
        assert done is step


FULL = Memory(
    timing=Timing(
        expression="cron(0 6 * * ? *)",
        timezone="Europe/Berlin",
        start=T0 - DAY,
        end=T0 + DAY,
        enabled=True,
        window=15 * MINUTE,
    ),
    target="0123456789ab",
    modified_at=T0 + timedelta(microseconds=123456),
    since=T0,
    pending=(Pending(T0, T0 + 15 * MINUTE),),
    backlog=TICKS,
    launched_at=T0 + SECOND / 3,
)


@pytest.mark.parametrize("memory", [FULL, remembered(T0 + HOUR), remembered(T0, State="DISABLED")])
def test_a_memory_survives_being_written_down(memory: Memory) -> None:
    """As a checkpoint, which is JSON."""
    assert from_value(json.loads(json.dumps(to_value(memory)))) == memory


def test_a_full_memory_fits_into_a_checkpoint() -> None:
    """32 KB are allowed."""
    ticks = tuple(T0 + n * MINUTE for n in range(MOST_TICKS))
    memory = replace(FULL, pending=tuple(Pending(tick, tick + DAY) for tick in ticks) * 3, backlog=ticks)
    assert len(json.dumps(to_value(memory))) < 20_000


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        7,
        [],
        {},
        to_value(FULL) | {"since": "soon"},
        to_value(FULL) | {"since": None},
        to_value(FULL) | {"pending": [["2026"]]},
        to_value(FULL) | {"backlog": ["06:00"]},
        to_value(FULL) | {"window": None},
        to_value(FULL) | {"start": 7},
    ],
)
def test_what_is_no_memory_is_none(value: object) -> None:
    """The job is then seen for the first time."""
    assert from_value(value) is None


def test_times_without_a_zone_are_no_memory() -> None:
    """They could not be compared."""
    assert from_value(to_value(FULL) | {"since": "2026-11-29T06:00:00"}) is None
