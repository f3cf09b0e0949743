"""Whether a hint from outside fits the definition of the job that it names. Pure.

An event, a dead letter and the overrides of a task are only hints: anybody who may call RunTask on some task
definition, or send to the queue, chooses their text. The job's own schedule says which account, cluster and task
definition its tasks have, and which periods exist.
"""

from __future__ import annotations

import re
from datetime import datetime

from cronce import Status
from cronce.ecs import JobDefinition
from cronce.ecs.tasks import family_of
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.protocol.retrying import never_began
from cronce.vocabulary.names import scheduled_time_of
from cronce_lambdas.dead_letters import DeadLetter
from cronce_lambdas.stopped_task import StoppedTask

_SCHEDULE = re.compile(r"arn:[^:]+:scheduler:[^:]+:(?P<account>[^:]*):schedule/(?P<group>[^/]+)/.+")


def foreign_task(task: StoppedTask, job: JobDefinition) -> str | None:
    """Why the task cannot be a task of the job; None if account, cluster and family are the definition's."""
    cluster = str(job.target["Arn"])
    if task.cluster != cluster or task.account != account_of(cluster):
        return "its cluster is not the job's"
    if task.arn.startswith("arn:") and (
        account_of(task.arn) != task.account or _cluster_in(task.arn) not in ("", cluster.partition("/")[2])
    ):
        return "its ARN is not of the job's cluster"
    if family_of(task.task_definition) != family_of(str(job.target["EcsParameters"]["TaskDefinitionArn"])):
        return "its task definition is not the job's"
    return None


def foreign_letter(letter: DeadLetter, job: JobDefinition) -> str | None:
    """Why the letter cannot be about the job; None if account and group of its schedule are the definition's."""
    if not letter.schedule_arn:  # a person sent the message on; who may send could also write an ARN
        return None
    schedule = _SCHEDULE.fullmatch(letter.schedule_arn)
    if schedule is None:
        return "it names no schedule"
    if (schedule["account"], schedule["group"]) != (account_of(str(job.target["Arn"])), job.group_name):
        return "its schedule is not in the job's group"
    return None


def no_tick(job: JobDefinition, period: str, scheduled_at: datetime | None) -> str | None:
    """Why no row may be created for the period; None if it is the period of a tick of the job."""
    if scheduled_at is None or period != job.period_of(scheduled_at):
        return "its period is no tick of the schedule"
    return None if job.may_have_tick(scheduled_at) else "its time is no tick of the schedule"


def in_the_future(period: str, scheduled_at: datetime | None, now: datetime) -> bool:
    """True if the period, or the tick that it belongs to, has not come yet."""
    times = (scheduled_at, scheduled_time_of(period))
    return any(at is not None and at > now + MAX_CLOCK_SKEW for at in times)


def is_settled(run: RunRecord, owner: str) -> bool:
    """True if nothing about the run follows from the stop of this task, so that no definition has to be read."""
    if run.attempt == 0:
        return not never_began(run) and run.status is not Status.FAILED
    if run.status is Status.RUNNING:
        return run.owner != owner
    return run.status is not Status.FAILED or any(past.owner == owner for past in run.attempts)


def account_of(arn: str) -> str:
    """The account in an ARN; empty if it has none."""
    parts = arn.split(":")
    return parts[4] if len(parts) > 5 else ""


def _cluster_in(task_arn: str) -> str:
    """`jobs` of `arn:...:task/jobs/0123`; the old form of a task's ARN has no cluster."""
    parts = task_arn.split("/")
    return parts[1] if len(parts) > 2 else ""
