"""Jobs as a construct in Python, with a `ScheduledTask` each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from cronce.adopt.convert.model import CommandWork, ImageWork, Job, Reference, TaskWork
from cronce.adopt.convert.naming import identifier
from cronce.adopt.convert.writers.cdk_needs import Needs
from cronce.adopt.convert.writers.layout import STEP, Call, Code, Python, Subscript, Unpacked, python
from cronce.adopt.convert.writers.literals import comment_line, docstring_words, python_text
from cronce.adopt.convert.writers.remarks import Header, guarded, head_lines, remarks, shared_remarks, wrapped
from cronce.vocabulary.policy import Policy

_BODY = STEP * 2
_GUARD = ("cronce", "exec", "--")
_UNITS = (("days", timedelta(days=1)), ("hours", timedelta(hours=1)), ("minutes", timedelta(minutes=1)))
_FROM = {
    "aws_ec2 as ec2": "ec2.",
    "aws_ecs as ecs": "ecs.",
    "aws_secretsmanager as secretsmanager": "secretsmanager.",
}


def write_cdk(jobs: Sequence[Job], header: Header) -> str:
    """The module, formatted as ruff and black do."""
    needs = Needs(jobs)
    shared = shared_remarks(jobs)
    statements = [*_places(needs)]
    for job in jobs:
        statements += ["", *(comment_line(f"{_BODY}# {line}", "") for line in remarks(job, shared)), *_job(job, needs)]
    signature = [
        f"        {name}: {kind}{f' = {default}' if default else ''},\n" for name, kind, default, _ in needs.arguments
    ]
    body = (
        "    def __init__(\n        self,\n        scope: Construct,\n        construct_id: str,\n        *,\n"
        f"{''.join(signature)}"
        "    ) -> None:\n        super().__init__(scope, construct_id)\n" + "\n".join(statements) + "\n"
    )
    described = [
        "        scope: The construct that owns the jobs.",
        "        construct_id: Its ID in that scope.",
    ]
    for name, _, _, about in needs.arguments:
        described += wrapped(docstring_words(about), first=f"        {name}: ", indent=" " * 12, width=88)
    about = "The job with" if len(jobs) == 1 else f"The {len(jobs)} jobs, each with"
    return (
        f"{_docstring(header, jobs, shared)}\n{_imports(body)}\n\n\n"
        f"class ImportedJobs(Construct):\n"
        f'    """{about} its schedule and policy.\n\n'
        "    Args:\n" + "\n".join(described) + f'\n    """\n\n{body}'
    )


def _docstring(header: Header, jobs: Sequence[Job], shared: Sequence[str]) -> str:
    lines = map(docstring_words, head_lines(header, shared, needed=guarded(jobs)))
    return '"""' + "\n".join(lines) + '\n"""\n'


def _imports(body: str) -> str:
    standard = [each for each in ("Mapping", "Sequence") if re.search(rf"\b{each}\[", body)]
    lines = ["from __future__ import annotations", ""]
    if standard:
        lines.append(f"from collections.abc import {', '.join(standard)}")
    if "timedelta(" in body:
        lines.append("from datetime import timedelta")
    if lines[-1]:
        lines.append("")
    lines += [
        f"from aws_cdk import {module}" for module, used in _FROM.items() if re.search(rf"\b{re.escape(used)}", body)
    ]
    lines.append("from constructs import Construct")
    words = [each for each in ("CatchUp", "ConcurrencyPolicy", "Policy") if re.search(rf"\b{each}[.(]", body)]
    if words:
        lines.append(f"from cronce import {', '.join(words)}")
    constructs = [each for each in ("Guard", "RunLedgerBase", "ScheduledTask") if re.search(rf"\b{each}\b", body)]
    lines.append(f"from cronce_cdk import {', '.join(constructs)}")
    return "\n".join(lines)


def _places(needs: Needs) -> list[str]:
    """Subnets and security groups by their IDs."""
    lines: list[str] = []
    for variable, method, ids in (
        ("subnets", "ec2.Subnet.from_subnet_id", needs.subnets),
        ("security_groups", "ec2.SecurityGroup.from_security_group_id", needs.groups),
    ):
        if ids:
            listed = python(list(ids), _BODY + STEP, used=12)
            lines += [f"{_BODY}{variable} = {{", f"{_BODY}    each: {method}(self, each, each)"]
            lines += [f"{_BODY}    for each in {listed}", f"{_BODY}}}"]
    return lines


def _job(job: Job, needs: Needs) -> list[str]:
    keywords: dict[str, Python] = {"ledger": Code("ledger")}
    first, *further = job.when.expressions
    keywords["schedule"] = [first, *further] if further else first
    if job.when.timezone != "UTC":
        keywords["timezone"] = job.when.timezone
    lines: list[str] = []
    match job.work:
        case TaskWork() as work:
            keywords |= _of_task(work, needs)
        case ImageWork() as work:
            lines = _task_definition(job, work)
            keywords |= {"cluster": Code("cluster"), "task_definition": Code(f"{identifier(job.name)}_task")}
        case CommandWork(command=command):
            keywords |= {
                "cluster": Code("cluster"),
                "task_definition": Code("task_definition"),
                "command": [*_GUARD, *command],
            }
    if job.environment and not isinstance(job.work, ImageWork):
        keywords["environment"] = dict(job.environment)
    if not job.enabled:
        keywords["enabled"] = False
    if job.description:
        keywords["description"] = job.description
    if not isinstance(job.work, TaskWork) or job.work.assign_public_ip is None:
        keywords["assign_public_ip"] = Code("assign_public_ip")
    if (policy := _policy(job.policy)) is not None:
        keywords["policy"] = policy
    call = python(Call("ScheduledTask", (Code("self"), job.name), keywords, tall=True), _BODY)
    return [*lines, f"{_BODY}{call}"]


