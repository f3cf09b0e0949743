"""From checked arguments to the properties of a job's schedule."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.environment import LEDGER
from cronce.vocabulary.names import schedule_name_stem
from cronce.vocabulary.policy import Policy
from cronce_cdk._checks import TOKEN, duration, is_token, kinds, refusal, sendable, text_map
from cronce_cdk._jsii_cache import cached, stack_of
from cronce_cdk._limits import DESCRIPTION, TAG_KEY, TAG_TEXT, TAG_VALUE, TAGS
from cronce_cdk._placement import Placement
from cronce_cdk.task_size import TaskSize

MAX_OVERRIDES = 8192 - 512
"""Longest overrides of a task, as JSON: 8192 characters (ECS API Reference, RunTask), less what a rerun adds."""


def description_of(scope: Construct, description: object, schedule: object) -> str | None:
    """Return the description of a schedule, if it is one that EventBridge Scheduler takes."""
    kinds(scope, str, {"description": description})
    sendable(scope, "description", str(description or ""))
    if isinstance(description, str) and not is_token(description) and len(description) > DESCRIPTION:
        raise refusal(scope, "description", f"{len(description)} characters", f"at most {DESCRIPTION} characters")
    return "Started by people only" if schedule is None and description is None else str(description or "") or None


def checked_tags(scope: Construct, tags: Mapping[str, str] | None) -> dict[str, str]:
    """Return the tags if ECS takes them."""
    checked = text_map(scope, "tags", tags)
    if len(checked) > TAGS:
        raise refusal(scope, "tags", f"{len(checked)} tags", f"at most {TAGS} tags")
    for name, value in checked.items():
        if name.lower().startswith("aws:"):
            raise refusal(scope, "tags", name, "names that do not begin with aws:, which AWS reserves")
        for text, shortest, longest in ((name, 1, TAG_KEY), (value, 1, TAG_VALUE)):
            if not is_token(text) and not (shortest <= len(text) <= longest and TAG_TEXT.fullmatch(text)):
                allowed = f"{shortest} to {longest} letters, digits, spaces and any of _ . : / = + - @"
                raise refusal(scope, "tags", {name: value}, allowed)
    return checked


def task_override(
    scope: Construct, container: str, command: Sequence[str] | None, variables: Mapping[str, str], size: TaskSize
) -> str:
    """Return the schedule's Input, the JSON of a TaskOverride.

    Raises:
        ConstructConfigError: It is too long for RunTask.
    """
    override: dict[str, object] = {
        "name": container,
        "environment": [{"name": name, "value": value} for name, value in sorted(variables.items())],
    }
    if command is not None:
        override["command"] = command
    of_task = {**size.of_task, "containerOverrides": [{**override, **size.of_container}]}
    text = json.dumps(of_task)
    known = len(TOKEN.sub("", text))
    if known > MAX_OVERRIDES:
        raise refusal(
            scope,
            "environment",
            f"{known} characters",
            f"at most {MAX_OVERRIDES} characters, with the command and CRONCE_*",
        )
    if any(is_token(value) for name, value in variables.items() if name != LEDGER) or is_token(str(command)):
        return stack_of(scope).to_json_string(of_task)
    return text


def schedule_name(stack: cdk.Stack, path: str, job: str) -> str:
    """Return the schedule's name: the job's name, for people, and a hash of its stack and path.

    The name is stable while the job does not move. A job that moves gets a new schedule, so that CloudFormation can
    create it before it deletes the old one.
    """
    stack_name = cached(stack, ("name",), lambda: stack.stack_name)
    known = "" if is_token(stack_name) else stack_name
    digest = hashlib.sha256(f"{known}\0{path}".encode()).hexdigest()[:12]
    return f"{'job' if is_token(job) else schedule_name_stem(job)}-{digest}"


def rendered_instant(at: datetime | None) -> str | None:
    """Return the time as CloudFormation has it."""
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def rendered_window(
    scope: Construct, window: object, policy: Policy
) -> scheduler.CfnSchedule.FlexibleTimeWindowProperty:
    """Return the flexible time window; it must leave time before the starting deadline."""
    if window is None:
        return scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF")
    length = duration(scope, "flexible_window", window)
    if length % timedelta(minutes=1) or not timedelta(minutes=1) <= length <= timedelta(hours=24):
        raise refusal(scope, "flexible_window", format_duration(length), "whole minutes, 1m to 24h")
    deadline = policy.starting_deadline
    if deadline is not None and length >= deadline:
        raise refusal(
            scope,
            "flexible_window",
            format_duration(length),
            f"less than the starting_deadline of {format_duration(deadline)}; otherwise runs start too late by design",
        )
    return scheduler.CfnSchedule.FlexibleTimeWindowProperty(
        mode="FLEXIBLE", maximum_window_in_minutes=length // timedelta(minutes=1)
    )


def rendered_strategies(
    placement: Placement,
) -> list[scheduler.CfnSchedule.CapacityProviderStrategyItemProperty] | None:
    """Return the capacity providers as a schedule has them."""
    return [
        scheduler.CfnSchedule.CapacityProviderStrategyItemProperty(
            capacity_provider=strategy.capacity_provider, base=strategy.base, weight=strategy.weight
        )
        for strategy in placement.strategies
    ] or None


def api_version(version: ecs.FargatePlatformVersion | None) -> str | None:
    """Return the API's spelling, `1.4.0` for VERSION1_4."""
    if version is None or version is ecs.FargatePlatformVersion.LATEST:
        return version and "LATEST"
    return f"{version.name.removeprefix('VERSION').replace('_', '.')}.0"
