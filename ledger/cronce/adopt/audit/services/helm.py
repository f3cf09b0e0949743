"""Helm charts: the simple part of their templates filled with the chart's values, then read as manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import FoundService, Place
from cronce.adopt.audit.services.kubernetes import is_kubernetes, read_kubernetes
from cronce.adopt.audit.services.reading import Reading
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_ACTION = re.compile(r"\{\{-?\s*(?P<inside>.*?)\s*-?\}\}")
_ALONE = re.compile(r"\s*(?:[\w.-]+:\s*)?\{\{-?\s*(?P<inside>[^{}]*?)\s*-?\}\}\s*")
_VALUE = re.compile(r"\.Values\.(?P<path>[\w.]+)")
_DEFAULT = re.compile(r"\bdefault\s+[\"']?(?P<value>[\w./:-]+)[\"']?")
_OPENS = ("if ", "range ", "with ", "define ", "block ")
_MOST_ENVIRONMENTS = 12
_FALSE = frozenset({"", "false", "False", "0", "null", "~"})


@dataclass(slots=True)
class _Open:
    """A block of a template that is open: whether its lines are kept, and whether one of its branches was."""

    keeps: bool
    kept: bool


def charts(files: Files) -> dict[PurePosixPath, list[PurePosixPath]]:
    """The folder of each chart with its templates."""
    found: dict[PurePosixPath, list[PurePosixPath]] = {
        path.parent: [] for path in files if path.name in ("Chart.yaml", "Chart.yml")
    }
    for path in files if found else ():
        if path.suffix not in (".yaml", ".yml"):
            continue
        chart = next((each for each in path.parents if each in found and each / "templates" in path.parents), None)
        if chart is not None:
            found[chart].append(path)
    return found


def read_chart(folder: PurePosixPath, templates: list[PurePosixPath], files: Files) -> Reading:
    """What the chart deploys, with its own values or with those of one environment, whichever has most copies.

    Where a value states the copies, the place is that of the value.
    """
    reading = Reading()
    texts = {each: text for each in templates if (text := files.text(each)) and is_kubernetes(each, text)}
    most: dict[tuple[str, Place | None], FoundService] = {}
    for values in _environments(folder, files, reading):
        filled = [(each, _filled(text, values, folder.name)) for each, text in texts.items()]
        found = read_kubernetes(filled, files, kind="helm")
        reading.notes += [note for note in found.notes if note not in reading.notes]
        for service in (_at_value(each, texts, values) for each in found.services):
            key = (service.name, service.command_place)
            if key not in most or _copies(service) > _copies(most[key]):
                most[key] = service
    reading.services += most.values()
    return reading


class _Values:
    """Files of values; what an earlier one says wins."""

    def __init__(self, layers: Sequence[tuple[PurePosixPath, YamlNode]]) -> None:
        self._layers = layers

    def get(self, dotted: str) -> YamlNode | None:
        """The value of that name."""
        return next((node for _, node in self._found(dotted)), None)

    def place(self, dotted: str) -> Place | None:
        """Where the value is written."""
        return next((Place(path=path, line=node.line) for path, node in self._found(dotted)), None)

    def _found(self, dotted: str) -> Iterator[tuple[PurePosixPath, YamlNode]]:
        for path, layer in self._layers:
            if (node := layer.get(*dotted.split("."))) is not None:
                yield path, node


def _environments(folder: PurePosixPath, files: Files, reading: Reading) -> list[_Values]:
    """The chart's own values, then those of each environment above them.

    The file of an environment is in the folder of the chart, or in its folder `values`.
    """
    own = next((each for each in (folder / "values.yaml", folder / "values.yml") if each in files), None)
    others = [
        path
        for path in files.inside(folder)
        if path.suffix in (".yaml", ".yml") and path != own
        if (path.parent == folder and "values" in path.name) or path.parent == folder / "values"
    ]
    base = _layer(own, files, reading) if own is not None else []
    above = [_layer(path, files, reading) for path in others[:_MOST_ENVIRONMENTS]]
    return [_Values(base), *(_Values([*layer, *base]) for layer in above if layer)]


def _layer(path: PurePosixPath, files: Files, reading: Reading) -> list[tuple[PurePosixPath, YamlNode]]:
    """The values of one file; nothing if it is empty or cannot be read."""
    try:
        return [(path, node) for node in islice(documents(files.text(path) or ""), 1)]
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
        return []


def _copies(service: FoundService) -> int:
    return (service.most if service.most is not None else max(service.least, 2)) * service.processes


def _filled(text: str, values: _Values, chart: str) -> str:
    """The template with known values in it, line by line, so that lines stay where they are."""
    lines: list[str] = []
    blocks: list[_Open] = []
    for line in text.splitlines():
        keeps = all(block.keeps for block in blocks)
        alone = _ALONE.fullmatch(line)
        inside = alone["inside"] if alone is not None else ""
        if (alone is not None and _controls(inside, blocks, values)) or not keeps:
            lines.append("")
        elif alone is not None and "toYaml" in inside:
            lines.append(_as_yaml(line, inside, values))
        elif alone is not None and ":" not in line.partition("{{")[0] and not line.strip().startswith("-"):
            lines.append("")  # an include that writes lines of its own: labels, annotations
        else:
            lines.append(_ACTION.sub(lambda match: _scalar(match["inside"], values, chart), line))
    return "\n".join(lines)


def _controls(inside: str, blocks: list[_Open], values: _Values) -> bool:
    """Whether it is `if`, `else`, `end` and the like, after taking note of it."""
    if inside.startswith(_OPENS):
        keeps = not inside.startswith("define ") and _is_true(inside, values)
        blocks.append(_Open(keeps, keeps))
    elif inside == "else" or inside.startswith("else "):
        if blocks:
            block = blocks[-1]
            block.keeps = not block.kept and (inside == "else" or _is_true(inside.removeprefix("else "), values))
            block.kept = block.kept or block.keeps
    elif inside == "end":
        if blocks:
            blocks.pop()
    else:
        return inside.startswith(("/*", "$", "- /*"))
    return True


def _is_true(condition: str, values: _Values) -> bool:
    """`if .Values.x`, `if not .Values.x`; what is more than that counts as true."""
    match = re.fullmatch(r"if\s+(?P<no>not\s+)?\(?\s*\.Values\.(?P<path>[\w.]+)\s*\)?", condition)
    if match is None:
        return True
    node = values.get(match["path"])
    truth = node is not None and (bool(node.value) if not isinstance(node.value, str) else node.value not in _FALSE)
    return truth != bool(match["no"])


def _scalar(inside: str, values: _Values, chart: str) -> str:
    """The text of an expression: a value, its default, or a name that says that it is unknown."""
    if (match := _VALUE.search(inside)) is not None:
        node = values.get(match["path"])
        if node is not None and isinstance(node.value, str) and (node.value or "default" not in inside):
            return node.value
        if node is not None and isinstance(node.value, list) and (words := _words(node)) is not None:
            return words
    if (default := _DEFAULT.search(inside)) is not None:
        return default["value"]
    return chart if re.search(r"include|\.Release|\.Chart", inside) else "$TEMPLATE"


def _as_yaml(line: str, inside: str, values: _Values) -> str:
    """`{{ toYaml .Values.args | nindent 12 }}` as a list in one line; nothing if it is more than that."""
    match = _VALUE.search(inside)
    node = values.get(match["path"]) if match is not None else None
    words = _words(node) if node is not None else None
    key = re.match(r"\s*[\w.-]+:", line)
    if key is not None:
        return f"{key[0]} {words or ''}"
    indent = re.search(r"n?indent\s+([0-9]{1,3})", inside)
    return " " * int(indent[1]) + words if words is not None and indent is not None else ""


def _words(node: YamlNode) -> str | None:
    words = node.strings()
    return json.dumps(list(words)) if words is not None else None


def _at_value(service: FoundService, originals: dict[PurePosixPath, str], values: _Values) -> FoundService:
    """The service with the line of the value that states its copies, if its line in the template names one."""
    lines = originals.get(service.place.path, "").splitlines()
    line = lines[service.place.line - 1] if service.place.line <= len(lines) else ""
    match = _VALUE.search(line)
    node = values.get(match["path"]) if match is not None else None
    if match is None or node is None or not service.copies or not isinstance(node.value, str):
        return service
    stated = f"{match['path']}: {node.value}"
    return replace(service, place=values.place(match["path"]) or service.place, copies=stated)
