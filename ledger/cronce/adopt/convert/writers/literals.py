"""Texts of a source as literals of Python, HCL and TOML, and as comments. Pure.

What comes from a file can be anything. A literal reads back as the same text, and a comment stays one.
"""

from __future__ import annotations

import re

from cronce.operate.wording import visible

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_HCL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def python_text(text: str) -> str:
    """The text as Python writes it: in double quotes, unless that needs more escapes."""
    quote = '"' if text.count('"') <= text.count("'") else "'"
    escaped = (
        f"\\{each}" if each in (quote, "\\") else each if each.isprintable() else repr(each)[1:-1] for each in text
    )
    return f"{quote}{''.join(escaped)}{quote}"


def hcl_string(text: str) -> str:
    """The text as HCL writes it; `${` and `%{` are no templates.

    HCL normalizes texts to NFC, whatever is written.
    """
    escaped = []
    for place, character in enumerate(text):
        before_brace = text[place + 1 : place + 2] == "{"
        if character in "$%" and before_brace:
            escaped.append(character * 2)
        elif character in "$%" and re.match(r"[$%]+\{", text[place:]):
            escaped.append(f"\\u{ord(character):04x}")
        else:
            escaped.append(_escaped(character))
    return f'"{"".join(escaped)}"'


def hcl_key(name: str) -> str:
    """The name as the key of an object."""
    return name if _HCL_NAME.fullmatch(name) else hcl_string(name)


def toml_text(text: str) -> str:
    """The text as a basic string of TOML."""
    return f'"{"".join(map(_escaped, text))}"'


def toml_key(name: str) -> str:
    """The name as a key of TOML."""
    return name if _PLAIN_KEY.fullmatch(name) else toml_text(name)


def comment_line(text: str, prefix: str = "# ") -> str:
    """The text as one line of a comment."""
    return f"{prefix}{visible(text)}".rstrip()


def docstring_words(text: str) -> str:
    """The text for a docstring: one line, and nothing that ends it."""
    return visible(text).replace("\\", "/").replace('"', "'")


def _escaped(character: str) -> str:
    match character:
        case '"' | "\\":
            return f"\\{character}"
        case "\n":
            return "\\n"
        case "\r":
            return "\\r"
        case "\t":
            return "\\t"
        case _ if character.isprintable():
            return character
        case _:
            code = ord(character)
            return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
