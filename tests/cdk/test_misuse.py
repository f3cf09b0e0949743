"""What can never work is refused at once, with the construct, the argument, its value and what would do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler

from cronce import Policy
from cronce.vocabulary.errors import CronceError
from cronce_cdk import ClockJob, CommandTarget, ConstructConfigError, PinnedScheduler, RunLedger, ScheduledTask
from tests.cdk.shop import ENVIRONMENT, Shop, fargate_task, new_shop

IMAGE = ecs.ContainerImage.from_registry("clock:1")


def _strategy(provider: str, weight: int | None = 1, base: int | None = None) -> ecs.CapacityProviderStrategy:
    return ecs.CapacityProviderStrategy(capacity_provider=provider, weight=weight, base=base)


def _expression(**fields: Any) -> scheduler.ScheduleExpression:  # noqa: ANN401  # cron's fields
    return scheduler.ScheduleExpression.cron(**fields)


def _refused(path: str, argument: str, allowed: str, make: Callable[[], object]) -> ConstructConfigError:
    """Check the refusal's fields and its message; returns it."""
    with pytest.raises(ConstructConfigError) as caught:
        make()
    error = caught.value
    assert isinstance(error, CronceError)
    assert (error.path, error.argument) == (path, argument)
    assert allowed in error.allowed
    assert all(part in str(error) for part in (path, argument, error.allowed))
    return error


@pytest.mark.parametrize(
    ("argument", "value", "allowed"),
    [
        ("schedule", "0 6 * *", "five fields"),
        ("schedule", "0 6 * * * * *", "five fields"),
        ("schedule", "", "cron(...)"),
        ("schedule", 6, "cron(...)"),
        ("schedule", "*/60 * * * *", "minutes"),
        ("schedule", "cron(34 12 * * SAT *)", "?"),
        ("schedule", "cron(0 6 ? * ? *)", "day-of-"),
        ("schedule", "cron(0 6 30 2 ? *)", "day-of-month"),
        ("schedule", "rate(0 minutes)", "rate"),
        ("schedule", "at(tomorrow)", "at"),
        ("schedule", "* 8 * * *", "an hour with a minute"),
        ("schedule", "cron(* 8 ? * MON *)", "an hour with a minute"),
        ("schedule", [], "a list of cron expressions"),
        ("schedule", ["0 6 * * *", None], "a list of cron expressions"),
        ("schedule", ["0 6 * * *", "rate(5 minutes)"], "only cron expressions"),
        ("schedule", ["0 6 * * *", "0 6 * * *"], "each expression once"),
        ("schedule", ["0 6 * * *", "cron(* 8 * * ? *)"], "an hour with a minute"),
        ("schedule", ["0 6 * * *", "${Token[TOKEN.1]}"], "known at synth"),
        ("timezone", "Berlin", "IANA"),
        ("timezone", 1, "IANA"),
        ("job", "", "1 to 2048 bytes"),
        ("job", " digest", "no spaces around"),
        ("job", "cronce:watchdog", "does not begin with cronce:"),
        ("job", "é" * 1025, "1 to 2048 bytes"),
        ("ledger", "runs", "from_table_name"),
        ("ledger", None, "from_table_name"),
        ("cluster", "main", "an ECS cluster"),
        ("task_definition", "digest:7", "an ECS task definition"),
        ("container_name", "ap", "added before: app"),
        ("command", "cronce exec", "a list of at least one word"),
        ("command", [], "a list of at least one word"),
        ("command", ["a", None], "a list of at least one word"),
        ("environment", {"A": None}, "text"),
        ("environment", {"A": 1}, "text"),
        ("environment", {"": "x"}, "text"),
        ("environment", {"CRONCE_JOB": "x"}, "do not begin with CRONCE_"),
        ("environment", {"A": "x" * 7680}, "7680"),
        ("tags", {"team": None}, "text"),
        ("start", datetime(2026, 11, 29), "time zone"),  # noqa: DTZ001  # that is the point
        ("end", "2026-11-29", "time zone"),
        ("flexible_window", timedelta(seconds=90), "whole minutes"),
        ("flexible_window", timedelta(hours=25), "1m to 24h"),
        ("flexible_window", 15, "a datetime.timedelta or an aws_cdk.Duration"),
        ("policy", "FORBID", "a cronce.Policy"),
        ("policy", {"backoff_limit": 2}, "a cronce.Policy"),
        ("launch_type", ecs.LaunchType.EC2, "compatible with: FARGATE"),
        ("capacity_provider_strategies", [], "1 to 6"),
        ("capacity_provider_strategies", [_strategy("FARGATE_SPOT", 0)], "a weight over 0"),
        ("capacity_provider_strategies", [_strategy("FARGATE_SPOT", None)], "a weight over 0"),
        ("capacity_provider_strategies", [_strategy("FARGATE"), _strategy("mine")], "not both"),
        ("capacity_provider_strategies", [_strategy("FARGATE"), _strategy("FARGATE")], "each provider once"),
        (
            "capacity_provider_strategies",
            [_strategy("FARGATE", 1, 1), _strategy("FARGATE_SPOT", 1, 1)],
            "a base on at most one",
        ),
        ("vpc_subnets", ec2.SubnetSelection(subnet_group_name="nowhere"), "nowhere"),
    ],
)
def test_an_argument_that_can_never_work_is_refused(
    try_job: Callable[..., ScheduledTask], argument: str, value: object, allowed: str
) -> None:
    """At synth, not at 06:00."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(**{argument: value})
    error = caught.value
    assert error.argument == argument
    assert error.path.startswith("Stack/job")
    assert allowed in error.allowed
    assert all(part in str(error) for part in (error.path, argument, error.allowed))


@pytest.mark.parametrize("hour", [{"hour": "8"}, {"hour": "8", "week_day": "MON"}])
def test_cdks_hour_without_a_minute_is_refused(try_job: Callable[..., ScheduledTask], hour: dict[str, str]) -> None:
    """CDK writes `* 8`, which is 60 runs (case S8)."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(schedule=_expression(**hour))
    assert (caught.value.argument, caught.value.value) == ("schedule", _expression(**hour).expression_string)


