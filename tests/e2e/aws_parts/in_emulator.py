"""Parts of AWS that can only be simulated inside the emulator: its container runs this file, which starts it.

- IAM's view of a request, where the emulator's differs from AWS: the resource of RunTask, DescribeServices,
  DescribeTasks, GetLogEvents and EventBridge Scheduler's calls, the keys `ecs:cluster`, `events:source` and
  `dynamodb:LeadingKeys`, `iam:PassRole`, `ecs:TagResource`. What is denied is a line in its log.
- IAM's simulation of a principal's policies: of roles with a path, for every resource, with the request's context keys.
- STS: a *service* may assume a role if the trust policy allows it, with the source that the service names.
- ECS: credentials of the task's role at a relative URI; the emulator's belong to no role. Fargate: the task's Region.
- ECS: a secret of a container is read with the permissions of the task's execution role.
- ECS: entry points, empty volumes, and the dependency SUCCESS of a container on another.
- TLS: the lane has no certificates, so every request counts as one that came over it.
- No clock: the emulator's own would deliver ticks and delete one-time schedules at any time.

The emulator's version is pinned in `requirements.txt`; this file uses internals of that version.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
import uuid
from contextvars import ContextVar
from typing import Any

from ministack import app  # type: ignore[import-not-found]  # in the emulator's image alone
from ministack.core import iam_actions, iam_evaluator  # type: ignore[import-not-found]
from ministack.core.responses import get_account_id, get_region  # type: ignore[import-not-found]
from ministack.services import (  # type: ignore[import-not-found]
    dynamodb,
    ecs,
    eventbridge,
    iam,
    imds,
    scheduler,
    sts,
)

Check = tuple[str, str, dict[str, object]]
"""What a request needs in addition to its own action: action, resource, condition keys."""

_ALSO = "cronce:also"
"""Under this name the checks travel with the condition keys of their request."""

_HASH_KEY_OF_QUERY = re.compile(r"(?P<name>[#\w]+)\s*=\s*(?P<value>:\w+)")

_SERVICE = "x-amz-service-principal"
_SOURCE = {"aws:sourcearn": "x-amz-source-arn", "aws:sourceaccount": "x-amz-source-account"}

VOLUMES = "cronce-e2e-"
"""How the name of a task's volume begins; `Emulator` removes them."""

_CREDENTIALS = "/v2/credentials/"
_LIFETIME = 6 * 3600

_execution_role: ContextVar[str | None] = ContextVar("execution_role", default=None)
_calling_service: ContextVar[tuple[str, dict[str, object]] | None] = ContextVar("calling_service", default=None)
_roles_of_tasks: dict[str, tuple[str, str]] = {}
"""Role and task of each path under which credentials are handed out."""


def main() -> None:
    """Start the emulator with the parts in place."""
    _know_requests()
    _know_condition_keys()
    _check_what_else_is_needed()
    _let_services_assume_roles()
    iam._IAM_HANDLERS["SimulatePrincipalPolicy"] = _simulate_principal_policy
    _equip_tasks()
    _check_secrets()
    _order_containers()
    app.pin_request_origin = lambda address, _secure: iam_evaluator.pin_request_origin(address, True)
    scheduler._tick_schedules = eventbridge._tick_scheduled_rules = lambda: None
    app.main()


def _know_requests() -> None:
    known = iam_actions.extract_resource_arn

    def extract_resource_arn(
        service: str, method: str, path: str, headers: dict[str, str], body: bytes, *rest: Any
    ) -> str:
        params, region, account = rest
        operation = headers.get("x-amz-target", "").rpartition(".")[2]
        request = _parsed(body)
        if service == "ecs" and operation == "RunTask":
            return str(_task_definition(request)["taskDefinitionArn"])
        if service == "ecs" and operation == "DescribeServices":
            return next(iter(_services(request)), "*")
        if service == "ecs" and operation == "DescribeTasks":
            return str(next(iter(request.get("tasks") or ()), "*"))
        if service == "logs" and operation == "GetLogEvents":
            stream = f"{request.get('logGroupName')}:log-stream:{request.get('logStreamName')}"
            return f"arn:aws:logs:{region}:{account}:log-group:{stream}"
        if service == "scheduler" and path.startswith("/schedules"):
            given = params.get("groupName") or params.get("ScheduleGroup")
            group = request.get("GroupName") or (given[0] if isinstance(given, list) else given) or "default"
            name = path.removeprefix("/schedules").strip("/")
            where = f"{group}/{name}" if name else "*/*"
            return f"arn:aws:scheduler:{region}:{account}:schedule/{where}"
        return str(known(service, method, path, headers, body, *rest))

    iam_actions.extract_resource_arn = extract_resource_arn


