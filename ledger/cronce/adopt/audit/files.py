"""The text files of the audited folder."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

ROOT = PurePosixPath()
MODULES_OF_JVM = ("pom.xml", "build.gradle", "build.gradle.kts")
"""The file of a module of Maven or Gradle."""


class Files:
    """The files of a folder by their relative paths; each is read once, when somebody asks for it.

    Args:
        paths: Every file that may be looked at.
        read: Returns a file's text; None if it is no text, too large, or cannot be read.
    """

    def __init__(self, paths: Iterable[PurePosixPath], read: Callable[[PurePosixPath], str | None]) -> None:
        self.paths = tuple(sorted(paths))
        self._known = frozenset(self.paths)
        self._read = read
        self._texts: dict[PurePosixPath, str | None] = {}
        self._folders: dict[PurePosixPath, set[str]] = {ROOT: set()}
        self._named: dict[str, list[PurePosixPath]] = defaultdict(list)
        for path in self.paths:
            self._named[path.name].append(path)
            folder = path.parent
            while folder not in self._folders:
                self._folders[folder] = set()
                folder = folder.parent
        for folder in self._folders:
            if folder != ROOT:
                self._folders[folder.parent].add(folder.name)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Files:
        """Files that are in memory."""
        known = {PurePosixPath(name): text for name, text in texts.items()}
        return cls(known, known.get)

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def __iter__(self) -> Iterator[PurePosixPath]:
        return iter(self.paths)

    def is_folder(self, path: PurePosixPath) -> bool:
        """Whether a known file is somewhere below it."""
        return path in self._folders

    def text(self, path: PurePosixPath) -> str | None:
        """The file's text; None if there is no such file, or it cannot be read."""
        if path not in self._texts:
            self._texts[path] = self._read(path) if path in self._known else None
        return self._texts[path]

    def fresh(self, path: PurePosixPath) -> str | None:
        """As `text`, but not kept in memory."""
        return self._texts[path] if path in self._texts else self._read(path)

    def inside(self, folder: PurePosixPath) -> tuple[PurePosixPath, ...]:
        """The files below a folder, in order of their paths."""
        parts = folder.parts

        def begins(path: PurePosixPath) -> tuple[str, ...]:
            return path.parts[: len(parts)]

        first = bisect_left(self.paths, parts, key=begins)
        return self.paths[first : bisect_right(self.paths, parts, first, key=begins)]

    def folders_in(self, folder: PurePosixPath) -> tuple[str, ...]:
        """The names of the folders directly in a folder, in their order."""
        return tuple(sorted(self._folders.get(folder, ())))

    def named(self, name: str, folder: PurePosixPath) -> tuple[PurePosixPath, ...]:
        """The files of that name below a folder, the one nearest to it first."""
        found = [path for path in self._named.get(name, ()) if folder in path.parents]
        return tuple(sorted(found, key=lambda path: (len(path.parts), path)))


def below(folder: PurePosixPath, text: str) -> PurePosixPath | None:
    """The path that `text` names when read in `folder`; None if it leads out of the audited folder, or is a URL."""
    if text.startswith("/") or ":" in text or "\0" in text:
        return None
    parts = list(folder.parts)
    for part in text.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return PurePosixPath(*parts)


def located(text: str, folder: PurePosixPath, files: Files) -> PurePosixPath | None:
    """The file of the project that a container knows as `text`, by the longest end of the path that exists.

    `/srv/app/jobs/run.py` is `jobs/run.py` of the folder that the image is built from. A bare name may also be the only
    file of that name (`COPY docker/entrypoint.sh /`).
    """
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or "\0" in text:
        return None
    for start in range(len(parts)):
        path = folder.joinpath(*parts[start:])
        if path in files:
            return path
    found = files.named(parts[-1], folder)
    return found[0] if len(found) == 1 else None
