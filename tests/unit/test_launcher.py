"""The launcher finds jobs and starts their tasks, whatever EventBridge Scheduler and ECS answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import Policy, Trigger
from cronce.ecs import (
    CallRefusedError,
    CallUnavailableError,
    JobDefinition,
    JobUnknownError,
    Launched,
    Launcher,
    NotLaunched,
    definition_of,
)
from cronce.vocabulary.errors import InputMissingError
from tests.support.cloud import CLUSTER, GROUP, T0, FakeEcs, FakeScheduler, client_error, schedule, several

if TYPE_CHECKING:
    from collections.abc import Callable

PERIOD = "2026-11-29T06:00:00Z"
TASK = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123456789abcdef0123456789abcdef"
STARTED = {"tasks": [{"taskArn": TASK, "lastStatus": "PROVISIONING", "desiredStatus": "RUNNING"}], "failures": []}
STOPPED = {"tasks": [{"taskArn": TASK, "lastStatus": "STOPPED", "desiredStatus": "STOPPED"}], "failures": []}


def job_of(answer: dict[str, Any]) -> JobDefinition:
    """The job of a schedule."""
    job = definition_of(answer)
    assert job is not None
    return job


def run(ecs: FakeEcs, **changes: Any) -> Launched | NotLaunched:  # noqa: ANN401
    """Start attempt 2 of the job's period."""
    wish: dict[str, Any] = {"scheduled_at": T0, "trigger": Trigger.MANUAL, "attempt": 2}
    return Launcher(group=GROUP, ecs=ecs).run(job_of(schedule()), PERIOD, **wish | changes)


def run_later(scheduler: FakeScheduler, **changes: Any) -> bool:  # noqa: ANN401
    """Arrange attempt 2 of the job's period for a little after T0."""
    wish: dict[str, Any] = {"scheduled_at": T0, "trigger": Trigger.RETRY, "attempt": 2, "launch": 1}
    wish["not_before"] = T0 + timedelta(seconds=10)
    return Launcher(group=GROUP, scheduler=scheduler).run_later(job_of(schedule()), PERIOD, **wish | changes)


def test_every_job_is_found_page_by_page() -> None:
    """One-shots and foreign schedules are not jobs."""
    foreign = schedule("foreign")
    foreign["Target"]["Input"] = "{}"
    scheduler = FakeScheduler(*(schedule(f"job-{n}") for n in range(5)), foreign)
    scheduler.page_size = 2
    run_later(scheduler)
    jobs = [job.job for job in Launcher(group=GROUP, scheduler=scheduler).jobs()]
    assert jobs == [f"job-{n}" for n in range(5)]


def test_a_schedule_that_did_not_change_is_read_once() -> None:
    """The next look costs one request; a change is seen."""
    scheduler = FakeScheduler(schedule("a"), schedule("b"))
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    first = list(launcher.jobs())
    scheduler.calls.clear()
    assert list(launcher.jobs()) == first
    assert [operation for operation, _ in scheduler.calls] == ["list_schedules"]
    scheduler.schedules["b-0123456789ab"] |= {"State": "DISABLED", "LastModificationDate": T0}
    assert [job.enabled for job in launcher.jobs()] == [True, False]
    assert scheduler.count("get_schedule") == 1


