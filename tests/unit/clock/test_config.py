"""What a clock is asked to do: every setting, and every way to get one wrong."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.clock.agenda import to_checkpoint
from cronce.clock.config import (
    MOST_JOBS,
    ClockJob,
    CommandTarget,
    EventTarget,
    LambdaTarget,
    SqsTarget,
    Target,
    TaskTarget,
    config_from_file,
    config_from_json,
    config_from_toml,
    parse_config,
)
from cronce.schedule import Every
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.payloads import encode_checkpoint
from cronce.vocabulary.policy import CatchUp

if TYPE_CHECKING:
    from pathlib import Path

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/ticks.fifo"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:digest"

TOML = f"""
[jobs.daily-digest]
schedule = "0 6 * * *"
timezone = "Europe/Berlin"
starting_deadline = "10m"
catch_up = "latest"
timeout = 5
backoff_limit = 1
target = {{ sqs = "{QUEUE}" }}

[jobs.beat]
every = "10s"
target = {{ command = ["./enqueue", "{{period}}"] }}
"""


def fields(**changes: Any) -> dict[str, Any]:  # noqa: ANN401  # of several types
    """A document with one good job; None takes a field away."""
    good: dict[str, Any] = {"every": "10s", "target": {"command": ["true"]}}
    return {"jobs": {"beat": {name: value for name, value in (good | changes).items() if value is not None}}}


def only(document: object) -> ClockJob:
    """The one job of the document."""
    (job,) = parse_config(document, what="CRONCE_CLOCK")
    return job


def test_a_toml_document_says_everything() -> None:
    """Each field, and the default of each."""
    digest, beat = config_from_toml(TOML, what="clock.toml")
    assert digest.timetable is not None
    assert (digest.name, digest.timetable.describe()) == ("daily-digest", "at 06:00 every day, Europe/Berlin")
    assert digest.target == SqsTarget(url=QUEUE)
    assert (digest.starting_deadline, digest.catch_up) == (timedelta(minutes=10), CatchUp.LATEST)
    assert (digest.timeout, digest.backoff_limit) == (timedelta(seconds=5), 1)
    assert beat == ClockJob(
        name="beat",
        timetable=Every(timedelta(seconds=10)),
        target=CommandTarget(arguments=("./enqueue", "{period}")),
        starting_deadline=timedelta(minutes=5),
        catch_up=CatchUp.NONE,
        timeout=timedelta(seconds=10),
        backoff_limit=3,
    )


def test_a_jitter_is_a_delay_that_follows_from_the_name() -> None:
    """The same at each tick and on each clock; every delay from none to all of it occurs."""
    target = {"command": ["true"]}
    named = {f"job-{n}": {"every": "1m", "jitter": "5s", "target": target} for n in range(100)}
    jobs = parse_config({"jobs": named}, what="X")
    assert jobs == parse_config({"jobs": named}, what="X")
    assert {job.delay for job in jobs} == {timedelta(seconds=n) for n in range(6)}
    assert only(fields(every="1m", jitter="59s")).jitter == timedelta(seconds=59)
    assert only(fields()).delay == timedelta(0)


def test_json_says_the_same_as_toml() -> None:
    """The environment's form."""
    import tomllib  # noqa: PLC0415

    assert config_from_json(json.dumps(tomllib.loads(TOML)), what="X") == config_from_toml(TOML, what="X")


@pytest.mark.parametrize(
    ("target", "parsed", "words"),
    [
        ({"sqs": QUEUE}, SqsTarget(url=QUEUE), f"message to {QUEUE}"),
        ({"task": "daily-digest"}, TaskTarget(job="daily-digest"), "task of the job daily-digest"),
        ({"lambda": FUNCTION}, LambdaTarget(function=FUNCTION), f"invocation of {FUNCTION}"),
        ({"lambda": "digest:live"}, LambdaTarget(function="digest:live"), "invocation of digest:live"),
        (
            {"event": {"source": "shop", "detail_type": "Digest Due"}},
            EventTarget(bus="default", source="shop", detail_type="Digest Due"),
            "event 'Digest Due' of shop on default",
        ),
        ({"command": ["a", "{period}"]}, CommandTarget(arguments=("a", "{period}")), "command a {period}"),
    ],
)
def test_a_target_of_each_kind(target: object, parsed: Target, words: str) -> None:
    """And what it is called for people."""
    job = only(fields(target=target))
    assert job.target == parsed
    assert str(job.target) == words


