"""What can never work where `cronce` is the entry point of a container in a Terraform plan. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_WITHOUT_ORDER = ("1.0.0", "1.1.0", "1.2.0")
"""Fargate platform versions without `dependsOn` (ECS API Reference, ContainerDependency)."""


def containers_of(values: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The containers of a planned task definition by name; none if they are known only after the apply."""
    text = values.get("container_definitions")
    return {str(each.get("name")): each for each in (json.loads(text) if isinstance(text, str) else ())}


def started_container(target: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The container that a schedule's override is for; empty if the plan does not know it."""
    name = json.loads(target["input"])["containerOverrides"][0].get("name")
    return containers_of(tasks.get(str(_parameters(target).get("task_definition_arn")), {})).get(str(name), {})


def guard_errors_of_task(values: Mapping[str, Any]) -> Iterator[str]:
    """Say what is wrong about the guards of a planned task definition."""
    platform = values.get("runtime_platform") or [{}]
    family = platform[0].get("operating_system_family") or "LINUX"
    for container in containers_of(values).values():
        if _begins_with_cronce(container.get("entryPoint")):
            if not family.startswith("LINUX"):
                yield f"operating_system_family: {family} is not usable; allowed: LINUX: cronce needs it"
            yield from _errors_of_command(container, container.get("command"))


def guard_errors_of_job(target: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Say what is wrong about a schedule whose task definition, if the plan knows it, has a guard.

    Args:
        target: The schedule's target, whose input is a task override.
        tasks: The values of the plan's task definitions by ARN.
    """
    override = json.loads(target["input"])["containerOverrides"][0]
    container = started_container(target, tasks)
    version = _parameters(target).get("platform_version")
    if container.get("dependsOn") and version in _WITHOUT_ORDER:
        yield f"platform_version: {version} is not usable; allowed: 1.3.0 or later: the container starts after another"
    if not _begins_with_cronce(container.get("entryPoint")):
        return
    if not (override.get("command") or container.get("command")):
        yield "command: there is none; allowed: the full command: the image's own does not apply under the guard"
    yield from _errors_of_command(container, override.get("command"))


def _errors_of_command(container: Mapping[str, Any], command: object) -> Iterator[str]:
    if _begins_with_cronce(command):
        allowed = f"the work's own command: the entry point is {json.dumps(container['entryPoint'])} already"
        yield f"command: {json.dumps(command)} is not usable; allowed: {allowed}"


def _parameters(target: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = (target.get("ecs_parameters") or [{}])[0]
    return parameters


def _begins_with_cronce(words: object) -> bool:
    return isinstance(words, list) and bool(words) and str(words[0]).rpartition("/")[2] == "cronce"
