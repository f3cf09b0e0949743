"""Whether the tasks of the jobs could start: revisions, images, log groups, secrets, clusters and networks.

For any number of jobs at most: one DescribeTaskDefinition per revision (200), one DescribeLogGroups per log group (50),
one DescribeSecret per secret (50), one DescribeImages per image of ECR (50), one DescribeClusters, one DescribeSubnets
and one DescribeSecurityGroups.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cronce.aws.errors import CallRefusedError
from cronce.client.at_once import at_once
from cronce.ecs import JobDefinition, Launcher
from cronce.operate.aws_requests import AwsRequests
from cronce.operate.checks import Review, State, ok, some, unknown
from cronce.operate.facts import revision_fact
from cronce.operate.gathering import why_not
from cronce.operate.remedies import describe_cluster
from cronce.operate.task_variables import wrong_variable
from cronce.operate.wording import count
from cronce.vocabulary.errors import CronceError

Definitions = Mapping[str, Mapping[str, Any]]
"""ARN of an active revision -> its task definition."""

_MOST_REVISIONS, _MOST_OTHERS, _MOST_FILTERED, _MOST_CLUSTERS = 200, 50, 200, 100
_OF_ECR = re.compile(r"(?P<registry>\d{12})\.dkr\.ecr\.[^/]+/(?P<repository>[^:@]+)(?:@(?P<digest>.+)|:(?P<tag>.+))?")
_MISSING = ("NotFound", "NonExistent", "DoesNotExist", "NoSuch")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A part of the network of a task, and how EC2 describes it.

    Attributes:
        key: Of the list in the configuration of a network.
        id: Of the identifier in an item of the answer.
    """

    name: str
    key: str
    operation: str
    filter: str
    items: str
    id: str


_NETWORK = (
    _Kind("subnet", "Subnets", "describe_subnets", "subnet-id", "Subnets", "SubnetId"),
    _Kind("security group", "SecurityGroups", "describe_security_groups", "group-id", "SecurityGroups", "GroupId"),
)


def revision_of(job: JobDefinition) -> str:
    """The ARN of the revision that its schedule starts."""
    return str(job.target["EcsParameters"]["TaskDefinitionArn"])


