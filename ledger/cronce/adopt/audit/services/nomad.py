"""Nomad's job files: each task of a group runs as often as the group's `count` says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from ast_grep_py import SgNode

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.hcl_tree import HclBlock, elements, hcl_blocks, hcl_text, line_of, members
from cronce.adopt.audit.services.images import Container, Copies, services_of
from cronce.adopt.audit.services.reading import Count, Reading, count_of

_JOB = re.compile(r'^job\s+"', re.MULTILINE)


def is_nomad(path: PurePosixPath, text: str) -> bool:
    """Whether a text has a job. Cheap: no parsing."""
    return path.suffix in (".nomad", ".hcl") and _JOB.search(text) is not None


def read_nomad(path: PurePosixPath, text: str, files: Files) -> Reading:
    """The tasks of every job that runs on and on; what Nomad itself starts (`periodic`, `batch`) is no service."""
    reading = Reading()
    blocks = hcl_blocks(text)
    defaults = {
        block.words[1]: hcl_text(given["default"])
        for block in blocks
        if block.words[:1] == ("variable",) and len(block.words) == 2 and "default" in (given := block.attributes())
    }
    for job in blocks:
        if job.words[:1] != ("job",):
            continue
        kind = hcl_text(given["type"]) if "type" in (given := job.attributes()) else "service"
        if kind not in ("service", "system"):
            continue
        for group in (block for block in job.blocks() if block.words[:1] == ("group",)):
            copies = _copies(path, group, defaults, per_node=kind == "system")
            for task in (block for block in group.blocks() if block.words[:1] == ("task",)):
                reading.services += services_of(_container(path, task, defaults), copies, files)
    return reading


def _copies(path: PurePosixPath, group: HclBlock, defaults: Mapping[str, str], *, per_node: bool) -> Copies:
    name = group.words[-1]
    place = Place(path=path, line=group.line)
    if per_node:
        stated = 'type = "system": one per node'
        return Copies(name=name, kind="nomad", place=place, least=2, most=None, stated=stated)
    scaled = next((block.attributes() for block in group.blocks() if block.words == ("scaling",)), {})
    node = scaled.get("max") or group.attributes().get("count")
    count = count_of(_text(node, defaults)) or Count(least=1, most=None) if node is not None else Count(least=1, most=1)
    canary = any("canary" in block.attributes() for block in group.blocks() if block.words == ("update",))
    return Copies(
        name=name,
        kind="nomad",
        place=Place(path=path, line=line_of(node)) if node is not None else place,
        least=1 if "max" in scaled else count.least,
        most=count.most,
        stated=f"{'max' if 'max' in scaled else 'count'} = {hcl_text(node)}" if node is not None else "",
        overlap="an update with a canary starts the new one first" if canary and count.most == 1 else "",
    )


def _text(node: SgNode, defaults: Mapping[str, str]) -> str:
    text = hcl_text(node)
    return defaults.get(text.removeprefix("var."), text) if text.startswith("var.") else text


def _container(path: PurePosixPath, task: HclBlock, defaults: Mapping[str, str]) -> Container:
    inside = {block.words[0]: block.attributes() for block in task.blocks() if block.words}
    config = inside.get("config", {})

    def command(key: str) -> ImageCommand | None:
        node = config.get(key)
        if node is None:
            return None
        words = tuple(hcl_text(each) for each in elements(node) or [node])
        return ImageCommand(words=words, in_shell=False, place=Place(path=path, line=line_of(node)))

    first, rest = command("command"), command("args")
    if first is not None and rest is not None:
        first = ImageCommand(words=(*first.words, *rest.words), in_shell=False, place=first.place)
    image = config.get("image")
    settings = members(task.attributes()["env"]) if "env" in task.attributes() else inside.get("env", {})
    return Container(
        entrypoint=command("entrypoint"),
        cmd=first or rest,
        image=_text(image, defaults) if image is not None else None,
        environment={name: _text(value, defaults) for name, value in (settings or {}).items()},
    )
