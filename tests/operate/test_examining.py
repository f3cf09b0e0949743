"""What `cronce doctor` asks, what it makes of the answers, and what it may not leave behind."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Ledger
from cronce.aws.sdk import Service
from cronce.client.leadership import LEADER
from cronce.ecs import Launcher
from cronce.operate.access import CLAIMING
from cronce.operate.advice import PLAIN, Commands
from cronce.operate.aws_requests import AwsRequests
from cronce.operate.checks import Review, State
from cronce.operate.examining import Examination
from cronce.protocol.operations import Swapped
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.states import Status
from cronce.watch.launches import WATCHDOG_LOOK
from tests.support.builders import T0, run
from tests.support.cloud import CLUSTER, GROUP, FakeClient, FakeEcs, FakeScheduler, schedule, several

if TYPE_CHECKING:
    from cronce.protocol.records import Record

URL = "dynamodb://runs?region=eu-west-1"
REVISION = "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1"
SECRET = "arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-a1b2c3:password::"
JOBS = [f"job-{number}" for number in range(30)]


class Answers(FakeClient):
    """A service whose operations answer what a test gives."""

    def __init__(self, **answers: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.answers = answers
        self.replies: dict[str, Any] = {}

    def __getattr__(self, operation: str) -> Any:  # noqa: ANN401
        if operation not in self.answers:
            raise AttributeError(operation)

        def call(**request: Any) -> Any:  # noqa: ANN401
            self._called(operation, request)
            return self.replies[operation](**request) if operation in self.replies else self.answers[operation]

        return call


class Stack:
    """A healthy stack with jobs; a test breaks one thing of it."""

    def __init__(self, *jobs: str) -> None:
        self.url = URL
        self.store = MemoryStore()
        for job in jobs:
            assert self.store.swap(run(job=job, status=Status.SUCCEEDED), None).written
        assert self.store.swap(run(job=WATCHDOG_LOOK, period=LEADER), None).written
        assert self.store.swap(run(job="clock", period=LEADER), None).written
        self.scheduler, self.ecs = FakeScheduler(*map(schedule, jobs)), FakeEcs()
        log = {"logDriver": "awslogs", "options": {"awslogs-group": "/shop", "awslogs-stream-prefix": "run"}}
        self.ecs.revisions[REVISION] = {
            "status": "ACTIVE",
            "taskRoleArn": "arn:task",
            "executionRoleArn": "arn:execution",
            "containerDefinitions": [
                {
                    "name": "digest",
                    "image": "111122223333.dkr.ecr.eu-west-1.amazonaws.com/digest:1",
                    "logConfiguration": log,
                    "secrets": [{"name": "DB", "valueFrom": SECRET}],
                }
            ],
        }
        self.ecs.services["clock-1"] = {
            "serviceName": "clock-1",
            "status": "ACTIVE",
            "desiredCount": 1,
            "runningCount": 1,
        }
        pinned = '[{"cluster": "jobs", "service": "clock-1", "job": "clock"}]'
        functions = [
            {
                "FunctionName": name,
                "FunctionArn": f"arn:aws:lambda:eu-west-1:111122223333:function:{name}",
                "Handler": f"cronce_lambdas.{name}.handler",
                "Environment": {"Variables": {"CRONCE_LEDGER": URL, "CRONCE_PINNED_SERVICES": pinned}},
            }
            for name in ("recorder", "watchdog")
        ]
        dimensions = [{"Name": "Ledger", "Value": "runs"}]
        alarm = {"AlarmName": "a", "Namespace": "cronce", "Dimensions": dimensions, "AlarmActions": ["arn:topic"]}
        self.services = {
            "logs": Answers(describe_log_groups={"logGroups": [{"logGroupName": "/shop"}]}),
            "iam": Answers(simulate_principal_policy={"EvaluationResults": [{"EvalDecision": "allowed"}]}),
            "sqs": Answers(
                get_queue_url={"QueueUrl": "https://queue"},
                get_queue_attributes={"Attributes": {"ApproximateNumberOfMessages": "0"}},
            ),
            "lambda": Answers(
                list_functions={"Functions": functions},
                get_function_concurrency={},
                list_event_source_mappings={"EventSourceMappings": [{"State": "Enabled"}]},
            ),
            "events": Answers(list_rule_names_by_target={"RuleNames": ["rule"]}, describe_rule={"State": "ENABLED"}),
            "ec2": Answers(
                describe_subnets={"Subnets": [{"SubnetId": "subnet-1", "AvailableIpAddressCount": 9}]},
                describe_security_groups={"SecurityGroups": []},
            ),
            "secretsmanager": Answers(describe_secret={"Name": "db"}),
            "ecr": Answers(describe_images={"imageDetails": [{}]}),
            "cloudwatch": Answers(describe_alarms={"MetricAlarms": [alarm]}),
        }
        self.environ: dict[str, str] = {}
        self.folder = Path("/nowhere")
        self.commands = PLAIN

    def checks(self) -> list[Review]:
        """Everything that is checked."""
        launcher = Launcher(group=GROUP, scheduler=self.scheduler, ecs=self.ecs)
        return list(
            Examination(
                store=self.store,
                ledger=Ledger(self.store),
                launcher=launcher,
                services=lambda name: Service(name, client=self.services[name]),
                url=self.url,
                environ=self.environ,
                folder=self.folder,
                now=lambda: T0,
                commands=self.commands,
            ).checks()
        )

    def wrong(self) -> list[tuple[str, State]]:
        """Name and state of each check that is not ok; a store in memory tells no time."""
        return [
            (check.name, check.state)
            for check in self.checks()
            if check.state is not State.OK and check.name != "clock-skew"
        ]


@pytest.fixture
def stack() -> Stack:
    """One job, all well."""
    return Stack("daily-digest")


def test_nothing_is_wrong_with_a_healthy_stack(stack: Stack) -> None:
    """Every check is there, and ok."""
    assert stack.wrong() == []
    names = {check.name for check in stack.checks()}
    expected = (
        "variables ledger clock-skew schedules zone-data watchdog guard runs revision logs secrets images clusters"
    )
    assert names == {*expected.split(), "network", "roles", "dead-letters", "functions", "rules", "clock", "alarms"}


def test_each_schedule_of_a_job_with_several_is_compared_with_the_first(stack: Stack) -> None:
    """A healthy one costs one request more, and a disabled one is a problem."""
    first, sundays = several("daily-digest", further="cron(0 9 ? * SUN *)")
    stack.scheduler.schedules |= {each["Name"]: each for each in (first, sundays)}
    assert stack.wrong() == []
    stack.scheduler.schedules[sundays["Name"]] = sundays | {"State": "DISABLED"}
    [found] = [check for check in stack.checks() if check.state is State.PROBLEM]
    assert found.sentence == f"daily-digest: its schedule {sundays['Name']} is disabled, and the first one is not"
    assert "cron(0 9 ? * SUN *)" in found.why


def test_the_test_of_the_write_leaves_nothing_behind(stack: Stack) -> None:
    """No row exists afterwards."""
    before = dict(stack.store._rows) if hasattr(stack.store, "_rows") else stack.store.jobs()
    stack.checks()
    after = dict(stack.store._rows) if hasattr(stack.store, "_rows") else stack.store.jobs()
    assert after == before


def test_a_role_that_may_not_write_is_a_warning(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person who only looks has such a role."""

    def refuse(_store: object, record: Record, expected: Record | None) -> Swapped:
        raise LedgerUnavailableError("runs", f"AccessDenied {record.key} {expected}", transient=False)

    monkeypatch.setattr(MemoryStore, "swap", refuse)
    assert stack.wrong() == [("ledger", State.WARNING)]


