"""What a condition is in one process: environment variables, arguments, and settings that are made of them.

For languages whose conditions look alike: JavaScript, TypeScript, Go, C#, Java. Read as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import ROOT, Files
from cronce.adopt.audit.loading.python_values import Process, is_true
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents
from cronce.adopt.audit.switches import STAGES, UNDECIDED

_ENV = re.compile(
    r"(?:process\.env|Bun\.env|import\.meta\.env)(?:\.(?P<a>\w+)|\[[\"'`](?P<b>\w+)[\"'`]\])"
    r"|(?:os\.Getenv|System\.getenv|Environment\.GetEnvironmentVariable|Deno\.env\.get|env::var)\([\"'](?P<c>\w+)[\"']\)"
)
_READ = re.compile(
    r"(?:[\w.$]+\.)?_?(?:get\w*|Get\w*|[eE]nv\w*|viper\.\w+|config\w*)\s*(?:<[\w\[\]?.]+>)?\(\s*[\"'](?P<key>[\w.:-]+)[\"']"
    r"(?:\s*,\s*(?P<default>[^()]+))?\s*\)|[\w.$]*[cC]onfig\w*\[\"(?P<index>[\w.:-]+)\"\]"
)
_WRAPPED = re.compile(
    r"(?:!!|Boolean|Number|String|parseInt|JSON\.parse|bool\.Parse|Boolean\.(?:parseBoolean|valueOf)"
    r"|strings\.(?:ToLower|TrimSpace)|strconv\.ParseBool|parseBool(?:ean)?|isTrue|isTruthy|toBool(?:ean)?|\*)\s*\(?(?P<inner>[^()]*(?:\([^()]*\))?[^()]*)\)?"
)
_METHOD = re.compile(
    r"(?P<inner>.+?)\??\.(?:toLowerCase|toUpperCase|trim|toString|ToLower|ToLowerInvariant|Trim|valueOf)\(\)"
)
_EQUALS = re.compile(r"(?P<a>.+?)\.(?:equals|equalsIgnoreCase|Equals)\((?P<b>[^(),]+)(?:,[^()]*)?\)")
_INCLUDES = re.compile(r"(?P<a>.+?)\??\.(?:includes|Contains|contains)\((?P<b>[\"'`][^\"'`]*[\"'`]|[^()]+)\)")
_SPLIT = re.compile(r"(?P<inner>.+?)\??\.(?:split|Split)\([^()]*\)(?:\.map\(.*\))?")
_ARGV = re.compile(r"(?:process\.argv|os\.Args|args)\[(?P<at>\d)\]")
_FLAG = re.compile(r"flag\.Bool\(\s*\"(?P<name>[\w-]+)\"\s*,\s*(?P<default>true|false)")
_PREDICATE = re.compile(r"(?:[\w$]+\.)*(?P<name>[\w$]+)\(\)")
_NAME = re.compile(r"(?:[\w$]+(?:\?\.|\.|!\.|->))*(?P<last>[A-Za-z_$][\w$]*)")
_LITERAL = re.compile(r"\"([^\"\\]*)\"|'([^'\\]*)'|`([^`$\\]*)`")
_DEEPEST = 8

Texts = Callable[[PurePosixPath], Iterable[str]]
"""The texts in which a file's names are looked up: its own first."""


