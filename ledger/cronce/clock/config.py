"""A clock's configuration: parses TOML or JSON into jobs and checks each value. The reference is docs/clock.md."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from cronce.schedule import Every, Kind, PeriodForm, ScheduleInvalidError, Timetable, joined, parse
from cronce.vocabulary.durations import format_duration, parse_duration
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.names import checked_job
from cronce.vocabulary.policy import CatchUp

MOST_JOBS = 200
"""The cursors of this many jobs fit into a checkpoint (32 KB)."""

SEPARATOR = ":"
"""Separates the clock's name from the job's in the ledger. Neither name may contain it."""

STARTING_DEADLINE = timedelta(minutes=5)
TIMEOUT = timedelta(seconds=10)
BACKOFF_LIMIT = 3

_MOST_BYTES = 1_000_000
"""Bytes of a configuration that are read. What is larger is another file, or one without an end."""

_FIELDS = (
    "schedule",
    "every",
    "timezone",
    "period",
    "suspend",
    "starting_deadline",
    "jitter",
    "catch_up",
    "alert_without_success_for",
    "timeout",
    "backoff_limit",
    "target",
)
_ONE_SECOND = timedelta(seconds=1)
_LONGEST = timedelta(days=366)
_LONGEST_TIMEOUT = timedelta(minutes=5)
_LEAST_PATIENCE = timedelta(minutes=1)
_MOST_RETRIES = 10
_TICKS_COMPARED = 30
_RATES_COUNT_FROM = datetime(1970, 1, 1, tzinfo=UTC)

_NAME = re.compile(r"[!#-9;-\[\]-~]{1,100}")
_NAME_ALLOWED = """1 to 100 visible ASCII characters, none of : " \\"""
_QUEUE_URL = re.compile(r"https?://[!-~]+/[A-Za-z0-9_-]{1,80}(\.fifo)?")
_FUNCTION = re.compile(
    r"(arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[A-Za-z0-9_-]{1,140}(:[A-Za-z0-9$_-]{1,128})?"
)
_BUS = re.compile(r"(arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/)?[A-Za-z0-9/_.-]{1,256}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqsTarget:
    """A message to a queue. On a FIFO queue the tick is its deduplication id."""

    url: str

    def __str__(self) -> str:
        return f"message to {self.url}"

    @property
    def fifo(self) -> bool:
        """True for a FIFO queue."""
        return self.url.endswith(".fifo")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTarget:
    """A task of a job, as an EventBridge schedule in the ledger's group defines it."""

    job: str

    def __str__(self) -> str:
        return f"task of the job {self.job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaTarget:
    """An asynchronous invocation of a Lambda function."""

    function: str

    def __str__(self) -> str:
        return f"invocation of {self.function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTarget:
    """An event on an EventBridge bus."""

    bus: str
    source: str
    detail_type: str

    def __str__(self) -> str:
        return f"event {self.detail_type!r} of {self.source} on {self.bus}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTarget:
    """A short command on this host, which enqueues the work."""

    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"command {' '.join(self.arguments)}"


Target = SqsTarget | TaskTarget | LambdaTarget | EventTarget | CommandTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockJob:
    """One job of a clock.

    Attributes:
        name: Its name. Its rows in the ledger are those of `<clock>:<name>`.
        timetable: When it is due; None for a job that only people start.
        target: What is called for a tick.
        period_form: What the period of a tick's run is.
        suspend: True to record each tick as skipped and call nothing.
        starting_deadline: A tick younger than this is always dispatched; an older one by `catch_up`.
        jitter: A tick is dispatched up to this much after its time, always the same: see `delay`.
        catch_up: Which older ticks are dispatched.
        alert_without_success_for: How long it may be without a success before `cronce watchdog` reports that; zero for
            no limit, None for the default, which follows from its ticks.
        timeout: How long one try of a dispatch may take.
        backoff_limit: How many times a failed try is repeated.
    """

    name: str
    timetable: Timetable | None
    target: Target
    period_form: PeriodForm = PeriodForm.TIME
    suspend: bool = False
    starting_deadline: timedelta = STARTING_DEADLINE
    jitter: timedelta = timedelta(0)
    catch_up: CatchUp = CatchUp.NONE
    alert_without_success_for: timedelta | None = None
    timeout: timedelta = TIMEOUT
    backoff_limit: int = BACKOFF_LIMIT

    @property
    def started(self) -> str:
        """The name of the job in the ledger whose runs the target starts; a pause of that job holds its ticks back."""
        return self.target.job if isinstance(self.target, TaskTarget) else self.name

    @property
    def when(self) -> str:
        """The timetable as text. Two jobs with the same text are due at the same times."""
        return "" if self.timetable is None else self.timetable.spelling

    @property
    def delay(self) -> timedelta:
        """How long after its time a tick is dispatched: whole seconds up to `jitter`, by a hash of the job's name.

        Every clock computes the same, so the jobs of one minute are spread and each keeps its place.
        """
        digest = hashlib.sha256(self.name.encode()).digest()
        return _ONE_SECOND * (int.from_bytes(digest[:8]) % (self.jitter // _ONE_SECOND + 1))

    def period(self, tick: datetime) -> str:
        """The period of the run of this tick, whatever its delay."""
        return self.period_form.period(tick, "UTC" if self.timetable is None else self.timetable.timezone)


def config_from_toml(text: str, *, what: str) -> tuple[ClockJob, ...]:
    """The jobs of a TOML document.

    Raises:
        InputInvalidError: It is not TOML, or a value is invalid; the error names the value and what is allowed.
    """
    import tomllib  # noqa: PLC0415  # not needed with a configuration in the environment

    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputInvalidError(what, Found(error), "a TOML document") from None
    return parse_config(given, what=what)


def config_from_file(file: str, *, what: str) -> tuple[ClockJob, ...]:
    """The jobs of a TOML file.

    Args:
        file: Its path. A pipe, whose opening waits for a writer, and a device, which may never end, are refused.
        what: The option that named it.

    Raises:
        InputInvalidError: It cannot be read, is larger than 1 MB, is not TOML, or a value is invalid.
    """
    try:
        if not stat.S_ISREG(Path(file).stat().st_mode):
            raise InputInvalidError(what, file, "a TOML file; this is no regular file")
        with Path(file).open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputInvalidError(what, file, f"a TOML file that can be read ({why})") from None
    if len(data) > _MOST_BYTES:
        raise InputInvalidError(what, file, f"a TOML file of at most {_MOST_BYTES} bytes")
    return config_from_toml(text, what=file)


def config_from_json(text: str, *, what: str) -> tuple[ClockJob, ...]:
    """The jobs of a JSON document.

    Raises:
        InputInvalidError: It is not JSON, or a value is invalid; the error names the value and what is allowed.
    """
    try:
        given = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise InputInvalidError(what, Found(error), "a JSON object, each name once") from None
    return parse_config(given, what=what)


def parse_config(given: object, *, what: str) -> tuple[ClockJob, ...]:
    """The jobs in a mapping, in its order.

    Args:
        given: `{"jobs": {NAME: {...}}}`, as in a TOML or JSON document.
        what: Its name in errors: the file, or `CRONCE_CLOCK`.

    Raises:
        InputInvalidError: A value is invalid; the error names the value, its place and what is allowed.
    """
    document = _mapping(given, what, 'the table "jobs"')
    for name in document:
        if name != "jobs":
            raise InputInvalidError(what, name, '"jobs" and nothing else')
    jobs = _mapping(document.get("jobs"), f"{what}: jobs", f"1 to {MOST_JOBS} jobs by their names")
    if not 1 <= len(jobs) <= MOST_JOBS:
        raise InputInvalidError(f"{what}: jobs", f"{len(jobs)} jobs", f"1 to {MOST_JOBS} jobs by their names")
    return tuple(_job(name, fields, f"{what}: jobs") for name, fields in jobs.items())


def _job(name: str, given: object, where: str) -> ClockJob:
    if not _NAME.fullmatch(name):
        raise InputInvalidError(where, name, _NAME_ALLOWED)
    where = f"{where}.{name}"
    fields = _mapping(given, where, ", ".join(_FIELDS))
    for field in fields:
        if field not in _FIELDS:
            raise InputInvalidError(where, field, ", ".join(_FIELDS))
    catch_up = fields.get("catch_up", CatchUp.NONE)
    if not isinstance(catch_up, str) or catch_up.upper() not in CatchUp.__members__:
        raise InputInvalidError(f"{where}.catch_up", catch_up, ", ".join(CatchUp))
    retries = fields.get("backoff_limit", BACKOFF_LIMIT)
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 <= retries <= _MOST_RETRIES:
        raise InputInvalidError(f"{where}.backoff_limit", retries, f"a whole number from 0 to {_MOST_RETRIES}")

    def duration(field: str, default: timedelta, longest: timedelta) -> timedelta:
        return _duration(fields.get(field, default), f"{where}.{field}", longest)

    suspend = fields.get("suspend", False)
    if not isinstance(suspend, bool):
        raise InputInvalidError(f"{where}.suspend", suspend, "true or false")
    timetable = _timetable(fields, where)
    deadline = duration("starting_deadline", STARTING_DEADLINE, _LONGEST)
    return ClockJob(
        name=name,
        timetable=timetable,
        period_form=_period_form(fields, timetable, where),
        suspend=suspend,
        target=_target(fields.get("target"), f"{where}.target"),
        starting_deadline=deadline,
        jitter=_jitter(fields.get("jitter"), timetable, deadline, f"{where}.jitter"),
        catch_up=CatchUp[catch_up.upper()],
        alert_without_success_for=_patience(fields, f"{where}.alert_without_success_for"),
        timeout=duration("timeout", TIMEOUT, _LONGEST_TIMEOUT),
        backoff_limit=retries,
    )


def _timetable(fields: Mapping[str, object], where: str) -> Timetable | None:
    expression, interval = fields.get("schedule"), fields.get("every")
    if expression is not None and interval is not None:
        raise InputInvalidError(
            where,
            Found("schedule and every"),
            "one of them, or neither for a job that only people start",
        )
    if expression is None and "timezone" in fields:
        allowed = "no timezone without schedule: the ticks of every are multiples since 1970-01-01T00:00Z"
        raise InputInvalidError(f"{where}.timezone", fields["timezone"], allowed)
    if interval is not None:
        return Every(_whole_seconds(interval, f"{where}.every"))
    if expression is None:
        return None
    zone = fields.get("timezone", "UTC")
    try:
        text = joined(expression) if isinstance(expression, list | tuple) else expression
        schedule = parse(text, timezone=zone, start=_RATES_COUNT_FROM)  # type: ignore[arg-type]  # it checks them
    except ScheduleInvalidError as error:
        field = "timezone" if error.field == "timezone" else f"schedule ({error.field})"
        raise InputInvalidError(f"{where}.{field}", error.value, error.allowed) from None
    if schedule.kind is Kind.RATE and "timezone" in fields:
        allowed = "no timezone with a rate: its ticks count from 1970-01-01T00:00Z"
        raise InputInvalidError(f"{where}.timezone", zone, allowed)
    return schedule


def _whole_seconds(value: object, where: str) -> timedelta:
    interval = _duration(value, where, _LONGEST)
    if interval % _ONE_SECOND:
        raise InputInvalidError(where, value, "whole seconds")
    return interval


def _patience(fields: Mapping[str, object], where: str) -> timedelta | None:
    given = fields.get("alert_without_success_for")
    if given is None:
        return None
    patience = parse_duration(given, what=where)
    if patience % _ONE_SECOND or (patience and patience < _LEAST_PATIENCE):
        raise InputInvalidError(where, given, "whole seconds, 1m to 366d, or 0 for never")
    return patience


def _jitter(given: object, timetable: Timetable | None, deadline: timedelta, where: str) -> timedelta:
    """The jitter; shorter than the starting deadline, and than the time between two ticks, which would pile up."""
    if given is None:
        return timedelta(0)
    jitter = _whole_seconds(given, where)
    if timetable is None:
        raise InputInvalidError(where, given, "no jitter for a job that only people start")
    if jitter >= deadline:
        raise InputInvalidError(where, given, f"less than the starting_deadline, {format_duration(deadline)}")
    ticks = [_RATES_COUNT_FROM]
    while len(ticks) < _TICKS_COMPARED and (tick := timetable.next(ticks[-1])):
        ticks.append(tick)
    interval = min((later - earlier for earlier, later in pairwise(ticks[1:])), default=None)
    if interval is not None and jitter >= interval:
        raise InputInvalidError(where, given, f"less than the time between two ticks, {format_duration(interval)}")
    return jitter


def _period_form(fields: Mapping[str, object], timetable: Timetable | None, where: str) -> PeriodForm:
    given = fields.get("period", PeriodForm.TIME)
    if not isinstance(given, str) or given not in set(PeriodForm):
        raise InputInvalidError(f"{where}.period", given, ", ".join(PeriodForm))
    form = PeriodForm(given)
    if timetable is not None:
        try:
            timetable.check_period_form(form)
        except ScheduleInvalidError as error:
            raise InputInvalidError(f"{where}.period", error.value, error.allowed) from None
    return form


def _target(given: object, where: str) -> Target:
    allowed = f"exactly one of {', '.join(_TARGETS)}"
    target = _mapping(given, where, allowed)
    if len(target) != 1 or next(iter(target)) not in _TARGETS:
        raise InputInvalidError(where, ", ".join(target) or Found("nothing"), allowed)
    ((kind, value),) = target.items()
    return _TARGETS[kind](value, f"{where}.{kind}")


def _sqs(value: object, where: str) -> Target:
    return SqsTarget(url=_matching(_QUEUE_URL, value, where, "the URL of an SQS queue"))


def _task(value: object, where: str) -> Target:
    return TaskTarget(job=checked_job(value, what=where))


def _lambda(value: object, where: str) -> Target:
    return LambdaTarget(function=_matching(_FUNCTION, value, where, "the ARN or the name of a Lambda function"))


def _event(value: object, where: str) -> Target:
    keys = ("bus", "source", "detail_type")
    fields = _mapping(value, where, ", ".join(keys))
    for field in fields:
        if field not in keys:
            raise InputInvalidError(where, field, ", ".join(keys))
    bus = _matching(_BUS, fields.get("bus", "default"), f"{where}.bus", "the name or the ARN of an event bus")
    source = _text(fields.get("source"), f"{where}.source", 256)
    if source.startswith("aws."):
        raise InputInvalidError(f"{where}.source", source, "a source that does not begin with aws., which is reserved")
    return EventTarget(
        bus=bus, source=source, detail_type=_text(fields.get("detail_type"), f"{where}.detail_type", 128)
    )


def _command(value: object, where: str) -> Target:
    allowed = 'the command and its arguments, e.g. ["./enqueue", "{period}"]'
    if not isinstance(value, list | tuple) or not value or not value[0]:
        raise InputInvalidError(where, value, allowed)
    if not all(isinstance(word, str) and "\0" not in word for word in value):
        raise InputInvalidError(where, value, allowed)
    return CommandTarget(arguments=tuple(value))


_TARGETS: Mapping[str, Callable[[object, str], Target]] = {
    "sqs": _sqs,
    "task": _task,
    "lambda": _lambda,
    "event": _event,
    "command": _command,
}


def _mapping(value: object, where: str, allowed: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputInvalidError(where, Found("nothing") if value is None else value, allowed)
    return value


def _matching(pattern: re.Pattern[str], value: object, where: str, allowed: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InputInvalidError(where, value, allowed)
    return value


def _text(value: object, where: str, most: int) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
        raise InputInvalidError(where, value, f"1 to {most} printable characters")
    return value


def _duration(value: object, where: str, longest: timedelta) -> timedelta:
    duration = value if isinstance(value, timedelta) else parse_duration(value, what=where)
    if not _ONE_SECOND <= duration <= longest:
        raise InputInvalidError(where, value, f"1s to {format_duration(longest)}")
    return duration


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    given = dict(pairs)
    if len(given) != len(pairs):
        raise ValueError("a name occurs twice")
    return given