@pytest.mark.parametrize(
    ("every", "schedule", "first"),
    [
        ("10s", None, "2026-11-29T06:00:10"),
        (90, None, "2026-11-29T06:01:30"),
        ("366d", None, "2027-02-13T00:00:00"),
        (None, "rate(7 minutes)", "2026-11-29T06:03:00"),
        (None, "cron(5 6 * * ? *)", "2026-11-29T06:05:00"),
        (None, "@hourly", "2026-11-29T07:00:00"),
        (None, "at(2026-12-01T00:00:00)", "2026-12-01T00:00:00"),
        (None, ["0 9 * * 0", "0 6 * * 1-5"], "2026-11-29T09:00:00"),
        (None, ("0 6 * * 1-5",), "2026-11-30T06:00:00"),
        (None, "0 6 * * 1-5; 0 9 * * 0", "2026-11-29T09:00:00"),
    ],
)
def test_a_timetable_of_each_kind(every: object, schedule: object, first: str) -> None:
    """`every` and `rate` count from 1970: the same ticks wherever the clock was started."""
    job = only(fields(every=every, schedule=schedule))
    assert job.timetable is not None
    tick = job.timetable.next(datetime(2026, 11, 29, 6, tzinfo=UTC))
    assert tick == datetime.fromisoformat(first).replace(tzinfo=UTC)


def test_a_job_without_a_timetable_is_one_that_only_people_start() -> None:
    """Neither `schedule` nor `every`, or null in JSON."""
    for document in (fields(every=None), {"jobs": {"beat": fields()["jobs"]["beat"] | {"every": None}}}):
        job = only(document)
        assert (job.timetable, job.when, job.suspend) == (None, "", False)


def test_a_period_is_the_time_of_its_tick_or_its_local_day() -> None:
    """23:30 in New York is the next day in UTC."""
    tick = datetime(2026, 11, 30, 4, 30, tzinfo=UTC)
    daily = {"every": None, "schedule": "30 23 * * *", "timezone": "America/New_York"}
    assert only(fields(**daily)).period(tick) == "2026-11-30T04:30:00Z"
    assert only(fields(**daily, period="time")).period(tick) == "2026-11-30T04:30:00Z"
    assert only(fields(**daily, period="date")).period(tick) == "2026-11-29"


