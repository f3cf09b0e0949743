"""Terraform: ECS services, their task definitions and scaling targets, also through the usual community module."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
    hcl_attributes,
    hcl_blocks,
    hcl_text,
    line_of,
    members,
)
from cronce.adopt.audit.services.images import Container
from cronce.adopt.audit.services.reading import Count, Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlUnreadableError, documents

_MENTIONS = re.compile(r"aws_ecs_(?:service|task_definition)\b|\bdesired_count\b|aws_appautoscaling_target")
_EACH = re.compile(
    r"(?:(?:try|coalesce)\(\s*)?each\.value(?:\.(\w+)|\[\"(\w+)\"\])|lookup\(\s*each\.value,\s*\"(\w+)\""
)
_TASK = re.compile(r"aws_ecs_task_definition\.(\w+)(\[each\.key\])?")
_COUNT_OF_MODULE = ("desired_count", "desired_capacity")

_Block = tuple[PurePosixPath, HclBlock]
"""A block and its file."""


def is_terraform(path: PurePosixPath, text: str) -> bool:
    """Whether a file may have something of ECS, or variables of such a file."""
    return path.suffix == ".tf" and (_MENTIONS.search(text) is not None or "variable" in text or "module" in text)


def read_terraform(texts: Iterable[tuple[PurePosixPath, str]], files: Files) -> Reading:
    """The services of every module: the files of one folder are read together."""
    reading = Reading()
    every = list(texts)
    with_ecs = dict.fromkeys(path.parent for path, text in every if _MENTIONS.search(text))
    blocks: dict[PurePosixPath, list[_Block]] = defaultdict(list)
    calls: list[_Call] = []
    for path, text in every if with_ecs else ():
        if path.parent in with_ecs or "module" in text:
            inside = [(path, block) for block in hcl_blocks(text)]
            calls += (call for call in _calls(inside) if call.folder in with_ecs)
            if path.parent in with_ecs:
                blocks[path.parent] += inside
    for folder in with_ecs:
        own: list[_Call | None] = [call for call in calls if call.folder == folder]
        for call in own or [None]:
            module = _Module(folder, blocks[folder], files, reading, call)
            reading.add(deployed(module.services(), module.tasks(), files))
    return reading


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call of a module of the project: its name, its folder, and where the arguments are."""

    name: str
    folder: PurePosixPath
    path: PurePosixPath
    given: dict[str, SgNode]


def _calls(blocks: Iterable[_Block]) -> Iterator[_Call]:
    for path, block in blocks:
        given = block.attributes() if block.words[:1] == ("module",) and len(block.words) == 2 else {}
        if (folder := _own_folder(path, given)) is not None:
            yield _Call(name=block.words[1], folder=folder, path=path, given=given)


def _own_folder(path: PurePosixPath, given: dict[str, SgNode]) -> PurePosixPath | None:
    """The folder of a module that lies in the project."""
    source = hcl_text(given["source"]) if "source" in given else ""
    return below(path.parent, source) if source.startswith(("./", "../")) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Each:
    """One instance of a resource with `for_each`: its key and what `each.value` has."""

    path: PurePosixPath
    key: str
    value: dict[str, SgNode]


