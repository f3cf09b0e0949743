"""What a message of the dead-letter queue says, for each form of its body."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cronce_lambdas.dead_letters import dead_letter, returned_event
from tests.lambdas.events import EVENT, JOB, PERIOD, letter
from tests.support.cloud import T0

VARIABLES = [{"name": "CRONCE_JOB", "value": JOB}, {"name": "CRONCE_SCHEDULED_TIME", "value": PERIOD}]
OVERRIDE = {"containerOverrides": [{"name": "sidecar"}, {"name": "digest", "environment": VARIABLES}]}
UPPER = {
    "ContainerOverrides": [
        {"Name": "digest", "Environment": [{"Name": each["name"], "Value": each["value"]} for each in VARIABLES]}
    ]
}

BODIES = {
    "the input": OVERRIDE,
    "RunTask's arguments": {"cluster": "jobs", "taskDefinition": "digest:1", "overrides": OVERRIDE},
    "the API's other spelling": {"Cluster": "jobs", "Overrides": UPPER},
    "the target with its input as text": {"Arn": "arn:...", "Input": json.dumps(OVERRIDE)},
    "in a list": [OVERRIDE],
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_job_and_tick_are_found_wherever_they_stand(body: object) -> None:
    """AWS does not document the form of the body for ECS targets."""
    found = dead_letter(letter(body))
    assert found is not None
    assert (found.job, found.period, found.scheduled_at) == (JOB, PERIOD, T0)
    assert (found.code, found.message) == ("AccessDeniedException", "not authorized to perform: ecs:RunTask")


def test_a_time_that_was_not_filled_in_is_taken_from_the_attributes() -> None:
    """The body may be the schedule's input, with its context attributes."""
    body = json.dumps(OVERRIDE).replace(PERIOD, "<aws.scheduler.scheduled-time>")
    found = dead_letter(letter(body))
    assert found is not None
    assert (found.job, found.period) == (JOB, PERIOD)


def test_the_period_of_a_one_shot_is_not_the_time_of_the_one_shot() -> None:
    """A relaunch whose period has no nominal time."""
    variables = [VARIABLES[0], {"name": "CRONCE_PERIOD", "value": "2026-W48"}]
    found = dead_letter(
        letter({"containerOverrides": [{"environment": variables}]}, SCHEDULED_TIME="2026-11-29T07:00:00Z")
    )
    assert found is not None
    assert (found.period, found.scheduled_at) == ("2026-W48", None)


@pytest.mark.parametrize("body", ["", "{", "cut off: {", "{}", "[]", "null", '"text"'])
def test_a_body_that_says_nothing_leaves_the_schedule_and_its_time(body: str) -> None:
    """Truncated at 256 KB, or in an unknown form."""
    found = dead_letter(letter(body))
    assert found is not None
    assert (found.job, found.schedule, found.period) == (None, f"{JOB}-0123456789ab", PERIOD)


def test_a_message_without_a_reason_has_an_unknown_one() -> None:
    """A person may have forwarded the message without its attributes."""
    found = dead_letter(letter(ERROR_CODE="", ERROR_MESSAGE=""))
    assert found is not None
    assert (found.code, found.message) == ("unknown", "")


DEEP: Any = OVERRIDE
for _ in range(50):
    DEEP = {"more": DEEP}

UNREADABLE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no attributes, no body": {"messageId": "1"},
    "no time": letter("{}", SCHEDULED_TIME=""),
    "no time that is one": letter("{}", SCHEDULED_TIME="soon"),
    "no job and no schedule": letter("{}", SCHEDULE_ARN=""),
    "a body of another type": letter() | {"body": 7, "messageAttributes": None},
    "attributes of another type": letter("{}") | {"messageAttributes": []},
    "attributes without values": letter("{}") | {"messageAttributes": {"SCHEDULED_TIME": "2026"}},
    "a job that no ledger holds": letter(json.dumps(OVERRIDE).replace(JOB, "a\\u0000b")),
    "too deep": letter(DEEP) | {"messageAttributes": {}},
}


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE)
def test_a_message_without_a_tick_is_none(record: dict[str, Any]) -> None:
    """Nothing raises."""
    assert dead_letter(record) is None


def test_a_body_that_is_nested_too_deeply_is_none() -> None:
    """Deeper than the parser's limit."""
    assert dead_letter(letter("[" * 200_000) | {"messageAttributes": {}}) is None


def test_a_returned_event_is_recognized() -> None:
    """Lambda puts events that failed into the same queue."""
    assert returned_event(letter(EVENT)) == EVENT
    assert [returned_event(letter(body)) for body in (OVERRIDE, "{", "[]", "")] == [None] * 4
