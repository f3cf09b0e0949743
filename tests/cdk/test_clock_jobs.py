"""The jobs of a clock: its configuration, and permissions for exactly its targets."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import timedelta
from operator import itemgetter
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs

from cronce import CatchUp
from cronce.clock import config
from cronce.schedule import PeriodForm
from cronce.vocabulary import environment
from cronce.vocabulary.metrics import NAMESPACE
from cronce_cdk import (
    ClockJob,
    CommandTarget,
    ConstructConfigError,
    EventTarget,
    LambdaTarget,
    PinnedScheduler,
    RunLedger,
    ScheduledTask,
    SqsTarget,
    TaskTarget,
)
from tests.cdk.shop import ENVIRONMENT, Shop, every_target, fargate_task, imported_cluster, new_shop

IMAGE = ecs.ContainerImage.from_registry("clock:1")
COMMAND = CommandTarget(["./enqueue", "{period}"])
TASK_ROLE = "ClockTaskTaskRole"


def _clock(shop: Shop, **arguments: Any) -> PinnedScheduler:  # noqa: ANN401  # any argument
    places: dict[str, Any] = {"ledger": shop.ledger, "cluster": shop.cluster, "image": IMAGE, "job": "clock"}
    return PinnedScheduler(shop.stack, "Clock", **(places | arguments))


def _environment(shop: Shop) -> dict[str, Any]:
    tasks = shop.resources("AWS::ECS::TaskDefinition")
    [task] = [each for name, each in tasks.items() if name.startswith("Clock")]
    [container] = task["Properties"]["ContainerDefinitions"]
    return {each["Name"]: each["Value"] for each in container["Environment"]} | {"Command": container["Command"]}


def _text(value: Any) -> str:  # noqa: ANN401  # a template's value
    """The text, references in it as `{REF}`."""
    parts = value["Fn::Join"][1] if isinstance(value, dict) else [value]
    return "".join(part if isinstance(part, str) else "{REF}" for part in parts)


def _statements(shop: Shop) -> list[dict[str, Any]]:
    """What the clock's own code may do."""
    [policy] = [each for name, each in shop.resources("AWS::IAM::Policy").items() if name.startswith(TASK_ROLE)]
    statements: list[dict[str, Any]] = policy["Properties"]["PolicyDocument"]["Statement"]
    return statements


def _claims(shop: Shop, *keys: str) -> dict[str, Any]:
    [table] = shop.resources("AWS::DynamoDB::GlobalTable")
    return {
        "Effect": "Allow",
        "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"],
        "Resource": {"Fn::GetAtt": [table, "Arn"]},
        "Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [*keys]}},
    }


def test_the_jobs_are_the_clocks_configuration(shop: Shop) -> None:
    """Which it reads back as they were meant."""
    _clock(shop, jobs=every_target(shop))
    environ = _environment(shop)
    [group] = shop.resources("AWS::Scheduler::ScheduleGroup")
    text = _text(environ[environment.CLOCK])
    assert environ["Command"] == ["cronce", "clock"]
    assert environ[environment.SCHEDULE_GROUP] == {"Ref": group}
    assert json.loads(text) == {
        "jobs": {
            "to-queue": {"every": "10s", "target": {"sqs": "https://sqs.eu-west-1.{REF}/111122223333/work.fifo"}},
            "to-task": {
                "schedule": "cron(0 6 * * ? *)",
                "timezone": "Europe/Berlin",
                "target": {"task": "Report"},
            },
            "to-function": {
                "schedule": "rate(5 minutes)",
                "target": {"lambda": "arn:aws:lambda:eu-west-1:111122223333:function:tick"},
            },
            "to-bus": {
                "every": "1h",
                "target": {
                    "event": {
                        "bus": "arn:aws:events:eu-west-1:111122223333:event-bus/ticks",
                        "source": "clock",
                        "detail_type": "Tick",
                    }
                },
            },
            "to-default-bus": {
                "every": "1h",
                "target": {"event": {"bus": "default", "source": "clock", "detail_type": "Tick"}},
            },
            "to-command": {
                "schedule": "cron(0/5 * * * ? *)",
                "starting_deadline": "5m",
                "timeout": "10s",
                "catch_up": "LATEST",
                "backoff_limit": 3,
                "target": {"command": ["./enqueue", "{period}"]},
            },
        }
    }
    jobs = {job.name: job for job in config.config_from_json(text.replace("{REF}", "amazonaws.com"), what="it")}
    assert [*jobs] == [*every_target(new_shop())]
    assert jobs["to-command"].catch_up is CatchUp.LATEST
    assert jobs["to-queue"].target == config.SqsTarget(url="https://sqs.eu-west-1.amazonaws.com/111122223333/work.fifo")


