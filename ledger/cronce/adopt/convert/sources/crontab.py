"""Crontabs of cron (user and system form) and of supercronic.

Source of the rules: crontab(5) of Vixie cron, cronie and Debian; for supercronic (github.com/aptible/supercronic) its
README and the expression grammar of hashicorp/cronexpr: seconds in front, a year behind, no `%`, no user.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import CommandWork, Job, Notes, RefusedJob, Source, SourceLine, When
from cronce.adopt.convert.naming import name_of_command
from cronce.adopt.convert.sources.ecs_overrides import environment_of, note_command
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

CRON_DEFAULTS = (
    "cron starts a command whether or not the last one has ended: written as ALLOW.",
    "cron reads its times in the zone of its host.",
    "cron mails what a command prints; here it is in the task's log.",
    "cron does not try again, and does not catch up: backoff_limit 0, catch_up NONE.",
)

_VARIABLE = re.compile(
    r"""\s*(?P<quote>["']?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)\s*=\s*(?P<value>.*?)\s*""", re.DOTALL
)
_FIELD = re.compile(r"[0-9*,/?LW#A-Za-z-]+")
_NUMERIC_FIELD = re.compile(r"[0-9*,/-]+")
_NEEDS_SHELL = re.compile(r"[^A-Za-z0-9_@%+=:,./ \t-]|^\s*[A-Za-z_]\w*=|(?:^|\s)~")
_NAMED_ENVIRONMENTS = ("LOGNAME", "USER")
_AT_START = "a schedule; @reboot is no time: run the command as a service, or when the container starts"


class Form(Enum):
    """Which program reads the crontab."""

    USER = auto()
    SYSTEM = auto()
    SUPERCRONIC = auto()


def read_crontab(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of a crontab as `crontab -l` prints it."""
    return _read(source, Form.USER)


def read_system_crontab(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of /etc/crontab or a file of /etc/cron.d, with a user before each command."""
    return _read(source, Form.SYSTEM)


def read_supercronic(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of a crontab for supercronic."""
    return _read(source, Form.SUPERCRONIC)


@dataclass(slots=True)
class _Settings:
    """The variables above a line; each holds for the lines below it."""

    form: Form
    default_zone: str | None
    environment: dict[str, tuple[str, int]] = field(default_factory=dict)
    shell: str = "/bin/sh"
    zone: str | None = None
    zone_line: int = 0
    mail: tuple[str, int] | None = None


def _read(source: Source, form: Form) -> Iterator[Job | RefusedJob]:
    settings = _Settings(form=form, default_zone=source.timezone)
    comment = ""
    for number, line in enumerate(source.text.splitlines(), 1):
        text = line.strip()
        if "\0" in text:
            raise InputInvalidError(f"{source.file}:{number}", line, "text without a NUL character")
        if not text:
            comment = ""
        elif text.startswith("#"):
            comment = text.lstrip("# ").strip()
        elif match := _VARIABLE.fullmatch(line):
            _set(settings, match["name"], _unquoted(match["value"]), number)
            comment = ""
        else:
            place = SourceLine(file=source.file, line=number)
            yield _entry(text, comment, place, settings)
            comment = ""


def _set(settings: _Settings, name: str, value: str, line: int) -> None:
    match name:
        case "CRON_TZ":
            settings.zone, settings.zone_line = value, line
        case "TZ" if settings.form is Form.SUPERCRONIC:
            settings.zone, settings.zone_line = value, line
        case "SHELL":
            settings.shell = value
        case "MAILTO" | "MAILFROM":
            settings.mail = (value, line)
        case _:
            settings.environment[name] = (value, line)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


def _entry(text: str, comment: str, place: SourceLine, settings: _Settings) -> Job | RefusedJob:
    notes, form = Notes(place), settings.form
    expression, rest, seconds = _split(text, form, place)
    user = ""
    if form is Form.SYSTEM:
        user, _, rest = rest.partition(" ") if " " in rest else (rest, "", "")
        rest = rest.strip()
    if not rest:
        what = "a user and a command" if form is Form.SYSTEM else "a command"
        raise InputInvalidError(str(place), text, f"five fields or a macro such as @daily, and then {what}")
    if form is Form.USER and rest.split()[0] == "root" and len(rest.split()) > 1:
        allowed = "a command; root is a user, so this is the system form: use the kind system-crontab"
        raise InputInvalidError(str(place), rest, allowed)
    command, given = rest, rest
    lines: str | None = None
    if form is not Form.SUPERCRONIC:
        command, lines = _percent(rest)
    name = name_of_command(command)
    try:
        when = _when(expression, seconds, settings, notes)
    except InputInvalidError as error:
        return RefusedJob(name=name, place=place, error=error)
    words = command_words(command, lines, shell=settings.shell)
    note_command([given] if lines is None else [command], "command", notes)
    if lines is not None:
        notes.changed("%", "", "printf ... | command", "what follows % is the command's standard input")
    if words[0] == settings.shell and len(words) == 3 and lines is None:
        notes.stated("SHELL", " ".join(words[:2]), "the line has characters that a shell reads")
    if user:
        notes.left("user", user, "the container's user is that of its task definition")
    environment = _environment(settings, notes)
    notes.stated("overlaps", "ALLOW", "cron starts it whatever runs; FORBID is the default of cronce")
    if comment:
        notes.kept("comment", comment, comment)
    return Job(
        name=name,
        derived=True,
        place=place,
        when=when,
        work=CommandWork(command=words),
        environment=environment,
        policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW),
        description=comment,
        decisions=notes.all(),
    )


def _split(text: str, form: Form, place: SourceLine) -> tuple[str, str, str]:
    """The expression, what follows it, and the field for seconds."""
    if text.startswith("@"):
        count = 2 if text.startswith("@every") else 1
        words = text.split(None, count)
        return " ".join(words[:count]), words[count] if len(words) > count else "", ""
    words = text.split(None, 7)
    count = 5
    if form is Form.SUPERCRONIC and len(words) > 6:
        if len(words) > 7 and all(map(_NUMERIC_FIELD.fullmatch, words[:3])) and _NUMERIC_FIELD.fullmatch(words[6]):
            count = 7
        elif _NUMERIC_FIELD.fullmatch(words[5]) or _is_weekday(words[5]):
            count = 6
    if len(words) <= count or not all(map(_FIELD.fullmatch, words[:count])):
        allowed = "five fields or a macro such as @daily, and then a command; NAME=VALUE; or # and a comment"
        raise InputInvalidError(str(place), text, allowed)
    rest = text.split(None, count)[count]
    if count == 5:
        return " ".join(words[:5]), rest, ""
    if count == 7 and words[6] != "*":
        raise InputInvalidError(str(place), text, "* as the year")
    return " ".join(words[1:6]), rest, words[0]


def _is_weekday(word: str) -> bool:
    return re.fullmatch(r"(?:mon|tue|wed|thu|fri|sat|sun|[-,])+", word, re.IGNORECASE) is not None


def _when(expression: str, seconds: str, settings: _Settings, notes: Notes) -> When:
    what = f"{notes.place}: schedule"
    if expression.lower() == "@reboot":
        raise InputInvalidError(what, expression, _AT_START)
    if settings.zone is not None:
        zone = settings.zone
        notes.kept("CRON_TZ", zone, f"timezone {zone}", line=settings.zone_line)
    else:
        zone = timing.stated_zone(settings.default_zone, "the zone of cron's host", notes, "time zone")
    if seconds:
        timing.note_second(seconds, f"{seconds} {expression}", notes, "seconds", what)
    reader: Callable[..., When] = (
        timing.go_cron if settings.form is Form.SUPERCRONIC and expression.startswith("@every") else timing.unix
    )
    return reader(expression, zone, notes, "schedule", what)


def _percent(command: str) -> tuple[str, str | None]:
    r"""The command, and its standard input: what follows the first `%`, in which each further one is a line break.

    `\%` is a percent sign.
    """
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", command)]
    if len(parts) == 1:
        return parts[0], None
    return parts[0].strip(), "\n".join(parts[1:]) + "\n"


def command_words(command: str, lines: str | None = None, *, shell: str = "/bin/sh") -> tuple[str, ...]:
    """The words, by a shell if the line has anything that only a shell reads."""
    if lines is not None:
        return (shell, "-c", f"printf '%s' {shlex.quote(lines)} | {{ {command}; }}")
    if _NEEDS_SHELL.search(command):
        return (shell, "-c", command)
    return tuple(command.split())


def _environment(settings: _Settings, notes: Notes) -> dict[str, str]:
    pairs = [(name, value, line) for name, (value, line) in settings.environment.items()]
    kept = environment_of([pair for pair in pairs if pair[0] not in _NAMED_ENVIRONMENTS], "variable", notes)
    for name, value, line in pairs:
        if name in _NAMED_ENVIRONMENTS:
            notes.left(name, value, "cron ignores it, or changes the user", line=line)
    if settings.mail is not None:
        value, line = settings.mail
        why = "nothing is mailed: the output is in the task's log, and RunLedger.add_alarms sets alarms on failures"
        notes.left("MAILTO", value, why, line=line)
    return kept