def test_a_job_that_cannot_be_read_is_reported_and_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Its policy is of a newer version."""
    broken = schedule("a", policy=Policy(backoff_limit=1))
    broken["Target"]["Input"] = broken["Target"]["Input"].replace("backoff_limit", "patience")
    scheduler = FakeScheduler(broken, schedule("b"))
    assert [job.job for job in Launcher(group=GROUP, scheduler=scheduler).jobs()] == ["b"]
    line = json.loads(capsys.readouterr().err)
    assert (line["cronce.event"], line["level"], line["cronce.schedule"]) == (
        "unreadable_job",
        "ERROR",
        "a-0123456789ab",
    )


def denied(schedule_name: str) -> FakeScheduler:
    """With three jobs, of which one may not be read: its key is disabled."""
    scheduler = FakeScheduler(schedule("a"), schedule("b"), schedule("c"))
    error = client_error("get_schedule", "AccessDeniedException", "the key is disabled", status=403)
    scheduler.fail_if("get_schedule", lambda request: error if request["Name"] == schedule_name else None)
    return scheduler


def test_a_schedule_that_may_not_be_read_is_reported_and_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """It is encrypted with a key that is disabled."""
    launcher = Launcher(group=GROUP, scheduler=denied("b-0123456789ab"))
    assert [job.job for job in launcher.jobs()] == ["a", "c"]
    line = json.loads(capsys.readouterr().err)
    assert (line["cronce.event"], line["cronce.schedule"]) == ("unreadable_job", "b-0123456789ab")
    assert "the key is disabled" in line["cronce.error"]
    assert launcher.find("c").job == "c"


@pytest.mark.parametrize("job", ["b", "renamed"])
def test_a_job_that_may_be_that_of_an_unreadable_schedule_is_not_unknown(job: str) -> None:
    """Else the recorder would ignore the events of its tasks."""
    with pytest.raises(CallRefusedError, match="the key is disabled"):
        Launcher(group=GROUP, scheduler=denied("b-0123456789ab")).find(job)


def test_no_permission_at_all_is_an_error() -> None:
    """A group in which nothing can be read is not a group without jobs."""
    scheduler = FakeScheduler(schedule("a"), schedule("b"))
    scheduler.fail("get_schedule", "AccessDeniedException")
    with pytest.raises(CallRefusedError, match="AccessDenied"):
        list(Launcher(group=GROUP, scheduler=scheduler).jobs())


@pytest.mark.parametrize(
    "text",
    [
        '{"containerOverrides": [{"environment": [1, null, "CRONCE_JOB", {"name": "CRONCE_JOB"}]}]}',
        '{"containerOverrides": [{"environment": 1}]}',
        '{"containerOverrides": [{"environment": "name value"}]}',
        '{"containerOverrides": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_a_schedule_with_any_input_hides_no_other(text: str) -> None:
    """Whoever may create schedules in the group chooses it."""
    foreign = schedule("a")
    foreign["Target"]["Input"] = text
    scheduler = FakeScheduler(foreign, schedule("b"))
    assert [job.job for job in Launcher(group=GROUP, scheduler=scheduler).jobs()] == ["b"]


def test_a_schedule_that_is_deleted_between_list_and_look_is_no_job() -> None:
    """CloudFormation is at work."""
    scheduler = FakeScheduler(schedule("a"), schedule("b"))
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    jobs = launcher.jobs()
    next(jobs)
    del scheduler.schedules["b-0123456789ab"]
    assert list(jobs) == []


def test_a_job_is_found_by_the_beginning_of_its_name() -> None:
    """Two requests, however many jobs there are."""
    scheduler = FakeScheduler(*(schedule(f"job-{n}") for n in range(30)))
    assert Launcher(group=GROUP, scheduler=scheduler).find("job-17").job == "job-17"
    assert len(scheduler.calls) == 2


def test_a_job_whose_schedule_has_another_name_is_found_too() -> None:
    """The schedule was created by hand, or the job's name is not valid for a schedule."""
    scheduler = FakeScheduler(schedule("Müllabfuhr (Nord)", Name="bins"), schedule("daily"))
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    assert launcher.find("Müllabfuhr (Nord)").schedule_name == "bins"


def test_a_longer_name_with_the_same_beginning_is_another_job() -> None:
    """The prefix finds both; the job decides."""
    scheduler = FakeScheduler(schedule("daily-digest"), schedule("daily"))
    assert Launcher(group=GROUP, scheduler=scheduler).find("daily").job == "daily"


