"""What the audit works with: the clocks that were found, the services that run in copies, and the findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath


class Severity(StrEnum):
    """How much a finding matters. `ERROR` and `WARNING` make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something was found: a file relative to the audited folder, and a line from 1."""

    path: PurePosixPath
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCall:
    """The call without which a clock does not run.

    Attributes:
        variable: The object whose method it is; None for a function of the tool's module.
        methods: A regular expression for the name.
    """

    variable: str | None
    methods: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundClock:
    """Something that starts work at set times, in code or in an image.

    Attributes:
        rule: The rule that found it, for instance `apscheduler`.
        tool: Its name for people, for instance `APScheduler`.
        place: Where it is.
        text: The source line, as found.
        command: The command that starts it, if it is started by one of its own (`celery beat`); None if it runs in
            whatever process loads the file.
        defines: True if this place only says what is due (`beat_schedule`, a crontab file), and `command`, wherever
            it is started, acts on it; or, without a command, a clock of the same rule in another file.
        protected: The lock or cluster mode of its own that lets one copy act, as found; None if there is none.
        also: Further lines of the file that belong to the same clock.
        switch: The environment variable that has to be set for it to start; None if there is none.
        start: The call that starts it; None if it runs from where it is.
        is_once_per_host: True if a lock lets one process per host run it.
    """

    rule: str
    tool: str
    place: Place
    text: str
    command: tuple[str, ...] | None = None
    defines: bool = False
    protected: str | None = None
    also: tuple[int, ...] = ()
    switch: str | None = None
    start: StartCall | None = None
    is_once_per_host: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundService:
    """One command that is deployed in a number of copies. A container that starts three programs is three of them.

    Attributes:
        name: Its name in the file that deploys it.
        kind: The file's tool, for instance `compose` or `ecs`.
        place: Where the number of copies is stated, or where the service is.
        command: What each copy runs, image defaults included, without shells and wrappers; None if unknown.
        folder: The folder that its image is built from; None if unknown.
        least: The fewest copies.
        most: The most copies; None if nothing limits them or the number is not known.
        processes: Processes per copy that each load the code (workers of a web server that forks).
        copies: What states the number of copies, as found, for instance `deploy.replicas: 4`; empty if nothing does.
        forks: What states the number of processes, for instance `--workers 4`; empty if there is one.
        overlap: Why two copies run for a while during a deployment, although `most` is 1; empty if they never do.
        command_place: Where the command is stated; None if it is unknown.
        image: The image's name, if the file names one.
        environment: The settings that the files give to it.
    """

    name: str
    kind: str
    place: Place
    command: tuple[str, ...] | None
    folder: PurePosixPath | None
    least: int = 1
    most: int | None = 1
    processes: int = 1
    copies: str = ""
    forks: str = ""
    overlap: str = ""
    command_place: Place | None = None
    image: str | None = None
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """One result.

    Attributes:
        rule: For instance `clock-in-copies`.
        severity: See `Severity`.
        place: Where to look first.
        message: One sentence: what is there and why it is a problem.
        fix: Text to use: a command, a piece of a file or of code. Empty if there is nothing to do.
        related: Further places, each with a word on what is there.
    """

    rule: str
    severity: Severity
    place: Place
    message: str
    fix: str = ""
    related: tuple[tuple[Place, str], ...] = ()
