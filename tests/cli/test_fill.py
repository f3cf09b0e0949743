"""The loop of a backfill: who is started when, what stops it, and what an interruption leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cronce.cli.actions.fill import Backfill, Gap, Result, plan
from cronce.cli.actions.follow import StartedAttempt
from cronce.cli.actions.may_start import PeriodState, Refuse, Start
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import OnLost
from cronce.vocabulary.states import Status
from tests.support.builders import JOB, T0, run

TICKS = [T0 + timedelta(days=day) for day in range(4)]
BY_TICK = {tick: period_of(tick) for tick in TICKS}
PERIODS = [*BY_TICK.values()]
FAR = datetime(2030, 1, 1, tzinfo=UTC)


def done(period: str) -> RunRecord:
    """A success of that period."""
    return run(period=period, status=Status.SUCCEEDED)


def at_work(period: str) -> RunRecord:
    """Its owner lives for long."""
    return run(period=period, lease_until=FAR)


class World:
    """Each started run ends after a number of pauses; everything that happens is logged."""

    def __init__(self) -> None:
        self.rows: dict[str, RunRecord] = {}
        self.log: list[str] = []
        self.ends_as: dict[str, Status] = {}
        self.takes: Counter[str] = Counter()
        self.verdicts: dict[str, list[Start | Refuse]] = {}
        self.not_launched: dict[str, str] = {}
        self.on_pause: Callable[[int], None] = lambda _number: None
        self.pauses = 0
        self.most_at_once = 0

    def run(self, _job: str, period: str) -> RunRecord | None:
        """As the ledger."""
        return self.rows.get(period)

    def stop_reason(self, _task_arn: str) -> str | None:
        """As ECS: nothing stops."""
        return None

    def may_start(self, gap: Gap) -> Start | Refuse:
        """The next verdict that a test put there, else yes."""
        given = self.verdicts.get(gap.period)
        return given.pop(0) if given else Start(run=None)

    def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
        """The task claims at once."""
        if why := self.not_launched.get(gap.period):
            return why
        self.log.append(f"start {gap.period}")
        self.rows[gap.period] = at_work(gap.period)
        return self._attempt(gap.period, start.attempt, "task")

    def found(self, gap: Gap, run: RunRecord) -> StartedAttempt:
        """Without a task of ours."""
        return self._attempt(gap.period, run.attempt, None)

    def now(self) -> datetime:
        """A fixed time."""
        return T0

    def pause(self) -> None:
        """Every active run comes one pause closer to its end."""
        self.pauses += 1
        self.on_pause(self.pauses)
        working = [run for run in self.rows.values() if run.status is Status.RUNNING]
        self.most_at_once = max(self.most_at_once, len(working))
        for each in working:
            self.takes[each.period] -= 1
            if self.takes[each.period] <= 0:
                status = self.ends_as.get(each.period, Status.SUCCEEDED)
                self.rows[each.period] = run(period=each.period, status=status)

    def report_waiting(self, gap: Gap, verdict: Refuse) -> None:
        """Write it down."""
        self.log.append(f"wait {gap.period}: {verdict.why}")

    def report_started(self, gap: Gap, attempt: StartedAttempt) -> None:
        """Write down what is not in the log as a start already."""
        if attempt.task is None:
            self.log.append(f"found {gap.period}")

    def report_settled(self, gap: Gap, result: Result, text: str, command: str | None) -> None:
        """Write it down."""
        self.log.append(f"{result} {gap.period}")
        assert text
        assert command is None or command.startswith("cronce ")

    def _attempt(self, period: str, attempt: int, task: str | None) -> StartedAttempt:
        return StartedAttempt(self, self, job=JOB, period=period, attempt=attempt, before=None, task=task)


def gaps_of(world: World) -> list[Gap]:
    """The plan for the current rows."""
    return plan(BY_TICK, world.rows, OnLost.RETRY, T0)


def filled(world: World, *, parallel: int = 1, keep_going: bool = False) -> Backfill:
    """A backfill that went to its end."""
    backfill = Backfill(gaps_of(world), world, parallel=parallel, keep_going=keep_going)
    backfill.run()
    return backfill


def refused(reason: RefusalReason, wait_for: RunRecord | None = None) -> Refuse:
    """A verdict against it."""
    return Refuse(run=None, reason=reason, why=reason.value, wait_for=wait_for)


def test_one_is_started_when_the_one_before_is_settled() -> None:
    """In the order of the ticks, whatever each takes."""
    world = World()
    world.takes.update({PERIODS[0]: 3, PERIODS[2]: 5})
    assert filled(world).is_all_done
    assert world.log == [line for period in PERIODS for line in (f"start {period}", f"succeeded {period}")]
    assert world.most_at_once == 1


def test_what_is_done_is_left_alone() -> None:
    """So the same backfill continues where it stopped."""
    world = World()
    world.rows = {period: done(period) for period in PERIODS[:2]}
    backfill = filled(world)
    assert [backfill.result_of(gap) for gap in gaps_of(world)] == ["already_done"] * 2 + ["succeeded"] * 2
    assert filled(world).is_all_done
    assert [line for line in world.log if line.startswith("start")] == [f"start {period}" for period in PERIODS[2:]]


@pytest.mark.parametrize("parallel", [2, 3, 9])
def test_so_many_at_a_time_and_no_more(parallel: int) -> None:
    """For jobs whose runs may overlap."""
    world = World()
    world.takes.update(dict.fromkeys(PERIODS, 2))
    assert filled(world, parallel=parallel).is_all_done
    assert world.most_at_once == min(parallel, len(PERIODS))


def test_a_failure_stops_the_rest() -> None:
    """Runs that are active beside it are followed to their end."""
    world = World()
    world.ends_as[PERIODS[0]] = Status.FAILED
    world.takes[PERIODS[1]] = 4
    backfill = filled(world, parallel=2)
    results = [backfill.result_of(gap) for gap in gaps_of(world)]
    assert results == [Result.FAILED, Result.SUCCEEDED, Result.NOT_STARTED, Result.NOT_STARTED]
    assert not backfill.is_all_done


def test_keep_going_goes_over_failures() -> None:
    """Of each kind; they are still failures in the end."""
    world = World()
    world.ends_as[PERIODS[0]] = Status.FAILED
    world.not_launched[PERIODS[1]] = "RESOURCE:MEMORY"
    world.verdicts[PERIODS[2]] = [refused(RefusalReason.HELD)]
    backfill = filled(world, keep_going=True)
    results = [backfill.results[period] for period in PERIODS]
    assert results == [Result.FAILED, Result.NOT_LAUNCHED, Result.REFUSED, Result.SUCCEEDED]
    assert not backfill.is_all_done


def test_a_run_that_is_active_already_is_followed() -> None:
    """It is not started a second time."""
    world = World()
    world.rows[PERIODS[1]] = at_work(PERIODS[1])
    world.takes[PERIODS[1]] = 9
    world.verdicts[PERIODS[1]] = [refused(RefusalReason.RUNNING_ELSEWHERE, at_work(PERIODS[1]))]
    assert filled(world).is_all_done
    assert world.log[2:4] == [f"found {PERIODS[1]}", f"succeeded {PERIODS[1]}"]


def test_if_the_attempt_of_another_start_fails_ours_is_started() -> None:
    """Then it is started like any other that failed."""
    world = World()
    world.rows[PERIODS[0]] = at_work(PERIODS[0])
    world.ends_as[PERIODS[0]] = Status.FAILED
    world.verdicts[PERIODS[0]] = [
        refused(RefusalReason.RUNNING_ELSEWHERE, at_work(PERIODS[0])),
        Start(run=None),
    ]

    def get_well(_number: int) -> None:
        if f"start {PERIODS[0]}" in world.log:
            world.ends_as.clear()

    world.on_pause = get_well
    assert filled(world).is_all_done
    assert world.log[:3] == [f"found {PERIODS[0]}", f"start {PERIODS[0]}", f"succeeded {PERIODS[0]}"]


def test_a_wait_for_another_run_is_reported_once() -> None:
    """However many looks it takes."""
    world = World()
    other = at_work("2026-12-24")
    world.verdicts[PERIODS[0]] = [refused(RefusalReason.OVERLAPPING, other) for _ in range(5)]
    assert filled(world).is_all_done
    assert world.log[:2] == [f"wait {PERIODS[0]}: OVERLAPPING", f"start {PERIODS[0]}"]
    assert world.pauses >= 5


def test_a_run_that_another_start_completes_meanwhile_is_done() -> None:
    """Between the plan and its turn."""
    world = World()
    world.verdicts[PERIODS[3]] = [refused(RefusalReason.ALREADY_SUCCEEDED)]
    backfill = filled(world)
    assert backfill.results[PERIODS[3]] is Result.ALREADY_DONE
    assert backfill.is_all_done


def test_a_wait_for_a_run_of_another_job_of_the_group_is_reported_too() -> None:
    """It may have the period of the run before it: both jobs are due every day."""
    world = World()
    others = [run(job=job, period=PERIODS[1], lease_until=FAR) for job in ("daily-close", "daily-close", "daily-bill")]
    world.verdicts[PERIODS[0]] = [refused(RefusalReason.OVERLAPPING, each) for each in others]
    filled(world)
    assert world.log[:3] == [*[f"wait {PERIODS[0]}: OVERLAPPING"] * 2, f"start {PERIODS[0]}"]


def test_an_interruption_leaves_what_is_at_work_and_what_is_waiting() -> None:
    """So that both can be reported."""
    world = World()
    world.takes[PERIODS[1]] = 99

    def interrupt(number: int) -> None:
        if number == 5:
            raise KeyboardInterrupt

    world.on_pause = interrupt
    backfill = Backfill(gaps_of(world), world)
    with pytest.raises(KeyboardInterrupt):
        backfill.run()
    results = [backfill.result_of(gap) for gap in gaps_of(world)]
    assert results == [Result.SUCCEEDED, Result.AT_WORK, Result.NOT_STARTED, Result.NOT_STARTED]
    assert backfill.starting is None


def test_an_interrupted_start_is_reported_as_unknown() -> None:
    """The tick counts as not started, and starting it again begins no second task."""

    class Interrupted(World):
        def start(self, gap: Gap, start: Start) -> StartedAttempt | str:
            if gap.period == PERIODS[1]:
                raise KeyboardInterrupt
            return super().start(gap, start)

    backfill = Backfill(gaps_of(Interrupted()), Interrupted())
    with pytest.raises(KeyboardInterrupt):
        backfill.run()
    assert backfill.starting is not None
    assert backfill.starting.period == PERIODS[1]
    assert backfill.waiting[0].period == PERIODS[1]


def test_the_plan_has_the_state_of_each_tick() -> None:
    """And nothing of other periods."""
    rows = {PERIODS[0]: done(PERIODS[0]), PERIODS[2]: at_work(PERIODS[2]), "2026-W48": done("2026-W48")}
    standing = [gap.state for gap in plan(BY_TICK, rows, OnLost.RETRY, T0)]
    assert standing == [PeriodState.DONE, PeriodState.MISSING, PeriodState.RUNNING, PeriodState.MISSING]