@pytest.mark.parametrize("schedule", ["*/1 8 * * *", "0-59 8 * * *", "* * * * *"])
def test_sixty_runs_an_hour_may_be_meant(try_job: Callable[..., ScheduledTask], schedule: str) -> None:
    """Said outright, or every minute of every hour."""
    try_job(schedule=schedule)


def test_a_zone_that_contradicts_the_expressions_own_is_refused(try_job: Callable[..., ScheduledTask]) -> None:
    """One of them is a mistake."""
    berlin = _expression(minute="0", hour="6", time_zone=cdk.TimeZone.EUROPE_BERLIN)
    try_job(schedule=berlin, timezone="Europe/Berlin")
    with pytest.raises(ConstructConfigError) as caught:
        try_job(schedule=berlin, timezone="Europe/Paris")
    assert (caught.value.argument, caught.value.value) == ("timezone", "Europe/Paris")


def test_a_window_that_swallows_the_deadline_is_refused(try_job: Callable[..., ScheduledTask]) -> None:
    """Runs would start too late by design."""
    window = timedelta(minutes=10)
    try_job(flexible_window=window, policy=Policy(starting_deadline=window + timedelta(seconds=1)))
    with pytest.raises(ConstructConfigError) as caught:
        try_job(flexible_window=window, policy=Policy(starting_deadline=window))
    assert caught.value.argument == "flexible_window"


def test_a_strategy_beside_a_launch_type_is_refused(try_job: Callable[..., ScheduledTask]) -> None:
    """The API takes one of them (case C5)."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(launch_type=ecs.LaunchType.FARGATE, capacity_provider_strategies=[_strategy("FARGATE_SPOT")])
    assert (caught.value.argument, caught.value.value) == ("launch_type", ecs.LaunchType.FARGATE)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("assign_public_ip", True),
        ("security_groups", ["sg"]),
        ("vpc_subnets", ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)),
        ("platform_version", ecs.FargatePlatformVersion.LATEST),
        ("capacity_provider_strategies", [_strategy("FARGATE")]),
    ],
)
def test_what_only_fargate_or_awsvpc_has_is_refused_elsewhere(argument: str, value: Any) -> None:  # noqa: ANN401
    """A task on its host's network has no interface, and EC2 no platform version."""
    shop = new_shop()
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2")
    task_definition.add_container("app", image=IMAGE, memory_limit_mib=64)
    _refused("Stack/digest", argument, "", lambda: shop.job(task_definition=task_definition, **{argument: value}))


