"""What a stack consists of, in the same words whether a template or a plan says it.

A fact is a resource without what the tool chose: generated names are replaced by those of the plan, and policies are
those of a role, statement by statement, whatever document they are in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.terraform import REGION
from tests.terraform.of_plan import OF_PLAN, container_of, one, override_of, planned_rule, services_of, statements

Facts = dict[str, Any]

_JOBS = {"Digest": "digest", "Report": "report", "OnRequest": "on_request", "Closed": "closed", "Orders": "orders"}

PATHS = {
    **{
        f"{ledger}/{path}": f"module.{module}.{address}"
        for ledger, module in {"Ledger": "ledger", "Locked": "locked"}.items()
        for path, address in {
            "Table/Resource": "aws_dynamodb_table.this",
            "Schedules/Resource": "aws_scheduler_schedule_group.this",
            "Unsettled/Resource": "aws_sqs_queue.unsettled",
            "Unsettled/Policy/Resource": "aws_sqs_queue_policy.unsettled",
            "DeadLetters/Resource": "aws_sqs_queue.dead_letters",
            "DeadLetters/Policy/Resource": "aws_sqs_queue_policy.dead_letters",
            "Recorder/Function/SqsEventSource": "aws_lambda_event_source_mapping.dead_letters",
            "TaskStopped/Resource": "aws_cloudwatch_event_rule.task_stopped",
            "TaskStopped/AllowEventRule": "aws_lambda_permission.task_stopped",
            "EachMinute/Resource": "aws_cloudwatch_event_rule.each_minute",
            "EachMinute/AllowEventRule": "aws_lambda_permission.each_minute",
            **{
                f"{function}/{path}": f'{address}.this["{function.lower()}"]'
                for function in ("Recorder", "Watchdog", "Rerun", "Board")
                for path, address in {
                    "Log/Resource": "aws_cloudwatch_log_group",
                    "Role/Resource": "aws_iam_role",
                    "Function/Resource": "aws_lambda_function",
                    "Function/EventInvokeConfig": "aws_lambda_function_event_invoke_config",
                }.items()
            },
        }.items()
    },
    **{
        f"{job}/{path}": f"module.{module}.{address}.this"
        for job, module in _JOBS.items()
        for path, address in {"Role": "aws_iam_role", "Schedule": "aws_scheduler_schedule"}.items()
    },
    **{
        f"{clock}/{path}": address.replace("CLOCK", clock.lower()).replace("LEDGER", ledger)
        for clock, ledger in {"Clock": "ledger", "Beat": "ledger", "Vault": "locked", "Pulse": "outside"}.items()
        for path, address in {
            "Log/Resource": "module.CLOCK.aws_cloudwatch_log_group.this",
            "Task/TaskRole/Resource": "module.CLOCK.aws_iam_role.task",
            "Task/ExecutionRole/Resource": "module.CLOCK.aws_iam_role.execution",
            "Task/Resource": "module.CLOCK.aws_ecs_task_definition.this",
            "Service/Service": "module.CLOCK.aws_ecs_service.this",
            "Stopped/Resource": 'module.LEDGER.aws_cloudwatch_event_rule.clock_stopped["CLOCK"]',
            "Stopped/AllowEventRule": 'module.LEDGER.aws_lambda_permission.clock_stopped["CLOCK"]',
            "NoLeader/Resource": 'module.alarms.aws_cloudwatch_metric_alarm.silence["CLOCK/no_leader"]',
            "NoTick/Resource": 'module.alarms.aws_cloudwatch_metric_alarm.silence["CLOCK/no_tick"]',
        }.items()
    },
    **{
        f"{ledger}/{path}": f"module.{ledger.lower()}.{address}"
        for ledger in ("Outside", "Anywhere")
        for path, address in {
            "Schedules/Resource": "aws_scheduler_schedule_group.this",
            "DeadLetters/Resource": "aws_sqs_queue.dead_letters",
            "DeadLetters/Policy/Resource": "aws_sqs_queue_policy.dead_letters",
            "Log/Resource": "aws_cloudwatch_log_group.this",
            "Task/TaskRole/Resource": "aws_iam_role.task",
            "Task/ExecutionRole/Resource": "aws_iam_role.execution",
            "Task/Resource": "aws_ecs_task_definition.this",
            "Service/Service": "aws_ecs_service.this",
        }.items()
    },
    "OrdersTask/TaskRole/Resource": "aws_iam_role.orders_task",
    "OrdersTask/ExecutionRole/Resource": "aws_iam_role.orders_execution",
    "OrdersTask/Resource": "aws_ecs_task_definition.orders",
    "Outside/Alarms/Notices/Resource": 'module.outside_alarms.aws_cloudwatch_event_rule.notices["topic"]',
    r"Closed/Schedule[0-9a-f]{12}": 'module.closed.aws_scheduler_schedule.this["cron(0 9 ? * SUN *)"]',
    "Ledger/Alarms/Notices/Resource": 'module.alarms.aws_cloudwatch_event_rule.notices["topic"]',
    "Ledger/Webhook/Notices/Resource": 'module.alarms.aws_cloudwatch_event_rule.notices["webhook"]',
    "Ledger/Webhook/Destination/ApiDestination": "module.alarms.aws_cloudwatch_event_api_destination.webhook",
    "Ledger/Webhook/Role/Resource": "module.alarms.aws_iam_role.webhook",
    "Ledger/Alarms/RerunErrors/Resource": "module.alarms.aws_cloudwatch_metric_alarm.rerun_errors",
    **{
        f"Ledger/Alarms/{path}/Resource": f'module.alarms.aws_cloudwatch_metric_alarm.queue["{kind}"]'
        for path, kind in {"DeadLetters": "dead_letters", "Unsettled": "unsettled"}.items()
    },
    **{
        f"{ledger}/Alarms/{kind.title().replace('_', '')}/Resource": (
            f'module.{module}.aws_cloudwatch_metric_alarm.happened["{kind}"]'
        )
        for ledger, module in {"Ledger": "alarms", "Outside": "outside_alarms"}.items()
        for kind in (
            *("failed", "missed", "launch_failed", "lost", "held", "given_up"),
            *("unclaimed", "not_judged", "unreadable", "too_long", "no_success"),
        )
    },
    **{
        f"daily-digest.{kind}/Resource": f'module.alarms.aws_cloudwatch_metric_alarm.happened["daily-digest/{kind}"]'
        for kind in ("failed", "missed", "launch_failed", "lost")
    },
}
"""Path of a construct, a pattern -> address of its resource in the plan, without the index of `count`."""

_NAMED_BY_CLOUDFORMATION = ("module.outside.aws_sqs_queue.dead_letters", "module.anywhere.aws_sqs_queue.dead_letters")
"""Queues whose name the constructs leave to CloudFormation."""

_FROM_CDK = "secretsmanager:DescribeSecret"
"""What CDK grants for every secret of a container; ECS only gets its value (ECS Developer Guide, "Secrets")."""

_POLICIES = ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")


def planned_resources(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The planned resources by address, with `type` and `values`."""

    def walk(module: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        yield from module.get("resources", ())
        for child in module.get("child_modules", ()):
            yield from walk(child)

    resources = walk(plan["planned_values"]["root_module"])
    return {resource["address"].replace("[0]", "").replace('["first"]', ""): resource for resource in resources}


def facts_of_plan(plan: Mapping[str, Any]) -> Facts:
    """The facts of a plan by address, and the statements of each role."""
    resources = planned_resources(plan)
    facts: Facts = {}
    for address, resource in resources.items():
        kind, values = resource["type"], resource["values"]
        if kind == "aws_iam_role_policy":
            facts.setdefault(f"policies of {values['role']}", []).extend(statements(json.loads(values["policy"])))
        elif kind == "aws_cloudwatch_event_rule":
            facts[address] = _without_nothing(planned_rule(values) | {"Targets": _targets(resources, values["name"])})
        elif kind != "aws_cloudwatch_event_target":
            facts[address] = _without_nothing(OF_PLAN[kind](values))
        if address in _NAMED_BY_CLOUDFORMATION:
            del facts[address]["QueueName"]
    return _sorted(facts)


def _targets(resources: Mapping[str, Mapping[str, Any]], rule: str) -> list[Facts]:
    targets = [each["values"] for each in resources.values() if each["type"] == "aws_cloudwatch_event_target"]
    return [
        {
            "Arn": target["arn"],
            "Inputs": [
                {"InputPathsMap": each["input_paths"], "InputTemplate": each["input_template"]}
                for each in target.get("input_transformer") or ()
            ],
            "RoleArn": target.get("role_arn"),
            "RetryPolicy": {
                "MaximumEventAgeInSeconds": one(target.get("retry_policy")).get("maximum_event_age_in_seconds"),
                "MaximumRetryAttempts": one(target.get("retry_policy")).get("maximum_retry_attempts"),
            },
        }
        for target in targets
        if target["rule"] == rule
    ]


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
                facts[role] += statements(policy["PolicyDocument"])
            for policy in properties.pop("ManagedPolicyArns", ()):
                attached.setdefault(policy, []).append(role)
        facts[address] = _without_nothing(_OF_TEMPLATE[resource["Type"]](properties))
    for name, resource in template.items():
        if resource["Type"] in _POLICIES:
            properties = resolved(resource["Properties"])
            roles = attached.get(name, []) + [f"policies of {role}" for role in properties.get("Roles", ())]
            for role in roles:
                given = statements(properties["PolicyDocument"])
                for statement in given:
                    statement["Action"] = [action for action in statement["Action"] if action != _FROM_CDK]
                facts.setdefault(role, []).extend(given)
    return _sorted(facts)


def _address(resource: Mapping[str, Any]) -> str:
    path = resource["Metadata"]["aws:cdk:path"].removeprefix("Stack/")
    [address] = [
        address
        for known, address in PATHS.items()
        if re.fullmatch(known, path) or re.match(rf"{known}\W|{known}Stack", path)
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
        name: sorted(fact, key=json.dumps) if isinstance(fact, list) else fact
        for name, fact in sorted(facts.items())
        if fact != []
    }


def _without_nothing(value: Any) -> Any:  # noqa: ANN401  # JSON
    match value:
        case dict():
            parts = {name: _without_nothing(part) for name, part in value.items()}
            return {name: part for name, part in sorted(parts.items()) if part not in (None, {}, [])}
        case list():
            return [_without_nothing(part) for part in value]
        case _:
            return value


# ---------------------------------------------------------------------------------------------------------------------
# Templates


def _table(properties: dict[str, Any]) -> dict[str, Any]:
    [replica] = properties.pop("Replicas")
    assert replica.pop("Region") == REGION
    encryption = {**properties.pop("SSESpecification", {}), **replica.pop("SSESpecification", {})}
    if encryption:
        assert encryption.pop("SSEType") == "KMS"
    return {**properties, **replica, "Encryption": encryption}


def _queue_policy(properties: dict[str, Any]) -> dict[str, Any]:
    return {"Queues": properties["Queues"], "Statements": statements(properties["PolicyDocument"])}


def _role(properties: dict[str, Any]) -> dict[str, Any]:
    return {"Path": properties.get("Path", "/"), "Trust": statements(properties["AssumeRolePolicyDocument"])}


def _function(properties: dict[str, Any]) -> dict[str, Any]:
    code = properties.pop("Code")["S3Key"].removesuffix(".zip")
    environment = dict(properties["Environment"]["Variables"])
    if "CRONCE_PINNED_SERVICES" in environment:
        environment["CRONCE_PINNED_SERVICES"] = services_of(environment["CRONCE_PINNED_SERVICES"])
    return properties | {"AssetHash": code, "Environment": environment}


def _rule(properties: dict[str, Any]) -> dict[str, Any]:
    targets = [
        {
            "Arn": target["Arn"],
            "Inputs": [target["InputTransformer"]] if "InputTransformer" in target else [],
            "RoleArn": target.get("RoleArn"),
            "RetryPolicy": target.get("RetryPolicy", {}),
        }
        for target in properties["Targets"]
    ]
    return properties | {"Targets": targets}


def _schedule(properties: dict[str, Any]) -> dict[str, Any]:
    target = dict(properties["Target"])
    target["Input"] = override_of(target["Input"])
    parameters = dict(target["EcsParameters"])
    providers = parameters.pop("CapacityProviderStrategy", [])
    parameters["Providers"] = sorted(providers, key=lambda each: str(each["CapacityProvider"]))
    if "EnableEcsManagedTags" in parameters:
        parameters["EnableECSManagedTags"] = parameters.pop("EnableEcsManagedTags")
    parameters["Tags"] = {tag["Key"]: tag["Value"] for tag in parameters.pop("Tags", ())}
    target["EcsParameters"] = parameters
    stem = properties["Name"][:-13]  # the hash is of the construct's path, or of the job
    start, end = (_instant(properties.get(name)) for name in ("StartDate", "EndDate"))
    return properties | {"Target": target, "Name": stem, "StartDate": start, "EndDate": end}


def _instant(text: str | None) -> str | None:
    return text and text.replace(".000Z", "Z")


def _task_definition(properties: dict[str, Any]) -> dict[str, Any]:
    del properties["Family"]
    return properties | {"ContainerDefinitions": [container_of(each) for each in properties["ContainerDefinitions"]]}


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
    "AWS::Events::ApiDestination": dict,
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
