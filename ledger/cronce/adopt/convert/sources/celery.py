"""Schedules of Celery beat in Python files, which are parsed and never executed.

Source of the rules: the Celery documentation, "Periodic Tasks" and "celery.schedules": `crontab` has five fields of
which all must match, an interval counts from the last run, `timezone` is UTC unless the configuration says another.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from datetime import timedelta

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import CommandWork, Job, Notes, RefusedJob, Source, SourceLine, When
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.sources.ecs_overrides import note_command
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

CELERY_DEFAULTS = (
    "The task only sends the message, as beat did: retries, time limits and overlaps of the work stay those of Celery.",
    "beat counts intervals from the last run; here they are at fixed times.",
    "beat is in UTC, unless timezone or CELERY_TIMEZONE says another zone.",
)

_SCHEDULES = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
_ZONES = ("timezone", "CELERY_TIMEZONE")
_FIELDS = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
_UNITS = ("days", "seconds", "microseconds", "milliseconds", "minutes", "hours", "weeks")
_OPTIONS = ("queue", "exchange", "routing_key", "expires", "countdown", "serializer")
_LITERAL = "a literal: nothing of the file is executed"


def read_celery(source: Source) -> Iterator[Job | RefusedJob]:
    """The entries of every beat schedule in the file.

    Raises:
        InputInvalidError: It is no Python, or has no beat schedule.
    """
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"{source.file}:{error.lineno}" if isinstance(error, SyntaxError) else source.file
        said = error.msg if isinstance(error, SyntaxError) else "a NUL byte or too much nesting"
        raise InputInvalidError(where, Found(said), "a file in Python") from None
    module = _Module(source.file, tree)
    found = [value for name, value in module.settings() if name in _SCHEDULES]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and _called(call) == "add_periodic_task":
            where = f"{source.file}:{call.lineno}"
            allowed = "an entry of beat_schedule, in which the task is named by text"
            raise InputInvalidError(where, "add_periodic_task", allowed)
    if not found:
        raise InputInvalidError(source.file, Found("no beat schedule"), " = {...}, ".join(_SCHEDULES) + " = {...}")
    for value in found:
        schedule = module.resolved(value)
        if not isinstance(schedule, ast.Dict):
            raise module.refused(schedule, "a dictionary of entries")
        for key, entry in zip(schedule.keys, schedule.values, strict=True):
            yield module.entry(key, entry, source.timezone)


class _Module:
    """A parsed file, with the values of its constants."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self._file = file
        self._tree = tree
        self._constants: dict[str, ast.expr] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._constants[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self._constants[node.target.id] = node.value

    def settings(self) -> Iterator[tuple[str, ast.expr]]:
        """Name and value of what is assigned, as `app.conf.NAME = ...`, `NAME = ...` or `conf.update(NAME=...)`."""
        for node in ast.walk(self._tree):
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Name(id=name)], value=value):
                    yield name, value
                case ast.AnnAssign(target=ast.Attribute(attr=name) | ast.Name(id=name), value=ast.expr() as value):
                    yield name, value
                case ast.Call(func=ast.Attribute(attr="update"), keywords=keywords):
                    yield from ((each.arg, each.value) for each in keywords if each.arg)
                case _:
                    pass

    def resolved(self, node: ast.expr) -> ast.expr:
        """The value of a constant of the module."""
        for _ in range(10):
            if not isinstance(node, ast.Name) or node.id not in self._constants:
                break
            node = self._constants[node.id]
        return node

    def refused(self, node: ast.expr | ast.keyword, allowed: str) -> InputInvalidError:
        """The error for a piece of code."""
        line = getattr(node, "lineno", 1)
        return InputInvalidError(f"{self._file}:{line}", ast.unparse(node)[:100], allowed)

    def literal(self, node: ast.expr) -> object:
        """The value: literals, constants of the module, and products and sums of numbers.

        Raises:
            InputInvalidError: It is something else.
        """
        node = self.resolved(node)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                return [self.literal(each) for each in items]
            case ast.Dict(keys=keys, values=values) if all(keys):
                return {str(self.literal(k)): self.literal(v) for k, v in zip(keys, values, strict=True) if k}
            case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(n := self.literal(operand), int | float):
                return -n
            case ast.BinOp(op=ast.Mult() | ast.Add() as operator, left=left, right=right):
                a, b = self.literal(left), self.literal(right)
                if isinstance(a, int | float) and isinstance(b, int | float) and max(abs(a), abs(b)) < 10**9:
                    return a * b if isinstance(operator, ast.Mult) else a + b
            case _:
                pass
        raise self.refused(node, _LITERAL)

    def zone(self, given: str | None, notes: Notes) -> str:
        """The zone of the configuration."""
        for name, value in self.settings():
            if name in _ZONES:
                zone = self.literal(value)
                if not isinstance(zone, str):
                    raise self.refused(value, "the name of a time zone")
                notes.kept(name, zone, f"timezone {zone}", line=value.lineno)
                return zone
        return timing.stated_zone(given, "UTC, the default of Celery,", notes, "timezone")

    def app(self) -> str | None:
        """The name of the app, as `Celery("name")` gives it."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and _called(node) == "Celery" and node.args:
                first = self.resolved(node.args[0])
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    return first.value
        return None

    def entry(self, key: ast.expr | None, value: ast.expr, timezone: str | None) -> Job | RefusedJob:
        """One entry of a schedule."""
        name, place = "", SourceLine(file=self._file, line=value.lineno)
        try:
            if key is None:
                raise self.refused(value, "entries that are written out, and no ** of other dictionaries")
            given = self.literal(key)
            name = clean_name(given) if isinstance(given, str) else ""
            place = SourceLine(file=self._file, line=key.lineno)
            if not name:
                raise self.refused(key, "a name with a letter or a digit")
            notes = Notes(place)
            notes.renamed("name", str(given), name)
            return self._job(name, value, timezone, notes)
        except InputInvalidError as error:
            return RefusedJob(name=name or "entry", place=place, error=error)

    def _job(self, name: str, value: ast.expr, timezone: str | None, notes: Notes) -> Job:
        entry = self.resolved(value)
        if not isinstance(entry, ast.Dict) or not all(entry.keys):
            raise self.refused(entry, "a dictionary with task and schedule")
        fields = {str(self.literal(k)): v for k, v in zip(entry.keys, entry.values, strict=True) if k}
        for needed in ("task", "schedule"):
            if needed not in fields:
                raise self.refused(entry, f"a dictionary with {needed}")
        task = self.literal(fields.pop("task"))
        if not isinstance(task, str) or not task:
            raise self.refused(entry, "the task's name as text")
        when = self._when(fields.pop("schedule"), timezone, notes)
        words = ["celery"]
        if (app := self.app()) is not None:
            words += ["-A", app]
            notes.stated("app", f"-A {app}", "as Celery(...) names it; it is found if a module has that name")
        else:
            notes.stated("app", "APP", "set the variable APP to the module of the app, which `celery` reads")
        words += ["call", task]
        words += self._arguments(fields, notes)
        note_command(words, "task", notes)
        if (relative := fields.pop("relative", None)) is not None:
            notes.left("relative", ast.unparse(relative), "ticks are at fixed times", line=relative.lineno)
        for other, node in fields.items():
            notes.left(other, "", "cronce has no such field", line=node.lineno)
        notes.stated("overlaps", "ALLOW", "sending takes no time; Celery decides about the work")
        return Job(
            name=name,
            place=notes.place,
            when=when,
            work=CommandWork(command=tuple(words)),
            environment={},
            policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW),
            decisions=notes.all(),
        )

    def _arguments(self, fields: dict[str, ast.expr], notes: Notes) -> list[str]:
        words: list[str] = []
        for field in ("args", "kwargs"):
            node = fields.pop(field, None)
            if node is None:
                continue
            given = self.literal(node)
            try:
                text = json.dumps(given)
            except TypeError:
                raise self.refused(node, "values that JSON has") from None
            if given:
                words += [f"--{field}", text]
            notes.kept(field, "", f"--{field}", line=node.lineno)
        node = fields.pop("options", None)
        options = {} if node is None else self.literal(node)
        if not isinstance(options, Mapping):
            raise self.refused(node or ast.Constant(None), "a dictionary of options")
        line = node.lineno if node is not None else None
        for option, value in options.items():
            if option in _OPTIONS and isinstance(value, str | int | float):
                words += [f"--{option.replace('_', '-')}", str(value)]
                notes.kept(f"options {option}", value, f"--{option.replace('_', '-')}", line=line)
            else:
                notes.left(f"options {option}", "", "`celery call` has no such option", line=line)
        return words

    def _when(self, node: ast.expr, timezone: str | None, notes: Notes) -> When:
        node = self.resolved(node)
        what = f"{self._file}:{node.lineno}: schedule"
        if isinstance(node, ast.Call):
            match _called(node):
                case "crontab":
                    return self._crontab(node, timezone, notes, what)
                case "timedelta":
                    return timing.every(self._timedelta(node), ast.unparse(node), notes, "schedule", line=node.lineno)
                case "schedule":
                    inner = next((each.value for each in node.keywords if each.arg == "run_every"), None)
                    inner = node.args[0] if inner is None and node.args else inner
                    if inner is not None:
                        return self._when(inner, timezone, notes)
                case "solar":
                    raise self.refused(node, "a time of day: EventBridge and cronce do not know where the sun is")
                case _:
                    pass
            raise self.refused(node, "crontab(...), timedelta(...) or a number of seconds")
        seconds = self.literal(node)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            raise self.refused(node, "crontab(...), timedelta(...) or a number of seconds")
        return timing.every(self._whole(seconds, node), f"{seconds} s", notes, "schedule", line=node.lineno)

    def _whole(self, seconds: float, node: ast.expr) -> timedelta:
        if seconds != int(seconds) or not 1 <= seconds <= 366 * 86_400:
            raise self.refused(node, "whole seconds, from 1 to 366 days")
        return timedelta(seconds=int(seconds))

    def _timedelta(self, node: ast.Call) -> timedelta:
        given = dict(zip(_UNITS, node.args, strict=False)) | {each.arg or "": each.value for each in node.keywords}
        total = timedelta(0)
        for unit, value in given.items():
            number = self.literal(value)
            if unit not in _UNITS or isinstance(number, bool) or not isinstance(number, int | float):
                raise self.refused(node, "numbers of days, hours, minutes and seconds")
            if abs(number) > 10**8:
                raise self.refused(node, "at most 366 days")
            total += timedelta(**{unit: number})
        return self._whole(total.total_seconds(), node)

    def _crontab(self, node: ast.Call, timezone: str | None, notes: Notes, what: str) -> When:
        given = dict(zip(_FIELDS, node.args, strict=False)) | {each.arg or "**": each.value for each in node.keywords}
        words = dict.fromkeys(_FIELDS, "*")
        for field, value in given.items():
            if field not in _FIELDS:
                notes.left(f"crontab {field}", ast.unparse(value), "the configuration's zone counts", line=node.lineno)
                continue
            content = self.literal(value)
            items = content if isinstance(content, list) else [content]
            if not items or not all(isinstance(each, int | str) and not isinstance(each, bool) for each in items):
                raise self.refused(value, "a number or the text of a field")
            words[field] = "".join(",".join(map(str, items)).split())
        zone = self.zone(timezone, notes)
        minute, hour, weekday, day, month = (words[field] for field in _FIELDS)
        if day not in ("*", "*/1") and weekday not in ("*", "*/1"):
            allowed = "one of day_of_month and day_of_week: Celery fires when both match, which EventBridge cannot say"
            raise self.refused(node, allowed)
        return timing.unix(f"{minute} {hour} {day} {month} {weekday}", zone, notes, "schedule", what, line=node.lineno)


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
