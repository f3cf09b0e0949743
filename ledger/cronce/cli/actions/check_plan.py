"""Checks the jobs of a Terraform plan, as `terraform show -json` has it: what HCL cannot know before the apply.

It reads every `aws_scheduler_schedule` whose input has a `CRONCE_JOB`, whichever module it comes from. Pure: `now` is
an argument.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronce.cli.actions.check_guard import containers_of, guard_errors_of_job, guard_errors_of_task, started_container
from cronce.clock.config import parse_config
from cronce.schedule import PeriodForm, ScheduleInvalidError, expressions_in, joined
from cronce.schedule.analysis import Analysis, analyse
from cronce.vocabulary.durations import format_duration, parse_duration
from cronce.vocabulary.environment import (
    CLOCK,
    DATE_IN,
    FURTHER_SCHEDULES,
    JOB,
    LEDGER,
    MISSED_AFTER,
    POLICY,
    SCHEDULE_GROUP,
)
from cronce.vocabulary.errors import CronceError, Found, InputInvalidError
from cronce.vocabulary.names import checked_job
from cronce.vocabulary.policy import CatchUp, Policy

MAX_INPUT = 8192 - 512
"""Longest overrides of a task, as JSON: 8192 characters (ECS API Reference, RunTask), less what a rerun adds."""

_PLACEHOLDERS = (("<aws.scheduler.scheduled-time>", 20), ("<aws.scheduler.execution-id>", 36))
_LONGEST_RETRY = timedelta(hours=24)
_START_OF_A_TASK = timedelta(minutes=1)
_CATCHING_UP = timedelta(minutes=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong or doubtful.

    Attributes:
        is_error: True if it can never work; else it may be intended.
        name: The kind of the finding, the same as of the constructs' warnings.
        address: The address of the resource in the plan.
        message: What, and what is allowed.
    """

    is_error: bool
    name: str
    address: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found.

    Attributes:
        jobs: The jobs that were checked.
        findings: What was found about them, in the order of the plan.
    """

    jobs: tuple[str, ...]
    findings: tuple[Finding, ...]


def check_plan(document: object, *, now: datetime) -> Checked:
    """Return the jobs of the plan or state, and what is wrong about them.

    Raises:
        InputInvalidError: It is not what `terraform show -json` prints.
    """
    resources = [*_resources(document)]
    missed_after = _missed_after(resources)
    tasks = {str(each.get("arn")): each for _, kind, each in resources if kind == "aws_ecs_task_definition"}
    jobs: list[str] = []
    findings: list[Finding] = []
    addresses: dict[tuple[str, str], str] = {}
    for address, kind, values in resources:
        if kind == "aws_ecs_task_definition":
            findings += _of_clock(address, values)
            findings += [_error("guard-cannot-work", address, told) for told in guard_errors_of_task(values)]
        if kind != "aws_scheduler_schedule":
            continue
        text = _one(values.get("target")).get("input")
        if text is None:
            message = "its input is known only after the apply, or it has none; check the state after the apply"
            findings.append(_doubt("input-not-known", address, message))
            continue
        environment = _environment(text)
        if JOB not in environment:
            continue
        if str(values.get("schedule_expression")) in expressions_in(environment.get(FURTHER_SCHEDULES, "")):
            continue  # checked with the first schedule of its job
        # The URL of a ledger in PostgreSQL or Redis is a secret of the container; its jobs have a group of their own.
        job, ledger = environment[JOB], environment.get(LEDGER) or str(values.get("group_name"))
        jobs.append(job)
        other = addresses.setdefault((ledger, job), address)
        if other != address:
            allowed = f"a name that no other job of this ledger uses; {other} uses it"
            findings.append(_error("job-name-used-twice", address, f"job: {job!r} is not usable; allowed: {allowed}"))
        if LEDGER not in environment:
            findings += _without_ledger(address, _one(values["target"]), tasks)
        told_of = guard_errors_of_job(_one(values["target"]), tasks)
        findings += [_error("guard-cannot-work", address, told) for told in told_of]
        planned = _Planned(
            address=address, values=values, environment=environment, missed_after=missed_after.get(ledger)
        )
        findings += _of_job(planned, now)
    return Checked(jobs=tuple(jobs), findings=tuple(findings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A job's schedule in the plan, and the patience of its ledger's watchdog."""

    address: str
    values: Mapping[str, Any]
    environment: Mapping[str, str]
    missed_after: timedelta | None


