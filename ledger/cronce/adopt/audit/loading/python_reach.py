"""Which code of loaded Python files runs: not a function that nothing calls, nor what a setting rules out.

Follows names from a piece of code back to the start of the process. What cannot be decided counts as running.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.loading.loaded import Loaded
from cronce.adopt.audit.loading.python_values import Process, Values, is_true
from cronce.adopt.audit.switches import UNDECIDED

_CALLED_BY_FRAMEWORKS = re.compile(
    r"(create|make|build|get)_app|setup|ready|handle|application|lifespan|\w+_hook"
    r"|on_starting|on_reload|when_ready|pre_fork|post_fork|post_worker_init"
)
_COMMAND = re.compile(r"(?:^|\.)(?:command|subcommand|cli_command)$|^(?:click|typer)\b")
_SHEBANG = re.compile(r"#!.*\bpython")
_LEADER = re.compile(
    r"(?i)\b\w*leader(?!board)\w*\b|\belected\b|['\"]-0['\"]|\bordinal\b|(?:INSTANCE|POD|REPLICA|TASK|NODE)_(?:INDEX|ORDINAL|SLOT)"
)
"""A condition that holds in one copy: an election, or the first pod of a StatefulSet."""
_LONGEST = 400_000
"""Characters of a file that is parsed."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Module:
    """A parsed file.

    Attributes:
        tree: Its syntax.
        parents: What each node is a part of.
    """

    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Each node with what it is a part of, from the inside out."""
        while (parent := self.parents.get(node)) is not None:
            yield node, parent
            node = parent


@lru_cache(maxsize=2048)
def parsed(text: str) -> Module | None:
    """The file; None if it is not Python as this interpreter knows it."""
    if len(text) > _LONGEST:
        return None
    try:
        module = Module(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(module.tree):
        for child in ast.iter_child_nodes(node):
            module.parents[child] = node
    return module


class PythonReach:
    """What runs in one process.

    Args:
        loaded: The files that it loads.
        files: The project.
        process: Its command and settings; None for any process of the project at all.
        leads: False for a copy that no election and no number makes the first.
    """

    def __init__(self, loaded: Loaded, files: Files, process: Process | None, *, leads: bool = True) -> None:
        self._leads = leads
        self._files = files
        self._loaded = loaded
        self._process = process
        self._known: dict[tuple[PurePosixPath, str], bool] = {}
        self._values = Values(process, self._definitions) if process is not None else None

    def runs(self, path: PurePosixPath, line: int) -> bool:
        """Whether the line of a loaded file is ever reached."""
        module = self._module(path)
        if module is None:
            return True
        inside = [
            node
            for node in ast.walk(module.tree)
            if isinstance(node, ast.stmt) and _first_line(node) <= line <= (node.end_lineno or 0)
        ]
        return not inside or self._node_runs(path, module, max(inside, key=lambda node: (node.lineno, node.col_offset)))

    def started(self, path: PurePosixPath, variable: str | None, methods: re.Pattern[str]) -> bool | None:
        """Whether a method of the variable of that file that starts it is called; None if no file has such a call."""
        seen = None
        for where, module, node in self._calls(path, variable, methods):
            seen = False
            if self._node_runs(where, module, node):
                return True
        return seen

    def is_only_filled(self, path: PurePosixPath, variable: str) -> bool:
        """Whether jobs are added to the variable of that file, and nothing else is done with it."""
        uses = list(self._mentions(path, variable))
        return all(
            isinstance(above := module.parents.get(node), ast.Attribute) and _FILLS.fullmatch(above.attr)
            for _, module, node in uses
        )

    def _calls(
        self, path: PurePosixPath, variable: str | None, methods: re.Pattern[str]
    ) -> Iterator[tuple[PurePosixPath, Module, ast.AST]]:
        if variable is not None:
            for where, module, node in self._mentions(path, variable):
                above = module.parents.get(node)
                if isinstance(above, ast.Attribute) and methods.fullmatch(above.attr):
                    yield where, module, node
            return
        for where in self._loaded.by:
            if self._is_python(where) and methods.search(self._text(where)) and (found := self._module(where)):
                for node in ast.walk(found.tree):
                    if isinstance(node, ast.Attribute | ast.Name) and methods.fullmatch(_last(node)):
                        yield where, found, node

    def _node_runs(self, path: PurePosixPath, module: Module, node: ast.AST) -> bool:
        for inner, outer in module.around(node):
            if not self._is_chosen(path, inner, outer):
                return False
            if isinstance(outer, ast.ClassDef):
                return bool(outer.bases or outer.decorator_list) or self._is_named(path, outer.name)
            if isinstance(outer, _Function) and isinstance(module.parents.get(outer), ast.Module | ast.If | ast.Try):
                if inner in outer.decorator_list or inner is outer.args:
                    continue
                return self._function_runs(path, module, outer)
        return self._is_imported(path)

    def _is_chosen(self, path: PurePosixPath, inner: ast.AST, outer: ast.AST) -> bool:
        """Whether no condition around the code, or before it in the same block, rules it out."""
        if isinstance(outer, ast.If | ast.IfExp) and inner is not outer.test:
            wanted = inner in outer.body if isinstance(outer, ast.If) else inner is outer.body
            truth = self._truth(path, outer.test)
            if truth is not None and truth is not wanted:
                return False
        if isinstance(outer, _Function | ast.If | ast.With | ast.AsyncWith | ast.Try | ast.Module):
            for before in outer.body:
                if before is inner:
                    break
                if isinstance(before, ast.If) and _ends(before.body) and self._truth(path, before.test) is True:
                    return inner not in outer.body
        return True

    def _truth(self, path: PurePosixPath, test: ast.expr) -> bool | None:
        if _last(test) == "TYPE_CHECKING":
            return False
        if _is_main(test):
            return path in self._loaded.entries or self._process is None
        if self._values is None:
            return None
        if not self._leads and _LEADER.search(text := ast.unparse(test)):
            return re.match(r"not\b|.*!=|.*\bis not\b", text) is not None
        value = self._values.of(test, path)
        return None if value is UNDECIDED else is_true(value)

    def _function_runs(self, path: PurePosixPath, module: Module, function: _Function) -> bool:
        decorators = [
            ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in function.decorator_list
        ]
        if any(_COMMAND.search(each) for each in decorators):
            return self._is_commanded(module, function)
        if decorators or _CALLED_BY_FRAMEWORKS.fullmatch(function.name):
            return True
        return self._is_named(path, function.name)

    def _is_commanded(self, module: Module, function: _Function) -> bool:
        """A function that is a command of the program: the one that is given, or the only one."""
        commands = {
            node.name
            for node in module.tree.body
            if isinstance(node, _Function)
            and any(_COMMAND.search(ast.unparse(each).partition("(")[0]) for each in node.decorator_list)
        }
        if self._process is None or len(commands) == 1:
            return True
        names = {function.name, function.name.replace("_", "-"), re.sub(r"_(command|cmd|cli)$", "", function.name)}
        for each in function.decorator_list:
            if isinstance(each, ast.Call):
                given = [*each.args, *(keyword.value for keyword in each.keywords if keyword.arg == "name")]
                names |= {arg.value for arg in given if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}
        return not names.isdisjoint(self._process.argv)

    def _is_named(self, path: PurePosixPath, name: str) -> bool:
        """Whether code that runs uses the function or class of that file, or the command names it."""
        if self._process is not None and name in self._process.names:
            return True
        key = (path, name)
        if key not in self._known:
            self._known[key] = False  # while it is looked up: what calls itself is not called
            self._known[key] = any(
                self._node_runs(*mention) for mention in self._mentions(path, name) if not self._is_of_another(*mention)
            )
        return self._known[key]

    def _is_of_another(self, path: PurePosixPath, module: Module, node: ast.AST) -> bool:
        """Whether the name is what another word of the command line means: `{"web": run_web}`, a parser of commands."""
        words = self._process.argv if self._process is not None else ()
        named = _word_for(module, node)
        if named is None or path not in self._loaded.entries or named in words:
            return False
        return any(not word.startswith("-") for word in words[words.index("-m") + 2 if "-m" in words else 2 :])

    def _is_imported(self, path: PurePosixPath) -> bool:
        """Whether an import of the module runs; True if its way into the process is another one."""
        if self._process is None or self._loaded.by.get(path) is None:
            return True
        key = (path, "")
        if key in self._known:
            return self._known[key]
        self._known[key] = False
        name = path.parent.name if path.name == "__init__.py" else path.stem
        seen = False
        for where in self._loaded.by:
            if where == path or not self._is_python(where) or name not in self._text(where):
                continue
            if (module := self._module(where)) is None:
                continue
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Import | ast.ImportFrom) and name in _imported_parts(node):
                    seen = True
                    if self._node_runs(where, module, node):
                        self._known[key] = True
                        return True
        self._known[key] = not seen
        return not seen

    def _mentions(self, path: PurePosixPath, name: str) -> Iterator[tuple[PurePosixPath, Module, ast.AST]]:
        """Each use of a name that the file defines, in it and in the files that import it."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        users = [where for where in self._loaded.by if self._is_python(where) and word.search(self._text(where))]
        known = [(where, module, _bound(module.tree, name)) for where in users if (module := self._module(where))]
        # A module that imports the name has it, too.
        parts = {*path.with_suffix("").parts, *(where.stem for where, _, (local, _) in known if local)}
        for where, module, (local, modules) in known:
            if where == path:
                local.add(name)
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Name):
                    used = node.id in local and isinstance(node.ctx, ast.Load)
                elif isinstance(node, ast.Attribute):
                    used = node.attr == name and modules.get(base := _last(node.value), base) in parts
                elif isinstance(node, ast.Constant):
                    used = (
                        isinstance(node.value, str)
                        and re.search(rf"[\w][.:]{re.escape(name)}$", node.value) is not None
                    )
                else:
                    continue
                if used and not _is_annotation(module, node):
                    yield where, module, node

    def _definitions(self, name: str) -> Iterator[tuple[PurePosixPath, ast.expr, ast.ClassDef | None]]:
        """What a name of settings is set to: at the top of a loaded file, or in a class there."""
        word = re.compile(rf"^[ \t]*{re.escape(name)}\s*(?::[^=\n]+)?=(?!=)", re.MULTILINE)
        for where in self._loaded.by:
            if (
                not self._is_python(where)
                or not word.search(self._text(where))
                or (module := self._module(where)) is None
            ):
                continue
            for top in module.tree.body:
                owner = top if isinstance(top, ast.ClassDef) else None
                for node in owner.body if owner is not None else [top]:
                    if (value := _set_to(node, name)) is not None:
                        yield where, value, owner

    def _is_python(self, path: PurePosixPath) -> bool:
        return path.suffix == ".py" or (not path.suffix and _SHEBANG.match(self._text(path)) is not None)

    def _text(self, path: PurePosixPath) -> str:
        return self._files.text(path) or ""

    def _module(self, path: PurePosixPath) -> Module | None:
        return parsed(self._text(path))


