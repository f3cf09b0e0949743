"""Where the commands are: each is the module of its name, and is loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click
import pytest

import cronce.cli
from cronce.cli.app import COMMANDS
from cronce.cli.main import FOR_PEOPLE, RUNTIME

CLI = Path(cronce.cli.__file__).parent
ELSEWHERE = {"demo": "cronce.demo.command"}
"""Commands of another room."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_the_module_of_its_name(name: str) -> None:
    """`runs` is `cronce/cli/commands/runs.py`, `exec` is `cronce/cli/runtime/exec.py`."""
    assert COMMANDS[name] in {f"cronce.cli.{room}.{name}" for room in ("commands", "runtime")} | {ELSEWHERE.get(name)}
    if COMMANDS[name].startswith("cronce.cli.runtime."):
        assert callable(import_module(COMMANDS[name]).main)
    else:
        command = import_module(COMMANDS[name]).command
        assert isinstance(command, click.Command)
        assert command.name == name


def test_every_module_beside_the_commands_is_one() -> None:
    """No helper modules among them."""
    modules = {path.stem for path in (CLI / "commands").glob("*.py")} - {"__init__"}
    assert modules == {name for name, module in COMMANDS.items() if module.startswith("cronce.cli.commands.")}


def test_an_install_without_click_knows_every_command_by_name() -> None:
    """To tell a command that needs the extra from a typing error."""
    assert sorted((*FOR_PEOPLE, *RUNTIME)) == sorted(COMMANDS)
    assert {name for name, module in COMMANDS.items() if ".runtime." in module} == set(RUNTIME)
