"""Where a rule matches in a file of code, with the work that it starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ast_grep_py import SgNode, SgRoot

from cronce.adopt.audit.elsewhere import Elsewhere
from cronce.adopt.audit.imports import IMPORTS, imported
from cronce.adopt.audit.intervals import seconds_of
from cronce.adopt.audit.model import StartCall
from cronce.adopt.audit.rules import Rule, rules
from cronce.adopt.audit.switches import switch_of
from cronce.adopt.audit.tree import SourceFile

LONG = 3600.0
"""Seconds. A timer that fires more often keeps a process in order; a longer one is a schedule."""

_NAMED = {"identifier", "attribute", "member_expression", "selector_expression", "member_access_expression", "constant"}
_ANONYMOUS = {
    "lambda",
    "arrow_function",
    "function_expression",
    "function",
    "func_literal",
    "anonymous_function",
    "anonymous_function_creation_expression",
    "lambda_expression",
    "do_block",
    "block",
    "lambda_literal",
}
_DEFINITIONS: dict[str, tuple[str, ...]] = {
    "python": ("function_definition",),
    "javascript": ("function_declaration", "variable_declarator", "method_definition"),
    "typescript": ("function_declaration", "variable_declarator", "method_definition"),
    "tsx": ("function_declaration", "variable_declarator", "method_definition"),
    "ruby": ("method",),
    "go": ("function_declaration", "method_declaration"),
    "java": ("method_declaration",),
    "kotlin": ("function_declaration",),
    "csharp": ("method_declaration", "local_function_statement"),
    "php": ("function_definition", "method_declaration"),
}
_AROUND = {
    "decorated_definition",
    "method_declaration",
    "function_declaration",
    "method_definition",
    "public_field_definition",
    "class_declaration",
}
"""What a decorator or annotation belongs to."""


_IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A rule matched.

    Attributes:
        rule: Which.
        line: From 1.
        text: The whole match, with the statement that it is a part of.
        job: The code of the work that is started, if it is in the same file.
        job_line: Its line, from 1.
        job_has_name: False if it is a function without a name, which nothing else can call; None if unknown.
        switch: The environment variable without which it does not start; None if there is none.
        is_made: True if this makes the clock; False if it only gives jobs to one that is made elsewhere.
        start: The call that starts it; None if it runs from where it is.
    """

    rule: Rule
    line: int
    text: str
    job: str | None
    job_line: int
    job_has_name: bool | None
    switch: str | None
    is_made: bool
    start: StartCall | None


def matches(file: SourceFile, elsewhere: Elsewhere | None = None) -> list[Match]:
    """Every match of every rule in the file, in the order of lines.

    Args:
        file: The file.
        elsewhere: What other files say of its intervals, if they are known.
    """
    if file.language is None:
        return []
    candidates = [
        rule
        for rule in _for_language(file.language)
        if file.has_any(rule.words) and (rule.path is None or rule.path.search(str(file.path)))
    ]
    candidates = [rule for rule in candidates if _imports(rule, file.text, file.language) is not None]
    if file.language == "python" and elsewhere is not None:
        candidates = [rule for rule in candidates if not _is_shadowed(rule, file, elsewhere)]
    if not candidates:
        return []
    root = SgRoot(file.text, file.language).root()
    imports = _import_text(root, file)
    found: list[Match] = []
    for rule in candidates:
        if (names := _imports(rule, imports, file.language)) is not None:
            found += _matches_of(rule, root, names, file, elsewhere)
    return sorted(found, key=lambda match: match.line)


def _is_shadowed(rule: Rule, file: SourceFile, elsewhere: Elsewhere) -> bool:
    """Whether the module that the file imports is one of the project, with the name of the rule's library."""
    names = {name for name in _IMPORTED.findall(file.text) if re.fullmatch(rule.module, name)} if rule.module else ()
    return any(elsewhere.has_module(name, file.path) for name in names)


def _imports(rule: Rule, text: str, language: str) -> Mapping[str, str] | None:
    return imported(text, language, rule.module) if rule.module else {}


def _import_text(root: SgNode, file: SourceFile) -> str:
    """The imports of the file, one per line; the whole file for a language in which an import is no node of its own."""
    kinds = IMPORTS.get(file.language or "")
    if kinds is None:
        return file.text
    config: Any = {"rule": {"any": [{"kind": kind} for kind in kinds]}}
    return "\n".join(node.text() for node in root.find_all(config))


@cache
def _for_language(language: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules() if language in rule.languages)


