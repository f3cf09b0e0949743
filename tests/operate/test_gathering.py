"""What is asked for an explanation, in how many requests, and what a refused question becomes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger
from cronce.aws.sdk import Service
from cronce.client.leadership import LEADER
from cronce.ecs import Launcher
from cronce.operate.facts import Facts, NotKnown, console_host, is_task, revision_fact, task_fact
from cronce.operate.gathering import Gathering
from cronce.operate.look_up import RowKind
from cronce.protocol.records import RunRecord
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce.vocabulary.states import Reason, Status
from tests.support.builders import JOB, run
from tests.support.cloud import CLUSTER, GROUP, T0, FakeClient, FakeEcs, FakeScheduler, schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

URL = "dynamodb://runs?region=eu-west-1"
PERIOD = period_of(T0)
NOW = T0 + timedelta(hours=3)
TASK = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123456789abcdef0123456789abcdef"
REVISION = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1"


class FakeLogs(FakeClient):
    """CloudWatch Logs with one stream."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def get_log_events(self, **request: Any) -> Any:  # noqa: ANN401
        """GetLogEvents."""
        self._called("get_log_events", request)
        return {"events": [{"timestamp": 0, "message": line} for line in self.lines]}


class Stage:
    """A ledger, a schedule group and a cluster."""

    def __init__(self, *rows: RunRecord) -> None:
        store = MemoryStore()
        for row in rows:
            assert store.swap(row, None).written
        self.ledger = Ledger(store)
        self.scheduler, self.ecs, self.logs = FakeScheduler(schedule(JOB)), FakeEcs(), FakeLogs()
        log = {"logDriver": "awslogs", "options": {"awslogs-group": "/shop", "awslogs-stream-prefix": "run"}}
        container = {"name": "digest", "image": "digest:1", "logConfiguration": log}
        self.ecs.revisions[REVISION] = {
            "taskDefinitionArn": REVISION,
            "status": "ACTIVE",
            "containerDefinitions": [container],
        }

    def about(self, job: str = JOB, period: str | None = PERIOD, *, group: str | None = GROUP) -> Facts:
        """The facts."""
        launcher = Launcher(group=group, scheduler=self.scheduler, ecs=self.ecs) if group else None
        gathering = Gathering(
            self.ledger, launcher, url=URL, now=NOW, logs=lambda _region: Service("logs", client=self.logs)
        )
        return gathering.about(job, period)

    def add_task(self, period: str = PERIOD, **changes: Any) -> None:  # noqa: ANN401
        """A task of the job, as ECS lists it."""
        environ: Mapping[str, str] = {"CRONCE_JOB": JOB, "CRONCE_SCHEDULED_TIME": period, "CRONCE_LEDGER": URL}
        variables = [{"name": name, "value": value} for name, value in environ.items()]
        self.ecs.tasks.append(
            {
                "taskArn": TASK,
                "clusterArn": CLUSTER,
                "taskDefinitionArn": REVISION,
                "desiredStatus": "STOPPED",
                "lastStatus": "STOPPED",
                "stopCode": "EssentialContainerExited",
                "stoppedReason": "Essential container in task exited",
                "createdAt": T0,
                "stoppedAt": T0 + timedelta(minutes=1),
                "overrides": {"containerOverrides": [{"name": "digest", "environment": variables}]},
                "containers": [{"name": "sidecar", "exitCode": 0}, {"name": "digest", "exitCode": 3}],
            }
            | changes
        )


def test_the_newest_tick_is_meant_without_a_period() -> None:
    """By the schedule: it may have no row yet."""
    facts = Stage(run(period="2026-11-28T06:00:00Z", status=Status.SUCCEEDED)).about(period=None)
    assert (facts.period, facts.tick, facts.is_tick, facts.asked) == (PERIOD, T0, True, False)
    assert facts.next_tick == T0 + timedelta(days=1)


def test_the_newest_run_is_meant_where_no_schedule_is_known() -> None:
    """And the reader is told that nothing else was looked at."""
    facts = Stage(run(period="2026-11-28", status=Status.SUCCEEDED)).about(period=None, group=None)
    assert facts.period == "2026-11-28"
    assert isinstance(facts.row, RunRecord)
    assert [each.what for each in facts.not_known] == ["schedules and tasks were not looked at"]


def test_the_tasks_of_the_period_are_found_by_their_overrides() -> None:
    """Those of other periods, jobs and ledgers are not of the run."""
    stage = Stage()
    stage.add_task("2026-11-28T06:00:00Z")
    assert stage.about().tasks == ()
    stage.add_task()
    (task,) = stage.about().tasks
    assert (task.arn, task.container, task.exit_code) == (TASK, "digest", 3)


