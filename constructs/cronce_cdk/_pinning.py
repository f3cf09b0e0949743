"""Checks in the templates as they are deployed that a clock is still the only one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import jsii
from aws_cdk import aws_ecs as ecs
from aws_cdk import cx_api
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce_cdk._checks import refusal

RELEASE_WITHIN = timedelta(seconds=5)
"""The longest time to release the lease, also with a slow store."""

_SCALING_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"

_NESTED_STACK = "AWS::CloudFormation::Stack"

_SERVICE_FACTS: Mapping[str, object] = {
    "DesiredCount": 1,
    "DeploymentConfiguration.MinimumHealthyPercent": 0,
    "DeploymentConfiguration.MaximumPercent": 100,
    "DeploymentConfiguration.DeploymentCircuitBreaker.Enable": True,
    "DeploymentConfiguration.Strategy": ("ROLLING", None),
    "DeploymentController.Type": ("ECS", None),
    "AvailabilityZoneRebalancing": "DISABLED",
    "SchedulingStrategy": ("REPLICA", None),
}
"""Path of a property -> its value in the written template."""


class Pinning:
    """What must still hold at the end of synth. Overrides of the L1 show only in the template."""

    def __init__(
        self, clock: Construct, service: ecs.FargateService, container: ecs.ContainerDefinition, command: str
    ) -> None:
        self._clock = clock
        self._command = command
        self._service = service
        self._container = container

    def undone(self) -> list[str]:
        """Return the errors: what undid the pinning."""
        service, task = self._service.node.default_child, self._container.task_definition.node.default_child
        assert isinstance(service, ecs.CfnService)  # noqa: S101  # an L2 creates one
        assert isinstance(task, ecs.CfnTaskDefinition)  # noqa: S101
        own = cdk.Stack.of(self._clock)
        service_id, task_id = (own.resolve(each.logical_id) for each in (service, task))
        problems: list[str] = []
        service_name: object = None
        rendered = [*_templates(self._clock)]
        for stack, template in rendered:
            resources = template.get("Resources", {})
            if stack.node.path == own.node.path:
                made, task_made = resources.get(service_id) or {}, resources.get(task_id) or {}
                service_name = _at(made, "Properties.ServiceName")
                problems += self._changed(service.node.path, made)
                problems += self._spot_only(service.node.path, made)
                problems += self._container_changed(task.node.path, task_made)
        aliases = _aliases(service_id, [template for _, template in rendered])
        for stack, template in rendered:
            problems += [
                self._refused(
                    _path_of(stack, target), "scaling", "a scaling target", "no scaling target: there is one clock"
                )
                for target, resource in template.get("Resources", {}).items()
                if resource.get("Type") == _SCALING_TARGET and _scales(resource, aliases, service_name)
            ]
        return problems

    def _changed(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        for name, wanted in _SERVICE_FACTS.items():
            found = _at(resource, f"Properties.{name}")
            choices = wanted if isinstance(wanted, tuple) else (wanted,)
            if found not in choices:
                yield self._refused(path, name, found, repr(choices[0]))

    def _spot_only(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        strategy = _at(resource, "Properties.CapacityProviderStrategy") or []
        names_found = [item.get("CapacityProvider") for item in strategy if _counts(item)]
        if names_found and all(name == "FARGATE_SPOT" for name in names_found):
            yield self._refused(path, "CapacityProviderStrategy", names_found, "FARGATE with a weight or base")

    def _container_changed(self, path: str, resource: Mapping[str, Any]) -> Iterator[str]:
        containers = _at(resource, "Properties.ContainerDefinitions") or []
        own: Mapping[str, Any] = next(
            (each for each in containers if each.get("Name") == self._container.container_name), {}
        )
        words = [str(word) for name in ("EntryPoint", "Command") for word in _at(own, name) or ()]
        if len(words) < 2 or (words[0].rpartition("/")[2], words[1]) != ("cronce", self._command):
            yield self._refused(path, "Command", words, f"cronce {self._command} ..., which holds the lease")
        init = _at(own, "LinuxParameters.InitProcessEnabled")
        if init is not True:
            yield self._refused(path, "LinuxParameters.InitProcessEnabled", init, "True")
        stop = own.get("StopTimeout")
        if not isinstance(stop, int | float) or stop <= RELEASE_WITHIN.total_seconds():
            yield self._refused(path, "StopTimeout", stop, f"more than {format_duration(RELEASE_WITHIN)}")

    def _refused(self, path: str, argument: str, value: object, allowed: str) -> str:
        """Return one line of the failed synth, with the clock and the construct that changed it."""
        return str(refusal(self._clock, f"{argument} at {path}", value, allowed))


def _counts(item: Mapping[str, Any]) -> bool:
    return bool(item.get("Weight") or item.get("Base"))


def _at(resource: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401  # JSON
    """Return the value at `a.b.c`, or None."""
    value: Any = resource
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _path_of(stack: cdk.Stack, logical_id: str) -> str:
    """Return the path of the construct with this logical ID, or the ID for a resource of an included template."""
    made = (each for each in stack.node.find_all() if isinstance(each, cdk.CfnElement))
    return next((each.node.path for each in made if stack.resolve(each.logical_id) == logical_id), logical_id)


def _aliases(service_id: str, templates: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names that stand for the service in the app's templates.

    These are its logical ID, the outputs and exports that have it, and the parameters of nested stacks that get it.
    """
    found: set[str] = set()
    more = {service_id}
    while more - found:
        found |= more
        for template in templates:
            for name, output in template.get("Outputs", {}).items():
                if _mentions(output.get("Value"), found):
                    exported = _at(output, "Export.Name")
                    more |= {f"Outputs.{name}", *([exported] if isinstance(exported, str) else [])}
            for resource in template.get("Resources", {}).values():
                parameters = _at(resource, "Properties.Parameters")
                if resource.get("Type") == _NESTED_STACK and isinstance(parameters, Mapping):
                    more |= {name for name, value in parameters.items() if _mentions(value, found)}
    return found


