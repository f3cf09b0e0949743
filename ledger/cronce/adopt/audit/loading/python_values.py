"""What an expression is worth in one process: environment variables, arguments, and settings made of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from cronce.adopt.audit.switches import OFF, STAGES, UNDECIDED

_DEEPEST = 12
_VARIABLE = re.compile(r"\$\{?(?P<name>\w+)(?::?[-=](?P<default>[^}]*))?\}?")
_SETTING = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
"""A text that can only be the name of a setting, whatever reads it: `flag("RUN_CLOCK")`."""
_READS = frozenset({"getenv", "get", "env", "config", "pop"})
_TYPES = re.compile(r"bool|str|int|float|\w*(?:bool|true|truthy|flag|env)\w*", re.IGNORECASE)
_ARGUMENTS = frozenset({"args", "opts", "options", "arguments", "ns", "parsed", "parsed_args", "cli_args"})

_Definitions = Callable[[str], Iterator[tuple[PurePosixPath, ast.expr, ast.ClassDef | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """What is known of a process.

    Attributes:
        argv: Its command.
        names: Functions that the command names (`module:function`).
        environment: The settings that the deployment files give to it.
        given: The settings that they give to any process: one of these that is not in `environment` is not set.
    """

    argv: tuple[str, ...]
    names: frozenset[str]
    environment: Mapping[str, str]
    given: frozenset[str]


def is_true(value: object) -> bool:
    """What people mean by it: "false" and "0" are off."""
    return value.strip().lower() not in OFF if isinstance(value, str) else bool(value)


class Values:
    """The worth of expressions in one process.

    Args:
        process: The process.
        definitions: Returns what a name of settings is set to, with the file and the class.
    """

    def __init__(self, process: Process, definitions: _Definitions) -> None:
        self._process = process
        self._definitions = definitions

    def of(self, node: ast.expr, path: PurePosixPath, depth: int = 0) -> object:
        """The value of an expression of that file; UNDECIDED if it depends on anything else."""
        if depth > _DEEPEST:
            return UNDECIDED
        match node:
            case ast.Constant():
                return node.value
            case ast.Name(id=name):
                return self._named(name, path, depth)
            case ast.Attribute(value=ast.Name(id="sys"), attr="argv"):
                return self._words()
            case ast.Attribute(value=ast.Name(id=base), attr=name) if base in _ARGUMENTS:
                return self._argument(name)
            case ast.Attribute(attr=name):
                return self._named(name, path, depth)
            case ast.Subscript(slice=ast.Constant(value=str(name))):
                text = ast.unparse(node.value)
                return self._variable(name, None) if text.endswith("environ") else self._named(name, path, depth)
            case ast.Subscript(value=ast.Attribute(attr="argv"), slice=ast.Constant(value=int(number))):
                words = self._words()
                return words[number] if 0 < number < len(words) else UNDECIDED
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self.of(operand, path, depth + 1)
                return value if value is UNDECIDED else not is_true(value)
            case ast.BoolOp(op=operator, values=parts):
                return self._combined(isinstance(operator, ast.And), [self.of(each, path, depth + 1) for each in parts])
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                return self._compared(self._side(left, right, path, depth), operator, self.of(right, path, depth + 1))
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                values = [self.of(each, path, depth + 1) for each in elements]
                return UNDECIDED if UNDECIDED in values else tuple(values)
            case ast.Call():
                return self._called(node, path, depth)
            case _:
                return UNDECIDED

    def _side(self, left: ast.expr, right: ast.expr, path: PurePosixPath, depth: int) -> object:
        """The left side of a comparison; an argument that is compared to a word is that word if the command has it."""
        match left, right:
            case ast.Attribute(value=ast.Name(id=base)), ast.Constant(value=str(word)) if base in _ARGUMENTS:
                others = [each for each in self._words()[1:] if not each.startswith("-")]
                return word if word in self._process.argv else ("" if others else UNDECIDED)
            case _:
                return self.of(left, path, depth + 1)

    def _words(self) -> tuple[str, ...]:
        """`sys.argv`: the program's own file and its arguments."""
        argv = self._process.argv
        at = next((index for index, word in enumerate(argv) if word.endswith(".py")), None)
        if at is None:
            at = argv.index("-m") + 1 if "-m" in argv else 0
        return argv[at:]

    def _argument(self, name: str) -> object:
        """A flag of the command line."""
        flag = "--" + name.replace("_", "-")
        if flag in self._process.argv or f"--{name}" in self._process.argv:
            return True
        return False if len(self._words()) > 1 and any(word.startswith("--") for word in self._words()) else UNDECIDED

    def _named(self, name: str, path: PurePosixPath, depth: int) -> object:
        found = list(self._definitions(name))
        found.sort(key=lambda each: each[0] != path)
        for where, value, owner in found[:1]:
            worth = self.of(value, where, depth + 1)
            if owner is not None and any("Settings" in ast.unparse(base) for base in owner.bases):
                prefix = re.search(r"env_prefix\s*=\s*['\"](\w*)", ast.unparse(owner))
                return self._variable((prefix[1] if prefix else "") + name, worth)
            return worth
        return UNDECIDED

    def _variable(self, name: str, default: object) -> object:
        by_name = {key.lower(): value for key, value in self._process.environment.items()}
        value = by_name.get(name.lower())
        if value is not None:
            variable = _VARIABLE.fullmatch(value)
            return value if variable is None else (variable["default"] or UNDECIDED)
        is_given = name.lower() in self._process.given
        return default if is_given and not STAGES.fullmatch(name.upper()) else UNDECIDED

    def _called(self, node: ast.Call, path: PurePosixPath, depth: int) -> object:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if isinstance(node.func, ast.Attribute) and name in ("lower", "upper", "strip") and first is None:
            value = self.of(node.func.value, path, depth + 1)
            return getattr(value, name)() if isinstance(value, str) else UNDECIDED
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        is_read = name in _READS or owner.rpartition(".")[2] in ("env", "environ", "config")
        if (
            isinstance(first, ast.Constant)
            and isinstance(first.value, str)
            and (is_read or _SETTING.fullmatch(first.value))
        ):
            given = next((each.value for each in node.keywords if each.arg == "default"), None)
            given = given or (node.args[1] if len(node.args) > 1 else None)
            default = self.of(given, path, depth + 1) if given is not None else None
            if owner.endswith("config") and name == "get":
                value = self._named(first.value, path, depth)
                return default if value is UNDECIDED and given is not None else value
            return self._variable(first.value, default)
        if first is not None and _TYPES.fullmatch(name):
            value = self.of(first, path, depth + 1)
            return value if value is UNDECIDED or name in ("int", "str", "float") else is_true(value)
        return UNDECIDED

    @staticmethod
    def _combined(is_and: bool, values: list[object]) -> object:  # noqa: FBT001  # the operator
        decided = [value for value in values if value is not UNDECIDED]
        for value in decided:
            if is_true(value) is not is_and:
                return value
        return decided[-1] if len(decided) == len(values) else UNDECIDED

    @staticmethod
    def _compared(left: object, operator: ast.cmpop, right: object) -> object:
        if left is UNDECIDED or right is UNDECIDED:
            return UNDECIDED
        same = str(left) == str(right)
        match operator:
            case ast.Eq() | ast.Is():
                return same
            case ast.NotEq() | ast.IsNot():
                return not same
            case ast.In() | ast.NotIn() if isinstance(right, tuple | str):
                inside = isinstance(left, str) and left in right if isinstance(right, str) else left in right
                return inside if isinstance(operator, ast.In) else not inside
            case _:
                return UNDECIDED
