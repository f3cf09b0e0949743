"""What a target can do with a job: its schedule in the target's words, and further decisions. Pure."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import CommandWork, Job, Notes, When
from cronce.operate.wording import visible
from cronce.schedule import Kind, parse
from cronce.schedule.analysis import analyse
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.policy import Policy


class ImportTarget(StrEnum):
    """What is written."""

    CDK = "cdk"
    """A construct with a `ScheduledTask` per job, in Python."""
    TERRAFORM = "terraform"
    """A module with a `scheduled-task` per job, in HCL."""
    CLOCK = "clock"
    """A configuration of `cronce clock`, in TOML."""


_DESCRIPTION = 512
"""Characters of the description of a schedule (Scheduler API Reference, CreateSchedule)."""

_AT_MULTIPLES = "at whole multiples since 1970-01-01T00:00Z, and not from the start of a process"


def fitted(job: Job, target: ImportTarget) -> Job:
    """The job as the target has it.

    Raises:
        InputInvalidError: Its schedule does not exist there.
    """
    notes = Notes(job.place)
    when = _on_clock(job, notes) if target is ImportTarget.CLOCK else _on_eventbridge(job, target, notes)
    if target is ImportTarget.CLOCK:
        _note_clock(job, notes)
    _note_daylight_saving(when, notes)
    description = visible(job.description)
    if len(description) > _DESCRIPTION:
        description = f"{description[: _DESCRIPTION - 4]} ..."
        notes.changed("description", "", description[:40], f"at most {_DESCRIPTION} characters")
    return replace(job, when=when, description=description, decisions=(*job.decisions, *notes.all()))


def _on_eventbridge(job: Job, target: ImportTarget, notes: Notes) -> When:
    text = timing.on_eventbridge(job.when, f"{job.place}: schedule")
    if job.when.every is not None:
        given = f"every {format_duration(job.when.every)}"
        why = timing.RATE_WITHOUT_START if text.startswith("rate(") else _AT_MULTIPLES
        notes.changed("interval", given, text, why)
    zone = "UTC" if job.when.every is not None or text.startswith("rate(") else job.when.timezone
    if target is ImportTarget.TERRAFORM:
        text = timing.as_cron(text, zone)
    return When(text=text, timezone=zone)


def _on_clock(job: Job, notes: Notes) -> When:
    when = job.when
    if when.every is not None:
        notes.changed("interval", "", f"every {format_duration(when.every)}", _AT_MULTIPLES)
    elif parse(when.text, timezone=when.timezone).kind is Kind.RATE:
        notes.changed("schedule", when.text, when.text, "a rate counts from 1970-01-01T00:00Z here")
        return replace(when, timezone="UTC")
    return when


def _note_clock(job: Job, notes: Notes) -> None:
    default = Policy()
    if isinstance(job.work, CommandWork):
        why = "a clock ends a command after at most 5 minutes: let a longer one enqueue the work, or use --to cdk"
        notes.changed("command", "", 'timeout = "5m"', why)
        if job.policy.concurrency_policy is not default.concurrency_policy:
            notes.kept("overlaps", job.policy.concurrency_policy, "commands of one job may overlap, at most 4")
    else:
        why = "the task is that of a ScheduledTask with this name, which has its command, variables and policy"
        notes.changed("work", "", f'task = "{job.name}"', why)
    if not job.enabled:
        notes.changed("enabled", "false", "suspend = true", "each tick gets a row SKIPPED(suspended)")


def _note_daylight_saving(when: When, notes: Notes) -> None:
    if when.every is not None:
        return
    analysis = analyse(when.text, when.timezone)
    if analysis.lost:
        notes.changed("schedule", when.text, when.text, f"a local time that is skipped: {analysis.lost}")
