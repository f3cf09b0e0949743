"""Further schedules of a job that do not start what its first one says, and the ticks that are lost by that. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cronce.ecs import JobDefinition
from cronce.operate.advice import Step
from cronce.operate.diagnosis import Diagnosis
from cronce.operate.facts import Facts
from cronce.schedule import ScheduleInvalidError


def tick_without_schedule(facts: Facts) -> Diagnosis | None:
    """The diagnosis of a tick that only faulty schedules have; None if it has another one, or if that is not known."""
    job = facts.definition
    if not facts.faults or facts.tick is None or not isinstance(job, JobDefinition):
        return None
    try:
        names = job.schedules_with(facts.tick)
    except ScheduleInvalidError:
        return None
    if not names or not all(name in facts.faults for name in names):
        return None
    return replace(_diagnosis(names[0], facts.faults[names[0]]), more="Nothing else starts this tick.")


def faulty_schedules(facts: Facts) -> Iterator[Diagnosis]:
    """The diagnosis of each faulty schedule, whatever happened to the tick."""
    return (_diagnosis(name, fault) for name, fault in facts.faults.items())


def _diagnosis(name: str, fault: str) -> Diagnosis:
    return Diagnosis(
        code="further-schedule",
        sentence=f"Its schedule {name} {fault}.",
        steps=(Step("Deploy the stack of the job, so that all of its schedules are what the first one says."),),
    )