def test_an_inactive_and_an_unknown_revision_are_problems(stack: Stack) -> None:
    """RunTask refuses both."""
    stack.ecs.revisions[REVISION]["status"] = "INACTIVE"
    assert stack.wrong() == [("revision", State.PROBLEM)]
    stack.ecs.revisions.clear()
    assert ("revision", State.PROBLEM) in stack.wrong()


def test_a_role_that_may_not_pass_a_role_is_a_problem(stack: Stack) -> None:
    """IAM's simulation says so; where it may not be asked, it is not known."""

    def simulated(**request: Any) -> dict[str, Any]:  # noqa: ANN401
        allowed = request["ActionNames"][0].startswith("sqs")
        decision = "allowed" if allowed else "implicitDeny"
        return {"EvaluationResults": [{"EvalActionName": a, "EvalDecision": decision} for a in request["ActionNames"]]}

    stack.services["iam"].replies["simulate_principal_policy"] = simulated
    schedules, tasks = [check for check in stack.checks() if check.name == "roles"]
    assert schedules.state is tasks.state is State.PROBLEM
    assert schedules.sentence == (
        "the role of the schedule lacks ecs:RunTask (daily-digest), iam:PassRole (daily-digest)"
    )
    assert (
        "the role of the task lacks dynamodb:GetItem (daily-digest), dynamodb:PutItem (daily-digest)" in tasks.sentence
    )
    stack.services["iam"].fail("simulate_principal_policy", "AccessDenied")
    assert stack.wrong() == [("roles", State.UNKNOWN)]
    stack.services["iam"].fail("simulate_principal_policy", "NoSuchEntity")
    assert stack.wrong() == [("roles", State.PROBLEM)] * 2