def _mentions(value: object, names: set[str]) -> bool:
    text = json.dumps(value)
    return any(name in text for name in names)


def _scales(target: Mapping[str, Any], aliases: set[str], service_name: object) -> bool:
    """Return whether its ResourceId, `service/CLUSTER/SERVICE`, is the service's, by reference, import or name."""
    resource_id = _at(target, "Properties.ResourceId")
    if isinstance(resource_id, str):
        return isinstance(service_name, str) and resource_id.endswith(f"/{service_name}")
    return _mentions(resource_id, aliases)


@jsii.implements(cdk.ISynthesisSession)
class _Session:
    """A folder for a stack's template."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._assembly = cx_api.CloudAssemblyBuilder(folder)

    @property
    def assembly(self) -> cx_api.CloudAssemblyBuilder:
        """The builder of the folder's assembly."""
        return self._assembly

    @property
    def outdir(self) -> str:
        """The folder."""
        return self._folder

    @property
    def validate_on_synth(self) -> bool:
        """False: this runs within a validation."""
        return False


def _templates(scope: Construct) -> Iterator[tuple[cdk.Stack, Mapping[str, Any]]]:
    """Yield each stack of the app with its template, rendered from the finished tree.

    See ADR 0011 for why neither `Stage.synth` nor the stack's own synthesizer renders it.
    """
    stage = cdk.Stage.of(scope)
    assert stage is not None  # noqa: S101  # every construct of a stack has one
    stacks = [each for each in stage.node.find_all() if isinstance(each, cdk.Stack)]
    with tempfile.TemporaryDirectory(prefix="cronce-") as folder:
        session = _Session(folder)
        for stack in stacks:
            renderer = cdk.NestedStackSynthesizer(cdk.BootstraplessSynthesizer())  # writes a template and nothing else
            renderer.bind(stack)
            renderer.synthesize(session)  # type: ignore[arg-type]  # jsii reads the properties, and only that
            yield stack, json.loads((Path(folder) / stack.template_file).read_text())