def test_a_public_address_on_ec2_is_refused() -> None:
    """Only Fargate gives one to a task."""
    shop = new_shop()
    task_definition = ecs.Ec2TaskDefinition(shop.stack, "OnEc2", network_mode=ecs.NetworkMode.AWS_VPC)
    task_definition.add_container("app", image=IMAGE, memory_limit_mib=64)
    make: Callable[[], object] = lambda: shop.job(task_definition=task_definition, assign_public_ip=True)  # noqa: E731
    _refused("Stack/digest", "assign_public_ip", "only a task on Fargate", make)


def test_a_task_definition_without_a_container_is_refused(shared_shop: Shop, try_job: Callable[..., object]) -> None:
    """Nothing would do the work."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(task_definition=ecs.FargateTaskDefinition(shared_shop.stack, "Empty"))
    assert caught.value.argument == "container_name"
    assert "none so far" in caught.value.allowed


def test_an_imported_task_definition_has_to_bring_its_roles(shared_shop: Shop, try_job: Callable[..., object]) -> None:
    """The scheduler must be allowed to pass exactly these."""
    stack, arn = shared_shop.stack, "arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:7"
    role = iam.Role.from_role_name(stack, "TaskOnly", "task")
    bare = ecs.FargateTaskDefinition.from_fargate_task_definition_arn(stack, "Bare", arn)
    half = ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        stack, "Half", task_definition_arn=arn, task_role=role
    )
    for task_definition in (bare, half):
        with pytest.raises(ConstructConfigError) as caught:
            try_job(task_definition=task_definition, container_name="app")
        assert (caught.value.argument, caught.value.value) == ("task_definition", task_definition.node.path)
        assert "task_role and execution_role" in caught.value.allowed
    full = ecs.FargateTaskDefinition.from_fargate_task_definition_attributes(
        stack, "Full", task_definition_arn=arn, task_role=role, execution_role=role
    )
    with pytest.raises(ConstructConfigError, match="container_name"):
        try_job(task_definition=full)


def test_a_cluster_without_its_vpc_is_refused(shared_shop: Shop, try_job: Callable[..., object]) -> None:
    """Nobody could say where the task's interface is."""
    cluster = ecs.Cluster.from_cluster_arn(
        shared_shop.stack, "ByArn", "arn:aws:ecs:eu-west-1:111122223333:cluster/main"
    )
    with pytest.raises(ConstructConfigError) as caught:
        try_job(cluster=cluster)
    assert (caught.value.argument, caught.value.value) == ("cluster", "Stack/ByArn")


def test_two_jobs_of_one_name_are_refused() -> None:
    """They would take each other's runs."""
    shop = new_shop()
    shop.job("one", job="digest")
    _refused("Stack/two", "job", "Stack/one uses this one", lambda: shop.job("two", job="digest"))


@pytest.mark.parametrize("table_name", ["", "ab", "x" * 256, "runs/2", 7])
def test_a_tables_name_is_checked(table_name: object) -> None:
    """By DynamoDB's rules, whether the table is made or imported."""
    stack = cdk.Stack(cdk.App(), "Stack")
    name: Any = table_name
    made = _refused("Stack/Made", "table_name", "3 to 255", lambda: RunLedger(stack, "Made", table_name=name))
    seen = _refused(
        "Stack/Seen", "table_name", "3 to 255", lambda: RunLedger.from_table_name(stack, "Seen", table_name=name)
    )
    assert (made.value, seen.value) == (table_name, table_name)


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        (timedelta(seconds=59), "1m"),
        (timedelta(hours=24, seconds=1), "24h"),
        (timedelta(seconds=90.5), "whole seconds"),
        (5, "a datetime.timedelta or an aws_cdk.Duration"),
        (cdk.Duration.seconds(cdk.Token.as_number(cdk.Aws.REGION)), "known at synth"),
    ],
)
def test_the_watchdogs_patience_is_bounded(
    shared_shop: Shop, request: pytest.FixtureRequest, value: object, allowed: str
) -> None:
    """A minute is as exact as EventBridge Scheduler is."""
    ledger_id, patience = f"Ledger{abs(hash(request.node.name))}", cast("timedelta", value)
    make: Callable[[], object] = lambda: RunLedger(shared_shop.stack, ledger_id, missed_after=patience)  # noqa: E731
    _refused(f"Stack/{ledger_id}", "missed_after", allowed, make)


