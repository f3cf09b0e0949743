"""The command that shows more of a cause, or ends it: a step between what to do and starting the run again. Pure."""

from __future__ import annotations

import re
import shlex

from cronce.ecs import JobDefinition
from cronce.operate.advice import Commands, Step
from cronce.operate.aws_causes import aws_cause
from cronce.operate.facts import Facts, NotKnown, ServiceFact
from cronce.protocol.records import RunRecord

HOST_CLOCK = "chronyc tracking"
"""Amazon Linux and most distributions synchronize by chrony (EC2 User Guide, "Set the time reference")."""

ZONE_DATA = "python3 -m pip install --upgrade tzdata"

_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+")

_OF_CAPACITY = ("capacity-provider-missing", "no-capacity", "cluster-gone")
_OF_STACK = (
    "image-missing",
    "log-missing",
    "no-address",
    "no-network",
    "no-network-interface",
    "not-prepared",
    "permission-lost",
    "quota-reached",
    "revision-gone",
    "role-gone",
    "secret-missing",
    "security-group-gone",
    "subnet-gone",
    "throttled",
    "table-missing",
    "period-fixed",
)
"""Causes in what is deployed, of which `cronce doctor` says more."""


def command_for(code: str, facts: Facts, commands: Commands) -> Step | None:
    """The step for a cause with that code; None if the commands about the run are enough."""
    if code == "ledger-unreachable" and (found := aws_cause(facts.logged)) is not None:
        code = found.code
    if code in _OF_CAPACITY and isinstance(facts.definition, JobDefinition):
        return look_at_cluster(facts.definition)
    if code == "key-unusable":
        key = enable_key(*_texts(facts))
        return Step("To enable the key:", key) if key else Step("To find the key:", commands.doctor())
    if code == "clock-skew":
        return Step("On that host (not on Fargate, where AWS does it), see how its clock is synchronized:", HOST_CLOCK)
    if code in _OF_STACK:
        return Step("To see what else its next tick lacks:", commands.doctor())
    return None


def look_at_cluster(job: JobDefinition) -> Step:
    """The step that shows the cluster of the job."""
    return Step("The state of its cluster, and its capacity providers:", describe_cluster(str(job.target["Arn"])))


def describe_cluster(cluster: str) -> str:
    """Show the state of the cluster with that ARN: instances and capacity providers."""
    wanted = "clusters[].[clusterName,status,registeredContainerInstancesCount,capacityProviders]"
    return shlex.join(["aws", "ecs", "describe-clusters", "--clusters", cluster, "--query", wanted])


def enable_key(*texts: str) -> str | None:
    """Enable the key that one of the texts names; None if none does."""
    key = next((found[0] for text in texts if (found := _KEY.search(text))), None)
    return f"aws kms enable-key --key-id {key}" if key else None


def set_desired_count(service: ServiceFact) -> str:
    """Let the service of a clock have one task."""
    words = ["aws", "ecs", "update-service", "--cluster", service.cluster, "--service", service.name]
    return shlex.join([*words, "--desired-count", "1"])


def _texts(facts: Facts) -> list[str]:
    row = facts.row
    if isinstance(row, NotKnown):
        return [row.why]
    recorded = [row.reason or "", row.error or ""] if isinstance(row, RunRecord) else []
    return [*recorded, facts.logged, *(task.cause for task in facts.tasks)]