def test_a_job_that_is_not_there_is_an_error_with_names_like_it() -> None:
    """And with the group that was searched."""
    launcher = Launcher(group=GROUP, scheduler=FakeScheduler(schedule("daily-digest"), schedule("invoices")))
    with pytest.raises(JobUnknownError, match=r"group runs .* job daily-digset; there is daily-digest$") as caught:
        launcher.find("daily-digset")
    assert caught.value.near == ("daily-digest",)
    with pytest.raises(JobUnknownError, match="check the job's name, the group and the Region"):
        launcher.find("zzz")


def test_a_schedule_by_name_is_a_job_or_nothing() -> None:
    """A dead letter names it."""
    launcher = Launcher(group=GROUP, scheduler=FakeScheduler(schedule("daily")))
    found = launcher.defined_by("daily-0123456789ab")
    assert found is not None
    assert found.job == "daily"
    assert launcher.defined_by("gone") is None


def test_a_job_with_several_schedules_is_one_job_and_costs_one_request() -> None:
    """By its name, in a list of all, for completion, and by the schedule that a dead letter names."""
    further = "cron(0 9 ? * SUN *); cron(0 12 1 * ? *)"
    scheduler = FakeScheduler(*several(further=further), schedule("daily-digest-2"))
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    assert [job.job for job in launcher.jobs()] == ["daily-digest", "daily-digest-2"]
    assert scheduler.count("get_schedule") == 2
    job = launcher.find("daily-digest")
    assert job.expression == f"cron(0 6 * * ? *); {further}"
    assert launcher.jobs_like("daily", most=10) == ["daily-digest", "daily-digest-2"]
    assert [launcher.defined_by(name) for name in (job.schedule_name, *job.further)] == [job] * 3


def test_the_further_schedules_of_a_job_are_compared_with_the_first() -> None:
    """A deleted and a disabled one; a job with one schedule costs no request."""
    first, sundays, firsts = several(further="cron(0 9 ? * SUN *); cron(0 12 1 * ? *)")
    scheduler = FakeScheduler(first, firsts | {"State": "DISABLED"}, schedule("other"))
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    assert launcher.faults_of_further(launcher.find("daily-digest")) == {
        sundays["Name"]: "does not exist",
        firsts["Name"]: "is disabled, and the first one is not",
    }
    scheduler.calls.clear()
    assert launcher.faults_of_further(job_of(schedule("other"))) == {}
    assert scheduler.calls == []
    scheduler.fail("get_schedule", "AccessDeniedException")
    with pytest.raises(CallRefusedError):
        launcher.faults_of_further(job_of(first))


def test_run_task_is_called_as_the_schedule_would() -> None:
    """Every parameter of the target, in RunTask's spelling."""
    ecs = FakeEcs(STARTED)
    assert run(ecs) == Launched(task_arn=TASK)
    ((_, request),) = ecs.calls
    overrides = request.pop("overrides")
    assert request == {
        "cluster": CLUSTER,
        "clientToken": "d8c01e715ce8eb9b025c93d35346f8e8",
        "startedBy": "cronce/manual",
        "taskDefinition": "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1",
        "count": 1,
        "launchType": "FARGATE",
        "networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"], "assignPublicIp": "ENABLED"}},
        "tags": [{"key": "team", "value": "mail"}],
    }
    assert "<aws.scheduler." not in json.dumps(overrides)
    assert {"name": "CRONCE_PERIOD", "value": PERIOD} in overrides["containerOverrides"][1]["environment"]


def test_an_answer_without_a_task_is_no_start() -> None:
    """RunTask answers 200 with `failures`."""
    failure = {"arn": "arn:...", "reason": "RESOURCE:MEMORY", "detail": "none has 512 MB"}
    assert run(FakeEcs({"tasks": [], "failures": [failure]})) == NotLaunched(
        "RESOURCE:MEMORY: none has 512 MB: arn:..."
    )
    assert run(FakeEcs({"tasks": [], "failures": [{"reason": "AGENT"}]})) == NotLaunched("AGENT")
    assert isinstance(run(FakeEcs({"tasks": [], "failures": []})), NotLaunched)


