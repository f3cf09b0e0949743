"""Jobs as a module in HCL, with a `scheduled-task` each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from cronce.adopt.convert.model import CommandWork, ImageWork, Job, Reference, TaskWork
from cronce.adopt.convert.naming import identifier
from cronce.adopt.convert.writers.layout import Code, Hcl, arguments, hcl
from cronce.adopt.convert.writers.literals import comment_line, hcl_string
from cronce.adopt.convert.writers.remarks import Header, guarded, head_lines, remarks, shared_remarks
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import Policy

MODULES = "./cronce/terraform/modules"
"""Where the READMEs of the modules have them."""

_GUARD = ("cronce", "exec", "--")
_ROLES = "task_role_arn = string, execution_role_arn = optional(string)"
_DEFINITION = f"object({{ arn = string, {_ROLES} }})"
_WITH_CONTAINER = f"object({{ arn = string, container_name = string, {_ROLES} }})"


def write_terraform(jobs: Sequence[Job], header: Header) -> str:
    """The file, formatted as `terraform fmt` does.

    Raises:
        InputInvalidError: A job has the name that another one's guard gets.
    """
    shared = shared_remarks(jobs)
    lines = [*map(comment_line, head_lines(header, shared, needed=guarded(jobs)))]
    variables = _variables(jobs)
    many_clusters = "cluster_arns" in variables
    for name, (kind, about) in variables.items():
        described: dict[str, Hcl] = {"description": about, "type": Code(kind)}
        if name == "assign_public_ip":
            described["default"] = False
        lines += ["", *_block(f'variable "{name}"', {**described, "nullable": False})]
    _check_names(jobs)
    for job in jobs:
        lines += ["", *map(comment_line, remarks(job, shared))]
        if isinstance(job.work, ImageWork):
            lines += [*_task_definition(job, job.work), ""]
        lines += _block(f'module "{identifier(job.name)}"', _scheduled_task(job, many_clusters=many_clusters))
    return "\n".join(lines) + "\n"


def _check_names(jobs: Sequence[Job]) -> None:
    guards = {f"{identifier(job.name)}_guard" for job in jobs if isinstance(job.work, ImageWork)}
    for job in jobs:
        if identifier(job.name) in guards:
            raise InputInvalidError(str(job.place), job.name, "a name that is not that of another job with -guard")


def _block(head: str, values: Mapping[str, Hcl]) -> list[str]:
    """A block; `source` is in a group of its own."""
    first = {name: value for name, value in values.items() if name == "source"}
    rest = {name: value for name, value in values.items() if name != "source"}
    body = [*arguments(first, "  "), *([""] if first else []), *arguments(rest, "  ")]
    return [f"{head} {{", *body, "}"]


def _variables(jobs: Sequence[Job]) -> dict[str, tuple[str, str]]:
    """Type and description of what the source does not have."""
    tasks = [job.work for job in jobs if isinstance(job.work, TaskWork)]
    images = [(job.name, job.work) for job in jobs if isinstance(job.work, ImageWork)]
    found = {"ledger": ("any", "The ledger that admits the jobs: `module.ledger.ledger`")}
    clusters = sorted({work.cluster or "" for work in tasks})
    if len(clusters) > 1:
        found["cluster_arns"] = ("map(string)", _by_name("ARNs of the clusters", clusters))
    else:
        named = f": {clusters[0]}" if clusters and clusters[0] else ""
        found["cluster_arn"] = ("string", f"ARN of the cluster{named}")
    if definitions := sorted({work.definition for work in tasks}):
        about = _by_name("The task definitions with a revision, and their roles", definitions)
        kind = _WITH_CONTAINER if any(work.container is None for work in tasks) else _DEFINITION
        found["task_definitions"] = (f"map({kind})", about)
    if any(isinstance(job.work, CommandWork) for job in jobs):
        found["task_definition"] = (_WITH_CONTAINER, "The task definition whose image has the commands and cronce")
    if images:
        found["guard_image"] = ("string", "The image with the portable folder of cronce")
        found["roles"] = (f"object({{ {_ROLES} }})", "The roles of the tasks")
        found["log_configuration"] = ("any", "The log of the containers, in the words of ECS")
    if started := [name for name, work in images if work.command is None]:
        about = _by_name("What each image starts, as docker inspect prints it", started)
        found["entry_points"] = ("map(list(string))", about)
    if secrets := sorted({each.name for _, work in images for each in work.secrets.values()}):
        found["secret_arns"] = ("map(string)", _by_name("ARNs of the secrets of Secrets Manager", secrets))
    config = {each.name for _, work in images for each in work.config.values()}
    if config := config | {name for _, work in images for name in work.config_maps}:
        found["config"] = ("map(map(string))", _by_name("The config maps", sorted(config)))
    if any(not isinstance(job.work, TaskWork) or not job.work.subnets for job in jobs):
        found["subnet_ids"] = ("list(string)", "Subnets of the tasks")
        found["security_group_ids"] = ("list(string)", "Security groups of the tasks")
        found["assign_public_ip"] = ("bool", "True in public subnets without a NAT gateway")
    return found


def _by_name(what: str, names: Sequence[str]) -> str:
    return f"{what}, by name: {', '.join(names)}"


def _scheduled_task(job: Job, *, many_clusters: bool) -> dict[str, Hcl]:
    first, *further = job.when.expressions
    values: dict[str, Hcl] = {
        "source": f"{MODULES}/scheduled-task",
        "ledger": Code("var.ledger"),
        "job": job.name,
        "schedule": first,
    }
    if further:
        values["further_schedules"] = further
    if job.when.timezone != "UTC":
        values["timezone"] = job.when.timezone
    match job.work:
        case TaskWork() as work:
            values |= _of_task(work, many_clusters=many_clusters)
        case ImageWork() as work:
            values |= {
                "cluster_arn": Code("var.cluster_arn"),
                "task_definition_arn": Code(f"aws_ecs_task_definition.{identifier(job.name)}.arn"),
                "container_name": work.container,
                "task_role_arn": Code("var.roles.task_role_arn"),
                "execution_role_arn": Code("var.roles.execution_role_arn"),
            }
        case CommandWork(command=command):
            values |= {
                "cluster_arn": Code("var.cluster_arn"),
                "task_definition_arn": Code("var.task_definition.arn"),
                "container_name": Code("var.task_definition.container_name"),
                "command": [*_GUARD, *command],
                "task_role_arn": Code("var.task_definition.task_role_arn"),
                "execution_role_arn": Code("var.task_definition.execution_role_arn"),
            }
    if not isinstance(job.work, TaskWork) or not job.work.subnets:
        values |= {
            "subnet_ids": Code("var.subnet_ids"),
            "security_group_ids": Code("var.security_group_ids"),
            "assign_public_ip": Code("var.assign_public_ip"),
        }
    if job.environment and not isinstance(job.work, ImageWork):
        values["environment"] = dict(job.environment)
    if not job.enabled:
        values["enabled"] = False
    if job.description:
        values["description"] = job.description
    return values | _policy(job.policy)


def _of_task(work: TaskWork, *, many_clusters: bool) -> dict[str, Hcl]:
    definition = f"var.task_definitions[{hcl_string(work.definition)}]"
    cluster = f"var.cluster_arns[{hcl_string(work.cluster or '')}]" if many_clusters else "var.cluster_arn"
    values: dict[str, Hcl] = {
        "cluster_arn": Code(cluster),
        "task_definition_arn": Code(f"{definition}.arn"),
        "container_name": Code(f"{definition}.container_name") if work.container is None else work.container,
    }
    if work.command is not None:
        values["command"] = [*_GUARD, *work.command]
    values["task_role_arn"] = Code(f"{definition}.task_role_arn")
    values["execution_role_arn"] = Code(f"{definition}.execution_role_arn")
    if work.launch_type is not None and not work.capacity_providers:
        values["launch_type"] = work.launch_type
    if work.capacity_providers:
        values["capacity_provider_strategy"] = [
            Code(_inline({"capacity_provider": hcl_string(name), "base": base, "weight": weight}))
            for name, base, weight in work.capacity_providers
        ]
    if work.platform_version is not None:
        values["platform_version"] = work.platform_version
    if work.subnets:
        values["subnet_ids"] = list(work.subnets)
        values["security_group_ids"] = list(work.security_groups)
        values["assign_public_ip"] = bool(work.assign_public_ip)
    if work.propagate_tags:
        values["propagate_tags"] = True
    if work.tags:
        values["task_tags"] = dict(work.tags)
    if work.execute_command:
        values["enable_execute_command"] = True
    return values


def _inline(values: Mapping[str, object]) -> str:
    inside = ", ".join(f"{name} = {value}" for name, value in values.items() if value is not None)
    return f"{{ {inside} }}"


def _task_definition(job: Job, work: ImageWork) -> list[str]:
    name = identifier(job.name)
    started = Code(
        f"concat(var.entry_points[{hcl_string(job.name)}], {hcl([*(work.arguments or ())], '', used=-1000)})"
    )
    container: dict[str, Hcl] = {"image": work.image, "command": started if work.command is None else [*work.command]}
    container |= _given(job, work)
    container["logConfiguration"] = Code("var.log_configuration")
    guard: dict[str, Hcl] = {
        "source": f"{MODULES}/guard",
        "image": Code("var.guard_image"),
        "containers": {work.container: container},
    }
    definition: dict[str, Hcl] = {
        "family": re.sub(r"\.", "-", job.name),
        "cpu": str(work.cpu),
        "memory": str(work.memory),
        "network_mode": "awsvpc",
        "requires_compatibilities": ["FARGATE"],
        "task_role_arn": Code("var.roles.task_role_arn"),
        "execution_role_arn": Code("var.roles.execution_role_arn"),
        "container_definitions": Code(f"module.{name}_guard.container_definitions"),
        "skip_destroy": True,
    }
    resource = _block(f'resource "aws_ecs_task_definition" "{name}"', definition)
    volume = ["", "  volume {", f"    name = module.{name}_guard.volume_name", "  }", "}"]
    return [*_block(f'module "{name}_guard"', guard), "", *resource[:-1], *volume]


def _given(job: Job, work: ImageWork) -> dict[str, Hcl]:
    """The container's variables and secrets, as lists of objects."""
    values: dict[str, Hcl] = {}
    maps = [
        f"[for name, value in var.config[{hcl_string(each)}] : {{ name = name, value = value }}]"
        for each in work.config_maps
    ]
    pairs = [(name, hcl_string(value)) for name, value in job.environment.items()]
    pairs += [(name, f"var.config[{hcl_string(at.name)}][{hcl_string(at.key)}]") for name, at in work.config.items()]
    listed = [Code(_inline({"name": hcl_string(name), "value": value})) for name, value in pairs]
    if maps:
        last = [hcl(listed, "", used=-1000)] if listed else []
        values["environment"] = Code(f"concat({', '.join([*maps, *last])})")
    elif listed:
        values["environment"] = listed
    if work.secrets:
        values["secrets"] = [
            Code(_inline({"name": hcl_string(name), "valueFrom": _secret(at)})) for name, at in work.secrets.items()
        ]
    return values


def _secret(at: Reference) -> str:
    arn = f"var.secret_arns[{hcl_string(at.name)}]"
    return f'"${{{arn}}}:{hcl_string(at.key)[1:-1]}::"' if at.key else arn


def _policy(policy: Policy) -> dict[str, Hcl]:
    default = Policy()
    values: dict[str, Hcl] = {}
    if policy.concurrency_policy is not default.concurrency_policy:
        values["concurrency_policy"] = policy.concurrency_policy.value
    for name in ("starting_deadline", "active_deadline"):
        deadline: timedelta | None = getattr(policy, name)
        if deadline is not None:
            values[name] = format_duration(deadline)
    if policy.backoff_limit:
        values["backoff_limit"] = policy.backoff_limit
    if policy.suspend:
        values["suspend"] = True
    if policy.catch_up is not default.catch_up:
        values["catch_up"] = policy.catch_up.value
    return values