def test_the_simulation_is_asked_with_the_conditions_of_the_policies(stack: Stack) -> None:
    """Without them, IAM would deny what it allows the schedule and the task."""
    stack.checks()
    asked = {
        (tuple(request["ActionNames"]), tuple(request["ResourceArns"])): [
            (each["ContextKeyName"], *each["ContextKeyValues"]) for each in request["ContextEntries"]
        ]
        for _, request in stack.services["iam"].calls
    }
    assert asked == {
        (("ecs:RunTask",), (REVISION,)): [("ecs:cluster", CLUSTER)],
        (("iam:PassRole",), ("arn:task", "arn:execution")): [("iam:PassedToService", "ecs-tasks.amazonaws.com")],
        (("sqs:SendMessage",), ("arn:aws:sqs:eu-west-1:111122223333:runs-dead-letters",)): [],
        (CLAIMING, ("arn:aws:dynamodb:eu-west-1:111122223333:table/runs",)): [("dynamodb:LeadingKeys", "daily-digest")],
    }


@pytest.mark.parametrize(
    ("url", "table"),
    [
        ("dynamodb://runs", "arn:aws:dynamodb:eu-west-1:111122223333:table/runs"),
        ("dynamodb://runs?region=us-east-1", "arn:aws:dynamodb:us-east-1:111122223333:table/runs"),
        (
            "dynamodb://arn%3Aaws%3Adynamodb%3Aus-east-1%3A444455556666%3Atable%2Fruns",
            "arn:aws:dynamodb:us-east-1:444455556666:table/runs",
        ),
    ],
)
def test_the_simulation_is_about_the_table_of_the_ledger(stack: Stack, url: str, table: str) -> None:
    """It may be in another Region or account than the cluster."""
    stack.url = url
    stack.checks()
    asked = [request for _, request in stack.services["iam"].calls if tuple(request["ActionNames"]) == CLAIMING]
    assert [request["ResourceArns"] for request in asked] == [[table]]


def test_nothing_is_said_about_task_roles_of_a_ledger_outside_dynamodb(stack: Stack) -> None:
    """IAM does not decide whether they may claim."""
    stack.url = "postgresql://ada@db.example.com/shop"
    (check,) = [check for check in stack.checks() if check.name == "roles"]
    assert (check.state, check.sentence.partition(":")[0]) == (State.OK, "1 role of schedules")


def test_the_line_says_how_many_secrets_were_not_looked_for(stack: Stack) -> None:
    """At most fifty are."""
    (container,) = stack.ecs.revisions[REVISION]["containerDefinitions"]
    container["secrets"] = [{"name": "DB", "valueFrom": SECRET.replace("db-", f"db{n}-")} for n in range(53)]
    (check,) = [check for check in stack.checks() if check.name == "secrets"]
    assert (check.state, check.sentence) == (State.OK, "50 secrets, each there; 3 more were not looked for")


