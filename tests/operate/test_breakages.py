"""Breakages that a person meets: the first sentence is the cause, and a step has the command to type next.

Each is what AWS or the ledger answers then; `cronce why` explains one run, `cronce doctor` checks the stack. Those of
`tests/e2e/test_why.py` are made for real.
"""

from __future__ import annotations

import json
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.client.leadership import LEADER
from cronce.operate.checks import Review, State, zones
from cronce.operate.facts import NotKnown, ServiceFact
from cronce.operate.look_up import RowKind
from cronce.protocol.records import RunRecord
from cronce.schedule import ZoneData
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import replace
from cronce.watch.launches import WATCHDOG_LOOK
from tests.operate.test_examining import URL, Stack
from tests.operate.test_why import MISSED, NOW, TASK, ended, explained, facts, task
from tests.support.builders import JOB, T0, run
from tests.support.cloud import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.operate.facts import Facts

KEY = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
USER = "User: arn:aws:sts::111122223333:assumed-role/digest/x is not authorized to perform: "
ENABLE = f"aws kms enable-key --key-id {KEY}"
DOCTOR = "cronce doctor"
CLUSTERS = f"aws ecs describe-clusters --clusters {CLUSTER} --query "


def unlaunched(error: str, code: str = "ClientException") -> RunRecord:
    """The row of a tick that EventBridge Scheduler could not start: its dead letter has the error."""
    return ended(MISSED, f"launch_failed: {code}", attempt=0, error=error)


def stopped(reason: str) -> RunRecord:
    """The row of a task that stopped before it claimed."""
    return ended(Status.FAILED, Reason.LAUNCH_FAILED, attempt=0, error=reason)


def unable(logged: str) -> Facts:
    """A task whose guard could not use the ledger, with the last line of its log."""
    return facts(ended(Status.FAILED, Reason.LAUNCH_FAILED, attempt=0, exit_code=69), logged=logged)


def clock(desired: int) -> Facts:
    """The leader's row, and the service of its clock."""
    service = ServiceFact(name="clock", cluster="jobs", status="ACTIVE", desired=desired, running=desired)
    return facts(run(job="clock", period=LEADER), kind=RowKind.LEADER, job="clock", service=service, now=T0)


