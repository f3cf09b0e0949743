"""Schedules of sidekiq-cron, sidekiq-scheduler and GoodJob in YAML: a class of jobs, enqueued by `rails runner`.

Source of the fields: READMEs of sidekiq-cron/sidekiq-cron, sidekiq-scheduler/sidekiq-scheduler, bensheldon/good_job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import CommandWork, Job, Notes, RefusedJob, Source, SourceLine, When
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.sources.ecs_overrides import note_command
from cronce.adopt.convert.sources.fields import Fields, Value, yaml_documents
from cronce.adopt.convert.sources.fugit import fugit, interval_of
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

RUBY_DEFAULTS = (
    "The task only enqueues the job, as the scheduler did: retries, overlaps and deadlines stay those of the queue.",
    "Times are in the zone of the Ruby process, unless the expression names one.",
)

_CLASS = re.compile(r"(?:::)?[A-Z][A-Za-z0-9_]*(?:::[A-Z][A-Za-z0-9_]*)*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,10})?")
_KEY = re.compile(r"[a-z_][a-z0-9_]*")
_OTHER = {
    "namespace": "the ledger's jobs have one namespace; put it into the name if two are alike",
    "source": "the code is the source",
    "date_as_argument": "CRONCE_SCHEDULED_TIME has the tick's time: pass it in the command",
    "symbolize_args": "write the arguments as the class expects them",
    "queue_name_prefix": "put it into the queue's name",
    "queue_name_delimiter": "put it into the queue's name",
    "retry": "retries of the work are those of the queue",
    "first_in": "ticks are at fixed times",
    "rails_env": "deploy the job where it is wanted",
    "include_metadata": "CRONCE_SCHEDULED_TIME has the tick's time: pass it in the command",
}


def read_sidekiq_cron(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of sidekiq-cron: a mapping by name, or a list with `name`."""
    yield from _read(source, active_job=False)


def read_sidekiq_scheduler(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of sidekiq-scheduler: the mapping `schedule`, or that alone."""
    yield from _read(source, active_job=False)


def read_good_job(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of GoodJob: its `cron` as YAML."""
    yield from _read(source, active_job=True)


def _read(source: Source, *, active_job: bool) -> Iterator[Job | RefusedJob]:
    if "<%" in source.text:
        raise InputInvalidError(source.file, Found("a template of ERB"), "YAML without <% %>; `erb FILE` writes it")
    if re.search(r"^\s*(?:Rails\.|config\.|Sidekiq\b)", source.text, re.MULTILINE):
        allowed = "YAML; in a Rails console, `puts Rails.application.config.good_job.cron.deep_stringify_keys.to_yaml`"
        raise InputInvalidError(source.file, "Ruby", allowed)
    for document in yaml_documents(source.text, source.file):
        entries, beside = _entries(document)
        for name, value in entries:
            notes = Notes(SourceLine(file=value.file, line=value.line))
            cleaned = clean_name(name)
            try:
                if not cleaned:
                    raise value.refused("a name with a letter or a digit")
                notes.renamed("name", name, cleaned)
                for other in beside:
                    notes.left(other.name, "", "it is of the worker, and not of the schedule", line=other.line)
                yield _job(value, cleaned, source.timezone, notes, active_job=active_job)
            except InputInvalidError as error:
                yield RefusedJob(name=cleaned or name, place=notes.place, error=error)


def _entries(document: Value) -> tuple[list[tuple[str, Value]], list[Value]]:
    """Name and fields of each job, with symbols of Ruby as plain names; and what is beside the schedule."""
    if isinstance(document.content, list):
        listed = [_symbols(each) for each in document.items()]
        return [(each.fields().need("name", "the name of the job").text(), each) for each in listed], []
    content = {name.lstrip(":"): each for name, each in _mapping(document).items()}
    inside = next((name for name in ("scheduler", "schedule", "good_job", "cron") if name in content), None)
    if inside is not None and isinstance(content[inside].content, Mapping):
        entries, beside = _entries(content.pop(inside))
        return entries, [*content.values(), *beside]
    return [(name, _symbols(each)) for name, each in content.items() if each.content is not None], []


def _mapping(value: Value) -> Mapping[str, Value]:
    if not isinstance(value.content, Mapping):
        raise value.refused("a mapping of jobs by name")
    return value.content


def _symbols(value: Value) -> Value:
    return replace(value, content={name.lstrip(":"): each for name, each in _mapping(value).items()})


def _job(value: Value, name: str, zone: str | None, notes: Notes, *, active_job: bool) -> Job:
    fields = value.fields()
    fields.take("name")
    when = _when(fields, zone, notes)
    kind = fields.need("class", "the class of the job")
    if not _CLASS.fullmatch(kind.text()):
        raise kind.refused("the name of a Ruby class, such as Billing::InvoiceJob")
    if (active := fields.take("active_job")) is not None:
        active_job = active.flag()
        notes.kept("active_job", active.text(), "perform_later", line=active.line)
    settings = _settings(fields, notes)
    arguments = _arguments(fields, notes)
    method = "perform_later" if active_job else "perform_async"
    ruby = f"{kind.text()}{f'.set({settings})' if settings else ''}.{method}{f'({arguments})' if arguments else ''}"
    command = ("bin/rails", "runner", ruby)
    note_command(command, "class", notes, line=kind.line)
    enabled = _enabled(fields, notes)
    description = fields.take("description")
    if description is not None:
        notes.kept("description", description.text(), description.text(), line=description.line)
    notes.stated("overlaps", "ALLOW", "enqueuing takes no time; the queue decides about the work")
    for other in fields.left():
        shown = other.content if isinstance(other.content, str) else ""
        notes.left(other.name, shown, _OTHER.get(other.name.lstrip(":"), "cronce has no such field"), line=other.line)
    return Job(
        name=name,
        place=notes.place,
        when=when,
        work=CommandWork(command=command),
        environment={},
        policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW),
        enabled=enabled,
        description="" if description is None else description.text(),
        decisions=notes.all(),
    )


