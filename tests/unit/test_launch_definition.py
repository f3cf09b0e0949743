"""A schedule says what the job is, and what a task of one of its periods is told."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from cronce import InputInvalidError, Policy, Trigger
from cronce.ecs import JobDefinition, definition_of, launch_overrides
from cronce.ecs.definition import fault_of_further
from tests.support.cloud import GROUP, T0, schedule, several

PERIOD = "2026-11-29T06:00:00Z"


def definition(**changes: Any) -> JobDefinition:  # noqa: ANN401
    """The job of a schedule."""
    job = definition_of(schedule(**changes))
    assert job is not None
    return job


def environ(overrides: dict[str, Any], container: int = 1) -> dict[str, str]:
    """The variables of a container."""
    return {each["name"]: each["value"] for each in overrides["containerOverrides"][container]["environment"]}


def with_input(text: object) -> dict[str, Any]:
    """A schedule with another Input."""
    answer: dict[str, Any] = copy.deepcopy(schedule())
    answer["Target"]["Input"] = text if isinstance(text, str) else json.dumps(text)
    return answer


def test_a_schedule_is_read_whole() -> None:
    """Every field, with times in UTC."""
    policy = Policy(backoff_limit=2, lease=timedelta(seconds=30))
    there = timezone(timedelta(hours=1))
    job = definition(
        policy=policy,
        ScheduleExpression="rate(1 hour)",
        ScheduleExpressionTimezone="Europe/Berlin",
        State="DISABLED",
        StartDate=datetime(2026, 11, 1, 7, tzinfo=there),
        EndDate=datetime(2026, 12, 1, 7, tzinfo=there),
        FlexibleTimeWindow={"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15},
        LastModificationDate=datetime(2026, 11, 2, 7, tzinfo=there),
    )
    assert (job.job, job.schedule_name, job.group_name) == ("daily-digest", "daily-digest-0123456789ab", GROUP)
    assert (job.expression, job.timezone, job.enabled) == ("rate(1 hour)", "Europe/Berlin", False)
    assert (job.start, job.end) == (datetime(2026, 11, 1, 6, tzinfo=UTC), datetime(2026, 12, 1, 6, tzinfo=UTC))
    assert (job.flexible_window, job.policy) == (timedelta(minutes=15), policy)
    assert (job.created_at, job.modified_at) == (T0 - timedelta(days=30), datetime(2026, 11, 2, 6, tzinfo=UTC))
    assert job.modified_at.tzinfo is UTC
    assert job.delivers_ticks
    assert job.schedule.next(T0) == T0 + timedelta(hours=1)


def test_what_a_schedule_leaves_out_is_the_default() -> None:
    """UTC, no ends, no window, no policy."""
    answer = schedule()
    for name in ("ScheduleExpressionTimezone", "State", "FlexibleTimeWindow"):
        del answer[name]
    job = definition_of(answer)
    assert job is not None
    assert (job.timezone, job.start, job.end, job.enabled) == ("UTC", None, None, True)
    assert (job.flexible_window, job.policy) == (timedelta(0), Policy())


FOREIGN = {
    "no input": "",
    "no JSON": "{",
    "a list": [],
    "another shape": {"detail": {}},
    "no list": {"containerOverrides": {"name": "digest"}},
    "no container": {"containerOverrides": []},
    "no object": {"containerOverrides": ["digest"]},
    "no environment": {"containerOverrides": [{"name": "digest"}]},
    "no job": {"containerOverrides": [{"name": "digest", "environment": [{"name": "TOPIC", "value": "news"}]}]},
    "no value": {"containerOverrides": [{"name": "digest", "environment": [{"name": "CRONCE_JOB"}]}]},
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_schedule_is_no_job(text: object) -> None:
    """People may put other schedules into the group."""
    assert definition_of(with_input(text)) is None


def test_a_schedule_that_starts_no_task_is_no_job() -> None:
    """A Lambda function that is given the same input."""
    answer = schedule()
    del answer["Target"]["EcsParameters"]
    assert definition_of(answer) is None


def test_a_job_with_a_policy_of_a_newer_version_is_an_error() -> None:
    """It is not ignored: a person must know."""
    text = schedule()["Target"]["Input"].replace('"CRONCE_TRIGGER"', '"CRONCE_POLICY"').replace('"schedule"', '"{7}"')
    with pytest.raises(InputInvalidError, match="CRONCE_POLICY"):
        definition_of(with_input(text))


@pytest.mark.parametrize(
    ("expression", "start", "known"),
    [("rate(5 minutes)", None, False), ("rate(5 minutes)", T0, True), ("cron(0 6 * * ? *)", None, True)],
)
def test_the_ticks_of_a_rate_without_a_start_are_unknown(
    expression: str,
    start: datetime | None,
    known: bool,  # noqa: FBT001  # a column
) -> None:
    """Only EventBridge knows the moment it counts from."""
    assert definition(ScheduleExpression=expression, StartDate=start).ticks_are_known is known


def test_a_launch_fixes_the_period_and_leaves_no_context_attributes() -> None:
    """Everything else in the schedule stays: command, variables, the sidecar."""
    overrides = launch_overrides(definition(), PERIOD, scheduled_at=T0, trigger=Trigger.RETRY, launch=3)
    assert environ(overrides) == {
        "CRONCE_JOB": "daily-digest",
        "CRONCE_LAUNCH": "3",
        "CRONCE_LEDGER": "dynamodb://runs?region=eu-west-1",
        "CRONCE_PERIOD": PERIOD,
        "CRONCE_SCHEDULED_TIME": PERIOD,
        "CRONCE_TRIGGER": "retry",
        "TOPIC": "news",
    }
    assert overrides["containerOverrides"][1]["command"] == ["python", "-m", "digest"]
    assert overrides["containerOverrides"][0] == {"name": "sidecar"}
    assert "<aws.scheduler." not in json.dumps(overrides)


def test_a_period_without_a_time_has_no_scheduled_time() -> None:
    """Nor a context attribute, which nothing would replace."""
    overrides = launch_overrides(definition(), "2026-W48", scheduled_at=None, trigger=Trigger.MANUAL)
    assert environ(overrides)["CRONCE_PERIOD"] == "2026-W48"
    assert "CRONCE_SCHEDULED_TIME" not in environ(overrides)


def test_a_scheduled_time_elsewhere_in_the_input_is_filled_in_too() -> None:
    """In every container, as EventBridge does; variables with other context attributes are removed."""
    text = schedule()["Target"]["Input"]
    text = text.replace('"-m"', '"--at=<aws.scheduler.scheduled-time>"').replace(
        '{"name": "sidecar"}',
        '{"name": "sidecar", "environment": [{"name": "ID", "value": "<aws.scheduler.execution-id>"}]}',
    )
    job = definition_of(with_input(text))
    assert job is not None
    overrides = launch_overrides(job, PERIOD, scheduled_at=T0, trigger=Trigger.RETRY)
    assert overrides["containerOverrides"][1]["command"] == ["python", f"--at={PERIOD}", "digest"]
    assert environ(overrides, 0) == {}


def test_more_variables_do_not_change_what_is_started() -> None:
    """A person's reason is passed on; the period cannot be overridden."""
    more = {"CRONCE_FORCE": "bad data", "CRONCE_PERIOD": "another"}
    overrides = launch_overrides(definition(), PERIOD, scheduled_at=T0, trigger=Trigger.MANUAL, environment=more)
    assert (environ(overrides)["CRONCE_FORCE"], environ(overrides)["CRONCE_PERIOD"]) == ("bad data", PERIOD)


