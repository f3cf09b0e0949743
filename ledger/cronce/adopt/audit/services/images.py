"""The images that a project builds, and the services made of a container: its command followed, its workers counted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath

from cronce.adopt.audit.files import MODULES_OF_JVM, ROOT, Files
from cronce.adopt.audit.model import FoundService, Place
from cronce.adopt.audit.services.commands import names
from cronce.adopt.audit.services.dockerfile import Image, ImageCommand, image_of
from cronce.adopt.audit.services.starting import folder_of, started
from cronce.adopt.audit.services.web_servers import workers
from cronce.adopt.audit.services.yaml_tree import YamlNode

_DOCKERFILE = re.compile(r"(?:Dockerfile|Containerfile)(?:\..+)?|.+\.(?:Dockerfile|dockerfile)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """A container as a file describes it.

    Attributes:
        entrypoint: Replaces that of the image, if given.
        cmd: Replaces that of the image, if given.
        image: The image's name.
        folder: The folder that the image is built from, if the file says so.
        dockerfile: The Dockerfile, if the file says so.
        target: The stage that is built.
        environment: Settings that are given to it.
    """

    entrypoint: ImageCommand | None = None
    cmd: ImageCommand | None = None
    image: str | None = None
    folder: PurePosixPath | None = None
    dockerfile: PurePosixPath | None = None
    target: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """How many copies of a container run, and what says so. The attributes are those of `FoundService`."""

    name: str
    kind: str
    place: Place
    least: int = 1
    most: int | None = 1
    stated: str = ""
    overlap: str = ""


def command_in(path: PurePosixPath, node: YamlNode, key: str) -> ImageCommand | None:
    """The command under a key, if it is a list of words."""
    words, found = node.strings(key), node.get(key)
    if not words or found is None:
        return None
    return ImageCommand(words=words, in_shell=False, place=Place(path=path, line=found.line))


def environment_in(node: YamlNode, key: str, *, name: str = "name", value: str = "value") -> dict[str, str]:
    """The settings under a key, if it is a list of names and values; those whose value is elsewhere are left out."""
    pairs = ((item.words(name), item.words(value)) for item in node.items(key))
    return {setting: given for setting, given in pairs if setting and given is not None}


def is_dockerfile(path: PurePosixPath) -> bool:
    """Whether the name is one that Dockerfiles have."""
    return _DOCKERFILE.fullmatch(path.name) is not None


def services_of(container: Container, copies: Copies, files: Files) -> list[FoundService]:
    """The services that a container is: one for each program that it starts."""
    folder, dockerfile = container.folder, container.dockerfile
    if folder is None and container.image is not None:
        folder, dockerfile = _built_here(container.image, files)
    if folder is not None and dockerfile is None and (default := folder / "Dockerfile") in files:
        dockerfile = default
    if dockerfile is not None and any(dockerfile.parent / name in files for name in ("package.json", "project.json")):
        folder = dockerfile.parent  # one program of a workspace, which is built from above
    text = files.text(dockerfile) if dockerfile is not None else None
    if text is not None and dockerfile is not None and folder is not None:
        folder = _module_of(text, dockerfile, folder, files) or folder
    image = image_of(text, dockerfile, container.target) if text is not None and dockerfile is not None else Image()
    command = image.runs(entrypoint=container.entrypoint, cmd=container.cmd)
    environment = {**image.environment, **container.environment}
    service = FoundService(
        name=copies.name,
        kind=copies.kind,
        place=copies.place,
        command=None,
        folder=folder,
        least=copies.least,
        most=copies.most,
        copies=copies.stated,
        overlap=copies.overlap,
        image=container.image,
        environment=tuple(sorted(environment.items())),
    )
    if image.workdir and folder is not None:
        folder = folder_of(image.workdir, folder, files) or folder
    # Kustomize, Helm and Compose files often lie in a folder of their own; without a build they say nothing of code.
    argv = tuple(image.copied.get(word, word) for word in command.argv) if command is not None else ()
    starts = started(argv, command.place, folder or ROOT, files, environment) if command is not None else []
    found = []
    for start in starts:
        inside = start.folder or folder
        settings = {**environment, **dict(start.environment)}
        count, forks = workers(start.argv, settings, inside or ROOT, files)
        if start.copies > 1:
            forks = f"{forks}, {start.stated}" if forks else start.stated
        found.append(
            replace(
                service,
                command=start.argv,
                command_place=start.place,
                folder=inside,
                environment=tuple(sorted(settings.items())),
                processes=max(count * start.copies, 1),
                forks=forks,
            )
        )
    return found or [service]


def _module_of(text: str, dockerfile: PurePosixPath, folder: PurePosixPath, files: Files) -> PurePosixPath | None:
    """The one module of a build of the JVM that a Dockerfile builds or copies; None if it names none, or several."""
    named = {name.replace(":", "/") for found in _MODULE.findall(text) for name in found if name}
    modules = {each for name in named if any((each := folder / name) / build in files for build in MODULES_OF_JVM)}
    if (
        not modules
        and dockerfile.parent != folder
        and any(dockerfile.parent / each in files for each in MODULES_OF_JVM)
    ):
        return dockerfile.parent
    return modules.pop() if len(modules) == 1 else None


_MODULE = re.compile(
    r"(?<![\w/])(?:\./|/\w+/)?([\w-]+(?:/[\w-]+)*)/(?:build/|target/)|\s:([\w:-]+):\w+|-pl\s+:?([\w/-]+)"
)


def _built_here(image: str, files: Files) -> tuple[PurePosixPath | None, PurePosixPath | None]:
    """The folder and Dockerfile that an image seems to be built from: by its name, or the only one of the project."""
    dockerfiles = _dockerfiles(files)
    name = _name_of(image)
    called = {path: _names_of(path) for path in dockerfiles}
    exact = [path for path, names_here in called.items() if name in names_here]
    close = [path for path, names_here in called.items() if any(name.endswith(f"-{each}") for each in names_here)]
    for path in exact or (close if len(close) == 1 and len(dockerfiles) > 1 else []):
        return _context_of(path, files), path
    if len(dockerfiles) == 1:
        own = _own_images(files)
        if _repository(image) in own or (not own and not _is_of_others(image)):
            return _context_of(dockerfiles[0], files), dockerfiles[0]
    return None, None


def _names_of(dockerfile: PurePosixPath) -> frozenset[str]:
    """What an image may be called after its Dockerfile: the folder, or the other part of the file's name."""
    parts = {dockerfile.parent.name.lower()}
    parts |= set(dockerfile.name.lower().split(".", 1)) - {"dockerfile", "containerfile"}
    return frozenset(part for part in parts if part)