def test_the_newest_runs_that_failed_are_named_with_their_cause(stack: Stack) -> None:
    """One line per cause."""
    row = run(job="daily-digest", period="2026-11-30", status=Status.FAILED, reason="exit_code", exit_code=127)
    assert stack.store.swap(row, None).written
    (check,) = [check for check in stack.checks() if check.name == "runs"]
    assert (check.state, check.sentence, check.command) == (
        State.WARNING,
        "daily-digest: Its command does not exist in the image (exit code 127)",
        "cronce why daily-digest",
    )


@pytest.mark.parametrize(
    ("service", "operation", "answer", "wrong"),
    [
        ("secretsmanager", "describe_secret", {"DeletedDate": T0}, ("secrets", "no secret db-a1b2c3")),
        ("ec2", "describe_subnets", {"Subnets": []}, ("network", "no subnet subnet-1")),
        ("lambda", "get_function_concurrency", {"ReservedConcurrentExecutions": 0}, ("functions", "concurrency is 0")),
        (
            "lambda",
            "list_event_source_mappings",
            {"EventSourceMappings": [{"State": "Disabled", "EventSourceArn": "a:b:letters"}]},
            ("functions", "does not read letters"),
        ),
        (
            "events",
            "describe_rule",
            {"State": "DISABLED"},
            ("rules", "disabled, and invokes the recorder no more: rule"),
        ),
        ("events", "list_rule_names_by_target", {"RuleNames": []}, ("rules", "no rule of EventBridge invokes")),
    ],
)
def test_what_the_stack_lacks_is_a_problem(
    stack: Stack, service: str, operation: str, answer: dict[str, Any], wrong: tuple[str, str]
) -> None:
    """Each is named in its line."""
    stack.services[service].answers[operation] = answer
    problems = [check for check in stack.checks() if check.state is State.PROBLEM]
    assert {check.name for check in problems} == {wrong[0]}
    assert wrong[1] in problems[0].sentence


@pytest.mark.parametrize(
    ("service", "operation", "code", "name"),
    [
        ("secretsmanager", "describe_secret", "ResourceNotFoundException", "secrets"),
        ("ecr", "describe_images", "ImageNotFoundException", "images"),
    ],
)
def test_a_secret_and_an_image_that_are_not_found_are_problems(
    stack: Stack, service: str, operation: str, code: str, name: str
) -> None:
    """The service answers with an error."""
    stack.services[service].fail(operation, code)
    assert stack.wrong() == [(name, State.PROBLEM)]


def test_a_security_group_without_egress_is_a_problem(stack: Stack) -> None:
    """Its tasks reach nothing."""
    network = {"awsvpcConfiguration": {"Subnets": ["subnet-1"], "SecurityGroups": ["sg-1"]}}
    (answer,) = stack.scheduler.schedules.values()
    answer["Target"]["EcsParameters"]["NetworkConfiguration"] = network
    group: dict[str, Any] = {"GroupId": "sg-1", "IpPermissionsEgress": [{"IpProtocol": "-1"}]}
    stack.services["ec2"].answers["describe_security_groups"] = {"SecurityGroups": [group]}
    assert stack.wrong() == []
    group["IpPermissionsEgress"] = []
    assert stack.wrong() == [("network", State.PROBLEM)]


def test_a_cluster_that_is_gone_is_a_problem(stack: Stack) -> None:
    """ECS lists it as inactive, or not at all."""
    stack.ecs.clusters[CLUSTER] = "INACTIVE"
    assert stack.wrong() == [("clusters", State.PROBLEM)]
    stack.ecs.clusters.clear()
    assert stack.wrong() == [("clusters", State.PROBLEM)]


