"""The benchmarks are not run by the tests, so at least their imports of this project must exist."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "benchmarks").rglob("*.py"))


def test_every_benchmark_is_found() -> None:
    """Also in their folders."""
    assert {"benchmarks/fleet.py", "benchmarks/guard/worker.py"} <= set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_a_benchmark_imports_what_exists(file: str) -> None:
    """A module that is renamed is renamed here too."""
    tree = ast.parse((ROOT / file).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in ("cronce", "cronce_lambdas"):
            assert node.module is not None
            module = import_module(node.module)
            for name in node.names:
                assert hasattr(module, name.name) or find_spec(f"{node.module}.{name.name}"), name.name
