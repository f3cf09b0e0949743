"""A task that is at work without having asked the ledger: its tick is not called missed, nor started again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws

from cronce import CatchUp, Policy, Reason, Status, Trigger
from cronce.aws.sdk import Service
from cronce.ecs import definition_of
from cronce.vocabulary.names import period_of
from cronce.watch.tasks_at_work import TasksAtWork
from tests.lambdas.events import ARN, JOB, OTHER, PERIOD, SETTINGS, World, running, stopped
from tests.support.cloud import T0, schedule

if TYPE_CHECKING:
    from cronce.ecs import JobDefinition

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
LATE = T0 + SETTINGS.missed_after
POLICIES = [Policy(catch_up=catch_up) for catch_up in CatchUp]


def daily(policy: Policy | None = None, *tasks: dict[str, Any]) -> World:
    """A world with a job that is due at T0, and the tasks that ECS has."""
    world = World(policy=policy)
    world.define(policy=policy, CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
    world.ecs.tasks += tasks
    return world


def told(world: World) -> list[tuple[str, str | None]]:
    """Type and reason of every event."""
    return [(event["type"], event.get("reason")) for event in world.events.sent]


class TestUnguarded:
    """A job whose image has no guard, and whose first task runs for longer than the watchdog waits."""

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.catch_up)
    def test_a_long_run_gets_one_row_that_is_true_and_is_not_repeated(self, policy: Policy) -> None:
        """Until its stop event there is no row; after it the row says that the work may be done."""
        world = daily(policy, running())
        for minute in range(120):
            if minute == 40:
                world.ecs.tasks[:] = [running(changes={"lastStatus": "DEPROVISIONING", "desiredStatus": "STOPPED"})]
            if minute == 42:
                world.ecs.tasks[:] = [running(stopped_at=T0 + 42 * MINUTE)]
            if minute == 44:  # the event came late
                world.settle(stopped(exit_code=0))
            found = world.look(T0 + minute * MINUTE)
            assert found == {"jobs": 1, **({"at_work": 1} if 5 <= minute < 44 else {})}
            run = world.run()
            assert (run.reason if run else None) == (Reason.UNCLAIMED if minute >= 44 else None)
        assert world.launches() == []
        assert told(world) == [("Cronce Run Unclaimed", Reason.UNCLAIMED)]

    def test_runs_that_overlap_wait_each_for_itself(self) -> None:
        """An hourly job whose tasks run for 50 minutes; one of them fails, and one is lost without a word."""
        world = daily(Policy(catch_up=CatchUp.ALL))
        world.define(
            policy=Policy(catch_up=CatchUp.ALL),
            ScheduleExpression="cron(0/30 * * * ? *)",
            CreationDate=T0 - MINUTE,
            LastModificationDate=T0 - MINUTE,
        )
        arns = [f"{ARN[:-1]}{number}" for number in range(3)]
        for minute in range(130):
            for number, arn in enumerate(arns):
                at = T0 + number * 30 * MINUTE
                if minute == number * 30:
                    world.ecs.tasks.append(running(arn, at=at))
                if minute == number * 30 + 50:
                    world.ecs.tasks[number] = running(arn, at=at, stopped_at=at + 50 * MINUTE)
                    if number < 2:
                        world.settle(stopped(arn, exit_code=number, CRONCE_SCHEDULED_TIME=period_of(at)))
            world.look(T0 + minute * MINUTE)
        reasons = [world.standing(T0 + number * 30 * MINUTE).reason for number in range(3)]
        assert reasons == [Reason.UNCLAIMED, Reason.LAUNCH_FAILED, Reason.NEVER_DELIVERED]
        assert period_of(T0) not in [launch[1] for launch in world.launches()]

    def test_the_latest_is_not_caught_up_beside_a_newer_one_at_work(self) -> None:
        """The watchdog did not look for half an hour: the first tick was lost, the task of the second one works."""
        world = daily(Policy(catch_up=CatchUp.LATEST), running(at=T0 + 30 * MINUTE))
        world.define(
            policy=Policy(catch_up=CatchUp.LATEST),
            ScheduleExpression="cron(0/30 * * * ? *)",
            CreationDate=T0 - MINUTE,
            LastModificationDate=T0 - MINUTE,
        )
        world.look(T0 + MINUTE)
        assert world.look(LATE + 30 * MINUTE) == {"jobs": 1, "missed": 1, "at_work": 1}
        assert (world.standing().reason, world.launches()) == (Reason.NEVER_DELIVERED, [])

    def test_its_tick_stays_pending_through_a_deployment(self) -> None:
        """A new image does not make the watchdog forget it; the task was lost without an event."""
        world = daily(None, running())
        world.look(T0 + MINUTE)
        world.look(LATE)
        world.define(image="2", CreationDate=T0 - MINUTE, LastModificationDate=LATE + SECOND)
        assert world.look(LATE + MINUTE)["at_work"] == 1
        world.ecs.tasks.clear()
        world.look(LATE + 2 * MINUTE)
        assert world.standing().reason == Reason.NEVER_DELIVERED


class TestGuarded:
    """A job that asks, but late."""

    def test_a_task_that_needs_long_to_start_is_not_called_missed(self) -> None:
        """It claims after ten minutes."""
        world = daily(Policy(catch_up=CatchUp.LATEST), running(changes={"lastStatus": "PENDING"}))
        for minute in range(10):
            world.look(T0 + minute * MINUTE)
        claimed = world.claim()
        assert claimed.attempt == 1
        claimed.complete()
        for minute in range(10, 90):
            world.look(T0 + minute * MINUTE)
        assert (world.standing().status, world.events.sent, world.launches()) == (Status.SUCCEEDED, [], [])

    def test_it_may_claim_even_after_the_longest_wait(self) -> None:
        """The row says that it has not claimed; the claim begins attempt 1."""
        world = daily(None, running())
        world.look(LATE + HOUR)
        assert world.standing().reason == Reason.NEVER_CLAIMED
        assert world.claim().attempt == 1


class TestForged:
    """Overrides are only a hint: they make the watchdog wait, for a limited time."""

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.catch_up)
    def test_after_an_hour_the_tick_is_marked_with_a_reason_of_its_own(self, policy: Policy) -> None:
        """Once, just when the hour has passed. The task may still be at work, so nothing is caught up."""
        world = daily(policy, running())
        world.look(T0 + MINUTE)
        assert world.look(LATE + HOUR - SECOND) == {"jobs": 1, "at_work": 1}
        assert world.run() is None
        assert world.look(LATE + HOUR) == {"jobs": 1, "missed": 1}
        run = world.standing()
        assert (run.status, run.reason, run.attempt) == (Status.MISSED, Reason.NEVER_CLAIMED, 0)
        for minute in range(1, 90):
            assert world.look(LATE + HOUR + minute * MINUTE) == {"jobs": 1}
        assert (told(world), world.launches()) == ([("Cronce Run Missed", Reason.NEVER_CLAIMED)], [])

    def test_the_window_of_the_schedule_is_added(self) -> None:
        """EventBridge Scheduler may deliver until its end."""
        world = daily(None, running())
        window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
        world.define(FlexibleTimeWindow=window, CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        world.look(T0 + MINUTE)
        assert world.look(LATE + 15 * MINUTE + HOUR - SECOND)["at_work"] == 1
        assert world.look(LATE + 15 * MINUTE + HOUR)["missed"] == 1

    def test_a_mark_whose_look_was_cut_short_is_reported_all_the_same(self) -> None:
        """The row was written, the event was not sent."""
        world = daily(None, running())
        world.look(T0 + MINUTE)
        world.events.fail_if("put_events", lambda _: RuntimeError("nobody foresaw this"))
        assert world.look(LATE + HOUR)["failed"] == 1
        world.events.recover()
        world.events.calls.clear()
        assert world.look(LATE + HOUR + MINUTE)["missed"] == 1
        assert told(world) == [("Cronce Run Missed", Reason.NEVER_CLAIMED)]

    @pytest.mark.parametrize(
        ("exit_code", "reason"),
        [(0, Reason.UNCLAIMED), (3, Reason.LAUNCH_FAILED)],
    )
    def test_the_stop_of_the_task_outranks_the_mark(self, exit_code: int, reason: Reason) -> None:
        """Then it is known how it ended; work that ran to an end is not repeated."""
        world = daily(Policy(catch_up=CatchUp.ALL, backoff_limit=3), running())
        world.look(LATE + HOUR)
        world.clock.advance(HOUR)
        world.settle(stopped(exit_code=exit_code))
        assert (world.standing().reason, world.launches()) == (reason, [])

    @pytest.mark.parametrize(
        "task",
        [
            running(CRONCE_JOB="weekly"),
            running(at=T0 + HOUR),
            running(CRONCE_PERIOD="2026-11-29"),
            running(CRONCE_TRIGGER="nobody"),
            running(CRONCE_LEDGER="dynamodb://others?region=eu-west-1"),
            running(changes={"clusterArn": "arn:aws:ecs:eu-west-1:111122223333:cluster/other"}),
            running(changes={"taskDefinitionArn": "arn:aws:ecs:eu-west-1:111122223333:task-definition/nginx:1"}),
            running(changes={"overrides": {}}),
            running(changes={"overrides": None}),
            running(changes={"overrides": {"containerOverrides": [{"name": "digest", "environment": [{}]}]}}),
            running(stopped_at=T0),
            running(stopped_at=T0, changes={"stoppedAt": None}),
        ],
    )
    def test_any_other_task_delays_nothing(self, task: dict[str, Any]) -> None:
        """Of another job, period, ledger, cluster or family, one that names nothing, and one that has stopped."""
        world = daily(Policy(catch_up=CatchUp.LATEST), task)
        world.look(T0 + MINUTE)
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "caught_up": 1}
        assert world.standing().reason == Reason.NEVER_DELIVERED

    def test_a_task_of_this_ledger_counts(self) -> None:
        """As its schedule starts it."""
        world = daily(None, running(CRONCE_LEDGER=SETTINGS.url))
        assert "missed" not in world.look(LATE)


class TestCatchUp:
    """A tick that is marked already, and whose task came late."""

    POLICY = Policy(catch_up=CatchUp.ALL, lease=HOUR)

    def waiting(self) -> World:
        """A world with a backlog that waits for another run; meanwhile the task of the tick was delivered."""
        world = daily(self.POLICY)
        by_hand = world.ledger(OTHER).claim(JOB, "by-hand", policy=self.POLICY, trigger=Trigger.MANUAL)
        assert by_hand
        assert world.look(LATE) == {"jobs": 1, "missed": 1}
        by_hand.complete()
        world.ecs.tasks.append(running())
        return world

    def test_it_is_not_started_a_second_time(self) -> None:
        """The catch-up waits; the stop event says what became of it."""
        world = self.waiting()
        for minute in range(1, 30):
            assert world.look(LATE + minute * MINUTE) == {"jobs": 1}
        world.ecs.tasks[:] = [running(stopped_at=LATE + 30 * MINUTE)]
        world.look(LATE + 30 * MINUTE)
        world.settle(stopped(exit_code=0))
        for minute in range(31, 90):
            world.look(LATE + minute * MINUTE)
        assert (world.standing().reason, world.launches()) == (Reason.UNCLAIMED, [])

    def test_after_an_hour_it_is_left_to_a_person(self) -> None:
        """A forged task cannot hold up the ticks behind it."""
        world = self.waiting()
        world.look(LATE + HOUR - SECOND)
        assert world.standing().note is None
        world.look(LATE + HOUR)
        assert "a task of it is at work" in (world.standing().note or "")
        world.ecs.tasks.clear()
        world.look(LATE + HOUR + MINUTE)
        assert world.launches() == []

    def test_it_is_started_when_the_task_is_gone_without_a_word(self) -> None:
        """ECS has forgotten it, and no event came."""
        world = self.waiting()
        world.look(LATE + MINUTE)
        world.ecs.tasks.clear()
        assert world.look(LATE + 2 * MINUTE) == {"jobs": 1, "caught_up": 1}


class TestCalls:
    """What is asked of ECS, and what follows if it does not answer."""

    @pytest.mark.parametrize("operation", ["list_tasks", "describe_tasks"])
    @pytest.mark.parametrize("code", ["AccessDeniedException", "ClusterNotFoundException", "ThrottlingException"])
    def test_without_an_answer_the_tick_is_judged_as_if_there_were_no_task(
        self, operation: str, code: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A role of an earlier version may not ask. One line says so."""
        world = daily(Policy(catch_up=CatchUp.LATEST), running())
        world.look(T0 + MINUTE)
        world.ecs.fail(operation, code)
        assert world.look(LATE) == {"jobs": 1, "missed": 1, "caught_up": 1}
        lines = [line for line in capsys.readouterr().err.splitlines() if "tasks_unknown" in line]
        assert len(lines) == 1
        assert '"WARNING"' in lines[0]
        assert code in lines[0]

    def test_an_ecs_that_is_away_is_asked_once_in_a_look(self) -> None:
        """Each call may take half a minute, and the look has five."""
        world = daily(None)
        for number in range(5):
            answer = schedule(f"job-{number}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
            answer["Target"]["EcsParameters"]["TaskDefinitionArn"] = f"digest-{number}:1"
            world.scheduler.schedules[answer["Name"]] = answer
        world.look(T0 + MINUTE)
        world.ecs.go_away("list_tasks")
        assert world.look(LATE)["missed"] == 6
        assert world.ecs.count("list_tasks") == 1

    def test_only_ticks_without_a_row_cost_calls(self) -> None:
        """Three per look and family, however many jobs and ticks it has; a delivered tick and an idle look: none."""
        world = daily(None, running())
        for number in range(3):
            world.define(f"job-{number}", CreationDate=T0 - MINUTE, LastModificationDate=T0 - MINUTE)
        world.look(T0 + MINUTE)
        assert world.ecs.calls == []
        world.look(LATE)
        assert [operation for operation, _ in world.ecs.calls] == ["list_tasks", "describe_tasks", "list_tasks"]
        world.claim().complete()
        world.ecs.calls.clear()
        world.look(LATE + MINUTE)
        world.look(LATE + 2 * MINUTE)
        assert world.ecs.calls == []

    def test_a_wait_is_remembered_once(self) -> None:
        """The memory is written when the wait begins and when it ends."""
        world = daily(None, running())
        world.look(T0 + MINUTE)
        versions = []
        for minute in range(70):
            world.look(LATE + minute * MINUTE)
            memory = world.ledger().run("cronce:watchdog", f"{JOB}-0123456789ab")
            assert memory is not None
            versions.append(memory.version)
        assert len({*versions}) == 2
        assert versions[0] == versions[59]

    def test_pages_are_read_up_to_a_limit(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Five pages; beyond them nothing is known, and a line says so."""
        others = [running(f"{ARN[:-3]}{number:03}", CRONCE_JOB="weekly") for number in range(10)]
        world = daily(None, *others[:9], running())
        world.ecs.page_size = 2
        world.look(T0 + MINUTE)
        assert world.look(LATE)["at_work"] == 1
        assert world.ecs.count("list_tasks") == 6
        assert "tasks_unknown" not in capsys.readouterr().err
        world.ecs.tasks.insert(0, others[9])
        assert world.look(LATE + MINUTE)["missed"] == 1
        assert "more than 500 tasks are RUNNING" in capsys.readouterr().err

    def test_ecs_takes_the_calls_and_its_answer_is_understood(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With botocore, against moto: a task on Fargate with the overrides of a schedule."""
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        with mock_aws():
            ec2: Any = boto3.client("ec2")
            ecs: Any = boto3.client("ecs")
            vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
            subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
            cluster = ecs.create_cluster(clusterName="jobs")["cluster"]["clusterArn"]
            container: Any = {"name": "digest", "image": "digest", "memory": 64}
            family = ecs.register_task_definition(family="digest", containerDefinitions=[container])
            answer = schedule()
            answer["Target"]["Arn"] = cluster
            answer["Target"]["EcsParameters"]["TaskDefinitionArn"] = family["taskDefinition"]["taskDefinitionArn"]
            job = definition_of(answer)
            assert job is not None
            environment = [{"name": "CRONCE_JOB", "value": JOB}, {"name": "CRONCE_SCHEDULED_TIME", "value": PERIOD}]
            started = ecs.run_task(
                cluster=cluster,
                taskDefinition="digest",
                launchType="FARGATE",
                networkConfiguration={"awsvpcConfiguration": {"subnets": [subnet]}},
                overrides={"containerOverrides": [{"name": "digest", "environment": environment}]},
            )
            assert self.periods(job) == {PERIOD}
            ecs.stop_task(cluster=cluster, task=started["tasks"][0]["taskArn"])
            assert self.periods(job) == frozenset()  # moto knows no time of the stop

    def periods(self, job: JobDefinition) -> frozenset[str]:
        """What a new look finds."""
        return TasksAtWork(Service("ecs"), ledger=SETTINGS.url, now=T0).periods(job)
