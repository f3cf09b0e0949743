"""What an explanation consists of, and the facts that it shows as evidence. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cronce.ecs import JobDefinition
from cronce.operate.advice import Step
from cronce.operate.facts import Facts, NotKnown
from cronce.operate.look_up import RowKind
from cronce.operate.wording import moment, one_line
from cronce.protocol.records import RunRecord
from cronce.schedule import ScheduleInvalidError
from cronce.vocabulary.states import Status


@dataclass(frozen=True, slots=True)
class Evidence:
    """A fact that a finding rests on."""

    what: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """One thing that is so, and what to do about it.

    Attributes:
        code: Stable, for scripts: `schedule-disabled`.
        sentence: What is so, in one sentence.
        more: What follows from it; empty if nothing.
        evidence: The facts, with times and ARNs.
        steps: What a person can do, most useful first.
    """

    code: str
    sentence: str
    more: str = ""
    evidence: tuple[Evidence, ...] = ()
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The cause, what else matters, and what could not be found out."""

    cause: Diagnosis
    also: tuple[Diagnosis, ...] = ()
    not_known: tuple[NotKnown, ...] = ()


def evidence_of(facts: Facts) -> Iterator[Evidence]:
    """The facts that a person wants to see, each in one line."""
    now, row, job = facts.now, facts.row, facts.definition
    if facts.tick is not None:
        yield Evidence("due", moment(facts.tick, now=now))
    if isinstance(row, RunRecord):
        if row.attempt:
            yield Evidence("attempt", f"{row.attempt}, trigger {row.trigger}, by {row.owner}")
        if row.claimed_at is not None and row.attempt:
            yield Evidence("claimed", moment(row.claimed_at, now=now))
        if row.status is Status.RUNNING and row.lease_until is not None:
            yield Evidence("lease until", moment(row.lease_until, now=now))
        if row.finished_at is not None:
            yield Evidence("recorded" if row.attempt == 0 else "ended", moment(row.finished_at, now=now))
        if row.reason:
            exit_code = "" if row.exit_code is None else f", exit code {row.exit_code}"
            yield Evidence("reason", f"{row.reason}{exit_code}")
        if row.error:
            yield Evidence("error", one_line(row.error))
        if row.actor:
            yield Evidence("by", row.actor + (f": {row.note}" if row.note else ""))
    if facts.blocker is not None:
        yield Evidence("blocked by", f"{facts.blocker.period}, {facts.blocker.status}, {facts.blocker.owner}")
    for task in facts.tasks[:3]:
        ended = f" {moment(task.stopped_at, now=now)}" if task.stopped_at else ""
        code = "" if task.exit_code is None else f", exit code {task.exit_code}"
        told = f": {one_line(task.cause)}" if task.cause else ""
        yield Evidence("task", f"{task.arn}, {task.status}{ended}{code}{told}")
    if facts.logged:
        yield Evidence("logged", one_line(facts.logged))
    logged = facts.tasks[0].arn if facts.tasks else (row.owner if isinstance(row, RunRecord) else "")
    if facts.revision is not None and (log := facts.revision.log_of(logged)):
        yield Evidence("log", log)
    if isinstance(job, JobDefinition):
        state = "enabled" if job.enabled else "disabled"
        name, changed = f"{job.group_name}/{job.schedule_name}", moment(job.modified_at, now=now)
        yield Evidence("schedule", f"{name}, {state}, {schedule_in_words(job)}, changed {changed}")
    if facts.revision is not None:
        image = f", image {facts.revision.image}" if facts.revision.image else ""
        yield Evidence("revision", f"{facts.revision.arn}, {facts.revision.status}{image}")
    if facts.service is not None:
        each = facts.service
        yield Evidence(
            "service", f"{each.cluster} {each.name}, {each.status}, desired {each.desired}, running {each.running}"
        )
    if facts.kind is RowKind.RUN and facts.looked_at is not None and not isinstance(facts.looked_at, NotKnown):
        yield Evidence("watchdog", f"last looked {moment(facts.looked_at, now=now)}")


def schedule_in_words(job: JobDefinition) -> str:
    """When the job is due: in words, or its expression if this version cannot parse that."""
    try:
        return job.schedule.describe()
    except ScheduleInvalidError:
        return f"{job.expression} {job.timezone}"
