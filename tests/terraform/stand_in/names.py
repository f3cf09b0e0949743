"""The IDs and ARNs that follow from a resource's arguments: what a plan without AWS knows."""

from __future__ import annotations

import itertools
from typing import Any

_ARNS = {
    "aws_cloudwatch_event_api_destination": "events:{region}:{account}:api-destination/{name}/0a1b2c3d",
    "aws_cloudwatch_event_rule": "events:{region}:{account}:rule/{name}",
    "aws_cloudwatch_log_group": "logs:{region}:{account}:log-group:{name}",
    "aws_cloudwatch_metric_alarm": "cloudwatch:{region}:{account}:alarm:{alarm_name}",
    "aws_dynamodb_table": "dynamodb:{region}:{account}:table/{name}",
    "aws_ecs_cluster": "ecs:{region}:{account}:cluster/{name}",
    "aws_ecs_service": "ecs:{region}:{account}:service/{cluster_name}/{name}",
    "aws_ecs_task_definition": "ecs:{region}:{account}:task-definition/{family}:1",
    "aws_iam_role": "iam::{account}:role{path}{name}",
    "aws_lambda_function": "lambda:{region}:{account}:function:{function_name}",
    "aws_scheduler_schedule": "scheduler:{region}:{account}:schedule/{group_name}/{name}",
    "aws_scheduler_schedule_group": "scheduler:{region}:{account}:schedule-group/{name}",
    "aws_sns_topic": "sns:{region}:{account}:{name}",
    "aws_sqs_queue": "sqs:{region}:{account}:{name}",
}

_numbers = itertools.count()
"""Makes names of prefixes."""

_ID_IS_ARN = ("aws_ecs_service", "aws_ecs_cluster", "aws_sns_topic")


def known_in_advance(kind: str, arguments: dict[str, Any], *, account: str) -> dict[str, Any]:
    """Return the computed attributes of a new resource that follow from its arguments."""
    given = {name: value for name, value in arguments.items() if isinstance(value, str)}
    name = given.get("name") or f"{given.get('name_prefix', 'terraform-')}{next(_numbers)}"
    known: dict[str, Any] = {"name": name, "id": given.get("function_name") or name}
    if form := _ARNS.get(kind):
        cluster = given.get("cluster", "").rpartition("/")[2]
        values = {"path": "/", **given, "name": name, "account": account, "cluster_name": cluster}
        known["arn"] = "arn:aws:" + form.format(**values)
    if kind in _ID_IS_ARN:
        known["id"] = known["arn"]
    if kind == "aws_sqs_queue":
        known["id"] = known["url"] = f"https://sqs.{given['region']}.amazonaws.com/{account}/{name}"
    if kind == "aws_ecs_task_definition":
        known |= {"revision": 1, "arn_without_revision": known["arn"].removesuffix(":1")}
    return known