class Launching:
    """Checks what the tasks of the jobs need before their first command runs."""

    def __init__(self, launcher: Launcher, aws: AwsRequests, jobs: Sequence[JobDefinition], url: str) -> None:
        self._launcher, self._aws, self._jobs, self._url = launcher, aws, jobs, url
        self.definitions: dict[str, Mapping[str, Any]] = {}

    def checks(self) -> Iterator[Review]:
        """Every check; fills `definitions`."""
        yield from self._revisions()
        yield from self._variables()
        containers = [each for found in self.definitions.values() for each in found.get("containerDefinitions", ())]
        yield from self._logs(containers)
        yield from self._secrets(containers)
        yield from self._images(containers)
        yield from self._clusters()
        yield from self._networks()

    def _revisions(self) -> Iterator[Review]:
        arns = sorted({revision_of(job) for job in self._jobs})[:_MOST_REVISIONS]

        def described(arn: str) -> tuple[str, Mapping[str, Any]] | Review:
            try:
                answer = self._launcher.ecs.call("describe_task_definition", arn, taskDefinition=arn)
            except CallRefusedError as error:
                return unknown("revision", why_not(error)) if error.code != "ClientException" else ("MISSING", {})
            except CronceError as error:
                return unknown("revision", why_not(error))
            found: Mapping[str, Any] = answer["taskDefinition"]
            return str(found.get("status") or "ACTIVE"), found

        gone = False
        refused: list[Review] = []
        for arn, answer in zip(arns, at_once(described, arns), strict=True):
            if isinstance(answer, Review):
                refused.append(answer)
                continue
            status, found = answer
            if status == "ACTIVE":
                self.definitions[arn] = found
                continue
            gone = True
            users = some(job.job for job in self._jobs if revision_of(job) == arn)
            why = "RunTask refuses it: deploy the stack of the job"
            yield Review("revision", State.PROBLEM, f"{arn} of {users} is {status}", why)
        yield from refused[:1]
        if self.definitions and not gone and not refused:
            yield ok("revision", f"{count(len(self.definitions), 'task definition')}, each ACTIVE")

    def _variables(self) -> Iterator[Review]:
        for job in self._jobs:
            definition = self.definitions.get(revision_of(job))
            given = revision_fact("", definition, job.container).variables if definition else {}
            if found := wrong_variable(job, given, self._url):
                why = "its ticks are not claimed, and its work is done for another period or recorded elsewhere"
                yield Review("variables", State.PROBLEM, f"{job.job}: {found.sentence.rstrip('.')}", why)

    def _logs(self, containers: Sequence[Mapping[str, Any]]) -> Iterator[Review]:
        groups = sorted({group for each in containers for group in _log_groups(each)})
        asked = [(group, partial(self._has_log_group, group)) for group in groups]
        yield from _each_there("logs", "log group", asked, without="ResourceInitializationError")

    def _has_log_group(self, group: str) -> bool | Review:
        answer = self._aws.ask("logs", "describe_log_groups", group, logGroupNamePrefix=group)
        if isinstance(answer, Review):
            return answer
        return group in [each.get("logGroupName") for each in answer.get("logGroups", ())]

    def _secrets(self, containers: Sequence[Mapping[str, Any]]) -> Iterator[Review]:
        """Of Secrets Manager; only their names and dates are read, never a value."""
        places = {str(secret["valueFrom"]) for each in containers for secret in each.get("secrets") or ()}
        arns = sorted({":".join(place.split(":")[:7]) for place in places if ":secretsmanager:" in place})
        asked = [(arn.rpartition(":")[2], partial(self._has_secret, arn)) for arn in arns]
        yield from _each_there("secrets", "secret", asked, without="ResourceInitializationError")

    def _has_secret(self, arn: str) -> bool | Review:
        answer = self._aws.ask("secretsmanager", "describe_secret", arn, SecretId=arn)
        return _false_if_missing(answer) if isinstance(answer, Review) else not answer.get("DeletedDate")

    def _images(self, containers: Sequence[Mapping[str, Any]]) -> Iterator[Review]:
        """Of ECR: no other registry can be asked with the rights of this role."""
        names = sorted({str(each.get("image") or "") for each in containers})
        images = [(name, image) for name in names if (image := _OF_ECR.fullmatch(name))]
        asked = [(name, partial(self._has_image, name, image)) for name, image in images]
        yield from _each_there("images", "image", asked, where=" in ECR", without="CannotPullContainerError")

    def _has_image(self, name: str, image: re.Match[str]) -> bool | Review:
        which = {"imageDigest": image["digest"]} if image["digest"] else {"imageTag": image["tag"] or "latest"}
        where = {"registryId": image["registry"], "repositoryName": image["repository"]}
        answer = self._aws.ask("ecr", "describe_images", name, imageIds=[which], **where)
        return _false_if_missing(answer) if isinstance(answer, Review) else True

    def _clusters(self) -> Iterator[Review]:
        arns = sorted({str(job.target["Arn"]) for job in self._jobs})[:_MOST_CLUSTERS]
        try:
            answer = self._launcher.ecs.call("describe_clusters", arns[0], clusters=arns)
        except CronceError as error:
            yield unknown("clusters", why_not(error))
            return
        found = {str(each.get("clusterArn")): each for each in answer.get("clusters", ())}
        gone = [arn for arn in arns if found.get(arn, {}).get("status") != "ACTIVE"]
        empty = [
            job.job
            for job in self._jobs
            if job.target["EcsParameters"].get("LaunchType") == "EC2"
            and not found.get(str(job.target["Arn"]), {}).get("registeredContainerInstancesCount", 1)
        ]
        if gone:
            users = some(job.job for job in self._jobs if str(job.target["Arn"]) in gone)
            why = f"no task of {users} can start: deploy the stack of the cluster"
            yield Review("clusters", State.PROBLEM, f"no active cluster {some(gone)}", why)
        if empty:
            why = "RunTask finds no capacity for its launch type EC2"
            yield Review("clusters", State.PROBLEM, f"no container instance in the cluster of {some(empty)}", why)
        lacking: dict[str, str] = {}
        for job in self._jobs:
            arn = str(job.target["Arn"])
            there = found.get(arn, {}).get("capacityProviders")
            if there is not None:
                lacking |= {f"{name} ({job.job})": arn for name in _providers(job) if name not in there}
        if lacking:
            show = describe_cluster(next(iter(lacking.values())))
            yield Review("clusters", State.PROBLEM, f"no capacity provider {some(lacking)}", "RunTask refuses it", show)
        if not gone and not empty and not lacking:
            yield ok("clusters", f"{count(len(arns), 'cluster')}, each active")

    def _networks(self) -> Iterator[Review]:
        configured = [_network(job) for job in self._jobs]
        wanted = {
            kind.name: sorted({str(each) for network in configured for each in network.get(kind.key) or ()})
            for kind in _NETWORK
        }
        if not any(wanted.values()):
            return
        found: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        for kind in _NETWORK:
            answer = self._filtered(kind, wanted[kind.name])
            if isinstance(answer, Review):
                yield Review("network", State.UNKNOWN, answer.sentence)
                return
            found[kind.name] = answer
        missing = {kind: [each for each in wanted[kind][:_MOST_FILTERED] if each not in found[kind]] for kind in wanted}
        for kind_name, names in missing.items():
            if names:
                yield Review("network", State.PROBLEM, f"no {kind_name} {some(names)}", "RunTask refuses its jobs")
        full = [name for name, each in found["subnet"].items() if each.get("AvailableIpAddressCount") == 0]
        closed = [name for name, each in found["security group"].items() if each.get("IpPermissionsEgress") == []]
        if full:
            yield Review("network", State.WARNING, f"no free address in {some(full)}", "its tasks cannot start")
        alone = [
            job.job
            for job, network in zip(self._jobs, configured, strict=True)
            if network.get("SecurityGroups") and {*network["SecurityGroups"]} <= {*closed}
        ]
        if alone:
            why = f"its tasks can pull no image, read no secret and reach no ledger: {some(closed)} has no egress rule"
            yield Review("network", State.PROBLEM, f"no egress for {some(alone)}", why)
        if not any(missing.values()) and not full and not alone:
            told = [count(len(wanted[kind]), kind) for kind in wanted if wanted[kind]]
            yield ok("network", f"{' and '.join(told)}, each there")

    def _filtered(self, kind: _Kind, ids: Sequence[str]) -> dict[str, Mapping[str, Any]] | Review:
        """Those that exist: with a filter, one that does not exist is no error."""
        if not ids:
            return {}
        filters = [{"Name": kind.filter, "Values": [*ids[:_MOST_FILTERED]]}]
        answer = self._aws.ask("ec2", kind.operation, kind.items, Filters=filters)
        if isinstance(answer, Review):
            return answer
        return {str(each[kind.id]): each for each in answer.get(kind.items, ())}


