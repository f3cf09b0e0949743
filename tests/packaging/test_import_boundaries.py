"""Which part may import which: the rules that keep run time, deploy time and decisions apart."""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "constructs" / "cronce_cdk", ROOT / "lambdas" / "cronce_lambdas", ROOT / "ledger" / "cronce"]

ROOMS = (
    "vocabulary",
    "portable",
    "schedule",
    "aws",
    "protocol",
    "stores",
    "client",
    "ecs",
    "watch",
    "guard",
    "clock",
    "operate",
    "board",
    "adopt",
    "cli",
    "demo",
    "testing",
)
"""The packages of `cronce`, each of which may import itself and those before it."""

PURE = (
    "cronce.vocabulary",
    "cronce.schedule",
    "cronce.protocol",
    "cronce.clock.config",
    "cronce.clock.plan",
    "cronce.clock.agenda",
    "cronce.watch.jobs",
    "cronce.watch.memory",
    "cronce.watch.due_ticks",
    "cronce.watch.catching_up",
)
DEPLOY_TIME_MAY_USE = (
    "cronce.vocabulary",
    "cronce.schedule",
    "cronce.clock.config",
    "cronce.portable.lambda_archive",
)
BUILDER_MAY_USE = ("cronce.portable", "cronce.vocabulary")
EVENT_TIME_MUST_NOT_USE = (
    "cronce.guard",
    "cronce.clock",
    "cronce.adopt",
    "cronce.cli",
    "cronce.demo",
    "cronce.testing",
    "cronce.portable",
)
WRITTEN_BY_NEW = ROOT / "ledger" / "cronce" / "adopt" / "new" / "templates"
"""Programs of the projects that `cronce new` writes: they use all of cronce, and nothing imports them."""

IMPURE_STDLIB = {
    "asyncio",
    "logging",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uuid",
}
CLOCKS = {"now", "utcnow", "today"}


def test_the_only_module_beside_the_rooms_is_the_package_itself() -> None:
    """Every module has a room whose sentence it fits."""
    package = ROOT / "ledger" / "cronce"
    assert [path.name for path in package.glob("*.py")] == ["__init__.py"]
    assert {path.name for path in package.iterdir() if path.is_dir() and path.name != "__pycache__"} == set(ROOMS)


def test_the_builder_of_the_portable_folder_needs_no_other_room() -> None:
    """It copies them as files, so an image without boto3 can build the folder."""
    others = [f"cronce.{room}" for room in ROOMS if f"cronce.{room}" not in BUILDER_MAY_USE]
    assert _offenders("cronce.portable", lambda name: _within(name, *others)) == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_no_room_after_it(room: str) -> None:
    """The order of the rooms is the order of the imports, also inside functions and for types."""
    later = [f"cronce.{name}" for name in ROOMS[ROOMS.index(room) + 1 :]]
    assert _offenders(f"cronce.{room}", lambda name: _within(name, *later)) == []


def test_no_two_modules_import_each_other() -> None:
    """Directly or through others, in a function, under a condition or for types only: each can be read on its own."""
    assert _circles(_import_graph()) == []


def test_the_search_for_circles_finds_one() -> None:
    """Of two modules, of three, and of a module with itself; a fork that meets again is none."""
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e", "f"}, "e": {"g"}, "f": {"g"}, "g": set(), "h": {"h"}}
    assert _circles(graph) == [["a", "b", "c"], ["h"]]


def test_run_time_never_imports_deploy_time() -> None:
    """A task's image has no CDK."""
    assert _offenders("cronce", lambda name: _within(name, "aws_cdk", "constructs", "cronce_cdk")) == []


def test_run_time_never_imports_event_time() -> None:
    """The Lambdas stand on the ledger, not the other way round."""
    assert _offenders("cronce", lambda name: _within(name, "cronce_lambdas")) == []


def test_event_time_never_imports_deploy_time() -> None:
    """A Lambda's asset has no CDK."""
    assert _offenders("cronce_lambdas", lambda name: _within(name, "aws_cdk", "constructs", "cronce_cdk")) == []


def test_event_time_never_imports_what_works_or_talks_to_people() -> None:
    """A Lambda judges and launches; it runs no command, no clock and no terminal."""
    assert _offenders("cronce_lambdas", lambda name: _within(name, *EVENT_TIME_MUST_NOT_USE)) == []


