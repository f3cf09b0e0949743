"""A person on call who may only invoke the ledger's rerun function, and may not start a task themselves."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cronce import Status, Trigger
from cronce.vocabulary.names import period_of
from tests.e2e.names import BROKEN, CHORE

if TYPE_CHECKING:
    import subprocess
    from datetime import datetime

    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")

ASKING = "AskingRole"


def ask(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    """The output of `cronce rerun --through` for that person."""
    return world.type_as_on_call(
        "rerun", *words, "--through", world.outputs["RerunName"], "--actor", "eve", role=ASKING
    )


def attempt_two(world: World, job: str, tick: datetime) -> tuple[object, ...]:
    """Wait for the second attempt; how it ended, and who asked why."""
    world.attempt(job, tick, 2)
    run = world.settled(job, tick)
    return run.status, run.attempt, run.trigger, run.actor, run.note


def test_a_failed_period_is_run_again_by_a_container_that_the_function_arranged(world: World) -> None:
    """The person has no other permission; the task has the job's command, and records who asked and why."""
    tick = world.new_tick()
    world.deliver(BROKEN, tick)
    assert world.attempt(BROKEN, tick, 1).status is Status.FAILED

    answer = ask(world, BROKEN, period_of(tick), "--reason", "it is mended", "--json")
    assert answer.returncode == 0, answer
    document = json.loads(answer.stdout)
    assert (document["started"], document["attempt"], document["task"]) == (True, 2, None)
    assert attempt_two(world, BROKEN, tick) == (Status.SUCCEEDED, 2, Trigger.MANUAL, "eve", "it is mended")
    (fired,) = world.relaunches(BROKEN, tick)
    (task,) = fired.tasks
    run = world.settled(BROKEN, tick)
    assert run.owner == task
    world.await_events(task, ["claimed", "succeeded"])


def test_a_success_is_repeated_only_by_force_with_a_reason(world: World) -> None:
    """A refusal starts no container, and changes no row."""
    tick = world.new_tick()
    world.deliver(CHORE, tick)
    done = world.done(CHORE, tick)

    refused = ask(world, CHORE, period_of(tick))
    assert refused.returncode == 1, refused
    assert "it has succeeded" in refused.stderr
    assert ask(world, CHORE, period_of(tick), "--force").returncode == 64
    assert (world.relaunches(CHORE, tick), world.run(CHORE, tick)) == ([], done)

    forced = ask(world, CHORE, period_of(tick), "--force", "--reason", "half of it was lost")
    assert forced.returncode == 0, forced
    expected = (Status.SUCCEEDED, 2, Trigger.MANUAL, "eve", "half of it was lost")
    assert attempt_two(world, CHORE, tick) == expected
    assert len(world.relaunches(CHORE, tick)) == 1


def test_the_role_may_invoke_that_function_and_nothing_else(world: World) -> None:
    """Neither the table, nor a schedule, nor a task, nor another function, nor the function's own code."""
    role = world.aws.assume_role(world.outputs[ASKING])
    outputs, table, schedule = world.outputs, world.table, world.schedule_of[CHORE]
    key = {"job": {"S": CHORE}, "key": {"S": "run#nobodys"}}
    target = world.schedules.target_of(schedule)
    at = {"GroupName": outputs["ScheduleGroupName"], "FlexibleTimeWindow": {"Mode": "OFF"}}
    functions = [outputs["RecorderName"], outputs["WatchdogName"]]
    changed = {"FunctionName": outputs["RerunName"], "Environment": {"Variables": {}}}
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("dynamodb", "get_item", {"TableName": table, "Key": key}),
        ("dynamodb", "put_item", {"TableName": table, "Item": key}),
        ("dynamodb", "delete_item", {"TableName": table, "Key": key}),
        ("dynamodb", "scan", {"TableName": table}),
        ("scheduler", "get_schedule", {"Name": schedule, "GroupName": outputs["ScheduleGroupName"]}),
        ("scheduler", "list_schedules", {}),
        ("scheduler", "create_schedule", {**at, "Name": "mine", "ScheduleExpression": "rate(1 day)", "Target": target}),
        ("scheduler", "delete_schedule", {"Name": schedule, "GroupName": outputs["ScheduleGroupName"]}),
        (
            "ecs",
            "run_task",
            {"cluster": outputs["ClusterName"], "taskDefinition": target["EcsParameters"]["TaskDefinitionArn"]},
        ),
        ("ecs", "list_tasks", {"cluster": outputs["ClusterName"]}),
        *(("lambda", "invoke", {"FunctionName": name, "Payload": b"{}"}) for name in functions),
        ("lambda", "update_function_configuration", changed),
        ("lambda", "get_function", {"FunctionName": outputs["RerunName"]}),
        ("sqs", "send_message", {"QueueUrl": outputs["DeadLettersUrl"], "MessageBody": "{}"}),
        ("events", "put_events", {"Entries": [{"Source": "aws.ecs", "DetailType": "x", "Detail": "{}"}]}),
        ("logs", "get_log_events", {"logGroupName": outputs["LogGroupName"], "logStreamName": "run/work/x"}),
        ("sts", "assume_role", {"RoleArn": target["RoleArn"], "RoleSessionName": "mine"}),
        ("s3", "list_objects_v2", {"Bucket": outputs["OutboxName"]}),
    ]
    allowed = [
        f"{service} {operation}"
        for service, operation, request in calls
        if _may(world, role, service, operation, request)
    ]
    assert allowed == []
    invoked = {"FunctionName": outputs["RerunName"], "Payload": b"{}"}
    assert _may(world, role, "lambda", "invoke", invoked)


def _may(world: World, role: dict[str, str], service: str, operation: str, request: dict[str, Any]) -> bool:
    with closing(world.aws.client(service, **role)) as client:
        try:
            getattr(client, operation)(**request)
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("AccessDenied", "AccessDeniedException"):
                raise
            return False
        return True
