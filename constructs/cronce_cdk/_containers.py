"""Which container of a task definition does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cronce.vocabulary.environment import DATE_IN, FORCE, FORCE_ATTEMPT, LAUNCH, PERIOD
from cronce_cdk._checks import is_token, refusal
from cronce_cdk._jsii_cache import cached
from cronce_cdk._limits import STOP_TIMEOUT

GUARD = "cronce"
"""The name of the container that brings the portable folder, and of its volume."""

HOW_TO_FIND = (
    "The image's own words do not apply under the guard; `docker inspect --format"
    " '{{json .Config.Entrypoint}} {{json .Config.Cmd}}' IMAGE` prints them"
)


_OF_ONE_RUN = frozenset({PERIOD, DATE_IN, FORCE, FORCE_ATTEMPT, LAUNCH})
"""Variables that belong to one start. In a task definition each tick would be the same run, or be forced."""

_WITHOUT_ORDER = (
    ecs.FargatePlatformVersion.VERSION1_0,
    ecs.FargatePlatformVersion.VERSION1_1,
    ecs.FargatePlatformVersion.VERSION1_2,
)
"""Fargate platform versions without `dependsOn` (ECS API Reference, ContainerDependency)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContainer:
    """The container that gets a job's command and variables.

    Attributes:
        log_driver: The name of its log driver; empty if it has none, None if it is not known.
        ends_the_task: False if the task goes on with an essential sidecar after this container exits.
        guard: Its entry point if that is the program `cronce`; else empty.
        command: Its command; empty for the image's.
        waits: True if it starts after another container.
        fixed: The variables of one run that it sets for all runs.
    """

    name: str
    log_driver: str | None = None
    ends_the_task: bool = True
    guard: Sequence[str] = ()
    command: Sequence[str] = ()
    waits: bool = False
    fixed: Sequence[str] = ()


def container_of(
    scope: Construct, task_definition: ecs.ITaskDefinition, name: object, *, on_fargate: bool
) -> JobContainer:
    """Return the container that does the work.

    Raises:
        ConstructConfigError: There is no such container, or several could be meant. EventBridge Scheduler would
            report a missing one only at 06:00, as "Unable to convert target input".
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise refusal(scope, "container_name", name, "the name of a container")
    if not isinstance(task_definition, ecs.TaskDefinition):
        if name is None:
            allowed = "the container's name, because an imported task definition does not list its containers"
            raise refusal(scope, "container_name", name, allowed)
        return JobContainer(name=name)
    if name is not None and is_token(name):
        return JobContainer(name=name)
    containers = [
        cached(task_definition, (_reference(each), "facts"), partial(_facts_of, task_definition, each))
        for each in task_definition.node.children
        if isinstance(each, ecs.ContainerDefinition)
    ]
    workers = {each.name: each for each in containers if not each.routes_logs and not each.brings_the_guard}
    wanted = _only(task_definition, containers, workers) if name is None else name
    chosen = workers.get(wanted) if wanted else None
    if chosen is None:
        allowed = "a container that was added before" if len(workers) < 2 or name else "one of several containers"
        raise refusal(scope, "container_name", name, f"{allowed}: {', '.join(workers) or 'none so far'}")
    if on_fargate and isinstance(chosen.stop, int | float) and chosen.stop > STOP_TIMEOUT:
        value = f"stop_timeout {int(chosen.stop)}s of {chosen.name}"
        raise refusal(scope, "task_definition", value, f"at most {STOP_TIMEOUT}s on Fargate")
    return JobContainer(
        name=chosen.name,
        log_driver=chosen.log_driver,
        ends_the_task=chosen.essential or not any(each.essential for each in containers),
        guard=chosen.guard,
        command=chosen.command,
        waits=chosen.waits,
        fixed=chosen.fixed,
    )


def check_guarded(
    scope: Construct, container: JobContainer, command: object, platform_version: ecs.FargatePlatformVersion | None
) -> None:
    """Check that the container runs each tick as its own run, and once under a guard.

    Raises:
        ConstructConfigError: No command is stated, it has a guard of its own, the platform version is too old, or its
            container fixes the run.
    """
    if container.fixed:
        value = f"{', '.join(container.fixed)} of {container.name}"
        raise refusal(scope, "task_definition", value, "a container without variables that name one run")
    if container.waits and platform_version in _WITHOUT_ORDER:
        raise refusal(scope, "platform_version", platform_version, "1.3.0 or later: the container starts after another")
    if not container.guard:
        return
    words = command or container.command
    if not words:
        raise refusal(scope, "command", command, f"the full command. {HOW_TO_FIND}")
    if isinstance(words, Sequence) and str(words[0]).rpartition("/")[2] == "cronce":
        raise refusal(
            scope, "command", words, f"the work's own command: the entry point is {[*container.guard]} already"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What does not change about a container once it was added."""

    name: str
    routes_logs: bool
    essential: bool
    log_driver: str
    stop: object
    guard: Sequence[str]
    command: Sequence[str]
    waits: bool
    fixed: Sequence[str]

    @property
    def brings_the_guard(self) -> bool:
        return self.name == GUARD and not self.essential


def _reference(container: ecs.ContainerDefinition) -> str:
    """Return what stays the same about a container: jsii returns a new Python object each time."""
    return str(container.__jsii_ref__.ref)  # type: ignore[attr-defined]


def _facts_of(task_definition: ecs.TaskDefinition, container: ecs.ContainerDefinition) -> _Facts:
    log = container.log_driver_config
    rendered = container.render_container_definition(task_definition)
    entry_point = [*(rendered.entry_point or ())]
    return _Facts(
        name=container.container_name,
        routes_logs=isinstance(container, ecs.FirelensLogRouter),
        essential=container.essential,
        log_driver=log.log_driver if log else "",
        stop=rendered.stop_timeout,
        guard=entry_point if entry_point and entry_point[0].rpartition("/")[2] == "cronce" else (),
        command=[*(rendered.command or ())],
        waits=bool(rendered.depends_on),
        fixed=sorted(
            _OF_ONE_RUN & {_name_of(each) for each in (*_rendered(rendered.environment), *_rendered(rendered.secrets))}
        ),
    )


def _rendered(variables: object) -> Sequence[object]:
    return variables if isinstance(variables, Sequence) else ()


def _name_of(variable: object) -> object:
    return variable.get("name") if isinstance(variable, Mapping) else getattr(variable, "name", None)


def _only(task_definition: ecs.TaskDefinition, containers: list[_Facts], workers: dict[str, _Facts]) -> str | None:
    """Return the one container that can be meant: the only one, or a default container that a person chose."""
    if len(workers) == 1:
        return next(iter(workers))
    default = task_definition.default_container
    of_cdk = next((each.name for each in containers if each.essential), None)
    return default.container_name if default and default.container_name != of_cdk else None
