"""What an expression of Terraform is: locals, variables, `each`, and what callers give to a module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from ast_grep_py import SgNode

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.services.hcl_tree import (
    HclBlock,
    elements,
    function_arguments,
    hcl_attributes,
    hcl_text,
    inside_of,
    members,
)
from cronce.adopt.audit.services.reading import Count, count_of

Block = tuple[PurePosixPath, HclBlock]
"""A block and its file."""

_REFERENCE = re.compile(r"(?P<base>local|var|each)\.(?P<name>\w+)(?P<rest>(?:\.\w+|\[[^\]\n]+\])*)")
_STEP = re.compile(r"\.(?P<name>\w+)|\[\"(?P<key>[^\"\n]+)\"\]|\[(?P<by>[^\]\n]+)\]")
_FIRST_THAT_IS_KNOWN = ("try", "coalesce", "tonumber", "tostring", "one", "nonsensitive")
_DEEPEST = 12
_DEEPEST_CALLS = 4


@dataclass(frozen=True, slots=True)
class HclValue:
    """An expression, the file that it is in, and where its names are looked up."""

    path: PurePosixPath
    node: SgNode
    scope: Scope

    @property
    def is_open(self) -> bool:
        """True if it still is a name that nothing gives a value."""
        return _REFERENCE.fullmatch(self.node.text().strip()) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCall:
    """A call of a module of the project: its name, the folder of the module, and the arguments."""

    name: str
    folder: PurePosixPath
    path: PurePosixPath
    given: dict[str, SgNode]


def calls(blocks: Iterable[Block]) -> Iterator[ModuleCall]:
    """The calls of modules that lie in the project."""
    for path, block in blocks:
        given = block.attributes() if block.words[:1] == ("module",) and len(block.words) == 2 else {}
        if (folder := own_folder(path, given)) is not None:
            yield ModuleCall(name=block.words[1], folder=folder, path=path, given=given)


def own_folder(path: PurePosixPath, given: dict[str, SgNode]) -> PurePosixPath | None:
    """The folder of a module that lies in the project."""
    source = hcl_text(given["source"]) if "source" in given else ""
    return below(path.parent, source) if source.startswith(("./", "../")) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Each:
    key: str
    value: HclValue


class Scope:
    """The names of one module as one caller sets them.

    Args:
        folder: The module.
        blocks: Its blocks.
        files: The project.
        call: The call that makes this instance of it; None for a module that nothing calls.
        caller: The names of the calling module.
    """

    def __init__(
        self,
        folder: PurePosixPath,
        blocks: Sequence[Block],
        files: Files,
        call: ModuleCall | None = None,
        caller: Scope | None = None,
    ) -> None:
        self.blocks = blocks
        self.called: str = f"{caller.called if caller is not None else ''}{call.name}." if call is not None else ""
        self.each: _Each | None = None
        self._locals = {
            name: HclValue(path, value, self)
            for path, block in blocks
            if block.words == ("locals",)
            for name, value in block.attributes().items()
        }
        self._variables: dict[str, list[HclValue]] = defaultdict(list)
        for path, block in blocks:
            default = block.attributes().get("default") if block.words[:1] == ("variable",) else None
            if default is not None and len(block.words) == 2:
                self._variables[block.words[1]].append(HclValue(path, default, self))
        for path in files.inside(folder):
            if path.suffix == ".tfvars":
                for name, value in hcl_attributes(files.text(path) or "").items():
                    self._variables[name].append(HclValue(path, value, self))
        if call is not None and caller is not None:
            self._variables |= {name: [HclValue(call.path, value, caller)] for name, value in call.given.items()}

    def of_type(self, *names: str) -> Iterator[tuple[PurePosixPath, str, HclBlock]]:
        """The resources of these types: file, name, block."""
        for path, block in self.blocks:
            if len(block.words) == 3 and block.words[0] == "resource" and block.words[1] in names:
                yield path, block.words[2], block

    def instances(self, file: PurePosixPath, resource: str, block: HclBlock) -> Iterator[str]:
        """The name of each instance of a resource; while the caller handles it, `each` means that instance."""
        given = block.attributes().get("for_each")
        source = self.value(file, given) if given is not None else None
        keys = members(source.node) if source is not None else None
        names = None
        if source is not None and keys is None:
            listed = function_arguments(source.node, "toset")
            inner = source.scope.value(source.path, listed[0]) if listed else source
            names = elements(inner.node)
        if source is None or (keys is None and names is None):
            yield resource
            return
        for key, value in keys.items() if keys is not None else [(hcl_text(name), name) for name in names or []]:
            self.each = _Each(key=key, value=HclValue(source.path, value, source.scope))
            yield f"{resource}[{key}]"
        self.each = None

    def value(self, path: PurePosixPath, node: SgNode, depth: int = _DEEPEST) -> HclValue:
        """What an expression is in the end; of several values of a variable, the last one."""
        own = HclValue(path, node, self)
        every = self.values(own, depth)
        return every[-1] if every else own

    def values(self, own: HclValue, depth: int = _DEEPEST) -> list[HclValue]:
        """Every value that an expression may have: of both branches, and of each file of values."""
        node = own.node
        if depth == 0:
            return []
        inner = inside_of(node)
        if inner is not None and inner.kind() == "conditional":
            branches = [child for child in inner.children() if child.kind() == "expression"][1:]
            return [each for branch in branches for each in self.values(HclValue(own.path, branch, self), depth - 1)]
        for function in _FIRST_THAT_IS_KNOWN:
            for given in function_arguments(node, function) or ():
                found = self.values(HclValue(own.path, given, self), depth - 1)
                if found and not all(each.is_open for each in found):
                    return found
        if (looked := function_arguments(node, "lookup")) is not None and len(looked) > 1:
            table = self.value(own.path, looked[0], depth - 1)
            picked = (members(table.node) or {}).get(hcl_text(looked[1]))
            if picked is not None:
                return table.scope.values(HclValue(table.path, picked, table.scope), depth - 1)
            return (
                self.values(HclValue(own.path, looked[2], self), depth - 1) if len(looked) > 2 else [own]
            )  # the default
        reference = _REFERENCE.fullmatch(node.text().strip())
        if reference is None:
            return [own]
        found = [each for base in self._bases(reference) for each in _members_of(base, reference["rest"], depth - 1)]
        return found or [own]

    def _bases(self, reference: re.Match[str]) -> list[HclValue]:
        name = reference["name"]
        match reference["base"]:
            case "local":
                return [self._locals[name]] if name in self._locals else []
            case "var":
                return self._variables.get(name, [])
            case _:
                return [self.each.value] if name == "value" and self.each is not None else []

    def text(self, node: SgNode | None) -> str | None:
        """A literal's text; that of a variable is the largest number that it gets, else its last value."""
        if node is None:
            return None
        if node.text().strip() == "each.key" and self.each is not None:
            return self.each.key
        values = [
            "" if each.node.text().strip() == "null" else hcl_text(each.node)
            for each in self.values(HclValue(PurePosixPath(), node, self))
        ]
        numbers = [value for value in values if value.isascii() and value.isdigit()]
        return max(numbers, key=int) if numbers else next(iter(reversed(values)), None)

    def named(self, expression: str) -> str | None:
        """The text of `each.key`, `var.x` or `local.x`; None if it is not known, or anything else."""
        if expression == "each.key" and self.each is not None:
            return self.each.key
        reference = _REFERENCE.fullmatch(expression)
        bases = self._bases(reference) if reference is not None and not reference["rest"] else []
        texts = [text for base in bases if not base.is_open and (text := hcl_text(base.node)).isidentifier()]
        return texts[-1] if texts else None

    def count(self, node: SgNode) -> Count:
        """The largest number that the expression may be."""
        return count_of(self.text(node)) or Count(least=1, most=None)


