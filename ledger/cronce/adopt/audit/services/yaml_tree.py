"""YAML (and JSON) as a tree that knows its lines. Built from the parser's events, so hostile files stay harmless.

Nothing is constructed, an alias is the same node again (a "bomb" costs nothing), and depth and size are limited: the
parser's own tree builder recurses in C, where brackets nested 200,000 deep end the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

_DEEPEST = 100
_MOST_NODES = 100_000
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlUnreadableError(Exception):
    """A text is no YAML that can be used.

    Attributes:
        line: From 1.
        why: In a few words.
    """

    def __init__(self, line: int, why: str) -> None:
        self.line = line
        self.why = why
        super().__init__(f"line {line}: {why}")


@dataclass(slots=True, eq=False)
class YamlNode:
    """One value of a document. Every access answers with None, or nothing, where the shape is another.

    Attributes:
        line: Where the value starts, from 1.
        value: A scalar's text, the items of a sequence, or the entries of a mapping.
        tag: An explicit tag such as `!Ref`; empty otherwise.
        plain: Whether a scalar is written without quotes.
        keys: The line of each key of a mapping.
    """

    line: int
    value: str | list[YamlNode] | dict[str, YamlNode]
    tag: str = ""
    plain: bool = True
    keys: dict[str, int] = field(default_factory=dict)

    def get(self, *path: str) -> YamlNode | None:
        """The value under a path of keys."""
        node: YamlNode | None = self
        for key in path:
            if node is None or not isinstance(node.value, dict):
                return None
            node = node.value.get(key)
        return None if node is None or node.is_null else node

    def words(self, *path: str) -> str | None:
        """The text of a scalar under a path of keys."""
        node = self.get(*path)
        return node.value if node is not None and isinstance(node.value, str) else None

    def entries(self, *path: str) -> dict[str, YamlNode]:
        """The entries of a mapping under a path of keys; empty if there is none."""
        node = self.get(*path)
        return node.value if node is not None and isinstance(node.value, dict) else {}

    def items(self, *path: str) -> list[YamlNode]:
        """The items of a sequence under a path of keys; empty if there is none."""
        node = self.get(*path)
        return node.value if node is not None and isinstance(node.value, list) else []

    def strings(self, *path: str) -> tuple[str, ...] | None:
        """A sequence of scalars as texts; None if it is anything else."""
        node = self.get(*path)
        if node is None or not isinstance(node.value, list):
            return None
        texts = [item.value for item in node.value if isinstance(item.value, str)]
        return tuple(texts) if len(texts) == len(node.value) else None

    def key_line(self, key: str) -> int:
        """The line of a key of this mapping."""
        return self.keys.get(key, self.line)

    @property
    def is_null(self) -> bool:
        """Whether it is `null`, `~` or nothing."""
        return isinstance(self.value, str) and self.plain and not self.tag and self.value in ("", "~", "null", "Null")

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys."""
        return isinstance(self.value, dict)


def documents(text: str) -> Iterator[YamlNode]:
    """The documents of a YAML or JSON text, one after the other.

    Raises:
        YamlUnreadableError: The text is no YAML, or deeper or larger than anything that people write.
    """
    # JSON from here on: YAML 1.1 knows neither tabs between tokens nor halves of a character.
    if text.lstrip()[:1] in ("{", "["):
        text = _SURROGATE.sub("?", text.replace("\t", " "))
    try:
        yield from _Builder().build(yaml.parse(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlUnreadableError(mark.line + 1 if mark else 1, error.problem or "no YAML") from None
    except yaml.reader.ReaderError as error:
        raise YamlUnreadableError(text.count("\n", 0, error.position) + 1, "a character that YAML forbids") from None


class _Builder:
    """Puts events together, with a stack of its own in place of recursion."""

    def __init__(self) -> None:
        self._stack: list[tuple[YamlNode, list[YamlNode], str | None]] = []
        self._anchors: dict[str, YamlNode] = {}
        self._nodes = 0

    def build(self, events: Iterator[yaml.Event]) -> Iterator[YamlNode]:
        root: YamlNode | None = None
        for event in events:
            mark = event.start_mark
            line = mark.line + 1 if mark is not None else 1
            done: YamlNode | None = None
            if isinstance(event, yaml.DocumentStartEvent):
                root, self._anchors = None, {}
            elif isinstance(event, yaml.DocumentEndEvent):
                if root is not None and not root.is_null:
                    yield root
            elif isinstance(event, yaml.ScalarEvent):
                done = self._new(YamlNode(line, event.value, _tag(event.tag), event.implicit[0]))
                self._remember(event.anchor, done)
            elif isinstance(event, yaml.AliasEvent):
                # An alias inside its own anchor has no end; it counts as nothing, like one that nobody declared.
                done = self._anchors.get(event.anchor or "", YamlNode(line, ""))
            elif isinstance(event, yaml.CollectionStartEvent):
                if len(self._stack) >= _DEEPEST:
                    raise YamlUnreadableError(line, f"more than {_DEEPEST} levels deep")
                empty: list[YamlNode] | dict[str, YamlNode] = {} if isinstance(event, yaml.MappingStartEvent) else []
                self._stack.append((self._new(YamlNode(line, empty, _tag(event.tag))), [], event.anchor))
            elif isinstance(event, yaml.CollectionEndEvent):
                done, children, anchor = self._stack.pop()
                self._close(done, children)
                self._remember(anchor, done)
            if done is not None:
                if self._stack:
                    self._stack[-1][1].append(done)
                else:
                    root = done

    def _new(self, node: YamlNode) -> YamlNode:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise YamlUnreadableError(node.line, f"more than {_MOST_NODES} values")
        return node

    def _remember(self, anchor: str | None, node: YamlNode) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _close(self, node: YamlNode, children: list[YamlNode]) -> None:
        if isinstance(node.value, list):
            node.value.extend(children)
            return
        if not isinstance(node.value, dict):
            return
        for key, value in zip(children[::2], children[1::2], strict=False):
            if key.value == "<<" and key.plain:
                self._merge(node, value)
            elif isinstance(key.value, str):
                node.value[key.value] = value
                node.keys[key.value] = key.line

    def _merge(self, node: YamlNode, sources: YamlNode) -> None:
        """What the mapping says itself wins over what it merges."""
        if not isinstance(node.value, dict):
            return
        for source in sources.value if isinstance(sources.value, list) else [sources]:
            if isinstance(source.value, dict):
                self._nodes += len(source.value)
                if self._nodes > _MOST_NODES:
                    raise YamlUnreadableError(node.line, f"more than {_MOST_NODES} values")
                node.value = {**source.value, **node.value}
                node.keys = {**source.keys, **node.keys}


def _tag(tag: str | None) -> str:
    return tag if tag is not None and tag.startswith("!") and tag != "!" else ""
