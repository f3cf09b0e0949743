"""Each text of AWS about a task that did not start or was stopped has a cause.

The texts have the shapes of the ECS Developer Guide ("Stopped tasks error messages", "API failure reasons") and of the
errors of RunTask; names and numbers are made up.
"""

from __future__ import annotations

import pytest

from cronce.operate.aws_causes import aws_cause
from cronce.operate.ends import cause_of_end

_USER = "User: arn:aws:sts::111122223333:assumed-role/digest/x is not authorized to perform: "
_PULL = "CannotPullContainerError: "
_INIT = "ResourceInitializationError: "
_SECRETS = f"{_INIT}unable to pull secrets or registry auth: execution resource retrieval failed: "

SAID = {
    "no egress: image": (
        "image-missing",
        (
            f"{_PULL}pull image manifest has been retried 5 time(s): failed to resolve ref: dial tcp 1.2.3.4:443: i/o"
            " timeout"
        ),
    ),
    "no egress: registry": (
        "no-network",
        (
            f"{_SECRETS}unable to retrieve ecr registry auth: RequestError: send"
            ' request failed caused by: Post "https://api.ecr.eu-west-1.amazonaws.com/": dial tcp: i/o timeout'
        ),
    ),
    "no egress: log": ("no-network", f"{_INIT}failed to validate logger args: : signal: killed"),
    "secret missing": (
        "secret-missing",
        (
            f"{_SECRETS}unable to retrieve secret from asm: service call has been retried 1 time(s):"
            " ResourceNotFoundException: Secrets Manager can't find the specified secret."
        ),
    ),
    "parameter missing": (
        "secret-missing",
        f"{_SECRETS}unable to retrieve secrets from ssm: invalid ssm parameters: /db",
    ),
    "secret not allowed": (
        "permission-lost",
        f"{_SECRETS}unable to retrieve secret from asm: AccessDeniedException: {_USER}secretsmanager:GetSecretValue",
    ),
    "secret key disabled": (
        "key-unusable",
        f"{_SECRETS}unable to retrieve secret from asm: AccessDeniedException: Access to KMS is not allowed",
    ),
    "log group deleted": (
        "log-missing",
        (
            f"{_INIT}failed to validate logger args: create stream has been retried: failed to create Cloudwatch"
            " log stream: ResourceNotFoundException: The specified log group does not exist. : exit status 1"
        ),
    ),
    "image missing": ("image-missing", f"{_PULL}pull access denied for digest, repository does not exist"),
    "tag missing": ("image-missing", f"{_PULL}failed to resolve ref 111122223333.dkr.ecr/digest:7: not found"),
    "no ECR permission": ("permission-lost", f"CannotPullECRContainerError: {_USER}ecr:GetAuthorizationToken"),
    "pull limit": ("registry-limit", f"{_PULL}toomanyrequests: You have reached your pull rate limit."),
    "wrong architecture: pull": (
        "wrong-architecture",
        f"{_PULL}pull image manifest: image Manifest does not contain descriptor matching platform 'linux/arm64'",
    ),
    "wrong architecture: run": ("wrong-architecture", "exec /usr/local/bin/cronce: exec format error"),
    "disk full": ("disk-full", f"{_PULL}failed to register layer: write /x: no space left on device"),
    "memory": ("out-of-memory", "OutOfMemoryError: Container killed due to memory usage"),
    "health": ("unhealthy", "Task failed container health checks"),
    "no command": (
        "command-broken",
        'CannotStartContainerError: OCI runtime create failed: exec: "./x": no such file or directory',
    ),
    "not executable": (
        "command-broken",
        'CannotStartContainerError: OCI runtime create failed: exec: "./x": permission denied: unknown',
    ),
    "volume": ("volume-unusable", f"{_INIT}failed to invoke EFS utils commands to set up EFS volumes"),
    "subnet": (
        "subnet-gone",
        (
            "InvalidParameterException: Error retrieving subnet information for [subnet-0a1]: The subnet ID"
            " 'subnet-0a1' does not exist (ErrorCode: InvalidSubnetID.NotFound)"
        ),
    ),
    "security group": (
        "security-group-gone",
        (
            "InvalidParameterException: Error retrieving security group information for [sg-0a1]: The security"
            " group 'sg-0a1' does not exist (ErrorCode: InvalidGroup.NotFound)"
        ),
    ),
    "addresses": ("no-address", "CreateNetworkInterface failed: subnet-1 has Insufficient free addresses"),
    "interface": ("no-network-interface", "Timeout waiting for network interface provisioning to complete."),
    "cluster deleted": ("cluster-gone", "ClusterNotFoundException: The referenced cluster was inactive."),
    "task role deleted": (
        "role-gone",
        (
            "ClientException: ECS was unable to assume the role 'arn:aws:iam::111122223333:role/t' that was provided"
            " for this task. Please verify that the role being passed has the proper trust relationship and permissions"
        ),
    ),
    "schedule's role changed": (
        "role-gone",
        "The execution role you provide must allow AWS EventBridge Scheduler to assume the role.",
    ),
    "PassRole revoked": (
        "permission-lost",
        f"AccessDeniedException: {_USER}iam:PassRole on resource: arn:aws:iam::1:role/t",
    ),
    "throttled": ("throttled", "ThrottlingException: Rate exceeded"),
    "quota": ("quota-reached", "You've reached the limit on the number of vCPUs you can run concurrently"),
    "no memory in the cluster": ("no-capacity", "[{'reason': 'RESOURCE:MEMORY', 'arn': 'x'}]"),
    "no instances": ("no-capacity", "InvalidParameterException: No Container Instances were found in your cluster."),
    "no Fargate capacity": ("no-capacity", "Capacity is unavailable at this time. Please try again later"),
    "Spot": ("spot-interruption", "SpotInterruption: Your Spot Task was interrupted."),
    "host": ("host-ended", "Host EC2 (instance i-0a1) terminated."),
    "revision": ("revision-gone", "ClientException: TaskDefinition is inactive"),
}


