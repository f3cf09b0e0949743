"""Jobs without a success and runs that take too long: who is told, when, and how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce import Policy, Status
from cronce.ecs import definition_of
from cronce.operate.event_text import cause_of, text_for_people
from cronce.operate.row_causes import NO_CLAIM
from cronce.vocabulary.names import period_of
from cronce.watch.notices import Notice
from cronce.watch.patience import is_news, longest_run, patience_with
from tests.lambdas.events import JOB, World
from tests.support.builders import run
from tests.support.cloud import T0, schedule

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
DAILY = 2 * DAY + HOUR
"""The patience with a job that is due once a day."""


def job(expression: str = "cron(0 6 * * ? *)", *, told_after: str | None = None, policy: Policy | None = None) -> Any:  # noqa: ANN401
    """The definition of a job."""
    found = definition_of(definition(expression, told_after=told_after, policy=policy))
    assert found is not None
    return found


def definition(expression: str, *, told_after: str | None = None, policy: Policy | None = None) -> dict[str, Any]:
    """What GetSchedule answers."""
    answer: dict[str, Any] = schedule(policy=policy, ScheduleExpression=expression)
    if told_after is not None:
        answer["Target"]["Input"] = answer["Target"]["Input"].replace(
            '{"name": "CRONCE_JOB"',
            f'{{"name": "CRONCE_NO_SUCCESS_FOR", "value": "{told_after}"}}, {{"name": "CRONCE_JOB"',
        )
    return answer


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("cron(0 6 * * ? *)", DAILY),
        ("cron(0 * * * ? *)", 3 * HOUR),
        ("cron(* * * * ? *)", HOUR + 2 * MINUTE),
        ("cron(0 6 ? * MON-FRI *)", 6 * DAY + HOUR),
        ("cron(0 6 1 * ? *)", 62 * DAY + HOUR),
        ("at(2026-11-29T06:00:00)", None),
        ("rate(1 hour)", None),
    ],
)
def test_the_patience_follows_from_the_schedule(expression: str, expected: timedelta | None) -> None:
    """Two ticks in a row may fail, and an hour; also over a weekend. The ticks of a rate are not known."""
    assert patience_with(job(expression), T0) == expected


def test_the_definition_wins_and_zero_is_never() -> None:
    """It travels with the schedule."""
    assert patience_with(job(told_after="36h"), T0) == 36 * HOUR
    assert patience_with(job("rate(1 hour)", told_after="2h"), T0) == 2 * HOUR
    assert patience_with(job(told_after="0ms"), T0) is None


def test_a_run_may_take_as_long_as_its_deadline_else_as_the_patience() -> None:
    """With two minutes in which the guard stops the work."""
    assert longest_run(job(policy=Policy(active_deadline=HOUR)), T0) == HOUR + 2 * MINUTE
    assert longest_run(job(), T0) == DAILY


@pytest.mark.parametrize(("before", "news"), [(None, True), (DAILY, True), (DAILY + SECOND, False)])
def test_the_event_is_sent_in_the_first_look_after_the_end(before: timedelta | None, news: bool) -> None:  # noqa: FBT001
    """The last look was before the end, at it, after it."""
    assert is_news(T0, DAILY, looked_at=None if before is None else T0 + before) is news


class TestWithoutSuccess:
    """A daily job that always fails."""

    def _told(self, world: World) -> list[dict[str, Any]]:
        return [each for each in world.events.told if each["type"] == "Cronce Job Without Success"]

    def _world(self, **about: Any) -> World:  # noqa: ANN401
        world = World(**about)
        world.look()
        return world

    def _fails(self, world: World, at: datetime, status: Status = Status.FAILED) -> None:
        ended = {"claimed_at": at, "finished_at": at + MINUTE, "scheduled_at": at}
        why = {} if status is Status.SUCCEEDED else {"reason": "exit_code", "exit_code": 3}
        world.store.swap(run(job=JOB, period=period_of(at), status=status, **ended, **why), None)

    def test_one_event_and_a_metric_in_each_look(self) -> None:
        """With the job, since when, and why its newest run failed."""
        world = self._world()
        for day in range(3):
            self._fails(world, T0 + day * DAY)
        world.clock.advance(DAILY)
        assert world.look().get("no_success") is None
        world.clock.advance(MINUTE)
        assert [world.look().get("no_success") for _ in range(3)] == [1, 1, 1]
        [event] = self._told(world)
        assert (event["job"], event["since"], event["longest"]) == (JOB, "2026-11-29T06:00:00Z", "49h")
        assert event["cause"].startswith("It has not succeeded for 49h, since 2026-11-29T06:00:00Z. Its newest run, ")
        assert event["cause"].endswith("Its command failed with exit code 3.")
        assert event["text"].startswith(f"Cronce Job Without Success: {JOB} ")

    @pytest.mark.parametrize(
        ("changes", "told_after", "expected"),
        [
            ({"State": "DISABLED"}, None, None),
            ({"State": "DISABLED"}, "36h", 1),
            ({"ScheduleExpression": "rate(1 hour)"}, None, None),
            ({"ScheduleExpression": "rate(1 hour)"}, "36h", 1),
        ],
    )
    def test_a_job_that_a_clock_starts_and_a_rate_count_with_a_limit_of_their_own(
        self, changes: dict[str, str], told_after: str | None, expected: int | None
    ) -> None:
        """A disabled schedule starts nothing, and the ticks of a rate without a start are not known."""
        world = World()
        answer = definition("cron(0 6 * * ? *)", told_after=told_after) | changes
        world.scheduler.schedules[answer["Name"]] = answer
        world.look()
        world.clock.advance(36 * HOUR)
        assert world.look().get("no_success") is None
        world.clock.advance(MINUTE)
        assert world.look().get("no_success") == expected
        assert len(self._told(world)) == (expected or 0)

    def test_a_success_ends_it_and_the_next_time_is_told_again(self) -> None:
        """The success is remembered, so rows are read only when it is too old."""
        world = self._world()
        world.clock.advance(DAILY + MINUTE)
        assert world.look()["no_success"] == 1
        self._fails(world, world.clock.now(), Status.SUCCEEDED)
        world.clock.advance(2 * MINUTE)
        assert world.look().get("no_success") is None
        world.clock.advance(DAILY + MINUTE)
        assert world.look()["no_success"] == 1
        assert len(self._told(world)) == 2

    @pytest.mark.parametrize(("succeeds_at", "expected"), [(None, 1), (30 * HOUR, None)])
    def test_a_job_with_more_runs_than_one_look_reads_is_told_too(
        self, succeeds_at: timedelta | None, expected: int | None
    ) -> None:
        """A job of each minute that may fail for two days: the search goes on in the next look, and is told once."""
        world = World()
        answer = definition("cron(* * * * ? *)", told_after="48h") | {"State": "DISABLED"}
        world.scheduler.schedules[answer["Name"]] = answer
        world.look()
        for minute in range(2 * 24 * 60):
            at = T0 + minute * MINUTE
            self._fails(world, at, Status.SUCCEEDED if at == T0 + (succeeds_at or -DAY) else Status.FAILED)
        looks = [world.look(T0 + 48 * HOUR + minute * MINUTE).get("no_success") for minute in range(1, 9)]
        assert looks[-1] == expected
        assert len(self._told(world)) == (expected or 0)


def test_the_line_for_people_can_stand_in_json_and_calls_nobody() -> None:
    """EventBridge does not escape what it puts into a message, and Slack reads <!channel>."""
    failed = run(job='a"b\\<!channel>\n', status=Status.FAILED, reason="error", error='"}]\x1b[2J')
    notice = Notice(
        "Cronce Run Given Up", {"ledger": "runs", "job": failed.job, "period": "p", "why": "x" * 2000}, failed
    )
    line = text_for_people(notice, cause_of(notice))
    assert len(line) <= 900
    assert not set('"\\<>\n\x1b') & set(line)
    assert line.startswith("Cronce Run Given Up: a'b/‹!channel›/n p in runs. Its work failed: '}]/x1b[2J.")  # noqa: RUF001


def test_a_tick_that_nobody_claimed_has_the_cause_that_why_says() -> None:
    """One sentence for both."""
    tick = run(job=JOB, status=Status.MISSED, reason="never_delivered")
    assert cause_of(Notice("Cronce Run Missed", {}, tick)) == NO_CLAIM


def test_a_run_that_takes_too_long_is_told_once_and_counted_in_each_look() -> None:
    """Its owner is alive, and the work does not end."""
    world = World(policy=Policy(active_deadline=10 * MINUTE, lease=HOUR))
    world.look()
    at = world.clock.now()
    world.claim()
    looks = []
    for _ in range(15):
        world.clock.advance(MINUTE)
        looks.append(world.look().get("too_long"))
    assert looks == [None] * 12 + [1] * 3
    [event] = [each for each in world.events.told if each["type"] == "Cronce Run Too Long"]
    assert (event["since"], event["longest"]) == (period_of(at), "12m")
    assert event["cause"] == "It has been running for more than 12m."
    assert at.tzinfo is UTC
