"""Whether the roles of the jobs may do what they must, as IAM simulates it.

For any number of jobs at most: three SimulatePrincipalPolicy per role of a schedule (20), one per role of a task (20).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cronce.client.at_once import at_once
from cronce.ecs import JobDefinition
from cronce.operate.aws_requests import AwsRequests
from cronce.operate.checks import Review, State, ok, some
from cronce.operate.launching import Definitions, revision_of
from cronce.operate.wording import count
from cronce.stores.urls import region_of, table_of
from cronce.vocabulary.ledger_urls import is_in_dynamodb

_MOST_ROLES = 20

CLAIMING = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem")
"""What a task needs to claim, renew and finish its runs; `RunLedger.grant_claim` allows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Simulation:
    """What IAM is asked about a role.

    Attributes:
        job: The job for which it is asked, for messages.
        context: The entries of its context; empty if no condition looks at one.
    """

    role: str
    job: str
    actions: Sequence[str]
    resources: Sequence[str]
    context: Sequence[Mapping[str, object]] = ()


def roles(jobs: Sequence[JobDefinition], definitions: Definitions, aws: AwsRequests, url: str) -> Iterator[Review]:
    """Whether the roles of the schedules may run and pass, and those of the tasks may claim in a ledger in DynamoDB.

    Args:
        jobs: The jobs.
        definitions: The task definitions that they start.
        aws: Asks IAM.
        url: URL of the ledger.
    """
    firing = {str(job.target["RoleArn"]): job for job in reversed(jobs)}
    working = {
        str(definition["taskRoleArn"]): job
        for job in reversed(jobs)
        if is_in_dynamodb(url) and (definition := definitions.get(revision_of(job))) and definition.get("taskRoleArn")
    }
    of_schedules = [
        each for role in sorted(firing)[:_MOST_ROLES] for each in _of_schedule(role, firing[role], definitions)
    ]
    of_tasks = [_of_task(role, working[role], url) for role in sorted(working)[:_MOST_ROLES]]
    answers = at_once(lambda each: _denied(each, aws), [*of_schedules, *of_tasks])
    if refused := next((answer for answer in answers if isinstance(answer, Review)), None):
        yield refused
        return
    denied = [answer for answer in answers if not isinstance(answer, Review)]
    yield from _judged(
        "schedule",
        len(firing),
        denied[: len(of_schedules)],
        may="run the task, and pass both of its roles",
        without="EventBridge Scheduler cannot start the task; each tick becomes a dead letter",
    )
    yield from _judged(
        "task",
        len(working),
        denied[len(of_schedules) :],
        may="claim the runs of its job",
        without="its task cannot use the ledger and ends with 69; grant_claim allows it",
    )


def _judged(whose: str, number: int, denied: Sequence[Sequence[str]], *, may: str, without: str) -> Iterator[Review]:
    """The check of the roles of schedules or of tasks.

    Args:
        whose: `schedule` or `task`.
        number: How many such roles there are.
        denied: What each simulation denied.
        may: What they may do if nothing is denied.
        without: What happens if something is.
    """
    if lacking := [*dict.fromkeys(each for of_role in denied for each in of_role)]:
        sentence = f"the role of the {whose} lacks {some(lacking)}"
        yield Review("roles", State.PROBLEM, sentence, f"{without}: deploy the stack")
    elif number:
        beyond = f"; {number - _MOST_ROLES} more were not simulated" if number > _MOST_ROLES else ""
        simulated = count(min(number, _MOST_ROLES), "role")
        yield ok("roles", f"{simulated} of {whose}s: each may {may}{beyond}")


def _denied(asked: _Simulation, aws: AwsRequests) -> list[str] | Review:
    """The actions that IAM denies, each with the job; a check if IAM does not answer."""
    answer = aws.ask(
        "iam",
        "simulate_principal_policy",
        asked.role,
        PolicySourceArn=asked.role,
        ActionNames=[*asked.actions],
        ResourceArns=[*asked.resources],
        ContextEntries=[*asked.context],
    )
    if isinstance(answer, Review):
        missing = "NoSuchEntity" in answer.sentence
        return [f"{asked.role} itself ({asked.job})"] if missing else Review("roles", State.UNKNOWN, answer.sentence)
    results = answer.get("EvaluationResults", ())
    denied = [str(one.get("EvalActionName")) for one in results if one.get("EvalDecision") != "allowed"]
    return [f"{action} ({asked.job})" for action in dict.fromkeys(denied)]


def _of_schedule(role: str, job: JobDefinition, definitions: Definitions) -> Iterator[_Simulation]:
    ask = partial(_Simulation, role=role, job=job.job)
    definition: Mapping[str, Any] = definitions.get(revision_of(job), {})
    cluster = _context("ecs:cluster", str(job.target["Arn"]))
    yield ask(actions=["ecs:RunTask"], resources=[revision_of(job)], context=[cluster])
    if passed := [str(definition[key]) for key in ("taskRoleArn", "executionRoleArn") if definition.get(key)]:
        service = _context("iam:PassedToService", "ecs-tasks.amazonaws.com")
        yield ask(actions=["iam:PassRole"], resources=passed, context=[service])
    if queue := job.target.get("DeadLetterConfig", {}).get("Arn"):
        yield ask(actions=["sqs:SendMessage"], resources=[str(queue)])


def _of_task(role: str, job: JobDefinition, url: str) -> _Simulation:
    partition, region, account = (str(job.target["Arn"]).split(":")[part] for part in (1, 3, 4))
    table = table_of(url)
    if not table.startswith("arn:"):
        table = f"arn:{partition}:dynamodb:{region_of(url) or region}:{account}:table/{table}"
    key = _context("dynamodb:LeadingKeys", job.job, kind="stringList")
    return _Simulation(role=role, job=job.job, actions=CLAIMING, resources=[table], context=[key])


def _context(key: str, value: str, *, kind: str = "string") -> dict[str, object]:
    return {"ContextKeyName": key, "ContextKeyValues": [value], "ContextKeyType": kind}
