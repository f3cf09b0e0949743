"""Terraform: ECS services, their task definitions and scaling targets, also through the usual community module.

Also the services of Cloud Run, Azure Container Apps and Kubernetes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from ast_grep_py import SgNode

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.ecs import EcsService, TaskDefinition, deployed, task_definition
from cronce.adopt.audit.services.hcl_tree import (
    HclBlock,
    argument,
    elements,
    hcl_blocks,
    hcl_text,
    line_of,
    members,
)
from cronce.adopt.audit.services.images import Container, Copies, services_of
from cronce.adopt.audit.services.instances import CLOUD_RUN_MOST, CONTAINER_APP_MOST, instances
from cronce.adopt.audit.services.reading import Count, Reading
from cronce.adopt.audit.services.terraform_values import Block, Scope, own_folder, scopes
from cronce.adopt.audit.services.yaml_tree import YamlUnreadableError, documents

_CLOUD_RUN = ("google_cloud_run_v2_service", "google_cloud_run_service")
_CONTAINER_APP = ("azurerm_container_app",)
_KUBERNETES = (
    "kubernetes_deployment",
    "kubernetes_deployment_v1",
    "kubernetes_stateful_set",
    "kubernetes_stateful_set_v1",
)
_MENTIONS = re.compile(
    r"aws_ecs_(?:service|task_definition)\b|\bdesired_count\b|aws_appautoscaling_target"
    rf"|\"(?:{'|'.join((*_CLOUD_RUN, *_CONTAINER_APP, *_KUBERNETES))})\""
)
_TASK = re.compile(r"aws_ecs_task_definition\.(\w+)(\[each\.key\])?")
_COUNT_OF_MODULE = ("desired_count", "desired_capacity")


def is_terraform(path: PurePosixPath, text: str) -> bool:
    """Whether a file may deploy something, or have variables of such a file."""
    return path.suffix == ".tf" and (
        _MENTIONS.search(text) is not None or "variable" in text or "module" in text or "locals" in text
    )


def read_terraform(texts: Iterable[tuple[PurePosixPath, str]], files: Files) -> Reading:
    """The services of every module: the files of one folder are read together, once for each call of it."""
    reading = Reading()
    every = list(texts)
    deploying = dict.fromkeys(path.parent for path, text in every if _MENTIONS.search(text))
    calling = {path.parent for path, text in every if "module" in text} if deploying else set()
    blocks: dict[PurePosixPath, list[Block]] = defaultdict(list)
    for path, text in every:
        if path.parent in deploying or path.parent in calling:
            blocks[path.parent] += [(path, block) for block in hcl_blocks(text)]
    found = scopes(blocks, files)
    for folder in deploying:
        for scope in found[folder]:
            module = _Module(scope, files, reading)
            reading.add(deployed(module.services(), module.tasks(), files))
            for container, copies in module.hosted():
                reading.services += services_of(container, copies, files)
    return reading


class _Module:
    def __init__(self, scope: Scope, files: Files, reading: Reading) -> None:
        self._scope = scope
        self._files = files
        self._reading = reading

    def services(self) -> list[EcsService]:
        own = [
            self._service(path, name, block)
            for path, resource, block in self._scope.of_type("aws_ecs_service")
            for name in self._scope.instances(path, resource, block)
        ]
        return own + list(self._of_modules())

    def tasks(self) -> list[TaskDefinition]:
        found = []
        for path, resource, block in self._scope.of_type("aws_ecs_task_definition"):
            given = block.attributes().get("container_definitions")
            for name in self._scope.instances(path, resource, block):
                containers = list(self._containers(path, given)) if given is not None else []
                found.append(TaskDefinition(name=name, containers=tuple(containers)))
        for path, block in self._scope.blocks:
            given = block.attributes().get("container_definitions") if block.words[:1] == ("module",) else None
            inside = members(given) if given is not None else None
            if inside is not None:
                containers = [self._container(path, each) for each in map(members, inside.values()) if each is not None]
                found.append(TaskDefinition(name=f"module.{block.words[-1]}", containers=tuple(containers)))
        return found

    def hosted(self) -> Iterator[tuple[Container, Copies]]:
        """What runs elsewhere than on ECS: the containers of a template, in a number of instances."""
        for path, resource, block in self._scope.of_type(*_CLOUD_RUN, *_CONTAINER_APP, *_KUBERNETES):
            for name in self._scope.instances(path, resource, block):
                yield from self._hosted(path, f"{self._scope.called}{name}", block)

    def _hosted(self, path: PurePosixPath, name: str, block: HclBlock) -> Iterator[tuple[Container, Copies]]:
        place = Place(path=path, line=block.line)
        kind = block.words[1]
        if kind in _KUBERNETES:
            spec = _inner(block, "spec")
            given = spec.attributes().get("replicas") if spec is not None else None
            count = self._scope.count(given) if given is not None else Count(least=1, most=1)
            copies = Copies(
                name=name,
                kind="terraform",
                place=Place(path=path, line=line_of(given)) if given is not None else place,
                least=count.least,
                most=count.most,
                stated=f"replicas = {hcl_text(given)[:60]}" if given is not None else "",
            )
            if count.most == 1 and "deployment" in kind and not self._recreates(spec):
                copies = replace(copies, overlap="a rolling update starts the new pod before the old one has ended")
        else:
            low, high = self._limits(block)
            line = line_of(high) if high is not None else None
            copies = instances(
                name=name,
                kind="terraform",
                place=place,
                least=self._scope.text(low),
                most=self._scope.text(high),
                default=CLOUD_RUN_MOST if kind in _CLOUD_RUN else CONTAINER_APP_MOST,
                key="maximum",
                path=path,
                line=line,
            )
        for container in _all_inside(block, ("container", "containers")):
            given_here = container.attributes()
            settings = {
                hcl_text(each["name"]): self._scope.text(each.get("value")) or ""
                for inner in container.blocks()
                if inner.words[:1] == ("env",) and "name" in (each := inner.attributes())
            }
            made = self._container(path, given_here)
            yield replace(made, environment=settings), copies

    def _limits(self, block: HclBlock) -> tuple[SgNode | None, SgNode | None]:
        """The expressions of the fewest and the most instances, wherever in the resource they are."""
        low = high = None
        for inner in [block, *_every_block(block)]:
            for key, node in inner.attributes().items():
                known = members(node) or {} if key == "annotations" else {key: node}
                for name, value in known.items():
                    last = name.strip('"()').rpartition("/")[2].replace("-", "").replace("_", "").lower()
                    if last in ("mininstancecount", "minreplicas", "minscale"):
                        low = value
                    elif last in ("maxinstancecount", "maxreplicas", "maxscale"):
                        high = value
        return low, high

    @staticmethod
    def _recreates(spec: HclBlock | None) -> bool:
        strategy = _inner(spec, "strategy") if spec is not None else None
        kind = strategy.attributes().get("type") if strategy is not None else None
        return kind is not None and hcl_text(kind) == "Recreate"

    def _service(self, path: PurePosixPath, name: str, block: HclBlock) -> EcsService:
        given = block.attributes()
        task = given.get("task_definition")
        reference = _TASK.search(task.text()) if task is not None else None
        each = self._scope.each
        key = f"[{each.key}]" if reference and reference[2] and each is not None else ""
        daemon = "scheduling_strategy" in given and hcl_text(given["scheduling_strategy"]) == "DAEMON"
        place, count, stated = self._counted(path, block, given, ("desired_count",))
        return EcsService(
            name=f"{self._scope.called}{name}",
            kind="terraform",
            place=place,
            task=f"{reference[1]}{key}" if reference else None,
            count=Count(least=2, most=None) if daemon else count,
            stated="scheduling_strategy: DAEMON, one task per instance" if daemon else stated,
            maximum=self._scope.text(given.get("deployment_maximum_percent")),
            scaled=self._scaled(name.partition("[")[0]),
        )

    def _of_modules(self) -> Iterator[EcsService]:
        """Calls of modules that have a number of tasks: their arguments are those of the service inside."""
        for path, block in self._scope.blocks:
            given = block.attributes() if block.words[:1] == ("module",) and len(block.words) == 2 else {}
            if not set(_COUNT_OF_MODULE) & set(given) or own_folder(path, given) is not None:
                continue
            place, count, stated = self._counted(path, block, given, _COUNT_OF_MODULE)
            scaled = None
            if (most := given.get("autoscaling_max_capacity")) is not None:
                high = self._scope.count(most)
                scaled = (Place(path=path, line=line_of(most)), Count(least=1, most=high.most))
            yield EcsService(
                name=block.words[1],
                kind="terraform",
                place=place,
                task=f"module.{block.words[1]}",
                count=count,
                stated=stated,
                maximum=self._scope.text(given.get("deployment_maximum_percent")),
                scaled=scaled,
            )

    def _counted(
        self, path: PurePosixPath, block: HclBlock, given: dict[str, SgNode], names: tuple[str, ...]
    ) -> tuple[Place, Count | None, str]:
        for name in names:
            if name in given:
                count = self._scope.count(given[name])
                by_each = given[name].text().find("each.value") >= 0
                found = self._scope.value(path, given[name])
                file, value = (found.path, found.node) if by_each else (path, given[name])
                return Place(path=file, line=line_of(value)), count, f"{name} = {hcl_text(given[name])[:60]}"
        return Place(path=path, line=block.line), None, ""

    def _scaled(self, name: str) -> tuple[Place, Count] | None:
        for path, _, block in self._scope.of_type("aws_appautoscaling_target"):
            given = block.attributes()
            most, resource = given.get("max_capacity"), given.get("resource_id")
            if most is None or resource is None:
                continue
            if not re.search(rf"aws_ecs_service\.{re.escape(name)}\b|/{re.escape(name)}\"?$", resource.text()):
                continue
            low = given.get("min_capacity")
            least = self._scope.count(low).least if low is not None else 1
            return Place(path=path, line=line_of(most)), Count(least=least, most=self._scope.count(most).most)
        return None

    def _containers(self, path: PurePosixPath, node: SgNode) -> Iterator[Container]:
        """From `jsonencode([...])`, from `file("x.json")`, or from JSON in the text."""
        resolved = self._scope.value(path, node)
        path, node = resolved.path, resolved.node
        if (given := argument(node, "jsonencode")) is not None:
            found = resolved.scope.value(path, given)
            # What is not simply a list may still have containers in it: `concat([...], ...)`, `[for ...]`.
            for each in elements(found.node) or found.node.find_all(kind="object"):
                one = found.scope.value(found.path, each)
                if "image" in (inside := members(one.node) or {}):
                    yield self._container(one.path, inside)
            return
        named = argument(node, "file") or argument(node, "templatefile")
        if named is not None:
            file = below(path.parent, re.sub(r"\$\{path\.(?:module|root)\}/?", "", hcl_text(named)))
            text = self._files.text(file) if file is not None else None
            if file is None or text is None:
                self._reading.not_read(
                    path, line_of(named), "container_definitions are in a file outside of the project"
                )
                return
            yield from self._of_json(file, text, 1)
        elif node.text().lstrip().startswith(("<<", '"')) and "[" in node.text():
            text, start = node.text(), node.text().index("[")
            yield from self._of_json(
                path, text[start : text.rfind("]") + 1], line_of(node) + text.count("\n", 0, start)
            )

    def _of_json(self, path: PurePosixPath, text: str, first: int) -> Iterator[Container]:
        # Placeholders without quotes, as in `"cpu": ${cpu}`, are no JSON; quoted ones stay as they are.
        plain = re.sub(r"(?<=[:,\[\s])\$\{[^}\n]*\}", "null", text)
        try:
            for document in documents('{"containerDefinitions":' + plain + "}"):
                for container in task_definition(path, document).containers:
                    yield _moved(container, first - 1)
        except YamlUnreadableError as error:
            self._reading.not_read(path, first - 1 + error.line, error.why)

    def _container(self, path: PurePosixPath, given: dict[str, SgNode]) -> Container:
        image = given.get("image")
        return Container(
            entrypoint=self._command(path, given.get("entryPoint") or given.get("entrypoint")),
            cmd=self._command(path, given.get("command") or given.get("args")),
            image=(self._scope.text(image) or "$") if image is not None else None,
            environment=self._environment(path, given["environment"]) if "environment" in given else {},
        )

    def _environment(self, path: PurePosixPath, node: SgNode) -> dict[str, str]:
        """From a list of names and values, or `[for name, value in MAP : {...}]`."""
        listed = self._scope.value(path, node)
        found: dict[str, str] = {}
        for item in elements(listed.node) or []:
            inside = members(item) or {}
            if "name" in inside and "value" in inside:
                found[hcl_text(inside["name"])] = listed.scope.text(inside["value"]) or ""
        if not found and (source := re.search(r"\bin\s+((?:local|var|each)[\w.]*)", listed.node.text())) is not None:
            named = next((each for each in listed.node.find_all(kind="expression") if each.text() == source[1]), None)
            table = listed.scope.value(listed.path, named) if named is not None else None
            for name, value in (members(table.node) or {}).items() if table is not None else ():
                found[name] = (table.scope if table is not None else listed.scope).text(value) or ""
        return found

    def _command(self, path: PurePosixPath, node: SgNode | None) -> ImageCommand | None:
        if node is None:
            return None
        found = self._scope.value(path, node)
        items = elements(found.node)
        if not items:
            return None
        words = tuple(found.scope.text(item) or hcl_text(item) for item in items)
        return ImageCommand(words=words, in_shell=False, place=Place(path=found.path, line=line_of(found.node)))


def _inner(block: HclBlock, name: str) -> HclBlock | None:
    return next((inner for inner in block.blocks() if inner.words == (name,)), None)


def _every_block(block: HclBlock) -> Iterator[HclBlock]:
    for inner in block.blocks():
        yield inner
        yield from _every_block(inner)


def _all_inside(block: HclBlock, names: tuple[str, ...]) -> list[HclBlock]:
    return [inner for inner in _every_block(block) if inner.words[:1] and inner.words[0] in names]


def _moved(container: Container, lines: int) -> Container:
    """The container with the lines of its commands counted from the start of the file."""

    def moved(command: ImageCommand | None) -> ImageCommand | None:
        if command is None:
            return None
        return replace(command, place=replace(command.place, line=command.place.line + lines))

    return replace(container, entrypoint=moved(container.entrypoint), cmd=moved(container.cmd))
