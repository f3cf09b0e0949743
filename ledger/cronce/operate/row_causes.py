"""The cause that the row of a run names, with what ECS says of its task. Pure."""

from __future__ import annotations

from cronce.operate.advice import Step
from cronce.operate.aws_causes import Cause, aws_cause
from cronce.operate.diagnosis import Diagnosis
from cronce.operate.ends import cause_of_end
from cronce.operate.facts import TaskFact
from cronce.operate.wording import in_the_way, one_line
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Reason, Status

NO_CLAIM = "No task claimed it: EventBridge Scheduler delivered no task that asked the ledger."


def first_sentence(run: RunRecord) -> str:
    """The cause in a sentence, from the row alone, of a run that neither succeeded nor is active."""
    found = cause_of_row(run)
    return NO_CLAIM if found is None else found.sentence


def cause_of_row(run: RunRecord, task: TaskFact | None = None, logged: str = "") -> Diagnosis | None:
    """The cause of a run that neither succeeded nor is active, as its row names it; None if no task claimed it.

    Args:
        run: The run.
        task: Its task, as ECS describes it.
        logged: The last line of the task's log.
    """
    match run.reason:
        case Reason.OVERLAP:
            sentence = f"It was skipped because {in_the_way(run)} was active when it was due."
            return Diagnosis(code="overlap", sentence=sentence)
        case Reason.SUSPENDED:
            return Diagnosis(code="suspended", sentence="It was skipped because the job's policy has suspend=true.")
        case Reason.PAUSED:
            who, why = run.actor or "a person", f": {one_line(run.note)}" if run.note else ""
            return Diagnosis(code="paused", sentence=f"It was skipped because {who} had paused the job{why}.")
        case Reason.TOO_LATE:
            return Diagnosis(
                code="deadline-expired", sentence="It was not started because it came after its starting deadline."
            )
        case Reason.ACTIVE_DEADLINE:
            return Diagnosis(code="deadline-passed", sentence="It ran longer than its active deadline and was stopped.")
        case Reason.UNCLAIMED:
            sentence = "Its image has no guard: a task ran to its end and never claimed the run."
            more = "Its command does not run under 'cronce exec', nor does its program call run_once."
            return Diagnosis(code="unguarded", sentence=sentence, more=more)
        case Reason.NEVER_CLAIMED:
            sentence = "Its task is at work and has not claimed the run: it has no guard, or still waits for capacity."
            return Diagnosis(code="unguarded", sentence=sentence)
        case Reason.NEVER_DELIVERED:
            return None
        case Reason.RELEASED:
            return Diagnosis(code="released", sentence=f"It was released by {run.actor or 'a person'}.")
        case Reason.REPLACED:
            return Diagnosis(code="replaced", sentence="It was stopped because a newer run of the job replaced it.")
        case Reason.CLOCK_SKEW:
            return Diagnosis(
                code="clock-skew", sentence="It was given back because its host's clock differs from the store's."
            )
        case Reason.SLOT_UNUSABLE:
            return Diagnosis(
                code="slot-unusable", sentence="It was given back because the job's slot could not be read or written."
            )
        case _:
            return _of_end(run, task, logged)


def _of_end(run: RunRecord, task: TaskFact | None, logged: str) -> Diagnosis:
    """Of a task that ended by itself, was ended, or never began."""
    texts = (task.container_reason, task.cause, run.error) if task else (run.error,)
    code = run.exit_code if run.exit_code is not None else (task.exit_code if task else None)
    cause = cause_of_end(code, *texts, logged=logged)
    if (run.reason or "").startswith(Reason.LAUNCH_FAILED):
        return _of_launch(run, cause)
    if run.reason == Reason.INTERRUPTED:
        told = one_line(task.stopped_reason) if task and task.stopped_reason else ""
        if cause is not None and cause.code not in ("command-failed", "terminated", "killed"):
            return diagnosis_of(cause)
        by = f": {told}" if told else ""
        return Diagnosis(code="interrupted", sentence=f"Its task was stopped from outside while it worked{by}.")
    if run.reason in LOST_REASONS and (cause is None or cause.code == "command-failed"):
        return Diagnosis(
            code="owner-lost",
            sentence="Its owner ended without a report: it sent no heartbeats any more, and its lease expired.",
        )
    if cause is not None:
        return diagnosis_of(cause)
    told = f": {one_line(run.error)}" if run.error else ""
    return Diagnosis(code="work-failed", sentence=f"Its work failed{told}.")


def _of_launch(run: RunRecord, said: Cause | None) -> Diagnosis:
    """Of a task that was not started, or stopped before it claimed. The error says more than the code in the reason."""
    cause = said or aws_cause(run.reason or "")
    if cause is None:
        code = (run.reason or "").partition(": ")[2]
        told = ": ".join(part for part in (code, one_line(run.error or "")) if part)
        return Diagnosis(code="launch-failed", sentence=f"Its task could not be started{': ' + told if told else ''}.")
    if cause.code == "permission-lost" and run.status is Status.MISSED:
        return diagnosis_of(
            Cause(cause.code, f"{cause.sentence}, so EventBridge Scheduler could not start its task", cause.remedy)
        )
    return diagnosis_of(cause)


def diagnosis_of(cause: Cause) -> Diagnosis:
    """The cause as a finding, with its remedy as the first step."""
    steps = (Step(cause.remedy),) if cause.remedy else ()
    return Diagnosis(code=cause.code, sentence=f"{cause.sentence}.", steps=steps)
