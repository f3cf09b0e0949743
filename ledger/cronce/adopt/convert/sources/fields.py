"""Documents in YAML or JSON with the line of every value. A reader takes fields; what it leaves is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cronce.adopt.convert.model import Notes
from cronce.vocabulary.errors import Found, InputInvalidError, InputMissingError

if TYPE_CHECKING:
    from yaml.nodes import Node as YamlNode

_MOST_VALUES = 50_000
_DEEPEST = 60
_NULL, _MAPPING, _SEQUENCE = (f"tag:yaml.org,2002:{name}" for name in ("null", "map", "seq"))
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value of a document.

    Attributes:
        content: A mapping of values by name, a list of values, text as written, or None for null.
        plain: True for text without quotes, which may be a number or a flag.
        file: The name of the file.
        line: Where it begins, from 1.
        path: Its place in the document, such as `spec.schedule`.
    """

    content: Mapping[str, Value] | list[Value] | str | None
    plain: bool = False
    file: str
    line: int
    path: str

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def where(self) -> str:
        """File, line and path, for an error."""
        return f"{self.file}:{self.line}: {self.path}" if self.path else f"{self.file}:{self.line}"

    def refused(self, allowed: str) -> InputInvalidError:
        """The error for this value."""
        return InputInvalidError(self.where, _shown(self), allowed)

    def text(self) -> str:
        """The text, also of a number or a flag, as it is written.

        Raises:
            InputInvalidError: It is a mapping, a list or null.
        """
        if not isinstance(self.content, str):
            raise self.refused("text")
        return self.content

    def flag(self) -> bool:
        """True or false.

        Raises:
            InputInvalidError: It is neither.
        """
        word = self.content.lower() if isinstance(self.content, str) else ""
        if word not in (*_TRUE, *_FALSE):
            raise self.refused("true or false")
        return word in _TRUE

    def whole(self, least: int = 0, most: int = 10**9) -> int:
        """A whole number.

        Raises:
            InputInvalidError: It is none, or out of range.
        """
        text = self.content if isinstance(self.content, str) else ""
        if not re.fullmatch(r"-?[0-9]{1,10}", text) or not least <= int(text) <= most:
            raise self.refused(f"a whole number from {least} to {most}")
        return int(text)

    def items(self) -> list[Value]:
        """The values of a list.

        Raises:
            InputInvalidError: It is none.
        """
        if not isinstance(self.content, list):
            raise self.refused("a list")
        return self.content

    def words(self) -> tuple[str, ...]:
        """A list of texts.

        Raises:
            InputInvalidError: It is none.
        """
        return tuple(each.text() for each in self.items())

    def fields(self) -> Fields:
        """A mapping.

        Raises:
            InputInvalidError: It is none.
        """
        if not isinstance(self.content, Mapping):
            raise self.refused("a mapping")
        return Fields(self, dict(self.content))


@dataclass(slots=True)
class Fields:
    """A mapping whose fields are taken one by one; what nobody took is left."""

    of: Value
    _left: dict[str, Value]

    def __contains__(self, name: str) -> bool:
        """Whether the field is there and not taken yet."""
        return name in self._left and self._left[name].content is not None

    def take(self, *names: str) -> Value | None:
        """The first of the fields that is there; null counts as absent."""
        found = None
        for name in names:
            value = self._left.pop(name, None)
            if value is not None and value.content is not None and found is None:
                found = value
        return found

    def need(self, name: str, what: str) -> Value:
        """The field.

        Raises:
            InputMissingError: It is not there.
        """
        value = self.take(name)
        if value is None:
            place = f"{self.of.file}:{self.of.line}: {f'{self.of.path}.' if self.of.path else ''}{name}"
            raise InputMissingError(place, what)
        return value

    def left(self) -> list[Value]:
        """What nobody took."""
        return list(self._left.values())

    def report(self, notes: Notes, why: str = "cronce has no such field") -> None:
        """Note every field that nobody took as not mapped."""
        for value in self.left():
            notes.left(value.name, _shown(value), why, line=value.line)
        self._left.clear()