class Conditions:
    """The worth of conditions in one process.

    Args:
        process: The process.
        files: The project, for its files of settings.
        texts: Where names are looked up.
    """

    def __init__(self, process: Process, files: Files, texts: Texts) -> None:
        self._process = process
        self._files = files
        self._texts = texts

    def truth(self, text: str, path: PurePosixPath) -> bool | None:
        """Whether the condition holds; None if that is not known."""
        value = self.value(text, path)
        return None if value is UNDECIDED else is_true(value)

    def value(self, text: str, path: PurePosixPath, depth: int = _DEEPEST) -> object:  # one form each
        """A text, a truth, None for what is not set, or UNDECIDED."""
        text = _bare(text)
        if depth == 0 or not text or len(text) > 400:
            return UNDECIDED
        for operator in ("||", "??", "&&"):
            parts = _split(text, operator)
            if len(parts) > 1:
                return self._joined(operator, parts, path, depth - 1)
        for operator in ("===", "!==", "==", "!="):
            parts = _split(text, operator)
            if len(parts) == 2:
                same = self._same(parts[0], parts[1], path, depth - 1)
                return same if same is UNDECIDED or operator[0] == "=" else not same
        if text.startswith("!") and not text.startswith("!!"):
            inner = self.value(text[1:], path, depth - 1)
            return UNDECIDED if inner is UNDECIDED else not is_true(inner)
        if (literal := _literal(text)) is not UNDECIDED:
            return literal
        if env := _ENV.fullmatch(text):
            return self.variable(env["a"] or env["b"] or env["c"])
        if found := _ARGV.fullmatch(text):
            return self._argument(int(found["at"]) - text.startswith("process") * 2 - text.startswith("os") * 1)
        if equals := _EQUALS.fullmatch(text):
            return self._same(equals["a"], equals["b"], path, depth - 1)
        if includes := _INCLUDES.fullmatch(text):
            return self._includes(includes["a"], includes["b"], path, depth - 1)
        for wrapped in (_WRAPPED.fullmatch(text), _METHOD.fullmatch(text), _SPLIT.fullmatch(text)):
            if wrapped is not None:
                return self.value(wrapped["inner"], path, depth - 1)
        if read := _READ.fullmatch(text):
            return self.setting(read["key"] or read["index"], read["default"])
        return self._named(text, path, depth - 1)

    def _joined(self, operator: str, parts: list[str], path: PurePosixPath, depth: int) -> object:
        values = [self.value(part, path, depth) for part in parts]
        if operator == "&&":
            if any(value is not UNDECIDED and not is_true(value) for value in values):
                return False
            return UNDECIDED if UNDECIDED in values else values[-1]
        for value in values:
            if value is UNDECIDED:
                return True if any(each is not UNDECIDED and each is True for each in values) else UNDECIDED
            if value is not None and (operator == "??" or value not in (False, "")):
                return value
        return values[-1]

    def _same(self, a: str, b: str, path: PurePosixPath, depth: int) -> object:
        first, second = self.value(a, path, depth), self.value(b, path, depth)
        if UNDECIDED in (first, second):
            return UNDECIDED
        if isinstance(first, bool) or isinstance(second, bool):
            return is_true(first) == is_true(second)
        return ("" if first is None else str(first).lower()) == ("" if second is None else str(second).lower())

    def _includes(self, where: str, what: str, path: PurePosixPath, depth: int) -> object:
        wanted = self.value(what, path, depth)
        if re.fullmatch(r"process\.argv(?:\.slice\(2\))?|os\.Args|args", where):
            return UNDECIDED if wanted is UNDECIDED else str(wanted) in self._process.argv
        listed = (
            [_literal(part.strip()) for part in where.strip("[]").split(",")] if where.startswith("[") else [UNDECIDED]
        )
        if UNDECIDED not in listed:
            return UNDECIDED if wanted is UNDECIDED else wanted in listed
        inside = self.value(where, path, depth)
        if UNDECIDED in (inside, wanted):
            return UNDECIDED
        return str(wanted) in re.split(r"[\s,;]+", str(inside or ""))

    def variable(self, name: str) -> object:
        """An environment variable; UNDECIDED if no service is given it, or if it names a stage."""
        if STAGES.fullmatch(name) or "$" in self._process.environment.get(name, ""):
            return UNDECIDED
        unset = None if name.lower() in self._process.given else UNDECIDED
        return self._process.environment.get(name, unset)

    def setting(self, key: str, default: str | None = None) -> object:
        """A setting by its dotted name: an argument, a variable of one of the names for it, or from a file."""
        for word in self._process.argv:
            if match := re.fullmatch(rf"(?:--|-D){re.escape(key)}=(.*)", word):
                return match[1]
        known = UNDECIDED
        for name in dict.fromkeys((key, *_names_of(key))):
            value = self.variable(name)
            if isinstance(value, str):
                return value
            known = None if value is None else known
        stated = self._in_files(key)
        if stated is not UNDECIDED:
            return stated
        if known is None and default is not None:
            literal = _literal(default.strip())
            return literal if literal is not UNDECIDED else None
        return known

    @property
    def profiles(self) -> object:
        """The active profiles of Spring or environments of Micronaut; UNDECIDED if nothing says them."""
        for key in ("spring.profiles.active", "micronaut.environments"):
            for word in self._process.argv:
                if match := re.fullmatch(rf"(?:--|-D){re.escape(key)}=(.*)", word):
                    return {each.strip() for each in match[1].split(",")}
            name = key.upper().replace(".", "_")
            if name in self._process.environment:
                return {each.strip() for each in self._process.environment[name].split(",")}
            if name.lower() in self._process.given:
                return set()
        return UNDECIDED

    def _in_files(self, key: str) -> object:
        active = self.profiles
        names = [f"application-{each}" for each in sorted(active)] if isinstance(active, set) else []
        for stem in (*names, "application", "appsettings.Production", "appsettings"):
            for suffix in (".yml", ".yaml", ".properties", ".json"):
                for path in self._files.named(stem + suffix, ROOT):
                    for text in _settings(key, path, self._files):
                        return self._filled(text)
        return UNDECIDED

    def _filled(self, text: str) -> object:
        """`${SCHEDULING_ENABLED:false}`: the variable, or what is after the colon."""
        match = re.fullmatch(r"\$\{([\w.-]+)(?::([^}]*))?\}", text.strip())
        if match is None:
            return text if "${" not in text else UNDECIDED
        value = self.setting(match[1])
        return match[2] if value is None else value

    def _argument(self, at: int) -> object:
        """An argument of the program, counted without its own name or that of its script."""
        words = [word for word in self._process.argv[1:] if not word.startswith("-")]
        if words and words[0].endswith((".js", ".mjs", ".cjs", ".ts", ".dll", ".jar")):
            words = words[1:]
        return words[at] if 0 <= at < len(words) else None

    def _named(self, text: str, path: PurePosixPath, depth: int) -> object:
        """A constant, a member of an object with settings, or a function that returns one of them."""
        predicate = _PREDICATE.fullmatch(text)
        name = predicate or _NAME.fullmatch(text)
        if name is None:
            return UNDECIDED
        plain = name["name"] if predicate else name["last"]
        last = re.escape(plain)
        patterns = _RETURNS if predicate else _DEFINES
        for source in self._texts(path):
            if plain not in source:
                continue
            if flag := re.search(rf"\b{last}\s*:?=\s*{_FLAG.pattern}", source):
                given = any(re.fullmatch(rf"--?{flag['name']}(=true)?", word) for word in self._process.argv)
                return given or flag["default"] == "true"
            if tagged := re.search(rf"\b{last}\s+[\w.]+\s+`[^`]*\benv(?:config)?:\"(\w+)[^`]*`", source):
                return self.variable(tagged[1])
            for pattern in patterns:
                for match in re.finditer(pattern.format(last), source):
                    value = self.value(match[1], path, depth)
                    if value is not UNDECIDED:
                        return value
        return self.variable(plain) if plain.isupper() else UNDECIDED


