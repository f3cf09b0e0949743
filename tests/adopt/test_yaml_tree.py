"""YAML as a tree with lines, also when the text is hostile."""

from __future__ import annotations

import pytest

from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents


def _one(text: str) -> YamlNode:
    (node,) = documents(text)
    return node


def test_a_value_knows_its_line() -> None:
    """In nested sequences too."""
    node = _one("a:\n  b:\n    - x\n    - y: 4\n").get("a", "b")
    assert node is not None
    assert [item.line for item in node.items()] == [3, 4]


def test_what_a_mapping_says_itself_wins_over_what_it_merges() -> None:
    """Also with a list of sources."""
    node = _one("base: &b {x: '1', y: '2'}\nown:\n  <<: *b\n  y: '3'\nlist:\n  <<: [*b, {z: '4'}]\n")
    assert {key: value.value for key, value in node.entries("own").items()} == {"x": "1", "y": "3"}
    assert set(node.entries("list")) == {"x", "y", "z"}


def test_several_documents_and_an_empty_one_are_read() -> None:
    """The empty one is left out."""
    assert [node.words("a") for node in documents("a: 1\n---\n---\na: 2\n")] == ["1", "2"]


def test_json_with_tabs_and_halves_of_characters_is_read() -> None:
    """What YAML 1.1 would refuse."""
    assert _one('{\n\t"a": "\\ud83d\\ude00",\n\t"b": [1]\n}').items("b")[0].line == 3


def test_null_is_nothing_and_a_quoted_null_is_text() -> None:
    """Four ways to say it."""
    node = _one("a: null\nb: 'null'\nc:\nd: ~\n")
    assert [node.words(key) for key in "abcd"] == [None, "null", None, None]


def test_a_bomb_of_aliases_costs_nothing() -> None:
    """9 to the power of 39 values are 40 nodes."""
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 40))
    assert len(_one(f"l0: &l0 x\n{levels}\n").items("l39")) == 9


def test_an_alias_inside_its_own_anchor_is_nothing() -> None:
    """No tree has a circle."""
    node = _one("a: &a [*a, x]\n")
    assert node.items("a")[0].is_null


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[" * 200_000, 1),
        ("a:\n" + "{x: " * 500, 2),
        ("ok: 1\ndeep: " + "[" * 150 + "]" * 150, 2),
        ("a: b: c\n", 1),
        ("a: *unknown\n\tb", 2),
        ("ok: 1\nbad: '\n", 3),
        ("a: \x07", 1),
        ("a: [1\nb: 2\n", 2),
        ("[" + "x," * 120_000 + "]", 1),
    ],
)
def test_what_is_no_yaml_names_its_line(text: str, line: int) -> None:
    """Deep, large, torn, or with forbidden characters."""
    with pytest.raises(YamlUnreadableError) as caught:
        list(documents(text))
    assert caught.value.line == line


def test_a_bomb_of_merges_ends() -> None:
    """Each merge counts what it copies."""
    keys = ", ".join(f"k{n}: x" for n in range(1000))
    levels = "\n".join(f"l{n}: &l{n}\n  <<: [*l{n - 1}, *l{n - 1}, *l{n - 1}]" for n in range(1, 200))
    with pytest.raises(YamlUnreadableError, match="more than 100000 values"):
        list(documents(f"l0: &l0 {{{keys}}}\n{levels}\n"))
