"""The environment of a task, and what the command line changes about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from cronce.client.settings import TaskSettings
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.names import RunName, checked_job, checked_period
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger

SIX = datetime(2026, 11, 29, 6, tzinfo=UTC)
OF_A_TASK = {
    "CRONCE_LEDGER": "dynamodb://runs?region=eu-west-1",
    "CRONCE_JOB": "daily-digest",
    "CRONCE_POLICY": '{"backoff_limit": 2, "lease": "30s"}',
    "CRONCE_SCHEDULED_TIME": "2026-11-29T06:00:00Z",
    "CRONCE_EXECUTION_ID": "d32c5kddcf5bb8c3",
    "CRONCE_TRIGGER": "schedule",
    "PATH": "/usr/bin",
}


def test_what_a_scheduled_task_sets_is_enough() -> None:
    """The period follows from the scheduled time."""
    assert TaskSettings.from_environ(OF_A_TASK) == TaskSettings(
        ledger="dynamodb://runs?region=eu-west-1",
        job=checked_job("daily-digest"),
        period=checked_period("2026-11-29T06:00:00Z"),
        scheduled_at=SIX,
        policy=Policy(backoff_limit=2, lease=timedelta(seconds=30)),
        trigger=Trigger.SCHEDULE,
    )


def test_an_empty_environment_says_nothing() -> None:
    """And neither do empty variables."""
    assert TaskSettings.from_environ({}) == TaskSettings()
    assert TaskSettings.from_environ(dict.fromkeys(OF_A_TASK, "")) == TaskSettings()


def test_an_explicit_period_wins() -> None:
    """The scheduled time still says how late it is."""
    settings = TaskSettings.from_environ(OF_A_TASK | {"CRONCE_PERIOD": "2026-11-28"})
    assert (settings.period, settings.scheduled_at) == ("2026-11-28", SIX)


def test_a_period_that_is_a_time_says_when_it_was_due() -> None:
    """Where nothing else does."""
    assert TaskSettings.from_environ({"CRONCE_PERIOD": "2026-11-29T07:00:00+01:00"}).scheduled_at == SIX
    assert TaskSettings.from_environ({"CRONCE_PERIOD": "2026-11-29"}).scheduled_at is None


def test_the_period_may_be_the_local_day_of_the_scheduled_time() -> None:
    """23:30 in New York is the next day in UTC; whatever the hour, a day has one period."""
    there = OF_A_TASK | {"CRONCE_DATE_IN": "America/New_York"}
    for time in ("2026-11-29T11:00:00Z", "2026-11-30T04:30:00Z"):
        settings = TaskSettings.from_environ(there | {"CRONCE_SCHEDULED_TIME": time})
        assert settings.run_name() == RunName.of("daily-digest", "2026-11-29", settings.scheduled_at)
        assert settings.scheduled_at == datetime.fromisoformat(time)
    by_option = TaskSettings.from_environ(
        OF_A_TASK, {"date_in": "Asia/Tokyo", "scheduled_time": "2026-11-29T20:00:00Z"}
    )
    assert by_option.period == "2026-11-30"
    assert TaskSettings.from_environ(there | {"CRONCE_PERIOD": "2026-11-01"}).period == "2026-11-01"
    assert TaskSettings.from_environ(there, {"period": "2026-11-02"}).period == "2026-11-02"


@pytest.mark.parametrize("time", ["2026-11-29T06:00:00Z", "0001-01-01T00:00:00Z"])
def test_a_day_that_cannot_be_found_is_refused(time: str) -> None:
    """An unknown zone, or a day before the calendar; the error names the variable or the option."""
    zone = "Europe/Nowhere" if time.startswith("2026") else "America/New_York"
    with pytest.raises(InputInvalidError, match=r"^CRONCE_DATE_IN: "):
        TaskSettings.from_environ(OF_A_TASK | {"CRONCE_DATE_IN": zone, "CRONCE_SCHEDULED_TIME": time})
    with pytest.raises(InputInvalidError, match=r"^--date-in: "):
        TaskSettings.from_environ({}, {"date_in": zone, "scheduled_time": time})


@pytest.mark.parametrize("trigger", ["MANUAL", "manual", "Manual"])
def test_the_case_of_a_trigger_does_not_matter(trigger: str) -> None:
    """As in a shell command."""
    assert TaskSettings.from_environ({"CRONCE_TRIGGER": trigger}).trigger is Trigger.MANUAL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRONCE_JOB", " x"),
        ("CRONCE_PERIOD", "a#b"),
        ("CRONCE_SCHEDULED_TIME", "<aws.scheduler.scheduled-time>"),
        ("CRONCE_TRIGGER", "cron"),
        ("CRONCE_POLICY", "{"),
        ("CRONCE_POLICY", '{"lease": "never"}'),
    ],
)
def test_a_bad_variable_is_named(name: str, value: str) -> None:
    """One line, and nothing is written."""
    with pytest.raises(InputInvalidError, match=f"^{name}") as refused:
        TaskSettings.from_environ(OF_A_TASK | {name: value})
    assert "\n" not in str(refused.value)


def test_every_option_wins() -> None:
    """The command line is nearer to the person. Fields of the policy that no option gives stay."""
    options = {
        "ledger": "sqlite:///runs.db",
        "job": "other",
        "period": "2026-11-28",
        "trigger": "manual",
        "force": "why",
        "lease": "5m",
        "grace": "1s",
    }
    assert TaskSettings.from_environ(OF_A_TASK, options) == TaskSettings(
        ledger="sqlite:///runs.db",
        ledger_called="--ledger",
        job=checked_job("other"),
        period=checked_period("2026-11-28"),
        policy=Policy(backoff_limit=2, lease=timedelta(minutes=5)),
        trigger=Trigger.MANUAL,
        force="why",
        force_called="--force",
    )


def test_a_scheduled_time_as_an_option_brings_its_period() -> None:
    """Over both the period and the time of the environment."""
    environ = OF_A_TASK | {"CRONCE_PERIOD": "2026-11-28"}
    changed = TaskSettings.from_environ(environ, {"scheduled_time": "2026-11-30T06:00:00Z"})
    assert (changed.period, changed.scheduled_at) == ("2026-11-30T06:00:00Z", SIX + timedelta(days=1))


@pytest.mark.parametrize("option", ["job", "period", "scheduled_time", "trigger", "lease", "on_lost"])
def test_an_empty_option_is_not_absent(option: str) -> None:
    """`--job "$JOB"` with an unset variable is a mistake, not the environment's job; the error names the option."""
    with pytest.raises(InputInvalidError, match=f"^--{option.replace('_', '-')}: ''"):
        TaskSettings.from_environ(OF_A_TASK, {option: ""})