def _when(fields: Fields, zone: str | None, notes: Notes) -> When:
    for field in ("cron", "every", "interval"):
        value = fields.take(field)
        if value is None:
            continue
        text = value.content
        if isinstance(text, list):
            first, *more = value.items()
            for option in more:
                notes.left(field, "", "first_in and the like: ticks are at fixed times", line=option.line)
            value, text = first, first.content
        if not isinstance(text, str):
            raise value.refused("one expression; several are several jobs")
        if field == "cron":
            return fugit(text, zone, notes, value.where, line=value.line)
        return timing.every(interval_of(text, value.where), text, notes, field, line=value.line)
    once = fields.take("at", "in")
    if once is not None:
        raise once.refused("cron, every or interval: a job that runs once needs no schedule")
    raise InputInvalidError(fields.of.where, Found("no cron"), "cron, every or interval")


def _settings(fields: Fields, notes: Notes) -> str:
    """What `set` gets: the queue, and GoodJob's `set`."""
    words = []
    if (queue := fields.take("queue")) is not None:
        words.append(f"queue: {_ruby(queue)}")
        notes.kept("queue", queue.text(), "set(queue:)", line=queue.line)
    if (chosen := fields.take("set")) is not None:
        words += [_pair(name, each) for name, each in _mapping(chosen).items()]
        notes.kept("set", " ".join(words), "set(...)", line=chosen.line)
    return ", ".join(words)


def _arguments(fields: Fields, notes: Notes) -> str:
    words: list[str] = []
    if (given := fields.take("args")) is not None:
        items = given.items() if isinstance(given.content, list) else [given]
        words += [_ruby(each) for each in items]
        notes.kept("args", f"{len(items)} values", ", ".join(words), line=given.line)
    if (named := fields.take("kwargs")) is not None:
        words += [_pair(name, each) for name, each in _mapping(named).items()]
        notes.kept("kwargs", f"{len(_mapping(named))} values", ", ".join(words), line=named.line)
    return ", ".join(words)


def _enabled(fields: Fields, notes: Notes) -> bool:
    enabled = True
    for field in ("status", "enabled", "enabled_by_default"):
        value = fields.take(field)
        if value is not None:
            enabled = value.text() == "enabled" if field == "status" else value.flag()
            notes.kept(field, value.text(), f"enabled {str(enabled).lower()}", line=value.line)
    return enabled


def _pair(name: str, value: Value) -> str:
    name = name.lstrip(":")
    return f"{name}: {_ruby(value)}" if _KEY.fullmatch(name) else f"{_ruby_text(name)} => {_ruby(value)}"


def _ruby(value: Value) -> str:
    """The value as Ruby writes it; text has single quotes, in which nothing is evaluated."""
    match value.content:
        case None:
            return "nil"
        case list() as items:
            return f"[{', '.join(map(_ruby, items))}]"
        case str() as text if value.plain and (text in ("true", "false") or _NUMBER.fullmatch(text)):
            return text
        case str() as text if value.plain and text[:1] == ":" and _KEY.fullmatch(text[1:]):
            return text
        case str() as text:
            return _ruby_text(text)
        case mapping:
            return f"{{ {', '.join(f'{_ruby_text(name)} => {_ruby(each)}' for name, each in mapping.items())} }}"


def _ruby_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
