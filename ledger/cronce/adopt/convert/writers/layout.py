"""Values and calls laid out as the formatters of Python and HCL do: on one line if they fit, else one item per line.

A value that is laid out over several lines ends with a comma, so that no formatter joins it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cronce.adopt.convert.writers.literals import hcl_key, hcl_string, python_text

WIDTH = 88
"""The default line length of ruff and black."""

STEP = "    "


@dataclass(frozen=True, slots=True)
class Code:
    """Code as it is, on one line."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call with keywords; `positional` come first. With `tall`, it always has a line per argument."""

    name: str
    positional: tuple[Python, ...]
    keywords: Mapping[str, Python]
    tall: bool = False


@dataclass(frozen=True, slots=True)
class Subscript:
    """An item of a mapping: `name["key"]`."""

    name: str
    key: str


class Unpacked(str):
    """A key of a mapping that is code: the mapping that is unpacked there. No text of a file becomes one."""

    __slots__ = ()


Python = Code | Call | Subscript | str | bool | int | Sequence["Python"] | Mapping[str, "Python"]


def python(value: Python, indent: str, *, used: int = 0) -> str:
    """The value as Python.

    Args:
        value: What to write.
        indent: The spaces of the line on which it begins.
        used: Characters on that line before and after it.
    """
    flat = _flat(value)
    if flat is not None and len(indent) + used + len(flat) <= WIDTH:
        return flat
    inner = indent + STEP
    match value:
        case Call(name=name, positional=positional, keywords=keywords):
            lines = [f"{inner}{python(each, inner, used=1)}," for each in positional]
            lines += [
                f"{inner}{keyword}={python(each, inner, used=len(keyword) + 2)}," for keyword, each in keywords.items()
            ]
            return "\n".join([f"{name}(", *lines, f"{indent})"])
        case Mapping():
            lines = []
            for key, each in value.items():
                if isinstance(key, Unpacked):
                    lines.append(f"{inner}**{key},")
                else:
                    word = python_text(key)
                    lines.append(f"{inner}{word}: {python(each, inner, used=len(word) + 3)},")
            return "\n".join(["{", *lines, f"{indent}}}"])
        case Subscript(name=name, key=key):
            return f"{name}[\n{inner}{python_text(key)}\n{indent}]"
        case str() | bool() | int() | Code():
            return flat or ""
        case _:
            lines = [f"{inner}{python(each, inner, used=1)}," for each in value]
            return "\n".join(["[", *lines, f"{indent}]"])


def _flat(value: Python) -> str | None:
    match value:
        case Code(text=text):
            return text
        case Subscript(name=name, key=key):
            return f"{name}[{python_text(key)}]"
        case bool() | int():
            return str(value)
        case str():
            return python_text(value)
        case Call(tall=True):
            return None
        case Call(name=name, positional=positional, keywords=keywords):
            words = [_flat(each) for each in positional]
            words += [None if (v := _flat(each)) is None else f"{k}={v}" for k, each in keywords.items()]
            return None if None in words else f"{name}({', '.join(map(str, words))})"
        case Mapping():
            pairs = [(key, _flat(each)) for key, each in value.items()]
            if any(each is None for _, each in pairs):
                return None
            inside = ", ".join(f"**{k}" if isinstance(k, Unpacked) else f"{python_text(k)}: {v}" for k, v in pairs)
            return f"{{{inside}}}"
        case _:
            items = [_flat(each) for each in value]
            return None if None in items else f"[{', '.join(map(str, items))}]"


Hcl = Code | str | bool | int | Sequence["Hcl"] | Mapping[str, "Hcl"]


def hcl(value: Hcl, indent: str, *, used: int = 0) -> str:
    """The value as HCL; a mapping always has a line per key.

    Args:
        value: What to write.
        indent: The spaces of the line on which it begins.
        used: Characters on that line before it.
    """
    inner = indent + "  "
    match value:
        case Code(text=text):
            return text
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str():
            return hcl_string(value)
        case Mapping():
            return "\n".join(
                ["{", *arguments({hcl_key(key): each for key, each in value.items()}, inner), f"{indent}}}"]
            )
        case _:
            items = [hcl(each, inner) for each in value]
            flat = f"[{', '.join(items)}]"
            if "\n" not in flat and len(indent) + used + len(flat) <= 120:
                return flat
            return "\n".join(["[", *(f"{inner}{item}," for item in items), f"{indent}]"])


def arguments(values: Mapping[str, Hcl], indent: str) -> list[str]:
    """The lines of `name = value`, with the signs below one another as `terraform fmt` puts them.

    A value over several lines ends a group.
    """
    written = [(name, hcl(value, indent, used=len(name) + 3)) for name, value in values.items()]
    lines: list[str] = []
    group: list[tuple[str, str]] = []

    def flush() -> None:
        width = max((len(name) for name, _ in group), default=0)
        lines.extend(f"{indent}{name:<{width}} = {text}" for name, text in group)
        group.clear()

    for name, text in written:
        if "\n" in text:
            flush()
            lines.append(f"{indent}{name} = {text}")
        else:
            group.append((name, text))
    flush()
    return lines