def test_a_task_that_has_stopped_is_not_started_again_by_its_own_token() -> None:
    """Then the next launch is tried; its environment has the number."""
    ecs = FakeEcs(STOPPED, STOPPED, STARTED)
    assert run(ecs) == Launched(task_arn=TASK)
    tokens = {request["clientToken"] for _, request in ecs.calls}
    launches = [_environ(request)["CRONCE_LAUNCH"] for _, request in ecs.calls]
    assert (len(tokens), launches) == (3, ["1", "2", "3"])


def test_launches_at_once_are_bounded() -> None:
    """Every task of the job stops immediately."""
    ecs = FakeEcs(STOPPED)
    assert run(ecs) == NotLaunched(f"10 tasks of this attempt have stopped, most recently {TASK}")
    assert ecs.count("run_task") == 10


def test_the_same_token_with_another_wish_is_no_start() -> None:
    """Two people with two reasons: the second gets the name of the first one's task."""
    ecs = FakeEcs(STARTED)
    ecs.fail("run_task", "ConflictException", "the token was used", resourceIds=[TASK])
    assert run(ecs) == NotLaunched(f"it was already started, with other settings: {TASK}")


@pytest.mark.parametrize(
    ("code", "status"),
    [("AccessDeniedException", 400), ("ClientException", 400), ("ClusterNotFoundException", 400)],
)
def test_a_refusal_of_run_task_is_not_a_start(code: str, status: int) -> None:
    """A value: it would be refused again."""
    ecs = FakeEcs(STARTED)
    ecs.fail("run_task", code, "not so", status=status)
    assert run(ecs) == NotLaunched(f"{code}: not so")


PASSING: dict[str, Callable[[FakeEcs], None]] = {
    "throttled": lambda ecs: ecs.fail("run_task", "ThrottlingException"),
    "server": lambda ecs: ecs.fail("run_task", "ServerException", status=500),
    "any 5xx": lambda ecs: ecs.fail("run_task", "Odd", status=503),
    "429": lambda ecs: ecs.fail("run_task", "Odd", status=429),
    "no answer": lambda ecs: ecs.go_away("run_task"),
}


@pytest.mark.parametrize("trouble", PASSING.values(), ids=PASSING)
def test_a_temporary_failure_is_an_error_to_retry(trouble: Callable[[FakeEcs], None]) -> None:
    """The message names the call and its job."""
    ecs = FakeEcs(STARTED)
    trouble(ecs)
    with pytest.raises(CallUnavailableError, match=f"run_task for daily-digest {PERIOD} had no answer"):
        run(ecs)


def test_a_launch_for_later_is_a_schedule_that_deletes_itself() -> None:
    """It has the job's own target and a whole minute in UTC."""
    scheduler = FakeScheduler(schedule())
    assert run_later(scheduler) is True
    (made,) = ({**each} for each in scheduler.one_shots)
    target = made.pop("Target")
    assert made == {
        "GroupName": GROUP,
        "Name": "once-560b865afdc3263f",
        "Description": f"retry, attempt 2, launch 1: daily-digest {PERIOD}",
        "ScheduleExpression": "at(2026-11-29T06:01:00)",
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "DELETE",
        "State": "ENABLED",
    }
    own = schedule()["Target"]
    assert {name: value for name, value in target.items() if name != "Input"} == {
        name: value for name, value in own.items() if name != "Input"
    }
    assert scheduler.environ_of(0)["CRONCE_PERIOD"] == PERIOD


