"""The resources of a plan in the words of CloudFormation, one function for each type."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any


def _planned_table(values: dict[str, Any]) -> dict[str, Any]:
    ttl, encryption = one(values["ttl"]), one(values["server_side_encryption"])
    keys = [
        {"AttributeName": values[name], "KeyType": kind}
        for name, kind in (("hash_key", "HASH"), ("range_key", "RANGE"))
    ]
    return {
        "TableName": values["name"],
        "BillingMode": values["billing_mode"],
        "KeySchema": keys,
        "AttributeDefinitions": sorted(
            ({"AttributeName": each["name"], "AttributeType": each["type"]} for each in values["attribute"]),
            key=lambda each: str(each["AttributeName"]),
        ),
        "DeletionProtectionEnabled": values["deletion_protection_enabled"],
        "PointInTimeRecoverySpecification": {
            "PointInTimeRecoveryEnabled": one(values["point_in_time_recovery"]).get("enabled")
        },
        "Encryption": {"SSEEnabled": encryption.get("enabled"), "KMSMasterKeyId": encryption.get("kms_key_arn")},
        "TimeToLiveSpecification": {"AttributeName": ttl.get("attribute_name"), "Enabled": ttl.get("enabled")},
    }


def _planned_queue(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "QueueName": values["name"],
        "MessageRetentionPeriod": values["message_retention_seconds"],
        "SqsManagedSseEnabled": values["sqs_managed_sse_enabled"],
        "KmsMasterKeyId": values["kms_master_key_id"],
        "VisibilityTimeout": values["visibility_timeout_seconds"],
        "RedrivePolicy": json.loads(values["redrive_policy"] or "null"),
    }


def _planned_function(values: dict[str, Any]) -> dict[str, Any]:
    environment = dict(one(values["environment"])["variables"])
    if "CRONCE_PINNED_SERVICES" in environment:
        environment["CRONCE_PINNED_SERVICES"] = services_of(environment["CRONCE_PINNED_SERVICES"])
    network, reserved = one(values["vpc_config"]), values["reserved_concurrent_executions"]
    named = values["handler"].split(".")[1] in ("rerun", "board")  # CloudFormation generates the names of the others
    return {
        "FunctionName": values["function_name"] if named else None,
        "Description": values["description"],
        "Handler": values["handler"],
        "Runtime": values["runtime"],
        "MemorySize": values["memory_size"],
        "Architectures": values["architectures"],
        "ReservedConcurrentExecutions": None if reserved == -1 else reserved,
        "VpcConfig": {"SecurityGroupIds": network.get("security_group_ids"), "SubnetIds": network.get("subnet_ids")},
        "Timeout": values["timeout"],
        "Role": values["role"],
        "Environment": environment,
        "DeadLetterConfig": {"TargetArn": one(values["dead_letter_config"]).get("target_arn")},
        "LoggingConfig": {"LogGroup": one(values["logging_config"]).get("log_group")},
        "AssetHash": _asset_hash(values["source_code_hash"]),
    }


def _asset_hash(sha256_base64: str) -> str:
    """What CDK makes of the hash that the constructs give it: the hash of its text."""
    return hashlib.sha256(base64.b64decode(sha256_base64).hex().encode()).hexdigest()


def planned_rule(values: dict[str, Any]) -> dict[str, Any]:
    """A rule, without its targets."""
    return {
        "Description": values["description"],
        "EventPattern": json.loads(values["event_pattern"] or "null"),
        "ScheduleExpression": values["schedule_expression"],
        "State": values["state"] or "ENABLED",
    }


def _planned_network(blocks: list[dict[str, Any]] | None) -> dict[str, Any]:
    network = one(blocks)
    if not network:
        return {}
    return {
        "AwsvpcConfiguration": {
            "AssignPublicIp": "ENABLED" if network["assign_public_ip"] else "DISABLED",
            "SecurityGroups": network["security_groups"],
            "Subnets": network["subnets"],
        }
    }


def _planned_providers(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    providers = [
        {"Base": each["base"], "CapacityProvider": each["capacity_provider"], "Weight": each["weight"]}
        for each in blocks
    ]
    return sorted(providers, key=lambda each: str(each["CapacityProvider"]))


def _planned_schedule(values: dict[str, Any]) -> dict[str, Any]:
    target, window = one(values["target"]), one(values["flexible_time_window"])
    parameters, retry = one(target["ecs_parameters"]), one(target["retry_policy"])
    return {
        "Name": values["name"][:-13],
        "GroupName": values["group_name"],
        "KmsKeyArn": values["kms_key_arn"],
        "Description": values["description"],
        "ScheduleExpression": values["schedule_expression"],
        "ScheduleExpressionTimezone": values["schedule_expression_timezone"],
        "StartDate": values["start_date"],
        "EndDate": values["end_date"],
        "State": values["state"],
        "FlexibleTimeWindow": {
            "Mode": window["mode"],
            "MaximumWindowInMinutes": window["maximum_window_in_minutes"],
        },
        "Target": {
            "Arn": target["arn"],
            "RoleArn": target["role_arn"],
            "Input": override_of(target["input"]),
            "DeadLetterConfig": {"Arn": one(target["dead_letter_config"])["arn"]},
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": retry["maximum_event_age_in_seconds"],
                "MaximumRetryAttempts": retry["maximum_retry_attempts"],
            },
            "EcsParameters": {
                "EnableECSManagedTags": parameters["enable_ecs_managed_tags"],
                "EnableExecuteCommand": parameters["enable_execute_command"],
                "LaunchType": parameters["launch_type"],
                "NetworkConfiguration": _planned_network(parameters["network_configuration"]),
                "PlatformVersion": parameters["platform_version"],
                "PropagateTags": parameters["propagate_tags"],
                "Providers": _planned_providers(parameters["capacity_provider_strategy"]),
                "Tags": parameters["tags"],
                "TaskCount": parameters["task_count"],
                "TaskDefinitionArn": parameters["task_definition_arn"],
            },
        },
    }


def _planned_task_definition(values: dict[str, Any]) -> dict[str, Any]:
    platform = one(values["runtime_platform"])
    containers = spelled_as_cloudformation(json.loads(values["container_definitions"]))
    return {
        "ContainerDefinitions": [container_of(each) for each in containers],
        "Volumes": [{"Name": each["name"]} for each in values["volume"]],
        "Cpu": values["cpu"],
        "Memory": values["memory"],
        "NetworkMode": values["network_mode"],
        "RequiresCompatibilities": values["requires_compatibilities"],
        "ExecutionRoleArn": values["execution_role_arn"],
        "TaskRoleArn": values["task_role_arn"],
        "RuntimePlatform": {
            "CpuArchitecture": platform.get("cpu_architecture"),
            "OperatingSystemFamily": platform.get("operating_system_family"),
        },
    }


def spelled_as_cloudformation(value: Any) -> Any:  # noqa: ANN401  # JSON
    """A container definition with CloudFormation's spelling of names; those of log options are values."""
    match value:
        case dict():
            return {
                f"{name[:1].upper()}{name[1:]}": part if name == "options" else spelled_as_cloudformation(part)
                for name, part in value.items()
            }
        case list():
            return [spelled_as_cloudformation(part) for part in value]
        case _:
            return value