def test_a_period_that_is_fixed_is_a_problem_of_that_job(stack: Stack) -> None:
    """Every task would claim the same run."""
    container = stack.ecs.revisions[REVISION]["containerDefinitions"][0]
    container["environment"] = [{"name": "CRONCE_PERIOD", "value": "2026-11-28"}]
    assert stack.wrong() == [("variables", State.PROBLEM)]


def test_messages_in_the_dead_letter_queue_are_a_warning_and_no_queue_is_a_problem(stack: Stack) -> None:
    """The recorder empties it."""
    stack.services["sqs"].answers["get_queue_attributes"] = {"Attributes": {"ApproximateNumberOfMessages": "3"}}
    assert stack.wrong() == [("dead-letters", State.WARNING)]
    stack.services["sqs"].fail("get_queue_url", "AWS.SimpleQueueService.NonExistentQueue")
    assert stack.wrong() == [("dead-letters", State.PROBLEM)]


def test_a_log_group_that_is_gone_is_a_problem(stack: Stack) -> None:
    """Its tasks cannot start."""
    stack.services["logs"].answers["describe_log_groups"] = {"logGroups": [{"logGroupName": "/shop-2"}]}
    assert stack.wrong() == [("logs", State.PROBLEM)]


def test_the_functions_of_a_ledger_are_known_by_its_table(stack: Stack) -> None:
    """The person's Region is in the environment, and not in the URL."""
    stack.url = "dynamodb://runs"
    assert stack.wrong() == []


def test_a_stack_without_its_functions_has_two_problems(stack: Stack) -> None:
    """Functions of another ledger do not count."""
    for function in stack.services["lambda"].answers["list_functions"]["Functions"]:
        function["Environment"]["Variables"]["CRONCE_LEDGER"] = "dynamodb://other"
    assert stack.wrong() == [("functions", State.PROBLEM)] * 2


def test_in_an_account_with_more_functions_and_alarms_than_are_read_their_lack_is_not_known(stack: Stack) -> None:
    """AWS lists 50 per page, and ten pages are read."""
    stack.services["lambda"].answers["list_functions"] = {"Functions": [{}] * 50, "NextMarker": "more"}
    stack.services["cloudwatch"].answers["describe_alarms"] = {"MetricAlarms": [{}] * 50, "NextToken": "more"}
    found = [check for check in stack.checks() if check.name in ("functions", "alarms")]
    assert [(check.state, check.sentence) for check in found] == [
        (State.UNKNOWN, "no function among the first 500 functions is the recorder of this ledger"),
        (State.UNKNOWN, "no function among the first 500 functions is the watchdog of this ledger"),
        (State.UNKNOWN, "none of the first 500 alarms is on the metrics of this ledger"),
    ]


def test_the_next_command_can_be_typed_whatever_the_job_is_called() -> None:
    """It repeats the options of `doctor`, and quotes a name with spaces."""
    stack = Stack("daily digest; rm")
    row = run(job="daily digest; rm", period="2026-11-30", status=Status.FAILED, reason="exit_code", exit_code=127)
    assert stack.store.swap(row, None).written
    stack.commands = Commands("", "", ledger="dynamodb://runs", group="jobs")
    (check,) = [check for check in stack.checks() if check.name == "runs"]
    assert check.command == "cronce why --ledger=dynamodb://runs --schedule-group=jobs 'daily digest; rm'"


def test_a_clock_at_zero_is_a_problem(stack: Stack) -> None:
    """The watchdog's own variables name the clocks."""
    stack.ecs.services["clock-1"]["desiredCount"] = 0
    assert stack.wrong() == [("clock", State.PROBLEM)]


def test_a_schedule_group_that_is_gone_is_a_problem(stack: Stack) -> None:
    """With it, every schedule went."""
    stack.scheduler.fail("list_schedules", "ResourceNotFoundException", status=404)
    (check,) = [check for check in stack.checks() if check.name == "schedules"]
    assert (check.state, check.sentence) == (State.PROBLEM, f"the schedule group {GROUP} does not exist")


def test_a_disabled_schedule_is_a_warning(stack: Stack) -> None:
    """A clock may start its job."""
    stack.scheduler.schedules["daily-digest-0123456789ab"]["State"] = "DISABLED"
    assert stack.wrong() == [("schedules", State.WARNING)]


