"""Configurations of ecschedule (github.com/Songmu/ecschedule): rules of EventBridge with an ECS task each.

Source of the fields: its README and its types `Config`, `Rule` and `Target`. The rules are in UTC. Its template
functions `env`, `must_env` and `tfstate` are evaluated before the YAML is read; here, nothing is looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import Job, Notes, RefusedJob, Source, SourceLine, TaskWork
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.sources.ecs_overrides import (
    BY_CONSTRUCT,
    ONE_TASK,
    check_placement,
    command_of,
    environment_of,
    note_sizes,
    only_container,
    providers_of,
)
from cronce.adopt.convert.sources.fields import Fields, Value, yaml_documents
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy

ECSCHEDULE_DEFAULTS = (
    "EventBridge starts the task of a tick whether or not the last one has ended: written as ALLOW.",
    "EventBridge rules are in UTC.",
    "A failed task is not tried again, and a missed tick is not caught up: backoff_limit 0, catch_up NONE.",
)

_TEMPLATE = re.compile(r"\{\{-?\s*(?P<call>.*?)\s*-?\}\}")
_ARGUMENT = re.compile(r"`([^`]*)`|\"([^\"]*)\"|'([^']*)'")
_PLACEHOLDER = re.compile("<<[^<>]*>>")
_OF_THE_WHOLE = ("region", "cluster", "role", "trackingId")
_NO_NAME = "the job has its name in the ledger"


def read_ecschedule(source: Source) -> Iterator[Job | RefusedJob]:
    """The jobs of a configuration in YAML or JSON.

    Raises:
        InputInvalidError: It is no such file.
        InputMissingError: A field is missing without which nothing can be read.
    """
    if source.file.endswith("sonnet"):
        raise InputInvalidError(source.file, "Jsonnet", "YAML or JSON; `jsonnet FILE > rules.json` writes the JSON")
    defaults: dict[int, str] = {}
    lines = source.text.split("\n")
    for number, line in enumerate(lines):
        lines[number] = _TEMPLATE.sub(lambda call, at=number: _evaluated(call["call"], defaults, at + 1), line)  # type: ignore[misc]
    found = yaml_documents("\n".join(lines), source.file)
    if len(found) != 1:
        raise InputInvalidError(source.file, Found(f"{len(found)} documents"), "one document with rules:")
    config = found[0].fields()
    rules = config.need("rules", "the list of rules of a configuration of ecschedule")
    base = {name: value for name in _OF_THE_WHOLE if (value := config.take(name)) is not None}
    rest = config.left()
    if not rules.items():
        raise rules.refused("at least one rule")
    for rule in rules.items():
        fields = rule.fields()
        given = fields.need("name", "the name of the rule")
        name = clean_name(given.text())
        notes = Notes(SourceLine(file=source.file, line=rule.line))
        if not name:
            raise given.refused("a name with a letter or a digit")
        notes.renamed("name", given.text(), name, line=given.line)
        try:
            job = _job(fields, base, notes, name)
        except InputInvalidError as error:
            yield RefusedJob(name=name, place=notes.place, error=error)
            continue
        for value in rest:
            notes.left(value.name, "", "nothing is looked up outside of the file", line=value.line)
        for at, call in defaults.items():
            if rule.line <= at <= _last_line(rule):
                notes.changed("template", call, "its default", "no variable is read here", line=at)
        yield replace(job, decisions=notes.all())


def _last_line(value: Value) -> int:
    match value.content:
        case list() as items:
            return max((_last_line(each) for each in items), default=value.line)
        case Mapping() as mapping:
            return max((_last_line(each) for each in mapping.values()), default=value.line)
        case _:
            return value.line


def _evaluated(call: str, defaults: dict[int, str], line: int) -> str:
    """A template function as YAML: the default of `env`, or else a placeholder for a person."""
    function, _, rest = call.partition(" ")
    arguments = [next(filter(None, found), "") for found in _ARGUMENT.findall(rest)]
    if function == "env" and len(arguments) > 1:
        defaults[line] = call
        text = arguments[1]
    else:
        text = f"<<{call}>>"
    return _quoted(text)


def _quoted(text: str) -> str:
    return text.replace("`", "").replace('"', "").replace("'", "")


def _job(fields: Fields, base: Mapping[str, Value], notes: Notes, name: str) -> Job:
    schedule = fields.need("scheduleExpression", "the schedule of the rule")
    when = timing.eventbridge(schedule.text(), notes, "scheduleExpression", schedule.where, line=schedule.line)
    notes.stated("time zone", "UTC", "EventBridge rules have no other")
    definition = fields.need("taskDefinition", "the task definition of the rule")
    notes.kept("taskDefinition", definition.text(), definition.text(), line=definition.line)
    cluster = fields.take("cluster") or base.get("cluster")
    if cluster is not None:
        notes.kept("cluster", cluster.text(), cluster.text(), line=cluster.line)
    if (region := fields.take("region") or base.get("region")) is not None:
        notes.left("region", region.text(), "the Region is that of the deployment", line=region.line)
    disabled = fields.take("disabled", "disable")
    if disabled is not None:
        notes.kept("disabled", disabled.flag(), f"enabled {str(not disabled.flag()).lower()}", line=disabled.line)
    description = fields.take("description")
    if description is not None:
        notes.kept("description", description.text(), description.text(), line=description.line)
    for field, why in (("role", BY_CONSTRUCT), ("targetId", _NO_NAME), ("trackingId", _NO_NAME)):
        if (value := fields.take(field) or base.get(field)) is not None:
            notes.left(field, value.text(), why, line=value.line)
    if (count := fields.take("taskCount")) is not None and count.whole(1) > 1:
        notes.left("taskCount", count.text(), ONE_TASK, line=count.line)
    work, environment = _work(fields, definition.text(), None if cluster is None else cluster.text(), notes)
    if (letters := fields.take("dead_letter_config", "deadLetterConfig")) is not None:
        why = "what cannot be started goes to the ledger's own queue, whose reader records it"
        notes.left(letters.name, letters.fields().left()[0].content if letters.content else "", why, line=letters.line)
    policy = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)
    notes.stated("overlaps", "ALLOW", "a rule starts its task whatever runs; FORBID is the default of cronce")
    fields.report(notes)
    job = Job(
        name=name,
        place=notes.place,
        when=when,
        work=work,
        environment=environment,
        policy=policy,
        enabled=disabled is None or not disabled.flag(),
        description="" if description is None else description.text(),
        decisions=(),
    )
    _note_placeholders(job, notes)
    return job


def _work(fields: Fields, definition: str, cluster: str | None, notes: Notes) -> tuple[TaskWork, Mapping[str, str]]:
    container, command, environment = None, None, {}
    overrides = fields.take("containerOverrides")
    if overrides is not None and (only := only_container(overrides)) is not None:
        override = only.fields()
        named = override.need("name", "the name of the container")
        container = named.text()
        notes.kept("containerOverrides.name", container, container, line=named.line)
        command = command_of(override.take("command"), notes)
        if (variables := override.take("environment")) is not None:
            pairs = [(each.name, each.text(), each.line) for each in variables.fields().left()]
            environment = environment_of(pairs, "environment", notes)
        note_sizes([override.take(size) for size in ("cpu", "memory", "memoryReservation")], notes)
        override.report(notes)
    note_sizes([fields.take("taskOverride"), fields.take("cpu"), fields.take("memory")], notes)
    subnets: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    public: bool | None = None
    if (network := fields.take("network_configuration", "networkConfiguration")) is not None:
        configuration = network.fields()
        vpc = configuration.take("aws_vpc_configuration", "awsVpcConfiguration", "awsvpcConfiguration")
        if vpc is not None:
            inner = vpc.fields()
            subnets = _ids(inner.take("subnets"), notes)
            groups = _ids(inner.take("security_groups", "securityGroups"), notes)
            if (assign := inner.take("assign_public_ip", "assignPublicIp")) is not None:
                public = assign.text().upper() == "ENABLED"
                notes.kept("assign_public_ip", assign.text(), str(public).lower(), line=assign.line)
            inner.report(notes)
        configuration.report(notes)
    launch = fields.take("launch_type", "launchType")
    version = fields.take("platform_version", "platformVersion")
    for value in (launch, version):
        if value is not None:
            notes.kept(value.name, value.text(), value.text(), line=value.line)
    check_placement(launch, version)
    tags = fields.take("propagateTags", "propagate_tags")
    if tags is not None:
        notes.kept("propagateTags", tags.text(), "propagate_tags", line=tags.line)
    shell = fields.take("enableExecuteCommand", "enable_execute_command")
    if shell is not None:
        notes.kept("enableExecuteCommand", shell.flag(), "enable_execute_command", line=shell.line)
    if (group := fields.take("group")) is not None:
        notes.left(
            "group", group.text(), "tasks have no group; the job's name is in their environment", line=group.line
        )
    return (
        TaskWork(
            definition=definition,
            container=container,
            command=command,
            cluster=cluster,
            subnets=subnets,
            security_groups=groups,
            assign_public_ip=public,
            launch_type=None if launch is None else launch.text(),
            platform_version=None if version is None else version.text(),
            capacity_providers=providers_of(fields.take("capacityProviderStrategy"), notes),
            propagate_tags=tags is not None and tags.text() == "TASK_DEFINITION",
            execute_command=shell is not None and shell.flag(),
        ),
        environment,
    )


def _ids(value: Value | None, notes: Notes) -> tuple[str, ...]:
    if value is None:
        return ()
    notes.kept(value.name, value.words(), " ".join(value.words()), line=value.line)
    return value.words()


def _note_placeholders(job: Job, notes: Notes) -> None:
    assert isinstance(job.work, TaskWork)  # noqa: S101  # this reader makes no other
    texts = [job.work.definition, job.work.cluster or "", job.description, *(job.work.command or ())]
    texts += [*job.work.subnets, *job.work.security_groups, *job.environment.values()]
    for text in texts:
        for call in _PLACEHOLDER.findall(text):
            why = f"ecschedule looks it up when it runs; write the value in place of {call}"
            notes.left("template", call, why)
