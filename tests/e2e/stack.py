"""What the lane deploys: a ledger, its jobs and its pinned clocks; and a hundred jobs in another stack."""

from __future__ import annotations

import os
import sys
from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as events_targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from cronce.vocabulary.policy import CatchUp, OnLost, Policy
from cronce_cdk import ClockJob, Guard, PinnedScheduler, RunLedger, ScheduledTask, SqsTarget
from tests.e2e import names

_DAILY, _EACH_MINUTE = "0 6 * * *", "* * * * *"
_DIGESTS = {"daily-digest": ("python", "-m", "digest"), "shell-digest": ("cronce", "exec", "--", "./digest.sh")}
_CHORE = ("cronce", "exec", "--", "true")
_BROKEN = ("cronce", "exec", "--", "sh", "-c", 'test "$CRONCE_TRIGGER" = manual')
_LEASE_OF_CLOCKS = timedelta(seconds=20)


class EndToEnd(cdk.Stack):
    """The stack under test."""

    def __init__(self, scope: Construct, construct_id: str, *, image: str, beats_image: str) -> None:
        super().__init__(scope, construct_id)
        self._cluster = _cluster(self)
        self._log = logs.LogGroup(self, "Log")
        # The shortest patience that is allowed.
        self._ledger = RunLedger(self, "Ledger", clusters=[self._cluster], missed_after=timedelta(minutes=1))
        self._jobs: dict[str, ScheduledTask] = {}
        self._outputs: dict[str, str] = {}
        self._add_digests(image)
        self._add_jobs_without_python()
        small = self._task("small", image)
        self._add_job(names.CHORE, small, _CHORE)
        self._add_job(names.BROKEN, small, _BROKEN)
        self._add_job(
            names.GONE, self._task(names.GONE, "cronce-e2e/gone:latest"), _CHORE, policy=Policy(backoff_limit=1)
        )
        latest = Policy(catch_up=CatchUp.LATEST)
        for job, policy in ((names.UNWATCHED, None), (names.CAUGHT_UP, latest), (names.PAUSED, None)):
            self._add_job(job, small, _CHORE, schedule=_EACH_MINUTE, policy=policy)
        self._add_jobs_to_break(small, image)
        self._add_clocks(image, beats_image)
        self._add_on_call()
        told = sqs.Queue(self, "Told")
        by_cronce = events.EventPattern(source=["cronce"])
        events.Rule(self, "OfCronce", event_pattern=by_cronce, targets=[events_targets.SqsQueue(told)])
        self._outputs |= {
            "ClusterName": self._cluster.cluster_name,
            "LedgerUrl": self._ledger.table_url,
            "LogGroupName": self._log.log_group_name,
            "ScheduleGroupName": self._ledger.schedule_group.schedule_group_name,
            "DeadLettersUrl": self._ledger.dead_letter_queue.queue_url,
            "EventsUrl": told.queue_url,
            "RecorderName": self._ledger.recorder.function_name,
            "WatchdogName": self._ledger.watchdog.function_name,
            "Schedules": self.to_json_string({job: task.schedule_name for job, task in self._jobs.items()}),
        }
        for name, value in self._outputs.items():
            cdk.CfnOutput(self, name, value=value)

    def _add_digests(self, image: str) -> None:
        # Versioned: a mail that was sent twice has two versions.
        outbox = s3.Bucket(self, "Outbox", versioned=True)
        for job in names.DIGESTS:
            task = self._task(job, image, environment={"DIGEST_BUCKET": outbox.bucket_name})
            outbox.grant_put(task.task_role, f"{job}/*")
            self._add_job(job, task, _DIGESTS[job], schedule=[_DAILY, names.FIRSTS], policy=Policy(backoff_limit=2))
            self._outputs[f"RoleOf{job.title().replace('-', '')}"] = task.task_role.role_arn
        self._outputs["OutboxName"] = outbox.bucket_name

    def _add_jobs_to_break(self, small: ecs.FargateTaskDefinition, image: str) -> None:
        guarded = ("cronce", "exec", "--")
        self._add_job(names.SLEEPER, small, (*guarded, "sleep", "600"), policy=Policy(on_lost=OnLost.HOLD))
        self._add_job(names.BARE, small, ("true",))
        self._add_job(names.MISTYPED, small, (*guarded, "./no-such-command"))
        self._add_job(names.LATE, small, _CHORE, policy=Policy(starting_deadline=timedelta(minutes=10)))
        self._add_job(names.OLD, self._task(names.OLD, image), _CHORE)

    def _add_jobs_without_python(self) -> None:
        jobs = {job: (names.GUARD_IMAGE, *rest) for job, rest in names.WITHOUT_PYTHON.items()}
        jobs[names.UNGUARDED] = (names.STATIC_IMAGE, names.LANGUAGES_IMAGE, ("ruby", "-e", "puts 6 * 7"))
        for job, (guard_image, image, command) in jobs.items():
            task = ecs.FargateTaskDefinition(self, f"{job}-task", cpu=256, memory_limit_mib=512)
            guard = Guard(task, image=ecs.ContainerImage.from_registry(guard_image))
            guard.add_container(
                "work",
                image=ecs.ContainerImage.from_registry(image),
                command=command,
                environment={"DIGEST_PAUSE": "0.1"},
                logging=ecs.LogDrivers.aws_logs(stream_prefix="run", log_group=self._log),
            )
            self._add_job(job, task, None, policy=Policy(backoff_limit=2))

    def _add_clocks(self, image: str, beats_image: str) -> None:
        pulses, beats = sqs.Queue(self, "Pulses"), sqs.Queue(self, "Beats")
        # A tick that fell into a gap between two clocks is sent as soon as there is one.
        job = ClockJob(every=timedelta(seconds=names.CLOCK_SECONDS), target=SqsTarget(pulses), catch_up=CatchUp.ALL)
        clock = self._pinned(names.CLOCK, image, jobs={names.CLOCK_JOB: job}, command=None, environment={})
        beat = ["celery", "-A", "beats", "beat", "--loglevel=INFO", "--schedule=/tmp/beat", "--pidfile="]
        where = {"BEATS_QUEUE": beats.queue_url}
        foreign = self._pinned(names.BEATS, beats_image, jobs=None, command=beat, environment=where)
        beats.grant_send_messages(foreign.task_definition.task_role)
        self._outputs |= {
            "Clocks": self.to_json_string(
                {
                    name: {
                        "service": pinned.service.service_name,
                        "task_definition": pinned.task_definition.task_definition_arn,
                        "log_group": pinned.log_group.log_group_name,
                        "queue": queue.queue_url,
                    }
                    for name, pinned, queue in ((names.CLOCK, clock, pulses), (names.BEATS, foreign, beats))
                }
            )
        }

    def _add_on_call(self) -> None:
        """The roles of people on call: one may start tasks, one only invoke the rerun function, one only look."""
        role = iam.Role(self, "OnCall", assumed_by=iam.AccountRootPrincipal())
        self._ledger.grant_read(role)
        for job in (*names.DIGESTS, names.CHORE):
            self._jobs[job].grant_run(role)
        asking = iam.Role(self, "Asking", assumed_by=iam.AccountRootPrincipal())
        self._ledger.grant_rerun(asking)
        looking = iam.Role(self, "Looking", assumed_by=iam.AccountRootPrincipal())
        self._ledger.grant_operate(looking, clusters=[self._cluster], log_groups=[self._log])
        self._outputs |= {
            "OnCallRole": role.role_arn,
            "AskingRole": asking.role_arn,
            "LookingRole": looking.role_arn,
            "RerunName": self._ledger.rerun_function.function_name,
        }

    def _task(self, name: str, image: str, *, environment: dict[str, str] | None = None) -> ecs.FargateTaskDefinition:
        task = ecs.FargateTaskDefinition(self, f"{name}-task", cpu=256, memory_limit_mib=512)
        task.add_container(
            "work",
            image=ecs.ContainerImage.from_registry(image),
            logging=ecs.LogDrivers.aws_logs(stream_prefix="run", log_group=self._log),
            environment=environment,
        )
        return task

    def _add_job(
        self,
        job: str,
        task: ecs.FargateTaskDefinition,
        command: tuple[str, ...] | None,
        *,
        schedule: str | list[str] = _DAILY,
        policy: Policy | None = None,
    ) -> None:
        self._jobs[job] = ScheduledTask(
            self,
            job,
            ledger=self._ledger,
            schedule=schedule,
            cluster=self._cluster,
            task_definition=task,
            command=command,
            assign_public_ip=True,
            policy=policy,
        )

    def _pinned(
        self,
        name: str,
        image: str,
        *,
        jobs: dict[str, ClockJob] | None,
        command: list[str] | None,
        environment: dict[str, str],
    ) -> PinnedScheduler:
        return PinnedScheduler(
            self,
            name,
            ledger=self._ledger,
            cluster=self._cluster,
            image=ecs.ContainerImage.from_registry(image),
            assign_public_ip=True,
            lease=_LEASE_OF_CLOCKS,
            jobs=jobs,
            command=command,
            environment=environment,
        )