def test_what_is_missing_is_said() -> None:
    """With the option and the variable that would give it."""
    nothing = TaskSettings()
    with pytest.raises(InputMissingError, match=r"ledger's URL is missing: give --ledger or set CRONCE_LEDGER"):
        nothing.required_ledger()
    with pytest.raises(InputMissingError, match=r"job's name is missing: give --job or set CRONCE_JOB"):
        nothing.required_job()
    with pytest.raises(InputMissingError, match=r"period is missing: .*never taken from the clock"):
        nothing.required_period()


def test_what_is_given_is_taken() -> None:
    """All three."""
    settings = TaskSettings.from_environ(OF_A_TASK)
    assert settings.required_ledger() == OF_A_TASK["CRONCE_LEDGER"]
    assert settings.required_job() == "daily-digest"
    assert settings.required_period() == "2026-11-29T06:00:00Z"


@pytest.mark.parametrize("trigger", ["manual", "backfill"])
def test_a_person_may_force(trigger: str) -> None:
    """With a reason, and a name; both are for the ledger to record."""
    settings = TaskSettings.from_environ(
        OF_A_TASK | {"CRONCE_TRIGGER": trigger, "CRONCE_FORCE": "half went to spam", "CRONCE_ACTOR": "ann@desk"}
    )
    ask = settings.claim_request(token="t", owner="me")
    assert (ask.force, ask.actor, ask.run) == (
        "half went to spam",
        "ann@desk",
        RunName.of("daily-digest", "2026-11-29T06:00:00Z"),
    )


