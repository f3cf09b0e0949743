"""Kustomize: the numbers of copies that an overlay gives to workloads of its base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.reading import Count, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedCount:
    """The copies of a workload in an overlay.

    Attributes:
        name: The workload; None for every workload.
        place: What states the number.
        count: The number.
    """

    name: str | None
    place: Place
    count: Count


def is_kustomization(path: PurePosixPath) -> bool:
    """Whether the file's name is one that Kustomize reads."""
    return path.name in ("kustomization.yaml", "kustomization.yml", "Kustomization")


def patched_counts(path: PurePosixPath, node: YamlNode, files: Files) -> Iterator[PatchedCount]:
    """The counts of one kustomization: `replicas`, `patches`, and the two older kinds of patches.

    Source: the reference of the kustomization file; a patch is a part of the object, or a JSON Patch (RFC 6902).
    """
    for item in node.items("replicas"):
        if (count := count_of(item.words("count"))) is not None and (name := item.words("name")) is not None:
            yield PatchedCount(name=name, place=Place(path=path, line=item.line), count=count)
    patches = [*node.items("patches"), *node.items("patchesJson6902"), *node.items("patchesStrategicMerge")]
    for item in patches:
        target = item.words("target", "name")
        file = item.words("path")
        text = item.words("patch")
        if isinstance(item.value, str):  # of patchesStrategicMerge: a file, or the patch itself
            file, text = (None, item.value) if "\n" in item.value else (item.value, None)
        where = below(path.parent, file) if file else None
        inline = Place(path=path, line=item.line)
        if where is not None:
            yield from _of_text(files.text(where) or "", Place(path=where, line=1), target, lines=True)
        elif text is not None:
            yield from _of_text(text, inline, target, lines=False)


def _of_text(text: str, place: Place, target: str | None, *, lines: bool) -> Iterator[PatchedCount]:
    try:
        for document in documents(text):
            for name, node in _replicas(document, target):
                count = count_of(node.value) if isinstance(node.value, str) else None
                if count is not None:
                    yield PatchedCount(name=name, place=replace(place, line=node.line) if lines else place, count=count)
    except YamlUnreadableError:
        return  # the file is also read as a manifest, and named there


def _replicas(document: YamlNode, target: str | None) -> Iterator[tuple[str | None, YamlNode]]:
    if (node := document.get("spec", "replicas")) is not None:
        yield target or document.words("metadata", "name"), node
    for step in document.value if isinstance(document.value, list) else []:
        value = step.get("value")
        if step.words("path") == "/spec/replicas" and step.words("op") in ("replace", "add") and value is not None:
            yield target, value
