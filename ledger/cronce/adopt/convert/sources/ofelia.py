"""Jobs of ofelia: labels in a compose file, or its INI file.

Source of the fields: docs/jobs.md and README of mcuadros/ofelia; its expressions are those of robfig/cron, with an
optional field for seconds in front.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import (
    CommandWork,
    ImageWork,
    ImportedWork,
    Job,
    Notes,
    RefusedJob,
    Source,
    SourceLine,
    When,
)
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.sources.ecs_overrides import environment_of, note_command
from cronce.adopt.convert.sources.fields import Value, yaml_documents
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

OFELIA_DEFAULTS = (
    "ofelia starts a job whether or not the last run has ended, unless no-overlap is set: written as ALLOW.",
    "ofelia reads its times in the zone of its container (TZ).",
    "A failed job is not tried again, and a missed tick is not caught up: backoff_limit 0, catch_up NONE.",
)

_KINDS = ("job-exec", "job-run", "job-local", "job-service-run")
_LABEL = re.compile(r"ofelia\.(job-[a-z-]+)\.([^.]+)(?:\.(.+))?")
_GLOBAL = "global"
_SECTION = re.compile(r"\[\s*(?P<kind>[A-Za-z-]+)(?:\s+\"(?P<name>[^\"]*)\")?\s*\]")
_PAIR = re.compile(r"(?P<name>[A-Za-z-]+)\s*[=:]\s*(?P<value>.*)")
_REASONS = {
    "container": "the command runs in a task of its own, with the image of its task definition",
    "user": "the container's user is that of its task definition",
    "tty": "a task has no terminal",
    "network": "the VPC's subnets and security groups decide",
    "volume": "use volumes of ECS (EFS), or bring the files in the image",
    "delete": "a stopped task is gone",
    "dir": "set working_directory on the container",
    "pull": "ECS pulls the image for each task",
    "hostname": "a task has its own",
    "enabled": "every job of the file is imported; leave one out with --skip NAME",
    "service": "it marks the container of ofelia",
}
_REPORTS = "RunLedger.add_alarms sets alarms on failures, and each attempt has its log"


@dataclass(slots=True)
class _Section:
    """What one job says: each field with its values and the line of the last one."""

    kind: str
    name: str
    place: SourceLine
    fields: dict[str, tuple[list[str], int]] = field(default_factory=dict)

    def add(self, name: str, value: str, line: int) -> None:
        """Add a value; a field can be given twice."""
        values, _ = self.fields.get(name, ([], line))
        self.fields[name] = ([*values, value], line)

    def take(self, *names: str) -> tuple[str, int] | None:
        """The field's last value and line."""
        for name in names:
            if name in self.fields:
                values, line = self.fields.pop(name)
                return values[-1], line
        return None