@pytest.mark.parametrize(
    "given",
    [
        {"CRONCE_FORCE": "why"},
        {"CRONCE_FORCE": "why", "CRONCE_TRIGGER": "schedule"},
        {"CRONCE_FORCE": "why", "CRONCE_TRIGGER": "retry"},
        {"CRONCE_FORCE": "why", "CRONCE_TRIGGER": "catch_up"},
        {"CRONCE_FORCE": " ", "CRONCE_TRIGGER": "manual"},
    ],
)
def test_a_machine_never_forces(given: dict[str, str]) -> None:
    """A variable left in a task definition must not repeat every success."""
    with pytest.raises(InputInvalidError, match="CRONCE_FORCE"):
        TaskSettings.from_environ(OF_A_TASK | given).claim_request(token="t", owner="me")


def test_a_force_may_be_for_one_attempt() -> None:
    """As a rerun asks for it: a task that comes up late must not repeat the success of another one."""
    forced = OF_A_TASK | {"CRONCE_TRIGGER": "manual", "CRONCE_FORCE": "why"}
    any_attempt = TaskSettings.from_environ(forced).claim_request(token="t", owner="me")
    assert [any_attempt.forces(attempt) for attempt in (1, 2, 3)] == [True, True, True]
    one = TaskSettings.from_environ(forced | {"CRONCE_FORCE_ATTEMPT": "2"}).claim_request(token="t", owner="me")
    assert [one.forces(attempt) for attempt in (1, 2, 3)] == [False, True, False]


@pytest.mark.parametrize("text", ["x", "-1", "2.0", " 2", "\u0662", "1" * 10, "0x2"])
def test_the_attempt_of_a_force_is_a_number(text: str) -> None:
    """The error names the variable."""
    with pytest.raises(InputInvalidError, match=r"^CRONCE_FORCE_ATTEMPT: "):
        TaskSettings.from_environ(OF_A_TASK | {"CRONCE_FORCE_ATTEMPT": text})


def test_nothing_is_forced_without_the_variable() -> None:
    """Whoever asks."""
    settings = TaskSettings.from_environ(OF_A_TASK | {"CRONCE_TRIGGER": "manual", "CRONCE_FORCE": ""})
    assert settings.claim_request(token="t", owner="me").force is None


def test_an_option_forces_as_little_as_the_variable_without_a_person() -> None:
    """The error names the option."""
    with pytest.raises(InputInvalidError, match=r"^--force: 'why'"):
        TaskSettings.from_environ(OF_A_TASK, {"force": "why"}).claim_request(token="t", owner="me")


def test_the_exclusion_group_of_the_environment_wins_over_the_policys_and_an_option_over_both() -> None:
    """And an unusable one is named as it was given."""
    environ = {"CRONCE_POLICY": '{"exclusion_group": "one"}', "CRONCE_EXCLUSION_GROUP": "two"}
    assert TaskSettings.from_environ(environ).policy.exclusion_group == "two"
    assert TaskSettings.from_environ(environ, {"exclusion_group": "three"}).policy.exclusion_group == "three"
    with pytest.raises(InputInvalidError, match=r"^CRONCE_EXCLUSION_GROUP: 'a b' is not usable"):
        TaskSettings.from_environ({"CRONCE_EXCLUSION_GROUP": "a b"})
    with pytest.raises(InputInvalidError, match=r"^CRONCE_EXCLUSION_GROUP: 'two' .* not ALLOW"):
        TaskSettings.from_environ({"CRONCE_EXCLUSION_GROUP": "two", "CRONCE_POLICY": '{"concurrency_policy": "ALLOW"}'})
