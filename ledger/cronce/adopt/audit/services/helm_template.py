"""Templates of Helm filled with values, as far as charts of one's own use them; lines keep the number that they had."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from cronce.adopt.audit.services.yaml_tree import YamlNode

_ACTION = re.compile(r"\{\{-?\s*(?P<inside>.*?)\s*-?\}\}")
_ALONE = re.compile(r"\s*(?P<key>[\w.-]+:\s*)?(?P<dash>-\s+)?\{\{-?\s*(?P<inside>[^{}]*?)\s*-?\}\}\s*")
_IN_ONE_LINE = re.compile(
    r"\{\{-?\s*if\s+(?P<condition>[^{}]*?)\s*-?\}\}(?P<then>(?:(?!\{\{-?\s*(?:if|end|else)\b).)*?)"
    r"(?:\{\{-?\s*else\s*-?\}\}(?P<other>(?:(?!\{\{-?\s*(?:if|end)\b).)*?))?\{\{-?\s*end\s*-?\}\}"
)
_OPENS = re.compile(r"(if|range|with|define|block)\b\s*(.*)", re.DOTALL)
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\(|\)|\||[^\s()|]+")
_PATH = re.compile(r"(?P<start>\$\w*|)(?P<rest>(?:\.[\w-]+)+|\.|)")
_MOST_LINES = 20_000
_FALSE = frozenset({"", "false", "False", "0", "null", "~"})
TEMPLATED = "$TEMPLATE"
"""What stands for a text that is not known; readers of numbers take it for a variable."""


@dataclass(frozen=True, slots=True)
class HelmValue:
    """A value in files of values; what an earlier file says wins, and mappings are merged.

    Attributes:
        layers: The node of each file.
        name: Its dotted name.
    """

    layers: tuple[tuple[PurePosixPath, YamlNode], ...]
    name: str = ""

    def get(self, key: str) -> HelmValue | None:
        """The value of that key; None if there is none."""
        found: list[tuple[PurePosixPath, YamlNode]] = []
        for path, node in self.layers:
            if not node.is_mapping:
                break
            if (inner := node.entries().get(key)) is not None:
                found.append((path, inner))
        dotted = f"{self.name}.{key}" if self.name else key
        return HelmValue(tuple(found), dotted) if found and not found[0][1].is_null else None

    def items(self) -> list[tuple[str, HelmValue]] | None:
        """The entries of a mapping or a list with their keys; None if it is a text."""
        path, first = self.layers[0]
        if isinstance(first.value, list):
            return [(str(at), HelmValue(((path, node),), f"{self.name}[{at}]")) for at, node in enumerate(first.value)]
        if not first.is_mapping:
            return None
        keys = dict.fromkeys(key for _, node in self.layers if node.is_mapping for key in node.entries())
        return [(key, inner) for key in keys if (inner := self.get(key)) is not None]

    @property
    def text(self) -> str | None:
        """The text of a scalar; None for anything else."""
        value = self.layers[0][1].value
        return value if isinstance(value, str) else None

    @property
    def is_true(self) -> bool:
        """What a template takes for true."""
        return self.text not in _FALSE if self.text is not None else bool(self.items())

    @property
    def json(self) -> object:
        """As JSON has it; scalars are texts."""
        found = self.items()
        if found is None:
            return self.text
        if isinstance(self.layers[0][1].value, list):
            return [inner.json for _, inner in found]
        return {key: inner.json for key, inner in found}


_Result = HelmValue | str | None
"""A value, a text, or None for what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a filled template.

    Attributes:
        text: The line.
        number: Its line in the template.
        value: The last value that was put into it; None if there is none.
    """

    text: str
    number: int
    value: HelmValue | None = None


@dataclass(slots=True)
class _Block:
    """A block of a template with its branches: what each is for, and what is in it."""

    kind: str
    branches: list[tuple[str, list[_Block | tuple[int, str]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    root: HelmValue | None
    chart: str
    dot: _Result | bool = True  # True for the root
    names: Mapping[str, _Result] = field(default_factory=dict)


def rendered(text: str, values: HelmValue | None, chart: str) -> list[Line]:
    """The lines of a template with known values in it.

    A `range` over values is done for each of them; one over anything else is done once.
    """
    lines: list[Line] = []
    for line in _run(_blocks(text), _Scope(root=values, chart=chart)):
        lines.append(line)
        if len(lines) == _MOST_LINES:
            break
    return lines


def _blocks(text: str) -> list[_Block | tuple[int, str]]:
    """The lines, and the blocks that actions on lines of their own open and close."""
    top: list[_Block | tuple[int, str]] = []
    open_blocks: list[_Block] = []
    for number, line in enumerate(text.splitlines(), start=1):
        here = open_blocks[-1].branches[-1][1] if open_blocks else top
        alone = _ALONE.fullmatch(line)
        inside = alone["inside"] if alone is not None and not alone["key"] else ""
        if (opens := _OPENS.match(inside)) is not None:
            block = _Block(opens[1], [(opens[2], [])])
            here.append(block)
            open_blocks.append(block)
        elif inside == "end":
            if open_blocks:
                open_blocks.pop()
        elif inside == "else" or inside.startswith("else "):
            if open_blocks:
                open_blocks[-1].branches.append((inside.removeprefix("else").strip().removeprefix("if "), []))
        else:
            here.append((number, line))
    return top


def _run(nodes: Sequence[_Block | tuple[int, str]], scope: _Scope) -> Iterator[Line]:
    for node in nodes:
        if isinstance(node, _Block):
            yield from _run_block(node, scope)
            continue
        number, line = node
        alone = _ALONE.fullmatch(line)
        inside = alone["inside"] if alone is not None else ""
        if (assigned := re.fullmatch(r"(\$\w+)\s*:?=\s*(.*)", inside)) is not None:
            scope = replace(scope, names={**scope.names, assigned[1]: _evaluated(assigned[2], scope)})
        elif alone is not None and "toYaml" in inside:
            yield from _as_yaml(line, number, alone["key"], inside, scope)
        elif alone is not None and not alone["key"] and not alone["dash"]:
            yield Line(text="", number=number)  # a comment, or an include that writes lines of its own
        else:
            yield _line(line, number, scope)


def _run_block(block: _Block, scope: _Scope) -> Iterator[Line]:
    if block.kind == "define":
        return
    condition, body = block.branches[0]
    if block.kind == "range":
        yield from _repeated(condition, block, scope)
        return
    if block.kind == "with":
        named = re.fullmatch(r"(\$\w+)\s*:=\s*(.*)", condition)
        value = _evaluated(named[2] if named else condition, scope)
        if value is None or (isinstance(value, HelmValue) and not value.is_true):
            yield from _run(block.branches[1][1], scope) if len(block.branches) > 1 else ()
            return
        names = {**scope.names, **({named[1]: value} if named else {})}
        yield from _run(body, replace(scope, dot=value, names=names))
        return
    for test, inside in block.branches:
        if not test or block.kind == "block" or holds(test, scope):
            yield from _run(inside, scope)
            return


def _repeated(condition: str, block: _Block, scope: _Scope) -> Iterator[Line]:
    named = re.fullmatch(r"(?:(?P<key>\$\w+)\s*,\s*)?(?P<value>\$\w+)\s*:=\s*(?P<of>.*)", condition)
    given = named["of"] if named else condition
    listed = re.fullmatch(r"(?:list|tuple)\s+(.*)", given.strip("() "))
    if listed is not None:
        entries: list[tuple[str, _Result]] | None = [
            (str(at), word) for at, word in enumerate(_texts(listed[1], scope)) if word is not None
        ]
    else:
        over = _evaluated(given, scope)
        entries = list(over.items() or []) if isinstance(over, HelmValue) else [] if over is None else None
    if entries is None:
        yield from _run(block.branches[0][1], replace(scope, dot=TEMPLATED))
        return
    if not entries and len(block.branches) > 1:
        yield from _run(block.branches[1][1], scope)
    for key, value in entries:
        names = dict(scope.names)
        if named is not None:
            names[named["value"]] = value
            if named["key"]:
                names[named["key"]] = key
        yield from _run(block.branches[0][1], replace(scope, dot=value, names=names))


def _texts(words: str, scope: _Scope) -> list[_Result]:
    return [_evaluated(part, scope) for part in _TOKEN.findall(words)]


def _line(line: str, number: int, scope: _Scope) -> Line:
    used: list[HelmValue] = []

    def of_condition(match: re.Match[str]) -> str:
        return match["then"] if holds(match["condition"], scope) else match["other"] or ""

    def of_action(match: re.Match[str]) -> str:
        value = _evaluated(match["inside"], scope)
        if isinstance(value, HelmValue):
            used.append(value)
            text = value.text if value.text is not None else json.dumps(value.json)
        else:
            text = TEMPLATED if value is None else value
        is_quoted = line[match.start() - 1 : match.start()] in ('"', "'")
        return json.dumps(text) if re.search(r"\bs?quote\b", match["inside"]) and not is_quoted else text

    text = _ACTION.sub(of_action, _IN_ONE_LINE.sub(of_condition, line))
    return Line(text=text, number=number, value=used[-1] if used else None)


def _as_yaml(line: str, number: int, key: str | None, inside: str, scope: _Scope) -> Iterator[Line]:
    """`{{ toYaml .Values.args | nindent 12 }}` as lines of YAML; nothing if the value is not known."""
    value = _evaluated(re.sub(r"\btoYaml\b", "", inside.partition("|")[0]).strip(), scope)
    if key is not None:
        given = json.dumps(value.json) if isinstance(value, HelmValue) else ""
        yield Line(text=f"{line[: line.index(key)]}{key}{given}", number=number)
        return
    indent = re.search(r"n?indent\s+([0-9]{1,3})", inside)
    space = " " * (int(indent[1]) if indent is not None else len(line) - len(line.lstrip()))
    if not isinstance(value, HelmValue) or value.items() is None:
        yield Line(text="", number=number)
        return
    is_list = isinstance(value.layers[0][1].value, list)
    for name, inner in value.items() or []:
        start = "-" if is_list else f"{json.dumps(name)}:"
        yield Line(text=f"{space}{start} {json.dumps(inner.json)}", number=number, value=inner)


def holds(condition: str, scope: _Scope) -> bool:
    """Whether a condition holds; one that is not known does."""
    return _truth(_TOKEN.findall(condition), scope) is not False


def _truth(tokens: list[str], scope: _Scope) -> bool | None:  # one form each
    arguments = _grouped(tokens)
    if not arguments:
        return None
    first, rest = arguments[0], arguments[1:]
    word = first[0] if len(first) == 1 else ""
    if word in ("not", "and", "or") and rest:
        truths = [_truth(each, scope) for each in rest]
        if word == "not":
            return None if truths[0] is None else not truths[0]
        decisive = word == "or"
        return decisive if decisive in truths else None if None in truths else not decisive
    if word in ("eq", "ne") and len(rest) == 2:
        texts = [_text(_evaluated(" ".join(each), scope)) for each in rest]
        return None if TEMPLATED in texts else (texts[0] == texts[1]) == (word == "eq")
    if len(arguments) == 1 and len(first) > 1:
        return _truth(first, scope)
    if len(arguments) == 1 and (_PATH.fullmatch(word) or word in ("true", "false")):
        value = _evaluated(word, scope)
        if isinstance(value, HelmValue):
            return value.is_true
        return None if value == TEMPLATED else value not in (None, *_FALSE)
    return None


def _grouped(tokens: list[str]) -> list[list[str]]:
    """The arguments of a call: words, and what is in parentheses."""
    found: list[list[str]] = []
    depth = 0
    for part in tokens:
        if part == "(":
            depth += 1
            if depth == 1:
                found.append([])
                continue
        elif part == ")":
            depth -= 1
            if depth == 0:
                continue
        if depth > 0 and found:
            found[-1].append(part)
        else:
            found.append([part])
    return found


def _text(value: _Result) -> str:
    if isinstance(value, HelmValue):
        return value.text if value.text is not None else TEMPLATED
    return value or ""


def _evaluated(expression: str, scope: _Scope) -> _Result:
    """The value of a pipeline: a value of the chart, a literal, or a text that says that it is not known."""
    stages: list[list[str]] = [[]]
    depth = 0
    for part in _TOKEN.findall(expression):
        depth += (part == "(") - (part == ")")
        if part == "|" and depth == 0:
            stages.append([])
        else:
            stages[-1].append(part)
    value = _called(stages[0], scope)
    for stage in stages[1:]:
        if stage[:1] == ["default"] and not _holds(value):
            value = _evaluated(" ".join(stage[1:]), scope)
    return value


def _holds(value: _Result) -> bool:
    return value.is_true if isinstance(value, HelmValue) else value not in (None, TEMPLATED, *_FALSE)


def _called(tokens: list[str], scope: _Scope) -> _Result:
    arguments = _grouped(tokens)
    if not arguments:
        return None
    name, rest = " ".join(arguments[0]), [" ".join(each) for each in arguments[1:]]
    if len(arguments) == 1:
        return _called(arguments[0], scope) if len(arguments[0]) > 1 else _word(name, scope)
    match name:
        case "default" | "coalesce":
            order = [rest[-1], *rest[:-1]] if name == "default" else rest
            values = [_evaluated(each, scope) for each in order]
            return next((value for value in values if _holds(value)), values[-1])
        case "ternary" if len(rest) > 2:  # a, b, condition
            return _evaluated(rest[0 if holds(rest[2], scope) else 1], scope)
        case "index" | "get":
            value = _evaluated(rest[0], scope)
            for key in rest[1:]:
                value = value.get(_text(_evaluated(key, scope))) if isinstance(value, HelmValue) else None
            return value
        case "printf":
            texts = iter([_text(_evaluated(each, scope)) for each in rest[1:]])
            return re.sub(r"%[a-z]", lambda _: next(texts, ""), rest[0].strip('"'))
        case "include" | "template":
            return scope.chart
        case "quote" | "squote" | "int" | "int64" | "toString" | "lower" | "trim" | "required" | "tpl" | "toYaml":
            return _evaluated(rest[-1] if name == "required" else rest[0], scope)
        case _:
            return TEMPLATED


def _word(word: str, scope: _Scope) -> _Result:
    if word[0] in '"`':
        return word[1:-1]
    if re.fullmatch(r"-?[0-9.]+|true|false", word) and word != ".":
        return word
    found = _PATH.fullmatch(word)
    if found is None:
        return TEMPLATED
    parts = [part for part in found["rest"].split(".") if part]
    start: _Result | bool = scope.dot
    if found["start"] == "$":
        start = True
    elif found["start"]:
        if found["start"] not in scope.names:
            return TEMPLATED
        start = scope.names[found["start"]]
    if start is True:
        if not parts or parts[0] not in ("Values", "Release", "Chart", "Template", "Capabilities", "Files"):
            return TEMPLATED
        if parts[0] != "Values":
            return (
                scope.chart if parts in (["Release", "Name"], ["Chart", "Name"], ["Release", "Service"]) else TEMPLATED
            )
        start, parts = scope.root, parts[1:]
    value = start if not isinstance(start, bool) else None
    for part in parts:
        if not isinstance(value, HelmValue):
            return TEMPLATED if value == TEMPLATED else None
        value = value.get(part)
    return value