_DEFINES = (
    r"(?<![.\w$]){0}\s*(?::\s*[\w<>|\[\] ]+?)?\s*:?=(?![=>])\s*([^;\n]+?)\s*(?:;|,?\s*(?://.*)?$|\n|\Z)",
    r"(?<![.\w$?]){0}[\"']?\s*:\s*([^;\n{{]+?)\s*(?:,|\}}|\n|\Z)",
    r"(?<![.\w$?]){0}[\"']?\s*:\s*([^;\n{{]+?)\s*(?:,?\s*(?:\n|\Z))",
)
_RETURNS = (
    r"\b{0}\s*=\s*(?:async\s*)?\([^()]*\)\s*(?::\s*\w+\s*)?=>\s*([^;\n{{]+)",
    r"\b(?:function|func(?:\s*\([^()]*\))?|bool|boolean|static)\s+{0}\s*\([^()]*\)[^{{\n]*\{{\s*return\s+([^;\n}}]+)",
    r"\bget\s+{0}\s*\(\)[^{{\n]*\{{\s*return\s+([^;\n}}]+)",
)


def _names_of(key: str) -> Iterator[str]:
    """The environment variables that set a dotted setting: of Spring, Micronaut, .NET and viper."""
    yield re.sub(r"[.:]", "_", key.replace("-", "")).upper()
    yield re.sub(r"[.:-]", "_", key).upper()
    yield key.replace(":", "__")
    yield key.replace(":", "__").upper()


def _settings(key: str, path: PurePosixPath, files: Files) -> Iterator[str]:
    """The values that a file of settings has for a dotted name."""
    text = files.text(path) or ""
    if path.suffix == ".properties":
        for match in re.finditer(rf"^\s*{re.escape(key)}\s*[=:]\s*(.*?)\s*$", text, re.MULTILINE):
            yield match[1]
        return
    try:
        for document in documents(text):
            if document.get("spring", "config", "activate") is None:
                yield from _nested(document, re.split(r"[.:]", key))
    except YamlUnreadableError:
        return


def _nested(node: YamlNode, parts: list[str]) -> Iterator[str]:
    """`a.b.c` under `a: {b: {c: ...}}`, `a.b: {c: ...}` and `a.b.c: ...`."""
    if not parts:
        if isinstance(node.value, str):
            yield node.value
        return
    for end in range(1, len(parts) + 1):
        wanted = ".".join(parts[:end]).replace("-", "").lower()
        for name, inner in node.entries().items():
            if name.replace("-", "").replace(":", ".").lower() == wanted:
                yield from _nested(inner, parts[end:])


def _literal(text: str) -> object:
    if match := _LITERAL.fullmatch(text):
        return next(group for group in match.groups() if group is not None)
    if text in ("true", "false"):
        return text == "true"
    if text in ("null", "undefined", "nil", "None"):
        return None
    if re.fullmatch(r"\d+", text):
        return text
    try:
        return json.loads(text) if text.startswith('"') else UNDECIDED
    except ValueError:
        return UNDECIDED


def _bare(text: str) -> str:
    """Without parentheses around it, `await`, and casts of TypeScript."""
    text = re.sub(r"^await\s+|\s+as\s+\w+$|\s+satisfies\s+\w+$", "", text.strip()).strip()
    while text.startswith("(") and text.endswith(")") and _closes(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _closes(text: str) -> int:
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return index
    return -1


def _split(text: str, operator: str) -> list[str]:
    """The text at each operator that is in no parentheses and no quotes."""
    parts, depth, quote, start, index = [], 0, "", 0, 0
    while index < len(text):
        letter = text[index]
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(operator, index) and not _is_longer(text, index, operator):
            parts.append(text[start:index])
            index += len(operator)
            start = index
            continue
        index += 1
    return [*parts, text[start:]]


def _is_longer(text: str, index: int, operator: str) -> bool:
    """Whether `==` is a part of `===` or `!==`."""
    if operator not in ("==", "!="):
        return False
    return text[index + 2 : index + 3] == "=" or (operator == "==" and text[index - 1 : index] in ("=", "!"))