def test_a_launch_for_later_is_encrypted_as_the_jobs_own_schedule() -> None:
    """Its input is the same, so it is not left to a key of AWS."""
    key = "arn:aws:kms:eu-west-1:111122223333:key/k"
    scheduler = FakeScheduler()
    later: dict[str, Any] = {"scheduled_at": T0, "trigger": Trigger.RETRY, "attempt": 2, "launch": 1}
    job = job_of(schedule(KmsKeyArn=key))
    assert Launcher(group=GROUP, scheduler=scheduler).run_later(job, PERIOD, **later, not_before=T0) is True
    [made] = scheduler.one_shots
    assert made["KmsKeyArn"] == key


def test_a_launch_for_later_happens_once() -> None:
    """The second request learns that it exists; another launch number is another launch."""
    scheduler = FakeScheduler()
    assert [run_later(scheduler), run_later(scheduler), run_later(scheduler, launch=2)] == [True, False, True]
    assert len(scheduler.one_shots) == 2


def test_overrides_that_ecs_would_not_take_are_no_schedule() -> None:
    """EventBridge Scheduler would take them, and the task could not be started: 8,192 characters with the JSON."""
    scheduler = FakeScheduler()
    run_later(scheduler, environment={"CRONCE_NOTE": ""})
    left = 8192 - len(scheduler.one_shots[0]["Target"]["Input"])
    assert run_later(scheduler, launch=2, environment={"CRONCE_NOTE": "x" * left}) is True
    with pytest.raises(CallRefusedError, match="its overrides have 8193 characters, and ECS takes 8192"):
        run_later(scheduler, launch=3, environment={"CRONCE_NOTE": "x" * (left + 1)})
    assert len(scheduler.one_shots) == 2


def test_a_launch_that_eventbridge_refuses_is_a_permanent_error() -> None:
    """It names call, job and cause."""
    scheduler = FakeScheduler()
    scheduler.fail("create_schedule", "AccessDeniedException", "no PassRole", status=403)
    with pytest.raises(CallRefusedError, match=f"create_schedule for daily-digest {PERIOD} was refused: Acc.*PassRole"):
        run_later(scheduler)


def test_a_full_group_may_have_room_later() -> None:
    """An exceeded quota is not a permanent refusal."""
    scheduler = FakeScheduler()
    scheduler.fail("create_schedule", "ServiceQuotaExceededException", status=402)
    with pytest.raises(CallUnavailableError):
        run_later(scheduler)


@pytest.mark.parametrize("operation", ["list_schedules", "get_schedule"])
def test_denied_schedules_are_an_error(operation: str) -> None:
    """Permanent if refused, else temporary."""
    scheduler = FakeScheduler(schedule())
    launcher = Launcher(group=GROUP, scheduler=scheduler)
    scheduler.fail(operation, "AccessDeniedException", status=403)
    with pytest.raises(CallRefusedError, match=operation):
        list(launcher.jobs())
    scheduler.fail(operation, "ThrottlingException", status=429)
    with pytest.raises(CallUnavailableError, match=operation):
        list(launcher.jobs())


def test_why_a_task_stopped_is_known_once_it_has() -> None:
    """With its containers' reasons and exit codes."""
    ecs = FakeEcs(STARTED)
    launcher = Launcher(group=GROUP, ecs=ecs)
    with pytest.raises(CallRefusedError, match="ECS does not list it"):
        launcher.stop_reason(TASK)
    ecs.tasks = [{"taskArn": TASK, "lastStatus": "DEPROVISIONING", "stoppedReason": "soon"}]
    assert launcher.stop_reason(TASK) is None
    ecs.tasks = [
        {
            "taskArn": TASK,
            "lastStatus": "STOPPED",
            "stoppedReason": "Essential container in task exited",
            "containers": [{"name": "digest", "exitCode": 3}, {"name": "log", "reason": "CannotPull"}, {"name": "x"}],
        }
    ]
    assert launcher.stop_reason(TASK) == "Essential container in task exited; digest: exit code 3; log: CannotPull"
    assert ecs.calls[0][1] == {"cluster": "jobs", "tasks": [TASK]}
    ecs.fail("describe_tasks", "AccessDeniedException")
    with pytest.raises(CallRefusedError):
        launcher.stop_reason(TASK)