def test_a_run_with_an_owner_asks_about_that_task_alone() -> None:
    """No list is read."""
    stage = Stage(run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, owner=TASK))
    stage.add_task()
    (task,) = stage.about().tasks
    assert task.arn == TASK
    assert stage.ecs.count("list_tasks") == 0


FAILED_RUN = run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, owner=TASK)


def test_the_last_line_of_a_task_that_failed_is_read() -> None:
    """What the work said, and not what the guard wrote after it; one request."""
    stage = Stage(FAILED_RUN)
    stage.logs.lines = ["begun", "no mail server", '{"cronce.event": "failed", "cronce.exit_code": 3}', ""]
    assert stage.about().logged == "no mail server"
    (request,) = [request for _, request in stage.logs.calls]
    assert (request["logGroupName"], request["logStreamName"]) == ("/shop", f"run/digest/{TASK.rpartition('/')[2]}")


def test_what_the_guard_says_of_the_ledger_is_the_last_line() -> None:
    """After it, nothing of the work can have been logged."""
    stage = Stage(FAILED_RUN)
    stage.logs.lines = ["begun", '{"cronce.event": "unavailable", "cronce.message": "AccessDeniedException"}']
    assert stage.about().logged == "AccessDeniedException"


@pytest.mark.parametrize(
    ("row", "asked"),
    [
        (FAILED_RUN, 1),
        (run(period=PERIOD, status=Status.SUCCEEDED, owner=TASK), 0),
        (run(period=PERIOD, owner=TASK), 0),
        (run(period=PERIOD, status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, owner="laptop"), 0),
    ],
)
def test_no_other_log_is_read(row: RunRecord, asked: int) -> None:
    """A run that succeeded or is active has no cause in its log."""
    stage = Stage(row)
    stage.about()
    assert stage.logs.count("get_log_events") == asked


def test_a_log_that_may_not_be_read_is_not_known() -> None:
    """Everything else is."""
    stage = Stage(FAILED_RUN)
    stage.logs.fail("get_log_events", "AccessDeniedException")
    assert [str(each) for each in stage.about().not_known] == [
        "the log of the task is not known: AccessDeniedException for GetLogEvents"
    ]


def test_a_revision_that_ecs_does_not_know_is_missing() -> None:
    """It was deleted."""
    stage = Stage()
    stage.ecs.revisions.clear()
    facts = stage.about()
    assert facts.revision is not None
    assert facts.revision.status == "MISSING"
    assert facts.not_known == ()


@pytest.mark.parametrize(
    ("service", "operation", "what"),
    [
        ("scheduler", "list_schedules", "the schedule is not known: AccessDeniedException for ListSchedules"),
        ("ecs", "list_tasks", "the list of the tasks is not known: AccessDeniedException for ListTasks"),
        (
            "ecs",
            "describe_task_definition",
            "the revision that the schedule starts is not known: AccessDeniedException for DescribeTaskDefinition",
        ),
    ],
)
def test_a_refused_question_is_not_known_and_stops_nothing_else(service: str, operation: str, what: str) -> None:
    """A person with few permissions learns what they may know."""
    stage = Stage(run(period="2026-11-28T06:00:00Z", status=Status.SUCCEEDED))
    getattr(stage, service).fail(operation, "AccessDeniedException")
    facts = stage.about()
    assert what in [str(each) for each in facts.not_known]
    assert len(facts.history) == 1


def test_in_a_schedule_group_that_does_not_exist_there_is_no_schedule() -> None:
    """Somebody deleted it, or the name is wrong; the answer names it."""
    stage = Stage(run(period=PERIOD, status=Status.SUCCEEDED))
    stage.scheduler.fail("list_schedules", "ResourceNotFoundException", status=404)
    facts = stage.about()
    assert facts.definition is None
    assert [str(each) for each in facts.not_known] == [f"the schedule group does not exist: {GROUP}"]


def test_a_service_that_does_not_answer_is_not_known() -> None:
    """With the SDK's words."""
    stage = Stage()
    stage.scheduler.go_away("list_schedules")
    facts = stage.about()
    assert isinstance(facts.definition, NotKnown)
    assert "Could not connect" in facts.definition.why


def test_a_look_at_one_run_asks_the_stated_number_of_requests() -> None:
    """At most three of EventBridge Scheduler and five of ECS, without retries that wait."""
    stage = Stage()
    stage.add_task()
    stage.about()
    assert [name for name, _ in stage.scheduler.calls] == ["list_schedules", "get_schedule", "list_schedules"]
    assert [name for name, _ in stage.ecs.calls] == [
        "list_tasks",
        "list_tasks",
        "describe_tasks",
        "describe_task_definition",
    ]