def _of_task(work: TaskWork, needs: Needs) -> dict[str, Python]:
    keywords: dict[str, Python] = {
        "cluster": Subscript("clusters", work.cluster or "") if needs.many_clusters else Code("cluster"),
        "task_definition": Subscript("task_definitions", work.definition),
    }
    if work.container is not None:
        keywords["container_name"] = work.container
    if work.command is not None:
        keywords["command"] = [*_GUARD, *work.command]
    if work.launch_type is not None and not work.capacity_providers:
        keywords["launch_type"] = Code(f"ecs.LaunchType.{work.launch_type}")
    if work.capacity_providers:
        keywords["capacity_provider_strategies"] = [
            Call(
                "ecs.CapacityProviderStrategy",
                (),
                {"capacity_provider": name} | {k: n for k, n in (("base", base), ("weight", weight)) if n is not None},
            )
            for name, base, weight in work.capacity_providers
        ]
    if work.platform_version is not None:
        keywords["platform_version"] = Code(f"ecs.FargatePlatformVersion.{_version(work.platform_version)}")
    if work.subnets:
        chosen = [Subscript("subnets", each) for each in work.subnets]
        keywords["vpc_subnets"] = Call("ec2.SubnetSelection", (), {"subnets": chosen})
    if work.security_groups:
        keywords["security_groups"] = [Subscript("security_groups", each) for each in work.security_groups]
    if work.assign_public_ip:
        keywords["assign_public_ip"] = True
    if work.propagate_tags:
        keywords["propagate_tags"] = True
    if work.tags:
        keywords["tags"] = dict(work.tags)
    if work.execute_command:
        keywords["enable_execute_command"] = True
    return keywords


def _version(version: str) -> str:
    return "LATEST" if version == "LATEST" else f"VERSION{'_'.join(version.split('.')[:2])}"


def _task_definition(job: Job, work: ImageWork) -> list[str]:
    variable = f"{identifier(job.name)}_task"
    made = Call(
        "ecs.FargateTaskDefinition",
        (Code("self"), f"{job.name} task"),
        {"cpu": work.cpu, "memory_limit_mib": work.memory},
    )
    keywords: dict[str, Python] = {
        "image": Call("ecs.ContainerImage.from_registry", (work.image,), {}),
        "command": _command(job.name, work),
    }
    variables: dict[str, Python] = {Unpacked(f"config[{python_text(name)}]"): "" for name in work.config_maps}
    variables |= dict(job.environment)
    variables |= {name: Subscript(f"config[{python_text(at.name)}]", at.key) for name, at in work.config.items()}
    if variables:
        keywords["environment"] = variables
    if work.secrets:
        keywords["secrets"] = {name: _secret(at) for name, at in work.secrets.items()}
    keywords["logging"] = Call("ecs.LogDrivers.aws_logs", (), {"stream_prefix": job.name})
    guard = python(
        Call(f"Guard({variable}, image=guard_image).add_container", (work.container,), keywords, tall=True), _BODY
    )
    return [f"{_BODY}{variable} = {python(made, _BODY, used=len(variable) + 3)}", f"{_BODY}{guard}"]


def _command(name: str, work: ImageWork) -> Python:
    if work.command is not None:
        return list(work.command)
    started = Code(f"*entry_points[{python_text(name)}]")
    return [started, *(work.arguments or ())]


def _secret(at: Reference) -> Python:
    secret = Subscript("secrets", at.name)
    return Call("ecs.Secret.from_secrets_manager", (secret, at.key) if at.key else (secret,), {})


def _policy(policy: Policy) -> Python | None:
    default = Policy()
    keywords: dict[str, Python] = {}
    if policy.concurrency_policy is not default.concurrency_policy:
        keywords["concurrency_policy"] = Code(f"ConcurrencyPolicy.{policy.concurrency_policy.name}")
    for name in ("starting_deadline", "active_deadline"):
        deadline: timedelta | None = getattr(policy, name)
        if deadline is not None:
            keywords[name] = _duration(deadline)
    if policy.backoff_limit:
        keywords["backoff_limit"] = policy.backoff_limit
    if policy.suspend:
        keywords["suspend"] = True
    if policy.catch_up is not default.catch_up:
        keywords["catch_up"] = Code(f"CatchUp.{policy.catch_up.name}")
    return Call("Policy", (), keywords) if keywords else None


def _duration(duration: timedelta) -> Python:
    for unit, size in _UNITS:
        if duration and duration % size == timedelta(0):
            return Call("timedelta", (), {unit: duration // size})
    return Call("timedelta", (), {"seconds": duration // timedelta(seconds=1)})
