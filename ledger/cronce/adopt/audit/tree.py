"""The files of a project that are worth reading: walked in order, bounded, decoded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.words import words_in

LARGEST_SOURCE = 1_048_576
"""Bytes. Larger files are bundles, dumps and generated code."""

LONGEST_LINE = 20_000
"""Characters. A longer line is minified or generated code."""

MOST_FILES = 200_000
DEEPEST = 40
"""Folders below the audited one."""

LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".rb": "ruby",
    ".rake": "ruby",
    ".ru": "ruby",
    ".go": "go",
    ".java": "java",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".cs": "csharp",
    ".php": "php",
    ".ex": "elixir",
    ".exs": "elixir",
    ".rs": "rust",
}
"""The language of each suffix, in the words of ast-grep."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TEXT_SUFFIXES = _words(
    ".yml .yaml .json .toml .tf .tfvars .conf .ini .cfg .sh .bash .service .timer .cron .crontab .properties "
    ".dockerfile .tpl .xml .sql .csproj .sln .slnx .gradle .config .hcl .nomad .bicep .env .procfile .mod .template"
)
_TEXT_NAMES = re.compile(
    r"(Dockerfile|Containerfile|Procfile|Gemfile|Rakefile|Makefile|Clockfile|crontab|supervisord?|Caddyfile)([.-].*)?"
    r"|(docker-)?(entrypoint|start|run|entry|init)|(cron|crontab)s?|\.env(\.[\w.-]+)?",
    re.IGNORECASE,
)
_SCRIPT_FOLDERS = _words("cron.d crontabs cron bin sbin exe script scripts docker deploy rootfs")
"""Folders in which files without a suffix are scripts or crontabs."""
_INTERPRETER = re.compile(r"#!.*\b(?P<name>python|ruby|node|php)[\d.]*\b")
_SKIPPED_FOLDERS = _words(
    ".git .hg .svn .tox .nox .venv venv virtualenv .mypy_cache .pytest_cache .ruff_cache .cache .idea .vscode "
    "__pycache__ site-packages node_modules bower_components jspm_packages vendor vendored third_party "
    "thirdparty third-party Godeps Pods .bundle .gradle .terraform .serverless .next .nuxt .yarn .pnpm-store "
    "cdk.out dist target obj htmlcov _build .github .circleci .gitlab .ci .devcontainer"
)
"""Code of others, what tools generate, and what only CI runs."""
_SIDE_FOLDERS = _words(
    "test tests __tests__ __mocks__ spec specs testing testdata test-data fixtures e2e cypress doc docs "
    "documentation example examples sample samples demo demos tutorial tutorials benchmark benchmarks"
)
"""Tests, documents and examples: not deployed from here."""
_SIDE_FILES = re.compile(
    r"test_.*\.py|.*_tests?\.(py|go|rb|exs?|rs)|conftest\.py|.*_spec\.rb|.*[._-](test|spec|stories|e2e)\.[cm]?[jt]sx?"
    r"|.*(Tests?|IT|Spec)\.(java|kt|cs|php)|.*\.(min|bundle)\.js|package-lock\.json|composer\.lock|.*\.d\.ts"
)
_SIDE_PROJECTS = re.compile(r".*[._-](tests?|specs?)|.*\.(Unit|Integration)?Tests?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    r"""A text file.

    Attributes:
        path: Relative to the audited folder.
        text: Its text; bytes that are not UTF-8 are replaced, every line ends in \n.
        language: In the words of ast-grep; None if it is not code.
        words: Those of the rules that are in the text.
    """

    path: PurePosixPath
    text: str
    language: str | None
    words: frozenset[str]

    def has_any(self, words: frozenset[str]) -> bool:
        """True if one of these words of the rules is in the text."""
        return not self.words.isdisjoint(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that was not read although it might have been, and why."""

    path: PurePosixPath
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What the walk met.

    Attributes:
        files: The files that are worth reading.
        seen: How many files there are, ignored ones included, but not those of folders that are left out.
        skipped: What could not be read, in the order of the walk; grows while files are read.
    """

    files: Files
    seen: int
    skipped: list[Skipped]

    def sources(self) -> Iterator[SourceFile]:
        """Each file that is text, in the order of paths. None is kept in memory."""
        for path in self.files:
            if (text := self.files.fresh(path)) is not None:
                yield source(path, text)


def walk(root: Path, *, done: Callable[[int], object] = lambda _: None) -> Tree:
    """List the project in that folder, or that one file.

    Links are not followed, so a loop of links does no harm and nothing outside the folder is read. Of `.gitignore`,
    the files in the audited folder and below count, not those above it, nor what the user's own settings ignore.

    Args:
        root: The folder or file.
        done: Called with the number of files met, now and then.

    Raises:
        OSError: The folder itself cannot be read.
    """
    paths: list[PurePosixPath] = []
    skipped: list[Skipped] = []
    seen = 0
    base = root.parent if root.is_file() else root
    found = iter([(PurePosixPath(root.name), True)]) if root.is_file() else _files_below(root, skipped)
    for path, readable in found:
        seen += 1
        if seen > MOST_FILES:
            skipped.append(Skipped(path=path, why=f"more than {MOST_FILES:,} files: this one and the rest"))
            break
        if seen % 256 == 0:
            done(seen)
        if readable:
            paths.append(path)

    def read(path: PurePosixPath) -> str | None:
        text = _read(base / path)
        if isinstance(text, _Refused):
            skipped.append(Skipped(path=path, why=text.why))
            return None
        return text

    return Tree(files=Files(paths, read), seen=seen, skipped=skipped)


def is_readable(path: PurePosixPath) -> bool:
    """True if a file of that name can have a clock, a command or a number of copies."""
    name = path.name
    if _SIDE_FILES.fullmatch(name):
        return False
    suffix = path.suffix.lower()
    return (
        suffix in LANGUAGES
        or suffix in _TEXT_SUFFIXES
        or _TEXT_NAMES.fullmatch(name) is not None
        or (not path.suffix and not _SCRIPT_FOLDERS.isdisjoint(path.parts[:-1]))
    )


def source(path: PurePosixPath, text: str) -> SourceFile:
    """The file of that name with that text."""
    language = LANGUAGES.get(path.suffix.lower())
    if language is None and path.name in ("Rakefile", "Clockfile"):
        language = "ruby"
    if language is None and not path.suffix and (interpreter := _INTERPRETER.match(text)):
        language = {"node": "javascript"}.get(interpreter["name"], interpreter["name"])
    return SourceFile(path=path, text=text, language=language, words=words_in(text))


_Ignored = tuple[PurePosixPath, GitIgnoreSpec]
"""A folder with a `.gitignore`, and its patterns."""


def _files_below(root: Path, skipped: list[Skipped]) -> Iterator[tuple[PurePosixPath, bool]]:
    """The relative path of each file, and whether it is worth reading; a folder's own files come first."""
    ahead: list[tuple[PurePosixPath, tuple[_Ignored, ...]]] = [(PurePosixPath(), ())]
    while ahead:
        folder, ignored = ahead.pop()
        try:
            with os.scandir(root / folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            if not folder.parts:
                raise
            skipped.append(Skipped(path=folder, why=error.strerror or "cannot be read"))
            continue
        if any(entry.name == ".gitignore" for entry in entries) and (spec := _ignored_by(root / folder / ".gitignore")):
            ignored = (*ignored, (folder, spec))
        inside = []
        for entry in entries:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _is_skipped(entry, ignored, path):
                    inside.append((path, ignored))
            elif entry.is_file(follow_symlinks=False):
                readable = is_readable(path) and not _is_ignored(ignored, path, is_folder=False)
                yield path, readable
        if inside and len(folder.parts) >= DEEPEST:
            skipped.append(Skipped(path=folder, why=f"more than {DEEPEST} folders deep"))
        else:
            ahead += reversed(inside)


def _is_skipped(entry: os.DirEntry[str], ignored: Sequence[_Ignored], path: PurePosixPath) -> bool:
    name = entry.name
    return (
        name in _SKIPPED_FOLDERS
        or (name.lower() in _SIDE_FOLDERS and "/src/main/" not in f"/{path}")  # com.example.demo is deployed
        or _SIDE_PROJECTS.fullmatch(name) is not None
        or _is_ignored(ignored, path, is_folder=True)
        or os.path.exists(f"{entry.path}/pyvenv.cfg")  # noqa: PTH110  # a Path per folder is slow
    )


def _is_ignored(ignored: Sequence[_Ignored], path: PurePosixPath, *, is_folder: bool) -> bool:
    verdict = False
    for base, spec in ignored:
        below = path.relative_to(base) if base.parts else path
        answer = spec.check_file(f"{below}/" if is_folder else str(below)).include
        verdict = verdict if answer is None else answer
    return verdict


def _ignored_by(file: Path) -> GitIgnoreSpec | None:
    text = _read(file)
    if not isinstance(text, str):
        return None
    try:
        return GitIgnoreSpec.from_lines(text.split("\n"))
    except ValueError:  # one pattern is none, and git leaves it out
        return GitIgnoreSpec.from_lines(line for line in text.split("\n") if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a file was not read."""

    why: str


def _read(path: Path) -> str | _Refused | None:
    """The file's text; None if it is binary or generated."""
    try:
        # What was a file may be a pipe by now, and would never end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as opened:
            data = opened.read(LARGEST_SOURCE + 1)
    except OSError as error:
        return _Refused(error.strerror or "cannot be read")
    if len(data) > LARGEST_SOURCE:
        return _Refused(f"larger than {LARGEST_SOURCE:,} bytes")
    return decoded(data)


def decoded(data: bytes) -> str | None:
    r"""The text of a file with \n at the end of each line; None if it is binary or minified."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data:
        return None
    else:
        text = data.decode("utf-8-sig", errors="replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return None if _is_minified(text) else text


def _is_minified(text: str) -> bool:
    """True if a line is longer than people write; without a list of the lines, which takes time for every file."""
    start = 0
    while len(text) - start > LONGEST_LINE:
        end = text.rfind("\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            return True
        start = end + 1
    return False