def test_its_role_may_do_exactly_what_its_targets_need(shop: Shop) -> None:
    """Its lease and ticks, its queue, function, buses, and its task as that one's schedule starts it."""
    _clock(shop, jobs=every_target(shop))
    claims, pauses, queue, reads, lists, starts, passes, function, bus, default_bus = _statements(shop)
    assert claims == _claims(shop, "clock", "clock:*")
    started = ["Report", "to-bus", "to-command", "to-default-bus", "to-function", "to-queue"]
    assert pauses == {
        "Effect": "Allow",
        "Action": "dynamodb:GetItem",
        "Resource": claims["Resource"],
        "Condition": {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": started}},
    }
    assert queue == {
        "Effect": "Allow",
        "Action": "sqs:SendMessage",
        "Resource": "arn:aws:sqs:eu-west-1:111122223333:work.fifo",
    }
    assert (reads["Action"], lists["Action"]) == ("scheduler:GetSchedule", "scheduler:ListSchedules")
    assert [starts, passes] == shop.role_statements("ReportRole")[:2]
    assert function == {
        "Effect": "Allow",
        "Action": "lambda:InvokeFunction",
        "Resource": "arn:aws:lambda:eu-west-1:111122223333:function:tick",
    }
    ours = {"StringEquals": {"events:source": "clock"}}
    assert bus == {
        "Effect": "Allow",
        "Action": "events:PutEvents",
        "Resource": "arn:aws:events:eu-west-1:111122223333:event-bus/ticks",
        "Condition": ours,
    }
    default = ["arn:", {"Ref": "AWS::Partition"}, ":events:eu-west-1:111122223333:event-bus/default"]
    assert default_bus == {
        "Effect": "Allow",
        "Action": "events:PutEvents",
        "Resource": {"Fn::Join": ["", default]},
        "Condition": ours,
    }


def test_a_target_of_many_jobs_is_granted_once(shop: Shop) -> None:
    """A role's policy has a limit."""
    queue = sqs.Queue(shop.stack, "Queue")
    _clock(shop, jobs={f"job{i}": ClockJob(every=timedelta(seconds=10), target=SqsTarget(queue)) for i in range(20)})
    assert [each["Action"] for each in _statements(shop)[2:]] == ["sqs:SendMessage"]


def test_two_hundred_jobs_with_long_names_fit_into_its_policy(shop: Shop) -> None:
    """All its rows are called after it, so their names need not stand there; the limit is 10,240 characters."""
    jobs = {f"{i:03}{'x' * 97}": ClockJob(every=timedelta(seconds=10), target=COMMAND) for i in range(200)}
    _clock(shop, jobs=jobs)
    assert _statements(shop) == [_claims(shop, "clock", "clock:*")]
    assert "cronce:pauses-of-jobs-not-seen" in shop.warnings()


def test_a_job_that_many_targets_start_is_named_once(shop: Shop) -> None:
    """However long its name: its pauses are seen."""
    name = "x" * 100
    task = shop.job("Report", job=name, schedule=None)
    jobs = {f"job{i}": ClockJob(every=timedelta(hours=1), target=TaskTarget(task)) for i in range(50)}
    _clock(shop, jobs=jobs)
    assert _statements(shop)[1]["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [name]}}
    assert "cronce:pauses-of-jobs-not-seen" not in shop.warnings()


@pytest.mark.parametrize(("name", "literal"), [("a*b?", "a${*}b${?}"), ("a${b}", "a${$}{b}")])
def test_a_name_is_no_pattern(shop: Shop, name: str, literal: str) -> None:
    """IAM would read `*`, `?` and `${...}` in it."""
    _clock(shop, job=name, config_file="clock.toml")
    assert _statements(shop) == [_claims(shop, literal, f"{literal}:*")]


def test_a_queue_with_a_key_of_its_own_may_be_written_to(shop: Shop) -> None:
    """SQS encrypts in the sender's name."""
    key = kms.Key(shop.stack, "Key")
    queue = sqs.Queue(shop.stack, "Queue", encryption_master_key=key)
    _clock(shop, jobs={"job": ClockJob(every=timedelta(seconds=10), target=SqsTarget(queue))})
    [key_id] = shop.resources("AWS::KMS::Key")
    assert _statements(shop)[3:] == [
        {
            "Effect": "Allow",
            "Action": ["kms:Decrypt", "kms:GenerateDataKey"],
            "Resource": {"Fn::GetAtt": [key_id, "Arn"]},
        }
    ]


def test_an_alias_is_invoked_by_its_own_name(shop: Shop) -> None:
    """The permission is for the alias alone."""
    arn = "arn:aws:lambda:eu-west-1:111122223333:function:tick:live"
    alias = lambda_.Function.from_function_arn(shop.stack, "Alias", arn)
    _clock(shop, jobs={"job": ClockJob(every=timedelta(seconds=10), target=LambdaTarget(alias))})
    assert (_statements(shop)[2]["Action"], _statements(shop)[2]["Resource"]) == ("lambda:InvokeFunction", arn)


def test_a_configuration_of_the_image_is_named(shop: Shop) -> None:
    """It may hold its lease and ticks; what its targets need is its owner's to grant."""
    clock = _clock(shop, config_file="/etc/clock.toml")
    sqs.Queue(shop.stack, "Queue").grant_send_messages(clock.task_definition.task_role)
    environ = _environment(shop)
    assert environ["Command"] == ["cronce", "clock", "--config", "/etc/clock.toml"]
    assert environment.CLOCK not in environ
    assert environment.SCHEDULE_GROUP in environ
    assert _statements(shop)[0] == _claims(shop, "clock", "clock:*")


def test_what_is_known_only_at_deploy_time_is_passed_on(shop: Shop) -> None:
    """A parameter's value, and a queue that is made in the same deployment; the JSON stays JSON."""
    given = {name: cdk.CfnParameter(shop.stack, name).value_as_string for name in ("When", "Zone", "Source")}
    queue = sqs.Queue(shop.stack, "Work", fifo=True)
    _clock(
        shop,
        jobs={
            "by-parameter": ClockJob(
                schedule=given["When"],
                timezone=given["Zone"],
                target=EventTarget(source=given["Source"], detail_type="Tick"),
            ),
            "to-queue": ClockJob(every=timedelta(seconds=10), target=SqsTarget(queue)),
        },
    )
    parts = _environment(shop)[environment.CLOCK]["Fn::Join"][1]
    assert [part for part in parts if isinstance(part, dict)] == [
        {"Ref": "When"},
        {"Ref": "Zone"},
        {"Ref": "Source"},
        {"Ref": next(name for name in shop.resources("AWS::SQS::Queue") if name.startswith("Work"))},
    ]
    jobs = json.loads(_text(_environment(shop)[environment.CLOCK]))["jobs"]
    assert jobs["by-parameter"]["schedule"] == "{REF}"
    assert jobs["to-queue"]["target"] == {"sqs": "{REF}"}


def test_a_job_that_only_people_start_and_one_whose_period_is_the_day(shop: Shop) -> None:
    """Neither schedule nor interval; the date as period, of a list too; suspended."""
    daily = ClockJob(schedule=["0 6 * * 1-5", "0 9 * * 0"], period=PeriodForm.DATE, suspend=True, target=COMMAND)
    _clock(shop, jobs={"by-hand": ClockJob(target=COMMAND), "daily": daily})
    jobs = config.config_from_json(_text(_environment(shop)[environment.CLOCK]), what="it")
    by_hand, daily_job = jobs
    assert by_hand.timetable is None
    assert daily_job.when == "cron(0 6 ? * MON-FRI *); cron(0 9 ? * SUN *) UTC"
    assert (daily_job.period_form, daily_job.suspend) == (PeriodForm.DATE, True)


def test_a_jitter_is_the_clocks(shop: Shop) -> None:
    """The clock computes the delay from the name; here it is only checked."""
    job = ClockJob(every=timedelta(minutes=1), jitter=cdk.Duration.seconds(30), target=CommandTarget(["true"]))
    _clock(shop, jobs={"spread": job})
    settings = json.loads(_text(_environment(shop)[environment.CLOCK]))["jobs"]["spread"]
    assert settings == {"every": "1m", "jitter": "30s", "target": {"command": ["true"]}}
    too_long = ClockJob(every=timedelta(minutes=1), jitter=timedelta(minutes=1), target=CommandTarget(["true"]))
    with pytest.raises(ConstructConfigError, match=r"jobs\.spread\.jitter.*less than the time between two ticks"):
        PinnedScheduler(
            shop.stack,
            "Other",
            ledger=shop.ledger,
            cluster=shop.cluster,
            image=ecs.ContainerImage.from_registry("x"),
            job="other",
            jobs={"spread": too_long},
        )


def test_a_cdk_expression_brings_its_zone(shop: Shop) -> None:
    """As for a scheduled task."""
    expression = scheduler.ScheduleExpression.cron(minute="0", hour="6", time_zone=cdk.TimeZone.EUROPE_BERLIN)
    _clock(shop, jobs={"job": ClockJob(schedule=expression, target=COMMAND)})
    assert json.loads(_environment(shop)[environment.CLOCK])["jobs"]["job"]["timezone"] == "Europe/Berlin"


@pytest.fixture(scope="module")
def try_clock(shared_shop: Shop) -> Callable[..., PinnedScheduler]:
    """Makes a clock with these jobs, under a new name each time."""
    numbers = itertools.count()

    def make(jobs: Any) -> PinnedScheduler:  # noqa: ANN401  # wrong ones too
        places = {"ledger": shared_shop.ledger, "cluster": shared_shop.cluster}
        construct_id = f"Clock{next(numbers)}"
        return PinnedScheduler(shared_shop.stack, construct_id, image=IMAGE, jobs=jobs, **places)  # type: ignore[arg-type]

    return make


@pytest.mark.parametrize(
    ("argument", "changed", "allowed"),
    [
        ("jobs.job", {"schedule": "@daily"}, "one of them, or neither"),
        ("jobs.job.period", {"period": "day"}, "time, date"),
        ("jobs.job.period", {"period": "date"}, "at most one tick per day"),
        ("jobs.job.suspend", {"suspend": "no"}, "true or false"),
        ("jobs.job.every", {"every": timedelta(seconds=0.5)}, "1s to 366d"),
        ("jobs.job.every", {"every": timedelta(days=367)}, "at most 366d"),
        ("jobs.job.every", {"every": timedelta(seconds=1.5)}, "whole seconds"),
        ("jobs.job.every", {"every": 10}, "a datetime.timedelta or an aws_cdk.Duration"),
        ("jobs.job.every", {"every": cdk.Duration.seconds(cdk.Token.as_number(cdk.Aws.REGION))}, "known at synth"),
        ("jobs.job.timezone", {"timezone": "Europe/Berlin"}, "no timezone without schedule"),
        ("jobs.job.timezone", {"every": None, "schedule": "rate(1 day)", "timezone": "Europe/Berlin"}, "with a rate"),
        ("jobs.job.timezone", {"every": None, "schedule": "@daily", "timezone": "Berlin"}, "IANA"),
        ("jobs.job.schedule", {"every": None, "schedule": "* 8 * * *"}, "an hour with a minute"),
        ("jobs.job.schedule", {"every": None, "schedule": "0 6 * *"}, "five fields"),
        ("jobs.job.starting_deadline", {"starting_deadline": timedelta(0)}, "1s to 366d"),
        ("jobs.job.starting_deadline", {"starting_deadline": 60}, "a datetime.timedelta or an aws_cdk.Duration"),
        ("jobs.job.catch_up", {"catch_up": "SOME"}, "NONE, LATEST, ALL"),
        ("jobs.job.timeout", {"timeout": timedelta(minutes=6)}, "1s to 5m"),
        ("jobs.job.backoff_limit", {"backoff_limit": 11}, "0 to 10"),
        ("jobs.job.backoff_limit", {"backoff_limit": True}, "0 to 10"),
        ("jobs.job.target", {"target": "https://sqs/queue"}, "one of SqsTarget"),
        ("jobs.job.target", {"target": None}, "one of SqsTarget"),
        ("jobs.job.target", {"target": SqsTarget("https://sqs/queue")}, "an SQS queue"),  # type: ignore[arg-type]
        ("jobs.job.target", {"target": TaskTarget("digest")}, "a ScheduledTask"),  # type: ignore[arg-type]
        ("jobs.job.target", {"target": LambdaTarget("tick")}, "a Lambda function"),  # type: ignore[arg-type]
        ("jobs.job.target bus", {"target": EventTarget(source="s", detail_type="t", bus="b")}, "an event bus"),  # type: ignore[arg-type]
        ("jobs.job.target.event.source", {"target": EventTarget(source="aws.s3", detail_type="t")}, "reserved"),
        ("jobs.job.target.event.source", {"target": EventTarget(source="", detail_type="t")}, "1 to 256"),
        ("jobs.job.target.event.detail_type", {"target": EventTarget(source="s", detail_type="t" * 129)}, "1 to 128"),
        ("jobs.job.target", {"target": CommandTarget("./enqueue")}, "a list of at least one word"),
        ("jobs.job.target", {"target": CommandTarget([])}, "a list of at least one word"),
        ("jobs.job.target", {"target": CommandTarget(None)}, "a list of at least one word"),  # type: ignore[arg-type]
    ],
)
def test_a_job_that_can_never_work_is_refused(
    try_clock: Callable[..., PinnedScheduler], argument: str, changed: dict[str, Any], allowed: str
) -> None:
    """At synth, by the clock's own rules; the argument says which job."""
    arguments: dict[str, Any] = {"every": timedelta(seconds=10), "target": COMMAND, **changed}
    with pytest.raises(ConstructConfigError) as caught:
        try_clock({"job": ClockJob(**arguments)})
    assert caught.value.argument == argument
    assert caught.value.path.startswith("Stack/Clock")
    assert allowed in caught.value.allowed
    assert all(part in str(caught.value) for part in (caught.value.path, argument, caught.value.allowed))


@pytest.mark.parametrize(
    ("jobs", "argument", "allowed"),
    [
        ({}, "jobs", "1 to 200"),
        ([COMMAND], "jobs", "a mapping of names to ClockJobs"),
        ({"job": COMMAND}, "jobs.job", "a ClockJob"),
        ({"a:b": ClockJob(every=timedelta(seconds=1), target=COMMAND)}, "jobs", "none of :"),
        ({"x" * 101: ClockJob(every=timedelta(seconds=1), target=COMMAND)}, "jobs", "1 to 100"),
        ({f"j{i}": ClockJob(every=timedelta(seconds=1), target=COMMAND) for i in range(201)}, "jobs", "1 to 200"),
        (
            {f"j{i}": ClockJob(every=timedelta(seconds=1), target=CommandTarget(["x" * 1000])) for i in range(61)},
            "jobs",
            "at most 61440 characters",
        ),
    ],
)
def test_jobs_that_can_never_work_together_are_refused(
    try_clock: Callable[..., PinnedScheduler], jobs: object, argument: str, allowed: str
) -> None:
    """Their names, their number, and what fits into a task definition."""
    with pytest.raises(ConstructConfigError) as caught:
        try_clock(jobs)
    assert caught.value.argument == argument
    assert allowed in caught.value.allowed


def test_what_is_known_is_measured_beside_what_is_not(shop: Shop) -> None:
    """A queue of the same deployment has no URL yet; the rest is too long all the same."""
    queue = sqs.Queue(shop.stack, "Work")
    jobs = {f"j{i}": ClockJob(every=timedelta(seconds=1), target=CommandTarget(["x" * 1000])) for i in range(61)}
    jobs["queue"] = ClockJob(every=timedelta(seconds=1), target=SqsTarget(queue))
    with pytest.raises(ConstructConfigError, match="at most 61440 characters"):
        _clock(shop, jobs=jobs)


def test_a_task_of_another_stack_is_refused() -> None:
    """The clock would import its revision, and no deployment could change an export in use."""
    app = cdk.App()
    shop, tasks = new_shop(app, "Clocks"), cdk.Stack(app, "Tasks", env=ENVIRONMENT)
    ledger = RunLedger(shop.stack, "Named", table_name="runs")
    task = ScheduledTask(
        tasks,
        "Job",
        ledger=ledger,
        schedule="@daily",
        cluster=imported_cluster(tasks),
        task_definition=fargate_task(tasks),
    )
    with pytest.raises(ConstructConfigError) as caught:
        _clock(shop, ledger=ledger, jobs={"job": ClockJob(every=timedelta(hours=1), target=TaskTarget(task))})
    assert (caught.value.argument, caught.value.value) == ("jobs.job.target", "Tasks/Job")
    assert "the clock's stack" in caught.value.allowed


def test_a_task_of_another_ledger_is_refused(shop: Shop) -> None:
    """The clock looks for its schedule in its own ledger's group."""
    task, other = shop.job(), RunLedger(shop.stack, "Other")
    with pytest.raises(ConstructConfigError, match="a task with the clock's ledger"):
        _clock(shop, ledger=other, jobs={"job": ClockJob(every=timedelta(hours=1), target=TaskTarget(task))})


def test_a_ledger_by_its_name_is_the_same_ledger(shop: Shop) -> None:
    """Made here or seen."""
    ledger = RunLedger(shop.stack, "Named", table_name="runs")
    seen = RunLedger.from_table_name(shop.stack, "Seen", table_name="runs")
    task = shop.job(ledger=seen, enabled=False)
    _clock(shop, ledger=ledger, jobs={"job": ClockJob(every=timedelta(hours=1), target=TaskTarget(task))})
    assert shop.warnings() == set()


def test_a_task_that_its_own_schedule_starts_as_well_is_doubtful() -> None:
    """Each start is a run of its own; with `enabled=False` there is nothing to say."""
    for enabled, expected in ((True, {"cronce:task-has-its-own-schedule"}), (False, set[str]())):
        shop = new_shop()
        _clock(shop, jobs={"job": ClockJob(every=timedelta(hours=1), target=TaskTarget(shop.job(enabled=enabled)))})
        assert shop.warnings() == expected


def test_two_clocks_may_have_jobs_of_one_name_but_a_task_may_not_have_a_clocks(shop: Shop) -> None:
    """Rows are called `<clock>:<job>`."""
    jobs = {"report": ClockJob(every=timedelta(hours=1), target=COMMAND)}
    _clock(shop, jobs=jobs)
    PinnedScheduler(
        shop.stack, "Other", ledger=shop.ledger, cluster=shop.cluster, image=IMAGE, job="other-clock", jobs=jobs
    )
    with pytest.raises(ConstructConfigError, match="Stack/Clock uses this one"):
        shop.job(job="clock:report")


@pytest.mark.parametrize(
    ("method", "name", "statistic"),
    [
        ("metric_dispatched", "TickDispatched", "Sum"),
        ("metric_failed", "TickFailed", "Sum"),
        ("metric_missed", "TickMissed", "Sum"),
        ("metric_lateness", "TickLateness", "p99"),
    ],
)
def test_metrics_are_those_that_the_clock_reports(shop: Shop, method: str, name: str, statistic: str) -> None:
    """Of one job, or of all."""
    ledger = RunLedger.from_table_name(shop.stack, "Runs", table_name="runs")
    clock = _clock(shop, ledger=ledger, config_file="clock.toml")
    of_all, of_one = getattr(clock, method)(), getattr(clock, method)(job="report", period=cdk.Duration.minutes(1))
    assert {(each.namespace, each.metric_name, each.statistic) for each in (of_all, of_one)} == {
        (NAMESPACE, name, statistic)
    }
    assert (of_all.dimensions, of_one.dimensions) == (
        {"Ledger": "runs", "Clock": "clock"},
        {"Ledger": "runs", "Job": "clock:report"},
    )
    assert of_one.period.to_minutes() == 1


@pytest.mark.parametrize(
    ("arguments", "dimension", "period", "periods"),
    [
        ({}, {"Name": "Clock", "Value": "clock"}, 60, 6),
        ({"job": "often"}, {"Name": "Job", "Value": "clock:often"}, 60, 6),
        ({"job": "daily"}, {"Name": "Job", "Value": "clock:daily"}, 3600, 25),
        ({"job": "workdays"}, {"Name": "Job", "Value": "clock:workdays"}, 3600, 73),
        ({"within": timedelta(hours=2)}, {"Name": "Clock", "Value": "clock"}, 60, 120),
        ({"within": cdk.Duration.hours(24)}, {"Name": "Clock", "Value": "clock"}, 300, 288),
        ({"within": timedelta(days=7)}, {"Name": "Clock", "Value": "clock"}, 3600, 168),
    ],
)
def test_silence_of_a_clock_can_ring(
    shop: Shop, arguments: dict[str, Any], dimension: dict[str, str], period: int, periods: int
) -> None:
    """After the longest gap that its jobs have and five minutes, or as long as is said; missing data counts."""
    jobs = {
        "often": ClockJob(every=timedelta(minutes=1), target=COMMAND),
        "daily": ClockJob(schedule="0 6 * * *", target=COMMAND),
        "workdays": ClockJob(schedule="0 6 * * 1-5", target=COMMAND),
        "yearly": ClockJob(schedule="0 6 1 1 *", target=COMMAND),
    }
    alarm = _clock(shop, jobs=jobs).alarm_no_tick(**arguments)
    [found] = shop.resources("AWS::CloudWatch::Alarm").values()
    properties = found["Properties"]
    assert alarm.node.path == f"Stack/Clock/NoTick{arguments.get('job', '')}"
    ledger = {"Name": "Ledger", "Value": shop.stack.resolve(shop.ledger.table.table_name)}
    assert properties["MetricName"] == "TickDispatched"
    assert sorted(properties["Dimensions"], key=itemgetter("Name")) == sorted(
        [ledger, dimension], key=itemgetter("Name")
    )
    assert (properties["Period"], properties["EvaluationPeriods"]) == (period, periods)
    assert (properties["Threshold"], properties["ComparisonOperator"]) == (1, "LessThanThreshold")
    assert properties["TreatMissingData"] == "breaching"


@pytest.mark.parametrize(
    ("given", "arguments", "argument", "allowed"),
    [
        ({"config_file": "clock.toml"}, {}, "within", "the jobs are not known here"),
        ({"command": ["celery"]}, {"within": timedelta(hours=1)}, "command", "alarm_no_leader"),
        ({"jobs": {"yearly": ClockJob(schedule="0 6 1 1 *", target=COMMAND)}}, {}, "within", "7d"),
        ({"jobs": {"yearly": ClockJob(schedule="0 6 1 1 *", target=COMMAND)}}, {"job": "other"}, "job", "yearly"),
    ],
)
def test_an_alarm_without_ticks_to_wait_for_is_refused(
    shop: Shop, given: dict[str, Any], arguments: dict[str, Any], argument: str, allowed: str
) -> None:
    """It would never ring, or always."""
    clock = _clock(shop, **given)
    with pytest.raises(ConstructConfigError) as caught:
        clock.alarm_no_tick(**arguments)
    assert (caught.value.path, caught.value.argument) == ("Stack/Clock", argument)
    assert allowed in caught.value.allowed


def test_the_clocks_role_is_for_more_grants(shop: Shop) -> None:
    """What a command does is its owner's to grant."""
    clock = _clock(shop, jobs={"job": ClockJob(every=timedelta(hours=1), target=COMMAND)})
    role = clock.task_definition.task_role
    role.add_to_principal_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::mails/*"]))
    assert [each["Action"] for each in _statements(shop)[2:]] == ["s3:GetObject"]