def test_without_a_region_nothing_is_asked() -> None:
    """The error says how to give one."""
    with pytest.raises(InputMissingError, match=r"the Region is missing: .*AWS_REGION"):
        list(Launcher(group=GROUP).jobs())


def test_on_moto_a_job_is_found_and_launched_once_later() -> None:
    """Botocore's validation and moto's Scheduler accept the requests."""
    with mock_aws():
        scheduler: Any = boto3.client("scheduler", "eu-west-1")
        scheduler.create_schedule_group(Name=GROUP)
        known = ("Name", "GroupName", "ScheduleExpression", "ScheduleExpressionTimezone", "State", "FlexibleTimeWindow")
        for job in ("daily", "daily-digest"):
            answer = schedule(job)
            scheduler.create_schedule(**{name: answer[name] for name in (*known, "Target")})
        launcher = Launcher(group=GROUP, scheduler=scheduler)
        assert {job.job for job in launcher.jobs()} == {"daily", "daily-digest"}
        found = launcher.find("daily")
        at = datetime(2030, 1, 1, 0, 0, 1, tzinfo=UTC)
        wish: dict[str, Any] = {"scheduled_at": T0, "trigger": Trigger.RETRY, "attempt": 2, "launch": 1}
        assert launcher.run_later(found, PERIOD, not_before=at, **wish) is True
        assert launcher.run_later(found, PERIOD, not_before=at, **wish) is False
        (name,) = [
            each["Name"]
            for each in scheduler.list_schedules(GroupName=GROUP)["Schedules"]
            if each["Name"].startswith("once-")
        ]
        made = scheduler.get_schedule(GroupName=GROUP, Name=name)
        assert (made["ScheduleExpression"], made["ActionAfterCompletion"]) == ("at(2030-01-01T00:01:00)", "DELETE")
        assert made["Target"]["EcsParameters"] == found.target["EcsParameters"]
        one_shot = definition_of(made)
        assert one_shot is not None
        assert (one_shot.job, one_shot.delivers_ticks) == ("daily", False)
        assert {job.job for job in launcher.jobs()} == {"daily", "daily-digest"}


def test_on_moto_a_task_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botocore accepts the arguments derived from the schedule's target."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with mock_aws():
        ec2: Any = boto3.client("ec2")
        subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        group = ec2.describe_security_groups()["SecurityGroups"][0]["GroupId"]
        ecs: Any = boto3.client("ecs")
        cluster = ecs.create_cluster(clusterName="jobs")["cluster"]["clusterArn"]
        task = ecs.register_task_definition(
            family="digest",
            containerDefinitions=[{"name": "digest", "image": "x", "memory": 128}],
            requiresCompatibilities=["FARGATE"],
        )["taskDefinition"]["taskDefinitionArn"]
        answer = schedule()
        answer["Target"]["Arn"] = cluster
        answer["Target"]["EcsParameters"] |= {
            "TaskDefinitionArn": task,
            "NetworkConfiguration": {
                "awsvpcConfiguration": {"Subnets": [subnet], "SecurityGroups": [group], "AssignPublicIp": "ENABLED"}
            },
        }
        launcher = Launcher(group=GROUP)
        launched = launcher.run(
            job_of(answer),
            PERIOD,
            scheduled_at=T0,
            trigger=Trigger.BACKFILL,
            attempt=1,
            environment={"CRONCE_NOTE": "x"},
        )
        assert isinstance(launched, Launched)
        described = ecs.describe_tasks(cluster=cluster, tasks=[launched.task_arn])["tasks"][0]
        assert described["startedBy"] == "cronce/backfill"
        assert launcher.stop_reason(launched.task_arn) is None


def _environ(request: dict[str, Any]) -> dict[str, str]:
    override = request["overrides"]["containerOverrides"][1]
    return {each["name"]: each["value"] for each in override["environment"]}