def test_the_definition_itself_is_left_alone() -> None:
    """Two launches of one definition do not affect each other."""
    job = definition()
    before = copy.deepcopy(job.target)
    launch_overrides(job, PERIOD, scheduled_at=T0, trigger=Trigger.RETRY)
    assert job.target == before


def test_the_period_of_a_tick_may_be_its_local_day() -> None:
    """By the zone that the task is given; and back, by the schedule as it is now."""
    job = definition(
        date_in="America/New_York",
        ScheduleExpression="cron(30 23 * * ? *)",
        ScheduleExpressionTimezone="America/New_York",
    )
    tick = datetime(2026, 11, 30, 4, 30, tzinfo=UTC)
    assert (job.date_in, job.period_of(tick), job.tick_of("2026-11-29")) == ("America/New_York", "2026-11-29", tick)
    for no_tick in ("2026-11-30T04:30:00Z", "2026-W48", "2026-02-30", "0000-01-01", "9999-12-31"):
        assert job.tick_of(no_tick) is None
    by_time = definition()
    assert (by_time.date_in, by_time.period_of(T0), by_time.tick_of(PERIOD)) == (None, PERIOD, T0)
    assert by_time.tick_of("2026-11-29") is None


def test_a_day_without_a_tick_has_none() -> None:
    """On weekends, before the start, from the end on."""
    job = definition(
        date_in="UTC",
        ScheduleExpression="cron(0 6 ? * MON-FRI *)",
        StartDate=datetime(2026, 11, 24, tzinfo=UTC),
        EndDate=datetime(2026, 11, 27, tzinfo=UTC),
    )
    days = [f"2026-11-{day}" for day in range(22, 29)]
    assert [day for day in days if job.tick_of(day)] == ["2026-11-24", "2026-11-25", "2026-11-26"]