@pytest.mark.parametrize(
    ("document", "where", "allowed"),
    [
        ([], "CRONCE_CLOCK", '"jobs"'),
        ({}, "CRONCE_CLOCK: jobs", "1 to 200 jobs"),
        ({"jobs": {}}, "CRONCE_CLOCK: jobs", "1 to 200 jobs"),
        ({"jobs": {}, "lease": "60s"}, "CRONCE_CLOCK", "nothing else"),
        ({"jobs": {f"j{n}": {} for n in range(MOST_JOBS + 1)}}, "CRONCE_CLOCK: jobs", "1 to 200 jobs"),
        ({"jobs": {"": {}}}, "CRONCE_CLOCK: jobs", "1 to 100 visible"),
        ({"jobs": {"a:b": {}}}, "CRONCE_CLOCK: jobs", "none of :"),
        ({"jobs": {"a b": {}}}, "CRONCE_CLOCK: jobs", "visible"),
        ({"jobs": {'a"b': {}}}, "CRONCE_CLOCK: jobs", "none of"),
        ({"jobs": {"grüße": {}}}, "CRONCE_CLOCK: jobs", "ASCII"),
        ({"jobs": {"a" * 101: {}}}, "CRONCE_CLOCK: jobs", "1 to 100"),
        ({"jobs": {"beat": "10s"}}, "jobs.beat", "schedule, every"),
        (fields(evry="10s"), "jobs.beat", "schedule, every"),
        (fields(schedule="0 6 * * *"), "jobs.beat", "one of them, or neither"),
        (fields(every=None, timezone="UTC"), "jobs.beat.timezone", "no timezone without schedule"),
        (fields(suspend="no"), "jobs.beat.suspend", "true or false"),
        (fields(suspend=0), "jobs.beat.suspend", "true or false"),
        (fields(period="day"), "jobs.beat.period", "time, date"),
        (fields(period=1), "jobs.beat.period", "time, date"),
        (fields(period="date"), "jobs.beat.period", "at most one tick per day"),
        (fields(every=None, schedule="0 6,18 * * *", period="date"), "jobs.beat.period", "at most one tick per day"),
        (
            fields(every=None, schedule="TZ=Europe/Berlin 0 6 * * *"),
            "schedule (expression)",
            "timezone='Europe/Berlin'",
        ),
        (fields(jitter="500ms"), "jobs.beat.jitter", "1s to 366d"),
        (fields(jitter="1.5s"), "jobs.beat.jitter", "whole seconds"),
        (fields(jitter=["1s"]), "jobs.beat.jitter", "2h"),
        (fields(jitter="10s"), "jobs.beat.jitter", "less than the time between two ticks, 10s"),
        (fields(every="1h", jitter="5m"), "jobs.beat.jitter", "less than the starting_deadline, 5m"),
        (fields(every=None, schedule="0,1 6 * * *", jitter="1m"), "jobs.beat.jitter", "between two ticks, 1m"),
        (fields(every=None, jitter="1s"), "jobs.beat.jitter", "only people start"),
        (fields(alert_without_success_for="59s"), "jobs.beat.alert_without_success_for", "1m to 366d, or 0 for never"),
        (fields(alert_without_success_for="90.5s"), "jobs.beat.alert_without_success_for", "whole seconds"),
        (fields(alert_without_success_for="367d"), "jobs.beat.alert_without_success_for", "at most 366d"),
        (fields(alert_without_success_for=True), "jobs.beat.alert_without_success_for", "seconds"),
        (fields(every="500ms"), "jobs.beat.every", "1s to 366d"),
        (fields(every="1.5s"), "jobs.beat.every", "whole seconds"),
        (fields(every="367d"), "jobs.beat.every", "at most 366d"),
        (fields(every="soon"), "jobs.beat.every", "seconds"),
        (fields(every=True), "jobs.beat.every", "seconds"),
        (fields(timezone="UTC"), "jobs.beat.timezone", "no timezone without schedule"),
        (fields(every=None, schedule="0 6 * *"), "jobs.beat.schedule (expression)", "five fields"),
        (fields(every=None, schedule="61 6 * * *"), "jobs.beat.schedule (minutes)", "0"),
        (fields(every=None, schedule=6), "jobs.beat.schedule (expression)", "cron"),
        (fields(every=None, schedule="0 6 * * *", timezone="Berlin"), "jobs.beat.timezone", "Europe/Berlin"),
        (fields(every=None, schedule="rate(1 minute)", timezone="UTC"), "jobs.beat.timezone", "with a rate"),
        (fields(starting_deadline="0s"), "jobs.beat.starting_deadline", "1s to 366d"),
        (fields(catch_up="SOME"), "jobs.beat.catch_up", "NONE, LATEST, ALL"),
        (fields(catch_up=1), "jobs.beat.catch_up", "NONE, LATEST, ALL"),
        (fields(timeout="999ms"), "jobs.beat.timeout", "1s to 5m"),
        (fields(timeout="301s"), "jobs.beat.timeout", "1s to 5m"),
        (fields(backoff_limit=-1), "jobs.beat.backoff_limit", "0 to 10"),
        (fields(backoff_limit=11), "jobs.beat.backoff_limit", "0 to 10"),
        (fields(backoff_limit=True), "jobs.beat.backoff_limit", "0 to 10"),
        (fields(backoff_limit="3"), "jobs.beat.backoff_limit", "0 to 10"),
        (fields(target=None), "jobs.beat.target", "exactly one of sqs, task, lambda, event, command"),
        (fields(target={}), "jobs.beat.target", "exactly one of"),
        (fields(target={"sqs": QUEUE, "task": "x"}), "jobs.beat.target", "exactly one of"),
        (fields(target={"sns": "x"}), "jobs.beat.target", "exactly one of"),
        (fields(target={"sqs": "ticks.fifo"}), "jobs.beat.target.sqs", "URL of an SQS queue"),
        (fields(target={"task": ""}), "jobs.beat.target.task", "printable"),
        (fields(target={"lambda": "arn:aws:lambda:x"}), "jobs.beat.target.lambda", "ARN"),
        (fields(target={"event": {"source": "shop"}}), "jobs.beat.target.event.detail_type", "1 to 128"),
        (fields(target={"event": {"detail_type": "x"}}), "jobs.beat.target.event.source", "1 to 256"),
        (fields(target={"event": {"source": "aws.ec2", "detail_type": "x"}}), "event.source", "reserved"),
        (fields(target={"event": {"source": "s", "detail_type": "x", "bus": "a b"}}), "event.bus", "event bus"),
        (fields(target={"event": {"name": "x"}}), "jobs.beat.target.event", "bus, source, detail_type"),
        (fields(target={"command": []}), "jobs.beat.target.command", "the command and its arguments"),
        (fields(target={"command": [""]}), "jobs.beat.target.command", "the command"),
        (fields(target={"command": "true"}), "jobs.beat.target.command", "the command"),
        (fields(target={"command": ["a", 1]}), "jobs.beat.target.command", "the command"),
        (fields(target={"command": ["a\0"]}), "jobs.beat.target.command", "the command"),
    ],
)
def test_a_bad_value_is_one_error_that_says_where_and_what_is_allowed(document: Any, where: str, allowed: str) -> None:  # noqa: ANN401  # anything
    """The giver's name for the document comes first."""
    with pytest.raises(InputInvalidError) as caught:
        parse_config(document, what="CRONCE_CLOCK")
    assert caught.value.what.startswith("CRONCE_CLOCK")
    assert where in caught.value.what
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("text", ["jobs = ", "[jobs.a]\nx = 1\nx = 2", "jobs = 1"])
def test_a_bad_toml_document_is_one_error(text: str) -> None:
    """It names the file, and where TOML itself is broken the line."""
    with pytest.raises(InputInvalidError, match=r"clock\.toml"):
        config_from_toml(text, what="clock.toml")


