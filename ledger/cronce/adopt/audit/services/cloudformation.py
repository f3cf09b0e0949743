"""CloudFormation templates, those that CDK synthesizes included: ECS services, task definitions and scaling targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.ecs import EcsService, TaskDefinition, deployed
from cronce.adopt.audit.services.images import Container, environment_in
from cronce.adopt.audit.services.reading import Count, Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_MENTIONS = re.compile(r"AWS::ECS::(?:Service|TaskDefinition)\b")
_LONGEST_REFERENCE = 500
_DEEPEST = 8


def is_template(text: str) -> bool:
    """Whether a text has resources that this module reads. Cheap: no parsing."""
    return _MENTIONS.search(text) is not None


def read_template(path: PurePosixPath, text: str, files: Files) -> Reading:
    """The services of one template; references are followed inside it, parameters have their defaults."""
    reading = Reading()
    try:
        for document in documents(text):
            template = _Template(path, document)
            reading.add(deployed(template.services(), template.tasks(), files))
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
    return reading


class _Template:
    def __init__(self, path: PurePosixPath, document: YamlNode) -> None:
        self._path = path
        self._document = document
        self._resources = document.entries("Resources")

    def _of_type(self, name: str) -> list[tuple[str, YamlNode]]:
        return [(key, node) for key, node in self._resources.items() if node.words("Type") == name]

    def services(self) -> list[EcsService]:
        return [self._service(key, node) for key, node in self._of_type("AWS::ECS::Service")]

    def tasks(self) -> list[TaskDefinition]:
        return [
            TaskDefinition(
                name=key,
                containers=tuple(self._container(item) for item in node.items("Properties", "ContainerDefinitions")),
            )
            for key, node in self._of_type("AWS::ECS::TaskDefinition")
        ]

    def _service(self, key: str, node: YamlNode) -> EcsService:
        line = (self._document.get("Resources") or node).key_line(key)
        service = EcsService(
            name=key,
            kind="cloudformation",
            place=Place(path=self._path, line=line),
            task=_reference(node.get("Properties", "TaskDefinition")),
            maximum=self._text(node.get("Properties", "DeploymentConfiguration", "MaximumPercent")),
            scaled=self._scaled(key),
        )
        desired = node.get("Properties", "DesiredCount")
        if desired is None:
            return service
        count = count_of(self._text(desired)) or Count(least=1, most=None)
        return replace(
            service,
            place=Place(path=self._path, line=desired.line),
            count=count,
            stated=f"DesiredCount: {count.most if count.most is not None else 'unknown'}",
        )

    def _scaled(self, key: str) -> tuple[Place, Count] | None:
        for _, node in self._of_type("AWS::ApplicationAutoScaling::ScalableTarget"):
            most = node.get("Properties", "MaxCapacity")
            if most is None or key not in _names_in(node.get("Properties", "ResourceId")):
                continue
            high = count_of(self._text(most)) or Count(least=1, most=None)
            low = count_of(self._text(node.get("Properties", "MinCapacity")))
            return Place(path=self._path, line=most.line), Count(least=low.least if low else 1, most=high.most)
        return None

    def _container(self, item: YamlNode) -> Container:
        image = item.get("Image")
        return Container(
            entrypoint=self._command(item.get("EntryPoint")),
            cmd=self._command(item.get("Command")),
            image=self._text(image) or ("$" if image is not None else None),
            environment=environment_in(item, "Environment", name="Name", value="Value"),
        )

    def _command(self, node: YamlNode | None) -> ImageCommand | None:
        if node is None or not isinstance(node.value, list):
            return None
        words = tuple(self._text(item) or "?" for item in node.value)
        return (
            ImageCommand(words=words, in_shell=False, place=Place(path=self._path, line=node.line)) if words else None
        )

    def _text(self, node: YamlNode | None) -> str | None:
        """A scalar's text; that of a parameter is its default, that of a mapping or condition the largest number."""
        values = list(self._values(node)) if node is not None else []
        numbers = [value for value in values if value.isascii() and value.isdigit()]
        return max(numbers, key=int) if numbers else next(iter(values), None)

    def _values(self, node: YamlNode, depth: int = _DEEPEST) -> Iterator[str]:
        """Every value that an expression may have."""
        if depth == 0:
            return
        if isinstance(node.value, str) and node.tag in ("", "!Sub"):
            yield node.value
            return
        chosen = node if node.tag == "!If" else node.get("Fn::If")
        if chosen is not None:
            for each in chosen.items()[1:]:
                yield from self._values(each, depth - 1)
            return
        found = node if node.tag == "!FindInMap" else node.get("Fn::FindInMap")
        if found is not None:
            parts = [next(self._values(each, depth - 1), "") for each in found.items()]
            for inner in self._document.entries("Mappings", *parts[:1]).values():
                if (value := inner.words(*parts[2:3])) is not None:
                    yield value
            return
        name = _reference(node)
        default = self._document.words("Parameters", name, "Default") if name else None
        if default is not None:
            yield default


def _reference(node: YamlNode | None) -> str | None:
    """The logical ID that `!Ref X`, `!GetAtt X.Y`, `{"Ref": "X"}` or `{"Fn::GetAtt": ["X", "Y"]}` names."""
    if node is None:
        return None
    if isinstance(node.value, str):
        return node.value.partition(".")[0] if node.tag in ("!Ref", "!GetAtt") else None
    if (name := node.words("Ref")) is not None:
        return name
    parts = node.strings("Fn::GetAtt") or ()
    return parts[0] if parts else None


def _names_in(node: YamlNode | None) -> set[str]:
    """Every logical ID in an expression such as `!Sub service/${Cluster}/${Web.Name}` or a `Fn::Join`."""
    found: set[str] = set()
    waiting = [node] if node is not None else []
    while waiting and len(found) < _LONGEST_REFERENCE:
        each = waiting.pop()
        if (name := _reference(each)) is not None:
            found.add(name)
        elif isinstance(each.value, str):
            found |= {name.partition(".")[0] for name in re.findall(r"\$\{([\w.]+)\}", each.value)}
        elif isinstance(each.value, list):
            waiting += each.value[:_LONGEST_REFERENCE]
        else:
            waiting += list(each.value.values())[:_LONGEST_REFERENCE]
    return found
