"""Clocks times copies: which clock starts its work more than once, and what to do about it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cronce.adopt.audit.clocks_in_services import ClockInService, running, unused
from cronce.adopt.audit.files import ROOT, Files
from cronce.adopt.audit.fixes import fix_for
from cronce.adopt.audit.model import AuditFinding, FoundClock, FoundService, Place, Severity
from cronce.adopt.audit.services.web_servers import is_web


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What clocks and services are together.

    Attributes:
        findings: In the order of places.
        idle: The clocks that nothing in the project starts.
    """

    findings: tuple[AuditFinding, ...]
    idle: frozenset[FoundClock]


def join(
    clocks: Sequence[FoundClock],
    services: Sequence[FoundService],
    files: Files,
    *,
    hidden: Sequence[FoundClock] = (),
    runs_once: Collection[Place] = (),
) -> Joined:
    """The findings about clocks and copies.

    Args:
        clocks: Those that were found in code, images and commands.
        services: What the project deploys.
        files: The project's files; followed from commands to the code that they load.
        hidden: Clocks that a comment hides: they have no findings, nor has the service whose command they are.
        runs_once: Commands that the platform starts at set times, which is no clock of the project's own.
    """
    by_clock: dict[FoundClock, list[ClockInService]] = {}
    for each in running([*clocks, *hidden], services, files):
        if each.clock not in hidden:
            by_clock.setdefault(each.clock, []).append(each)
    acted_on = {d for every in by_clock.values() for each in every for d in (*each.definitions, *each.same)}
    started = {clock.rule for clock in clocks if not clock.defines}
    acted_on |= {clock for clock in clocks if clock.defines and clock.rule in started}
    if "cron-in-image" in started:  # cron starts each command of a crontab
        crontabs = {clock.place.path for clock in clocks if clock.rule == "cron-in-image" and clock.defines}
        written = {clock for clock in clocks if clock.place.path in crontabs or clock.rule in _WRITE_CRONTABS}
        acted_on |= written
        by_clock = {clock: every for clock, every in by_clock.items() if clock not in written}
    findings = [_judged(clock, every, files) for clock, every in by_clock.items()]
    acted_on |= {clock for clock in clocks if clock.place in runs_once}
    left = [clock for clock in clocks if clock not in acted_on | set(by_clock)]
    idle = unused(left, files) if services else []
    findings += [_without_service(clock, services) for clock in left if clock not in idle]
    findings.sort(key=lambda finding: (finding.place.path, finding.place.line, finding.rule))
    return Joined(findings=tuple(findings), idle=frozenset(idle))


_WRITE_CRONTABS = frozenset({"whenever", "django-crontab"})
"""What only writes the crontab that cron acts on."""


def _judged(clock: FoundClock, every: Sequence[ClockInService], files: Files) -> AuditFinding:
    """The one finding about a clock that services run: the gravest that holds."""
    worst = max(every, key=lambda each: _copies(each.service))
    name = f"{clock.tool} runs in service {worst.service.name}"
    lock = clock.protected or (worst.lock if all(each.lock for each in every) else None)
    if lock is not None:
        return _finding(
            "clock-with-own-lock",
            Severity.INFO,
            clock.place,
            f"{name}, but one copy at a time acts on it: {lock}",
            every,
            "",
        )
    certain = [each for each in every if each.certain and each.lock is None]
    if not certain:
        count = _in_words(worst.service)
        several = _copies(worst.service) > 1
        return _finding(
            "clock-perhaps-in-copies",
            Severity.WARNING if several else Severity.INFO,
            clock.place,
            f"{clock.tool} may run in service {worst.service.name}, which has {count}: {worst.way}",
            every,
            fix_for(worst) if several else "",
        )
    worst = max(certain, key=lambda each: _copies(each.service))
    if _is_unknown(worst.service):
        return _finding(
            "clock-perhaps-in-copies",
            Severity.WARNING,
            clock.place,
            f"{name}, which has {_in_words(worst.service)}{f': {worst.way}' if worst.way else ''}",
            every,
            fix_for(worst),
        )
    service, way = worst.service, f": {worst.way}" if worst.way else ""
    if _copies(service) > 1:
        return _finding(
            "clock-in-copies",
            Severity.ERROR,
            clock.place,
            f"{clock.tool} runs in each of {_in_words(service)} of service {service.name}, so each job starts "
            f"{_times(service)}{way}",
            every,
            fix_for(worst),
        )
    together = _deployed_together(certain)
    if len(together) > 1:
        names = " and ".join(sorted({each.service.name for each in together}))
        return _finding(
            "clock-in-services",
            Severity.ERROR,
            clock.place,
            f"{clock.tool} runs in {len(together)} services that are deployed together, {names}, so each job starts "
            f"{len(together)} times{way}",
            every,
            fix_for(worst),
        )
    if service.overlap:
        return _finding(
            "clock-doubles-in-deployment",
            Severity.WARNING,
            service.place,
            f"{clock.tool} is kept to one copy of service {service.name} by one line, and a deployment breaks that: "
            f"{service.overlap}{way}",
            every,
            fix_for(worst),
        )
    if service.command is not None and is_web(service.command, service.folder or ROOT, files):
        return _finding(
            "clock-in-web-process",
            Severity.WARNING,
            clock.place,
            f"{clock.tool} runs inside the web process of service {service.name}: whoever scales it starts each "
            f"job once per copy{way}",
            every,
            fix_for(worst),
        )
    line = service.copies or "nothing scales it"
    return _finding(
        "clock-kept-by-one-line",
        Severity.INFO,
        service.place,
        f"{clock.tool} runs once only because service {service.name} has one copy: it is kept by one line ({line})",
        every,
        fix_for(worst),
    )