def _matches_of(
    rule: Rule, root: SgNode, names: Mapping[str, str], file: SourceFile, elsewhere: Elsewhere | None
) -> Iterator[Match]:
    config: Any = {"rule": rule.find[file.language or ""]}  # read from YAML
    for node in root.find_all(config):
        library = node.get_match("LIB")
        if library is not None and not _is_from(library.text(), names, rule):
            continue
        every = node.get_match("EVERY")
        if every is not None and _seconds(every.text(), file.text, rule.unit, elsewhere) < LONG:
            continue
        whole = _whole(node)
        text = whole.text()
        if rule.unless and rule.unless.search(text):
            continue
        job, line, has_name = _job(node, whole, root, file.language or "")
        yield Match(
            rule=rule,
            line=node.range().start.line + 1,
            text=text,
            job=job,
            job_line=line,
            job_has_name=has_name,
            switch=switch_of(node),
            is_made=_is_made(rule, node, file.language or ""),
            start=_start(rule, node),
        )


def _seconds(expression: str, text: str, unit: float, elsewhere: Elsewhere | None) -> float:
    """The seconds of an interval by its file, or by a module of settings; 0 if nothing states them."""
    seconds = seconds_of(expression, text, unit)
    if seconds is None and elsewhere is not None and (more := elsewhere.lines_for(expression, text)):
        seconds = seconds_of(expression, f"{text}\n{more}\n", unit)
    return seconds or 0


def _is_made(rule: Rule, node: SgNode, language: str) -> bool:
    """True for what comes from the library itself; a call that only starts what others made does not count."""
    if (
        rule.started is not None
        and rule.started[1] == "module"
        and re.match(rf"[\w.]*\b({rule.started[0]})\(", node.text())
    ):
        return False
    return node.get_match("LIB") is not None or "$LIB" not in str(rule.find[language])


def _start(rule: Rule, node: SgNode) -> StartCall | None:
    if rule.started is None:
        return None
    methods, of = rule.started
    if of == "module":
        return StartCall(variable=None, methods=methods)
    parent = node.parent()
    is_object = node.get_match("LIB") is not None and parent is not None and parent.kind() == "assignment"
    target = parent.field("left") if parent is not None and is_object else None
    if target is None or target.kind() != "identifier":
        return None
    return StartCall(variable=target.text(), methods=methods)


def _is_from(text: str, names: Mapping[str, str], rule: Rule) -> bool:
    """True if the expression begins with an imported name, and what it names in the module is one of the rule's."""
    first, *rest = re.split(r"(?=[^\w$])", text.lstrip("&*@\\"), maxsplit=1)
    if first not in names:
        return False
    full = names[first] + "".join(rest)
    return rule.names is None or rule.names.search(re.split(r"\W", full)[-1]) is not None


def _whole(node: SgNode) -> SgNode:
    """The outermost call of a chain, or the definition that an annotation belongs to."""
    whole = node
    kind = node.kind()
    while (parent := whole.parent()) is not None:
        around = parent.kind()
        if kind in ("decorator", "annotation", "marker_annotation", "attribute_list", "attribute", "modifiers"):
            whole = parent
            if around in _AROUND:
                break
            continue
        is_link = around.endswith(("call", "call_expression", "invocation_expression", "method_invocation"))
        is_access = around in ("attribute", "member_expression", "member_access_expression", "selector_expression")
        if (is_link or is_access) and parent.range().start.index == whole.range().start.index:
            whole = parent
            continue
        break
    return whole


def _job(node: SgNode, whole: SgNode, root: SgNode, language: str) -> tuple[str | None, int, bool | None]:
    """The code of the work, its line, and whether it has a name."""
    line = node.range().start.line + 1
    job = node.get_match("JOB")
    if job is None:
        is_definition = whole.kind() in _AROUND - {"class_declaration"}
        return (whole.text(), line, True) if is_definition else (None, line, None)
    if job.kind() in ("keyword_argument", "pair", "argument", "value_argument"):
        children = job.named_children()
        job = children[-1] if children else job
    kind = job.kind()
    if kind in _ANONYMOUS:
        return job.text(), job.range().start.line + 1, False
    name = re.split(r"\W+", job.text().rstrip("()"))[-1]
    if kind in _NAMED and name and (definition := _definition(root, language, name)):
        return definition.text(), definition.range().start.line + 1, True
    return None, line, True if kind in _NAMED else None


def _definition(root: SgNode, language: str, name: str) -> SgNode | None:
    kinds: Sequence[str] = _DEFINITIONS.get(language, ())
    for kind in kinds:
        config: Any = {"rule": {"kind": kind, "has": {"field": "name", "regex": f"^{re.escape(name)}$"}}}
        found: SgNode | None = root.find(config)
        if found is not None:
            return found
    return None