def yaml_documents(text: str, file: str) -> list[Value]:
    """The documents of a YAML or JSON file; empty ones are left out.

    Raises:
        InputInvalidError: It is no YAML, names a field twice, or has more values than anybody writes; with the line.
        InputMissingError: The YAML library is not installed.
    """
    try:
        import yaml  # noqa: PLC0415  # an extra
    except ModuleNotFoundError:
        raise InputMissingError("the package PyYAML", "pip install 'cronce[import]'") from None
    if text.lstrip()[:1] in ("{", "["):
        text = text.replace("\t", " ")  # JSON: no tab is inside a string
    try:
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.reader.ReaderError as error:
        raise InputInvalidError(file, Found(f"character {error.character!r}"), "YAML or JSON in UTF-8") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}:{mark.line + 1}" if mark else file
        raise InputInvalidError(where, Found(error.problem or error), "YAML or JSON") from None
    except RecursionError:
        raise InputInvalidError(file, Found("values in values"), f"at most {_DEEPEST} of them in one another") from None
    reading = _Reading(file)
    return [reading.value(node, "", 0) for node in nodes]


class _Reading:
    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0

    def value(self, node: YamlNode, path: str, depth: int) -> Value:
        self._count += 1
        line = node.start_mark.line + 1
        if self._count > _MOST_VALUES or depth > _DEEPEST:
            what = f"{self._file}:{line}"
            limits = f"at most {_MOST_VALUES} values, at most {_DEEPEST} in one another"
            raise InputInvalidError(what, Found("values in values"), limits)
        content: Mapping[str, Value] | list[Value] | str | None
        match node.value:
            case str() as text:
                content = None if node.tag == _NULL else _joined(text)
            case _ if node.tag == _MAPPING or (node.value and isinstance(node.value[0], tuple)):
                content = self._mapping(node, path, depth)
            case items:
                content = [self.value(each, f"{path}[{number}]", depth + 1) for number, each in enumerate(items)]
        if isinstance(content, str) and "\0" in content:
            raise InputInvalidError(f"{self._file}:{line}", content, "text without a NUL character")
        plain = isinstance(content, str) and node.style is None  # type: ignore[attr-defined]
        return Value(content=content, plain=plain, file=self._file, line=line, path=path)

    def _mapping(self, node: YamlNode, path: str, depth: int) -> Mapping[str, Value]:
        own: dict[str, Value] = {}
        merged: dict[str, Value] = {}
        for key, each in node.value:
            name, line = key.value, key.start_mark.line + 1
            if not isinstance(name, str):
                raise InputInvalidError(
                    f"{self._file}:{line}", Found("a mapping as a name"), "text as the name of a field"
                )
            if key.tag.endswith(":merge"):
                for other in each.value if each.tag == _SEQUENCE else [each]:
                    value = self.value(other, path, depth + 1)
                    if not isinstance(value.content, Mapping):
                        raise InputInvalidError(f"{self._file}:{line}", name, "<< with a mapping")
                    merged = {**value.content, **merged}
                continue
            if name in own:
                raise InputInvalidError(f"{self._file}:{line}", name, "each field once")
            own[name] = self.value(each, f"{path}.{name}" if path else name, depth + 1)
        return {**{name: value for name, value in merged.items() if name not in own}, **own}


def _joined(text: str) -> str:
    """The text, with the surrogate pairs of JSON as the characters that they are; a lone half as U+FFFD."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _shown(value: Value) -> str:
    match value.content:
        case None:
            return "null"
        case str() as text:
            return text
        case list() as items:
            return f"[{', '.join(_shown(each) for each in items[:5])}{', ...' if len(items) > 5 else ''}]"
        case mapping:
            return f"{{{', '.join(list(mapping)[:5])}{', ...' if len(mapping) > 5 else ''}}}"