def _know_condition_keys() -> None:
    of_tags, of_dynamodb = iam_actions.request_tag_context, iam_actions.dynamodb_service_context

    def request_tag_context(service: str, action: str, body: bytes, params: dict[str, Any]) -> dict[str, object]:
        request = _parsed(body)
        return {**of_tags(service, action, body, params), **_keys(action, request), _ALSO: _also(action, request)}

    def dynamodb_service_context(body: bytes) -> dict[str, object]:
        keys = _leading_keys(_parsed(body))
        return {**of_dynamodb(body), **({"dynamodb:leadingkeys": keys} if keys else {})}

    iam_actions.request_tag_context = request_tag_context
    iam_actions.dynamodb_service_context = dynamodb_service_context


def _check_what_else_is_needed() -> None:
    known = iam_evaluator.enforce

    def enforce(
        access_key: str,
        action: str,
        service: str,
        region: str,
        *,
        resource_arn: str = "*",
        service_context: dict[str, Any] | None = None,
    ) -> object:
        context = dict(service_context or {})
        checks: list[Check] = [(action, resource_arn, context), *context.pop(_ALSO, ())]
        for what, on, keys in checks:
            denied = known(access_key, what, service, region, resource_arn=on, service_context=keys)
            if denied:
                who = getattr(denied, "principal_arn", denied)
                sys.stderr.write(f"denied: {who} {what} on {on} with {keys}\n")
                return denied
        return None

    iam_evaluator.enforce = enforce


def _let_services_assume_roles() -> None:
    known_handler, known_evaluation = sts.handle_request, iam_evaluator.evaluate_trust_policy

    async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, params: object) -> object:
        service = headers.get(_SERVICE)
        source: dict[str, object] = {key: headers[header] for key, header in _SOURCE.items() if header in headers}
        mark = _calling_service.set((service, source) if service else None)
        try:
            return await known_handler(method, path, headers, body, params)
        finally:
            _calling_service.reset(mark)

    def evaluate_trust_policy(document: object, caller_arn: str, context: object = None) -> bool:
        calling = _calling_service.get()
        return _trusts(document, *calling) if calling else bool(known_evaluation(document, caller_arn, context))

    sts.handle_request = handle_request
    iam_evaluator.evaluate_trust_policy = evaluate_trust_policy