def _each_there(
    check: str, what: str, asked: Sequence[tuple[str, Callable[[], bool | Review]]], *, where: str = "", without: str
) -> Iterator[Review]:
    """Whether each exists; one check for all of them.

    Args:
        check: The name of the check.
        what: What each is: `secret`.
        asked: The name of each, and a call that says whether it exists, or why that is not known.
        where: Where it is looked for.
        without: The error of a task without it.
    """
    missing = []
    for name, exists in asked[:_MOST_OTHERS]:
        found = exists()
        if isinstance(found, Review):
            yield Review(check, State.UNKNOWN, found.sentence)
            return
        if not found:
            missing.append(name)
    if missing:
        why = f"a task whose {what} does not exist fails with {without}"
        yield Review(check, State.PROBLEM, f"no {what} {some(missing)}", why)
    elif asked:
        beyond = f"; {len(asked) - _MOST_OTHERS} more were not looked for" if len(asked) > _MOST_OTHERS else ""
        yield ok(check, f"{count(min(len(asked), _MOST_OTHERS), what)}{where}, each there{beyond}")


def _providers(job: JobDefinition) -> list[str]:
    strategy = job.target["EcsParameters"].get("CapacityProviderStrategy") or ()
    return [str(item.get("capacityProvider")) for item in strategy]


def _network(job: JobDefinition) -> Mapping[str, Any]:
    network: Mapping[str, Any] = job.target["EcsParameters"].get("NetworkConfiguration", {})
    return network.get("awsvpcConfiguration") or network.get("AwsvpcConfiguration") or {}


def _log_groups(container: Mapping[str, Any]) -> Iterator[str]:
    log = container.get("logConfiguration") or {}
    options = log.get("options") or {}
    is_made_by_task = str(options.get("awslogs-create-group")).lower() == "true"
    if log.get("logDriver") == "awslogs" and options.get("awslogs-group") and not is_made_by_task:
        yield str(options["awslogs-group"])


def _false_if_missing(refusal: Review) -> bool | Review:
    """False if the service says that there is none; else the refusal."""
    return False if any(word in refusal.sentence for word in _MISSING) else refusal