WHY: dict[str, tuple[Facts, str, str]] = {
    "the capacity provider is not the cluster's": (
        facts(
            unlaunched(
                "The specified capacity provider strategy cannot contain a capacity provider that is not associated"
                " with the cluster. Associate the capacity provider with the cluster and try again.",
                "InvalidParameterException",
            )
        ),
        "The capacity provider of its schedule does not exist, or is not associated with its cluster.",
        CLUSTERS,
    ),
    "the capacity provider adds no instance": (
        facts(now=T0 + timedelta(minutes=9), tasks=(task(status="PROVISIONING", created_at=T0, stopped_at=None),)),
        "waits for capacity or a network interface (PROVISIONING, created",
        CLUSTERS,
    ),
    "the recorder's rule is disabled": (
        facts(ended(Status.FAILED, Reason.LEASE_LOST), url=URL),
        "Its task sent no heartbeats until its lease expired, and the recorder reported no end of it.",
        DOCTOR,
    ),
    "the queue's policy lets no dead letter in": (
        facts(ended(MISSED, Reason.NEVER_DELIVERED, attempt=0)),
        "No task claimed it: EventBridge Scheduler delivered no task that asked the ledger.",
        DOCTOR,
    ),
    "the key of the table is disabled": (
        facts(NotKnown("the ledger", f"AccessDeniedException: KMS key access denied error: {KEY} is disabled.")),
        "The encryption key (KMS) of the ledger's table cannot be used, so no task can claim a run.",
        ENABLE,
    ),
    "the key was disabled for the tasks": (
        unable(f"the table runs: AccessDeniedException: KMS key access denied error: {KEY} is disabled."),
        "Its task could not use the ledger (exit code 69), so the work did not start: an encryption key (KMS) that it",
        ENABLE,
    ),
    "the clock of a host is wrong": (
        facts(ended(Status.FAILED, Reason.CLOCK_SKEW)),
        "It was given back because its host's clock differs from the store's.",
        "chronyc tracking",
    ),
    "the job was renamed": (
        facts(definition=None, history=(run(period="2026-11-28T06:00:00Z"),), similar=("daily-digests",)),
        "The job has no schedule any more, so nothing starts it: its stack was removed, or it was renamed.",
        "cronce why daily-digests",
    ),
    "the name is mistyped": (
        facts(definition=None, period=None, tick=None, similar=("daily-digests",)),
        "The job is not known: the table runs has no run of it, and no schedule starts it.",
        "cronce why daily-digests",
    ),
    "no egress": (
        facts(stopped("ResourceInitializationError: unable to pull secrets or registry auth: i/o timeout")),
        "Its task could not reach a service that ECS needs to start it: the registry, its secrets or its log.",
        DOCTOR,
    ),
    "no free address": (
        facts(unlaunched("RESOURCE:ENI; InsufficientFreeAddressesInSubnet: insufficient free addresses")),
        "Its subnets have no free address.",
        DOCTOR,
    ),
    "ECR may not be read": (
        facts(stopped(f"ResourceInitializationError: AccessDeniedException: {USER}ecr:GetAuthorizationToken on *")),
        "The permission ecr:GetAuthorizationToken is missing.",
        DOCTOR,
    ),
    "a secret may not be read": (
        facts(stopped(f"ResourceInitializationError: fetching secret data: {USER}secretsmanager:GetSecretValue on x")),
        "The permission secretsmanager:GetSecretValue is missing.",
        DOCTOR,
    ),
    "the cluster was deleted": (
        facts(unlaunched("Cluster not found.", "ClusterNotFoundException")),
        "The cluster",
        CLUSTERS,
    ),
    "a quota of the account": (
        facts(unlaunched("You've reached the limit on the number of tasks that you can run concurrently")),
        "A quota of the account is used up.",
        DOCTOR,
    ),
    "the log group was deleted": (
        facts(stopped("ResourceInitializationError: failed to validate logger args: log group does not exist")),
        "The log group of its container does not exist, or cannot be written.",
        DOCTOR,
    ),
    "the table is throttled": (
        unable("the table runs: ProvisionedThroughputExceededException: Rate exceeded"),
        "Its task could not use the ledger (exit code 69), so the work did not start: AWS refused the requests because",
        f"cronce rerun {JOB} ",
    ),
    "the ledger is throttled for the person": (
        facts(NotKnown("the ledger", "ThrottlingException: Rate exceeded")),
        "The ledger cannot be read from here, so it is unknown what happened: AWS refused the requests because there",
        DOCTOR,
    ),
    "the clock's service has two tasks": (
        clock(2),
        "The clock leads, but its service clock has a desired count of 2 instead of 1.",
        "aws ecs update-service --cluster jobs --service clock --desired-count 1",
    ),
    "the clock's service is at zero": (
        clock(0),
        "The clock is stopped: its service clock has a desired count of 0, so nothing sends its ticks.",
        "aws ecs update-service --cluster jobs --service clock --desired-count 1",
    ),
    "the revisions were deregistered": (
        facts(unlaunched("Unable to describe task definition.")),
        "The revision of the task definition that its schedule starts does not exist any more.",
        DOCTOR,
    ),
}


@pytest.mark.parametrize("breakage", WHY)
def test_why_names_the_cause_and_the_next_command(breakage: str) -> None:
    """The command is not the last resort, the rerun, where something has to be mended first."""
    of, sentence, command = WHY[breakage]
    cause = explained(of).cause
    assert sentence in cause.sentence
    assert [step.command for step in cause.steps if (step.command or "").startswith(command)]


def test_a_watchdog_that_may_not_run_is_told_beside_the_cause() -> None:
    """Its reserved concurrency is 0, or its rule is disabled: the doctor says which."""
    found = explained(
        facts(run(period="2026-11-29T06:00:00Z", status=Status.SUCCEEDED), looked_at=NOW - timedelta(hours=2))
    )
    (silent,) = [each for each in found.also if each.code == "watchdog-silent"]
    assert silent.sentence.startswith("The watchdog last looked 2h ago: missed ticks and lost runs are not recorded")
    assert [step.command for step in silent.steps] == [DOCTOR]


def test_a_lost_run_outside_dynamodb_has_no_recorder() -> None:
    """Nor has one whose owner is no task."""
    row = ended(Status.FAILED, Reason.LEASE_LOST)
    told = "Its owner ended without a report: it sent no heartbeats any more, and its lease expired."
    assert explained(facts(row, url="postgresql://ada@db.example.com/shop")).cause.sentence == told
    assert explained(facts(replace(row, owner="host:1"), url=URL)).cause.sentence == told
    assert row.owner == TASK


