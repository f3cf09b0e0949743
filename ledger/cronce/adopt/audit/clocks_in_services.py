"""Which service runs which clock: by the command that is the clock, or by the files that a command loads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath

from cronce.adopt.audit.clock_commands import clock_of_command
from cronce.adopt.audit.files import ROOT, Files
from cronce.adopt.audit.loading import Loaded, loaded_by
from cronce.adopt.audit.loading.code_reach import LANGUAGES_REACHED, CodeReach, Reach
from cronce.adopt.audit.loading.python_reach import PythonReach
from cronce.adopt.audit.loading.python_values import Process
from cronce.adopt.audit.loading.ruby import runs_in_ruby
from cronce.adopt.audit.model import FoundClock, FoundService
from cronce.adopt.audit.services.commands import GUARDS, program
from cronce.adopt.audit.switches import is_on
from cronce.adopt.audit.tree import LANGUAGES

_PER_CPU = 2
"""What "one per CPU" counts as: more than one."""
_LONGEST_COMMAND = 12
"""Lines of a command that is written in several."""
_ENDS = re.compile(
    r"manage\.py (?:migrate|collectstatic|check|loaddata|createsuperuser|makemigrations|compilemessages|wait_for_db)\b"
    r"|\b(?:rails|rake) (?:db|assets|tmp|cache):\w+|^\S*alembic\b|^\S*flask\b.*\bdb (?:upgrade|init|migrate)\b"
    r"|\bartisan (?:migrate|db:seed|storage:link|key:generate|optimize|\w+:(?:cache|clear))\b"
    r"|\bconsole (?:doctrine|cache):|\bprisma (?:migrate|db)\b|^\S*aerich\b|\bpip3? install\b"
)
"""Commands that prepare something and end: no clock in their code acts."""
_NOT_OURS = frozenset(
    {"postgres", "redis-server", "valkey-server", "mysqld", "mariadbd", "mongod", "nginx", "rabbitmq-server", "haproxy"}
    | {"traefik", "caddy", "envoy", "memcached", "prometheus", "grafana-server", "sh", "bash", "tail", "sleep"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockInService:
    """A service that runs a clock.

    Attributes:
        clock: The clock.
        service: The service.
        way: How the service comes to run it, as a clause; empty if its command is the clock.
        certain: False if the service only may run it: what its command loads is not known.
        definitions: Places in code that say what the clock does.
        same: Other lines of the same command.
        lock: Why one copy at a time starts the clock, although each loads it; None if nothing says so.
    """

    clock: FoundClock
    service: FoundService
    way: str = ""
    certain: bool = True
    definitions: tuple[FoundClock, ...] = ()
    same: tuple[FoundClock, ...] = ()
    lock: str | None = None


def running(clocks: Sequence[FoundClock], services: Sequence[FoundService], files: Files) -> list[ClockInService]:
    """Each clock with each service that runs it, or may run it. A clock that no service runs is not in the list."""
    loads = _Loads(files, frozenset(name.lower() for each in services for name, _ in each.environment))
    open_services = [
        service
        for service in services
        if (service.command or ())[:2] not in GUARDS and not _ENDS.search(" ".join(service.command or ()))
    ]
    found: list[ClockInService] = []
    for service in open_services:
        found += _by_command(service, clocks)
    for clock in clocks:
        if clock.command is None and not clock.defines:
            able = _switched_on(clock, open_services)
            certain = [each for service in able if (each := loads.certain(clock, service)) is not None]
            found += certain or [each for each in (loads.possible(clock, s) for s in able) if each is not None]
    return found


def _switched_on(clock: FoundClock, services: Sequence[FoundService]) -> Sequence[FoundService]:
    """The services whose settings let the clock start; all of them if no file gives its variable."""
    if (
        clock.switch is None
        or clock.place.path.suffix == ".py"
        or _is_reached_by_code(clock.place.path)
        or not any(clock.switch in dict(service.environment) for service in services)
    ):
        return services
    return [service for service in services if is_on(clock.switch, service.environment)]


def _by_command(service: FoundService, clocks: Sequence[FoundClock]) -> Iterator[ClockInService]:
    """The clock that the service's command is: as found where the command is written, or as the whole command says.

    The words of a command may be in several lines, and in several files; each line alone may look like a clock.
    """
    place, command = service.command_place, service.command
    if place is None or command is None:
        return
    rule = clock_of_command(command)
    written = [
        clock
        for clock in clocks
        if clock.command is not None and not clock.defines and clock.place.path == place.path
        if place.line in (clock.place.line, *clock.also)
        or (rule is not None and clock.rule == rule.id and 0 < clock.place.line - place.line <= _LONGEST_COMMAND)
    ]
    written.sort(key=lambda clock: abs(clock.place.line - place.line))
    if not written and rule is not None:
        text = " ".join(command)
        locks = (each.by for each in rule.protections if each.scope == "match" and each.pattern.search(text))
        written = [
            FoundClock(
                rule=rule.id, tool=rule.tool, place=place, text=text, command=command, protected=next(locks, None)
            )
        ]
    if written:
        definitions = (each for each in clocks if each.defines and each.rule == written[0].rule)
        yield ClockInService(
            clock=written[0],
            service=service,
            definitions=tuple(each for each in definitions if _may_hold(service.folder, each.place.path)),
            same=tuple(written[1:]),
        )


def _may_hold(folder: PurePosixPath | None, path: PurePosixPath) -> bool:
    return folder is None or folder == ROOT or folder in path.parents


class _Loads:
    """What each command loads, looked up once."""

    def __init__(self, files: Files, given: frozenset[str]) -> None:
        self._files = files
        self._given = given
        self._reach: dict[tuple[object, ...], PythonReach] = {}
        self._code: dict[tuple[object, ...], CodeReach] = {}
        self._known: dict[tuple[tuple[str, ...], PurePosixPath], Loaded | None] = {}

    def certain(self, clock: FoundClock, service: FoundService) -> ClockInService | None:
        """The clock in the service if its command loads the clock's file."""
        path, command = clock.place.path, service.command
        if command is None:
            return None
        loaded = self._of(command, service.folder or ROOT)
        if loaded is None or path not in loaded.by:
            return None
        if path.suffix == ".py" and not self._reached(clock, command, service, loaded):
            return None
        if path.suffix == ".rb" and not runs_in_ruby(self._files.text(path) or "", command):
            return None
        if clock.is_once_per_host:
            service = replace(service, processes=1, forks="")
        found = ClockInService(clock=clock, service=service, way=_way(command, loaded, path))
        if path.suffix == ".py" and not self._reached(clock, command, service, loaded, leads=False):
            return replace(found, lock="one copy starts it: the leader, or the first")
        return self._in_processes(found, loaded) if _is_reached_by_code(path) else found

    def _in_processes(self, found: ClockInService, loaded: Loaded) -> ClockInService | None:
        """The clock with the processes of the service that start it; None if none does."""
        clock, service = found.clock, found.service
        key = (service.command, service.folder, service.environment)
        if key not in self._code:
            process = Process(
                argv=service.command or (),
                names=frozenset(),
                environment=dict(service.environment),
                given=self._given,
            )
            self._code[key] = CodeReach(loaded, self._files, process)
        match _way_of(clock, self._code[key]):
            case Reach.NEVER:
                return None
            case Reach.AS_LEADER:
                return replace(found, lock="only the elected leader starts it")
            case Reach.ONCE:
                return replace(found, service=replace(service, processes=1, forks=""))
            case Reach.IN_EACH_WORKER:
                forked = replace(service, processes=service.processes * _PER_CPU, forks="cluster.fork()")
                return replace(found, service=forked)
            case Reach.YES:
                return found

    def _reached(
        self, clock: FoundClock, command: tuple[str, ...], service: FoundService, loaded: Loaded, *, leads: bool = True
    ) -> bool:
        key = (command, service.folder, service.environment, leads)
        if key not in self._reach:
            process = Process(
                argv=command, names=loaded.names, environment=dict(service.environment), given=self._given
            )
            self._reach[key] = PythonReach(loaded, self._files, process, leads=leads)
        return _runs(clock, self._reach[key], _anywhere(self._files))

    def possible(self, clock: FoundClock, service: FoundService) -> ClockInService | None:
        """The clock in the service if the service is built from the clock's folder and nothing says what it loads."""
        path = clock.place.path
        if service.folder is None or not _may_hold(service.folder, path):
            return None
        if service.command is None:
            return ClockInService(clock=clock, service=service, way="what it starts is not known", certain=False)
        if program(service.command) in _NOT_OURS or self._of(service.command, service.folder) is not None:
            return None
        way = f"what {_short(service.command)} loads is not known"
        return ClockInService(clock=clock, service=service, way=way, certain=False)

    def _of(self, command: tuple[str, ...], folder: PurePosixPath) -> Loaded | None:
        key = (command, folder)
        if key not in self._known:
            self._known[key] = loaded_by(command, folder, self._files)
        return self._known[key]


