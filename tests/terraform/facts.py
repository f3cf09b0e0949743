"""What a stack consists of, in the same words whether a template or a plan says it.

A fact is a resource without what the tool chose: generated names are replaced by those of the plan, and policies are
those of a role, statement by statement, whatever document they are in.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.terraform import REGION

Facts = dict[str, Any]

PATHS = {
    "Ledger/Table/Resource": "module.ledger.aws_dynamodb_table.this",
    "Ledger/Schedules/Resource": "module.ledger.aws_scheduler_schedule_group.this",
    "Ledger/Unsettled/Resource": "module.ledger.aws_sqs_queue.unsettled",
    "Ledger/Unsettled/Policy/Resource": "module.ledger.aws_sqs_queue_policy.unsettled",
    "Ledger/DeadLetters/Resource": "module.ledger.aws_sqs_queue.dead_letters",
    "Ledger/DeadLetters/Policy/Resource": "module.ledger.aws_sqs_queue_policy.dead_letters",
    "Ledger/Recorder/Log/Resource": "module.ledger.aws_cloudwatch_log_group.recorder",
    "Ledger/Recorder/Role/Resource": "module.ledger.aws_iam_role.recorder",
    "Ledger/Recorder/Function/Resource": "module.ledger.aws_lambda_function.recorder",
    "Ledger/Recorder/Function/SqsEventSource": "module.ledger.aws_lambda_event_source_mapping.dead_letters",
    "Ledger/TaskStopped/Resource": "module.ledger.aws_cloudwatch_event_rule.task_stopped",
    "Ledger/TaskStopped/AllowEventRule": "module.ledger.aws_lambda_permission.task_stopped",
    "Ledger/Watchdog/Log/Resource": "module.ledger.aws_cloudwatch_log_group.watchdog",
    "Ledger/Watchdog/Role/Resource": "module.ledger.aws_iam_role.watchdog",
    "Ledger/Watchdog/Function/Resource": "module.ledger.aws_lambda_function.watchdog",
    "Ledger/Watchdog/Function/EventInvokeConfig": "module.ledger.aws_lambda_function_event_invoke_config.watchdog",
    "Ledger/EachMinute/Resource": "module.ledger.aws_cloudwatch_event_rule.each_minute",
    "Ledger/EachMinute/AllowEventRule": "module.ledger.aws_lambda_permission.each_minute",
    **{
        f"{job}/{path}": f"module.{module}.{address}.this"
        for job, module in {"Digest": "digest", "Report": "report", "OnRequest": "on_request"}.items()
        for path, address in {"Role": "aws_iam_role", "Schedule": "aws_scheduler_schedule"}.items()
    },
    **{
        f"{clock}/{path}": address.replace("CLOCK", clock.lower())
        for clock in ("Clock", "Beat")
        for path, address in {
            "Log/Resource": "module.CLOCK.aws_cloudwatch_log_group.this",
            "Task/TaskRole/Resource": "module.CLOCK.aws_iam_role.task",
            "Task/ExecutionRole/Resource": "module.CLOCK.aws_iam_role.execution",
            "Task/Resource": "module.CLOCK.aws_ecs_task_definition.this",
            "Service/Service": "module.CLOCK.aws_ecs_service.this",
            "Stopped/Resource": 'module.ledger.aws_cloudwatch_event_rule.clock_stopped["CLOCK"]',
            "Stopped/AllowEventRule": 'module.ledger.aws_lambda_permission.clock_stopped["CLOCK"]',
            "NoLeader/Resource": 'module.alarms.aws_cloudwatch_metric_alarm.silence["CLOCK/no_leader"]',
            "NoTick/Resource": 'module.alarms.aws_cloudwatch_metric_alarm.silence["CLOCK/no_tick"]',
        }.items()
    },
    **{
        f"{kind}/Resource": f'module.alarms.aws_cloudwatch_metric_alarm.queue["{kind}"]'
        for kind in ("dead_letters", "unsettled")
    },
    **{
        f"{kind.replace('/', '.')}/Resource": f'module.alarms.aws_cloudwatch_metric_alarm.happened["{kind}"]'
        for kind in (
            *("missed", "launch_failed", "lost", "held", "given_up", "unclaimed", "not_judged", "unreadable"),
            *(f"daily-digest/{kind}" for kind in ("failed", "missed", "launch_failed", "lost")),
        )
    },
}
"""Path of a construct -> address of its resource in the plan, without the index of `count`."""

_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")


def planned_resources(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The planned resources by address, with `type` and `values`."""

    def walk(module: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield from module.get("resources", ())
        for child in module.get("child_modules", ()):
            yield from walk(child)

    resources = walk(plan["planned_values"]["root_module"])
    return {resource["address"].replace("[0]", ""): resource for resource in resources}


def facts_of_plan(plan: Mapping[str, Any]) -> Facts:
    """The facts of a plan by address, and the statements of each role."""
    resources = planned_resources(plan)
    facts: Facts = {}
    for address, resource in resources.items():
        kind, values = resource["type"], resource["values"]
        if kind == "aws_iam_role_policy":
            facts.setdefault(f"policies of {values['role']}", []).extend(_statements(json.loads(values["policy"])))
        elif kind == "aws_cloudwatch_event_rule":
            facts[address] = _without_nothing(_planned_rule(values) | {"Targets": _targets(resources, values["name"])})
        elif kind != "aws_cloudwatch_event_target":
            facts[address] = _without_nothing(_OF_PLAN[kind](values))
    return _sorted(facts)


def _targets(resources: Mapping[str, Mapping[str, Any]], rule: str) -> list[str]:
    targets = [each["values"] for each in resources.values() if each["type"] == "aws_cloudwatch_event_target"]
    return [str(target["arn"]) for target in targets if target["rule"] == rule]


def facts_of_template(template: Mapping[str, Any], plan: Mapping[str, Any]) -> Facts:
    """The facts of a template by the plan's addresses; references become the names and ARNs of the plan."""
    resources = planned_resources(plan)
    addresses = {name: _address(resource) for name, resource in template.items() if resource["Type"] not in _POLICIES}
    attached: dict[str, list[str]] = {}

    def resolved(value: Any) -> Any:  # noqa: ANN401  # JSON
        match value:
            case {"Ref": "AWS::Partition"}:
                return "aws"
            case {"Ref": str(name)} if name in addresses:
                return _ref(resources[addresses[name]])
            case {"Ref": str(name)}:
                return name
            case {"Fn::GetAtt": [name, attribute]}:
                return _attribute(resources[addresses[name]], attribute)
            case {"Fn::Join": [separator, parts]}:
                return separator.join(map(str, resolved(parts)))
            case dict():
                return {name: resolved(part) for name, part in value.items()}
            case list():
                return [resolved(part) for part in value]
            case _:
                return value

    facts: Facts = {}
    for name, resource in template.items():
        properties = resolved(resource["Properties"])
        if resource["Type"] in _POLICIES:
            continue
        address = addresses[name]
        if resource["Type"] == "AWS::IAM::Role":
            role = f"policies of {resources[address]['values']['name']}"
            facts.setdefault(role, [])
            for policy in properties.pop("Policies", ()):
                facts[role] += _statements(policy["PolicyDocument"])
            for policy in properties.pop("ManagedPolicyArns", ()):
                attached.setdefault(policy, []).append(role)
        facts[address] = _without_nothing(_OF_TEMPLATE[resource["Type"]](properties))
    for name, resource in template.items():
        if resource["Type"] in _POLICIES:
            properties = resolved(resource["Properties"])
            roles = attached.get(name, []) + [f"policies of {role}" for role in properties.get("Roles", ())]
            for role in roles:
                facts.setdefault(role, []).extend(_statements(properties["PolicyDocument"]))
    return _sorted(facts)


def _address(resource: Mapping[str, Any]) -> str:
    path = resource["Metadata"]["aws:cdk:path"].removeprefix("Stack/")
    [address] = [
        address for known, address in PATHS.items() if path == known or re.match(rf"{known}\W|{known}Stack", path)
    ]
    return address


def _ref(resource: Mapping[str, Any]) -> str:
    values = resource["values"]
    match resource["type"]:
        case "aws_lambda_function":
            return str(values["function_name"])
        case "aws_sqs_queue" | "aws_ecs_service":
            return str(values["id"])
        case "aws_ecs_task_definition":
            return str(values["arn"])
        case _:
            return str(values["name"])


def _attribute(resource: Mapping[str, Any], attribute: str) -> str:
    values = resource["values"]
    if attribute == "Arn" and resource["type"] == "aws_cloudwatch_log_group":
        return f"{values['arn']}:*"
    return str(values["arn" if attribute == "Arn" else "name"])


def _sorted(facts: Facts) -> Facts:
    return {
        name: sorted(fact, key=json.dumps) if isinstance(fact, list) else fact for name, fact in sorted(facts.items())
    }


def _statements(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The statements with lists for single values, in one order."""

    def listed(value: object) -> list[object]:
        return sorted(value, key=str) if isinstance(value, list) else [value]

    statements = []
    for statement in document["Statement"]:
        told = {name: listed(value) if name in ("Action", "Resource") else value for name, value in statement.items()}
        statements.append(dict(sorted(told.items())))
    return statements


def _without_nothing(value: Any) -> Any:  # noqa: ANN401  # JSON
    match value:
        case dict():
            parts = {name: _without_nothing(part) for name, part in value.items()}
            return {name: part for name, part in sorted(parts.items()) if part not in (None, {}, [])}
        case list():
            return [_without_nothing(part) for part in value]
        case _:
            return value


def _one(blocks: list[dict[str, Any]] | None) -> dict[str, Any]:
    return blocks[0] if blocks else {}


# ---------------------------------------------------------------------------------------------------------------------
# Templates


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    [replica] = properties.pop("Replicas")
    assert replica.pop("Region") == REGION
    return {**properties, **replica}


def _queue_policy(properties: dict[str, Any]) -> dict[str, Any]:
    return {"Queues": properties["Queues"], "Statements": _statements(properties["PolicyDocument"])}


def _role(properties: dict[str, Any]) -> dict[str, Any]:
    return {"Path": properties.get("Path", "/"), "Trust": _statements(properties["AssumeRolePolicyDocument"])}


def _function(properties: dict[str, Any]) -> dict[str, Any]:
    code = properties.pop("Code")["S3Key"].removesuffix(".zip")
    environment = dict(properties["Environment"]["Variables"])
    if "CRONCE_PINNED_SERVICES" in environment:
        environment["CRONCE_PINNED_SERVICES"] = _services(environment["CRONCE_PINNED_SERVICES"])
    return properties | {"AssetHash": code, "Environment": environment}


def _services(text: str) -> list[dict[str, str]]:
    return sorted(json.loads(text), key=lambda service: str(service["job"]))


def _rule(properties: dict[str, Any]) -> dict[str, Any]:
    return properties | {"Targets": [target["Arn"] for target in properties["Targets"]]}


def _schedule(properties: dict[str, Any]) -> dict[str, Any]:
    target = dict(properties["Target"])
    target["Input"] = _override(target["Input"])
    parameters = dict(target["EcsParameters"])
    providers = parameters.pop("CapacityProviderStrategy", [])
    parameters["Providers"] = sorted(providers, key=lambda each: str(each["CapacityProvider"]))
    parameters["Tags"] = {tag["Key"]: tag["Value"] for tag in parameters.pop("Tags", ())}
    target["EcsParameters"] = parameters
    stem = properties["Name"][:-13]  # the hash is of the construct's path, or of the job
    start, end = (_instant(properties.get(name)) for name in ("StartDate", "EndDate"))
    return properties | {"Target": target, "Name": stem, "StartDate": start, "EndDate": end}


def _override(text: str) -> dict[str, Any]:
    override: dict[str, Any] = json.loads(text)
    for container in override["containerOverrides"]:
        container["environment"] = {each["name"]: each["value"] for each in container["environment"]}
        container["environment"]["CRONCE_POLICY"] = json.loads(container["environment"]["CRONCE_POLICY"])
    return override


def _instant(text: str | None) -> str | None:
    return text and text.replace(".000Z", "Z")


def _task_definition(properties: dict[str, Any]) -> dict[str, Any]:
    del properties["Family"]
    return properties | {"ContainerDefinitions": [_container(each) for each in properties["ContainerDefinitions"]]}


def _container(container: dict[str, Any]) -> dict[str, Any]:
    environment = {each["Name"]: each["Value"] for each in container["Environment"]}
    for name in ("CRONCE_POLICY", "CRONCE_CLOCK"):
        if name in environment:
            environment[name] = json.loads(environment[name])
    return container | {"Environment": environment}


def _service(properties: dict[str, Any]) -> dict[str, Any]:
    deployment = dict(properties["DeploymentConfiguration"])
    assert deployment.pop("Alarms", {}).get("Enable", False) is False  # the API's default
    assert properties.pop("DeploymentController") == {"Type": "ECS"}
    assert properties.pop("EnableECSManagedTags") is False
    providers = properties.pop("CapacityProviderStrategy", [])
    told = {"Providers": sorted(providers, key=lambda each: str(each["CapacityProvider"]))}
    cluster = properties["Cluster"].rpartition("/")[2]
    return properties | told | {"DeploymentConfiguration": deployment, "Cluster": cluster}


def _alarm(properties: dict[str, Any]) -> dict[str, Any]:
    return properties | {"Dimensions": {each["Name"]: each["Value"] for each in properties["Dimensions"]}}


def _permission(properties: dict[str, Any]) -> dict[str, Any]:
    return properties | {"FunctionName": properties["FunctionName"].rpartition(":")[2]}


_OF_TEMPLATE: Mapping[str, Any] = {
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::DynamoDB::GlobalTable": _table,
    "AWS::ECS::Service": _service,
    "AWS::ECS::TaskDefinition": _task_definition,
    "AWS::Events::Rule": _rule,
    "AWS::IAM::Role": _role,
    "AWS::Lambda::EventInvokeConfig": dict,
    "AWS::Lambda::EventSourceMapping": dict,
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::Permission": _permission,
    "AWS::Logs::LogGroup": dict,
    "AWS::SQS::Queue": dict,
    "AWS::SQS::QueuePolicy": _queue_policy,
    "AWS::Scheduler::Schedule": _schedule,
    "AWS::Scheduler::ScheduleGroup": dict,
}


# ---------------------------------------------------------------------------------------------------------------------
# Plans


def _planned_table(values: dict[str, Any]) -> dict[str, Any]:
    ttl = _one(values["ttl"])
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
            "PointInTimeRecoveryEnabled": _one(values["point_in_time_recovery"]).get("enabled")
        },
        "TimeToLiveSpecification": {"AttributeName": ttl.get("attribute_name"), "Enabled": ttl.get("enabled")},
    }


def _planned_queue(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "QueueName": values["name"],
        "MessageRetentionPeriod": values["message_retention_seconds"],
        "SqsManagedSseEnabled": values["sqs_managed_sse_enabled"],
        "VisibilityTimeout": values["visibility_timeout_seconds"],
        "RedrivePolicy": json.loads(values["redrive_policy"] or "null"),
    }


def _planned_function(values: dict[str, Any]) -> dict[str, Any]:
    environment = dict(_one(values["environment"])["variables"])
    if "CRONCE_PINNED_SERVICES" in environment:
        environment["CRONCE_PINNED_SERVICES"] = _services(environment["CRONCE_PINNED_SERVICES"])
    return {
        "Description": values["description"],
        "Handler": values["handler"],
        "Runtime": values["runtime"],
        "MemorySize": values["memory_size"],
        "Timeout": values["timeout"],
        "Role": values["role"],
        "Environment": environment,
        "DeadLetterConfig": {"TargetArn": _one(values["dead_letter_config"]).get("target_arn")},
        "LoggingConfig": {"LogGroup": _one(values["logging_config"]).get("log_group")},
        "AssetHash": _asset_hash(values["source_code_hash"]),
    }


def _asset_hash(sha256_base64: str) -> str:
    """What CDK makes of the hash that the constructs give it: the hash of its text."""
    return hashlib.sha256(base64.b64decode(sha256_base64).hex().encode()).hexdigest()


def _planned_rule(values: dict[str, Any]) -> dict[str, Any]:
    return {
        "Description": values["description"],
        "EventPattern": json.loads(values["event_pattern"] or "null"),
        "ScheduleExpression": values["schedule_expression"],
        "State": values["state"] or "ENABLED",
    }


def _planned_network(blocks: list[dict[str, Any]] | None) -> dict[str, Any]:
    network = _one(blocks)
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
    target, window = _one(values["target"]), _one(values["flexible_time_window"])
    parameters, retry = _one(target["ecs_parameters"]), _one(target["retry_policy"])
    return {
        "Name": values["name"][:-13],
        "GroupName": values["group_name"],
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
            "Input": _override(target["input"]),
            "DeadLetterConfig": {"Arn": _one(target["dead_letter_config"])["arn"]},
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": retry["maximum_event_age_in_seconds"],
                "MaximumRetryAttempts": retry["maximum_retry_attempts"],
            },
            "EcsParameters": {
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
    platform = _one(values["runtime_platform"])
    return {
        "ContainerDefinitions": [_container(_capital(each)) for each in json.loads(values["container_definitions"])],
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


def _capital(value: Any) -> Any:  # noqa: ANN401  # JSON
    """With CloudFormation's spelling of names, except those of log options."""
    match value:
        case dict():
            return {
                name if "-" in name else f"{name[:1].upper()}{name[1:]}": _capital(part) for name, part in value.items()
            }
        case list():
            return [_capital(part) for part in value]
        case _:
            return value


def _planned_service(values: dict[str, Any]) -> dict[str, Any]:
    breaker = _one(values["deployment_circuit_breaker"])
    return {
        "AvailabilityZoneRebalancing": values["availability_zone_rebalancing"],
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


_OF_PLAN: Mapping[str, Any] = {
    "aws_cloudwatch_log_group": lambda each: {"RetentionInDays": each["retention_in_days"]},
    "aws_cloudwatch_metric_alarm": _planned_alarm,
    "aws_dynamodb_table": _planned_table,
    "aws_ecs_service": _planned_service,
    "aws_ecs_task_definition": _planned_task_definition,
    "aws_iam_role": lambda each: {
        "Path": each["path"] or "/",
        "Trust": _statements(json.loads(each["assume_role_policy"])),
    },
    "aws_lambda_event_source_mapping": lambda each: {
        "BatchSize": each["batch_size"],
        "EventSourceArn": each["event_source_arn"],
        "FunctionName": each["function_name"].rpartition(":")[2],
        "FunctionResponseTypes": each["function_response_types"],
        "ScalingConfig": {"MaximumConcurrency": _one(each["scaling_config"]).get("maximum_concurrency")},
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
        "Statements": _statements(json.loads(each["policy"])),
    },
}