def _without_service(clock: FoundClock, services: Sequence[FoundService]) -> AuditFinding:
    why = (
        "no service of the project is known to run it"
        if services
        else "the project has no file that says how many copies run"
    )
    if clock.protected is not None:
        why = f"{why}; one copy at a time acts on it: {clock.protected}"
    elif clock.defines and clock.command is not None:
        why = f"nothing in the project starts `{' '.join(clock.command)}`, which acts on it"
    return AuditFinding(
        rule="clock-with-own-lock" if clock.protected is not None else "clock-without-service",
        severity=Severity.WARNING if clock.protected is None else Severity.INFO,
        place=clock.place,
        message=f"{clock.tool}: {why}",
        fix=""
        if clock.protected is not None
        else "Make sure that one copy runs it, or ask the ledger: cronce exec, cronce pin",
    )


def _deployed_together(every: Iterable[ClockInService]) -> list[ClockInService]:
    """The largest group of services of one file or folder: Compose files for two environments are two."""
    groups: dict[tuple[str, object], dict[str, ClockInService]] = defaultdict(dict)
    for each in every:
        service = each.service
        key = service.place.path if service.kind in ("compose", "procfile") else service.place.path.parent
        groups[service.kind, key].setdefault(service.name, each)
    return list(max(groups.values(), key=len).values())


def _copies(service: FoundService) -> int:
    """Processes that load the code, for comparison."""
    return (service.most if service.most is not None else max(service.least, 2)) * service.processes


def _is_unknown(service: FoundService) -> bool:
    """Whether no number is known; one copy per node is no number, but it is more than one."""
    return service.most is None and service.least < 2 and service.processes == 1


def _in_words(service: FoundService) -> str:
    """`4 copies (deploy.replicas: 4)`, `up to 6 copies`, `2 copies with 3 processes each (--workers 3)`."""
    stated = f" ({service.copies})" if service.copies else ""
    if service.most is None:
        copies = f"an unknown number of copies{stated}"
    elif service.most != service.least and service.most > 1:
        copies = f"up to {service.most} copies{stated}"
    else:
        copies = f"{service.most} {'copy' if service.most == 1 else 'copies'}{stated}"
    if service.processes == 1:
        return copies
    forks = f" ({service.forks})" if service.forks else ""
    if service.most == 1:
        return f"{service.processes} processes{forks}"
    return f"{copies} with {service.processes} processes each{forks}"


def _times(service: FoundService) -> str:
    if service.most is None:
        return "once per copy"
    return f"{'up to ' if service.most != service.least else ''}{_copies(service)} times"


def _finding(  # noqa: PLR0917  # the fields of a finding, in their order
    rule: str, severity: Severity, place: Place, message: str, every: Sequence[ClockInService], fix: str
) -> AuditFinding:
    related: dict[Place, str] = {}
    for where, what in (pair for each in every for pair in _related(each)):
        if where != place:
            related.setdefault(where, what)
    return AuditFinding(
        rule=rule, severity=severity, place=place, message=message, fix=fix, related=tuple(related.items())
    )


def _related(each: ClockInService) -> Iterator[tuple[Place, str]]:
    clock, service = each.clock, each.service
    yield clock.place, f"the clock: {clock.tool}"
    yield service.place, f"service {service.name}: {_in_words(service)}"
    if service.command_place is not None and service.command is not None:
        yield service.command_place, f"the command of service {service.name}"
    for definition in each.definitions:
        yield definition.place, "what is due is defined here"