class Hundred(cdk.Stack):
    """A hundred jobs, ten to a task definition: with one each, they would be more resources than a stack may have."""

    def __init__(self, scope: Construct, construct_id: str, *, image: str) -> None:
        super().__init__(scope, construct_id)
        cluster, ledger = _cluster(self), RunLedger(self, "Ledger")
        for ten in range(10):
            task = ecs.FargateTaskDefinition(self, f"task-{ten}")
            task.add_container(
                "work",
                image=ecs.ContainerImage.from_registry(image),
                logging=ecs.LogDrivers.aws_logs(stream_prefix="run"),
            )
            for number in range(ten * 10, ten * 10 + 10):
                ScheduledTask(
                    self,
                    f"job-{number}",
                    ledger=ledger,
                    schedule=f"{number % 60} 6 * * *",
                    cluster=cluster,
                    task_definition=task,
                    command=_CHORE,
                    assign_public_ip=True,
                )
        cdk.CfnOutput(self, "ScheduleGroupName", value=ledger.schedule_group.schedule_group_name)


def _cluster(stack: cdk.Stack) -> ecs.Cluster:
    public = ec2.SubnetConfiguration(name="public", subnet_type=ec2.SubnetType.PUBLIC)
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2, nat_gateways=0, subnet_configuration=[public])
    return ecs.Cluster(stack, "Cluster", vpc=vpc)


def main() -> None:
    """Synthesize the stack that the command line names."""
    app = cdk.App()
    if sys.argv[1:] == [names.HUNDRED]:
        Hundred(app, names.HUNDRED, image=os.environ[names.IMAGE])
    else:
        EndToEnd(app, names.STACK, image=os.environ[names.IMAGE], beats_image=os.environ[names.BEATS_IMAGE])
    app.synth()


if __name__ == "__main__":
    main()
