"""What other files of a project say: constants in modules of settings, and modules with the name of a library."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.tree import LANGUAGES

_SETTINGS = re.compile(r"(?i)_?(?:app_?)?(?:settings?|config(?:uration)?|conf|constants?|defaults?|env(?:ironment)?)")
_FOLDERS = frozenset({"settings", "config", "conf", "constants"})
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*")
_MOST = 200
_MOST_NAMES = 8


class Elsewhere:
    """What other files say.

    Args:
        files: The project.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def lines_for(self, expression: str, text: str) -> str:
        """The definitions of the names of an expression that the text of its file leaves open."""
        names = self._names(expression)
        for name in tuple(names):
            if local := re.search(rf"^[ \t]*{re.escape(name)}\b[^=\n]*=(?!=)[ \t]*([^\n]+)", text, re.MULTILINE):
                names |= self._names(local[1])
        found = (self._definition(name) for name in sorted(names)[:_MOST_NAMES])
        return "\n".join(line for line in found if line)

    def has_module(self, name: str, path: PurePosixPath) -> bool:
        """Whether `import NAME` in that Python file finds a module of the project before any library."""
        roots = {PurePosixPath(), PurePosixPath("src")}
        if path.parent / "__init__.py" not in self._files:
            roots.add(path.parent)
        files = (each for root in roots for each in (root / f"{name}.py", root / name / "__init__.py"))
        return any(each in self._files and each != path for each in files)

    @staticmethod
    def _names(expression: str) -> set[str]:
        """The last parts of `settings.SYNC_EVERY`, and names in capitals; other names are variables."""
        every = [match[0].split(".") for match in _NAME.finditer(expression)]
        return {parts[-1] for parts in every if len(parts) > 1 or parts[-1].isupper()}

    def _definition(self, name: str) -> str | None:
        defined = re.compile(
            rf"^[ \t]*(?:export[ \t]+)?(?:const[ \t]+|let[ \t]+)?{re.escape(name)}[ \t]*"
            r"(?::[^=\n]+)?[:=](?!=)[ \t]*(?P<value>[^\n;]+)",
            re.MULTILINE,
        )
        for path in self._modules:
            if match := defined.search(self._files.text(path) or ""):
                return f"{name} = {match['value'].rstrip().rstrip(',')}"
        return None

    @cached_property
    def _modules(self) -> list[PurePosixPath]:
        found = (
            path
            for path in self._files
            if path.suffix in LANGUAGES and (_SETTINGS.fullmatch(path.stem) or path.parent.name in _FOLDERS)
        )
        return sorted(found, key=lambda path: len(path.parts))[:_MOST]