def _planned_service(values: dict[str, Any]) -> dict[str, Any]:
    breaker = one(values["deployment_circuit_breaker"])
    return {
        "AvailabilityZoneRebalancing": values.get("availability_zone_rebalancing"),
        "Cluster": values["cluster"].rpartition("/")[2],
        "DeploymentConfiguration": {
            "DeploymentCircuitBreaker": {"Enable": breaker["enable"], "Rollback": breaker["rollback"]},
            "MaximumPercent": values["deployment_maximum_percent"],
            "MinimumHealthyPercent": values["deployment_minimum_healthy_percent"],
        },
        "DesiredCount": values["desired_count"],
        "EnableExecuteCommand": values["enable_execute_command"] or None,
        "LaunchType": values["launch_type"],
        "NetworkConfiguration": _planned_network(values["network_configuration"]),
        "Providers": _planned_providers(values["capacity_provider_strategy"]),
        "TaskDefinition": values["task_definition"],
    }


def _planned_alarm(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "AlarmActions": values["alarm_actions"] or None,
        "AlarmDescription": values["alarm_description"],
        "ComparisonOperator": values["comparison_operator"],
        "Dimensions": values["dimensions"],
        "EvaluationPeriods": values["evaluation_periods"],
        "MetricName": values["metric_name"],
        "Namespace": values["namespace"],
        "Period": values["period"],
        "Statistic": values["statistic"],
        "Threshold": values["threshold"],
        "TreatMissingData": values["treat_missing_data"],
    }