_PATHS = re.compile(r"(?<![\w./:@$}-])(?:\./)?([\w.-]+(?:/[\w.@-]+)+)")


def _context_of(dockerfile: PurePosixPath, files: Files) -> PurePosixPath:
    """The folder that is built: the nearest one at or above the file that has a path which the file names."""
    paths = set(
        _PATHS.findall(
            re.sub(r"--from=\S+\s+\S+|^FROM.*|https?:\S+", "", files.text(dockerfile) or "", flags=re.MULTILINE)
        )
    )
    for folder in dockerfile.parents if paths else ():
        if any(folder / path in files or files.is_folder(folder / path) for path in paths):
            return folder
    return dockerfile.parents[3] if dockerfile.parts[-4:-1] == ("src", "main", "docker") else dockerfile.parent


@lru_cache(maxsize=4)
def _dockerfiles(files: Files) -> tuple[PurePosixPath, ...]:
    return tuple(path for path in files if is_dockerfile(path) and ".devcontainer" not in path.parts)


def _repository(image: str) -> str:
    """The image without its tag or digest."""
    return re.sub(r"[:@][^/]*$", "", image)


def _name_of(image: str) -> str:
    return re.split(r"[:@]", image.rpartition("/")[2])[0].lower()


def _is_of_others(image: str) -> bool:
    """Whether it is one whose host or name everybody knows."""
    return _has_name_of_others(image) or image.partition("/")[0] in _PUBLIC_HOSTS


def _has_name_of_others(image: str) -> bool:
    known = _OF_OTHERS if "/" in image else _OF_OTHERS | _LANGUAGES
    return any(part in known for part in re.split(r"[-_]", _name_of(image)))


@lru_cache(maxsize=4)
def _own_images(files: Files) -> frozenset[str]:
    """The images that have the project's own name, if any has: then the others are somebody else's."""
    names_here = {_called(text) for path in files if path.name in _MANIFESTS and (text := files.text(path))}
    found = set()
    for path in files:
        if path.suffix in (".yml", ".yaml", ".tf", ".json"):
            found |= set(_IMAGE.findall(files.fresh(path) or ""))
    return frozenset(
        _repository(image)
        for image in found
        if ("/" in image and _name_of(image) in names_here)  # a project may be called as a product is
        or (not _has_name_of_others(image) and {_name_of(image), *image.lower().split("/")} & names_here)
    )


def _called(manifest: str) -> str:
    match = _PROJECT_NAME.search(_PARENT.sub("", manifest))
    return (match[1] or match[2]).rpartition("/")[2].lower() if match else ""


_MANIFESTS = (
    "pyproject.toml",
    "package.json",
    "go.mod",
    "pom.xml",
    "settings.gradle",
    "settings.gradle.kts",
    "Cargo.toml",
)
_PARENT = re.compile(r"<(parent|dependencies|build)>.*?</\1>", re.DOTALL)
_PROJECT_NAME = re.compile(
    r"(?:^name\s*=\s*|\"name\"\s*:\s*|^module\s+|^rootProject\.name\s*=\s*)[\"']?([\w@./-]+)|<artifactId>([\w.-]+)<",
    re.MULTILINE,
)
_IMAGE = re.compile(r"[\"']?\bimage[\"']?\s*[:=]\s*[\"']?([^\s\"',}]+)")
_PUBLIC_HOSTS = frozenset(
    {"quay.io", "registry.k8s.io", "k8s.gcr.io", "mcr.microsoft.com", "public.ecr.aws", "docker.elastic.co"}
)
_LANGUAGES = names("python node ruby golang openjdk temurin php composer maven gradle rust debian ubuntu alpine")
"""Images that others build on: `node` is one, `shop/node` and `shop/node-api` are not."""
_OF_OTHERS = names(
    "redis valkey keydb dragonfly postgres postgresql postgis pgvector pgbouncer pgadmin4 mysql mariadb mongo mongodb "
    "nginx traefik caddy haproxy envoy grafana prometheus alertmanager loki tempo promtail rabbitmq kafka zookeeper "
    "redpanda nats memcached elasticsearch opensearch kibana logstash fluentd fluentbit vector minio localstack "
    "mailhog mailpit maildev adminer jaeger opentelemetry otel collector vault consul etcd keycloak meilisearch "
    "typesense clickhouse influxdb telegraf cadvisor exporter datadog cloudflared certbot watchtower ofelia "
    "flower busybox curl git selenium chrome browserless gotenberg tika imgproxy soketi vernemq mosquitto timescaledb "
    "cockroach cassandra neo4j portainer"
)
