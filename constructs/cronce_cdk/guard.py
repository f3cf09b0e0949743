"""The guard for images without Python: a folder that a second container puts into the task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from constructs import Construct

import cronce.vocabulary
from cronce_cdk._checks import Tree, having, is_text, is_token, kinds, refusal, texts
from cronce_cdk._containers import GUARD, HOW_TO_FIND
from cronce_cdk._jsii_cache import stack_of

_PACKAGE = PurePosixPath(cronce.vocabulary.__file__).parents[1]
_IN_IMAGE = "/cronce"
"""The folder's path in its image, and the VOLUME there: ECS copies the content of that path into an empty volume."""

_MEMORY = 32
"""MiB of the container that fills the volume, where each container needs a limit. It runs `cronce --version`."""


class Guard(Construct):
    """`cronce exec` before the command of containers whose images have no Python.

    A container that is not essential fills an empty volume with the portable folder and ends; the job's container
    starts after that and mounts the volume read-only. The job's image stays as it is. Several jobs of a task
    definition share one Guard.

    Example:
        ```python
        task_definition = ecs.FargateTaskDefinition(stack, "Rails")
        Guard(task_definition).add_container(
            "digest",
            image=ecs.ContainerImage.from_registry("registry.example.com/shop:1"),
            command=["bundle", "exec", "rails", "digest:send"],
            logging=ecs.LogDrivers.aws_logs(stream_prefix="digest"),
        )
        ScheduledTask(
            stack,
            "Digest",
            ledger=ledger,
            schedule="0 6 * * *",
            cluster=cluster,
            task_definition=task_definition,
        )
        ```

    Attributes:
        container: The container that fills the volume.
        program: The path of the program `cronce` in the job's container.

    Args:
        task_definition: A task definition for Linux, made in this app.
        image: An image that contains the portable folder in a VOLUME `/cronce`, for the architecture of the task
            definition. By default, `cdk deploy` builds it from the installed package, which needs Docker.
        path: Where the folder is mounted in the job's container.
        logging: The log of the container that fills the volume; by default none.

    Raises:
        ConstructConfigError: An argument can never work.
    """

    def __init__(
        self,
        task_definition: ecs.TaskDefinition,
        construct_id: str = "Guard",
        *,
        image: ecs.ContainerImage | None = None,
        path: str = _IN_IMAGE,
        logging: ecs.LogDriver | None = None,
    ) -> None:
        if not isinstance(task_definition, ecs.TaskDefinition):
            raise _refused(task_definition, "a task definition of this app: an imported one cannot be changed")
        if task_definition.node.try_find_child(GUARD) is not None:
            raise refusal(task_definition, "Guard", GUARD, f"one Guard, and no other container named {GUARD}")
        architecture = _architecture(task_definition)
        super().__init__(task_definition, construct_id)
        kinds(self, ecs.ContainerImage, {"image": image})
        kinds(self, ecs.LogDriver, {"logging": logging})
        self._path = _checked_path(self, path)
        self._task_definition = task_definition
        self.program = f"{self._path}/cronce"
        task_definition.add_volume(name=GUARD)
        limited = task_definition.is_ec2_compatible or task_definition.is_external_compatible
        self.container = task_definition.add_container(
            GUARD,
            image=image or _built_image(architecture),
            essential=False,
            logging=logging,
            memory_limit_mib=_MEMORY if limited else None,
        )
        self.container.add_mount_points(ecs.MountPoint(source_volume=GUARD, container_path=_IN_IMAGE, read_only=False))

    def add_container(
        self,
        construct_id: str,
        *,
        image: ecs.ContainerImage,
        command: Sequence[str],
        options: Sequence[str] = (),
        pin: bool = False,
        **more: Any,  # noqa: ANN401  # the arguments of another function
    ) -> ecs.ContainerDefinition:
        """Add a container that runs the command under the guard.

        Args:
            construct_id: The container's name.
            image: Its image, unchanged.
            command: The full command: the image's ENTRYPOINT, if it has one, and then its CMD. ECS ignores both
                where the entry point is the guard.
            options: Options of `cronce exec` (or `cronce pin`), such as `["--grace", "60s"]`.
            pin: True for a clock of your own, of which one process runs at a time (`cronce pin`).
            more: All other arguments of `TaskDefinition.add_container`.

        Raises:
            ConstructConfigError: An argument can never work.
        """
        if "entry_point" in more:
            allowed = "no entry point, because it is the guard; put the image's before the command"
            raise refusal(self, "entry_point", more["entry_point"], allowed)
        words = texts(self, "command", command) if command else None
        if words is None:
            raise refusal(self, "command", command, f"the full command. {HOW_TO_FIND}")
        own = texts(self, "options", options) if options else None
        if not is_text(construct_id) or not construct_id or self._task_definition.node.try_find_child(construct_id):
            raise refusal(self, "construct_id", construct_id, "a name that no other container here has")
        entry_point = [self.program, "pin" if pin else "exec", *(own or ()), "--"]
        container = self._task_definition.add_container(
            construct_id, image=image, entry_point=entry_point, command=words, **more
        )
        self.attach(container)
        return container

    def attach(self, container: ecs.ContainerDefinition) -> None:
        """Mount the folder into a container that was added otherwise, and start that container after it is filled.

        The container's entry point must be `[guard.program, "exec", "--"]`.

        Raises:
            ConstructConfigError: It has another entry point, or is not of this task definition.
        """
        ours = self._task_definition
        having(self, "container", container, "task_definition", "a container")
        if container.task_definition.node.path != ours.node.path:
            raise refusal(self, "container", container.node.path, "a container of the Guard's own task definition")
        entry_point = container.render_container_definition(ours).entry_point or ["the image's entry point"]
        if entry_point[0] != self.program:
            raise refusal(self, "container", [*entry_point], f"the entry point [{self.program!r}, 'exec', '--']")
        container.add_mount_points(ecs.MountPoint(source_volume=GUARD, container_path=self._path, read_only=True))
        container.add_container_dependencies(
            ecs.ContainerDependency(container=self.container, condition=ecs.ContainerDependencyCondition.SUCCESS)
        )


