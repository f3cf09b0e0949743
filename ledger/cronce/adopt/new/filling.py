"""Values in templates. Every template is a valid file of its language before it is filled, so that tools can read it.

A value that people choose has the place of a whole string, `"{{job}}"`, and becomes a string of that language with
exactly this value. A text that cronce chooses, such as a version, has the place `{{cronce}}`.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping

_PLACE = re.compile(r'"\{\{([a-z0-9-]+)\}\}"|\{\{([a-z0-9-]+)\}\}')


def filled(template: str, *, kind: str, literals: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Return the template with its values.

    Args:
        template: The text of the template.
        kind: The suffix of its file, such as `.py`.
        literals: Printable values of people. Their places are whole strings.
        texts: Values of cronce, which are inserted as they are.

    Raises:
        KeyError: The template names a value that does not exist.
    """

    def value(place: re.Match[str]) -> str:
        literal, text = place.groups()
        if literal in literals:
            return _STRINGS[kind](literals[literal])
        return f'"{texts[literal]}"' if literal else texts[text]

    return _PLACE.sub(value, template)


def _json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _hcl(value: str) -> str:
    return _json(value).replace("${", "$${").replace("%{", "%%{")


def _ruby(value: str) -> str:
    return _json(value).replace("#", "\\#")


_STRINGS: Mapping[str, Callable[[str], str]] = {
    ".json": _json,
    ".md": shlex.quote,
    ".mjs": _json,
    ".py": _json,
    ".rb": _ruby,
    ".sh": shlex.quote,
    ".tf": _hcl,
}
"""How each language writes a printable text as a string. In the README, values are words of commands."""
