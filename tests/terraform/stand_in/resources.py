"""What the provider does in AWS for each type, for the arguments that the modules use."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

Values = dict[str, Any]


def _cannot_update(values: Values, prior: Values) -> Values:
    changed = sorted(name for name in values if values[name] != prior.get(name))
    raise NotImplementedError(f"an update of {', '.join(changed)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """The calls for one type. An update that is not here fails; what is read is what the stand-in compares."""

    create: Callable[[Values], Values]
    delete: Callable[[Values], object] = lambda _values: None
    update: Callable[[Values, Values], Values] = _cannot_update
    read: Callable[[Values], Values | None] = lambda values: values


@cache
def aws(service: str) -> Any:
    """A client with the environment's endpoint, Region and credentials."""
    config = Config(proxies={}, retries={"total_max_attempts": 2})
    return boto3.client(service, region_name=os.environ["AWS_REGION"], config=config)  # type: ignore[call-overload]


def _one(blocks: list[Values] | None) -> Values:
    return blocks[0] if blocks else {}


def _given(**values: object) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _tags(values: Values) -> list[dict[str, str]]:
    return [{"Key": name, "Value": value} for name, value in (values.get("tags") or {}).items()]


def _name(values: Values) -> str:
    unique = f"{time.strftime('%Y%m%d%H%M%S')}{uuid.uuid4().hex[:8]}"
    return str(values.get("name") or f"{values.get('name_prefix') or 'terraform-'}{unique}")


# ---------------------------------------------------------------------------------------------------------------------
# DynamoDB, SQS, SNS, CloudWatch


def _create_table(values: Values) -> Values:
    client, name = aws("dynamodb"), values["name"]
    made = client.create_table(
        TableName=name,
        BillingMode=values["billing_mode"],
        DeletionProtectionEnabled=bool(values["deletion_protection_enabled"]),
        KeySchema=[
            {"AttributeName": values["hash_key"], "KeyType": "HASH"},
            {"AttributeName": values["range_key"], "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": each["name"], "AttributeType": each["type"]} for each in values["attribute"]
        ],
    )
    ttl = _one(values["ttl"])
    told = {"Enabled": ttl["enabled"], "AttributeName": ttl["attribute_name"]}
    client.update_time_to_live(TableName=name, TimeToLiveSpecification=told)
    recovery = {"PointInTimeRecoveryEnabled": _one(values["point_in_time_recovery"])["enabled"]}
    client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)
    return {"id": name, "arn": made["TableDescription"]["TableArn"]}


def _update_table(values: Values, prior: Values) -> Values:
    _only(values, prior, "deletion_protection_enabled")
    protected = bool(values["deletion_protection_enabled"])
    aws("dynamodb").update_table(TableName=values["name"], DeletionProtectionEnabled=protected)
    return {}


def _read_table(values: Values) -> Values:
    found = aws("dynamodb").describe_table(TableName=values["id"])["Table"]
    return values | {"deletion_protection_enabled": found.get("DeletionProtectionEnabled", False)}


def _only(values: Values, prior: Values, *names: str) -> None:
    """Refuse an update of anything else."""
    others = sorted(name for name in values if values[name] != prior.get(name) and name not in names)
    if others:
        raise NotImplementedError(f"an update of {', '.join(others)}")