def _of_job(planned: _Planned, now: datetime) -> Iterator[Finding]:
    address, values, environment = planned.address, planned.values, planned.environment
    try:
        checked_job(environment[JOB])
        policy = Policy.from_json(environment.get(POLICY, "{}"), what=POLICY)
    except InputInvalidError as error:
        yield _error("job-invalid", address, str(error))
        return
    text = str(_one(values["target"])["input"])
    length = len(text) + sum(text.count(name) * (most - len(name)) for name, most in _PLACEHOLDERS)
    if length > MAX_INPUT:
        yield _error(
            "input-too-long",
            address,
            f"its input has {length} characters; allowed: at most {MAX_INPUT}, with the command and CRONCE_*",
        )
    window = _window(values)
    if policy.starting_deadline is not None and window >= policy.starting_deadline:
        yield _error(
            "window-beyond-the-deadline",
            address,
            f"flexible_window: {format_duration(window)} is not usable; allowed: less than the starting_deadline of"
            f" {format_duration(policy.starting_deadline)}; otherwise runs start too late by design",
        )
    further, first = environment.get(FURTHER_SCHEDULES), str(values.get("schedule_expression"))
    expression = joined([first, further]) if further else first
    zone = str(values.get("schedule_expression_timezone") or "UTC")
    try:
        start, end = (_instant(values.get(name)) for name in ("start_date", "end_date"))
        analysis = analyse(expression, zone, start, end)
        if DATE_IN in environment:
            analysis.schedule.check_period_form(PeriodForm.DATE)
    except ScheduleInvalidError as error:
        yield _error("schedule-invalid", address, f"schedule {expression} in {zone}: {error}")
        return
    if analysis.has_hour_without_minute:
        allowed = "an hour with a minute: this is due in each of its 60 minutes"
        yield _error("hour-without-minute", address, f"schedule: {expression} is not usable; allowed: {allowed}")
    yield from _doubts(planned, analysis, policy, now)


def _doubts(planned: _Planned, analysis: Analysis, policy: Policy, now: datetime) -> Iterator[Finding]:
    address, values, missed_after = planned.address, planned.values, planned.missed_after
    schedule, deadline = analysis.schedule, policy.starting_deadline
    shown = f"{schedule.expression} in {schedule.timezone}"
    if analysis.lost:
        yield _doubt("lost-to-daylight-saving", address, f"{shown}: {analysis.lost}. That day has no run")
    if schedule.caution:
        yield _doubt("uncertain-ticks", address, f"{shown}: {schedule.caution}")
    if schedule.expression.startswith("rate(") and schedule.start is None and values.get("state") != "DISABLED":
        message = f"{shown} counts from a moment that only EventBridge Scheduler knows: set start, or use cron"
        yield _doubt("rate-without-start", address, message)
    elif schedule.is_over(now):
        yield _doubt("schedule-is-over", address, f"all ticks of {shown} are in the past")
    retry = _retry(values)
    if deadline is None and analysis.interval is not None and retry > max(analysis.interval, _START_OF_A_TASK):
        message = (
            f"{shown} is due every {format_duration(analysis.interval)}, but EventBridge Scheduler tries to start a"
            f" task for {format_duration(retry)}: set retry_policy or a starting_deadline"
        )
        yield _doubt("retries-beyond-the-next-tick", address, message)
    if deadline is None:
        return
    if deadline > _LONGEST_RETRY:
        message = f"the starting_deadline is {format_duration(deadline)}, but retries end after 24 hours"
        yield _doubt("starting-deadline-beyond-retries", address, message)
    if deadline < _START_OF_A_TASK:
        message = f"the starting_deadline is {format_duration(deadline)}, but a task takes about a minute to start"
        yield _doubt("starting-deadline-too-short", address, message)
    if missed_after and policy.catch_up is not CatchUp.NONE and deadline < missed_after + _CATCHING_UP:
        message = (
            f"catch_up={policy.catch_up} starts a missed tick {format_duration(missed_after + _CATCHING_UP)} after"
            f" its time or later, but the starting_deadline is {format_duration(deadline)}: nothing is caught up"
        )
        yield _doubt("catch-up-after-the-deadline", address, message)