def test_an_overridden_number_of_tasks_is_a_warning(stack: Stack) -> None:
    """By `add_property_override` on the L1, or in the console."""
    parameters = stack.scheduler.schedules["daily-digest-0123456789ab"]["Target"]["EcsParameters"]
    parameters["TaskCount"] = 2
    assert stack.wrong() == [("schedules", State.WARNING)]


def test_an_overridden_input_without_the_scheduled_time_is_a_problem(stack: Stack) -> None:
    """Not of a job that only people start: no tick of it is due."""
    schedule = stack.scheduler.schedules["daily-digest-0123456789ab"]
    target = schedule["Target"]
    target["Input"] = target["Input"].replace("<aws.scheduler.scheduled-time>", "2026-12-01T06:00:00Z")
    assert ("schedules", State.PROBLEM) in stack.wrong()
    schedule["ScheduleExpression"] = "at(2199-12-31T23:59:59)"
    assert ("schedules", State.PROBLEM) not in stack.wrong()


def test_a_folder_that_shadows_constructs_is_a_problem(stack: Stack, tmp_path: Path) -> None:
    """Only with an __init__.py."""
    stack.folder = tmp_path
    (tmp_path / "constructs").mkdir()
    assert stack.wrong() == []
    (tmp_path / "constructs" / "__init__.py").touch()
    assert stack.wrong() == [("constructs", State.PROBLEM)]


def test_variables_that_a_task_cannot_use_are_a_problem(stack: Stack) -> None:
    """The task would exit with 64."""
    stack.environ["CRONCE_POLICY"] = "{"
    assert stack.wrong() == [("variables", State.PROBLEM)]


def test_what_may_not_be_asked_is_not_known_and_no_problem(stack: Stack) -> None:
    """A person with few permissions gets the other checks."""
    for name, client in stack.services.items():
        for operation in client.answers:
            client.fail(operation, "AccessDeniedException", f"not {name}")
    stack.ecs.fail("describe_task_definition", "AccessDeniedException")
    stack.ecs.fail("describe_services", "AccessDeniedException")
    stack.ecs.fail("describe_clusters", "AccessDeniedException")
    wrong = stack.wrong()
    assert {state for _, state in wrong} == {State.UNKNOWN}
    expected = {"revision", "clusters", "network", "roles", "dead-letters", "functions", "alarms"}
    assert {name for name, _ in wrong} == expected


def test_each_service_is_opened_once() -> None:
    """A client costs a quarter of a second of a processor."""
    opened: Counter[str] = Counter()

    def make(name: str) -> Service:
        opened[name] += 1
        return Service(name, client=FakeClient())

    aws = AwsRequests(make)
    for _ in range(3):
        with pytest.raises(AttributeError):  # that client has no operation
            aws.ask("sqs", "get_queue_url", "a queue")
    assert opened == {"sqs": 1}


def test_the_number_of_requests_is_as_stated() -> None:
    """One GetSchedule per job; twenty roles of schedules, one of tasks; the others as the modules state."""
    stack = Stack(*JOBS)
    assert stack.wrong() == []
    counted = Counter(name for name, _ in stack.scheduler.calls)
    assert counted == {"list_schedules": 1, "get_schedule": len(JOBS)}
    others = Counter(name for client in stack.services.values() for name, _ in client.calls)
    assert others == {
        "simulate_principal_policy": 61,
        "get_queue_url": 1,
        "get_queue_attributes": 1,
        "describe_log_groups": 1,
        "describe_secret": 1,
        "describe_images": 1,
        "describe_subnets": 1,
        "list_functions": 1,
        "get_function_concurrency": 2,
        "list_event_source_mappings": 2,
        "list_rule_names_by_target": 2,
        "describe_rule": 2,
        "describe_alarms": 1,
    }
    assert Counter(name for name, _ in stack.ecs.calls) == {
        "describe_task_definition": 1,
        "describe_clusters": 1,
        "describe_services": 1,
    }
