"""Rules of EventBridge that start ECS tasks, as the AWS command line prints them.

Files: `aws events list-rules` or `describe-rule`, and for each rule `aws events list-targets-by-rule`, which does not
say whose targets they are: its file has the rule's name, `RULE.json`. Or one object per rule with its `Targets` in it.
Source of the fields: EventBridge API Reference, Rule, Target, EcsParameters; ECS API Reference, TaskOverride.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import Job, Notes, RefusedJob, Source, SourceLine, TaskWork
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.sources.ecs_overrides import (
    BY_CONSTRUCT,
    NO_ROLE,
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

RULE_DEFAULTS = (
    "EventBridge starts the task of a tick whether or not the last one has ended: written as ALLOW.",
    "EventBridge rules are in UTC.",
    "A failed task is not tried again, and a missed tick is not caught up: backoff_limit 0, catch_up NONE.",
)

_FORMS = "the JSON of aws events list-rules, describe-rule or list-targets-by-rule"
_BY_LEDGER = "the ledger has a queue for what cannot be started, and its deadline says how long to try"
_NOT_HERE = "cronce starts one task per run, on Fargate or where the strategy says"


def read_event_rules(sources: Sequence[Source]) -> Iterator[Job | RefusedJob]:
    """The jobs of rules with their targets, from all files together.

    Raises:
        InputInvalidError: A file is none of those.
        InputMissingError: A field is missing without which nothing can be read.
    """
    rules: list[tuple[Fields, Value]] = []
    targets: dict[str, Value] = {}
    for source in sources:
        for document in yaml_documents(source.text, source.file):
            fields = document.fields()
            listed, own, more = fields.take("Rules"), fields.take("Targets"), fields.take("NextToken")
            if more is not None:
                raise more.refused("no NextToken: the list goes on; let the AWS command line print all of it")
            if listed is None and "Name" in fields:
                rules.append((fields, document))
                targets |= {} if own is None else {_name(fields): own}
                continue
            if listed is None and own is None:
                raise document.refused(_FORMS)
            for other in fields.left():
                raise InputInvalidError(other.where, other.name, _FORMS)
            if own is not None:
                targets[PurePath(source.file).stem] = own
            for each in [] if listed is None else listed.items():
                rule = each.fields()
                rules.append((rule, each))
                if (inside := rule.take("Targets")) is not None:
                    targets[_name(rule)] = inside
    known = {_name(fields) for fields, _ in rules}
    for name, value in targets.items():
        if name not in known:
            allowed = f"targets in a file with the name of their rule, such as {min(known, default='RULE')}.json"
            raise InputInvalidError(value.where, name, allowed)
    for fields, value in rules:
        given = fields.need("Name", "the name of the rule").text()
        name = clean_name(given)
        notes = Notes(SourceLine(file=value.file, line=value.line))
        try:
            yield _job(fields, value, name, given, targets.get(given), notes)
        except InputInvalidError as error:
            yield RefusedJob(name=name or given, place=notes.place, error=error)


def _name(rule: Fields) -> str:
    """The rule's name, which is not taken."""
    return rule.of.fields().need("Name", "the name of the rule").text()


def _job(fields: Fields, rule: Value, name: str, given: str, targets: Value | None, notes: Notes) -> Job:  # noqa: PLR0917
    if not name:
        raise rule.refused("a name with a letter or a digit")
    notes.renamed("Name", given, name)
    if (pattern := fields.take("EventPattern")) is not None:
        raise InputInvalidError(pattern.where, Found("an event pattern"), "a schedule; a rule for events stays a rule")
    schedule = fields.need("ScheduleExpression", "the schedule of the rule")
    when = timing.eventbridge(schedule.text(), notes, "ScheduleExpression", schedule.where, line=schedule.line)
    notes.stated("time zone", "UTC", "EventBridge rules have no other")
    state, description = fields.take("State"), fields.take("Description")
    enabled = state is None or state.text() != "DISABLED"
    if state is not None:
        notes.kept("State", state.text(), f"enabled {str(enabled).lower()}", line=state.line)
    if description is not None:
        notes.kept("Description", description.text(), description.text(), line=description.line)
    for field, why in (
        ("Arn", "the job's schedule has an ARN of its own"),
        ("RoleArn", BY_CONSTRUCT),
        ("EventBusName", "EventBridge Scheduler has no buses"),
        ("ManagedBy", "ask the service that manages the rule"),
        ("CreatedBy", "it is no setting"),
    ):
        if (value := fields.take(field)) is not None:
            notes.left(field, value.content, why, line=value.line)
    fields.take("Targets")
    if targets is None or not targets.items():
        allowed = f"the targets of the rule: aws events list-targets-by-rule --rule {given} > {given}.json"
        raise InputInvalidError(rule.where, f"{given} without targets", allowed)
    if len(targets.items()) > 1:
        raise InputInvalidError(
            targets.where, f"{len(targets.items())} targets", "one target: each is a job of its own"
        )
    work, environment = _work(targets.items()[0].fields(), notes)
    notes.stated("overlaps", "ALLOW", "a rule starts its task whatever runs; FORBID is the default of cronce")
    fields.report(notes)
    return Job(
        name=name,
        place=notes.place,
        when=when,
        work=work,
        environment=environment,
        policy=Policy(concurrency_policy=ConcurrencyPolicy.ALLOW),
        enabled=enabled,
        description="" if description is None else description.text(),
        decisions=notes.all(),
    )