def statements(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statements with lists for single values, in one order."""

    def listed(value: object) -> list[object]:
        return sorted(value, key=str) if isinstance(value, list) else [value]

    def told(name: str, value: Any) -> object:  # noqa: ANN401  # JSON
        if name == "Condition":
            return {operator: {key: listed(each) for key, each in keys.items()} for operator, keys in value.items()}
        return listed(value) if name in ("Action", "Resource") else value

    return [{name: told(name, value) for name, value in sorted(each.items())} for each in document["Statement"]]


def override_of(text: str) -> dict[str, Any]:
    """A task override, with its variables by name and the policy parsed."""
    override: dict[str, Any] = json.loads(text)
    for container in override["containerOverrides"]:
        container["environment"] = {each["name"]: each["value"] for each in container["environment"]}
        container["environment"]["CRONCE_POLICY"] = json.loads(container["environment"]["CRONCE_POLICY"])
    return override


def services_of(text: str) -> list[dict[str, str]]:
    """The pinned services in one order."""
    return sorted(json.loads(text), key=lambda service: str(service["job"]))


def container_of(container: dict[str, Any]) -> dict[str, Any]:
    """A container definition, with its variables by name and those in JSON parsed."""
    environment = {each["Name"]: each["Value"] for each in container.get("Environment", ())}
    for name in ("CRONCE_POLICY", "CRONCE_CLOCK"):
        if name in environment:
            environment[name] = json.loads(environment[name])
    return container | {"Environment": environment}


def one(blocks: list[dict[str, Any]] | None) -> dict[str, Any]:
    """The block that there can be one of; empty if there is none."""
    return blocks[0] if blocks else {}


OF_PLAN: Mapping[str, Any] = {
    "aws_cloudwatch_event_api_destination": lambda each: {
        "ConnectionArn": each["connection_arn"],
        "Description": each["description"],
        "HttpMethod": each["http_method"],
        "InvocationEndpoint": each["invocation_endpoint"],
        "InvocationRateLimitPerSecond": each["invocation_rate_limit_per_second"],
    },
    "aws_cloudwatch_log_group": lambda each: {
        "RetentionInDays": each["retention_in_days"],
        "KmsKeyId": each["kms_key_id"],
    },
    "aws_cloudwatch_metric_alarm": _planned_alarm,
    "aws_dynamodb_table": _planned_table,
    "aws_ecs_service": _planned_service,
    "aws_ecs_task_definition": _planned_task_definition,
    "aws_iam_role": lambda each: {
        "Path": each["path"] or "/",
        "Trust": statements(json.loads(each["assume_role_policy"])),
    },
    "aws_lambda_event_source_mapping": lambda each: {
        "BatchSize": each["batch_size"],
        "EventSourceArn": each["event_source_arn"],
        "FunctionName": each["function_name"].rpartition(":")[2],
        "FunctionResponseTypes": each["function_response_types"],
        "ScalingConfig": {"MaximumConcurrency": one(each["scaling_config"]).get("maximum_concurrency")},
    },
    "aws_lambda_function": _planned_function,
    "aws_lambda_function_event_invoke_config": lambda each: {
        "FunctionName": each["function_name"],
        "MaximumEventAgeInSeconds": each["maximum_event_age_in_seconds"],
        "MaximumRetryAttempts": each["maximum_retry_attempts"],
        "Qualifier": "$LATEST",
    },
    "aws_lambda_permission": lambda each: {
        "Action": each["action"],
        "FunctionName": each["function_name"],
        "Principal": each["principal"],
        "SourceArn": each["source_arn"],
    },
    "aws_scheduler_schedule": _planned_schedule,
    "aws_scheduler_schedule_group": lambda each: {"Name": each["name"]},
    "aws_sqs_queue": _planned_queue,
    "aws_sqs_queue_policy": lambda each: {
        "Queues": [each["queue_url"]],
        "Statements": statements(json.loads(each["policy"])),
    },
}
