"""Platforms with one file for an application: Railway, Kamal, heroku.yml, App Engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.images import Container, Copies, services_of
from cronce.adopt.audit.services.reading import Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_Part = tuple[Container, Copies]


def is_app_platform(path: PurePosixPath) -> bool:
    """Whether the name is one of those that this module reads."""
    return re.fullmatch(r"railway\.json|heroku\.yml|app\.ya?ml", path.name) is not None or (
        re.fullmatch(r"deploy(\.[\w-]+)?\.yml", path.name) is not None and path.parent.name == "config"
    )


def read_app_platform(path: PurePosixPath, files: Files) -> Reading:
    """The services of one file; none if it is another tool's file of that name."""
    reading = Reading()
    try:
        for document in documents(files.text(path) or ""):
            for container, copies in _parts(path, document):
                reading.services += services_of(container, copies, files)
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
    return reading


def _parts(path: PurePosixPath, document: YamlNode) -> Iterator[_Part]:
    if path.name == "railway.json":
        yield from _railway(path, document)
    elif path.name == "heroku.yml":
        yield from _heroku(path, document)
    elif path.name.startswith("deploy"):
        yield from _kamal(path, document)
    elif document.get("runtime") is not None:
        yield from _app_engine(path, document)


def _railway(path: PurePosixPath, document: YamlNode) -> Iterator[_Part]:
    deploy = document.get("deploy")
    if deploy is not None and deploy.get("cronSchedule") is None:
        none = ("none",)
        copies = _copies(path, deploy, "railway", (("numReplicas",), none, none))
        yield _container(path, deploy, "startCommand"), copies


def _heroku(path: PurePosixPath, document: YamlNode) -> Iterator[_Part]:
    for name, node in document.entries("run").items():
        command = node if isinstance(node.value, str) else next(iter(node.items("command")), None)
        start = _in_shell(path, command) if command is not None else None
        if start is not None and name != "release":
            copies = Copies(name=name, kind="heroku", place=Place(path=path, line=node.line))
            yield Container(cmd=start, folder=path.parent), copies


def _kamal(path: PurePosixPath, document: YamlNode) -> Iterator[_Part]:
    """A role per list of hosts; a plain list is the role `web`. Each host runs one copy."""
    servers = document.get("servers")
    if servers is None or document.get("service") is None:
        return
    roles = servers.entries() if servers.is_mapping else {"web": servers}
    environment = {
        name: node.value for name, node in document.entries("env", "clear").items() if isinstance(node.value, str)
    }
    for name, role in roles.items():
        hosts = role.items("hosts") or role.items()
        command = role.get("cmd")
        own = {key: node.value for key, node in role.entries("env", "clear").items() if isinstance(node.value, str)}
        container = Container(
            cmd=_in_shell(path, command) if command is not None else None,
            folder=path.parent.parent,
            environment={**environment, **own},
        )
        count = max(len(hosts), 1)
        line = servers.key_line(name) if servers.is_mapping else document.key_line("servers")
        stated = f"{count} hosts" if count > 1 else ""
        place = Place(path=path, line=line)
        yield container, Copies(name=name, kind="kamal", place=place, least=count, most=count, stated=stated)


def _app_engine(path: PurePosixPath, document: YamlNode) -> Iterator[_Part]:
    scaling = (
        ("manual_scaling", "instances"),
        ("automatic_scaling", "min_instances"),
        ("automatic_scaling", "max_instances"),
    )
    copies = _copies(path, document, "app engine", scaling, name="service")
    if document.get("manual_scaling") is None and document.get("automatic_scaling", "max_instances") is None:
        copies = Copies(name="default", kind="app engine", place=copies.place, most=None, stated="automatic scaling")
    yield _container(path, document, "entrypoint"), copies


def _copies(
    path: PurePosixPath, item: YamlNode, kind: str, keys: tuple[tuple[str, ...], ...], *, name: str = "name"
) -> Copies:
    """The copies by the paths of the keys for a fixed number, the least and the most."""
    fixed, least, most = (item.get(*each) for each in keys)
    node = most or fixed
    count = count_of(node.value) if node is not None and isinstance(node.value, str) else None
    low = count_of(least.value) if most and least is not None and isinstance(least.value, str) else None
    called = item.words(name) or "default"
    if node is None or count is None:
        return Copies(name=called, kind=kind, place=Place(path=path, line=item.line))
    key = ".".join(keys[2] if most else keys[0])
    return Copies(
        name=called,
        kind=kind,
        place=Place(path=path, line=node.line),
        least=low.least if low else count.least if not most else 1,
        most=count.most,
        stated=f"{key}: {node.value}",
    )


def _container(path: PurePosixPath, item: YamlNode, key: str) -> Container:
    command = item.get(key)
    return Container(cmd=_in_shell(path, command) if command is not None else None, folder=path.parent)


def _in_shell(path: PurePosixPath, node: YamlNode) -> ImageCommand | None:
    if not isinstance(node.value, str):
        return None
    return ImageCommand(words=(node.value,), in_shell=True, place=Place(path=path, line=node.line))