def _work(target: Fields, notes: Notes) -> tuple[TaskWork, dict[str, str]]:
    ecs = target.take("EcsParameters")
    if ecs is None:
        arn = target.take("Arn")
        shown = target.of if arn is None else arn
        raise InputInvalidError(shown.where, shown.content, "a target with EcsParameters: cronce starts ECS tasks")
    cluster = target.need("Arn", "the ARN of the cluster")
    notes.kept("Arn", cluster.text(), cluster.text(), line=cluster.line)
    container, command, environment = _overrides(target.take("Input"), notes)
    for field in ("InputPath", "InputTransformer"):
        if (value := target.take(field)) is not None:
            raise value.refused("a constant Input: a schedule has no event to take a part of")
    for field, why in (
        ("Id", "the job has its name in the ledger"),
        ("RoleArn", BY_CONSTRUCT),
        ("RetryPolicy", _BY_LEDGER),
        ("DeadLetterConfig", _BY_LEDGER),
    ):
        if (value := target.take(field)) is not None:
            notes.left(field, value.content if isinstance(value.content, str) else "", why, line=value.line)
    target.report(notes)
    parameters = ecs.fields()
    definition = parameters.need("TaskDefinitionArn", "the ARN of the task definition")
    notes.kept("TaskDefinitionArn", definition.text(), definition.text(), line=definition.line)
    if (count := parameters.take("TaskCount")) is not None and count.whole(1) > 1:
        notes.left("TaskCount", count.text(), ONE_TASK, line=count.line)
    subnets, groups, public = _network(parameters.take("NetworkConfiguration"), notes)
    launch, version = parameters.take("LaunchType"), parameters.take("PlatformVersion")
    check_placement(launch, version)
    propagate, shell = parameters.take("PropagateTags"), parameters.take("EnableExecuteCommand")
    for given in (launch, version, propagate, shell):
        if given is not None:
            notes.kept(given.name, given.text(), given.text(), line=given.line)
    providers = providers_of(parameters.take("CapacityProviderStrategy"), notes)
    tags = _tags(parameters.take("Tags"), notes)
    for value in parameters.left():
        said = value.content if isinstance(value.content, str) else ""
        notes.left(value.name, said, _NOT_HERE, line=value.line)
    return (
        TaskWork(
            definition=definition.text(),
            container=container,
            command=command,
            cluster=cluster.text(),
            subnets=subnets,
            security_groups=groups,
            assign_public_ip=public,
            launch_type=None if launch is None else launch.text(),
            platform_version=None if version is None else version.text(),
            capacity_providers=providers,
            propagate_tags=propagate is not None and propagate.text() == "TASK_DEFINITION",
            execute_command=shell is not None and shell.flag(),
            tags=tags,
        ),
        environment,
    )


def _overrides(given: Value | None, notes: Notes) -> tuple[str | None, tuple[str, ...] | None, dict[str, str]]:
    """Container, command and variables of the Input, which is a TaskOverride as JSON in a text."""
    if given is None:
        return None, None, {}
    found = yaml_documents(given.text(), given.file)
    if len(found) != 1:
        raise given.refused("the JSON of a TaskOverride")
    override = _at_line(found[0], given.line).fields()
    container, command, environment = None, None, {}
    listed = override.take("containerOverrides")
    if listed is not None and (only := only_container(listed)) is not None:
        fields = only.fields()
        named = fields.need("name", "the name of the container")
        container = named.text()
        notes.kept("Input container", container, container, line=given.line)
        command = command_of(fields.take("command"), notes)
        variables = fields.take("environment")
        pairs = []
        for each in [] if variables is None else variables.items():
            pair = each.fields()
            pairs.append((pair.need("name", "its name").text(), pair.need("value", "its value").text(), given.line))
        environment = environment_of(pairs, "Input environment", notes)
        note_sizes([fields.take(size) for size in ("cpu", "memory", "memoryReservation")], notes)
        fields.report(notes)
    for field in ("taskRoleArn", "executionRoleArn"):
        if (value := override.take(field)) is not None:
            notes.left(f"Input {field}", value.content, NO_ROLE, line=given.line)
    note_sizes([override.take("cpu"), override.take("memory")], notes)
    override.report(notes)
    return container, command, environment


def _at_line(value: Value, line: int) -> Value:
    """The value with the line of the text that it is in."""
    match value.content:
        case list() as items:
            return replace(value, line=line, content=[_at_line(each, line) for each in items])
        case str() | None:
            return replace(value, line=line)
        case mapping:
            return replace(value, line=line, content={name: _at_line(each, line) for name, each in mapping.items()})


def _network(value: Value | None, notes: Notes) -> tuple[tuple[str, ...], tuple[str, ...], bool | None]:
    if value is None:
        return (), (), None
    outer = value.fields()
    inner = outer.need("awsvpcConfiguration", "the configuration of the network interface").fields()
    outer.report(notes)
    found: list[tuple[str, ...]] = []
    for field in ("Subnets", "SecurityGroups"):
        ids = inner.take(field)
        found.append(() if ids is None else ids.words())
        if ids is not None:
            notes.kept(field, ids.words(), " ".join(ids.words()), line=ids.line)
    public = inner.take("AssignPublicIp")
    if public is not None:
        notes.kept("AssignPublicIp", public.text(), str(public.text() == "ENABLED").lower(), line=public.line)
    inner.report(notes)
    return found[0], found[1], public is not None and public.text() == "ENABLED"


def _tags(value: Value | None, notes: Notes) -> dict[str, str]:
    tags = {}
    for each in value.items() if value is not None else []:
        fields = each.fields()
        key, text = fields.need("Key", "the key of the tag").text(), fields.take("Value")
        tags[key] = "" if text is None else text.text()
        notes.kept(f"Tags {key}", tags[key], tags[key], line=each.line)
        fields.report(notes)
    return tags
