"""Code that runs only where an environment variable is set: `if (process.env.RUN_CRON === 'true') { ... }`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ast_grep_py import SgNode

UNDECIDED: Final = object()
"""What depends on anything else than the settings of the process."""

_IF = frozenset({"if_statement", "if", "if_modifier", "elif_clause"})
_VARIABLE = re.compile(
    r"(?:\bprocess\.env\.|\b(?:process\.env|os\.environ|ENV)(?:\.get|\.fetch)?[\[(]\s*[\"']"
    r"|\b(?:os\.getenv|os\.Getenv|System\.getenv|Environment\.GetEnvironmentVariable|env)\(\s*[\"'])(?P<name>\w+)"
)
_NEGATED = re.compile(r"!(?!=)|!=|\bnot\b|\bfalse\b|\bnil\b|\bNone\b|==\s*[\"'](?:0|)[\"']", re.IGNORECASE)
STAGES = re.compile(r"\w*ENV|\w*ENVIRONMENT|NEXT_RUNTIME|DEBUG|CI|STAGE|WERKZEUG_RUN_MAIN")
"""Variables that tell where the code runs, and not which copy it is."""
OFF = frozenset({"", "0", "false", "no", "off", "disabled"})


def switch_of(node: SgNode) -> str | None:
    """The variable that has to be set for the code to run; None if there is none, or it is not that simple."""
    below, parent = node, node.parent()
    while parent is not None:
        if parent.kind() in _IF and (condition := parent.field("condition")) is not None:
            found = _VARIABLE.search(condition.text())
            other = parent.field("alternative")
            in_other = other is not None and other.range().start.index <= below.range().start.index
            if found is not None and not in_other and not _NEGATED.search(condition.text()):
                return None if STAGES.fullmatch(found["name"]) else found["name"]
        below, parent = parent, parent.parent()
    return None


def is_on(switch: str, environment: Iterable[tuple[str, str]]) -> bool:
    """True if the settings of a service switch the code on."""
    return any(name == switch and value.strip().lower() not in OFF for name, value in environment)
