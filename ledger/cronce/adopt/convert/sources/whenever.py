"""`config/schedule.rb` of whenever in its common forms; what else is there is refused with its line.

Source of the rules: README of javan/whenever and its default job types. `bundle exec whenever` prints the crontab,
which the kind `crontab` reads, whatever Ruby there is in the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import CommandWork, Job, Notes, RefusedJob, Source, SourceLine
from cronce.adopt.convert.naming import name_of_command
from cronce.adopt.convert.sources.crontab import command_words
from cronce.adopt.convert.sources.ecs_overrides import environment_of, note_command
from cronce.schedule import joined
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

WHENEVER_DEFAULTS = (
    "cron starts a command whether or not the last one has ended: written as ALLOW.",
    "cron reads its times in the zone of its host.",
    "whenever changes to the application's folder first; here the image's working directory counts.",
    "cron does not try again, and does not catch up: backoff_limit 0, catch_up NONE.",
)

_TEXT = r"(?:'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\#]|\\.)*)\")"
_SET = re.compile(rf"set\s*\(?\s*:(\w+)\s*,\s*(?:{_TEXT}|(.+?))\s*\)?")
_ENV = re.compile(rf"env\s*\(?\s*:?['\"]?(\w+)['\"]?\s*,\s*{_TEXT}\s*\)?")
_EVERY = re.compile(r"every\s*\(?\s*(?P<what>.+?)\s*\)?\s*(?P<open>do|\{)")
_JOB = re.compile(rf"(?P<type>\w+)\s*\(?\s*{_TEXT}\s*(?:,\s*(?P<options>.+?))?\s*\)?")
_TIMES = re.compile(r"(?P<count>\d{1,4})\.(?P<unit>minute|hour|day|week|month|year)s?")
_AT = re.compile(r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]\.?m\.?)?", re.IGNORECASE)
_DAYS = {
    "sunday": "0", "monday": "1", "tuesday": "2", "wednesday": "3", "thursday": "4", "friday": "5", "saturday": "6",
    "weekday": "1-5", "weekend": "0,6",
}  # fmt: skip
_SHORT = {
    "minute": "1.minute",
    "hour": "1.hour",
    "day": "1.day",
    "week": "sunday",
    "month": "1.month",
    "year": "1.year",
}
_INSTEAD = "the common forms of whenever; `bundle exec whenever > crontab` writes all of it, for the kind crontab"
_TYPES = ("command", "rake", "runner", "script")


@dataclass(slots=True)
class _Settings:
    environment: str = "production"
    variables: dict[str, tuple[str, int]] = field(default_factory=dict)
    left: list[tuple[str, str, int]] = field(default_factory=list)
    own_types: set[str] = field(default_factory=set)


def read_whenever(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of a schedule.

    Raises:
        InputInvalidError: A line is none of the common forms.
    """
    settings = _Settings()
    block: tuple[str, int] | None = None
    pending, pending_line = "", 0
    for number, raw in enumerate(source.text.splitlines(), 1):
        line = _without_comment(raw).strip()
        if pending:
            line, number = f"{pending} {line}", pending_line  # noqa: PLW2901
            pending = ""
        if not line:
            continue
        if line.endswith((",", "\\")):
            pending, pending_line = line.rstrip("\\").strip(), number
            continue
        for statement in _statements(line):
            if block is not None and statement in ("end", "}"):
                block = None
            elif (match := _EVERY.fullmatch(statement)) and block is None:
                block = (match["what"], number)
            elif block is not None:
                yield _job(statement, number, block, settings, source)
            else:
                _set(statement, number, settings, source)
    if block is not None or pending:
        raise InputInvalidError(f"{source.file}:{block[1] if block else pending_line}", Found("no end"), _INSTEAD)