def _equip_tasks() -> None:
    known_registration, known_handler = ecs._register_metadata, imds.handle_request

    def register_metadata(task: str, cluster: str, definition: dict[str, Any], *rest: Any) -> object:
        token = known_registration(task, cluster, definition, *rest)
        _container, _launch_type, env, *_ = rest
        del env["AWS_CONTAINER_CREDENTIALS_FULL_URI"], env["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        if role := definition.get("taskRoleArn"):
            path = f"{_CREDENTIALS}{uuid.uuid4()}"
            _roles_of_tasks[path] = (role, task)
            env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = path
        env |= {"AWS_REGION": get_region(), "AWS_DEFAULT_REGION": get_region(), "AWS_EXECUTION_ENV": "AWS_ECS_FARGATE"}
        return token

    async def handle_request(method: str, path: str, headers: dict[str, str], body: bytes, params: object) -> object:
        if not path.startswith(_CREDENTIALS):
            return await known_handler(method, path, headers, body, params)
        status, document = _credentials(path)
        return status, {"Content-Type": "application/json"}, json.dumps(document).encode()

    ecs._register_metadata = register_metadata
    imds.handle_request = handle_request


def _check_secrets() -> None:
    known_start, known_resolution = ecs._start_task_worker, ecs._resolve_container_secrets

    def start_task_worker(task: dict[str, Any], definition: dict[str, Any], *rest: Any) -> object:
        mark = _execution_role.set(definition.get("executionRoleArn"))
        try:
            return known_start(task, definition, *rest)
        finally:
            _execution_role.reset(mark)

    def resolve_container_secrets(container: dict[str, Any]) -> object:
        role = str(_execution_role.get())
        for secret in map(_in_camel_case, container.get("secrets") or ()):
            arn = str(secret["valueFrom"])
            action = "ssm:GetParameters" if ":ssm:" in arn else "secretsmanager:GetSecretValue"
            resource = arn if ":ssm:" in arn else ":".join(arn.split(":")[:7])
            if _decision(role, action, resource, {}) != "Allow":
                sys.stderr.write(f"denied: {role} {action} on {resource}\n")
                raise ecs._SecretResolutionError(
                    f"AccessDeniedException: {role} is not authorized to perform: {action}"
                )
        return known_resolution(container)

    ecs._start_task_worker, ecs._resolve_container_secrets = start_task_worker, resolve_container_secrets


def _order_containers() -> None:
    known_arguments, known_run, known_failure = ecs._build_run_kwargs, ecs._run_docker_container, ecs._fail_task_start

    def build_run_kwargs(container: dict[str, Any], definition: dict[str, Any], env: object, *rest: Any) -> object:
        kwargs = known_arguments(container, definition, env, *rest)
        _ports, _network, _is_host_mode, task_id, *_ = rest
        if entry_point := container.get("entryPoint"):
            kwargs["entrypoint"] = entry_point
        volumes = [_in_camel_case(volume) for volume in definition.get("volumes") or ()]
        empty = {volume["name"] for volume in volumes if not _in_camel_case(volume.get("host") or {}).get("sourcePath")}
        # Docker fills an empty named volume from the image, as ECS does.
        mounts = [
            f"{VOLUMES}{task_id}-{mount['sourceVolume']}:{mount['containerPath']}:{'ro' if mount['readOnly'] else 'rw'}"
            for mount in container.get("mountPoints") or ()
            if mount["sourceVolume"] in empty
        ]
        kwargs["volumes"] = [*(kwargs.get("volumes") or ()), *mounts]
        return kwargs

    def run_docker_container(client: Any, container: dict[str, Any], kwargs: dict[str, Any], **more: Any) -> object:
        names_of_task = kwargs["name"].removesuffix(container["name"])
        for dependency in map(_in_camel_case, container.get("dependsOn") or ()):
            if dependency["condition"] == "SUCCESS":
                other = client.containers.get(names_of_task + dependency["containerName"])
                if other.wait()["StatusCode"]:
                    task = ecs._tasks[kwargs["labels"]["com.amazonaws.ecs.task-arn"]]
                    [own] = [each for each in task["containers"] if each["name"] == container["name"]]
                    own |= _never_ran(dependency["containerName"])
                    raise RuntimeError(own["reason"])
        return known_run(client, container, kwargs, **more)

    def fail_task_start(task: dict[str, Any], client: Any, reason: str) -> None:
        if not any("reason" in container for container in task["containers"]):
            known_failure(task, client, reason)
            return
        ecs._mark_task_stopped(task["taskArn"], task, "Essential container in task exited", "EssentialContainerExited")
        ecs._cleanup_task_resources(task, client)

    ecs._build_run_kwargs, ecs._run_docker_container = build_run_kwargs, run_docker_container
    ecs._fail_task_start = fail_task_start


def _never_ran(dependency: str) -> dict[str, object]:
    """What the ECS agent writes of a container that waited for one that failed (since version 1.61.2)."""
    reason = f"CannotStartContainerError: dependency graph: failed to resolve the dependency on {dependency}"
    return {"exitCode": 143, "reason": reason}


def _in_camel_case(part: dict[str, Any]) -> dict[str, Any]:
    """A part of a task definition as the API spells it; CloudFormation's spelling gets here."""
    return {name[:1].lower() + name[1:]: value for name, value in part.items()}


def _credentials(path: str) -> tuple[int, dict[str, object]]:
    """A session of the task's role, in the form of the ECS Developer Guide, "Task IAM role"."""
    if path not in _roles_of_tasks:
        return 404, {"code": "InvalidIdInRequest", "message": "no task has these credentials"}
    role, task = _roles_of_tasks[path]
    name, account = role.rpartition("/")[2], get_account_id()
    source = {"aws:sourceaccount": account, "aws:sourcearn": task}
    stored = iam._roles.get(name)
    if stored is None or not _trusts(stored["AssumeRolePolicyDocument"], "ecs-tasks.amazonaws.com", source):
        return 403, {"code": "AccessDenied", "message": f"ecs-tasks.amazonaws.com may not assume {role}"}
    session = task.rpartition("/")[2]
    key, secret, token = f"ASIA{secrets.token_hex(8).upper()}", secrets.token_urlsafe(30), secrets.token_urlsafe(60)
    until = time.time() + _LIFETIME
    sts.register_session(
        key,
        {
            "Arn": f"arn:aws:sts::{account}:assumed-role/{name}/{session}",
            "UserId": f"{stored['RoleId']}:{session}",
            "SecretAccessKey": secret,
            "SessionToken": token,
            "Expiration": until,
            "AccountId": account,
            "PrincipalType": "AssumedRole",
        },
    )
    return 200, {
        "RoleArn": role,
        "AccessKeyId": key,
        "SecretAccessKey": secret,
        "Token": token,
        "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until)),
    }


def _trusts(document: object, service: str, source: dict[str, object]) -> bool:
    """Whether the trust policy lets the service in, with the source that it names."""
    parsed: Any = json.loads(document) if isinstance(document, str) else document
    context = iam_evaluator.EvalContext(
        principal_arn=service,
        principal_type="Service",
        principal_account=get_account_id(),
        action="sts:AssumeRole",
        resource_arn="*",
        region=get_region(),
        service_context=source,
    )
    return any(
        statement["Effect"] == "Allow"
        and iam_evaluator._service_principal_matches(statement["Principal"], service)
        and iam_evaluator._conditions_met(statement.get("Condition", {}), context)
        for statement in parsed["Statement"]
    )


def _simulate_principal_policy(given: dict[str, Any]) -> object:
    """SimulatePrincipalPolicy of a role (IAM API Reference): each action on each resource, with the context keys."""
    arn, account = iam._p(given, "PolicySourceArn"), get_account_id()
    name = arn.rpartition("/")[2]
    if iam._roles.get_scoped(account, None, name) is None:
        return iam._error(404, "NoSuchEntity", f"The role with name {name} cannot be found.", ns="iam")
    context = {}
    for number in range(1, len(_members(given, "ContextEntries.member.{}.ContextKeyName")) + 1):
        entry = f"ContextEntries.member.{number}."
        values = _members(given, entry + "ContextKeyValues.member.{}")
        key = iam._p(given, entry + "ContextKeyName").lower()
        context[key] = values if iam._p(given, entry + "ContextKeyType").endswith("List") else values[0]

    def decision(action: str, resource: str) -> str:
        words = {"Allow": "allowed", "Deny": "explicitDeny"}
        return words.get(_decision(arn, action, resource, context), "implicitDeny")

    results = [
        (action, resource, decision(action, resource))
        for action in _members(given, "ActionNames.member.{}")
        for resource in _members(given, "ResourceArns.member.{}") or ["*"]
    ]
    members = "".join(
        f"<member><EvalActionName>{action}</EvalActionName><EvalResourceName>{resource}</EvalResourceName>"
        f"<EvalDecision>{decision}</EvalDecision></member>"
        for action, resource, decision in results
    )
    answer = f"<EvaluationResults>{members}</EvaluationResults><IsTruncated>false</IsTruncated>"
    what = "SimulatePrincipalPolicy"
    return iam._xml(200, f"{what}Response", f"<{what}Result>{answer}</{what}Result>", ns="iam")


def _decision(role: str, action: str, resource: str, context: dict[str, Any]) -> str:
    """What the policies of the role, given by its ARN, say about one action on one resource."""
    asked = iam_evaluator.EvalContext(
        principal_arn=role,
        principal_type="AssumedRole",
        principal_account=get_account_id(),
        action=action,
        resource_arn=resource,
        region=get_region(),
        secure_transport=True,
        service_context=context,
    )
    policies = iam_evaluator._gather_role_policies(role.rpartition("/")[2], get_account_id())
    return str(iam_evaluator.evaluate(asked, policies).decision)


def _members(given: dict[str, Any], name: str) -> list[str]:
    """The members of a list in a Query request."""
    found: list[str] = []
    while value := iam._p(given, name.format(len(found) + 1)):
        found.append(value)
    return found


def _keys(action: str, request: dict[str, Any]) -> dict[str, object]:
    if action in ("ecs:RunTask", "ecs:StopTask", "ecs:ListTasks", "ecs:DescribeTasks", "ecs:DescribeServices"):
        return {"ecs:cluster": _cluster(request)}
    if action == "events:PutEvents":
        # AWS evaluates each entry separately; here entries of several sources match none.
        sources = {entry.get("Source") for entry in request.get("Entries") or ()}
        return {"events:source": ", ".join(sorted(map(str, sources)))}
    return {}


def _also(action: str, request: dict[str, Any]) -> list[Check]:
    """What AWS checks for the request beyond its action (Service Authorization Reference, dependent actions)."""
    match action:
        case "ecs:RunTask":
            definition, own = _task_definition(request), request.get("overrides") or {}
            roles = [own.get(name) or definition.get(name) for name in ("taskRoleArn", "executionRoleArn")]
            passed: dict[str, object] = {"iam:passedtoservice": "ecs-tasks.amazonaws.com"}
            checks: list[Check] = [("iam:PassRole", role, passed) for role in roles if role]
            if request.get("tags") or request.get("propagateTags"):
                tasks = f"{_cluster(request).replace(':cluster/', ':task/')}/*"
                checks.append(("ecs:TagResource", tasks, {"ecs:createaction": "RunTask"}))
            return checks
        case "ecs:DescribeServices":
            return [(action, service, _keys(action, request)) for service in _services(request)[1:]]
        case "scheduler:CreateSchedule" | "scheduler:UpdateSchedule":
            role = request.get("Target", {}).get("RoleArn", "")
            return [("iam:PassRole", role, {"iam:passedtoservice": "scheduler.amazonaws.com"})]
        case _:
            return []


def _leading_keys(request: dict[str, Any]) -> list[str]:
    """The partition keys that the request names (DynamoDB Developer Guide, "Fine-grained access control")."""
    name = str(request.get("TableName", "")).rpartition("/")[2]
    table = dynamodb._tables.get(name)
    if table is None:
        return []
    hash_key = table["pk_name"]
    for part in ("Key", "Item"):
        if part in request:
            return [str(value) for value in request[part].get(hash_key, {}).values()]
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}
    return [
        str(value)
        for condition in _HASH_KEY_OF_QUERY.finditer(request.get("KeyConditionExpression", ""))
        if names.get(condition["name"], condition["name"]) == hash_key
        for value in values.get(condition["value"], {}).values()
    ]


def _cluster(request: dict[str, Any]) -> str:
    given = str(request.get("cluster") or "default")
    return given if given.startswith("arn:") else f"arn:aws:ecs:{get_region()}:{get_account_id()}:cluster/{given}"


def _services(request: dict[str, Any]) -> list[str]:
    services = _cluster(request).replace(":cluster/", ":service/")
    given = request.get("services") or []
    return [name if name.startswith("arn:") else f"{services}/{name}" for name in given]


def _task_definition(request: dict[str, Any]) -> dict[str, Any]:
    given = str(request.get("taskDefinition", ""))
    found = ecs._task_defs.get(ecs._resolve_td_key(given))
    if found is not None:
        return dict(found)
    where = f"arn:aws:ecs:{get_region()}:{get_account_id()}:task-definition/"
    return {"taskDefinitionArn": given if given.startswith("arn:") else f"{where}{given}"}


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body or b"{}")
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


if __name__ == "__main__":
    main()
