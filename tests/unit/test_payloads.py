"""What a job may store beside its run."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.payloads import (
    MAX_JSON_BYTES,
    MAX_TEXT_BYTES,
    decode_json,
    encode_checkpoint,
    encode_checkpoint_text,
    encode_result,
    shortened,
)


def _deep() -> list[object]:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


def _circular() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


NOT_JSON = {
    "NaN": float("nan"),
    "infinity": [float("inf")],
    "an object": object(),
    "bytes": b"x",
    "a set": {1},
    "a circle": _circular(),
    "a pit": _deep(),
    "a tuple as key": {(1, 2): 3},
}


def test_no_result_is_no_result() -> None:
    """Nothing is stored for None."""
    assert encode_result(None) == (None, None)


@pytest.mark.parametrize("value", [0, False, "", [], {"sent": 3100}, "Grüße", "\ud800"])
def test_a_small_result_is_stored_whole(value: object) -> None:
    """As JSON, without a flag."""
    text, flag = encode_result(value)
    assert flag is None
    assert text is not None
    assert json.loads(text) == value


@pytest.mark.parametrize("value", NOT_JSON.values(), ids=NOT_JSON)
def test_a_result_that_is_not_json_is_left_out_and_flagged(value: object) -> None:
    """It never costs the success that it belongs to (L12)."""
    assert encode_result(value) == (None, "NOT_JSON")


class Hostile(dict[str, int]):
    """A value whose own methods fail."""

    def items(self) -> NoReturn:
        """Fail."""
        raise RuntimeError


def test_a_value_whose_own_methods_fail_is_not_json() -> None:
    """Whatever they raise: the work is done."""
    assert encode_result(Hostile(a=1)) == (None, "NOT_JSON")
    with pytest.raises(InputInvalidError):
        encode_checkpoint(Hostile(a=1))


@pytest.mark.parametrize(
    ("size", "flag"), [(MAX_JSON_BYTES - 3, None), (MAX_JSON_BYTES - 2, None), (MAX_JSON_BYTES - 1, "TRUNCATED")]
)
def test_a_result_just_over_the_limit_is_cut_and_flagged(size: int, flag: str | None) -> None:
    """Just before and at the limit it is whole (L12); the quotes count."""
    text, flagged = encode_result("x" * size)
    assert flagged == flag
    assert text is not None
    assert len(text) == min(size + 2, MAX_JSON_BYTES)


@pytest.mark.parametrize("value", [0, False, "", [], "x" * (MAX_JSON_BYTES - 2)])
def test_a_checkpoint_is_any_small_json(value: object) -> None:
    """Up to and at the limit."""
    assert decode_json(encode_checkpoint(value)) == value


@pytest.mark.parametrize("value", [None, "x" * (MAX_JSON_BYTES - 1), *NOT_JSON.values()])
def test_a_checkpoint_that_could_not_be_read_back_is_refused(value: object) -> None:
    """A cursor that came back cut would be wrong."""
    with pytest.raises(InputInvalidError, match=r"^checkpoint: .*at most 32768 bytes"):
        encode_checkpoint(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("17", 17),
        ('{"page": 2}', {"page": 2}),
        ("page 2", "page 2"),
        ("null", "null"),
        ('{"rate": NaN}', '{"rate": NaN}'),
        ("[" * 20_000, "[" * 20_000),
    ],
)
def test_a_command_stores_the_value_that_its_text_is_or_the_text(text: str, value: object) -> None:
    """What is no JSON, or none that could be read back, is a string."""
    assert decode_json(encode_checkpoint_text(text)) == value


@pytest.mark.parametrize("text", ["x" * MAX_JSON_BYTES, f'"{"x" * MAX_JSON_BYTES}"'])
def test_a_text_of_a_command_that_is_too_large_is_refused(text: str) -> None:
    """Cut, it would be another cursor."""
    with pytest.raises(InputInvalidError, match=r"^checkpoint: .*at most 32768 bytes"):
        encode_checkpoint_text(text)


@pytest.mark.parametrize(
    ("text", "value"), [(None, None), ("7", 7), ('{"a":1}', {"a": 1}), ('{"a":', '{"a":'), ("", "")]
)
def test_stored_text_is_read_as_json_or_as_it_stands(text: str | None, value: object) -> None:
    """A result that was cut, or a foreign writer's words, are shown as they are."""
    assert decode_json(text) == value


@pytest.mark.parametrize(
    ("text", "most", "cut"),
    [("abc", 3, "abc"), ("abcd", 3, "abc"), ("äöü", 6, "äöü"), ("äöü", 5, "äö"), ("ä", 1, ""), ("a\ud800", 9, "a?")],
)
def test_text_is_cut_between_characters(text: str, most: int, cut: str) -> None:
    """Bytes count; half a surrogate pair becomes a question mark."""
    assert shortened(text, most) == cut


@given(st.text(st.characters()), st.integers(0, 40))
def test_cut_text_is_valid_and_short(text: str, most: int) -> None:
    """Whatever the text is."""
    cut = shortened(text, most)
    assert len(cut.encode()) <= most
    assert text.encode("utf-8", "replace").startswith(cut.encode())


def test_the_default_limit_is_far_below_an_items() -> None:
    """Every heartbeat writes the row again."""
    assert len(shortened("x" * 10_000)) == MAX_TEXT_BYTES
