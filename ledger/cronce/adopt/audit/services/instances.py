"""Platforms whose file states the instances of an image.

Cloud Run, Azure Container Apps, AWS Copilot, Render, DigitalOcean's App Platform.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.commands import shell_words
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.images import Container, Copies, command_in, environment_in, services_of
from cronce.adopt.audit.services.reading import Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

NEW_BEFORE_OLD = "the platform starts the new version before it stops the old one"
CLOUD_RUN_MOST = 100
"""Instances of a service of Cloud Run that states no limit (Cloud Run's documentation, "Set maximum instances")."""
CONTAINER_APP_MOST = 10
"""`maxReplicas` of a container app that states none (Azure's documentation, "Set scaling rules")."""

_KNATIVE = "serving.knative.dev/"
_CONTAINER_APP = "Microsoft.App/containerApps"
_COPILOT_SERVICES = re.compile(r"Load Balanced Web Service|Backend Service|Worker Service|Request-Driven Web Service")
_BICEP = re.compile(r"^resource\s+\w+\s+'Microsoft\.App/containerApps@[^']*'\s*=\s*(?:if\s*\(.*\)\s*)?\{", re.MULTILINE)


def is_instances(path: PurePosixPath, text: str) -> bool:
    """Whether a text is one of these files. Cheap: no parsing."""
    return (
        path.name in ("render.yaml", "render.yml")
        or (path.parent.name == ".do" and path.stem == "app")
        or (path.stem == "manifest" and path.parent.parent.name == "copilot")
        or _KNATIVE in text
        or _CONTAINER_APP in text
    )


def read_instances(path: PurePosixPath, text: str, files: Files) -> Reading:
    """The services of one file."""
    reading = Reading()
    try:
        if path.suffix == ".bicep":
            found = list(_bicep(path, text))
        else:
            found = [each for document in documents(text) for each in _of_document(path, document)]
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
        return reading
    for container, copies in found:
        reading.services += services_of(container, copies, files)
    return reading


_Found = tuple[Container, Copies]


def _of_document(path: PurePosixPath, document: YamlNode) -> Iterator[_Found]:
    if (document.words("apiVersion") or "").startswith(_KNATIVE) and document.words("kind") == "Service":
        yield from _knative(path, document)
    elif path.parent.parent.name == "copilot":
        yield from _copilot(path, document)
    elif path.name.startswith("render.") or path.parent.name == ".do":
        yield from _of_source(path, document)
    else:
        for resource in [document, *document.items("resources")]:
            if resource.words("type") == _CONTAINER_APP:
                yield from _container_app(path, resource)


def _containers(path: PurePosixPath, containers: list[YamlNode]) -> Iterator[Container]:
    for node in containers:
        yield Container(
            entrypoint=command_in(path, node, "command"),
            cmd=command_in(path, node, "args"),
            image=node.words("image"),
            environment=environment_in(node, "env"),
        )


def _knative(path: PurePosixPath, document: YamlNode) -> Iterator[_Found]:
    """Knative's own limit is none, Cloud Run's is 100; which one it is, the annotations of Cloud Run tell."""
    annotations = {
        **document.entries("metadata", "annotations"),
        **document.entries("spec", "template", "metadata", "annotations"),
    }
    by_name = {key.rpartition("/")[2].replace("-", "").lower(): node for key, node in annotations.items()}
    on_cloud_run = any(key.startswith("run.googleapis.com/") for key in annotations)
    copies = instances(
        name=document.words("metadata", "name") or "unnamed",
        kind="cloud-run",
        place=Place(path=path, line=(document.get("metadata", "name") or document).line),
        least=_count(by_name.get("minscale")),
        most=_count(by_name.get("maxscale")),
        default=CLOUD_RUN_MOST if on_cloud_run else None,
        key="maxScale",
        path=path,
        line=by_name["maxscale"].line if "maxscale" in by_name else None,
    )
    for container in _containers(path, document.items("spec", "template", "spec", "containers")):
        yield container, copies


def _container_app(path: PurePosixPath, resource: YamlNode) -> Iterator[_Found]:
    template = resource.get("properties", "template") or resource
    most = template.get("scale", "maxReplicas")
    copies = instances(
        name=resource.words("name") or "unnamed",
        kind="container-app",
        place=Place(path=path, line=(resource.get("name") or resource).line),
        least=_count(template.get("scale", "minReplicas")),
        most=_count(most),
        default=CONTAINER_APP_MOST,
        key="maxReplicas",
        path=path,
        line=most.line if most is not None else None,
    )
    for container in _containers(path, template.items("containers")):
        yield container, copies


def _bicep(path: PurePosixPath, text: str) -> Iterator[_Found]:
    """Container apps in Bicep: as far as single lines say it."""
    for match in _BICEP.finditer(text):
        end = text.find("\n}", match.end())
        body = text[match.end() : end if end >= 0 else len(text)]
        first = text.count("\n", 0, match.start()) + 1

        def given(key: str, body: str = body) -> tuple[str, int] | None:
            found = re.search(rf"^\s*{key}:\s*(.+?)\s*$", body, re.MULTILINE)
            if found is None:
                return None
            default = re.search(rf"^param\s+{re.escape(found[1])}\s+\w+\s*=\s*(.+?)\s*$", text, re.MULTILINE)
            return (default or found)[1].strip("'"), body.count("\n", 0, found.start(1))

        name, least, most, image = given("name"), given("minReplicas"), given("maxReplicas"), given("image")
        listed = re.search(r"\bcommand:\s*\[([^\]]*)\]", body)
        words = tuple(re.findall(r"'([^']*)'", listed[1])) if listed else ()
        place = Place(path=path, line=first)
        yield (
            Container(
                entrypoint=ImageCommand(words=words, in_shell=False, place=place) if words else None,
                image=image[0] if image else None,
            ),
            instances(
                name=name[0] if name else "unnamed",
                kind="container-app",
                place=place,
                least=least[0] if least else None,
                most=most[0] if most else None,
                default=CONTAINER_APP_MOST,
                key="maxReplicas",
                path=path,
                line=first + most[1] if most else None,
            ),
        )


def _copilot(path: PurePosixPath, document: YamlNode) -> Iterator[_Found]:
    """A service of AWS Copilot, with the number of the environment that has most copies."""
    if not _COPILOT_SERVICES.fullmatch(document.words("type") or ""):
        return
    root = path.parents[2]
    build = document.get("image", "build")
    dockerfile = context = None
    if build is not None:
        named = build.value if isinstance(build.value, str) else build.words("dockerfile") or "Dockerfile"
        dockerfile = below(root, named)
        given = build.words("context")
        context = below(root, given) if given else (dockerfile.parent if dockerfile is not None else None)
    name = document.words("name") or path.parent.name
    place = Place(path=path, line=(document.get("name") or document).line)
    recreates = document.words("deployment", "rolling") == "recreate"
    every = [document, *document.entries("environments").values()]
    counts = [_copilot_count(node) for each in every if (node := each.get("count")) is not None]
    copies = Copies(name=name, kind="copilot", place=place, overlap="" if recreates else NEW_BEFORE_OLD)
    if counts:
        line, least, most = max(counts, key=lambda each: each[2])
        copies = Copies(
            name=name,
            kind="copilot",
            place=Place(path=path, line=line),
            least=least,
            most=most,
            stated=f"count: {most}" if least == most else f"count: {least} to {most}",
            overlap=copies.overlap if most == 1 else "",
        )
    settings = {key: node.value for key, node in document.entries("variables").items() if isinstance(node.value, str)}
    yield (
        Container(
            entrypoint=_words_in(path, document, "entrypoint"),
            cmd=_words_in(path, document, "command"),
            image=document.words("image", "location"),
            folder=context,
            dockerfile=dockerfile,
            environment=settings,
        ),
        copies,
    )


def _copilot_count(node: YamlNode) -> tuple[int, int, int]:
    """Line, least and most of `count: 2`, `count: {range: 1-10}`, `count: {range: {min: 1, max: 10}}`."""
    if (fixed := count_of(node.words() or node.words("spot"))) is not None:
        return node.line, fixed.least, fixed.most or 2
    bounds = node.get("range") or node
    if isinstance(bounds.value, str) and (match := re.fullmatch(r"(\d{1,4})-(\d{1,4})", bounds.value.strip())):
        return bounds.line, int(match[1]), int(match[2])
    most = count_of(bounds.words("max"))
    least = count_of(bounds.words("min"))
    return (bounds.get("max") or bounds).line, least.least if least else 1, (most.most if most else None) or 1


def _of_source(path: PurePosixPath, document: YamlNode) -> Iterator[_Found]:
    """Services of Render and of DigitalOcean, which both build a folder and say how many instances run."""
    for service in [*document.items("services"), *document.items("workers")]:
        if service.words("type") in ("cron", "redis", "keyvalue", "static"):
            continue
        most = service.get("scaling", "maxInstances") or service.get("autoscaling", "max_instance_count")
        least = service.get("scaling", "minInstances") or service.get("autoscaling", "min_instance_count")
        fixed = service.get("numInstances") or service.get("instance_count")
        counted = most or fixed
        root = path.parent if path.parent.name != ".do" else path.parent.parent
        folder = below(root, service.words("rootDir") or service.words("source_dir") or ".")
        given = service.words("dockerfilePath") or service.words("dockerfile_path")
        settings = {
            **environment_in(service, "envVars", name="key"),
            **environment_in(service, "envs", name="key"),
        }
        keys = ("dockerCommand", "startCommand", "run_command")
        yield (
            Container(
                cmd=next((words for key in keys if (words := _words_in(path, service, key)) is not None), None),
                folder=folder,
                dockerfile=below(root, given) if given else None,
                environment=settings,
            ),
            instances(
                name=service.words("name") or "unnamed",
                kind="render" if path.name.startswith("render.") else "app-platform",
                place=Place(path=path, line=(service.get("name") or service).line),
                least=_count(least or fixed),
                most=_count(counted),
                default=1,
                key="instances",
                path=path,
                line=counted.line if counted is not None else None,
            ),
        )


def _words_in(path: PurePosixPath, node: YamlNode, key: str) -> ImageCommand | None:
    """A command as a list, or as one text."""
    text = node.words(key)
    if text is None:
        return command_in(path, node, key)
    words = shell_words(text)
    found = node.get(key)
    if not words or found is None:
        return None
    in_shell = bool(re.search(r"[;&|]", text))
    return ImageCommand(
        words=(text,) if in_shell else words, in_shell=in_shell, place=Place(path=path, line=found.line)
    )


def _count(node: YamlNode | None) -> str | None:
    return node.words() if node is not None else None


def instances(  # the parts of a sentence
    *,
    name: str,
    kind: str,
    place: Place,
    least: str | None,
    most: str | None,
    default: int | None,
    key: str,
    path: PurePosixPath,
    line: int | None,
) -> Copies:
    """The copies of a service that scales between two numbers; the upper one is `default` if nothing states it."""
    high, low = count_of(most), count_of(least)
    limit = high.most if high is not None else default
    copies = Copies(
        name=name,
        kind=kind,
        place=Place(path=path, line=line) if line is not None else place,
        least=max(low.least if low is not None else 1, 1),
        most=limit,
        stated=f"{key}: {most}" if most is not None else "",
        overlap=NEW_BEFORE_OLD if limit == 1 else "",
    )
    return replace(copies, least=min(copies.least, limit)) if limit is not None else copies
