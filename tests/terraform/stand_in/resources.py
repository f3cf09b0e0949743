"""What the provider does in AWS for each type, for the arguments that the modules use."""

from __future__ import annotations

import json
from pathlib import Path

import ecs  # type: ignore[import-not-found]  # beside this file
from calls import Resource, Values, aws, given, listed_tags, one, only, unique_name  # type: ignore[import-not-found]

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
    ttl = one(values["ttl"])
    told = {"Enabled": ttl["enabled"], "AttributeName": ttl["attribute_name"]}
    client.update_time_to_live(TableName=name, TimeToLiveSpecification=told)
    recovery = {"PointInTimeRecoveryEnabled": one(values["point_in_time_recovery"])["enabled"]}
    client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)
    return {"id": name, "arn": made["TableDescription"]["TableArn"]}


def _update_table(values: Values, prior: Values) -> Values:
    only(values, prior, "deletion_protection_enabled")
    protected = bool(values["deletion_protection_enabled"])
    aws("dynamodb").update_table(TableName=values["name"], DeletionProtectionEnabled=protected)
    return {}


def _read_table(values: Values) -> Values:
    found = aws("dynamodb").describe_table(TableName=values["id"])["Table"]
    return values | {"deletion_protection_enabled": found.get("DeletionProtectionEnabled", False)}


