"""What AWS says about a task, as a cause in words. Pure.

The texts are those of the ECS Developer Guide ("Amazon ECS stopped tasks error messages", "API failure reasons"), of
the errors of RunTask (ECS API Reference), and of the container runtimes that they quote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Cause:
    """Why something ended or did not start.

    Attributes:
        code: Stable, for scripts.
        sentence: The cause in a sentence without a full stop.
        remedy: What to do before it is started again; empty if nothing is known.
    """

    code: str
    sentence: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A cause, and the texts that name it.

    Attributes:
        words: One of them is in the text.
        also: One of these is in the text, too; empty if nothing else is needed.
        subject: A regular expression; what its first group finds is added to the sentence.
    """

    cause: Cause
    words: tuple[str, ...]
    also: tuple[str, ...] = ()
    subject: str = ""


_NO_ANSWER = (
    "i/o timeout",
    "dial tcp",
    "send request failed",
    "deadline exceeded",
    "connection refused",
    "no such host",
    "request canceled",
    "signal: killed",
)
_STARTING = ("CannotStartContainer", "OCI runtime", "failed to create shim task", "runc create failed")

_KNOWN = (
    _Pattern(
        Cause(
            "out-of-memory",
            "Its container was killed because it used more memory than its task definition allows",
            "Give the task definition more memory, or make the work smaller.",
        ),
        ("OutOfMemory",),
    ),
    _Pattern(
        Cause(
            "wrong-architecture",
            "Its image, or a program in it, is built for another processor architecture than its task has",
            "Build the image for the architecture of the task definition (X86_64 or ARM64), or change that.",
        ),
        (
            "exec format error",
            "matching platform",
            "descriptor for platform",
            "matching manifest",
            "match for platform",
        ),
    ),
    _Pattern(
        Cause(
            "image-missing",
            "Its image cannot be pulled: its task could not reach the registry",
            "Check the name of the image; then the subnets and security groups: a route (NAT gateway, public address or"
            " VPC endpoints) and egress on port 443.",
        ),
        ("CannotPull", "unable to pull image"),
        _NO_ANSWER,
    ),
    _Pattern(
        Cause(
            "no-network",
            "Its task could not reach a service that ECS needs to start it: the registry, its secrets or its log",
            "Check its subnets and security groups: a route (NAT gateway, public address or VPC endpoints) and egress"
            " on port 443.",
        ),
        ("ResourceInitializationError", "TaskFailedToStart"),
        _NO_ANSWER,
    ),
    _Pattern(
        Cause(
            "key-unusable",
            "An encryption key (KMS) that it needs is disabled, deleted, or not allowed to its role",
            "Enable the key, or give the role back its permission on it.",
        ),
        (
            "Access to KMS is not allowed",
            "KMS key access denied",
            "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
            "KMSDisabled",
            "KMS.Disabled",
            "KMSInvalidState",
            "KMS.InvalidState",
            "DisabledException",
            "is pending deletion",
        ),
    ),
    _Pattern(
        Cause(
            "role-gone",
            "A role that its schedule or its task needs does not exist, or may not be assumed",
            "Deploy the stack again, so that the role and its trust policy are back.",
        ),
        ("unable to assume the role", "to assume the role", "sts:AssumeRole", "Role is not valid"),
    ),
    _Pattern(
        Cause(
            "permission-lost", "A permission is missing", "Give the role its permission back (deploy the stack again)."
        ),
        ("AccessDenied", "not authorized to perform", "UnauthorizedOperation"),
    ),
    _Pattern(
        Cause(
            "log-missing",
            "The log group of its container does not exist, or cannot be written",
            "Make the log group again (deploy the stack), or correct the log configuration of the task definition.",
        ),
        ("log group does not exist", "failed to create Cloudwatch log", "logger args", "initialize logging driver"),
    ),
    _Pattern(
        Cause(
            "secret-missing",
            "A secret or parameter that its task definition names does not exist, or lacks the key",
            "Restore the secret or the parameter, or correct its ARN in the task definition.",
        ),
        ("the specified secret", "invalid ssm parameters", "ParameterNotFound", "did not contain json key"),
    ),
    _Pattern(
        Cause(
            "secret-missing",
            "A secret or parameter that its task definition names cannot be read",
            "Look at the reason: the secret, the execution role, or the network.",
        ),
        ("unable to retrieve secret", "retrieve secrets from ssm", "fetching secret data"),
    ),
    _Pattern(
        Cause(
            "registry-limit",
            "The registry refused its image because of its pull limit",
            "Wait, or copy the image to a registry of your own.",
        ),
        ("toomanyrequests", "pull rate limit"),
    ),
    _Pattern(
        Cause(
            "disk-full",
            "The disk under its task is full",
            "Give the task more ephemeral storage, or make the image smaller.",
        ),
        ("no space left on device",),
    ),
    _Pattern(
        Cause(
            "image-missing",
            "Its image cannot be pulled",
            "Push the image, or correct its name in the task definition or the rights of the execution role.",
        ),
        ("CannotPullContainer", "CannotPullECR", "unable to pull image", "No such image", "manifest unknown"),
    ),
    _Pattern(
        Cause("spot-interruption", "AWS took back the Spot capacity under its task"),
        ("SpotInterruption", "Your Spot Task was interrupted"),
    ),
    _Pattern(
        Cause("host-ended", "The host under its task was taken away"),
        ("TerminationNotice", "Host EC2", "performing maintenance", "underlying infrastructure"),
    ),
    _Pattern(
        Cause(
            "unhealthy",
            "ECS stopped its task because a health check failed",
            "Look at its log, and at the health check in the task definition.",
        ),
        ("failed container health checks", "failed ELB health checks"),
    ),
    _Pattern(
        Cause("volume-unusable", "A volume of its task cannot be made or mounted", "Correct what the reason names."),
        ("CannotCreateVolume", "EFS utils", "failed to mount", "error mounting"),
    ),
    _Pattern(
        Cause("command-broken", "Its command does not exist in the image", "Correct the command or the image."),
        _STARTING,
        ("executable file not found", "no such file or directory"),
    ),
    _Pattern(
        Cause("command-broken", "Its command cannot be executed", "Correct the command or its file mode."),
        _STARTING,
        ("permission denied",),
    ),
    _Pattern(
        Cause(
            "not-startable",
            "Its container could not be started",
            "Correct the command, entry point or volume in the task definition.",
        ),
        ("CannotStartContainer", "CannotCreateContainer"),
    ),
    _Pattern(
        Cause(
            "subnet-gone",
            "A subnet of its schedule does not exist",
            "Deploy the stack of the job with subnets that exist.",
        ),
        ("InvalidSubnet", "retrieving subnet", "The subnet ID"),
        subject=r"(subnet-[0-9a-z]+)",
    ),
    _Pattern(
        Cause(
            "security-group-gone",
            "A security group of its schedule does not exist",
            "Deploy the stack of the job with security groups that exist.",
        ),
        ("InvalidGroup", "InvalidSecurityGroup", "retrieving security group", "The security group"),
        subject=r"(sg-[0-9a-z]+)",
    ),
    _Pattern(
        Cause("no-address", "Its subnets have no free address", "Free addresses, or give the job larger subnets."),
        ("nsufficient free addresses", "InsufficientFreeAddresses"),
    ),
    _Pattern(
        Cause(
            "no-network-interface",
            "ECS could not give its task a network interface in time",
            "Start it again; if that repeats, look at the limits of the account and the subnets.",
        ),
        ("network interface",),
    ),
    _Pattern(
        Cause(
            "not-prepared",
            "ECS could not prepare its secrets, its network or its log",
            "Correct what the reason names: a secret, a route to the service, a log group, the execution role.",
        ),
        ("ResourceInitializationError",),
    ),
    _Pattern(
        Cause(
            "capacity-provider-missing",
            "The capacity provider of its schedule does not exist, or is not associated with its cluster",
            "Associate it with the cluster again (deploy the cluster's stack), or deploy the job with another one.",
        ),
        (
            "capacity provider that is not associated",
            "capacity provider was not found",
            "capacity provider is not found",
        ),
    ),
    _Pattern(
        Cause("cluster-gone", "The cluster of its schedule does not exist", "Deploy the stack of the job."),
        ("ClusterNotFound", "Cluster not found", "cluster was inactive", "InactiveCluster"),
    ),
    _Pattern(
        Cause(
            "table-missing",
            "The ledger's table does not exist in that Region",
            "Restore the table from its backup, or correct CRONCE_LEDGER.",
        ),
        ("Requested resource not found", "non-existent table", "able does not exist"),
    ),
    _Pattern(
        Cause(
            "quota-reached",
            "A quota of the account is used up",
            "Ask for a higher quota (Service Quotas), or run fewer tasks at the same time.",
        ),
        ("limit on the number of", "LimitExceeded", "ServiceQuota"),
    ),
    _Pattern(
        Cause(
            "throttled",
            "AWS refused the requests because there were too many",
            "Start it again; spread the schedules over the minute or the hour if that repeats.",
        ),
        ("Throttl", "Rate exceeded", "TooManyRequests", "ProvisionedThroughputExceeded", "RequestLimitExceeded"),
    ),
    _Pattern(
        Cause(
            "revision-gone",
            "The revision of the task definition that its schedule starts does not exist any more",
            "Deploy the stack, so that the schedule starts an active revision.",
        ),
        ("TaskDefinition is inactive", "task definition is inactive", "Unable to describe task definition", "INACTIVE"),
    ),
    _Pattern(
        Cause("no-capacity", "ECS had no capacity for its task", "Check the capacity of the cluster."),
        ("RESOURCE", "AGENT", "Capacity is unavailable", "apacityProvider", "No Container Instances", "ATTRIBUTE"),
        subject=r"(RESOURCE:[A-Z]+|AGENT|ATTRIBUTE)",
    ),
)
"""The first that fits counts."""

_ACTION = re.compile(r"(?:perform:? |Action: )([a-z0-9-]+:[A-Za-z]+)")


def aws_cause(text: str) -> Cause | None:
    """The cause that a text of AWS names; None if it names none that is known."""
    for known in _KNOWN:
        if not _any_of(known.words, text) or (known.also and not _any_of(known.also, text)):
            continue
        cause = known.cause
        action = _ACTION.search(text)
        if cause.code == "permission-lost" and action:
            return replace(cause, sentence=f"The permission {action[1]} is missing")
        subject = re.search(known.subject, text) if known.subject else None
        return replace(cause, sentence=f"{cause.sentence} ({subject[1]})") if subject else cause
    return None


def _any_of(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)
