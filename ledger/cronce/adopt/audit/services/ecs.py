"""Amazon ECS: how many tasks a service runs, whatever file says it; and the JSON files that the AWS CLI takes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.images import Container, Copies, command_in, environment_in, services_of
from cronce.adopt.audit.services.reading import Count, Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_MENTIONS = re.compile(r'"(?:containerDefinitions|desiredCount)"\s*:')
_DEFAULT_MAXIMUM = 200
"""`maximumPercent` of a rolling deployment when it is not stated (ECS API reference, DeploymentConfiguration)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDefinition:
    """The containers of a task definition, by the name that services use for it."""

    name: str
    containers: tuple[Container, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EcsService:
    """A service as a file states it.

    Attributes:
        name: Its name in the file.
        kind: The file's tool.
        place: Where the number is stated, or where the service is.
        task: The name of its task definition; None if the file does not say.
        count: `desiredCount`; None if it is not stated.
        stated: What states the number.
        maximum: `maximumPercent`, as text; None if it is not stated.
        scaled: The limits of its autoscaling, and where they are stated.
    """

    name: str
    kind: str
    place: Place
    task: str | None = None
    count: Count | None = None
    stated: str = ""
    maximum: str | None = None
    scaled: tuple[Place, Count] | None = None

    def copies(self) -> Copies:
        """The copies that it runs, and whether a deployment doubles a single one."""
        if self.scaled is not None:
            place, count = self.scaled
            limit = "unknown" if count.most is None else count.most
            return Copies(
                name=self.name,
                kind=self.kind,
                place=place,
                least=count.least,
                most=count.most,
                stated=f"autoscaling, at most {limit}",
            )
        count = self.count or Count(least=1, most=1)
        percent = count_of(self.maximum) if self.maximum is not None else None
        maximum = percent.most if percent is not None and percent.most is not None else _DEFAULT_MAXIMUM
        doubles = count.most == 1 and maximum >= 2 * 100
        why = "the default of maximumPercent, 200," if self.maximum is None else f"maximumPercent {maximum}"
        return Copies(
            name=self.name,
            kind=self.kind,
            place=self.place,
            least=count.least,
            most=count.most,
            stated=self.stated,
            overlap=f"{why} starts the new task before the old one has stopped" if doubles else "",
        )


def deployed(services: Iterable[EcsService], tasks: Iterable[TaskDefinition], files: Files) -> Reading:
    """The services with the containers of their task definitions. The only definition belongs to whoever names none."""
    reading = Reading()
    by_name = {task.name: task for task in tasks}
    for service in services:
        task = by_name.get(service.task or "")
        if task is None and len(by_name) == 1 and service.task is None:
            task = next(iter(by_name.values()))
        for container in (task.containers if task is not None else ()) or (Container(),):
            reading.services += services_of(container, service.copies(), files)
    return reading


def is_ecs(text: str) -> bool:
    """Whether a JSON text is a task definition or a service for the AWS CLI. Cheap: no parsing."""
    return _MENTIONS.search(text) is not None


def read_ecs(texts: Iterable[tuple[PurePosixPath, str]], files: Files) -> Reading:
    """All JSON files together: task definition and service are files of their own."""
    reading = Reading()
    tasks: list[TaskDefinition] = []
    services: list[EcsService] = []
    for path, text in texts:
        try:
            for document in documents(text):
                for node in [document, *document.items("services"), document.get("taskDefinition") or document]:
                    if node.items("containerDefinitions"):
                        tasks.append(task_definition(path, node))
                    if node.get("desiredCount") is not None:
                        services.append(_service(path, node))
        except YamlUnreadableError as error:
            reading.not_read(path, error.line, error.why)
    if not services:
        # The number of tasks is stated elsewhere: known is only that a service may have any.
        services = [
            EcsService(
                name=task.name,
                kind="ecs",
                place=next((c.cmd.place for c in task.containers if c.cmd), Place(path=path, line=1)),
                task=task.name,
                count=Count(least=1, most=None),
            )
            for task, (path, _) in zip(tasks, texts, strict=False)
        ]
    reading.add(deployed(dict.fromkeys(services), tasks, files))
    return reading


def task_definition(path: PurePosixPath, node: YamlNode) -> TaskDefinition:
    """The containers of a task definition in the form of the API."""
    containers = [
        Container(
            entrypoint=command_in(path, item, "entryPoint"),
            cmd=command_in(path, item, "command"),
            image=item.words("image"),
            environment=environment_in(item, "environment"),
        )
        for item in node.items("containerDefinitions")
    ]
    return TaskDefinition(name=node.words("family") or path.stem, containers=tuple(containers))


def _service(path: PurePosixPath, node: YamlNode) -> EcsService:
    desired = node.get("desiredCount")
    family = (node.words("taskDefinition") or "").rpartition("/")[2].partition(":")[0]
    return EcsService(
        name=node.words("serviceName") or path.stem,
        kind="ecs",
        place=Place(path=path, line=(desired or node).line),
        task=family or None,
        count=count_of(node.words("desiredCount")),
        stated=f"desiredCount: {node.words('desiredCount')}",
        maximum=node.words("deploymentConfiguration", "maximumPercent"),
    )