def _members_of(base: HclValue, rest: str, depth: int) -> list[HclValue]:
    """`base.a["b"]`, each step resolved."""
    found = base.scope.values(base, depth)
    for match in _STEP.finditer(rest):
        inside = [(each, members(each.node) or {}) for each in found]
        found = [
            value
            for each, given in inside
            for name in _chosen(match, given, base.scope)
            for value in each.scope.values(HclValue(each.path, given[name], each.scope), depth)
        ]
    return found


def _chosen(step: re.Match[str], given: dict[str, SgNode], scope: Scope) -> list[str]:
    """The members that a step names: one, or all of them if what is in the brackets is not known."""
    name = step["name"] or step["key"]
    if name is None:
        name = scope.named(step["by"].strip())
    return ([name] if name in given else []) if name is not None else list(given)


def scopes(blocks: dict[PurePosixPath, list[Block]], files: Files) -> dict[PurePosixPath, list[Scope]]:
    """Each folder with its instances: one per call, or one if nothing calls it."""
    found: dict[PurePosixPath, list[Scope]] = {}
    by_folder: dict[PurePosixPath, list[ModuleCall]] = defaultdict(list)
    for every in blocks.values():
        for call in calls(every):
            if call.folder in blocks:
                by_folder[call.folder].append(call)

    def of(folder: PurePosixPath, depth: int) -> list[Scope]:
        if folder not in found:
            own = by_folder[folder] if depth else []
            instances = [
                Scope(folder, blocks[folder], files, call, caller)
                for call in own
                if call.path.parent != folder
                for caller in of(call.path.parent, depth - 1)
            ]
            found[folder] = instances or [Scope(folder, blocks[folder], files)]
        return found[folder]

    for folder in blocks:
        of(folder, _DEEPEST_CALLS)
    return found
