"""A Lambda function of the ledger: its code, log and role, with nothing granted that is not asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from cronce_cdk._lambda_code import lambda_code


class LedgerFunction(Construct):
    """`cronce_lambdas.<module>.handler`, deployed.

    Attributes:
        function: The function.
        log_group: Where it writes; kept for a month.
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
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = logs.LogGroup(
            self, "Log", retention=logs.RetentionDays.ONE_MONTH, removal_policy=cdk.RemovalPolicy.DESTROY
        )
        writes = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[self.log_group.log_group_arn]
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Function": iam.PolicyDocument(statements=[writes, *statements])},
        )
        self.function = lambda_.Function(
            self,
            "Function",
            code=lambda_code(self),
            handler=f"cronce_lambdas.{module}.handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            # An import of boto3 wants CPU, and CPU comes with memory.
            memory_size=512,
            timeout=cdk.Duration.minutes(1),
            environment={**environment},
            log_group=self.log_group,
            role=role.without_policy_updates(),
            description=description,
        )