def _refused(task_definition: object, allowed: str) -> Exception:
    if hasattr(task_definition, "node"):
        return refusal(task_definition, "task_definition", task_definition, allowed)
    raise TypeError(f"Guard(task_definition): {allowed}")


def _architecture(task_definition: ecs.TaskDefinition) -> str | None:
    """Return X86_64, ARM64, or None if the task definition does not say.

    Raises:
        ConstructConfigError: It is for Windows.
    """
    resource = task_definition.node.default_child
    assert isinstance(resource, ecs.CfnTaskDefinition)  # noqa: S101  # an L2 creates one
    platform = stack_of(task_definition).resolve(resource.runtime_platform) or {}
    family = platform.get("operatingSystemFamily")
    if isinstance(family, str) and not is_token(family) and not family.startswith("LINUX"):
        raise refusal(task_definition, "operating_system_family", family, "LINUX: cronce needs it")
    return platform.get("cpuArchitecture")


def _built_image(architecture: str | None) -> ecs.ContainerImage:
    platform = ecr_assets.Platform.LINUX_ARM64 if architecture == "ARM64" else ecr_assets.Platform.LINUX_AMD64
    return ecs.ContainerImage.from_asset(
        str(_PACKAGE),
        file="portable/Dockerfile",
        platform=platform,
        exclude=["**/__pycache__"],
        ignore_mode=cdk.IgnoreMode.DOCKER,
    )


def _checked_path(scope: Tree, path: object) -> str:
    ok = is_text(path) and path.startswith("/") and len(path) > 1 and str(PurePosixPath(path)) == path
    if not ok or ".." in str(path).split("/"):
        raise refusal(scope, "path", path, "an absolute path below /, such as /cronce")
    return str(path)