def test_deploy_time_takes_only_names_and_schedules_from_run_time() -> None:
    """And its code. A synth needs no boto3, and a change of the ledger's inside does not reach a template."""

    def breaks(name: str) -> bool:
        return _within(name, "cronce", "cronce_lambdas") and not _within(name, *DEPLOY_TIME_MAY_USE)

    assert _offenders("cronce_cdk", breaks) == []


def test_the_pure_core_imports_nothing_that_acts() -> None:
    """What decides has no clock, environment, network, thread or dice; time comes in as an argument."""

    def breaks(name: str) -> bool:
        top = name.partition(".")[0]
        if top == "cronce":
            return not _within(name, *PURE)
        return top not in sys.stdlib_module_names or top in IMPURE_STDLIB

    assert [offence for part in PURE for offence in _offenders(part, breaks)] == []


def test_the_pure_core_never_asks_the_time() -> None:
    """`datetime.now()` needs no import of its own, so the walk looks for the call."""
    asks = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for module, path in _modules()
        if _within(module, *PURE)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS
    ]
    assert asks == []


def test_only_the_plugin_and_the_suite_import_pytest() -> None:
    """The base install has none, and the rest of the test kit works with any test runner."""
    found = {offence.partition(":")[0] for offence in _offenders("cronce", lambda name: _within(name, "pytest"))}
    allowed = ("ledger/cronce/testing/plugin.py", "ledger/cronce/testing/conformance/")
    assert found
    assert [path for path in found if not path.startswith(allowed)] == []


def test_the_walk_finds_the_code_it_judges() -> None:
    """A moved folder would otherwise leave rules that hold over nothing."""
    modules = {module for module, _ in _modules()}
    assert {
        "cronce",
        "cronce.vocabulary.names",
        "cronce.protocol",
        "cronce_cdk.run_ledger",
        "cronce_lambdas",
    } <= modules


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import aws_cdk.aws_iam as iam", ["aws_cdk.aws_iam"]),
        ("from aws_cdk import Stack, App", ["aws_cdk.Stack", "aws_cdk.App"]),
        ("def f():\n    if x:\n        import time, os", ["time", "os"]),
        ("from . import clock", ["cronce.protocol.clock"]),
        ("from ..clock import Clock", ["cronce.clock.Clock"]),
        ("from .. import clock", ["cronce.clock"]),
        ("if TYPE_CHECKING:\n    from cronce import Ledger", ["cronce.Ledger"]),
    ],
)
def test_the_walk_sees_every_form_of_import(source: str, names: list[str]) -> None:
    """In a function, under a condition, relative, or for types only."""
    assert [name for name, _ in _imports(source, "cronce.protocol.claiming", is_package=False)] == names


def _offenders(part: str, breaks: Callable[[str], bool]) -> list[str]:
    """Where modules of `part` import a name that `breaks` the rule."""
    return [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for module, path in _modules()
        if _within(module, part)
        for name, line in _imports_of(path, module)
        if breaks(name)
    ]


def _import_graph() -> dict[str, set[str]]:
    """The modules that each module names in its imports; the package above a module is not one of them."""
    modules = dict(_modules())
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, path in modules.items():
        for name, _ in _imports_of(path, module):
            found = name if name in modules else name.rpartition(".")[0]
            if found in modules and not (found == module and name in modules):
                graph[module].add(found)
    return graph


def _circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Every group of modules that reach each other, sorted."""
    reached: dict[str, set[str]] = {}
    for module in graph:
        seen: set[str] = set()
        ahead = list(graph[module])
        while ahead:
            name = ahead.pop()
            if name not in seen:
                seen.add(name)
                ahead += graph[name]
        reached[module] = seen
    groups = {
        tuple(sorted({module, *(other for other in reached[module] if module in reached[other])}))
        for module in graph
        if module in reached[module]
    }
    return [list(group) for group in sorted(groups)]


def _modules() -> Iterator[tuple[str, Path]]:
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            if path.is_relative_to(WRITTEN_BY_NEW):
                continue
            parts = path.relative_to(source.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def _imports_of(path: Path, module: str) -> list[tuple[str, int]]:
    return list(_imports(path.read_text(), module, is_package=path.name == "__init__.py"))


def _imports(source: str, module: str, *, is_package: bool) -> Iterator[tuple[str, int]]:
    """Each imported name in full, with its line; `from a import b` is `a.b`, module or not."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                kept = parents[: len(parents) - node.level + is_package]
                base = ".".join([*kept, base] if base else kept)
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


def _within(name: str, *parts: str) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)