def _policy(stack: Stack) -> None:
    deny = {"Effect": "Deny", "Action": "sqs:SendMessage", "Principal": "*", "Resource": "*"}
    secure = {"Effect": "Deny", "Action": "sqs:*", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
    attributes = {"ApproximateNumberOfMessages": "0", "Policy": json.dumps({"Statement": [secure, deny]})}
    stack.services["sqs"].answers["get_queue_attributes"] = {"Attributes": attributes}


def _provider(stack: Stack) -> None:
    parameters = stack.scheduler.schedules["daily-digest-0123456789ab"]["Target"]["EcsParameters"]
    parameters["CapacityProviderStrategy"] = [{"capacityProvider": "spot", "weight": 1}]
    describe = stack.ecs.describe_clusters

    def described(**request: Any) -> Any:  # noqa: ANN401
        answer = describe(**request)
        return {"clusters": [each | {"capacityProviders": ["FARGATE"]} for each in answer["clusters"]]}

    stack.ecs.describe_clusters = described  # type: ignore[method-assign]


def _renamed(stack: Stack) -> None:
    assert stack.store.swap(run(job="old-digest", status=Status.SUCCEEDED, finished_at=T0), None).written
    gone = json.dumps({"gone": ["old-digest-0123456789ab", "removed-last-year-0123456789ab"]})
    row = stack.store.get(WATCHDOG_LOOK, f"run#{LEADER}")
    assert isinstance(row, RunRecord)
    assert stack.store.swap(replace(row, version=row.version + 1, checkpoint=gone), row).written


def _rule(stack: Stack) -> None:
    stack.services["events"].answers["describe_rule"] = {"State": "DISABLED"}


def _concurrency(stack: Stack) -> None:
    stack.services["lambda"].answers["get_function_concurrency"] = {"ReservedConcurrentExecutions": 0}


def _desired(stack: Stack) -> None:
    stack.ecs.services["clock-1"]["desiredCount"] = 2


DOCTORS: dict[str, tuple[Callable[[Stack], None], str, str, str]] = {
    "capacity provider": (_provider, "clusters", "no capacity provider spot (daily-digest)", CLUSTERS),
    "recorder's rule": (
        _rule,
        "rules",
        "disabled, and invokes the recorder no more: rule",
        "aws events enable-rule --name rule",
    ),
    "queue policy": (
        _policy,
        "dead-letters",
        "the policy of runs-dead-letters refuses messages",
        "aws sqs get-queue-attributes --queue-url https://queue --attribute-names Policy",
    ),
    "renamed job": (_renamed, "schedules", "without a schedule: old-digest", "cronce why old-digest"),
    "watchdog's concurrency": (
        _concurrency,
        "functions",
        "recorder may not run: its reserved concurrency is 0",
        "aws lambda delete-function-concurrency --function-name recorder",
    ),
    "clock at two": (
        _desired,
        "clock",
        "the service of the clock clock has a desired count of 2 instead of 1",
        "cronce why clock",
    ),
}


@pytest.mark.parametrize("breakage", DOCTORS)
def test_doctor_names_the_cause_and_the_next_command(breakage: str) -> None:
    """In the first line that is not ok."""
    break_it, name, sentence, command = DOCTORS[breakage]
    stack = Stack("daily-digest")
    break_it(stack)
    (first, *_) = [check for check in stack.checks() if check.state in (State.PROBLEM, State.WARNING)]
    assert (first.name, first.sentence) == (name, sentence)
    assert (first.command or "").startswith(command)


def test_a_policy_that_only_wants_tls_is_well() -> None:
    """The constructs make such a one."""
    stack = Stack("daily-digest")
    _policy(stack)
    attributes = stack.services["sqs"].answers["get_queue_attributes"]["Attributes"]
    attributes["Policy"] = json.dumps({"Statement": json.loads(attributes["Policy"])["Statement"][:1]})
    assert stack.wrong() == []
    for odd in ("[]", "{", '{"Statement": "x"}', '{"Statement": [1]}'):
        attributes["Policy"] = odd
        assert stack.wrong() == []


def test_the_key_of_the_table_has_the_command_that_enables_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor meets it at its first request."""

    def refuse(_store: object, _job: str, _key: str) -> None:
        raise LedgerUnavailableError("runs", f"AccessDeniedException: KMS key access denied: {KEY}", transient=False)

    monkeypatch.setattr(MemoryStore, "get", refuse)
    (check, *_) = [check for check in Stack("daily-digest").checks() if check.name == "ledger"]
    assert check.sentence.startswith("An encryption key (KMS) that it needs is disabled, deleted, or not allowed")
    assert check.command == ENABLE


@pytest.mark.parametrize(
    ("version", "state"), [("2024b", State.WARNING), ("2025a", State.OK), ("2026a", State.OK), ("unknown", State.OK)]
)
def test_zone_data_of_two_years_ago_is_old(version: str, state: State) -> None:
    """IANA publishes several versions in most years."""
    (check,) = zones({"Europe/Berlin": [ZoneData(version=version, source="system", zone=UTC)]}, T0)
    assert check.state is state
    if state is State.WARNING:
        expected = Review(
            "zone-data",
            state,
            "the zone data here is old: 2024b (system)",
            "a country may have changed its clocks since then: a tick may be computed an hour off, or not at all",
            "python3 -m pip install --upgrade tzdata",
        )
        assert check == expected
