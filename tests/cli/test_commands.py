"""Where the commands are: each is the module of its name, and is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click
import pytest

import cronce.cli
from cronce.cli.app import COMMANDS
from cronce.cli.main import FOR_PEOPLE, RUNTIME

CLI = Path(cronce.cli.__file__).parent
ELSEWHERE = {"demo": "cronce.demo.command"}
"""Commands of another room."""


def _module(command: str) -> str:
    """`lambda_archive`, and `import_`, because a module cannot be called `import`."""
    name = command.replace("-", "_")
    return f"{name}_" if iskeyword(name) else name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_the_module_of_its_name(name: str) -> None:
    """`runs` is `cronce/cli/commands/runs.py`, `exec` is `cronce/cli/runtime/exec.py`."""
    module, summary = COMMANDS[name]
    assert module in {f"cronce.cli.{room}.{_module(name)}" for room in ("commands", "runtime")} | {ELSEWHERE.get(name)}
    if module.startswith("cronce.cli.runtime."):
        assert callable(import_module(module).main)
    else:
        command = import_module(module).command
        assert isinstance(command, click.Command)
        assert command.name == name
        assert command.get_short_help_str(limit=80) == summary


def test_every_module_beside_the_commands_is_one() -> None:
    """No helper modules among them."""
    modules = {path.stem for path in (CLI / "commands").glob("*.py")} - {"__init__"}
    assert modules == {
        _module(name) for name, entry in COMMANDS.items() if entry.module.startswith("cronce.cli.commands.")
    }


def test_an_install_without_click_knows_every_command_by_name() -> None:
    """To tell a command that needs the extra from a typing error."""
    assert sorted((*FOR_PEOPLE, *RUNTIME)) == sorted(COMMANDS)
    assert {name for name, entry in COMMANDS.items() if ".runtime." in entry.module} == set(RUNTIME)