def _of_clock(address: str, values: Mapping[str, Any]) -> Iterator[Finding]:
    """The configuration of a pinned clock."""
    for container in containers_of(values).values():
        environment = _variables(container)
        if isinstance(environment.get(CLOCK), str):
            try:
                parse_config(json.loads(environment[CLOCK]), what=CLOCK)
            except (CronceError, ValueError) as error:
                yield _error("clock-invalid", address, str(error))


def _without_ledger(
    address: str, target: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    """A job whose container, if the plan knows it, does not get the URL of its ledger."""
    container = started_container(target, tasks)
    given = [each["name"] for kind in ("environment", "secrets") for each in container.get(kind) or ()]
    if container and LEDGER not in given:
        allowed = f"a container with {LEDGER}: secrets = [module.NAME.container_secret], of its external-ledger"
        yield _error("ledger-missing", address, f"container {container['name']} is not usable; allowed: {allowed}")


def _resources(document: object) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield address, type and values of each resource that is planned, or in a state."""
    root: Any = None
    if isinstance(document, dict):
        root = (document.get("planned_values") or document.get("values") or {}).get("root_module")
    if not isinstance(root, dict):
        allowed = "what `terraform show -json PLAN` prints, with planned_values or values"
        raise InputInvalidError("FILE", Found("another document"), allowed)
    modules = [root]
    while modules:
        module = modules.pop(0)
        for resource in module.get("resources", ()):
            if resource.get("mode", "managed") == "managed":
                yield resource["address"], resource["type"], resource.get("values") or {}
        modules[:0] = module.get("child_modules", ())


def _missed_after(resources: list[tuple[str, str, Mapping[str, Any]]]) -> dict[str, timedelta]:
    """The patience of each ledger's watchdog, a function or a service, as far as it is in the plan."""
    watchdogs: list[Mapping[str, Any]] = []
    for _, kind, values in resources:
        if kind == "aws_lambda_function":
            watchdogs.append(_one(values.get("environment")).get("variables") or {})
        if kind == "aws_ecs_task_definition":
            watchdogs += [_variables(container) for container in containers_of(values).values()]
    return {
        str(given.get(LEDGER) or given.get(SCHEDULE_GROUP)): parse_duration(given[MISSED_AFTER], what=MISSED_AFTER)
        for given in watchdogs
        if isinstance(given.get(MISSED_AFTER), str)
    }


def _variables(container: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a container definition by name."""
    return {each["name"]: each.get("value") for each in container.get("environment") or ()}


def _environment(text: str) -> dict[str, str]:
    """The variables of a task override; none for the input of another target."""
    try:
        override = json.loads(text)
        [container, *_] = override["containerOverrides"]
        return {str(each["name"]): str(each["value"]) for each in container.get("environment", ())}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _one(blocks: object) -> Mapping[str, Any]:
    return blocks[0] if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict) else {}


def _window(values: Mapping[str, Any]) -> timedelta:
    return timedelta(minutes=int(_one(values.get("flexible_time_window")).get("maximum_window_in_minutes") or 0))


def _retry(values: Mapping[str, Any]) -> timedelta:
    policy = _one(_one(values.get("target")).get("retry_policy"))
    return timedelta(seconds=int(policy.get("maximum_event_age_in_seconds") or _LONGEST_RETRY.total_seconds()))


def _instant(text: object) -> datetime | None:
    return None if not isinstance(text, str) or not text else datetime.fromisoformat(text)


def _error(name: str, address: str, message: str) -> Finding:
    return Finding(is_error=True, name=name, address=address, message=message)


def _doubt(name: str, address: str, message: str) -> Finding:
    return Finding(is_error=False, name=name, address=address, message=message)
