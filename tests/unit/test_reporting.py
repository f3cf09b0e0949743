"""One JSON line for what happens to a run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.client.reporting import report
from cronce.protocol.requests import RefusalReason


@pytest.fixture
def reported(capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401  # a function
    """Report something; the line as an object. Nothing goes to stdout."""

    def reported(event: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401  # fields of several types
        report(event, **fields)
        out, err = capsys.readouterr()
        assert out == ""
        assert err.endswith("\n")
        assert err.count("\n") == 1
        line: dict[str, Any] = json.loads(err)
        return line

    return reported


def test_a_line_says_what_happened_to_which_run(reported: Any) -> None:  # noqa: ANN401  # a function
    """Keys are `cronce.<noun>`; what is None is left out."""
    line = reported("refused", job="digest", period="2026", reason=RefusalReason.HELD, holder=None)
    at = datetime.fromisoformat(line.pop("time"))
    assert timedelta(0) <= datetime.now(UTC) - at < timedelta(minutes=1)
    assert line == {
        "level": "INFO",
        "cronce.event": "refused",
        "cronce.job": "digest",
        "cronce.period": "2026",
        "cronce.reason": "HELD",
    }


@pytest.mark.parametrize("odd", ["two\nlines", "Grüße", "\ud800", '"', "\x1b[31m"])
def test_a_line_is_one_line_whatever_is_in_it(reported: Any, odd: str) -> None:  # noqa: ANN401  # a function
    """Also what no terminal could show."""
    assert reported("failed", error=odd, level="ERROR")["cronce.error"] == odd


def test_a_value_that_is_not_json_is_its_text(reported: Any) -> None:  # noqa: ANN401  # a function
    """A log line never fails."""
    assert reported("failed", error=ValueError("boom"))["cronce.error"] == "boom"


def test_without_the_setting_there_is_no_metric(reported: Any) -> None:  # noqa: ANN401  # a function
    """A plain line."""
    assert "_aws" not in reported("succeeded", job="digest", duration=1.5)


@pytest.fixture
def emf(monkeypatch: pytest.MonkeyPatch) -> None:
    """CRONCE_METRICS=emf."""
    monkeypatch.setenv("CRONCE_METRICS", "emf")


@pytest.mark.usefixtures("emf")
def test_a_line_in_embedded_metric_format(reported: Any) -> None:  # noqa: ANN401  # a function
    """The shape that CloudWatch asks for: members of `_aws`, and every name as a member of the root."""
    line = reported("succeeded", job="digest", period="2026", duration=1.5)
    aws = line["_aws"]
    assert aws["Timestamp"] == int(datetime.fromisoformat(line["time"]).timestamp() * 1000)
    assert aws["CloudWatchMetrics"] == [
        {
            "Namespace": "cronce",
            "Dimensions": [["Ledger"], ["Ledger", "Job"]],
            "Metrics": [
                {"Name": "RunSucceeded", "Unit": "Count"},
                {"Name": "RunDuration", "Unit": "Seconds"},
            ],
        }
    ]
    assert (line["Job"], line["RunSucceeded"], line["RunDuration"]) == ("digest", 1, 1.5)
    assert line["cronce.period"] == "2026"


@pytest.mark.usefixtures("emf")
@pytest.mark.parametrize(
    ("event", "metric"),
    [
        ("claimed", "RunClaimed"),
        ("refused", "RunRefused"),
        ("succeeded", "RunSucceeded"),
        ("failed", "RunFailed"),
        ("lost", "LeaseLost"),
        ("unavailable", "LedgerUnavailable"),
    ],
)
def test_every_end_has_its_metric(reported: Any, event: str, metric: str) -> None:  # noqa: ANN401  # a function
    """Without a duration there is none; the ledger's dimension always has a value."""
    line = reported(event)
    assert [m["Name"] for m in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]] == [metric]
    assert (line[metric], line["Ledger"]) == (1, "unknown")
    assert "Job" not in line


@pytest.mark.usefixtures("emf")
def test_other_events_are_plain_lines(reported: Any) -> None:  # noqa: ANN401  # a function
    """Not everything is counted."""
    assert "_aws" not in reported("heartbeat_failed", job="digest")


@pytest.mark.usefixtures("emf")
def test_the_ledger_a_job_and_a_clock_each_have_a_set(reported: Any) -> None:  # noqa: ANN401  # a function
    """Alarms on all jobs of a ledger or clock need sets without the job; no set lacks the ledger."""
    line = reported("missed", job="digest", ledger="runs", clock="main")
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["Ledger"], ["Ledger", "Job"], ["Ledger", "Clock"]]
    assert (line["Job"], line["Ledger"], line["Clock"], line["TickMissed"]) == ("digest", "runs", "main", 1)


@pytest.mark.usefixtures("emf")
def test_a_count_and_a_lateness_are_measured(reported: Any) -> None:  # noqa: ANN401  # a function
    """Where the line has them."""
    line = reported("tick_missed", job="digest", count=7, lateness=0.25)
    assert (line["TickMissed"], line["TickLateness"]) == (7, 0.25)


@pytest.mark.usefixtures("emf")
def test_two_ledgers_of_an_account_share_no_metric(reported: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    """A task's lines carry the ledger of its environment."""
    lines = []
    for url in ("dynamodb://dev-runs?region=eu-west-1", "dynamodb://arn:aws:dynamodb:eu-west-1:1:table/prod-runs"):
        monkeypatch.setenv("CRONCE_LEDGER", url)
        lines.append(reported("failed", job="digest"))
    assert [(line["Ledger"], line["Job"]) for line in lines] == [("dev-runs", "digest"), ("prod-runs", "digest")]


@pytest.mark.usefixtures("emf")
@pytest.mark.parametrize(("job", "value"), [("Grüße", r"Gr\xfc\xdfe"), ("x" * 2000, "x" * 1024)])
def test_a_dimension_is_what_cloudwatch_takes(reported: Any, job: str, value: str) -> None:  # noqa: ANN401  # a function
    """ASCII and at most 1,024 characters; the line's own field keeps the name."""
    line = reported("failed", job=job)
    assert (line["Job"], line["cronce.job"]) == (value, job)