def _create_queue(values: Values) -> Values:
    attributes = _given(
        MessageRetentionPeriod=values["message_retention_seconds"],
        VisibilityTimeout=values["visibility_timeout_seconds"],
        SqsManagedSseEnabled=values["sqs_managed_sse_enabled"],
        RedrivePolicy=values["redrive_policy"],
    )
    texts = {name: value if isinstance(value, str) else str(value).lower() for name, value in attributes.items()}
    url = aws("sqs").create_queue(QueueName=_name(values), Attributes=texts)["QueueUrl"]
    arn = aws("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return {"id": url, "url": url, "name": arn.rpartition(":")[2], "arn": arn}


def _set_queue_policy(values: Values, _prior: Values | None = None) -> Values:
    aws("sqs").set_queue_attributes(QueueUrl=values["queue_url"], Attributes={"Policy": values["policy"]})
    return {"id": values["queue_url"]}


def _create_topic(values: Values) -> Values:
    arn = aws("sns").create_topic(Name=_name(values))["TopicArn"]
    return {"id": arn, "arn": arn, "name": arn.rpartition(":")[2]}


def _create_log_group(values: Values) -> Values:
    client, name = aws("logs"), _name(values)
    client.create_log_group(logGroupName=name)
    _set_retention(values | {"name": name})
    [group] = client.describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return {"id": name, "name": name, "arn": group["arn"].removesuffix(":*")}


def _set_retention(values: Values, _prior: Values | None = None) -> Values:
    days = int(values["retention_in_days"])
    aws("logs").put_retention_policy(logGroupName=values["name"], retentionInDays=days)
    return {}


def _put_alarm(values: Values, _prior: Values | None = None) -> Values:
    name = values["alarm_name"]
    aws("cloudwatch").put_metric_alarm(
        AlarmName=name,
        AlarmDescription=values["alarm_description"],
        Namespace=values["namespace"],
        MetricName=values["metric_name"],
        Dimensions=[{"Name": key, "Value": value} for key, value in values["dimensions"].items()],
        Statistic=values["statistic"],
        Period=int(values["period"]),
        EvaluationPeriods=int(values["evaluation_periods"]),
        Threshold=float(values["threshold"]),
        ComparisonOperator=values["comparison_operator"],
        TreatMissingData=values["treat_missing_data"],
        AlarmActions=values["alarm_actions"] or [],
        OKActions=values["ok_actions"] or [],
    )
    [alarm] = aws("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return {"id": name, "arn": alarm["AlarmArn"]}


# ---------------------------------------------------------------------------------------------------------------------
# EventBridge Scheduler and EventBridge


def _create_group(values: Values) -> Values:
    arn = aws("scheduler").create_schedule_group(Name=values["name"], Tags=_tags(values))["ScheduleGroupArn"]
    return {"id": values["name"], "arn": arn}


def _schedule(values: Values) -> dict[str, Any]:
    target, window = _one(values["target"]), _one(values["flexible_time_window"])
    parameters, retry = _one(target["ecs_parameters"]), _one(target["retry_policy"])
    network = _one(parameters["network_configuration"])
    interface = _given(
        Subnets=network.get("subnets"),
        SecurityGroups=network.get("security_groups"),
        AssignPublicIp="ENABLED" if network.get("assign_public_ip") else "DISABLED",
    )
    return _given(
        Name=values["name"],
        GroupName=values["group_name"],
        Description=values["description"],
        ScheduleExpression=values["schedule_expression"],
        ScheduleExpressionTimezone=values["schedule_expression_timezone"],
        StartDate=values["start_date"],
        EndDate=values["end_date"],
        State=values["state"],
        FlexibleTimeWindow=_given(Mode=window["mode"], MaximumWindowInMinutes=window["maximum_window_in_minutes"]),
        Target={
            "Arn": target["arn"],
            "RoleArn": target["role_arn"],
            "Input": target["input"],
            "DeadLetterConfig": {"Arn": _one(target["dead_letter_config"])["arn"]},
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": int(retry["maximum_event_age_in_seconds"]),
                "MaximumRetryAttempts": int(retry["maximum_retry_attempts"]),
            },
            "EcsParameters": _given(
                TaskDefinitionArn=parameters["task_definition_arn"],
                TaskCount=int(parameters["task_count"]),
                LaunchType=parameters["launch_type"],
                PlatformVersion=parameters["platform_version"],
                PropagateTags=parameters["propagate_tags"],
                NetworkConfiguration={"awsvpcConfiguration": interface} if network else None,
            ),
        },
    )


def _create_schedule(values: Values) -> Values:
    arn = aws("scheduler").create_schedule(**_schedule(values))["ScheduleArn"]
    return {"id": f"{values['group_name']}/{values['name']}", "arn": arn}


def _update_schedule(values: Values, _prior: Values) -> Values:
    aws("scheduler").update_schedule(**_schedule(values))
    return {}


def _read_schedule(values: Values) -> Values | None:
    """What AWS has of the expression, the state and the input; a difference is a change in the next plan."""
    client = aws("scheduler")
    try:
        found = client.get_schedule(GroupName=values["group_name"], Name=values["name"])
    except client.exceptions.ResourceNotFoundException:
        return None
    [target] = values["target"]
    return values | {
        "schedule_expression": found["ScheduleExpression"],
        "state": found["State"],
        "target": [target | {"input": found["Target"]["Input"], "role_arn": found["Target"]["RoleArn"]}],
    }


def _put_rule(values: Values, _prior: Values | None = None) -> Values:
    rule = _given(
        Name=values["name"],
        Description=values["description"],
        ScheduleExpression=values["schedule_expression"],
        EventPattern=values["event_pattern"],
    )
    return {"id": values["name"], "arn": aws("events").put_rule(**rule)["RuleArn"]}


def _put_target(values: Values) -> Values:
    aws("events").put_targets(Rule=values["rule"], Targets=[{"Id": values["target_id"], "Arn": values["arn"]}])
    return {"id": f"{values['rule']}-{values['target_id']}"}


# ---------------------------------------------------------------------------------------------------------------------
# IAM and Lambda


def _create_role(values: Values) -> Values:
    trust = values["assume_role_policy"]
    path = values["path"] or "/"
    role = aws("iam").create_role(RoleName=_name(values), Path=path, AssumeRolePolicyDocument=trust)["Role"]
    name = role["RoleName"]
    return {"id": name, "name": name, "arn": role["Arn"], "unique_id": role["RoleId"]}


def _put_role_policy(values: Values, prior: Values | None = None) -> Values:
    name = values["name"] if prior or values["name"] else _name(values)
    aws("iam").put_role_policy(RoleName=values["role"], PolicyName=name, PolicyDocument=values["policy"])
    return {"id": f"{values['role']}:{name}", "name": name}


def _read_role_policy(values: Values) -> Values:
    found = aws("iam").get_role_policy(RoleName=values["role"], PolicyName=values["name"])["PolicyDocument"]
    known = found if isinstance(found, dict) else json.loads(found)
    same = known == json.loads(values["policy"])
    return values if same else values | {"policy": json.dumps(known)}


def _configuration(values: Values) -> dict[str, Any]:
    return _given(
        FunctionName=values["function_name"],
        Description=values["description"],
        Handler=values["handler"],
        Runtime=values["runtime"],
        Role=values["role"],
        Timeout=int(values["timeout"]),
        MemorySize=int(values["memory_size"]),
        Environment={"Variables": _one(values["environment"])["variables"]},
        DeadLetterConfig={"TargetArn": values["dead_letter_config"][0]["target_arn"]}
        if values["dead_letter_config"]
        else None,
    )


def _create_function(values: Values) -> Values:
    code = {"ZipFile": Path(values["filename"]).read_bytes()}
    made = aws("lambda").create_function(Code=code, **_configuration(values))
    assert made["CodeSha256"] == values["source_code_hash"], made["CodeSha256"]
    return {"id": values["function_name"], "arn": made["FunctionArn"], "version": "$LATEST"}


def _update_function(values: Values, _prior: Values) -> Values:
    aws("lambda").update_function_configuration(**_configuration(values))
    return {}


def _put_invoke_config(values: Values, _prior: Values | None = None) -> Values:
    aws("lambda").put_function_event_invoke_config(
        FunctionName=values["function_name"],
        MaximumRetryAttempts=int(values["maximum_retry_attempts"]),
        MaximumEventAgeInSeconds=int(values["maximum_event_age_in_seconds"]),
    )
    return {"id": values["function_name"]}


def _create_mapping(values: Values) -> Values:
    most = int(_one(values["scaling_config"])["maximum_concurrency"])
    made = aws("lambda").create_event_source_mapping(
        EventSourceArn=values["event_source_arn"],
        FunctionName=values["function_name"],
        BatchSize=int(values["batch_size"]),
        FunctionResponseTypes=values["function_response_types"],
        ScalingConfig={"MaximumConcurrency": most},
    )
    return {"id": made["UUID"], "uuid": made["UUID"], "function_arn": made["FunctionArn"], "state": made["State"]}


def _add_permission(values: Values) -> Values:
    aws("lambda").add_permission(
        FunctionName=values["function_name"],
        StatementId=values["statement_id"],
        Action=values["action"],
        Principal=values["principal"],
        SourceArn=values["source_arn"],
    )
    return {"id": values["statement_id"]}


# ---------------------------------------------------------------------------------------------------------------------
# ECS and the network


def _create_cluster(values: Values) -> Values:
    arn = aws("ecs").create_cluster(clusterName=values["name"])["cluster"]["clusterArn"]
    return {"id": arn, "arn": arn}


def _register(values: Values) -> Values:
    registered = aws("ecs").register_task_definition(
        family=values["family"],
        containerDefinitions=json.loads(values["container_definitions"]),
        taskRoleArn=values["task_role_arn"],
        executionRoleArn=values["execution_role_arn"],
        networkMode=values["network_mode"],
        cpu=values["cpu"],
        memory=values["memory"],
        requiresCompatibilities=values["requires_compatibilities"],
    )["taskDefinition"]
    arn = registered["taskDefinitionArn"]
    return {
        "id": values["family"],
        "arn": arn,
        "revision": registered["revision"],
        "arn_without_revision": arn.rpartition(":")[0],
    }


def _deregister(values: Values) -> None:
    if not values["skip_destroy"]:
        aws("ecs").deregister_task_definition(taskDefinition=values["arn"])


def _create_vpc(values: Values) -> Values:
    made = aws("ec2").create_vpc(CidrBlock=values["cidr_block"])["Vpc"]["VpcId"]
    return {"id": made}


def _create_gateway(values: Values) -> Values:
    made = aws("ec2").create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    aws("ec2").attach_internet_gateway(InternetGatewayId=made, VpcId=values["vpc_id"])
    return {"id": made}


def _delete_gateway(values: Values) -> None:
    aws("ec2").detach_internet_gateway(InternetGatewayId=values["id"], VpcId=values["vpc_id"])
    aws("ec2").delete_internet_gateway(InternetGatewayId=values["id"])


def _create_subnet(values: Values) -> Values:
    where = {name: values[value] for name, value in {"VpcId": "vpc_id", "CidrBlock": "cidr_block"}.items()}
    made = aws("ec2").create_subnet(**where, AvailabilityZone=values["availability_zone"])
    return {"id": made["Subnet"]["SubnetId"]}


def _create_route_table(values: Values) -> Values:
    return {"id": aws("ec2").create_route_table(VpcId=values["vpc_id"])["RouteTable"]["RouteTableId"]}


def _create_route(values: Values) -> Values:
    table, block = values["route_table_id"], values["destination_cidr_block"]
    aws("ec2").create_route(RouteTableId=table, DestinationCidrBlock=block, GatewayId=values["gateway_id"])
    return {"id": f"r-{table}{block}"}


def _associate(values: Values) -> Values:
    made = aws("ec2").associate_route_table(SubnetId=values["subnet_id"], RouteTableId=values["route_table_id"])
    return {"id": made["AssociationId"]}


def _create_security_group(values: Values) -> Values:
    made = aws("ec2").create_security_group(
        GroupName=values["name"], Description=values["description"], VpcId=values["vpc_id"]
    )
    return {"id": made["GroupId"]}


RESOURCES: dict[str, Resource] = {
    "aws_cloudwatch_event_rule": Resource(
        create=_put_rule, update=_put_rule, delete=lambda values: aws("events").delete_rule(Name=values["id"])
    ),
    "aws_cloudwatch_event_target": Resource(
        create=_put_target,
        delete=lambda values: aws("events").remove_targets(Rule=values["rule"], Ids=[values["target_id"]]),
    ),
    "aws_cloudwatch_log_group": Resource(
        create=_create_log_group,
        update=_set_retention,
        delete=lambda values: aws("logs").delete_log_group(logGroupName=values["id"]),
    ),
    "aws_cloudwatch_metric_alarm": Resource(
        create=_put_alarm,
        update=_put_alarm,
        delete=lambda values: aws("cloudwatch").delete_alarms(AlarmNames=[values["id"]]),
    ),
    "aws_dynamodb_table": Resource(
        create=_create_table,
        update=_update_table,
        read=_read_table,
        delete=lambda values: aws("dynamodb").delete_table(TableName=values["id"]),
    ),
    "aws_ecs_cluster": Resource(
        create=_create_cluster, delete=lambda values: aws("ecs").delete_cluster(cluster=values["id"])
    ),
    "aws_ecs_task_definition": Resource(create=_register, delete=_deregister),
    "aws_iam_role": Resource(create=_create_role, delete=lambda values: aws("iam").delete_role(RoleName=values["id"])),
    "aws_iam_role_policy": Resource(
        create=_put_role_policy,
        update=_put_role_policy,
        read=_read_role_policy,
        delete=lambda values: aws("iam").delete_role_policy(RoleName=values["role"], PolicyName=values["name"]),
    ),
    "aws_internet_gateway": Resource(create=_create_gateway, delete=_delete_gateway),
    "aws_lambda_event_source_mapping": Resource(
        create=_create_mapping,
        delete=lambda values: aws("lambda").delete_event_source_mapping(UUID=values["id"]),
    ),
    "aws_lambda_function": Resource(
        create=_create_function,
        update=_update_function,
        delete=lambda values: aws("lambda").delete_function(FunctionName=values["id"]),
    ),
    "aws_lambda_function_event_invoke_config": Resource(
        create=_put_invoke_config,
        update=_put_invoke_config,
        delete=lambda values: aws("lambda").delete_function_event_invoke_config(FunctionName=values["id"]),
    ),
    "aws_lambda_permission": Resource(
        create=_add_permission,
        delete=lambda values: aws("lambda").remove_permission(
            FunctionName=values["function_name"], StatementId=values["id"]
        ),
    ),
    "aws_route": Resource(
        create=_create_route,
        delete=lambda values: aws("ec2").delete_route(
            RouteTableId=values["route_table_id"], DestinationCidrBlock=values["destination_cidr_block"]
        ),
    ),
    "aws_route_table": Resource(
        create=_create_route_table, delete=lambda values: aws("ec2").delete_route_table(RouteTableId=values["id"])
    ),
    "aws_route_table_association": Resource(
        create=_associate, delete=lambda values: aws("ec2").disassociate_route_table(AssociationId=values["id"])
    ),
    "aws_scheduler_schedule": Resource(
        create=_create_schedule,
        update=_update_schedule,
        read=_read_schedule,
        delete=lambda values: aws("scheduler").delete_schedule(GroupName=values["group_name"], Name=values["name"]),
    ),
    "aws_scheduler_schedule_group": Resource(
        create=_create_group, delete=lambda values: aws("scheduler").delete_schedule_group(Name=values["id"])
    ),
    "aws_security_group": Resource(
        create=_create_security_group, delete=lambda values: aws("ec2").delete_security_group(GroupId=values["id"])
    ),
    "aws_sns_topic": Resource(
        create=_create_topic, delete=lambda values: aws("sns").delete_topic(TopicArn=values["id"])
    ),
    "aws_sqs_queue": Resource(
        create=_create_queue, delete=lambda values: aws("sqs").delete_queue(QueueUrl=values["id"])
    ),
    "aws_sqs_queue_policy": Resource(create=_set_queue_policy, update=_set_queue_policy),
    "aws_subnet": Resource(
        create=_create_subnet, delete=lambda values: aws("ec2").delete_subnet(SubnetId=values["id"])
    ),
    "aws_vpc": Resource(create=_create_vpc, delete=lambda values: aws("ec2").delete_vpc(VpcId=values["id"])),
    "aws_vpc_security_group_egress_rule": Resource(create=lambda _values: {"id": "sgr-all"}),
}