@pytest.mark.parametrize(("code", "text"), SAID.values(), ids=SAID)
def test_the_words_of_aws_name_a_cause(code: str, text: str) -> None:
    """Whatever the exit code is."""
    cause = aws_cause(text)
    assert cause is not None
    assert cause.code == code
    assert cause_of_end(137, text) == cause


@pytest.mark.parametrize(
    ("which", "named"),
    [
        ("secret not allowed", "The permission secretsmanager:GetSecretValue is missing"),
        ("PassRole revoked", "The permission iam:PassRole is missing"),
        ("subnet", "A subnet of its schedule does not exist (subnet-0a1)"),
        ("security group", "A security group of its schedule does not exist (sg-0a1)"),
        ("no memory in the cluster", "ECS had no capacity for its task (RESOURCE:MEMORY)"),
    ],
)
def test_the_sentence_names_what_is_missing(which: str, named: str) -> None:
    """So that nobody has to read the rest of the text."""
    cause = aws_cause(SAID[which][1])
    assert cause is not None
    assert cause.sentence == named


@pytest.mark.parametrize(
    ("logged", "sentence"),
    [
        ("ResourceNotFoundException: Requested resource not found", "the ledger's table does not exist in that Region"),
        ("AccessDeniedException: KMS key access denied", "an encryption key (KMS) that it needs is disabled"),
        ("ThrottlingException: Rate exceeded", "AWS refused the requests because there were too many"),
    ],
)
def test_the_log_names_why_a_task_could_not_use_the_ledger(logged: str, sentence: str) -> None:
    """The exit code 69 alone says only that it could not."""
    cause = cause_of_end(69, logged=logged)
    assert cause is not None
    assert sentence in cause.sentence


def test_a_text_without_a_known_cause_has_none() -> None:
    """Then the exit code counts."""
    assert aws_cause("Essential container in task exited") is None
