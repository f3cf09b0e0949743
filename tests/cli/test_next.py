"""`cronce next`: for expressions, for jobs of the schedule group, and for jobs of a clock."""

from __future__ import annotations

import json
import sys
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cronce.clock.config import config_from_file
from cronce.ecs.names import one_shot_name
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, without_colour
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import run

NEW_YORK = ("30 2 * * *", "--timezone", "America/New_York", "--from", "2026-03-07")


def ticks_of(said: Said) -> list[dict[str, str]]:
    """The document that was printed."""
    assert (said.code, said.err) == (0, "")
    ticks: list[dict[str, str]] = json.loads(said.out)["ticks"]
    return ticks


def test_the_document_has_utc_local_and_what_the_clocks_do(cronce: Callable[..., Said]) -> None:
    """02:30 does not exist in New York on 2026-03-08."""
    assert ticks_of(cronce("next", *NEW_YORK, "--count", "2", "--json")) == [
        {"period": "2026-03-07T07:30:00Z", "local": "2026-03-07T02:30:00-05:00", "note": ""},
        {
            "period": "2026-03-09T06:30:00Z",
            "local": "2026-03-09T02:30:00-04:00",
            "note": "02:30 does not exist on 2026-03-08: skipped",
        },
    ]


def test_a_job_that_only_people_start_has_no_ticks(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Its schedule is of the year 2199, because every schedule needs an expression."""
    fleet.add_job("migration", "at(2199-12-31T23:59:59)")
    [schedule] = [each for name, each in fleet.schedules.items() if name.startswith("migration")]
    target = schedule["Target"]
    target["Input"] = target["Input"].replace("<aws.scheduler.scheduled-time>", "")
    said = cronce("next", "migration")
    assert (said.code, said.err.count("\n")) == (64, 1)
    assert "only people start this one" in said.err


def test_the_document_says_what_was_read(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """The job, its schedule, the zone and what keeps the ticks from becoming runs."""
    document = json.loads(cronce("next", *NEW_YORK, "--count", "1", "--json").out)
    assert {name: value for name, value in document.items() if name != "ticks"} == {
        "job": None,
        "schedule": "cron(30 2 * * ? *)",
        "timezone": "America/New_York",
        "remark": None,
        "delay": None,
        "waiting": [],
    }
    fleet.add_job("daily-digest", State="DISABLED")
    document = json.loads(cronce("next", "daily-digest", "--json").out)
    assert (document["job"], document["schedule"]) == ("daily-digest", "cron(0 6 * * ? *)")
    assert "schedule is disabled" in document["remark"]


def test_the_table_says_it_in_words(cronce: Callable[..., Said]) -> None:
    """The schedule first, then one line per tick; UTC as in the period of its run."""
    said = cronce("next", *NEW_YORK, "--count", "3")
    assert said.code == 0
    assert said.out.splitlines()[0] == "at 02:30 every day, America/New_York"
    assert "2026-03-09T06:30:00Z   Mon 2026-03-09 02:30:00 EDT" in said.out
    assert said.out.count("does not exist") == 1


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_its_terminal(on_terminal: Callable[..., str], columns: int) -> None:
    """Its note breaks between words."""
    shown = without_colour(on_terminal("next", *NEW_YORK, columns=columns))
    assert max(len(line) for line in shown.splitlines()) <= columns
    assert "skipped" in shown


def test_five_fields_six_fields_and_macros_are_expressions(cronce: Callable[..., Said]) -> None:
    """And mean the same here."""
    since = ("--from", "2026-11-29", "--json")
    of_cron = ticks_of(cronce("next", "cron(0 0 * * ? *)", *since))
    assert ticks_of(cronce("next", "0 0 * * *", *since)) == of_cron == ticks_of(cronce("next", "@daily", *since))
    assert len(of_cron) == 5
    assert of_cron[0]["period"] == "2026-11-29T00:00:00Z"


def test_without_from_the_coming_ticks_are_listed(cronce: Callable[..., Said]) -> None:
    """From this moment on."""
    now = datetime.now(UTC)
    first = datetime.fromisoformat(ticks_of(cronce("next", "* * * * *", "--json"))[0]["period"])
    assert now - timedelta(minutes=1) < first - timedelta(minutes=1) <= datetime.now(UTC)


def test_a_rate_counts_from_from(cronce: Callable[..., Said]) -> None:
    """Without, from this second, which is its first tick."""
    found = ticks_of(cronce("next", "rate(90 minutes)", "--from", "2026-11-29T06:00:00Z", "--count", "2", "--json"))
    assert [tick["period"] for tick in found] == ["2026-11-29T06:00:00Z", "2026-11-29T07:30:00Z"]
    before = datetime.now(UTC).replace(microsecond=0)
    first = datetime.fromisoformat(ticks_of(cronce("next", "rate(5 minutes)", "--json"))[0]["period"])
    assert before <= first <= datetime.now(UTC)


def test_from_without_a_zone_is_read_in_the_schedules(cronce: Callable[..., Said]) -> None:
    """06:00 on the clocks of Berlin is a tick at 06:00 there."""
    options = ("--timezone", "Europe/Berlin", "--count", "1", "--json")
    for since in ("2026-11-29T06:00", "2026-11-29T05:00:00Z", "2026-11-29"):
        (tick,) = ticks_of(cronce("next", "0 6 * * *", *options, "--from", since))
        assert tick["period"] == "2026-11-29T05:00:00Z"


def test_a_schedule_that_is_over_says_so(cronce: Callable[..., Said]) -> None:
    """It is an answer, not an error."""
    over = ("next", "at(2026-01-01T06:00:00)")
    assert ticks_of(cronce(*over, "--json")) == []
    assert "No further ticks." in cronce(*over).out
    last = cronce("next", "cron(0 6 1,2 1 ? 2026)", "--from", "2026-01-01")
    assert last.out.splitlines()[-1] == "No ticks after that."


@pytest.mark.parametrize(
    ("expression", "field"),
    [
        ("cron(0 25 * * ? *)", "hours"),
        ("cron(60 6 * * ? *)", "minutes"),
        ("cron(0 6 31 2 ? *)", "day-of-month"),
        ("cron(34 12 * * SAT *)", "day-of-"),
        ("0 6 * * 8", "day-of-week"),
        ("rate(1 minutes)", "rate"),
        ("at(2026-13-01T00:00:00)", "at"),
        ("0 6 * *", "expression"),
        ("cron(0 6 * * ? *) x", "expression"),
    ],
)
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_invalid_expression_is_64_and_names_the_field(
    cronce: Callable[..., Said], expression: str, field: str, options: list[str]
) -> None:
    """On one line."""
    said = cronce("next", expression, *options)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith(f"cronce: {field}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["0 6 * * *", "--timezone", "Europe/Atlantis"],
        ["0 6 * * *", "--from", "yesterday"],
        ["0 6 * * *", "--timezone", "America/New_York", "--from", "0001-01-01T00:00:00Z"],
        ["0 6 * * *", "--timezone", "America/New_York", "--from", "0001-01-01"],
        ["0 6 * * *", "--timezone", "Asia/Tokyo", "--from", "9999-12-31T23:59:59Z"],
        ["rate(1 day)", "--from", "9999-12-31"],
        ["rate(1 day)", "--from", "9999-12-31T23:59:59-12:00"],
        ["0 6 * * *", "--count", "0"],
        ["0 6 * * *", "--count", "1001"],
        ["0 6 * * *", "--config", "clock.toml"],
        ["daily-digest", "--timezone", "UTC"],
        ["daily-digest", "--config", "no-such.toml"],
        [],
    ],
)
def test_bad_usage_is_one_line_and_64(cronce: Callable[..., Said], arguments: list[str]) -> None:
    """As for every command."""
    said = cronce("next", *arguments)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)


@pytest.mark.parametrize("since", ["0001-01-01", "9999-12-31", "9999-12-31T23:59:59Z"])
def test_a_date_at_the_end_of_the_calendar_is_refused_by_the_options_name(
    cronce: Callable[..., Said], since: str
) -> None:
    """With what is allowed."""
    said = cronce("next", "0 6 * * *", "--timezone", "America/New_York", "--from", since)
    assert (said.code, said.out) == (64, "")
    assert said.err.startswith("cronce: --from: ")
    assert "0001-01-02 to 9999-12-30" in said.err


def test_a_job_needs_to_be_found_somewhere(cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    """The message lists every way, including an expression."""
    monkeypatch.delenv("CRONCE_LEDGER")
    said = cronce("next", "hourly")
    assert (said.code, said.err.count("\n")) == (64, 1)
    for way in ("--ledger", "--schedule-group", "--config", "'0 6 * * *'"):
        assert way in said.err


@pytest.fixture
def no_zone_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A host like a slim image: no zone data of the system, no tzdata."""
    for name in ["tzdata", *(name for name in sys.modules if name.startswith("tzdata."))]:
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath(to=[])
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()
    zoneinfo.ZoneInfo.clear_cache()


@pytest.mark.usefixtures("no_zone_data")
def test_missing_zone_data_is_an_error_and_never_utc_in_silence(cronce: Callable[..., Said]) -> None:
    """It says what to install; UTC itself needs none."""
    said = cronce("next", "0 6 * * *", "--timezone", "Europe/Berlin")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith("cronce: --timezone: 'Europe/Berlin'")
    assert "tzdata" in said.err
    assert cronce("next", "0 6 * * *").code == 0


def test_a_job_of_the_group_is_listed_as_its_schedule_says(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Zone, start and end are the schedule's own."""
    end = datetime(2026, 12, 3, 5, tzinfo=UTC)
    fleet.add_job("daily-digest", StartDate=datetime(2026, 12, 1, tzinfo=UTC), EndDate=end)
    said = cronce("next", "daily-digest", "--from", "2026-11-01", "--json")
    assert [tick["local"] for tick in ticks_of(said)] == ["2026-12-01T06:00:00+01:00", "2026-12-02T06:00:00+01:00"]
    assert cronce("next", "daily-digest").out.startswith("daily-digest: at 06:00 every day, Europe/Berlin\n")


@pytest.mark.parametrize(
    ("policy", "state", "remark"),
    [
        (Policy(), "DISABLED", "schedule is disabled"),
        (Policy(suspend=True), "ENABLED", "is suspended"),
        (Policy(), "ENABLED", ""),
    ],
)
def test_ticks_that_become_no_runs_are_remarked(
    fleet: Fleet, cronce: Callable[..., Said], policy: Policy, state: str, remark: str
) -> None:
    """In the table and in the document."""
    fleet.add_job("daily-digest", policy=policy, State=state)
    assert remark in cronce("next", "daily-digest").out
    said = cronce("next", "daily-digest", "--json")
    assert len(json.loads(said.out)["ticks"]) == 5
    assert remark in (json.loads(said.out)["remark"] or "")
    assert said.err == ""


def test_a_rate_without_a_start_is_refused(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """EventBridge counts it from an instant that it does not publish."""
    fleet.add_job("poll", "rate(5 minutes)")
    said = cronce("next", "poll")
    assert (said.code, said.err.count("\n")) == (64, 1)
    assert "StartDate" in said.err


def test_an_unknown_job_is_a_problem_and_the_near_ones_are_named(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Exit code 1."""
    fleet.add_job("daily-digest")
    said = cronce("next", "daily-digst")
    assert (said.code, said.out, said.err.count("\n")) == (1, "", 1)
    assert "there is daily-digest" in said.err


def test_a_group_that_is_not_there_is_69(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """Like a ledger that cannot be used."""
    assert fleet.schedules == {}
    said = cronce("next", "daily-digest", "--schedule-group", "nope")
    assert (said.code, said.out, said.err.count("\n")) == (69, "", 1)
    assert "nope does not exist" in said.err


CLOCK = """
[jobs.tick]
every = "10s"
target = { command = ["true"] }

[jobs.digest]
schedule = "30 2 * * *"
timezone = "America/New_York"
target = { sqs = "https://sqs.eu-west-1.amazonaws.com/123456789012/digest.fifo" }
"""


def test_jobs_of_a_clock_are_listed_too(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Also those that are due every few seconds, at whole multiples."""
    config = tmp_path / "clock.toml"
    config.write_text(CLOCK)
    options = ("--config", str(config), "--from", "2026-03-08", "--json")
    assert [tick["period"] for tick in ticks_of(cronce("next", "tick", *options, "--count", "3"))] == [
        "2026-03-08T00:00:00Z",
        "2026-03-08T00:00:10Z",
        "2026-03-08T00:00:20Z",
    ]
    assert ticks_of(cronce("next", "digest", *options))[0]["period"] == "2026-03-09T06:30:00Z"
    assert "tick: every 10s" in cronce("next", "tick", "--config", str(config)).out
    unknown = cronce("next", "tock", "--config", str(config))
    assert (unknown.code, unknown.err.count("\n")) == (64, 1)
    assert "tick, digest" in unknown.err


def test_the_delay_of_a_jitter_is_stated_and_the_periods_stay(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """The delay that the clock adds, in the table and in the document."""
    config = tmp_path / "clock.toml"
    text = '[jobs.digest]\nschedule = "0 6 * * *"\nJITTERtarget = { command = ["true"] }\n'
    options = ("next", "digest", "--config", str(config), "--from", "2026-11-29", "--count", "1")
    config.write_text(text.replace("JITTER", ""))
    plain = json.loads(cronce(*options, "--json").out)
    config.write_text(text.replace("JITTER", 'jitter = "2m"\n'))
    (job,) = config_from_file(str(config), what="--config")
    document = json.loads(cronce(*options, "--json").out)
    assert (plain["delay"], document["delay"]) == (None, format_duration(job.delay))
    assert document["ticks"] == plain["ticks"]
    assert f"Each is sent {document['delay']} later" in cronce(*options).out


def test_a_job_whose_period_is_the_day_has_it_as_the_period(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """The local day, as its run is called in the ledger."""
    config = tmp_path / "clock.toml"
    config.write_text(
        '[jobs.digest]\nschedule = "30 0 * * *"\ntimezone = "Europe/Berlin"\nperiod = "date"\n'
        'target = { command = ["true"] }\n'
    )
    options = ("--config", str(config), "--from", "2026-11-29", "--count", "1")
    (tick,) = ticks_of(cronce("next", "digest", *options, "--json"))
    assert (tick["period"], tick["local"]) == ("2026-11-29", "2026-11-29T00:30:00+01:00")
    table = cronce("next", "digest", *options).out
    assert "2026-11-28T23:30:00Z   2026-11-29   Sun 2026-11-29 00:30:00 CET" in table


def test_a_configuration_that_cannot_be_read_is_64(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """A folder, bytes, and what is no TOML."""
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "wrong.toml").write_text("[jobs")
    for name in ("", "bytes.toml", "wrong.toml"):
        said = cronce("next", "tick", "--config", str(tmp_path / name))
        assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)


def test_the_periods_of_a_job_may_be_days(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """05:00 in UTC is 06:00 in Berlin, and 23:00 in UTC the next day there."""
    fleet.add_job("daily-digest", "cron(0 0 * * ? *)", date_in="Europe/Berlin")
    ticks = ticks_of(cronce("next", "daily-digest", "--from", "2026-11-29", "--count", "2", "--json"))
    assert [tick["period"] for tick in ticks] == ["2026-11-29", "2026-11-30"]
    assert ticks[0]["local"] == "2026-11-29T00:00:00+01:00"


def one_shot(job: str, period: str, at: str) -> dict[str, object]:
    """A retry that the recorder arranged."""
    variables = {"CRONCE_JOB": job, "CRONCE_PERIOD": period, "CRONCE_TRIGGER": "retry"}
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "Name": one_shot_name(job, period, attempt=2, launch=1),
        "ScheduleExpression": f"at({at})",
        "Target": {"Input": json.dumps({"containerOverrides": [{"name": "digest", "environment": environment}]})},
    }


def test_a_retry_that_waits_is_shown_with_its_time(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """By `next` for the job, and by `show` for the run; the retry of another job or run is not."""
    period, other = "2026-11-28T05:00:00Z", "2026-11-27T05:00:00Z"
    fleet.add_job("daily-digest")
    for waiting in (
        one_shot("daily-digest", period, "2199-01-01T05:13:00"),
        one_shot("another", period, "2199-01-01T05:14:00"),
    ):
        fleet.schedules[str(waiting["Name"])] = waiting
    failed = {"status": Status.FAILED, "reason": Reason.EXIT_CODE, "exit_code": 3}
    ledger_file.put(run(period=period, **failed), run(period=other, **failed))
    document = json.loads(cronce("next", "daily-digest", "--json").out)
    assert document["waiting"] == [{"period": period, "trigger": "retry", "starts_at": "2199-01-01T05:13:00Z"}]
    assert f"Also {period} (retry), at 2199-01-01T05:13:00Z." in cronce("next", "daily-digest").out
    shown = " ".join(cronce("show", "daily-digest", period).out.split())
    assert "A machine starts its next task at 2199-01-01T05:13:00Z" in shown
    assert "next task at" not in cronce("show", "daily-digest", other).out
    assert json.loads(cronce("next", "0 6 * * *", "--json").out)["waiting"] == []


@pytest.mark.parametrize("words", [["0", "6", "*", "*", "*"], ["daily-digest", "weekly-digest"]])
def test_an_expression_without_quotes_is_answered_with_the_quotes(
    cronce: Callable[..., Said], words: list[str]
) -> None:
    """The shell made several words of it, and file names of the stars."""
    said = cronce("next", *words)
    assert (said.code, said.out) == (64, "")
    assert "Quote an EXPRESSION: cronce next '0 6 * * *'" in said.err
