"""A job as any source describes it, and what was decided about each of its fields. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from cronce.schedule import expressions_in
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import Policy


class FieldVerdict(StrEnum):
    """What became of a field."""

    KEPT = "kept"
    """It means the same here."""
    CHANGED = "changed"
    """It is written, and means something else in part; the reason says what."""
    STATED = "stated"
    """The file does not say it: the source's default is written out, or there was none to take."""
    LEFT = "not mapped"
    """It is not in the output; the reason says why, and what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of a file, from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        """`crontab:12`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What became of one field.

    Attributes:
        field: The field in the words of the source, such as `spec.suspend`.
        verdict: See `FieldVerdict`.
        given: The value in the file; empty if the file does not have the field, or if the value may be a secret.
        became: What is written instead; empty if nothing is.
        why: The reason, and what to do; empty if the field is kept.
        place: Where the field is, or else the job.
    """

    field: str
    verdict: FieldVerdict
    given: str
    became: str
    why: str
    place: SourceLine


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """When a job is due.

    Attributes:
        text: Unix cron, `cron(...)` or `rate(...)`, which `cronce.schedule` reads; empty with `every`.
        every: An interval instead; its ticks are whole multiples since 1970-01-01T00:00Z.
        timezone: The IANA zone of `text`.
    """

    text: str = ""
    every: timedelta | None = None
    timezone: str = "UTC"

    @property
    def expressions(self) -> tuple[str, ...]:
        """Each expression of `text` alone."""
        return expressions_in(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWork:
    """A task definition that exists in ECS.

    Attributes:
        definition: Its family, with or without a revision, or its ARN.
        container: The container that gets the command; None if the source does not say.
        command: The container's command; None for its own.
        cluster: The cluster's name or ARN; None if the source does not say.
        subnets: The subnets of the task's network interface; empty if the source does not say.
        security_groups: The security groups of that interface.
        assign_public_ip: True for a public address; None if the source does not say.
        launch_type: FARGATE, EC2 or EXTERNAL; None if the source does not say.
        platform_version: The Fargate platform version.
        capacity_providers: Provider, base and weight of each.
        propagate_tags: True to give the task its task definition's tags.
        execute_command: True to allow `aws ecs execute-command`.
        tags: Further tags of the task.
    """

    definition: str
    container: str | None = None
    command: tuple[str, ...] | None = None
    cluster: str | None = None
    subnets: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    assign_public_ip: bool | None = None
    launch_type: str | None = None
    platform_version: str | None = None
    capacity_providers: tuple[tuple[str, int | None, int | None], ...] = ()
    propagate_tags: bool = False
    execute_command: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A value that another object of the source has: the entry `key` of the secret or config map `name`."""

    name: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWork:
    """An image, from which a task definition is made.

    Attributes:
        image: Its name in the registry.
        container: The container's name.
        command: The command, its program first; None for what the image starts.
        arguments: Arguments for what the image starts, if there is no command; None for the image's own.
        cpu: CPU units of the Fargate task.
        memory: MiB of the Fargate task.
        secrets: Variables that get their value from a secret.
        config: Variables that get their value from an entry of a config map.
        config_maps: Config maps of which every entry becomes a variable.
    """

    image: str
    container: str
    command: tuple[str, ...] | None = None
    arguments: tuple[str, ...] | None = None
    cpu: int = 256
    memory: int = 512
    secrets: Mapping[str, Reference] = field(default_factory=dict)
    config: Mapping[str, Reference] = field(default_factory=dict)
    config_maps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWork:
    """A command of an application, whose image the source does not name."""

    command: tuple[str, ...]


ImportedWork = TaskWork | ImageWork | CommandWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job of a source.

    Attributes:
        name: Its name in the ledger and in the output, already cleaned (`cronce.adopt.convert.naming`).
        derived: True if the source has no name and this one was made from the command.
        place: Where it begins.
        when: When it is due.
        work: What runs.
        environment: Variables with their values; no secrets.
        policy: How it treats overlaps, lateness and failures, as the source does.
        enabled: False if the source does not start it.
        description: The source's words on it; empty if there are none.
        decisions: One per field.
    """

    name: str
    derived: bool = False
    place: SourceLine
    when: When
    work: ImportedWork
    environment: Mapping[str, str]
    policy: Policy
    enabled: bool = True
    description: str = ""
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedJob:
    """A job that cannot be written; nothing is, unless it is skipped by name."""

    name: str
    place: SourceLine
    error: InputInvalidError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to read.

    Attributes:
        file: Its name in errors and comments.
        text: Its content.
        timezone: The zone of schedules that state none; None if nobody said.
    """

    file: str
    text: str
    timezone: str | None = None


class Notes:
    """Collects the decisions about one job."""

    def __init__(self, place: SourceLine) -> None:
        self._decisions: list[Decision] = []
        self.place = place

    def kept(self, name: str, given: object, became: str, *, line: int | None = None) -> None:
        """The field means the same here."""
        self._add(FieldVerdict.KEPT, name, given, (became, ""), line)

    def changed(self, name: str, given: object, became: str, why: str, *, line: int | None = None) -> None:
        """The field is written, and means something else in part."""
        self._add(FieldVerdict.CHANGED, name, given, (became, why), line)

    def renamed(self, name: str, given: str, became: str, *, line: int | None = None) -> None:
        """The job's name, which is kept if nothing in it had to be replaced."""
        if became == given:
            self.kept(name, given, became, line=line)
        else:
            self.changed(name, given, became, "letters, digits, _ . and - only", line=line)

    def stated(self, name: str, became: str, why: str) -> None:
        """The file does not say it, and this is written."""
        self._add(FieldVerdict.STATED, name, "", (became, why), None)

    def left(self, name: str, given: object, why: str, *, line: int | None = None) -> None:
        """The field is not in the output."""
        self._add(FieldVerdict.LEFT, name, given, ("", why), line)

    def all(self) -> tuple[Decision, ...]:
        """The decisions in the order in which they were made."""
        return tuple(self._decisions)

    def _add(self, verdict: FieldVerdict, name: str, given: object, said: tuple[str, str], line: int | None) -> None:
        place = self.place if line is None else SourceLine(file=self.place.file, line=line)
        shown = "" if given is None else _shown(given)
        self._decisions.append(
            Decision(field=name, verdict=verdict, given=shown, became=said[0], why=said[1], place=place)
        )


def _shown(given: object) -> str:
    match given:
        case bool():
            return str(given).lower()
        case tuple() | list():
            return " ".join(map(str, given))
        case _:
            return str(given)
