"""Docker Compose files: services, their replicas, and what they run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import shell_words
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.images import Container, Copies, services_of
from cronce.adopt.audit.services.reading import Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_NAME = re.compile(r"(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml|(?:docker-)?stack(?:[.-][\w-]+)?\.ya?ml", re.IGNORECASE)
_BASE = re.compile(r"(?:docker-)?compose\.ya?ml", re.IGNORECASE)
_SERVICES = re.compile(
    r"^services:[ \t]*(?:#.*)?\n(?:[ \t]*(?:#.*)?\n)*(?P<indent>[ \t]+)[\w.-]+:[ \t]*(?:&[\w-]+)?[ \t]*(?:#.*)?\n"
    r"(?:(?P=indent)[ \t]+.*\n|[ \t]*(?:#.*)?\n)*?(?P=indent)[ \t]+(?:image|build|<<|extends):",
    re.MULTILINE,
)
_DEEPEST_EXTENDS = 10


def is_compose(path: PurePosixPath, text: str = "") -> bool:
    """Whether the name is one that Compose files have, or the text is that of one (`production.yml`)."""
    return _NAME.fullmatch(path.name) is not None or (_SERVICES.search(text) is not None and path.suffix != ".json")


def read_compose(path: PurePosixPath, files: Files) -> Reading:
    """The services of one file. An override file is read over the base file of its folder, as Compose does."""
    reading = Reading()
    own = _services(path, files, reading)
    base_path = next(
        (p for p in files.inside(path.parent) if p.parent == path.parent and _BASE.fullmatch(p.name)), None
    )
    base = _services(base_path, files, Reading()) if base_path is not None and base_path != path else {}
    for name, (line, service) in own.items():
        if not service.is_mapping:
            reading.not_read(path, line, f"service {name} is no mapping")
            continue
        fields = _Fields(name, line)
        fields.variables = _settings_of(path.parent / ".env", files)
        if name in base:
            _collect(fields, base_path or path, base[name][1], files, reading)
        _collect(fields, path, service, files, reading)
        if name in base and not {"deploy", "scale", "command", "entrypoint", "build"} & set(service.entries()):
            continue  # says nothing that the base file does not
        reading.services += services_of(fields.container(), fields.copies(path), files)
    return reading


def _services(path: PurePosixPath, files: Files, reading: Reading) -> dict[str, tuple[int, YamlNode]]:
    text = files.text(path)
    if text is None:
        reading.not_read(path, 1, "the file cannot be read as text")
        return {}
    found: dict[str, tuple[int, YamlNode]] = {}
    try:
        for document in documents(text):
            services = document.get("services")
            # Version 1 had the services at the top.
            if services is None and "version" not in document.entries() and _looks_like_version_1(document):
                services = document
            if services is not None and not services.is_mapping:
                reading.not_read(path, services.line, "`services` is no mapping")
            elif services is not None:
                found |= {name: (services.key_line(name), node) for name, node in services.entries().items()}
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
    return found


def _looks_like_version_1(document: YamlNode) -> bool:
    return any(node.get("image") or node.get("build") for node in document.entries().values())


class _Fields:
    """What is known of one service; later files and the service itself replace what came before."""

    def __init__(self, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.values: dict[str, tuple[PurePosixPath, YamlNode]] = {}
        self.environment: dict[str, str] = {}
        self.variables: dict[str, str] = {}

    def place(self, key: str) -> Place:
        path, node = self.values[key]
        return Place(path=path, line=node.line)

    def container(self) -> Container:
        folder = dockerfile = target = None
        if "build" in self.values:
            path, build = self.values["build"]
            context = build.value if isinstance(build.value, str) else build.words("context") or "."
            folder = below(path.parent, context)
            target = build.words("target")
            if folder is not None:
                dockerfile = below(folder, build.words("dockerfile") or "Dockerfile")
        image = self.values["image"][1].value if "image" in self.values else None
        return Container(
            entrypoint=self._command("entrypoint"),
            cmd=self._command("command"),
            image=image if isinstance(image, str) else None,
            folder=folder,
            dockerfile=dockerfile,
            target=target,
            environment=self.environment,
        )

    def _command(self, key: str) -> ImageCommand | None:
        if key not in self.values:
            return None
        _, node = self.values[key]
        given = _interpolated(node.value, self.variables) if isinstance(node.value, str) else None
        words = shell_words(given) if given is not None else node.strings()
        return None if words is None else ImageCommand(words=words, in_shell=False, place=self.place(key))

    def copies(self, path: PurePosixPath) -> Copies:
        starts_first = "update" in self.values and self.values["update"][1].value == "start-first"
        overlap = "update_config.order: start-first" if starts_first else ""
        if "mode" in self.values and self.values["mode"][1].value == "global":
            return Copies(
                name=self.name,
                kind="compose",
                place=self.place("mode"),
                least=2,
                most=None,
                stated="deploy.mode: global",
            )
        for key, stated in (("replicas", "deploy.replicas"), ("scale", "scale")):
            if key not in self.values:
                continue
            given = self.values[key][1].value
            text = _interpolated(given, self.variables) if isinstance(given, str) else None
            count = count_of(text)
            if count is not None:
                return Copies(
                    name=self.name,
                    kind="compose",
                    place=self.place(key),
                    least=count.least,
                    most=count.most,
                    stated=f"{stated}: {text}",
                    overlap=overlap,
                )
        return Copies(name=self.name, kind="compose", place=Place(path=path, line=self.line), overlap=overlap)


_PATHS = {
    "build": ("build",),
    "image": ("image",),
    "command": ("command",),
    "entrypoint": ("entrypoint",),
    "scale": ("scale",),
    "replicas": ("deploy", "replicas"),
    "mode": ("deploy", "mode"),
    "update": ("deploy", "update_config", "order"),
}


def _collect(
    fields: _Fields,
    path: PurePosixPath,
    service: YamlNode,
    files: Files,
    reading: Reading,
    *,
    depth: int = _DEEPEST_EXTENDS,
) -> None:
    """Takes over what a service says, after what it extends says."""
    extends = service.get("extends")
    if extends is not None:
        base_name = extends.value if isinstance(extends.value, str) else extends.words("service")
        file = extends.words("file")
        base_path = below(path.parent, file) if file else path
        base = _services(base_path, files, Reading()).get(base_name or "") if base_path is not None else None
        if base is None or base_path is None or depth == 0:
            why = "extends itself" if depth == 0 else "extends a service that is not in the project"
            reading.not_read(path, extends.line, f"service {fields.name} {why}")
        else:
            _collect(fields, base_path, base[1], files, reading, depth=depth - 1)
    for key, keys in _PATHS.items():
        if (node := service.get(*keys)) is not None:
            fields.values[key] = (path, node)
            if key in ("replicas", "scale") and (not isinstance(node.value, str) or count_of(node.value) is None):
                reading.not_read(path, node.line, f"{'.'.join(keys)} of {fields.name} is no number")
    env_file = service.get("env_file")
    named = [env_file, *service.items("env_file")] if env_file is not None else []
    for each in named:
        file = each.value if isinstance(each.value, str) else each.words("path")
        where = below(path.parent, file) if isinstance(file, str) else None
        fields.environment |= _settings_of(where, files) if where is not None else {}
    for name, node in service.entries("environment").items():
        if isinstance(node.value, str):
            fields.environment[name] = _interpolated(node.value, fields.variables)
    for item in service.strings("environment") or ():
        name, _, value = item.partition("=")
        fields.environment[name] = _interpolated(value, fields.variables)


_SETTING = re.compile(r"^[ \t]*(?:export[ \t]+)?(?P<name>\w+)[ \t]*=[ \t]*(?P<value>[^\n]*?)[ \t]*$", re.MULTILINE)
_VARIABLE = re.compile(r"(?<!\$)\$(?:\{(?P<braced>\w+)(?::?-[^}]*)?\}|(?P<bare>\w+))")


def _settings_of(path: PurePosixPath, files: Files) -> dict[str, str]:
    """What a file of settings (`.env`) gives; nothing if it is not in the project."""
    return {match["name"]: match["value"].strip("\"'") for match in _SETTING.finditer(files.text(path) or "")}


def _interpolated(text: str, variables: Mapping[str, str]) -> str:
    """The text with the variables that `.env` gives; the others stay as they are."""
    return _VARIABLE.sub(lambda found: variables.get(found["braced"] or found["bare"], found[0]), text)
