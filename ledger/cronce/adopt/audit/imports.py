"""The names that a file gives to what it imports from a module. By pattern: a file is not parsed to be ruled out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

_Name = tuple[str, str]
"""A name in the file, and the name in the module."""


def imported(text: str, language: str, module: str) -> Mapping[str, str] | None:
    """The names under which the file knows the module or what it imports from it, each with the name that it has there.

    Args:
        text: The file, or its imports.
        language: In the words of ast-grep.
        module: A regular expression for the name of the module.

    Returns:
        The names; None if the file does not import it.
    """
    found = dict(_READERS[language](text, module))
    return found or None


@lru_cache(maxsize=1024)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.MULTILINE)


def _python(text: str, module: str) -> Iterator[_Name]:
    names = r"(\([^)]*\)|[^\n#;]+)"
    for match in _pattern(rf"^[ \t]*from[ \t]+(?:{module})(?:\.[\w.]+)?[ \t]+import[ \t]*{names}").finditer(text):
        listed = re.sub(r"#[^\n]*", "", match.group(match.lastindex or 0)).strip("() \t\n")
        for part in listed.split(","):
            if words := part.split():
                yield words[-1], words[0]
    for match in _pattern(r"^[ \t]*import[ \t]+([^\n#;]+)").finditer(text):
        for part in match.group(1).split(","):
            words = part.split()
            if words and re.fullmatch(rf"(?:{module})(?:\.[\w.]+)?", words[0]):
                yield words[-1].partition(".")[0], words[0]


def _javascript(text: str, module: str) -> Iterator[_Name]:
    quoted = rf"""["'`](?:{module})["'`]"""
    for match in _pattern(
        rf"^[ \t]*(?:import|export)\s+(?:type\s+)?([\w*{{}}\s,$]{{1,600}}?)\s+from\s*{quoted}"
    ).finditer(text):
        yield from _bound(match.group(1))
    for match in _pattern(
        rf"^[^\n/*]*?(?:const|let|var|import)\s+([\w$]+|{{[^}}]{{0,600}}}})\s*=\s*"
        rf"(?:await\s+|__importDefault\(|__importStar\()*(?:require|import)\s*\(\s*{quoted}\s*\)"
    ).finditer(text):
        yield from _bound(match.group(1))
    if _pattern(rf"^[ \t]*import\s*{quoted}|^[^\n/*]*?(?<![\w.])require\s*\(\s*{quoted}\s*\)").search(text):
        yield "", ""


def _bound(clause: str) -> Iterator[_Name]:
    """`a`, `* as b`, `{ c, d as e, f: g }`, together in any order."""
    for part in re.sub(r"[{}]", ",", clause).split(","):
        words = re.split(r"\s+as\s+|\s*:\s*|\s+", part.strip())
        yield words[-1].partition("=")[0].strip(), words[0]


def _go(text: str, module: str) -> Iterator[_Name]:
    for match in _pattern(rf'^[ \t]*(?:import[ \t]+)?(?:([\w.]+)[ \t]+)?"({module})(?:/v\d+)?"').finditer(text):
        last = re.sub(r"^go-|\.v\d+$", "", match.group(2).rpartition("/")[2])
        yield match.group(1) or last, last


def _dotted(keyword: str) -> Callable[[str, str], Iterator[_Name]]:
    r"""`import a.b.C;`, `using A.B;`, `use A\B;`: the last part, or what follows `as`."""

    def read(text: str, module: str) -> Iterator[_Name]:
        for match in _pattern(
            rf"^[ \t]*(?:global[ \t]+)?{keyword}[ \t]+(?:static[ \t]+|function[ \t]+)?(?:\w+[ \t]*=[ \t]*)?"
            rf"\\?(?:{module})"
            r"([\w.\\*:{}, ]*?)(?:[ \t]+as[ \t]+(\w+))?[ \t]*;?[ \t]*(?://[^\n]*)?$"
        ).finditer(text):
            last = re.split(r"[.\\:]", match.group(0).rstrip("; \t"))[-1].split()[0]
            yield match.groups()[-1] or last, last

    return read


def _mentioned(text: str, module: str) -> Iterator[_Name]:
    """Ruby and Elixir load packages by themselves, so the constant is the evidence: not in a comment."""
    if _pattern(rf"^[^#\n]*(?:{module})").search(text):
        yield "", ""


_READERS: dict[str, Callable[[str, str], Iterator[_Name]]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "go": _go,
    "java": _dotted("import"),
    "kotlin": _dotted("import"),
    "csharp": _dotted("using"),
    "php": _dotted("use"),
    "rust": _dotted("use"),
    "ruby": _mentioned,
    "elixir": _mentioned,
}

IMPORTS: Mapping[str, tuple[str, ...]] = {
    "python": ("import_statement", "import_from_statement"),
    "go": ("import_declaration",),
    "java": ("import_declaration",),
    "csharp": ("using_directive",),
    "php": ("namespace_use_declaration",),
    "rust": ("use_declaration",),
}
"""The kinds of nodes that import, for the languages where all imports are such nodes."""