def _is_reached_by_code(path: PurePosixPath) -> bool:
    return LANGUAGES.get(path.suffix) in LANGUAGES_REACHED


def _way_of(clock: FoundClock, reach: CodeReach) -> Reach:
    """How a process starts the clock that one of its files makes, at whichever of its lines it starts most often."""
    is_annotated = clock.rule == "spring-scheduled"
    lines = (clock.place.line, *clock.also)
    return max(reach.way(clock.place.path, line, annotated=is_annotated) for line in lines)


def _runs(clock: FoundClock, reach: PythonReach, anywhere: PythonReach) -> bool:
    """Whether a process of Python starts the clock that one of its files makes."""
    path, start = clock.place.path, clock.start
    if start is not None:
        methods = re.compile(start.methods)
        if (started := reach.started(path, start.variable, methods)) is not None:
            return started
        if anywhere.started(path, start.variable, methods) is not None:
            return False  # another process does
        if start.variable is not None and anywhere.is_only_filled(path, start.variable):
            return False
    return any(reach.runs(path, line) for line in (clock.place.line, *clock.also))


def unused(clocks: Sequence[FoundClock], files: Files) -> list[FoundClock]:
    """The clocks that nothing in the project starts, whatever is run."""
    anywhere = _anywhere(files)
    own = [clock for clock in clocks if clock.command is None and not clock.defines]
    idle = [clock for clock in own if clock.place.path.suffix == ".py" and not _runs(clock, anywhere, anywhere)]
    in_code = [clock for clock in own if _is_reached_by_code(clock.place.path)]
    if in_code:
        code = Loaded(by={path: None for path in files if _is_reached_by_code(path)})
        reach = CodeReach(code, files, None)
        idle += [clock for clock in in_code if _way_of(clock, reach) is Reach.NEVER]
    return idle


@lru_cache(maxsize=4)
def _anywhere(files: Files) -> PythonReach:
    """All code of the project as if it were one process."""
    return PythonReach(Loaded(by={path: None for path in files if path.suffix in (".py", "")}), files, None)


def _way(command: tuple[str, ...], loaded: Loaded, path: PurePosixPath) -> str:
    trace = loaded.trace(path)
    return f"its command, {_short(command)}, loads it" + (f" ({trace})" if trace else "")


def _short(command: tuple[str, ...]) -> str:
    text = " ".join(command)
    return f"`{text if len(text) <= 60 else text[:57] + '...'}`"