@pytest.mark.parametrize("consistency", [None, dynamodb.MultiRegionConsistency.EVENTUAL])
def test_a_replica_that_agrees_later_is_refused(consistency: dynamodb.MultiRegionConsistency | None) -> None:
    """Two Regions would both let a run in."""
    stack = new_shop().stack
    replicas = [dynamodb.ReplicaTableProps(region="eu-central-1"), dynamodb.ReplicaTableProps(region="eu-west-2")]
    make: Callable[[], object] = lambda: RunLedger(  # noqa: E731
        stack, "Second", replicas=replicas, multi_region_consistency=consistency
    )
    _refused("Stack/Second", "replicas", "multi_region_consistency=STRONG", make)


def test_a_replica_that_comes_later_fails_the_synth() -> None:
    """`table.add_replica` is seen in the finished tree."""
    app = cdk.App()
    shop = new_shop(app)
    assert isinstance(shop.ledger.table, dynamodb.TableV2)
    shop.ledger.table.add_replica(region="eu-central-1")
    with pytest.raises(RuntimeError, match=r"Stack/Ledger: replicas: .*eu-central-1.*multi_region_consistency=STRONG"):
        app.synth()


def test_replicas_need_a_known_region() -> None:
    """A stack for any Region cannot say where the others are."""
    stack = cdk.Stack(cdk.App(), "Stack")
    strong = dynamodb.MultiRegionConsistency.STRONG
    replicas = [dynamodb.ReplicaTableProps(region="eu-central-1")]
    make: Callable[[], object] = lambda: RunLedger(  # noqa: E731
        stack, "L", replicas=replicas, multi_region_consistency=strong
    )
    _refused("Stack/L", "replicas", "Region", make)


def test_recorders_clusters_are_clusters() -> None:
    """Not their names."""
    stack = new_shop().stack
    clusters: Any = ["main"]
    _refused("Stack/L", "clusters", "ECS clusters", lambda: RunLedger(stack, "L", clusters=clusters))


@pytest.mark.parametrize(
    ("argument", "value", "allowed"),
    [
        ("ledger", "runs", "from_table_name"),
        ("cluster", "main", "an ECS cluster"),
        ("image", "clock:1", "ContainerImage"),
        ("job", "", "1 to 2048 bytes"),
        ("job", "cronce:watchdog", "does not begin with cronce:"),
        ("job", "the:clock", "without a colon"),
        ("job", "cronce", "other than cronce"),
        ("command", "celery beat", "a list of at least one word"),
        ("command", [], "a list of at least one word"),
        ("command", ["cronce", "pin", "--", "celery"], "runs under cronce pin -- already"),
        ("command", ["/usr/local/bin/cronce", "clock"], "runs under cronce pin -- already"),
        ("environment", {"CRONCE_LEDGER": "x"}, "do not begin with CRONCE_"),
        ("stop_timeout", timedelta(seconds=5), "more than 5s"),
        ("stop_timeout", cdk.Duration.seconds(121), "at most 2m"),
        ("stop_timeout", timedelta(seconds=10.5), "whole seconds"),
        ("stop_timeout", 30, "a datetime.timedelta or an aws_cdk.Duration"),
        ("lease", timedelta(hours=2), "500ms to 1h"),
        ("capacity_provider_strategies", [_strategy("FARGATE_SPOT")], "FARGATE with a weight or base"),
        (
            "capacity_provider_strategies",
            [_strategy("FARGATE_SPOT"), _strategy("FARGATE", 0)],
            "FARGATE with a weight or base",
        ),
        ("capacity_provider_strategies", [_strategy("mine")], "FARGATE, with or without"),
        ("capacity_provider_strategies", [], "1 to 6"),
    ],
)
def test_a_clock_that_can_never_work_is_refused(
    shared_shop: Shop, request: pytest.FixtureRequest, argument: str, value: object, allowed: str
) -> None:
    """At once, like a job."""
    construct_id = f"Clock{abs(hash(request.node.name))}"
    make = _clock_of(shared_shop, construct_id, **{"command": ["celery", "beat"], argument: value})
    _refused(f"Stack/{construct_id}", argument, allowed, make)


