"""What `cronce doctor` concludes from what it has seen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from cronce.operate import checks
from cronce.operate.checks import State
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.schedule import ZoneData
from cronce.vocabulary.states import Reason, Status
from tests.support.builders import T0, TICK, run

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("ahead", "state"),
    [
        (timedelta(0), State.OK),
        (3 * SECOND, State.OK),  # two seconds, and one because the store's time is truncated
        (3 * SECOND + TICK, State.WARNING),
        (MAX_CLOCK_SKEW + SECOND, State.WARNING),
        (MAX_CLOCK_SKEW + SECOND + TICK, State.PROBLEM),
        (-2 * SECOND, State.OK),
        (-2 * SECOND - TICK, State.WARNING),
        (-MAX_CLOCK_SKEW - TICK, State.PROBLEM),
    ],
)
def test_a_clock_that_is_off_is_a_problem_where_claims_are_refused(ahead: timedelta, state: State) -> None:
    """And a warning before that."""
    assert checks.skew(T0 + ahead, T0 + ahead, T0).state is state


def test_a_store_without_a_clock_tells_nothing_about_this_one() -> None:
    """SQLite has the host's own."""
    assert checks.skew(T0, T0, None).state is State.UNKNOWN


@pytest.mark.parametrize(
    ("looked", "state"), [(10 * MINUTE, State.OK), (10 * MINUTE + TICK, State.PROBLEM), (None, State.PROBLEM)]
)
def test_the_watchdog_has_ten_minutes(looked: timedelta | None, state: State) -> None:
    """It looks every minute."""
    assert checks.watchdog(None if looked is None else T0 - looked, T0).state is state


def test_an_image_that_never_claimed_is_unproven_and_one_that_ran_without_a_claim_has_no_guard() -> None:
    """The newest start decides, so a guard that was added later counts."""
    claimed = run(status=Status.SUCCEEDED)
    bare = run(status=Status.FAILED, reason=Reason.UNCLAIMED, attempt=0)
    missed = run(status=Status.MISSED, reason=Reason.NEVER_DELIVERED, attempt=0)
    found = list(checks.guards({"good": [claimed, bare], "bare": [missed, bare, claimed], "new": [missed], "none": []}))
    assert [(check.state, check.sentence) for check in found] == [
        (State.PROBLEM, "the image has no guard: bare"),
        (State.WARNING, "unproven: new, none"),
        (State.OK, "the newest task of 1 of 4 jobs claimed its run"),
    ]


@pytest.mark.parametrize(
    ("leads", "desired", "state"),
    [
        (True, 1, State.OK),
        (True, 2, State.PROBLEM),
        (True, 0, State.PROBLEM),
        (True, None, State.PROBLEM),
        (False, 1, State.PROBLEM),
    ],
)
def test_a_clock_leads_and_is_the_only_one(leads: bool, desired: int | None, state: State) -> None:  # noqa: FBT001
    """Its service has a desired count of one, and its row a living leader."""
    row = run(job="clock", period="leader")
    at = T0 if leads else T0 + timedelta(hours=1)
    assert checks.clock("clock", row, desired, 1, at).state is state


def alarm(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """An alarm as DescribeAlarms shows it."""
    of_ledger = [{"Name": "Ledger", "Value": "runs"}]
    default = {"AlarmName": "missed", "Namespace": "cronce", "Dimensions": of_ledger, "AlarmActions": ["arn:topic"]}
    return default | changes


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ([alarm()], ["1 alarm, each with an action"]),
        ([alarm(AlarmActions=[])], ["without an action: missed"]),
        ([alarm(ActionsEnabled=False)], ["without an action: missed"]),
        ([alarm(Dimensions=[{"Name": "Ledger", "Value": "other"}])], ["no alarm is on the metrics of this ledger"]),
        ([alarm(Namespace="AWS/ECS")], ["no alarm is on the metrics of this ledger"]),
        (
            [
                {
                    "AlarmName": "sum",
                    "Metrics": [{"MetricStat": {"Metric": {k: alarm()[k] for k in ("Namespace", "Dimensions")}}}],
                }
            ],
            ["without an action: sum"],
        ),
    ],
)
def test_an_alarm_without_an_action_tells_nobody(found: list[dict[str, Any]], told: list[str]) -> None:
    """Also one on an expression; those of other ledgers do not count."""
    assert [check.sentence for check in checks.alarms(found, "runs")] == told


def test_a_mistyped_variable_has_the_name_that_is_meant() -> None:
    """It would be ignored in silence."""
    (check,) = checks.variables({"CRONCE_LEGDER": "x", "PATH": "/bin"})
    assert (check.state, check.sentence, check.why) == (
        State.WARNING,
        "CRONCE_LEGDER is not read",
        "did you mean CRONCE_LEDGER?",
    )
    (good,) = checks.variables({"CRONCE_LEDGER": "x"})
    assert good.state is State.OK


def test_copies_of_zone_data_that_disagree_are_a_warning() -> None:
    """Within the next year."""
    berlin, utc = (ZoneInfo(name) for name in ("Europe/Berlin", "UTC"))
    one, other = ZoneData(version="1", source="system", zone=berlin), ZoneData(version="2", source="tzdata", zone=utc)
    (apart,) = checks.zones({"Europe/Berlin": [one, other]}, T0)
    assert apart.state is State.WARNING
    (same,) = checks.zones({"Europe/Berlin": [one]}, T0)
    assert (same.state, same.sentence) == (State.OK, "zone data 1 (system) for 1 zone")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([run(status=Status.SUCCEEDED)], None),
        ([run()], None),  # active
        ([], None),
        ([run(status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3)], "a: Its command failed with exit code 3"),
        (
            [run(status=Status.SKIPPED, reason=Reason.OVERLAP), run(status=Status.FAILED, reason=Reason.LEASE_LOST)],
            "a: Its owner ended without a report: it sent no heartbeats any more, and its lease expired",
        ),
        (
            [run(status=Status.SKIPPED, reason=Reason.PAUSED, actor="ann", note="month end")],
            "a: It was skipped because ann had paused the job: month end",
        ),
    ],
)
def test_the_newest_run_that_was_wanted_counts(rows: list[RunRecord], told: str | None) -> None:
    """The line has its cause."""
    (check,) = checks.newest_runs({"a": rows}, T0)
    assert (check.state, check.sentence) == (
        (State.WARNING, told) if told else (State.OK, "the newest run of 1 job: none failed or was missed")
    )


def test_a_run_whose_lease_expired_is_named() -> None:
    """Until just then it counts as active."""
    (check,) = checks.newest_runs({"a": [run()]}, T0 + timedelta(hours=1))
    assert check.sentence == "a: Its owner lost its lease, and nobody has taken it over"


def test_jobs_with_one_cause_are_one_line() -> None:
    """A table that is gone stops a hundred jobs."""
    row = run(status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=69)
    (check,) = checks.newest_runs({f"job-{n}": [row] for n in range(7)}, T0)
    assert check.sentence.startswith("job-0, job-1, job-2, job-3, job-4 and 2 more: Its task could not use the ledger")


def test_many_names_are_cut() -> None:
    """A thousand jobs still fit a line."""
    assert checks.some(f"job-{n}" for n in range(7)) == "job-0, job-1, job-2, job-3, job-4 and 2 more"
