"""What an image runs by default: CMD and ENTRYPOINT of a Dockerfile."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from cronce.adopt.audit.model import Place

_INSTRUCTION = re.compile(r"\s*(?P<word>[A-Za-z]+)\s+(?P<rest>.*)", re.DOTALL)
_FROM = re.compile(r"(?:--\S+\s+)*(?P<image>\S+)(?:\s+as\s+(?P<name>\S+))?", re.IGNORECASE)
_HEREDOC = re.compile(r"<<-?[\"']?(?P<end>\w+)[\"']?")
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)[^}]*\}|(?P<bare>\w+))")
_SETTING = re.compile(r"(?P<name>\w+)=(?P<value>\"[^\"]*\"|'[^']*'|\S*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageCommand:
    """A command as written: the words of the exec form, or one text for a shell."""

    words: tuple[str, ...]
    in_shell: bool
    place: Place

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as the kernel gets it."""
        return ("/bin/sh", "-c", *self.words) if self.in_shell else self.words


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a container of an image starts with; `copied` has the source of each file that is copied to another name."""

    entrypoint: ImageCommand | None = None
    cmd: ImageCommand | None = None
    environment: dict[str, str] = field(default_factory=dict)
    workdir: str = ""
    copied: dict[str, str] = field(default_factory=dict)

    def runs(self, *, entrypoint: ImageCommand | None = None, cmd: ImageCommand | None = None) -> ImageCommand | None:
        """The whole command of a container; an entrypoint given for the container clears the image's CMD.

        Source: the Dockerfile reference, "Understand how CMD and ENTRYPOINT interact": a shell-form ENTRYPOINT ignores
        CMD and arguments.
        """
        if entrypoint is not None:
            first, rest = (entrypoint if entrypoint.words else None), cmd
        else:
            first, rest = self.entrypoint, cmd or self.cmd
        if first is None or rest is None:
            return first or rest
        if first.in_shell:
            return first
        return ImageCommand(words=(*first.words, *rest.argv), in_shell=False, place=rest.place)


def image_of(text: str, path: PurePosixPath, target: str | None = None) -> Image:
    """What the last stage of a Dockerfile, or the stage `target`, starts with.

    A stage inherits from the stage that it is built from; what a base image from elsewhere does is not known.
    """
    stages: dict[str, Image] = {}
    current, name = Image(), ""
    arguments: dict[str, str] = {}
    for line, word, given in _instructions(text):
        is_expanded = word in ("WORKDIR", "COPY", "ADD")
        rest = _expanded(given, arguments | current.environment) if is_expanded else given
        match word:
            case "FROM":
                if target is not None and name == target.lower():
                    return current
                found = _FROM.match(rest)
                base = found["image"].lower() if found else ""
                current = stages.get(base) or _of_base(base, Place(path=path, line=line))
                name = (found["name"] or str(len(stages))).lower() if found else ""
            case "ENTRYPOINT":
                # A new ENTRYPOINT resets a CMD that came from the base image.
                current = replace(current, entrypoint=_command(rest, path, line), cmd=None)
            case "CMD":
                current = replace(current, cmd=_command(rest, path, line))
            case "WORKDIR":
                place = rest.strip().strip("\"'")
                current = replace(current, workdir=place if place.startswith("/") else f"{current.workdir}/{place}")
            case "COPY" | "ADD":
                current = replace(current, copied={**current.copied, **_copied(rest)})
            case "ARG":
                arguments |= _settings(rest) if "=" in rest else {}
            case "ENV":
                current = replace(current, environment={**current.environment, **_settings(rest)})
            case _:
                continue
        stages[name] = current
    return current


_STARTS = {
    "nginx": "nginx",
    "nginx-unprivileged": "nginx",
    "caddy": "caddy",
    "haproxy": "haproxy",
    "traefik": "traefik",
    "postgres": "postgres",
    "redis": "redis-server",
    "mysql": "mysqld",
}
"""What images of others start by themselves, in which no code of a project runs."""


def _of_base(image: str, place: Place) -> Image:
    """An image from elsewhere: what it starts is known of a few."""
    name = re.split(r"[:@]", image.rpartition("/")[2])[0]
    if name not in _STARTS:
        return Image()
    return Image(cmd=ImageCommand(words=(_STARTS[name],), in_shell=False, place=place))


def _instructions(text: str) -> list[tuple[int, str, str]]:
    """Line, instruction and the rest, with continued lines joined and the bodies of heredocs left out."""
    found: list[tuple[int, str, str]] = []
    escape = "`" if re.match(r"\s*#\s*escape\s*=\s*`", text) else "\\"
    pending: list[str] = []
    first, until = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if until:
            until = "" if line.strip() == until else until
            continue
        stripped = line.strip()
        if stripped.startswith("#") or (not stripped and pending):
            continue
        first = first if pending else number
        if stripped.endswith(escape):
            pending.append(stripped[:-1])
            continue
        whole = " ".join([*pending, stripped])
        pending = []
        if match := _INSTRUCTION.fullmatch(whole):
            word = match["word"].upper()
            found.append((first, word, match["rest"]))
            if word in ("RUN", "COPY", "ADD") and (heredoc := _HEREDOC.search(match["rest"])):
                until = heredoc["end"]
    return found


def _command(rest: str, path: PurePosixPath, line: int) -> ImageCommand:
    place = Place(path=path, line=line)
    if rest.startswith("["):
        try:
            words = json.loads(rest)
        except (ValueError, RecursionError):
            words = None  # as Docker does: what is no JSON is a shell's business
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return ImageCommand(words=tuple(words), in_shell=False, place=place)
    return ImageCommand(words=(rest,), in_shell=True, place=place)


def _expanded(text: str, values: dict[str, str]) -> str:
    """The text with the variables that the file itself sets, as `WORKDIR` and `COPY` take them."""
    return _VARIABLE.sub(lambda found: values.get(found["braced"] or found["bare"], found[0]), text)


def _copied(rest: str) -> dict[str, str]:
    """The source of a single file that gets another name; files of other stages and of the network are not known."""
    words = [word for word in rest.strip("[]").replace('"', " ").replace(",", " ").split() if word[:2] != "--"]
    if len(words) != 2 or "--from" in rest or words[1].endswith("/") or "*" in words[0] or "://" in words[0]:
        return {}
    source, target = words
    return {target: source} if source.rpartition("/")[2] != target.rpartition("/")[2] else {}


def _settings(rest: str) -> dict[str, str]:
    found = {match["name"]: match["value"].strip("\"'") for match in _SETTING.finditer(rest)}
    if not found:
        name, _, value = rest.partition(" ")
        found = {name: value.strip()}
    return found
