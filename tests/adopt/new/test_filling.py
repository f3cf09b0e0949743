"""Values in templates: whatever a name contains, it is that name in every language."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from cronce.adopt.new import project as project_module
from cronce.adopt.new.filling import filled
from tests.adopt.new.conftest import HOSTILE

TEMPLATES = Path(project_module.__file__).with_name("templates")
NAMES = [HOSTILE, "plain", '"""', "\\", "\\\\'", "é ü", "{{job}}", '"{{job}}"', "#", "${", "$${", "%%{", "a;b|c&d>e"]


def one(kind: str, value: str) -> str:
    """The string in that language."""
    return filled('"{{job}}"', kind=kind, literals={"job": value}, texts={})


@pytest.mark.parametrize("value", NAMES)
def test_a_string_has_exactly_the_value(value: str) -> None:
    """As its own language reads it."""
    assert ast.literal_eval(one(".py", value)) == value
    assert json.loads(one(".json", value)) == json.loads(one(".mjs", value)) == value
    assert shlex.split(one(".sh", value)) == shlex.split(one(".md", value)) == [value]
    printed = subprocess.run(["sh", "-c", f"printf %s {one('.sh', value)}"], check=True, capture_output=True, text=True)
    assert printed.stdout == value


def test_nothing_is_interpolated_by_ruby_or_terraform() -> None:
    """The two whose strings have expressions in them."""
    assert one(".rb", "#{1} #$0 #@a") == r'"\#{1} \#$0 \#@a"'
    assert one(".tf", "${a} %{b} $${c}") == '"$${a} %%{b} $$${c}"'


def test_a_value_is_not_filled_again() -> None:
    """A name that looks like a place is a name."""
    told = filled('"{{a}}" {{b}}', kind=".py", literals={"a": "{{b}}"}, texts={"b": "2"})
    assert told == '"{{b}}" 2'


def test_a_place_without_a_value_is_an_error() -> None:
    """Of the template, found by the first test that writes it."""
    with pytest.raises(KeyError):
        filled("{{other}}", kind=".py", literals={}, texts={})


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.py")), ids=lambda path: path.name)
def test_a_template_in_python_is_python(template: Path) -> None:
    """So that ruff and mypy read it as it is."""
    assert "{{" in template.read_text() or template.name == "job.py"
    ast.parse(template.read_text())


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.sh")), ids=lambda path: path.name)
def test_a_template_for_the_shell_is_a_script(template: Path) -> None:
    """By the shell's own check."""
    subprocess.run(["sh", "-n", template], check=True)


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.mjs")), ids=lambda path: path.name)
def test_a_template_for_node_is_a_module(template: Path) -> None:
    """By its own check."""
    subprocess.run(["node", "--check", template], check=True)
