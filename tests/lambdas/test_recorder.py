"""The recorder, fed with events of the shape that ECS documents."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim, Ledger, LedgerUnavailableError, Status
from cronce_lambdas.recorder import handler, stopped_task

if TYPE_CHECKING:
    from pathlib import Path

ARN = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123456789abcdef0123456789abcdef"

EVENT: dict[str, Any] = {
    "detail-type": "ECS Task State Change",
    "source": "aws.ecs",
    "detail": {
        "taskArn": ARN,
        "lastStatus": "STOPPED",
        "stopCode": "EssentialContainerExited",
        "stoppedReason": "Essential container in task exited",
        "containers": [
            {"name": "sidecar", "exitCode": 0},
            {"name": "digest", "exitCode": 137, "reason": "OutOfMemoryError: Container killed due to memory usage"},
        ],
        "overrides": {
            "containerOverrides": [
                {"name": "sidecar"},
                {
                    "name": "digest",
                    "environment": [
                        {"name": "CRONCE_JOB", "value": "daily-digest"},
                        {"name": "CRONCE_SCHEDULED_TIME", "value": "2026-11-29T06:00:00Z"},
                    ],
                },
            ]
        },
    },
}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty ledger, in the environment as the function has it."""
    url = f"sqlite:///{tmp_path}/runs.db"
    monkeypatch.setenv("CRONCE_LEDGER", url)
    Ledger.from_url(url).create()
    return url


def claim(url: str, *, owner: str) -> Claim:
    """A claim of the event's run by that owner."""
    from cronce.stores.sqlite import SqliteStore  # noqa: PLC0415

    claimed = Ledger(SqliteStore(url.removeprefix("sqlite:///")), owner=owner).claim(
        "daily-digest", "2026-11-29T06:00:00Z"
    )
    assert claimed
    return claimed


def altered(**detail: object) -> dict[str, Any]:
    """The event with other details."""
    event = copy.deepcopy(EVENT)
    event["detail"] |= detail
    return event


def test_a_run_left_running_becomes_failed_with_the_stop_reason(url: str) -> None:
    """Exit code and reason are those of the job's container, not of its sidecar."""
    claim(url, owner=ARN)
    assert handler(EVENT, None) == {"status": "FAILED"}
    run = Ledger.from_url(url).run("daily-digest", "2026-11-29T06:00:00Z")
    assert run is not None
    assert (run.status, run.reason, run.exit_code) == (Status.FAILED, "task_stopped", 137)
    assert "OutOfMemoryError" in (run.error or "")


def test_the_next_claim_begins_attempt_two_at_once(url: str) -> None:
    """The slot is free too; nobody waits for the lease."""
    claim(url, owner=ARN)
    handler(EVENT, None)
    assert claim(url, owner="another").attempt == 2


def test_a_repeated_event_changes_nothing(url: str) -> None:
    """Delivered twice, the second time while attempt 2 runs."""
    claim(url, owner=ARN)
    handler(EVENT, None)
    second = claim(url, owner="another")
    handler(EVENT, None)
    second.complete()
    assert handler(EVENT, None) == {"status": "SUCCEEDED"}


def test_a_success_outranks_an_event_that_came_first(url: str) -> None:
    """The task finished its work while the recorder already took it for dead."""
    first = claim(url, owner=ARN)
    handler(EVENT, None)
    first.complete()
    run = Ledger.from_url(url).run("daily-digest", "2026-11-29T06:00:00Z")
    assert run is not None
    assert run.status is Status.SUCCEEDED


def test_a_task_that_lost_the_race_changes_nothing(url: str) -> None:
    """The run is another task's."""
    claim(url, owner="another")
    assert handler(EVENT, None) == {"status": "RUNNING"}


def test_a_task_that_never_claimed_writes_no_row(url: str) -> None:
    """The row is the watchdog's business."""
    assert handler(EVENT, None) == {"ignored": "the task never claimed its run"}
    assert Ledger.from_url(url).run("daily-digest", "2026-11-29T06:00:00Z") is None


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"detail": None},
        {"detail": []},
        altered(lastStatus="RUNNING"),
        altered(overrides={}),
        altered(overrides={"containerOverrides": [{"name": "digest"}]}),
        altered(overrides={"containerOverrides": [{"name": "digest", "environment": [{"name": "CRONCE_JOB"}]}]}),
        altered(containers=[]),
        altered(
            overrides={
                "containerOverrides": [
                    {
                        "name": "digest",
                        "environment": [
                            {"name": "CRONCE_JOB", "value": "daily-digest"},
                            {"name": "CRONCE_SCHEDULED_TIME", "value": "<aws.scheduler.scheduled-time>"},
                        ],
                    }
                ]
            }
        ),
    ],
)
def test_a_foreign_or_malformed_event_is_ignored(event: dict[str, Any]) -> None:
    """Nothing raises, so Lambda does not deliver it again and again."""
    assert stopped_task(event) is None
    assert handler(event, None) == {"ignored": "not a stopped task of a job"}


def test_an_unreachable_ledger_raises_so_that_the_event_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there."""
    monkeypatch.setenv("CRONCE_LEDGER", "dynamodb://runs?region=eu-west-1&endpoint=http://127.0.0.1:1")
    monkeypatch.setattr("cronce.ledger._LONGEST_PATIENCE", timedelta(0))
    with pytest.raises(LedgerUnavailableError, match=r"127\.0\.0\.1:1"):
        handler(EVENT, None)
