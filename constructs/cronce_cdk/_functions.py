"""A Lambda function of the ledger: its code, log and role, with only the permissions that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce_cdk._lambda_code import lambda_code
from cronce_cdk._nag_reasons import RUNTIME, acknowledge, acknowledge_wildcards


class LedgerFunction(Construct):
    """The function `cronce_lambdas.<module>.handler`.

    Attributes:
        function: The function.
        log_group: Its log, kept for a month.

    Args:
        scope: The construct that owns the function.
        construct_id: Its ID in that scope.
        module: A module of the package `cronce_lambdas`.
        environment: Its environment variables.
        statements: Its permissions, in addition to writing its log.
        description: The function's description.
        timeout: The longest duration of an invocation.
        lost_events: The queue for events that failed all of Lambda's tries. None if the next event makes up for a
            lost one; then a failed event is not tried again.
        wildcards: Resource with a wildcard in `statements` -> its reason.
        function_name: The function's name; by default CloudFormation generates one.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        module: str,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        description: str,
        timeout: cdk.Duration,
        lost_events: sqs.IQueue | None,
        wildcards: Mapping[str, str],
        function_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        writes = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[self.log_group.log_group_arn]
        )
        self._policy = iam.PolicyDocument(statements=[writes, *statements])
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Function": self._policy},
        )
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=function_name,
            code=lambda_code(self),
            handler=f"cronce_lambdas.{module}.handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            # Importing boto3 needs CPU, and Lambda gives CPU in proportion to memory.
            memory_size=512,
            timeout=timeout,
            environment={**environment},
            log_group=self.log_group,
            role=role.without_policy_updates(),
            description=description,
            dead_letter_queue=lost_events,
            retry_attempts=None if lost_events else 0,
            max_event_age=None if lost_events else cdk.Duration.minutes(1),
        )
        acknowledge(self.function, "L1", RUNTIME)
        acknowledge_wildcards(role, wildcards)

    def allow(self, statement: iam.PolicyStatement) -> None:
        """Add a permission."""
        self._policy.add_statements(statement)
