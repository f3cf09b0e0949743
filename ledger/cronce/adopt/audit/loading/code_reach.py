"""Which code of loaded files runs, and in how many processes: JavaScript, TypeScript, Go, C#, Java and Kotlin.

Follows names from a piece of code back to the start of the process, through the conditions around each place. What
cannot be decided counts as running.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from ast_grep_py import SgNode, SgRoot

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.imports import imported
from cronce.adopt.audit.loading.conditions import Conditions
from cronce.adopt.audit.loading.loaded import Loaded
from cronce.adopt.audit.loading.python_values import Process
from cronce.adopt.audit.switches import UNDECIDED
from cronce.adopt.audit.tree import LANGUAGES

LANGUAGES_REACHED = frozenset({"javascript", "typescript", "tsx", "go", "csharp", "java", "kotlin"})
_DEEPEST = 25
_MOST_QUESTIONS = 200
"""Names that are looked up for one clock; what is not found by then counts as running."""
_JAVASCRIPT = frozenset({"javascript", "typescript", "tsx"})
_LONGEST = 400_000
"""Characters of a file that is parsed."""

_LEADS = re.compile(
    r"(?i)\bis_?(?:the_?)?(?:leader|master_?node)\b|(?:try|acquire)_?\w*lock\b|\bamI?Leader\b|\bis_?elected\b"
)
_LEADING = re.compile(
    r"(?i)^(?:on_?started_?leading|on_?(?:elected|leader|became_?leader|gain\w*leader\w*)|(?:run_?)?(?:as|if|when)_?leader)$"
)
_PRIMARY = re.compile(r"\bis(?:Primary|Master)\b")
_WORKER = re.compile(r"\bisWorker\b")
_FIRST = re.compile(r"NODE_APP_INSTANCE|\bpm_id\b|\bINSTANCE_ID\b")
_FORKS = re.compile(r"\bcluster\.fork\(|\bthrong\(")
_ENDS = re.compile(r"\b(?:return|throw|panic\(|process\.exit\(|os\.Exit\(|Environment\.Exit\()")

_COMMAND_OF_GO = re.compile(r"\b(?:Use|Name):\s*\"([\w-]+)[^\"]*\"")
_COMMAND_OF_JAVASCRIPT = re.compile(r"\.command\(\s*[\"'`]([\w:-]+)[^\"'`]*[\"'`]")
_RUNS = re.compile(r"\b(?:RunE?|Action):")
_FUNCTIONS = frozenset(
    {"function_declaration", "generator_function_declaration", "method_definition", "method_declaration"}
    | {"local_function_statement"}
)
_METHODS = frozenset({"method_definition", "method_declaration", "pair", "public_field_definition"})
"""What belongs to a class or an object, whose own uses count, too."""
_VALUES = frozenset({"arrow_function", "function_expression", "func_literal"})
_CLASSES = frozenset({"class_declaration", "class", "abstract_class_declaration", "object_declaration"})
_OF_JAVASCRIPT = ("identifier", "property_identifier", "shorthand_property_identifier")
_NAMES: Mapping[str, tuple[str, ...]] = {
    "javascript": _OF_JAVASCRIPT,
    "typescript": (*_OF_JAVASCRIPT, "type_identifier"),
    "tsx": (*_OF_JAVASCRIPT, "type_identifier"),
    "go": ("identifier", "field_identifier", "type_identifier"),
    "csharp": ("identifier",),
    "java": ("identifier", "type_identifier"),
    "kotlin": ("simple_identifier", "type_identifier"),
}
"""The kinds of nodes that are names."""
_BLOCKS = frozenset({"statement_block", "program", "block", "statement_list", "compilation_unit"})
_CALLS = frozenset(
    {"call_expression", "new_expression", "decorator", "annotation", "marker_annotation", "invocation_expression"}
    | {"object_creation_expression", "method_invocation"}
)
_IMPORTS = frozenset({"import_statement", "import_declaration", "export_clause", "import_clause", "using_directive"})
_BY_FRAMEWORK = re.compile(
    r"main|init|register|bootstrap|handler|setup|default|plugin|up|down|run|execute|perform|handle|start"
)
"""Functions that something outside of the project may call by their name."""


class Reach(IntEnum):
    """How a piece of code runs in a copy of a service."""

    NEVER = 0
    AS_LEADER = 1
    ONCE = 2
    YES = 3
    IN_EACH_WORKER = 4


def _along(outer: Reach, inner: Reach) -> Reach:
    """The way of what runs so inside of what runs so."""
    low, high = min(outer, inner), max(outer, inner)
    return low if low < Reach.YES else high


@lru_cache(maxsize=2048)
def _parsed(text: str, language: str) -> SgNode:
    return SgRoot(text, language).root()


class CodeReach:
    """What runs in one process.

    Args:
        loaded: The files that it loads.
        files: The project.
        process: Its command and settings; None for any process of the project at all.
    """

    def __init__(self, loaded: Loaded, files: Files, process: Process | None) -> None:
        self._loaded = loaded
        self._files = files
        self._conditions = Conditions(process, files, self._texts) if process is not None else None
        self._process = process
        self._known: dict[tuple[PurePosixPath, str], Reach] = {}
        self._asking: set[tuple[PurePosixPath, str]] = set()
        self._asked = 0
        self._has_circle = False
        self._commands = {
            match[1]
            for path in loaded.by
            for pattern in (_COMMAND_OF_GO, _COMMAND_OF_JAVASCRIPT)
            for match in pattern.finditer(self._text(path) if process is not None else "")
        }
        self._forks = any(
            loaded.by[path] is None and _FORKS.search(self._text(path)) for path in loaded.by if not loaded.whole
        )

    def way(self, path: PurePosixPath, line: int, *, annotated: bool = False) -> Reach:
        """How the line of a loaded file runs; `annotated` if the framework has to switch such annotations on."""
        root = self._root(path)
        node = _at(root, line) if root is not None else None
        if node is None:
            return Reach.YES
        found = self._of(path, node)
        if annotated and found is not Reach.NEVER:
            found = _along(found, self._enabled())
        return Reach.IN_EACH_WORKER if self._forks and found is Reach.YES else found

    def _of(self, path: PurePosixPath, node: SgNode) -> Reach:
        """The way of a node, from the inside out."""
        way = Reach.YES
        inner = node
        for outer in node.ancestors():
            way = _along(way, self._gate(path, inner, outer))
            if way is Reach.NEVER:
                return way
            name = _name_of(inner, outer)
            if name is not None and not (outer.kind() in _CLASSES and self._is_found_by_itself(outer)):
                way = _along(way, self._named(path, name, outer))
                if way is Reach.NEVER or outer.kind() not in _METHODS:
                    return way
            inner = outer
        return _along(way, self._imported(path))

    def _gate(self, path: PurePosixPath, inner: SgNode, outer: SgNode) -> Reach:
        """What a condition around the code, or before it in the same block, makes of it."""
        kind = outer.kind()
        if kind in ("if_statement", "ternary_expression"):
            condition, other = outer.field("condition"), outer.field("alternative")
            if condition is None or _same(condition, inner):
                return Reach.YES
            return self._judged(path, condition.text(), wanted=other is None or not _same(other, inner))
        if kind == "binary_expression" and (right := outer.field("right")) is not None and _same(right, inner):
            left, operator = outer.field("left"), outer.field("operator")
            if left is not None and operator is not None and operator.text() in ("&&", "||"):
                return self._judged(path, left.text(), wanted=operator.text() == "&&")
        if kind in ("switch_case", "expression_case", "switch_default", "default_case"):
            return self._case(path, outer)
        if kind in ("literal_value", "call_expression") and (way := self._commanded(inner, outer)) is Reach.NEVER:
            return way
        if kind in ("keyed_element", "pair", "call_expression"):
            key = outer.field("key") or outer.field("function") or outer.child(0)
            if (
                key is not None
                and not _same(key, inner)
                and _LEADING.fullmatch(key.text().rpartition(".")[2].strip("\"'"))
            ):
                return Reach.AS_LEADER
            if kind == "pair" and key is not None and key.text() in ("master", "primary"):
                return Reach.ONCE
        if kind in ("method_declaration", "class_declaration"):
            return self._annotated(outer)
        if kind in _BLOCKS:
            return self._before(path, inner, outer)
        return Reach.YES

    def _judged(self, path: PurePosixPath, condition: str, *, wanted: bool) -> Reach:
        if _PRIMARY.search(condition) or _WORKER.search(condition):
            negated = condition.lstrip("( ").startswith("!")
            is_primary = (_PRIMARY.search(condition) is not None) != negated
            return Reach.ONCE if is_primary == wanted else Reach.IN_EACH_WORKER
        if _FIRST.search(condition):
            return Reach.ONCE
        if _LEADS.search(condition):
            negated = condition.lstrip("( ").startswith("!") or "== false" in condition
            return Reach.AS_LEADER if negated != wanted else Reach.YES
        truth = self._conditions.truth(condition, path) if self._conditions is not None else None
        return Reach.YES if truth is None or truth is wanted else Reach.NEVER

    def _commanded(self, inner: SgNode, outer: SgNode) -> Reach:
        """A function that is a command of the program (cobra, urfave/cli, commander, yargs) runs if that is given."""
        if self._process is None:
            return Reach.YES
        text = outer.text()
        if outer.kind() == "literal_value":
            found = _COMMAND_OF_GO.search(text) if _RUNS.search(text) else None
        else:
            callee = outer.field("function")
            found = None
            if callee is not None and not _same(callee, inner):
                of_chain = list(
                    _COMMAND_OF_JAVASCRIPT.finditer(text[: inner.range().start.index - outer.range().start.index])
                )
                found = of_chain[-1] if of_chain else None
        if found is None:
            return Reach.YES
        chosen = [word for word in self._process.argv[1:] if word in self._commands]
        return Reach.YES if not chosen or found[1] in chosen else Reach.NEVER

    def _case(self, path: PurePosixPath, case: SgNode) -> Reach:
        switch = next((each for each in case.ancestors() if "switch" in each.kind() and each.field("value")), None)
        value = switch.field("value") if switch is not None else None
        if switch is None or value is None or self._conditions is None:
            return Reach.YES
        subject = self._conditions.value(value.text(), path)
        if subject is UNDECIDED:
            return Reach.YES
        own = case.field("value")
        if own is not None:
            return Reach.YES if subject in _quoted(own) else Reach.NEVER
        others = [value for each in (case.parent() or case).children() if (value := each.field("value")) is not None]
        return Reach.NEVER if any(subject in _quoted(value) for value in others) else Reach.YES

    def _before(self, path: PurePosixPath, inner: SgNode, block: SgNode) -> Reach:
        """`if (!leader) return;` before the code."""
        way = Reach.YES
        for each in block.children():
            if _same(each, inner):
                break
            if each.kind() in ("global_statement", "expression_statement") and len(each.children()):
                each = each.children()[0]  # noqa: PLW2901
            if each.kind() != "if_statement" or each.field("alternative") is not None:
                continue
            condition, body = each.field("condition"), each.field("consequence")
            if condition is not None and body is not None and _ENDS.search(body.text()):
                way = _along(way, self._judged(path, condition.text(), wanted=False))
        return way

    def _annotated(self, definition: SgNode) -> Reach:
        """`@ConditionalOnProperty`, `@Profile`, `@Requires` of a method or a class."""
        if self._conditions is None:
            return Reach.YES
        header = definition.text().partition("{")[0] if definition.kind() == "class_declaration" else definition.text()
        for match in _CONDITION.finditer(header):
            if self._holds(match["name"], match["given"]) is False:
                return Reach.NEVER
        return Reach.YES

    def _holds(self, name: str, given: str) -> bool | None:
        conditions = self._conditions
        if conditions is None:
            return None
        quoted = dict(re.findall(r"(\w+)\s*=\s*(?:\{\s*|\[\s*)?\"([^\"]*)\"", given))
        first = re.search(r"\"([^\"]*)\"", given)
        if name == "Profile" or "env" in quoted:
            active = conditions.profiles
            wanted = [quoted["env"]] if "env" in quoted else re.findall(r"\"([^\"]*)\"", given)
            if not isinstance(active, set) or not wanted:
                return None
            return any((each[1:] not in active) if each.startswith("!") else each in active for each in wanted)
        key = quoted.get("name") or quoted.get("property") or quoted.get("value") or (first[1] if first else "")
        if name == "Requires" and "property" not in quoted:
            return None
        prefix = quoted.get("prefix", "")
        value = conditions.setting(f"{prefix.rstrip('.')}.{key}" if prefix else key)
        if value is UNDECIDED:
            return None
        if value is None:
            return re.search(r"matchIfMissing\s*=\s*true", given) is not None or "defaultValue" in quoted
        wanted_value = quoted.get("havingValue") or (quoted.get("value") if name == "Requires" else None)
        return str(value).lower() == wanted_value.lower() if wanted_value else str(value).lower() != "false"

    def _enabled(self) -> Reach:
        """Whether Spring looks for `@Scheduled` at all: an `@EnableScheduling`, on a class that is in use."""
        ways: list[Reach] = []
        application = False
        for path in self._loaded.by:
            text = self._text(path)
            application = application or "@SpringBootApplication" in text
            for match in re.finditer(r"^\s*@EnableScheduling\b", text, re.MULTILINE):
                node = _at(self._root(path), text.count("\n", 0, match.end()) + 1)
                around = [each for each in node.ancestors() if each.kind() in _CLASSES] if node is not None else []
                ways.append(min((self._annotated(each) for each in around), default=Reach.YES))
        if ways:
            return max(ways)
        return Reach.NEVER if application and not self._has_xml() else Reach.YES

    def _has_xml(self) -> bool:
        return any(path.suffix == ".xml" and "annotation-driven" in self._text(path) for path in self._files)

    def _is_found_by_itself(self, definition: SgNode) -> bool:
        """A class that its framework finds: decorated, annotated, or not one that has to be registered."""
        header = definition.text().partition("{")[0]
        return re.search(r"@\w|^\[", header) is not None or definition.kind() == "object_declaration"

    def _named(self, path: PurePosixPath, name: str, definition: SgNode) -> Reach:
        """The way of the places that use a function, method or class."""

        def look_up() -> Reach:
            ways = (self._of(where, node) for where, node in self._mentions(path, name, definition))
            none = Reach.NEVER if self._needs_a_call(path, name, definition) else Reach.YES
            return _most(ways, none)

        return self._once((path, name), look_up)

    def _once(self, key: tuple[PurePosixPath, str], look_up: Callable[[], Reach]) -> Reach:
        """The way of a name or a file, looked up once; what is asked for while it is looked up itself does not run."""
        if key in self._known:
            return self._known[key]
        if key in self._asking:
            self._has_circle = True
            return Reach.NEVER
        if len(self._asking) >= _DEEPEST or self._asked >= _MOST_QUESTIONS:
            return Reach.YES
        self._asked += 1
        self._asking.add(key)
        found = look_up()
        self._asking.discard(key)
        if found >= Reach.YES or not self._has_circle:  # else it may depend on where the question began
            self._known[key] = found
        if not self._asking:
            self._has_circle, self._asked = False, 0
        return found

    def _needs_a_call(self, path: PurePosixPath, name: str, definition: SgNode) -> bool:
        language = LANGUAGES.get(path.suffix)
        if definition.kind() in _CLASSES:
            header = definition.text().partition("{")[0]
            return (
                language == "csharp" and re.search(r":.*\b(?:BackgroundService|IHostedService)\b", header) is not None
            )
        if self._process is not None and self._is_default(path, name):
            return False  # what loads the file may call it under any name
        if definition.kind() in _METHODS or _BY_FRAMEWORK.fullmatch(name):
            return False
        return language in ("javascript", "typescript", "tsx", "go")

    def _mentions(self, path: PurePosixPath, name: str, definition: SgNode) -> Iterator[tuple[PurePosixPath, SgNode]]:
        """Each use of a name that the file defines, in it and in the other files of the process."""
        stem = path.parent.name if path.stem == "index" else path.stem
        module = rf"[^\"'`]*\b{re.escape(stem)}(?:/index)?(?:\.[cm]?[jt]sx?)?"
        is_default = self._is_default(path, name)
        for where in self._loaded.by:
            language = LANGUAGES.get(where.suffix)
            text = self._text(where)
            names = {name}
            if language in _JAVASCRIPT and where != path and stem in text and (is_default or name in text):
                bound = imported(text, language, module) or {}
                names |= {
                    local for local, own in bound.items() if local and (own == name or (is_default and own == local))
                }
                if is_default and "" in bound:
                    for node in _strings(self._root(where), re.compile(rf"[\"'`]{module}[\"'`]")):
                        yield where, node
            if name not in text and len(names) == 1:
                continue
            for node in _uses(self._root(where), names, language or ""):
                if not (where == path and _is_definition(node, definition)):
                    yield where, node

    def _is_default(self, path: PurePosixPath, name: str) -> bool:
        """Whether the file exports that as a whole, so that others know it by names of their own."""
        own = rf"(?:async\s+)?(?:function\s*\*?\s*)?{re.escape(name)}\b"
        return re.search(rf"\bexport\s+default\s+{own}|\bmodule\.exports\s*=\s*{own}", self._text(path)) is not None

    def _imported(self, path: PurePosixPath) -> Reach:
        """The way of the imports of a file: by statement, or by a call that may be behind a condition."""
        if self._loaded.whole or self._loaded.by.get(path) is None or LANGUAGES.get(path.suffix) == "go":
            return Reach.YES
        stem = path.parent.name if path.stem == "index" else path.stem
        module = re.compile(rf"[\"'`][^\"'`]*\b{re.escape(stem)}(?:/index)?(?:\.[cm]?[jt]sx?)?[\"'`]")

        def look_up() -> Reach:
            ways = (
                self._of(where, node)
                for where in self._loaded.by
                if where != path and stem in self._text(where)
                for node in _strings(self._root(where), module)
            )
            return _most(ways, Reach.YES)

        return self._once((path, ""), look_up)

    def _texts(self, path: PurePosixPath) -> Iterator[str]:
        yield self._text(path)
        for each in self._loaded.by:
            if each != path and LANGUAGES.get(each.suffix) == LANGUAGES.get(path.suffix):
                yield self._text(each)

    def _text(self, path: PurePosixPath) -> str:
        return self._files.text(path) or ""

    def _root(self, path: PurePosixPath) -> SgNode | None:
        text, language = self._text(path), LANGUAGES.get(path.suffix)
        return _parsed(text, language) if language in LANGUAGES_REACHED and text and len(text) <= _LONGEST else None


_CONDITION = re.compile(r"@(?P<name>ConditionalOnProperty|Profile|Requires)\s*\((?P<given>[^()]*)\)")


def _quoted(node: SgNode) -> list[str]:
    """The texts in quotes of the values of a case."""
    return re.findall(r"[\"'`]([^\"'`]*)[\"'`]", node.text())


def _at(root: SgNode | None, line: int) -> SgNode | None:
    """The first call or annotation that begins in the line."""
    if root is None:
        return None
    waiting = [root]
    while waiting:
        node = waiting.pop()
        span = node.range()
        if span.end.line < line - 1 or span.start.line > line - 1:
            continue
        if span.start.line == line - 1 and node.kind() in _CALLS:
            return node
        waiting += reversed(node.children())
    return None


def _same(a: SgNode, b: SgNode) -> bool:
    first, second = a.range(), b.range()
    return first.start.index == second.start.index and first.end.index == second.end.index


def _name_of(inner: SgNode, outer: SgNode) -> str | None:
    """The name of the function, method or class that `outer` defines around `inner`; None if it is none."""
    kind = outer.kind()
    if kind in _FUNCTIONS or kind in _CLASSES:
        name = outer.field("name")
        return name.text() if name is not None and not _same(name, inner) else None
    if inner.kind() in _VALUES and kind in (
        "variable_declarator",
        "pair",
        "assignment_expression",
        "public_field_definition",
    ):
        name = outer.field("name") or outer.field("key") or outer.field("left")
        if name is not None and not _same(name, inner):
            text = name.text().rpartition(".")[2]
            return text if re.fullmatch(r"[A-Za-z_$][\w$]*", text) and text != "exports" else None
    return None


def _uses(root: SgNode | None, names: set[str], language: str) -> Iterator[SgNode]:
    """Each place that uses one of the names, other than imports and exports."""
    if root is None:
        return
    pattern = f"^(?:{'|'.join(map(re.escape, sorted(names)))})$"
    config: Any = {"rule": {"any": [{"kind": kind, "regex": pattern} for kind in _NAMES[language]]}}
    for node in root.find_all(config):
        if not any(each.kind() in _IMPORTS or _only_exports(each) for each in node.ancestors()):
            yield node


def _only_exports(node: SgNode) -> bool:
    if node.kind() != "assignment_expression":
        return False
    left, right = node.field("left"), node.field("right")
    return (
        left is not None
        and right is not None
        and re.match(r"(?:module\.)?exports\b", left.text()) is not None
        and right.kind() in ("object", "identifier")
        and "(" not in right.text()
    )


def _is_definition(node: SgNode, definition: SgNode) -> bool:
    """Whether it is the name in the definition itself, or inside of it."""
    inside, around = node.range(), definition.range()
    return around.start.index <= inside.start.index and inside.end.index <= around.end.index


def _strings(root: SgNode | None, module: re.Pattern[str]) -> Iterator[SgNode]:
    """The places that import a module by its name."""
    for node in root.find_all(kind="string") if root is not None else ():
        if module.fullmatch(node.text()):
            yield node


def _most(ways: Iterable[Reach], none: Reach) -> Reach:
    """The greatest; `none` if there is no way at all. No more are looked at than needed."""
    found: Reach | None = None
    for way in ways:
        found = way if found is None else max(found, way)
        if found >= Reach.YES:
            break
    return none if found is None else found
