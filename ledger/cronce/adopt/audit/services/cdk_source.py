"""CDK apps in Python and TypeScript: services, their counts and containers, as far as they are written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from ast_grep_py import SgNode, SgRoot

from cronce.adopt.audit.files import ROOT, Files, below
from cronce.adopt.audit.model import Place
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.ecs import EcsService, TaskDefinition, deployed
from cronce.adopt.audit.services.images import Container
from cronce.adopt.audit.services.reading import Count, Reading, count_of

_LANGUAGES = {".py": "python", ".ts": "typescript", ".js": "javascript", ".mts": "typescript"}
_SERVICE = re.compile(
    r"(?:.*\.)?(?:(?:Fargate|Ec2|External)Service"
    r"|(?:Application|Network)(?:MultipleTargetGroups|LoadBalanced)(?:Fargate|Ec2)Service"
    r"|QueueProcessing(?:Fargate|Ec2)Service)"
)
_TASK = re.compile(r"(?:.*\.)?(?:Fargate|Ec2|External)?TaskDefinition")
_MENTIONS = re.compile(r"(?:Fargate|Ec2|External)Service\b")
_IMPORTS_CDK = re.compile(r"aws[-_]cdk")
_ADD_CONTAINER = re.compile(r"(?P<task>.+)\.(?:add_container|addContainer)")
_AUTO_SCALE = re.compile(r"(?P<service>.+?)(?:\.service)?\.(?:auto_scale_task_count|autoScaleTaskCount)")
_ASSET = re.compile(r"(?:from_asset|fromAsset)\(\s*(?P<path>(?:[^()]|\([^()]*\))*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A call with the arguments that matter.

    Attributes:
        called: What is called.
        line: From 1.
        name: The first string among its positional arguments: the construct's ID.
        target: What its result is assigned to; empty if it is not.
        given: Its keyword arguments, or the entries of its object argument, by their names in snake case.
    """

    called: str
    line: int
    name: str
    target: str
    given: dict[str, SgNode] = field(default_factory=dict)


def is_cdk_source(path: PurePosixPath, text: str) -> bool:
    """Whether a file defines services with CDK. Cheap: no parsing."""
    return path.suffix in _LANGUAGES and _IMPORTS_CDK.search(text) is not None and _MENTIONS.search(text) is not None


def read_cdk_source(path: PurePosixPath, text: str, files: Files) -> Reading:
    """The services of one file."""
    calls = list(_calls(SgRoot(text, _LANGUAGES[path.suffix]).root(), path))
    tasks = [
        TaskDefinition(
            name=call.target,
            containers=tuple(
                _container(path, each.given)
                for each in calls
                if (match := _ADD_CONTAINER.fullmatch(each.called)) and match["task"] == call.target
            ),
        )
        for call in calls
        if _TASK.fullmatch(call.called) and call.target
    ]
    services = []
    for number, call in enumerate(calls):
        if not _SERVICE.fullmatch(call.called):
            continue
        task = call.given["task_definition"].text() if "task_definition" in call.given else f"options {number}"
        options = call.given.get("task_image_options")
        inside = _arguments(options) if options is not None else call.given
        if "image" in inside:
            tasks.append(TaskDefinition(name=task, containers=(_container(path, inside),)))
        services.append(_service(path, call, calls, task, files))
    return deployed(services, tasks, files)


def _service(path: PurePosixPath, call: _Call, calls: Iterable[_Call], task: str, files: Files) -> EcsService:
    desired = call.given.get("desired_count")
    count = _count(desired, files) if desired is not None else None
    maximum = call.given.get("max_healthy_percent")
    scaled = None
    for each in calls:
        match = _AUTO_SCALE.fullmatch(each.called)
        if match is not None and call.target and match["service"] == call.target and "max_capacity" in each.given:
            most, low = each.given["max_capacity"], each.given.get("min_capacity")
            least = _count(low, files).least if low is not None else 1
            scaled = (_place(path, most), Count(least=least, most=_count(most, files).most))
    if "max_scaling_capacity" in call.given:
        most = call.given["max_scaling_capacity"]
        scaled = (_place(path, most), Count(least=1, most=_count(most, files).most))
    return EcsService(
        name=call.name or call.target or "service",
        kind="cdk",
        place=_place(path, desired) if desired is not None else Place(path=path, line=call.line),
        task=task,
        count=count,
        stated=f"desired count: {desired.text()[:60]}" if desired is not None else "",
        maximum=maximum.text() if maximum is not None else None,
        scaled=scaled,
    )


def _count(node: SgNode, files: Files) -> Count:
    """The number of an expression: of the context, of a property that another file gives, or its fallback."""
    text = _written_out(node)
    if (count := count_of(text)) is not None:
        return count
    numbers: list[int] = []
    if (context := _CONTEXT.search(text)) is not None:
        given = re.search(rf'"{re.escape(context[1])}"\s*:\s*"?([0-9]{{1,6}})', files.text(ROOT / "cdk.json") or "")
        numbers += [int(given[1])] if given is not None else []
    elif (named := re.match(r"(?:\w+\.)*(\w+)", text)) is not None:
        given_as = re.compile(rf"(?<![\w.]){re.escape(named[1])}\s*[:=]\s*([0-9]{{1,6}})\b")
        numbers += (int(number) for code in _sources(files) for number in given_as.findall(code))
    if not numbers and (fallback := _FALLBACK.search(text)) is not None:
        numbers.append(int(fallback[1]))
    return Count(least=max(numbers), most=max(numbers)) if numbers else Count(least=1, most=None)