def test_the_name_of_a_clock_means_its_leader_and_its_service() -> None:
    """The service is that of the leader's task, or the one with the clock's name."""
    row = run(job="clock", period=LEADER, owner=TASK, status=Status.FAILED, reason=Reason.INTERRUPTED)
    stage = Stage(row)
    stage.ecs.services = {
        "shop-clock-1": {"serviceName": "shop-clock-1", "status": "ACTIVE", "desiredCount": 0, "runningCount": 0},
        "web": {"serviceName": "web", "status": "ACTIVE", "desiredCount": 4, "runningCount": 4},
    }
    facts = stage.about("clock", None)
    assert (facts.kind, facts.period, facts.row) == (RowKind.LEADER, LEADER, row)
    assert facts.service is not None
    assert (facts.service.name, facts.service.desired, facts.service.cluster) == ("shop-clock-1", 0, "jobs")
    stage.add_task(group="service:web")
    by_task = stage.about("clock", None).service
    assert by_task is not None
    assert by_task.name == "web"


@pytest.mark.parametrize("period", [None, "2026-11-29T06:00:00Z"])
@pytest.mark.parametrize(
    ("job", "kind"), [("clock:refresh", RowKind.DISPATCH), ("cronce:watchdog:look", RowKind.WATCHDOG)]
)
def test_a_row_that_is_no_run_is_read_too(job: str, kind: RowKind, period: str | None) -> None:
    """The newest one if no period is given; no schedule starts it."""
    row = run(job=job, period="2026-11-29T06:00:00Z", status=Status.SUCCEEDED)
    stage = Stage(row, run(job="clock", period=LEADER))
    facts = stage.about(job, period)
    assert (facts.kind, facts.row) == (kind, row)
    assert stage.scheduler.calls == []


def test_without_overrides_the_container_that_failed_is_the_one_that_counts() -> None:
    """A task of a service has none; a container that ended well says nothing."""
    containers = [{"name": "sidecar", "exitCode": 0}, {"name": "clock", "exitCode": 70}]
    task = task_fact({"taskArn": TASK, "lastStatus": "STOPPED", "containers": containers})
    assert (task.container, task.exit_code) == ("clock", 70)


@pytest.mark.parametrize(
    ("options", "region"),
    [
        ({}, "eu-west-1"),
        ({"awslogs-region": "eu-central-1"}, "eu-central-1"),
        ({"awslogs-region": "us-gov-east-1"}, "us-gov-east-1"),
        ({"awslogs-region": "evil.example.com/"}, "eu-west-1"),
        ({"awslogs-region": None}, "eu-west-1"),
    ],
)
def test_a_log_is_where_its_configuration_says(options: dict[str, object], region: str) -> None:
    """`awslogs-region` may be another Region than the task's; what is no Region's name is not believed."""
    log = {"awslogs-group": "/shop", "awslogs-stream-prefix": "run"} | options
    container = {"name": "digest", "logConfiguration": {"logDriver": "awslogs", "options": log}}
    task = "arn:aws:ecs:eu-west-1:123456789012:task/shop/" + "1" * 32
    revision = revision_fact("", {"containerDefinitions": [container]}, "digest")
    link = revision.log_of(task)
    assert revision.region_of_log(task) == region
    assert link is not None
    assert link.startswith(f"https://{console_host(region)}/cloudwatch/home?region={region}#")


@pytest.mark.parametrize("task", ["0123456789abcdef0123456789abcdef", "4cfeb06e-0975-433e-b9d4-f984c551e29b"])
def test_a_task_is_known_by_its_arn_whatever_form_its_id_has(task: str) -> None:
    """The IDs of ECS had hyphens until 2018, and those of an emulator have."""
    assert is_task(f"arn:aws:ecs:eu-west-1:111122223333:task/jobs/{task}")


@pytest.mark.parametrize(
    "owner",
    [
        "arn:aws:ecs:evil.example.com/:111122223333:task/jobs/0123",
        "arn:aws:ecs:evil.example.com:111122223333:task/jobs/0123",
        "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123;reboot",
        "arn:aws:ecs:eu-west-1:111122223333:task/jobs;reboot/0123",
        "arn:aws:ecs:eu-west-1:111122223333:task/0123",
    ],
)
def test_an_owner_that_only_looks_like_a_task_gives_no_link(owner: str) -> None:
    """Whoever writes a row chooses its owner, and the Region in it would become part of a host's name."""
    log = {"logDriver": "awslogs", "options": {"awslogs-group": "/shop", "awslogs-stream-prefix": "run"}}
    definition = {"containerDefinitions": [{"name": "digest", "logConfiguration": log}]}
    assert not is_task(owner)
    assert revision_fact("arn", definition, "digest").log_of(owner) is None