def _without_comment(line: str) -> str:
    """The line without a comment; a # in quotes is none."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            if character == quote and line[place - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "#":
            return line[:place]
    return line


def _statements(line: str) -> list[str]:
    """The statements of a line: a block may be on one."""
    if match := re.fullmatch(r"(every\b.+?)\s*\{\s*(.+?)\s*\}", line):
        return [f"{match[1]} {{", match[2], "}"]
    if match := re.fullmatch(r"(every\b.+?\bdo)\s+(.+?)\s+end", line):
        return [match[1], match[2], "end"]
    return [line]


def _text(single: str | None, double: str | None) -> str:
    if single is not None:
        return single.replace("\\'", "'").replace("\\\\", "\\")
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), double or "")


def _set(statement: str, line: int, settings: _Settings, source: Source) -> None:
    if match := _ENV.fullmatch(statement):
        value = _text(match[2], match[3])
        if match[1] != "MAILTO":
            settings.variables[match[1]] = (value, line)
        else:
            settings.left.append(("MAILTO", "nothing is mailed: the output is in the task's log", line))
    elif match := _SET.fullmatch(statement):
        name, plain = match[1], match[2] is not None or match[3] is not None
        if name in ("environment", "environment_variable") and not plain:
            raise InputInvalidError(
                f"{source.file}:{line}", statement, f"the environment as text in quotes; {_INSTEAD}"
            )
        if name == "environment":
            settings.environment = _text(match[2], match[3])
        elif name in ("output", "path", "chronic_options", "bundle_command"):
            why = "the output is in the task's log, and the image has its own working directory"
            settings.left.append((f"set :{name}", why, line))
        else:
            raise InputInvalidError(f"{source.file}:{line}", statement, _INSTEAD)
    elif re.fullmatch(r"require(?:_relative)?\s+.+", statement):
        settings.left.append(("require", "nothing is executed", line))
    elif match := re.match(r"job_type\s+:(\w+)\b", statement):
        settings.own_types.add(match[1])
        settings.left.append((f"job_type :{match[1]}", "only the default job types are known", line))
    else:
        raise InputInvalidError(f"{source.file}:{line}", statement, _INSTEAD)


def _job(statement: str, line: int, block: tuple[str, int], settings: _Settings, source: Source) -> Job | RefusedJob:
    place = SourceLine(file=source.file, line=line)
    notes = Notes(place)
    match = _JOB.fullmatch(statement)
    if match is None or match["type"] not in _TYPES:
        raise InputInvalidError(str(place), statement, _INSTEAD)
    task = _text(match[2], match[3])
    words = _command(match["type"], task, settings)
    name = name_of_command(task if match["type"] in ("command", "script") else re.split(r"[(\s]", task)[0])
    if match["type"] in settings.own_types:
        error = InputInvalidError(
            str(place), statement, f"a default job type, and not a job_type of your own; {_INSTEAD}"
        )
        return RefusedJob(name=name, place=place, error=error)
    try:
        what, times = _options(block[0], f"{source.file}:{block[1]}")
        each = dict.fromkeys(_expression(what, at, f"{source.file}:{block[1]}") for at in times)
        expression = joined([*each])
        zone = timing.stated_zone(source.timezone, "the zone of cron's host", notes, "time zone")
        notes.kept("every", block[0], expression, line=block[1])
        when = timing.unix(expression, zone, notes, "schedule", f"{source.file}:{block[1]}: schedule", line=block[1])
    except InputInvalidError as error:
        return RefusedJob(name=name, place=place, error=error)
    note_command(words, match["type"], notes)
    if match["options"]:
        notes.left("options", match["options"], "such as output: and roles: the image and its log decide")
    for field_name, why, at_line in settings.left:
        notes.left(field_name, "", why, line=at_line)
    pairs = [(key, value, at_line) for key, (value, at_line) in settings.variables.items()]
    environment = environment_of(pairs, "env", notes)
    if match["type"] in ("rake", "script"):
        environment["RAILS_ENV"] = settings.environment
        notes.kept("environment", settings.environment, f"RAILS_ENV={settings.environment}")
    notes.stated("overlaps", "ALLOW", "cron starts it whatever runs; FORBID is the default of cronce")
    return Job(
        name=name,
        derived=True,
        place=place,
        when=when,
        work=CommandWork(command=words),
        environment=environment,
        policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW),
        decisions=notes.all(),
    )


def _command(kind: str, task: str, settings: _Settings) -> tuple[str, ...]:
    match kind:
        case "rake":
            return ("bundle", "exec", "rake", *_split(task), "--silent")
        case "runner":
            return ("bundle", "exec", "bin/rails", "runner", "-e", settings.environment, task)
        case "script":
            return ("bundle", "exec", *_split(f"script/{task}"))
        case _:
            return command_words(task)


def _split(task: str) -> list[str]:
    try:
        return shlex.split(task)
    except ValueError:
        return task.split()


def _options(what: str, where: str) -> tuple[str, list[str]]:
    """What `every` is about, and each time of its `at`; an empty one for none."""
    head, _, rest = what.partition(",")
    rest = rest.strip()
    if not rest:
        return head.strip(), [""]
    match = re.fullmatch(rf"(?:at:|:at\s*=>)\s*(?:{_TEXT}|\[(?P<list>[^\]]*)\])(?:,\s*(?:roles:|:roles\s*=>).*)?", rest)
    if match and match["list"] is None:
        return head.strip(), [_text(match[1], match[2])]
    if match and re.fullmatch(rf"\s*{_TEXT}(?:\s*,\s*{_TEXT})*\s*", match["list"]):
        return head.strip(), [_text(each[1], each[2]) for each in re.finditer(_TEXT, match["list"])]
    if re.fullmatch(r"(?:roles:|:roles\s*=>).*", rest):
        return head.strip(), [""]
    if head.strip()[:1] in "'\"":
        return what, [""]
    raise InputInvalidError(where, what, f"at: with times in quotes; {_INSTEAD}")


def _expression(what: str, at: str, where: str) -> str:
    if match := re.fullmatch(_TEXT, what):
        return _text(match[1], match[2])
    name = what.removeprefix(":")
    name = _SHORT.get(name, name)
    minute, hour = _time(at, where) if at else ("0", "0")
    if name in _DAYS:
        return f"{minute} {hour} * * {_DAYS[name]}"
    times = _TIMES.fullmatch(name)
    count, unit = (int(times["count"]), times["unit"]) if times else (0, "")
    match unit:
        case "minute" if not at and count and 60 % count == 0:
            return "* * * * *" if count == 1 else f"*/{count} * * * *" if count < 60 else "0 * * * *"
        case "hour" if not at and count and 24 % count == 0:
            return "0 * * * *" if count == 1 else f"0 */{count} * * *" if count < 24 else "0 0 * * *"
        case "day" if count == 1:
            return f"{minute} {hour} * * *"
        case "month" if count and 12 % count == 0:
            return f"{minute} {hour} 1 {'*' if count == 1 else f'*/{count}' if count < 12 else '1'} *"
        case "year" if count == 1:
            return f"{minute} {hour} 1 1 *"
        case _:
            raise InputInvalidError(where, what, f"minutes that divide an hour, hours that divide a day; {_INSTEAD}")


def _time(text: str, where: str) -> tuple[str, str]:
    """Minute and hour. From 1 to 6 without am or pm, Chronic takes the afternoon, which nobody may mean."""
    words = {"noon": "12:00 pm", "midnight": "12:00 am"}
    match = _AT.fullmatch(words.get(text.strip().lower(), text.strip()))
    hour, minute = (int(match["hour"]), int(match["minute"] or 0)) if match else (99, 0)
    half = (match["half"] or "").lower().replace(".", "") if match else ""
    padded = match is not None and match["hour"].startswith("0") and match["hour"] != "0"
    if hour > 23 or minute > 59 or (half and hour > 12 and not padded):
        raise InputInvalidError(where, text, "a time such as '4:30 am' or '16:30'")
    if not half and 1 <= hour <= 6:
        raise InputInvalidError(where, text, f"am or pm: whenever takes '{text}' for the afternoon")
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return str(minute), str(hour)
