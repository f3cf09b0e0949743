"""The findings as SARIF 2.1.0 (OASIS, 27 March 2020), which code hosts show beside the lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cronce.adopt.audit.catalogue import FINDINGS
from cronce.adopt.audit.model import AuditFinding, Place, Severity
from cronce.vocabulary.version import VERSION

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif_document(findings: Sequence[AuditFinding]) -> dict[str, Any]:
    """A log with one run, one rule per name of a finding, and one result per finding."""
    names = list(FINDINGS)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "cronce audit",
                        "version": VERSION,
                        "rules": [{"id": name, "shortDescription": {"text": FINDINGS[name]}} for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, names) for finding in findings],
            }
        ],
    }


def _result(finding: AuditFinding, names: Sequence[str]) -> dict[str, Any]:
    text = f"{finding.message}\n{finding.fix}" if finding.fix else finding.message
    document: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": names.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(finding.place)],
    }
    if finding.related:
        document["relatedLocations"] = [
            {"id": number, "message": {"text": what}} | _location(place)
            for number, (place, what) in enumerate(finding.related, 1)
        ]
    return document


def _location(place: Place) -> dict[str, Any]:
    # A name need not be UTF-8: its bytes are what the URI has.
    uri = quote(os.fsencode(place.path.as_posix()))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(place.line, 1)},
        }
    }