@pytest.mark.parametrize("text", ["{", "[]", '{"jobs": {"a": {}, "a": {}}}', "[" * 100_000])
def test_a_bad_json_document_is_one_error(text: str) -> None:
    """A name that occurs twice is an error too: it is not clear which one is meant."""
    with pytest.raises(InputInvalidError, match="CRONCE_CLOCK"):
        config_from_json(text, what="CRONCE_CLOCK")


def test_the_cursors_of_as_many_jobs_as_may_be_fit_into_a_checkpoint() -> None:
    """The longest names, none of whose characters takes more than its byte."""
    names = [chr(33 + n % 90) * 96 + f"{n:04}" for n in range(4 * MOST_JOBS)]
    good = [name for name in names if not set(name) & set(':"\\')][:MOST_JOBS]
    document = {"jobs": {name: {"every": "1s", "target": {"task": "x"}} for name in good}}
    jobs = parse_config(document, what="X")
    assert len(jobs) == MOST_JOBS
    now = datetime(2199, 12, 31, tzinfo=UTC)
    assert encode_checkpoint(to_checkpoint(dict.fromkeys(jobs, now)))


def test_a_file_is_read_as_editors_write_it(tmp_path: Path) -> None:
    """With the mark at its start and the line ends of Windows."""
    file = tmp_path / "clock.toml"
    file.write_bytes(b"\xef\xbb\xbf" + TOML.replace("\n", "\r\n").encode())
    assert config_from_file(str(file), what="--config") == config_from_toml(TOML, what="x")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a = " + b"[" * 100_000, "a TOML document"),
        (b"#" * 1_000_001, "at most 1000000 bytes"),
        (b"# \xe9", "it is not UTF-8"),
        (b"\0", "a TOML document"),
    ],
)
def test_a_file_of_anything_else_is_refused_in_words(tmp_path: Path, content: bytes, says: str) -> None:
    """Whatever it holds, and however much."""
    file = tmp_path / "clock.toml"
    file.write_bytes(content)
    with pytest.raises(InputInvalidError, match=says):
        config_from_file(str(file), what="--config")


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    """Opening it would wait, and nobody could stop the process by a signal meanwhile."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputInvalidError, match=r"--config.*no regular file"):
        config_from_file(str(tmp_path / "pipe"), what="--config")


@pytest.mark.parametrize("file", ["/dev/zero", "/", "/no/such", "a\0b", ""])
def test_what_is_no_file_is_refused_in_words(file: str) -> None:
    """A device without an end too."""
    with pytest.raises(InputInvalidError, match="--config"):
        config_from_file(file, what="--config")