WINDOWS = ecs.RuntimePlatform(operating_system_family=ecs.OperatingSystemFamily.WINDOWS_SERVER_2022_CORE)


@pytest.mark.parametrize(
    ("argument", "value", "allowed"),
    [
        ("secrets", {"X": None}, "an ecs.Secret each"),
        ("secrets", ["X"], "a mapping of names"),
        ("secrets", {"CRONCE_JOB": None}, "an ecs.Secret each"),
        ("environment", ["X"], "a mapping of names"),
        ("security_groups", [None], "a list of ec2 security groups"),
        ("vpc_subnets", "subnet-1", "SubnetSelection"),
        ("runtime_platform", WINDOWS, "Linux"),
        ("runtime_platform", "LINUX", "RuntimePlatform"),
        ("cpu", 100, "256, 512"),
        ("memory_limit_mib", 1536, "512, 1024 or 2048"),
        ("memory_limit_mib", 4096, "512, 1024 or 2048"),
        ("cpu", "256", "a whole number"),
        ("memory_limit_mib", 0, "a whole number"),
        ("assign_public_ip", "yes", "True or False"),
        ("enable_execute_command", None, "True or False"),
        ("capacity_provider_strategies", ["FARGATE"], "a list of ecs.CapacityProviderStrategy"),
    ],
)
def test_a_clocks_value_of_the_wrong_kind_is_refused_in_words(
    shared_shop: Shop, request: pytest.FixtureRequest, argument: str, value: object, allowed: str
) -> None:
    """Not with jsii's or CDK's own error."""
    construct_id = f"Clock{abs(hash(request.node.name))}"
    with pytest.raises(ConstructConfigError) as caught:
        _clock_of(shared_shop, construct_id, command=["beat"], **{argument: value})()
    assert argument in caught.value.argument
    assert allowed in caught.value.allowed


@pytest.mark.parametrize("added", [False, True])
def test_a_provider_that_the_cluster_does_not_have_is_refused(*, added: bool) -> None:
    """Of a cluster of the app, whose providers are known at the end."""
    shop = new_shop()
    cluster = ecs.Cluster(shop.stack, "Own", vpc=shop.cluster.vpc)
    shop.job(cluster=cluster, capacity_provider_strategies=[_strategy("FARGATE_SPOT")])
    if added:
        cluster.enable_fargate_capacity_providers()
        assert shop.schedule()
        return
    with pytest.raises(RuntimeError, match="FARGATE_SPOT' is not usable; allowed: providers of Stack/Own: it has none"):
        shop.schedule()


@pytest.mark.parametrize("argument", ["timezone", "start", "end"])
def test_a_job_without_a_schedule_has_no_times(try_job: Callable[..., ScheduledTask], argument: str) -> None:
    """They would say nothing."""
    values = {"timezone": "UTC", "start": datetime(2026, 1, 1, tzinfo=UTC), "end": datetime(2027, 1, 1, tzinfo=UTC)}
    with pytest.raises(ConstructConfigError, match=f"no {argument} for a job without a schedule"):
        try_job(schedule=None, **{argument: values[argument]})


def test_an_end_before_the_start_is_refused(try_job: Callable[..., ScheduledTask]) -> None:
    """There would be no tick, without a word."""
    with pytest.raises(ConstructConfigError) as caught:
        try_job(start=datetime(2027, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 1, tzinfo=UTC))
    assert caught.value.argument == "end"


