"""Terraform's language as a tree that knows its lines, from ast-grep's parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ast_grep_py import SgNode, SgRoot

_DEEPEST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class HclBlock:
    """A block: `resource "aws_ecs_service" "web" { ... }`.

    Attributes:
        words: The type and the labels.
        line: From 1.
        body: The parser's node of what is inside.
    """

    words: tuple[str, ...]
    line: int
    body: SgNode | None

    def attributes(self) -> dict[str, SgNode]:
        """The expressions of the block's own attributes."""
        found: dict[str, SgNode] = {}
        for node in self.body.children() if self.body is not None else []:
            if node.kind() == "attribute":
                name, expression = node.child(0), node.child(2)
                if name is not None and expression is not None:
                    found[name.text()] = expression
        return found

    def blocks(self) -> Iterator[HclBlock]:
        """The blocks inside."""
        yield from _blocks(self.body)


def hcl_blocks(text: str) -> list[HclBlock]:
    """The blocks at the top of a text. A part that cannot be parsed is left out."""
    root = SgRoot(text, "hcl").root()
    return [block for body in root.children() if body.kind() == "body" for block in _blocks(body)]


def hcl_attributes(text: str) -> dict[str, SgNode]:
    """The expressions at the top of a text: of a file of values."""
    root = SgRoot(text, "hcl").root()
    found: dict[str, SgNode] = {}
    for body in root.children():
        found |= HclBlock(words=(), line=1, body=body).attributes() if body.kind() == "body" else {}
    return found


def line_of(node: SgNode) -> int:
    """The line of a node, from 1."""
    return node.range().start.line + 1


def elements(node: SgNode) -> list[SgNode] | None:
    """The expressions of a list; None if the expression is no list."""
    inner = inside_of(node)
    if inner is None or inner.kind() != "tuple":
        return None
    return [child for child in inner.children() if child.kind() == "expression"]


def members(node: SgNode) -> dict[str, SgNode] | None:
    """The expressions of an object by their keys; None if the expression is no object."""
    inner = inside_of(node)
    if inner is None or inner.kind() != "object":
        return None
    found: dict[str, SgNode] = {}
    for element in inner.children():
        if element.kind() == "object_elem":
            parts = [child for child in element.children() if child.kind() == "expression"]
            if len(parts) == 2:
                found[parts[0].text().strip('"')] = parts[1]
    return found


def argument(node: SgNode, function: str) -> SgNode | None:
    """The first argument of a call such as `jsonencode(...)`; None if the expression is no such call."""
    return next(iter(function_arguments(node, function) or ()), None)


def function_arguments(node: SgNode, function: str) -> list[SgNode] | None:
    """The arguments of a call of that function; None if the expression is no such call."""
    inner = inside_of(node)
    if inner is None or inner.kind() != "function_call":
        return None
    name = inner.child(0)
    if name is None or name.text() != function:
        return None
    given = next((child for child in inner.children() if child.kind() == "function_arguments"), None)
    return [child for child in given.children() if child.kind() == "expression"] if given else []


def hcl_text(node: SgNode) -> str:
    """The text of an expression; a string without its quotes."""
    text = node.text().strip()
    return text[1:-1] if re.fullmatch(r'"[^"\n]*"', text) else text


def inside_of(node: SgNode) -> SgNode | None:
    """What is in an expression, without the layers around it."""
    for _ in range(_DEEPEST):
        if node.kind() not in ("expression", "collection_value"):
            return node
        inner = next((child for child in node.children() if child.is_named()), None)
        if inner is None:
            return None
        node = inner
    return None


def _blocks(body: SgNode | None) -> Iterator[HclBlock]:
    for node in body.children() if body is not None else []:
        if node.kind() != "block":
            continue
        words = [child.text().strip('"') for child in node.children() if child.kind() in ("identifier", "string_lit")]
        inner = next((child for child in node.children() if child.kind() == "body"), None)
        yield HclBlock(words=tuple(words), line=line_of(node), body=inner)