_FILLS = re.compile(
    r"add_\w+|scheduled_job|task|configure|init_app|remove_\w+|get_jobs?|print_jobs|pause\w*|modify_job|app"
)
"""Methods of a scheduler that leave it as it is: not started."""


def _set_to(node: ast.stmt, name: str) -> ast.expr | None:
    """The value that a statement gives to a name."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return None
    return node.value if any(isinstance(each, ast.Name) and each.id == name for each in targets) else None


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _word_for(module: Module, node: ast.AST) -> str | None:
    """The word of the command line under which a function is given: a key, or the name of a parser for commands."""
    for inner, outer in module.around(node):
        if isinstance(outer, ast.Dict) and inner in outer.values:
            key = outer.keys[outer.values.index(inner)]
            return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
        if isinstance(outer, ast.stmt):
            text = ast.unparse(outer) if not hasattr(outer, "body") else ""
            parser = re.match(r"(\w+)\.set_defaults\(", text)
            if parser is not None:
                text = next(
                    (
                        ast.unparse(each)
                        for each in ast.walk(module.tree)
                        if isinstance(each, ast.Assign) and parser[1] in (_last(target) for target in each.targets)
                    ),
                    "",
                )
            found = re.search(r"\.add_parser\(['\"]([\w-]+)", text)
            return found[1] if found is not None else None
    return None


def _is_annotation(module: Module, node: ast.AST) -> bool:
    """Whether a name only says what type something has; what an annotation calls (`Depends(make)`) runs."""
    for inner, outer in module.around(node):
        if isinstance(outer, ast.Call):
            return False
        if isinstance(outer, ast.arg | ast.AnnAssign):
            return inner is outer.annotation
        if isinstance(outer, ast.stmt):
            return isinstance(outer, _Function) and inner is outer.returns
    return False


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a block leaves what it is in."""
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return _last(last.value.func) in ("exit", "_exit")
    return isinstance(last, ast.Return | ast.Raise)


def _last(node: ast.AST) -> str:
    """The last name of `a.b.c`, or of what is called."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return _last(node.func)
    return node.id if isinstance(node, ast.Name) else ""


def _imported_parts(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [part for alias in node.names for part in alias.name.split(".")]
    return {*names, *(node.module or "").split(".")} if isinstance(node, ast.ImportFrom) else set(names)


def _bound(tree: ast.Module, name: str) -> tuple[set[str], dict[str, str]]:
    """What a file calls an imported name, and the real names of what it imports as something else."""
    local: set[str] = set()
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in (name, "*"):
                    local.add(alias.asname or name)
                if alias.asname:
                    modules[alias.asname] = alias.name
        elif isinstance(node, ast.Import):
            modules |= {alias.asname: alias.name.rpartition(".")[2] for alias in node.names if alias.asname}
    return local, modules