def test_a_second_alarm_of_one_name_is_refused(shop: Shop) -> None:
    """One per job has a name of its own."""
    jobs = {name: ClockJob(every=timedelta(minutes=1), target=CommandTarget(["true"])) for name in ("a", "b")}
    clock = _clock_of(shop, "Clock", jobs=jobs)()
    alarms = [clock.alarm_no_tick(), clock.alarm_no_tick(job="a"), clock.alarm_no_tick(job="b")]
    assert [alarm.node.id for alarm in alarms] == ["NoTick", "NoTicka", "NoTickb"]
    with pytest.raises(ConstructConfigError) as caught:
        clock.alarm_no_tick(job="a")
    assert (caught.value.argument, caught.value.value) == ("construct_id", "NoTicka")


def _clock_of(shop: Shop, construct_id: str, **changed: Any) -> Callable[[], PinnedScheduler]:  # noqa: ANN401
    arguments: dict[str, Any] = {"ledger": shop.ledger, "cluster": shop.cluster, "image": IMAGE, **changed}
    return lambda: PinnedScheduler(shop.stack, construct_id, **arguments)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, None),
        ({"config_file": "clock.toml", "command": ["celery"]}, "config_file, command"),
        ({"jobs": {}, "command": ["celery"]}, "jobs, command"),
    ],
)
def test_a_clock_does_one_thing(
    shared_shop: Shop, request: pytest.FixtureRequest, given: dict[str, object], named: str | None
) -> None:
    """Its jobs, a file of its image, or another clock's command."""
    construct_id = f"Clock{abs(hash(request.node.name))}"
    error = _refused(
        f"Stack/{construct_id}",
        "jobs, config_file, command",
        "exactly one",
        _clock_of(shared_shop, construct_id, **given),
    )
    assert error.value == named


@pytest.mark.parametrize("config_file", ["", 7])
def test_a_configuration_file_is_a_path(shared_shop: Shop, request: pytest.FixtureRequest, config_file: object) -> None:
    """In the image."""
    construct_id = f"Clock{abs(hash(request.node.name))}"
    make = _clock_of(shared_shop, construct_id, config_file=config_file)
    _refused(f"Stack/{construct_id}", "config_file", "in the image", make)


@pytest.mark.parametrize("within", [timedelta(seconds=59), timedelta(days=7, seconds=1)])
def test_an_alarm_looks_no_further_back_than_cloudwatch(shop: Shop, within: timedelta) -> None:
    """And no less than a datapoint."""
    clock = _clock_of(shop, "Clock", command=["celery"])()
    _refused("Stack/Clock", "within", "1m to 7d", lambda: clock.alarm_no_leader(within=within))


def test_a_ledger_of_another_stack_needs_a_name() -> None:
    """An export would tie the stacks, and the last job could not be removed."""
    app = cdk.App()
    shop, jobs = new_shop(app, "Ledgers"), cdk.Stack(app, "Jobs", env=ENVIRONMENT)
    make: Callable[[], object] = lambda: ScheduledTask(  # noqa: E731
        jobs,
        "digest",
        ledger=shop.ledger,
        schedule="@daily",
        cluster=shop.cluster,
        task_definition=fargate_task(jobs),
    )
    _refused("Jobs/digest", "ledger", "one with a table_name", make)


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("region", cdk.Environment(account="111122223333", region="eu-central-1")),
        ("account", cdk.Environment(account="444455556666", region="eu-west-1")),
    ],
)
def test_a_ledger_of_another_account_or_region_is_refused(what: str, other: cdk.Environment) -> None:
    """A schedule's group and queue are of its own Region and account."""
    app = cdk.App()
    shop, jobs = new_shop(app, "Ledgers"), cdk.Stack(app, "Jobs", env=other)
    ledger = RunLedger(shop.stack, "Named", table_name="runs")
    make: Callable[[], object] = lambda: ledger.seen_from(jobs)  # noqa: E731
    _refused("Jobs", "ledger", f"the same {what}", make)
