"""The EventBridge schedules of a job, one per expression; the first one is also the definition of the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce.vocabulary.environment import FURTHER_SCHEDULES
from cronce.vocabulary.names import further_schedule_name


def further_variables(expressions: Sequence[str]) -> dict[str, str]:
    """Return the variable by which the first schedule, as the job's definition, names the other expressions."""
    return {FURTHER_SCHEDULES: "; ".join(expressions[1:])} if expressions[1:] else {}


def schedules_of_job(
    scope: Construct,
    name: str,
    expressions: Sequence[str],
    **properties: Any,  # noqa: ANN401  # those of a CfnSchedule
) -> tuple[scheduler.CfnSchedule, list[scheduler.CfnSchedule]]:
    """Create one schedule per expression, equal in everything else; return the first one and the further ones.

    The name of a further schedule follows from its expression, so no change of the list moves it to another time:
    CloudFormation creates the new one before it deletes the old one. The first schedule depends on the others,
    because readers expect the ticks of all expressions that it names.
    """
    first, *further = expressions
    schedule = scheduler.CfnSchedule(scope, "Schedule", name=name, schedule_expression=first, **properties)
    others = []
    for expression in further:
        its_name = further_schedule_name(name, expression)
        construct_id = f"Schedule{its_name.rpartition('.')[2]}"
        other = scheduler.CfnSchedule(scope, construct_id, name=its_name, schedule_expression=expression, **properties)
        schedule.add_dependency(other)
        others.append(other)
    return schedule, others