def read_ofelia(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of labels or of an INI file.

    Raises:
        InputInvalidError: It is neither.
    """
    ini = re.search(r"^\s*\[\s*(?:global|job-[a-z-]+)[\s\]]", source.text, re.MULTILINE)
    shared = _Section(_GLOBAL, "", SourceLine(file=source.file, line=1))
    for section in _of_ini(source, shared) if ini else _of_labels(source, shared):
        notes = Notes(section.place)
        name = clean_name(section.name)
        try:
            yield _job(section, name, source.timezone, notes, shared)
        except InputInvalidError as error:
            yield RefusedJob(name=name or section.name, place=section.place, error=error)


def _of_ini(source: Source, shared: _Section) -> list[_Section]:
    """The jobs; what is for all of them goes into `shared`."""
    sections: list[_Section] = []
    current: _Section | None = None
    for number, raw in enumerate(source.text.splitlines(), 1):
        line, place = raw.strip(), SourceLine(file=source.file, line=number)
        if not line or line[0] in "#;":
            continue
        if match := _SECTION.fullmatch(line):
            current = _Section(match["kind"], match["name"] or "", place)
            if current.kind in _KINDS:
                sections.append(current)
            elif current.kind == _GLOBAL:
                current = shared
            else:
                raise InputInvalidError(str(place), line, f'[global], or [KIND "NAME"] with {", ".join(_KINDS)}')
        elif (match := _PAIR.fullmatch(line)) and current is not None:
            current.add(match["name"].lower(), match["value"].strip().strip('"'), number)
        else:
            raise InputInvalidError(str(place), line, "[section], name = value, or # and a comment")
    return sections


def _of_labels(source: Source, shared: _Section) -> list[_Section]:
    """The jobs; labels of ofelia that are of no job go into `shared`."""
    sections: dict[tuple[str, str], _Section] = {}
    for document in yaml_documents(source.text, source.file):
        services = document.fields().take("services")
        if services is None or not isinstance(services.content, Mapping):
            raise document.refused("a compose file with services, or ofelia's INI file")
        for service, value in services.content.items():
            labels = value.fields().take("labels") if isinstance(value.content, Mapping) else None
            for text, line in _labels(labels):
                name, _, content = text.partition("=")
                match = _LABEL.fullmatch(name.strip())
                place = SourceLine(file=source.file, line=line)
                if match is None:
                    if name.strip().startswith("ofelia."):
                        shared.add(name.strip().removeprefix("ofelia."), content, line)
                    continue
                if match[1] not in _KINDS:
                    raise InputInvalidError(
                        str(place), name.strip(), f"ofelia.KIND.NAME.FIELD with {', '.join(_KINDS)}"
                    )
                key = (match[1], match[2])
                section = sections.setdefault(key, _Section(match[1], match[2], place))
                if match[1] == "job-exec":
                    section.fields.setdefault("container", ([service], line))
                section.add((match[3] or "").lower(), content.replace("$$", "\0"), line)
    for section in sections.values():
        for name, (values, line) in section.fields.items():
            if any("${" in value or re.search(r"\$[A-Za-z_]", value) for value in values):
                allowed = "values without variables of compose; `docker compose config` writes them"
                raise InputInvalidError(f"{source.file}:{line}", values[-1], allowed)
            section.fields[name] = ([value.replace("\0", "$") for value in values], line)
        section.fields.pop("", None)
    return list(sections.values())


def _labels(value: Value | None) -> Iterator[tuple[str, int]]:
    if value is None:
        return
    if isinstance(value.content, list):
        yield from ((each.text(), each.line) for each in value.items())
    else:
        yield from (
            (f"{each.path.removeprefix(f'{value.path}.')}={each.text()}", each.line) for each in value.fields().left()
        )


def _job(section: _Section, name: str, zone: str | None, notes: Notes, shared: _Section) -> Job:
    if not name:
        raise InputInvalidError(str(section.place), section.name, "a name with a letter or a digit")
    notes.renamed("name", section.name, name)
    when = _when(section, zone, notes)
    work = _work(section, name, notes)
    environment = _environment(section, notes)
    overlap = section.take("no-overlap")
    forbid = overlap is not None and overlap[0].lower() == "true"
    if overlap is not None:
        notes.kept("no-overlap", overlap[0], "FORBID" if forbid else "ALLOW", line=overlap[1])
    else:
        notes.stated("overlaps", "ALLOW", "ofelia starts it whatever runs; FORBID is the default of cronce")
    for other, (values, line) in (shared.fields | section.fields).items():
        report = other.startswith(("slack", "smtp", "mail", "email", "save"))
        why = _REPORTS if report else _REASONS.get(other, "cronce has no such field")
        notes.left(other, "" if report else values[-1], why, line=line)
    policy = ConcurrencyPolicy.FORBID if forbid else ConcurrencyPolicy.ALLOW
    return Job(
        name=name,
        place=section.place,
        when=when,
        work=work,
        environment=environment,
        policy=Policy(concurrency_policy=policy),
        decisions=notes.all(),
    )


def _when(section: _Section, zone: str | None, notes: Notes) -> When:
    schedule = section.take("schedule")
    if schedule is None:
        raise InputInvalidError(str(section.place), Found("no schedule"), "schedule = EXPRESSION")
    text, line = schedule
    what = f"{section.place.file}:{line}: schedule"
    words = text.split()
    if len(words) == 6 and not text.startswith("@"):
        timing.note_second(words[0], text, notes, "schedule (seconds)", what, line=line)
        text = " ".join(words[1:])
    own = "UTC"
    if not text.startswith("@every"):
        own = timing.stated_zone(zone, "the zone of ofelia's container (TZ)", notes, "time zone")
    return timing.go_cron(text, own, notes, "schedule", what, line=line)


def _work(section: _Section, name: str, notes: Notes) -> ImportedWork:
    given, image = section.take("command"), section.take("image")
    words: tuple[str, ...] = ()
    if given is not None:
        try:
            words = tuple(shlex.split(given[0]))
        except ValueError as error:
            where = f"{section.place.file}:{given[1]}: command"
            raise InputInvalidError(where, given[0], f"a command line ({error})") from None
        note_command(words, "command", notes, line=given[1])
    if image is not None and section.kind in ("job-run", "job-service-run"):
        notes.kept("image", image[0], image[0], line=image[1])
        why = (
            "the image's ENTRYPOINT does not apply under the guard: say it in `entry_points`; docker inspect prints it"
        )
        notes.stated("entry point", f'entry_points["{name}"]', why)
        notes.stated("size", "256 CPU units, 512 MiB", "the file asks for none")
        return ImageWork(image=image[0], container=name, arguments=words or None)
    if image is not None:
        notes.left("image", image[0], "this kind of job runs in a container that exists", line=image[1])
    if not words:
        raise InputInvalidError(str(section.place), Found("no command"), "command = COMMAND")
    return CommandWork(command=words)


def _environment(section: _Section, notes: Notes) -> dict[str, str]:
    pairs: list[tuple[str, str, int]] = []
    for name in ("environment", "env"):
        values, line = section.fields.pop(name, ([], 0))
        for value in values:
            for text in _listed(value, section, line):
                key, _, content = text.partition("=")
                pairs.append((key, content, line))
    return environment_of(pairs, "environment", notes)


def _listed(value: str, section: _Section, line: int) -> list[str]:
    """One variable, or a JSON list of them."""
    if not value.startswith("["):
        return [value]
    try:
        given = json.loads(value)
    except ValueError:
        given = None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise InputInvalidError(f"{section.place.file}:{line}: environment", value, 'NAME=VALUE or ["NAME=VALUE", ...]')
    return given
