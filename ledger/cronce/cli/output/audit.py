"""What an audit found, on the terminal and as a document."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from cronce.adopt.audit.model import AuditFinding, FoundClock, FoundService, Place, Severity
from cronce.adopt.audit.run import Audit
from cronce.cli.output.tables import PlainConsole
from cronce.operate.wording import visible, visible_lines

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_PLURALS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "infos"}


def print_audit(found: Audit) -> None:
    """Print the findings, the gravest first: place and rule, what is wrong, where else to look, what to write."""
    console = PlainConsole()
    for finding in found.findings:
        _print_finding(console, finding)
    for skipped in found.skipped:
        console.print(
            Text(f"Not read: {visible(str(skipped.path))}: {visible(skipped.why)}", style="yellow"), soft_wrap=True
        )
    counts = ", ".join(
        _counted(sum(finding.severity is severity for finding in found.findings), severity) for severity in Severity
    )
    hidden = f" {found.ignored} ignored by comments." if found.ignored else ""
    console.print(
        f"{found.files:,} {'file' if found.files == 1 else 'files'}, {len(found.clocks)}"
        f" {'clock' if len(found.clocks) == 1 else 'clocks'}: {counts}.{hidden}",
        highlight=False,
    )


def audit_document(found: Audit) -> dict[str, Any]:
    """The document of `--json`; a value that is not known is null."""
    return {
        "findings": [_finding(finding) for finding in found.findings],
        "clocks": [_clock(clock) for clock in found.clocks],
        "services": [_service(service) for service in found.services],
        "files": found.files,
        "skipped": [{"path": str(skipped.path), "why": skipped.why} for skipped in found.skipped],
        "ignored": found.ignored,
    }


def _print_finding(console: PlainConsole, finding: AuditFinding) -> None:
    place = f"{visible(str(finding.place.path))}:{finding.place.line}"
    head = Text.assemble((place, "bold"), "  ", (finding.severity.value, _STYLES[finding.severity]), "  ", finding.rule)
    console.print(head, soft_wrap=True)
    _print_indented(console, finding.message, "")
    for related, what in finding.related:
        _print_indented(console, f"{related.path}:{related.line}: {what}", "dim")
    if finding.fix:
        # To copy, so never wrapped.
        for line in visible_lines(finding.fix).split("\n"):
            console.print(Text(f"    {line}", style="green"), soft_wrap=True)
    console.print()


def _print_indented(console: PlainConsole, text: str, style: str) -> None:
    if not console.is_terminal:
        console.print(Text(f"  {visible(text)}"), soft_wrap=True)
        return
    for line in Text(visible(text), style=style).wrap(console, console.width - 2):
        console.print(Text("  ").append_text(line))


def _counted(number: int, severity: Severity) -> str:
    return f"{number} {severity.value if number == 1 else _PLURALS[severity]}"


def _at(place: Place) -> dict[str, Any]:
    return {"path": str(place.path), "line": place.line}


def _finding(finding: AuditFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        **_at(finding.place),
        "message": finding.message,
        "fix": finding.fix,
        "related": [{**_at(place), "what": what} for place, what in finding.related],
    }


def _clock(clock: FoundClock) -> dict[str, Any]:
    return {
        "rule": clock.rule,
        "tool": clock.tool,
        **_at(clock.place),
        "also": list(clock.also),
        "text": clock.text,
        "command": None if clock.command is None else list(clock.command),
        "defines": clock.defines,
        "protected": clock.protected,
    }


def _service(service: FoundService) -> dict[str, Any]:
    return {
        "name": service.name,
        "kind": service.kind,
        **_at(service.place),
        "command": None if service.command is None else list(service.command),
        "folder": None if service.folder is None else str(service.folder),
        "least": service.least,
        "most": service.most,
        "processes": service.processes,
    }
