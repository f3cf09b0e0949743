"""IAM: the whole lane runs with the roles that the constructs make; here is what these roles do *not* allow.

The emulator evaluates IAM (`AUTH=true`). `dynamodb:LeadingKeys`, `ecs:cluster` and `iam:PassRole` it does not know
by itself; `aws_parts/in_emulator.py` teaches it. The statements themselves are facts of `tests/cdk`.
"""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from cronce.vocabulary.names import period_of
from tests.e2e.names import CHORE, DIGESTS, GONE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.world import World

pytestmark = pytest.mark.usefixtures("docker")

_OWN, _OTHERS = DIGESTS


def _refused(call: Callable[..., object], **request: object) -> bool:
    try:
        call(**request)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        return True
    return False


def test_a_tasks_role_reads_and_writes_the_rows_of_its_own_job_alone(world: World) -> None:
    """Get, Put, Update and Query: allowed for the own job, denied for another's. No Scan and no Delete at all."""
    role = world.aws.assume_role(world.outputs["RoleOfDailyDigest"], service="ecs-tasks.amazonaws.com")
    table = world.table
    with closing(world.aws.client("dynamodb", **role)) as dynamodb:

        def key(job: str) -> dict[str, Any]:
            return {"job": {"S": job}, "key": {"S": "run#nobodys"}}

        for job, refused in ((_OWN, False), (_OTHERS, True)):
            row = key(job) | {"version": {"N": "1"}}
            assert _refused(dynamodb.get_item, TableName=table, Key=key(job)) is refused
            assert _refused(dynamodb.put_item, TableName=table, Item=row) is refused
            assert _refused(dynamodb.update_item, TableName=table, Key=key(job)) is refused
            condition = {"KeyConditionExpression": "#job = :job", "ExpressionAttributeNames": {"#job": "job"}}
            values = {":job": {"S": job}}
            assert _refused(dynamodb.query, TableName=table, **condition, ExpressionAttributeValues=values) is refused
        assert _refused(dynamodb.scan, TableName=table)
        assert _refused(dynamodb.delete_item, TableName=table, Key=key(_OWN))
    with closing(world.aws.client("dynamodb")) as dynamodb:
        dynamodb.delete_item(TableName=table, Key=key(_OWN))


def test_a_task_that_claims_another_jobs_run_does_not_start(world: World) -> None:
    """In its container `cronce exec` ends with 69 and says why; there is no claim, and no mail."""
    tick = world.new_tick()
    task = world.deliver(_OTHERS, tick, as_job="another")
    (stopped,) = world.stopped([task])
    assert stopped["containers"][0]["exitCode"] == 69
    (line,) = [line for line in world.log(task) if line["cronce.event"] == "unavailable"]
    assert "AccessDeniedException" in json.dumps(line)
    assert world.run("another", tick) is None
    assert world.mails("another", tick) == 0


def test_a_person_on_call_starts_the_jobs_of_that_role_alone(world: World) -> None:
    """RunTask of another job's task definition is denied, and said so in a line."""
    tick = world.new_tick()
    answer = world.type_as_on_call("rerun", GONE, period_of(tick))
    assert answer.returncode == 1, answer
    assert "AccessDenied" in answer.stderr
    assert world.run(GONE, tick) is None


def test_a_person_who_may_only_look_sees_everything_and_changes_nothing(world: World, tmp_path: Path) -> None:
    """`grant_operate` is enough for each command that reads, and for no other."""
    tick = world.new_tick()
    world.stopped([world.deliver(CHORE, tick)])
    world.done(CHORE, tick)
    run = (CHORE, period_of(tick))
    words = {"why": run, "logs": run, "open": run, "show": run, "runs": (CHORE,), "next": (CHORE,), "jobs": ()}
    for command, arguments in words.items():
        answer = world.type_as_on_call(command, *arguments, role="LookingRole")
        assert answer.returncode == 0, answer
        assert "ot known" not in answer.stdout
    page = str(tmp_path / "runs.html")
    board = world.type_as_on_call("board", "-o", page, "--days", "2", role="LookingRole")
    assert board.returncode == 0, board.stderr
    checks = json.loads(world.type_as_on_call("doctor", "--json", role="LookingRole").stdout)["checks"]
    # The emulator asks IAM about these with another action or resource than AWS.
    assert {check["name"] for check in checks if check["state"] == "not known"} <= {"clusters", "functions", "roles"}
    (ledger,) = [check for check in checks if check["name"] == "ledger"]
    assert ledger["state"] == "warning"
    assert "readable, not writable" in ledger["sentence"]
    for acting in (["pause", CHORE, "--why", "x"], ["release", *run, "--reason", "x"], ["rerun", *run]):
        answer = world.type_as_on_call(*acting, role="LookingRole")
        assert answer.returncode != 0, answer
    after = world.run(CHORE, tick)
    assert after is not None
    assert (after.status, after.attempt) == ("SUCCEEDED", 1)


def test_only_the_schedules_of_the_ledgers_group_have_a_jobs_role(world: World) -> None:
    """The trust policy names the group: a schedule elsewhere in the account cannot start tasks with it."""
    role = world.schedules.role_of(world.schedule_of[_OWN])
    elsewhere = "arn:aws:scheduler:eu-west-1:000000000000:schedule-group/default"
    with pytest.raises(ClientError, match="AccessDenied"):
        world.aws.assume_role(role, service="scheduler.amazonaws.com", source=elsewhere)