@lru_cache(maxsize=4)
def _sources(files: Files) -> tuple[str, ...]:
    """The code of the project's CDK apps: each file that imports CDK, and those beside it."""
    texts = {path: files.fresh(path) or "" for path in files if path.suffix in _LANGUAGES}
    folders = {path.parent for path, text in texts.items() if _IMPORTS_CDK.search(text)} - {ROOT}
    return tuple(
        text for path, text in texts.items() if path.parent in folders or (_IMPORTS_CDK.search(text) is not None)
    )


def _place(path: PurePosixPath, node: SgNode) -> Place:
    return Place(path=path, line=node.range().start.line + 1)


def _calls(root: SgNode, path: PurePosixPath) -> Iterator[_Call]:
    kinds = ("call",) if path.suffix == ".py" else ("new_expression", "call_expression")
    for kind in kinds:
        for node in root.find_all(kind=kind):
            function = node.field("function") or node.field("constructor")
            arguments = node.field("arguments")
            if function is None or arguments is None:
                continue
            called = function.text()
            if not (_SERVICE.fullmatch(called) or _TASK.fullmatch(called) or called.endswith(_METHODS)):
                continue
            words = [child for child in arguments.children() if child.kind() == "string"]
            yield _Call(
                called=called,
                line=node.range().start.line + 1,
                name=words[0].text().strip("\"'`") if words else "",
                target=_target(node),
                given=_arguments(node),
            )


_CONTEXT = re.compile(r"(?:tryGetContext|try_get_context|getContext|get_context)\(\s*[\"'](\w[\w:.-]*)[\"']")
_FALLBACK = re.compile(r"(?:\?\?|\|\||\bor\b)\s*[\"']?([0-9]{1,6})\b")
_METHODS = ("add_container", "addContainer", "auto_scale_task_count", "autoScaleTaskCount")


def _target(node: SgNode) -> str:
    parent = node.parent()
    if parent is None or parent.kind() not in ("assignment", "variable_declarator", "assignment_expression"):
        return ""
    left = parent.field("left") or parent.field("name")
    return left.text() if left is not None else ""


def _arguments(node: SgNode) -> dict[str, SgNode]:
    """Keyword arguments of Python, or the entries of the object of TypeScript: of a call, or the object itself."""
    arguments = node.field("arguments") or node
    found: dict[str, SgNode] = {}
    for child in arguments.children():
        if child.kind() == "object":
            found |= _arguments(child)
        name, value = child.field("name") or child.field("key"), child.field("value")
        if child.kind() == "shorthand_property_identifier":
            found[_in_snake_case(child.text())] = child
        if child.kind() in ("keyword_argument", "pair") and name is not None and value is not None:
            found[_in_snake_case(name.text().strip("\"'`"))] = value
    return found


def _in_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: "_" + match[1].lower(), name)


def _container(path: PurePosixPath, given: dict[str, SgNode]) -> Container:
    image = given.get("image")
    words = _written_out(image) if image is not None else ""
    asset = _ASSET.search(words)
    folder = None
    if asset is not None and (parts := re.findall(r"[\"']([^\"'\n]+)[\"']", asset["path"])):
        # Relative to where `cdk` runs or to the file, and often an expression: its last string is what matters.
        folder = below(PurePosixPath(), re.sub(r"^(?:\.\.?/)+", "", parts[-1]))
    return Container(
        entrypoint=_command(path, given.get("entry_point")),
        cmd=_command(path, given.get("command")),
        image=words[:200] if words and folder is None else None,
        folder=folder,
        environment=_environment(given.get("environment")),
    )


def _environment(node: SgNode | None) -> dict[str, str]:
    """The settings that are written as texts."""
    if node is None or node.kind() not in ("object", "dictionary"):
        return {}
    pairs = ((child.field("key"), child.field("value")) for child in node.children() if child.kind() == "pair")
    return {
        key.text().strip("\"'`"): value.text().strip("\"'`") if value.kind() == "string" else "$"
        for key, value in pairs
        if key is not None and value is not None
    }


def _written_out(node: SgNode) -> str:
    """The text of an expression; that of a name is what is assigned to it in the same file."""
    text = node.text()
    if not re.fullmatch(r"(?:self\.|this\.)?\w+", text):
        return text
    assigned = re.search(
        rf"(?<![\w.]){re.escape(text)}\s*(?::[^=\n]+)?=(?!=)\s*([^\n]+)", node.get_root().root().text()
    )
    return assigned[1] if assigned is not None else text


def _command(path: PurePosixPath, node: SgNode | None) -> ImageCommand | None:
    if node is None or node.kind() not in ("list", "array"):
        return None
    words = tuple(
        child.text().strip("\"'`") for child in node.children() if child.is_named() and child.kind() != "comment"
    )
    return ImageCommand(words=words, in_shell=False, place=_place(path, node)) if words else None
