"""The CPU and memory of a job's task, where they differ from its task definition."""

from __future__ import annotations

from dataclasses import dataclass, fields

from aws_cdk import aws_ecs as ecs
from constructs import Construct

from cronce_cdk._checks import is_token, is_whole, refusal
from cronce_cdk._limits import CONTAINER_MEMORY, FARGATE_MEMORY, TASK_CPU


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSize:
    """The CPU and memory of a job's task, instead of those of its task definition: RunTask overrides them.

    Retries, catch-ups and reruns have the same size, because they start the task as the job's schedule does.

    Example:
        ```python
        ScheduledTask(
            stack,
            "Yearly",
            ledger=ledger,
            schedule="0 6 1 1 *",
            cluster=cluster,
            task_definition=task_definition,
            size=TaskSize(cpu=1024, memory_mib=4096),
        )
        ```

    Attributes:
        cpu: CPU units of the task; 1024 are one vCPU. On Fargate one of its sizes.
        memory_mib: MiB of the task. On Fargate a size that it offers with the CPU units.
        container_cpu: CPU units of the job's container.
        container_memory_mib: The hard limit of the job's container.
        container_memory_reservation_mib: The soft limit of the job's container.
    """

    cpu: int | None = None
    memory_mib: int | None = None
    container_cpu: int | None = None
    container_memory_mib: int | None = None
    container_memory_reservation_mib: int | None = None

    @property
    def of_task(self) -> dict[str, object]:
        """The part of a TaskOverride about the task. RunTask takes both values as text."""
        given = {"cpu": self.cpu, "memory": self.memory_mib}
        return {name: str(value) for name, value in given.items() if value is not None}

    @property
    def of_container(self) -> dict[str, object]:
        """The part of a ContainerOverride."""
        given = {
            "cpu": self.container_cpu,
            "memory": self.container_memory_mib,
            "memoryReservation": self.container_memory_reservation_mib,
        }
        return {name: value for name, value in given.items() if value is not None}


def checked_size(scope: Construct, size: object, task_definition: ecs.ITaskDefinition, *, on_fargate: bool) -> TaskSize:
    """Return the size; for None an empty one, which keeps the task definition's.

    Raises:
        ConstructConfigError: ECS would refuse it, or the container would be larger than the task.
    """
    if size is None:
        return TaskSize()
    if not isinstance(size, TaskSize):
        raise refusal(scope, "size", size, "a cronce_cdk.TaskSize")
    for field in fields(size):
        value = getattr(size, field.name)
        if value is not None and (not is_whole(value) or value <= 0):
            raise refusal(scope, f"size.{field.name}", value, "a whole number over 0")
    cpu, memory = size.cpu, size.memory_mib
    if on_fargate:
        cpu, memory = _on_fargate(scope, size, task_definition)
    elif cpu is not None and not TASK_CPU[0] <= cpu <= TASK_CPU[1]:
        raise refusal(scope, "size.cpu", cpu, f"{TASK_CPU[0]} to {TASK_CPU[1]} CPU units")
    for name, value, most in (
        ("container_cpu", size.container_cpu, cpu),
        ("container_memory_mib", size.container_memory_mib, memory),
        ("container_memory_reservation_mib", size.container_memory_reservation_mib, memory),
    ):
        if value is not None and most is not None and value > most:
            raise refusal(scope, f"size.{name}", value, f"at most {most}, which the task has")
        if value is not None and "memory" in name and value < CONTAINER_MEMORY:
            raise refusal(scope, f"size.{name}", value, f"at least {CONTAINER_MEMORY} MiB")
    hard, soft = size.container_memory_mib, size.container_memory_reservation_mib
    if hard is not None and soft is not None and soft > hard:
        raise refusal(scope, "size.container_memory_reservation_mib", soft, f"at most the hard limit, {hard}")
    return size


def _on_fargate(
    scope: Construct, size: TaskSize, task_definition: ecs.ITaskDefinition
) -> tuple[int | None, int | None]:
    """Return CPU units and memory of the task as far as they are known, if Fargate has such a size."""
    if size.cpu is not None and size.cpu not in FARGATE_MEMORY:
        raise refusal(scope, "size.cpu", size.cpu, ", ".join(map(str, FARGATE_MEMORY)))
    cpu, memory = size.cpu, size.memory_mib
    if isinstance(task_definition, ecs.FargateTaskDefinition) and (cpu is None or memory is None):
        own_cpu, own_memory = (_known(each) for each in (task_definition.cpu, task_definition.memory_mib))
        cpu, memory = cpu or own_cpu, memory or own_memory
    if cpu is None or memory is None or (size.cpu is None and size.memory_mib is None):
        return cpu, memory
    if cpu in FARGATE_MEMORY:
        check_fargate_memory(scope, "size.memory_mib", cpu, memory)
    return cpu, memory


def check_fargate_memory(scope: Construct, argument: str, cpu: int, memory: int) -> None:
    """Refuse memory that a task on Fargate cannot have with these CPU units, of which Fargate has tasks."""
    sizes = FARGATE_MEMORY[cpu]
    if memory in sizes:
        return
    if isinstance(sizes, range):
        allowed = f"{sizes[0]} to {sizes[-1]} in steps of {sizes.step}"
    else:
        allowed = f"{', '.join(map(str, sizes[:-1]))} or {sizes[-1]}"
    raise refusal(scope, argument, memory, f"{allowed} with {cpu} CPU units")


def _known(value: object) -> int | None:
    return None if value is None or is_token(value) else int(float(str(value)))