def test_a_job_whose_day_is_in_no_zone_is_refused() -> None:
    """Its tasks refuse to start as well."""
    with pytest.raises(InputInvalidError, match="CRONCE_DATE_IN: 'Mars/Olympus'"):
        definition(date_in="Mars/Olympus")


SUNDAYS, FIRSTS = "cron(0 9 ? * SUN *)", "cron(0 12 1 * ? *)"


def test_a_job_with_further_schedules_is_due_whenever_one_of_them_is() -> None:
    """Its first schedule has an expression, and names the others; T0 is a Sunday."""
    job = definition(further=f"{SUNDAYS}; {FIRSTS}", ScheduleExpression="cron(0 6 ? * MON-FRI *)")
    assert job.expression == f"cron(0 6 ? * MON-FRI *); {SUNDAYS}; {FIRSTS}"
    assert job.further == {
        each["Name"]: each["ScheduleExpression"] for each in several(further=f"{SUNDAYS}; {FIRSTS}")[1:]
    }
    assert job.schedule.next(T0) == T0 + timedelta(hours=3)
    assert job.tick_of("2026-12-01T12:00:00Z") == datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert [job.may_have_tick(T0 + timedelta(hours=hours)) for hours in (0, 3, 24)] == [False, True, True]
    assert definition().further == {}
    assert len(definition(further="; ".join(f"cron({n} 6 * * ? *)" for n in range(60))).further) == 9


def test_a_further_schedule_that_starts_what_the_first_one_says_has_no_fault() -> None:
    """And each other one is named."""
    first, further = several(further=SUNDAYS)
    job = definition_of(first)
    assert job is not None
    target = copy.deepcopy(further["Target"]) | {"RoleArn": "arn:aws:iam::111122223333:role/other"}
    faults = [
        fault_of_further(job, SUNDAYS, each)
        for each in (
            further,
            None,
            further | {"State": "DISABLED"},
            further | {"ScheduleExpression": "cron(0 10 ? * SUN *)"},
            further | {"ScheduleExpressionTimezone": "Europe/Berlin"},
            further | {"Target": target},
        )
    ]
    assert faults == [
        None,
        "does not exist",
        "is disabled, and the first one is not",
        "has another expression: cron(0 10 ? * SUN *), UTC",
        "has another expression: cron(0 9 ? * SUN *), Europe/Berlin",
        "starts something else than the first one",
    ]
    disabled = definition(further=SUNDAYS, State="DISABLED")
    assert fault_of_further(disabled, SUNDAYS, further) == "is enabled, and the first one is not"


def test_a_task_of_a_tick_is_started_alike_whichever_schedule_has_it() -> None:
    """The overrides say which period, and not which expression."""
    first, further = several(further=SUNDAYS)
    jobs = [definition_of(first), definition_of(further)]
    told = [launch_overrides(job, PERIOD, scheduled_at=T0, trigger=Trigger.RETRY) for job in jobs if job]
    assert told[0] == told[1]