def _create_queue(values: Values) -> Values:
    attributes = given(
        MessageRetentionPeriod=values["message_retention_seconds"],
        VisibilityTimeout=values["visibility_timeout_seconds"],
        SqsManagedSseEnabled=values["sqs_managed_sse_enabled"],
        RedrivePolicy=values["redrive_policy"],
    )
    texts = {name: value if isinstance(value, str) else str(value).lower() for name, value in attributes.items()}
    url = aws("sqs").create_queue(QueueName=unique_name(values), Attributes=texts)["QueueUrl"]
    arn = aws("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return {"id": url, "url": url, "name": arn.rpartition(":")[2], "arn": arn}


def _set_queue_policy(values: Values, _prior: Values | None = None) -> Values:
    aws("sqs").set_queue_attributes(QueueUrl=values["queue_url"], Attributes={"Policy": values["policy"]})
    return {"id": values["queue_url"]}


def _create_topic(values: Values) -> Values:
    arn = aws("sns").create_topic(Name=unique_name(values))["TopicArn"]
    return {"id": arn, "arn": arn, "name": arn.rpartition(":")[2]}


def _set_topic_policy(values: Values, _prior: Values | None = None) -> Values:
    told = {"AttributeName": "Policy", "AttributeValue": values["policy"]}
    aws("sns").set_topic_attributes(TopicArn=values["arn"], **told)
    return {"id": values["arn"]}


def _create_log_group(values: Values) -> Values:
    client, name = aws("logs"), unique_name(values)
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
    arn = aws("scheduler").create_schedule_group(Name=values["name"], Tags=listed_tags(values))["ScheduleGroupArn"]
    return {"id": values["name"], "arn": arn}


def _schedule(values: Values) -> Values:
    target, window = one(values["target"]), one(values["flexible_time_window"])
    parameters, retry = one(target["ecs_parameters"]), one(target["retry_policy"])
    network = one(parameters["network_configuration"])
    interface = given(
        Subnets=network.get("subnets"),
        SecurityGroups=network.get("security_groups"),
        AssignPublicIp="ENABLED" if network.get("assign_public_ip") else "DISABLED",
    )
    return given(
        Name=values["name"],
        GroupName=values["group_name"],
        Description=values["description"],
        ScheduleExpression=values["schedule_expression"],
        ScheduleExpressionTimezone=values["schedule_expression_timezone"],
        StartDate=values["start_date"],
        EndDate=values["end_date"],
        State=values["state"],
        FlexibleTimeWindow=given(Mode=window["mode"], MaximumWindowInMinutes=window["maximum_window_in_minutes"]),
        Target={
            "Arn": target["arn"],
            "RoleArn": target["role_arn"],
            "Input": target["input"],
            "DeadLetterConfig": {"Arn": one(target["dead_letter_config"])["arn"]},
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": int(retry["maximum_event_age_in_seconds"]),
                "MaximumRetryAttempts": int(retry["maximum_retry_attempts"]),
            },
            "EcsParameters": given(
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
    rule = given(
        Name=values["name"],
        Description=values["description"],
        ScheduleExpression=values["schedule_expression"],
        EventPattern=values["event_pattern"],
    )
    return {"id": values["name"], "arn": aws("events").put_rule(**rule)["RuleArn"]}


def _put_target(values: Values) -> Values:
    sentence = one(values["input_transformer"])
    told = {"InputPathsMap": sentence.get("input_paths") or {}, "InputTemplate": sentence.get("input_template")}
    target = given(Id=values["target_id"], Arn=values["arn"], InputTransformer=told if sentence else None)
    aws("events").put_targets(Rule=values["rule"], Targets=[target])
    return {"id": f"{values['rule']}-{values['target_id']}"}


# ---------------------------------------------------------------------------------------------------------------------
# IAM and Lambda


def _create_role(values: Values) -> Values:
    trust = values["assume_role_policy"]
    path = values["path"] or "/"
    role = aws("iam").create_role(RoleName=unique_name(values), Path=path, AssumeRolePolicyDocument=trust)["Role"]
    name = role["RoleName"]
    return {"id": name, "name": name, "arn": role["Arn"], "unique_id": role["RoleId"]}


def _put_role_policy(values: Values, prior: Values | None = None) -> Values:
    name = values["name"] if prior or values["name"] else unique_name(values)
    aws("iam").put_role_policy(RoleName=values["role"], PolicyName=name, PolicyDocument=values["policy"])
    return {"id": f"{values['role']}:{name}", "name": name}


def _read_role_policy(values: Values) -> Values:
    found = aws("iam").get_role_policy(RoleName=values["role"], PolicyName=values["name"])["PolicyDocument"]
    known = found if isinstance(found, dict) else json.loads(found)
    same = known == json.loads(values["policy"])
    return values if same else values | {"policy": json.dumps(known)}


def _configuration(values: Values) -> Values:
    return given(
        FunctionName=values["function_name"],
        Description=values["description"],
        Handler=values["handler"],
        Runtime=values["runtime"],
        Role=values["role"],
        Timeout=int(values["timeout"]),
        MemorySize=int(values["memory_size"]),
        Environment={"Variables": one(values["environment"])["variables"]},
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
    most = int(one(values["scaling_config"])["maximum_concurrency"])
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
        create=ecs.create_cluster, delete=lambda values: aws("ecs").delete_cluster(cluster=values["id"])
    ),
    "aws_ecs_service": Resource(
        create=ecs.create_service, update=ecs.update_service, read=ecs.read_service, delete=ecs.delete_service
    ),
    "aws_ecs_task_definition": Resource(create=ecs.register, delete=ecs.deregister),
    "aws_iam_role": Resource(create=_create_role, delete=lambda values: aws("iam").delete_role(RoleName=values["id"])),
    "aws_iam_role_policy": Resource(
        create=_put_role_policy,
        update=_put_role_policy,
        read=_read_role_policy,
        delete=lambda values: aws("iam").delete_role_policy(RoleName=values["role"], PolicyName=values["name"]),
    ),
    "aws_internet_gateway": Resource(create=ecs.create_gateway, delete=ecs.delete_gateway),
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
        create=ecs.create_route,
        delete=lambda values: aws("ec2").delete_route(
            RouteTableId=values["route_table_id"], DestinationCidrBlock=values["destination_cidr_block"]
        ),
    ),
    "aws_route_table": Resource(
        create=ecs.create_route_table, delete=lambda values: aws("ec2").delete_route_table(RouteTableId=values["id"])
    ),
    "aws_route_table_association": Resource(
        create=ecs.associate, delete=lambda values: aws("ec2").disassociate_route_table(AssociationId=values["id"])
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
        create=ecs.create_security_group, delete=lambda values: aws("ec2").delete_security_group(GroupId=values["id"])
    ),
    "aws_sns_topic": Resource(
        create=_create_topic, delete=lambda values: aws("sns").delete_topic(TopicArn=values["id"])
    ),
    "aws_sns_topic_policy": Resource(create=_set_topic_policy, update=_set_topic_policy),
    "aws_sqs_queue": Resource(
        create=_create_queue, delete=lambda values: aws("sqs").delete_queue(QueueUrl=values["id"])
    ),
    "aws_sqs_queue_policy": Resource(create=_set_queue_policy, update=_set_queue_policy),
    "aws_subnet": Resource(
        create=ecs.create_subnet, delete=lambda values: aws("ec2").delete_subnet(SubnetId=values["id"])
    ),
    "aws_vpc": Resource(create=ecs.create_vpc, delete=lambda values: aws("ec2").delete_vpc(VpcId=values["id"])),
    "aws_vpc_security_group_egress_rule": Resource(create=lambda _values: {"id": "sgr-all"}),
}
