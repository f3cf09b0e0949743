"""The environment of the functions, as `RunLedger` sets it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cronce import InputInvalidError, InputMissingError
from cronce_lambdas.settings import PinnedService, Settings

URL = "dynamodb://my.runs?region=eu-west-1"


def test_what_is_not_said_follows_from_the_ledger() -> None:
    """The group has the table's name; five minutes; no pinned services."""
    settings = Settings.from_environ({"CRONCE_LEDGER": URL, "CRONCE_MISSED_AFTER": "", "CRONCE_PINNED_SERVICES": ""})
    assert settings == Settings(url=URL, group="my.runs", missed_after=timedelta(minutes=5))
    assert settings.ledger_name == "my.runs"


def test_everything_can_be_said() -> None:
    """A group that CloudFormation named, and the clock."""
    environ = {
        "CRONCE_LEDGER": URL,
        "CRONCE_SCHEDULE_GROUP": "Stack-Schedules-1A2B",
        "CRONCE_MISSED_AFTER": "90s",
        "CRONCE_PINNED_SERVICES": (
            '[{"cluster": "arn:c", "service": "clock", "job": "main"}, {"cluster": "c", "service": "s"}]'
        ),
    }
    assert Settings.from_environ(environ) == Settings(
        url=URL,
        group="Stack-Schedules-1A2B",
        missed_after=timedelta(seconds=90),
        pinned=(
            PinnedService(cluster="arn:c", service="clock", job="main"),
            PinnedService(cluster="c", service="s", job=""),
        ),
    )


@pytest.mark.parametrize("text", ["{", "7", "[7]", '[{"cluster": "c"}]', "null", '{"cluster": "c", "service": "s"}'])
def test_invalid_pinned_services_are_an_error(text: str) -> None:
    """It names the variable."""
    with pytest.raises(InputInvalidError, match="CRONCE_PINNED_SERVICES"):
        Settings.from_environ({"CRONCE_LEDGER": URL, "CRONCE_PINNED_SERVICES": text})


def test_an_invalid_duration_is_an_error() -> None:
    """It names the variable."""
    with pytest.raises(InputInvalidError, match="CRONCE_MISSED_AFTER"):
        Settings.from_environ({"CRONCE_LEDGER": URL, "CRONCE_MISSED_AFTER": "soon"})


def test_a_missing_ledger_is_an_error() -> None:
    """The error says how to name it."""
    with pytest.raises(InputMissingError, match="CRONCE_LEDGER"):
        Settings.from_environ({})


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("dynamodb://arn:aws:dynamodb:eu-west-1:111122223333:table/runs", "runs"),
        ("dynamodb://runs?endpoint=http://localhost:8000", "runs"),
    ],
)
def test_the_ledger_has_the_name_of_its_table(url: str, name: str) -> None:
    """It is the dimension that alarms are set on."""
    assert Settings.from_environ({"CRONCE_LEDGER": url}).ledger_name == name
