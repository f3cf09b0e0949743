"""A Lambda function of the ledger: its code, log and role, with only the permissions that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce_cdk._lambda_code import lambda_code
from cronce_cdk._nag_reasons import ANY_RESOURCE, RUNTIME, acknowledge, acknowledge_wildcards
from cronce_cdk.function_settings import FunctionSettings


class LedgerFunction(Construct):
    """The function `cronce_lambdas.<module>.handler`.

    Attributes:
        function: The function.
        log_group: Its log.

    Args:
        scope: The construct that owns the function.
        construct_id: Its ID in that scope.
        module: A module of the package `cronce_lambdas`.
        environment: Its environment variables.
        statements: Its permissions, in addition to writing its log.
        description: The function's description.
        timeout: The longest duration of an invocation, in seconds.
        settings: What is the same for all functions.
        log_key: The key of its log; None for one of AWS.
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
        timeout: int,
        settings: FunctionSettings,
        log_key: kms.IKey | None,
        lost_events: sqs.IQueue | None,
        wildcards: Mapping[str, str],
        function_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = logs.LogGroup(
            self,
            "Log",
            retention=settings.log_retention,
            removal_policy=settings.log_removal_policy,
            encryption_key=log_key,
        )
        writes = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[self.log_group.log_group_arn]
        )
        joining = _joining_a_vpc(cdk.Stack.of(self)) if settings.vpc else []
        self._policy = iam.PolicyDocument(statements=[writes, *joining, *statements])
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
            runtime=settings.runtime or lambda_.Runtime.PYTHON_3_13,
            architecture=settings.architecture,
            memory_size=settings.memory_size,
            timeout=cdk.Duration.seconds(timeout),
            reserved_concurrent_executions=settings.reserved_concurrency,
            vpc=settings.vpc,
            vpc_subnets=settings.vpc_subnets,
            security_groups=[*settings.security_groups] or None,
            environment={**environment},
            log_group=self.log_group,
            role=role.without_policy_updates(),
            description=description,
            dead_letter_queue=lost_events,
            retry_attempts=None if lost_events else 0,
            max_event_age=None if lost_events else cdk.Duration.minutes(1),
        )
        if settings.runtime is None:
            acknowledge(self.function, "L1", RUNTIME)
        acknowledge_wildcards(role, {**wildcards, **({"*": ANY_RESOURCE} if settings.vpc else {})})

    def allow(self, statement: iam.PolicyStatement) -> None:
        """Add a permission."""
        self._policy.add_statements(statement)


def _joining_a_vpc(stack: cdk.Stack) -> list[iam.PolicyStatement]:
    """Return what Lambda needs to attach a function to a VPC, denied to the function's own code.

    The actions, and the key that tells both apart, are those of the Lambda Developer Guide, "Giving Lambda functions
    access to resources in an Amazon VPC".
    """
    verbs = ("CreateNetworkInterface", "DeleteNetworkInterface", "DescribeNetworkInterfaces", "DescribeSubnets")
    actions = [f"ec2:{verb}" for verb in (*verbs, "AssignPrivateIpAddresses", "UnassignPrivateIpAddresses")]
    function = stack.format_arn(
        service="lambda", resource="function", resource_name="*", arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME
    )
    return [
        iam.PolicyStatement(actions=actions, resources=["*"]),
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=actions,
            resources=["*"],
            conditions={"ArnLike": {"lambda:SourceFunctionArn": function}},
        ),
    ]