class _Module:
    def __init__(
        self, folder: PurePosixPath, blocks: Sequence[_Block], files: Files, reading: Reading, call: _Call | None
    ) -> None:
        self._called = f"{call.name}." if call is not None else ""
        self._files = files
        self._reading = reading
        self._blocks = blocks
        self._locals = {
            name: (path, value)
            for path, block in self._blocks
            if block.words == ("locals",)
            for name, value in block.attributes().items()
        }
        self._variables: dict[str, list[tuple[PurePosixPath, SgNode]]] = defaultdict(list)
        for path, block in self._blocks:
            default = block.attributes().get("default") if block.words[:1] == ("variable",) else None
            if default is not None and len(block.words) == 2:
                self._variables[block.words[1]].append((path, default))
        for path in files.inside(folder):
            if path.suffix == ".tfvars":
                for name, value in hcl_attributes(files.text(path) or "").items():
                    self._variables[name].append((path, value))
        if call is not None:
            self._variables |= {name: [(call.path, value)] for name, value in call.given.items()}
        self._each: _Each | None = None

    def _of_type(self, name: str) -> Iterator[tuple[PurePosixPath, str, HclBlock]]:
        for path, block in self._blocks:
            if len(block.words) == 3 and block.words[:2] == ("resource", name):
                yield path, block.words[2], block

    def services(self) -> list[EcsService]:
        own = [
            self._service(path, name, block)
            for path, resource, block in self._of_type("aws_ecs_service")
            for name in self._instances(path, resource, block)
        ]
        return own + list(self._of_modules())

    def tasks(self) -> list[TaskDefinition]:
        found = []
        for path, resource, block in self._of_type("aws_ecs_task_definition"):
            given = block.attributes().get("container_definitions")
            for name in self._instances(path, resource, block):
                containers = list(self._containers(path, given)) if given is not None else []
                found.append(TaskDefinition(name=name, containers=tuple(containers)))
        for path, block in self._blocks:
            given = block.attributes().get("container_definitions") if block.words[:1] == ("module",) else None
            inside = members(given) if given is not None else None
            if inside is not None:
                containers = [self._container(path, each) for each in map(members, inside.values()) if each is not None]
                found.append(TaskDefinition(name=f"module.{block.words[-1]}", containers=tuple(containers)))
        return found

    def _instances(self, file: PurePosixPath, resource: str, block: HclBlock) -> Iterator[str]:
        """The name of each instance of a resource; while the caller handles it, `each` means that instance."""
        given = block.attributes().get("for_each")
        path, source = self._source(file, given) if given is not None else (None, None)
        keys = members(source) if source is not None else None
        names = elements(argument(source, "toset") or source) if source is not None else None
        if path is None or (keys is None and names is None):
            yield resource
            return
        for key, value in keys.items() if keys is not None else [(hcl_text(name), name) for name in names or []]:
            self._each = _Each(path=path, key=key, value=members(value) or {})
            yield f"{resource}[{key}]"
        self._each = None

    def _source(self, path: PurePosixPath, node: SgNode) -> tuple[PurePosixPath, SgNode]:
        """The expression behind `each.value.x`, `local.x` or `var.x`, with its file."""
        if (own := self._of_each(node)) is not None:
            return own
        text = node.text().strip()
        if text.startswith("local.") and text[6:] in self._locals:
            return self._locals[text[6:]]
        if text.startswith("var.") and self._variables.get(text[4:]):
            return self._variables[text[4:]][-1]
        return path, node

    def _service(self, path: PurePosixPath, name: str, block: HclBlock) -> EcsService:
        given = block.attributes()
        task = given.get("task_definition")
        reference = _TASK.search(task.text()) if task is not None else None
        key = f"[{self._each.key}]" if reference and reference[2] and self._each is not None else ""
        daemon = "scheduling_strategy" in given and hcl_text(given["scheduling_strategy"]) == "DAEMON"
        place, count, stated = self._counted(path, block, given, ("desired_count",))
        return EcsService(
            name=f"{self._called}{name}",
            kind="terraform",
            place=place,
            task=f"{reference[1]}{key}" if reference else None,
            count=Count(least=2, most=None) if daemon else count,
            stated="scheduling_strategy: DAEMON, one task per instance" if daemon else stated,
            maximum=self._text(given.get("deployment_maximum_percent")),
            scaled=self._scaled(name.partition("[")[0]),
        )

    def _of_modules(self) -> Iterator[EcsService]:
        """Calls of modules that have a number of tasks: their arguments are those of the service inside."""
        for path, block in self._blocks:
            given = block.attributes() if block.words[:1] == ("module",) and len(block.words) == 2 else {}
            if not set(_COUNT_OF_MODULE) & set(given) or _own_folder(path, given) is not None:
                continue
            place, count, stated = self._counted(path, block, given, _COUNT_OF_MODULE)
            scaled = None
            if (most := given.get("autoscaling_max_capacity")) is not None:
                high = self._count(most)
                scaled = (Place(path=path, line=line_of(most)), Count(least=1, most=high.most))
            yield EcsService(
                name=block.words[1],
                kind="terraform",
                place=place,
                task=f"module.{block.words[1]}",
                count=count,
                stated=stated,
                maximum=self._text(given.get("deployment_maximum_percent")),
                scaled=scaled,
            )

    def _counted(
        self, path: PurePosixPath, block: HclBlock, given: dict[str, SgNode], names: tuple[str, ...]
    ) -> tuple[Place, Count | None, str]:
        for name in names:
            if name in given:
                count = self._count(given[name])
                own = self._of_each(given[name])
                file, value = own or (path, given[name])
                return Place(path=file, line=line_of(value)), count, f"{name} = {hcl_text(given[name])[:60]}"
        return Place(path=path, line=block.line), None, ""

    def _count(self, node: SgNode) -> Count:
        return count_of(self._text(node)) or Count(least=1, most=None)

    def _text(self, node: SgNode | None) -> str | None:
        """A literal's text; that of a variable is the largest number that it gets, else its default."""
        if node is None:
            return None
        text = hcl_text(self._resolved(node))
        if text == "each.key" and self._each is not None:
            return self._each.key
        if not text.startswith("var."):
            return text
        values = [hcl_text(value) for _, value in self._variables.get(text[4:], ())]
        numbers = [value for value in values if value.isascii() and value.isdigit()]
        return max(numbers, key=int) if numbers else next(iter(values), None)

    def _scaled(self, name: str) -> tuple[Place, Count] | None:
        for path, _, block in self._of_type("aws_appautoscaling_target"):
            given = block.attributes()
            most, resource = given.get("max_capacity"), given.get("resource_id")
            if most is None or resource is None:
                continue
            if not re.search(rf"aws_ecs_service\.{re.escape(name)}\b|/{re.escape(name)}\"?$", resource.text()):
                continue
            low = given.get("min_capacity")
            least = self._count(low).least if low is not None else 1
            return Place(path=path, line=line_of(most)), Count(least=least, most=self._count(most).most)
        return None

    def _containers(self, path: PurePosixPath, node: SgNode) -> Iterator[Container]:
        """From `jsonencode([...])`, from `file("x.json")`, or from JSON in the text."""
        node = self._resolved(node)
        if (given := argument(node, "jsonencode")) is not None:
            given = self._resolved(given)
            # What is not simply a list may still have containers in it: `concat([...], ...)`, `[for ...]`.
            for each in elements(given) or given.find_all(kind="object"):
                if "image" in (inside := members(each) or {}):
                    yield self._container(path, inside)
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

    def _resolved(self, node: SgNode) -> SgNode:
        """The expression behind `local.x`, if it is in this folder."""
        if (own := self._of_each(node)) is not None:
            return own[1]
        name = node.text().strip()
        return self._locals.get(name[6:], (None, node))[1] if name.startswith("local.") else node

    def _of_each(self, node: SgNode) -> tuple[PurePosixPath, SgNode] | None:
        """What `each.value.x` means now, also inside of `try` and `lookup`, with its file."""
        text = node.text().strip()
        found = _EACH.match(text)
        if self._each is None or found is None:
            return None
        value = self._each.value.get(found[1] or found[2] or found[3])
        return (self._each.path, value) if value is not None else None

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
        environment: dict[str, str] = {}
        for item in elements(given["environment"]) or [] if "environment" in given else []:
            inside = members(item) or {}
            if "name" in inside and "value" in inside:
                environment[hcl_text(inside["name"])] = self._text(inside["value"]) or ""
        image = given.get("image")
        return Container(
            entrypoint=self._command(path, given.get("entryPoint") or given.get("entrypoint")),
            cmd=self._command(path, given.get("command")),
            image=(self._text(image) or "$") if image is not None else None,
            environment=environment,
        )

    def _command(self, path: PurePosixPath, node: SgNode | None) -> ImageCommand | None:
        if node is None:
            return None
        path, node = self._source(path, node)
        items = elements(node)
        if not items:
            return None
        words = tuple(hcl_text(item) for item in items)
        return ImageCommand(words=words, in_shell=False, place=Place(path=path, line=line_of(node)))


def _moved(container: Container, lines: int) -> Container:
    """The container with the lines of its commands counted from the start of the file."""

    def moved(command: ImageCommand | None) -> ImageCommand | None:
        if command is None:
            return None
        return replace(command, place=replace(command.place, line=command.place.line + lines))

    return replace(container, entrypoint=moved(container.entrypoint), cmd=moved(container.cmd))
