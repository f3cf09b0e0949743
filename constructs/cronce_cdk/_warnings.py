"""What is doubtful about a job, as warnings; and what only the finished tree shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import aws_cdk as cdk
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.policy import CatchUp, Policy
from cronce_cdk._capacity_providers import missing_providers
from cronce_cdk._checks import warn
from cronce_cdk._containers import JobContainer
from cronce_cdk._policy_size import check_policies
from cronce_cdk._target import Target
from cronce_cdk._timing import Timing

_LONGEST_RETRY = timedelta(hours=24)
_START_OF_A_TASK = timedelta(minutes=1)
"""EventBridge Scheduler is exact to a minute, and a task on Fargate takes about one to start."""

_CATCHING_UP = timedelta(minutes=2)
"""The watchdog's next look and the minute in which a one-shot schedule fires."""

_SHELLS = ("sh", "bash", "ash", "dash", "/bin/sh", "/bin/bash", "/bin/ash", "/bin/dash")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDoubts:
    """The doubts about a job."""

    job: Construct
    schedules: Sequence[scheduler.CfnSchedule]
    policy: Policy
    enabled: bool
    missed_after: timedelta | None
    timing: Timing
    container: JobContainer
    target: Target
    command: Sequence[str] | None
    metrics: bool
    observed: bool
    by_role: bool

    def warn(self) -> None:
        """Add the warnings that the arguments give rise to."""
        for identifier, message in (*self._of_timing(), *self._of_container(), *self._of_target()):
            warn(self.job, identifier, message)

    def errors(self) -> list[str]:
        """Return the errors of the finished tree, and add its warnings."""
        kept = (cdk.CfnDeletionPolicy.RETAIN, cdk.CfnDeletionPolicy.RETAIN_EXCEPT_ON_CREATE)
        if any(each.cfn_options.deletion_policy in kept for each in self.schedules):
            warn(
                self.job,
                "schedule-is-retained",
                "Its schedule has the removal policy RETAIN: it goes on firing after the job is removed from the app."
                " Exclude AWS::Scheduler::Schedule from RemovalPolicies, or set DESTROY on `schedule`.",
            )
        target = self.target
        missing = missing_providers(self.job, target.cluster, target.placement.strategies)
        return [*missing, *check_policies(self.job, target.task_role, by_role=self.by_role)]

    def _of_timing(self) -> Iterator[tuple[str, str]]:
        timing, policy = self.timing, self.policy
        deadline = policy.starting_deadline
        if timing.lost:
            yield (
                "lost-to-daylight-saving",
                (
                    f"{timing.expression} in {timing.timezone}: {timing.lost}. That day has no run. A time outside the"
                    " change, or UTC, has a run every day."
                ),
            )
        if timing.caution:
            yield (
                "uncertain-ticks",
                f"{timing.expression}: {timing.caution}. A missing run of such a day is not reported.",
            )
        if self.enabled and timing.starts_when_made:
            yield (
                "rate-without-start",
                (
                    f"EventBridge Scheduler counts {timing.expression} from a moment that it does not report. Missed"
                    " ticks are therefore neither reported nor caught up. Set start=, or use a cron expression."
                ),
            )
        if timing.schedule and timing.schedule.is_over(datetime.now(UTC)):
            yield "schedule-is-over", f"All ticks of {timing.expression} are in the past."
        if deadline and deadline > _LONGEST_RETRY:
            yield (
                "starting-deadline-beyond-retries",
                (
                    f"A run may start up to {format_duration(deadline)} late, but EventBridge Scheduler retries for at"
                    " most 24 hours. Later, only catch_up starts it."
                ),
            )
        if deadline and deadline < _START_OF_A_TASK:
            yield (
                "starting-deadline-too-short",
                (
                    f"A run may start at most {format_duration(deadline)} late, but EventBridge Scheduler is exact to a"
                    " minute and a task takes about one to start. Most runs will be MISSED(too_late)."
                ),
            )
        after = self.missed_after
        if deadline and after and policy.catch_up is not CatchUp.NONE and deadline < after + _CATCHING_UP:
            yield (
                "catch-up-after-the-deadline",
                (
                    f"catch_up={policy.catch_up} starts a missed tick {format_duration(after + _CATCHING_UP)} after its"
                    f" time or later (missed_after and 2m), but the starting_deadline is {format_duration(deadline)}:"
                    " nothing is caught up."
                ),
            )

    def _of_container(self) -> Iterator[tuple[str, str]]:
        name, words = self.container.name, self.command
        if words and words[0] in _SHELLS and "-c" in words[1:-1] and not words[-1].lstrip().startswith("exec "):
            yield (
                "shell-ignores-sigterm",
                (
                    "A shell that is the container's first process does not forward SIGTERM, so the run cannot be"
                    " stopped cleanly. Run it under `cronce exec --`, or begin its last command with `exec`."
                ),
            )
        if self.container.log_driver == "":
            yield (
                "container-without-logs",
                (
                    f"The container {name} has no log driver. The reason of a refusal or failure is lost, and metric_*"
                    " have no data."
                ),
            )
        elif self.metrics and self.container.log_driver not in (None, "awslogs"):
            yield (
                "logs-without-metrics",
                (
                    f"The container {name} logs with {self.container.log_driver}. Only log lines in CloudWatch Logs"
                    " become metrics, so metric_* have no data unless they are forwarded there. Use awslogs, or"
                    " metrics=False."
                ),
            )
        if not self.container.ends_the_task:
            yield (
                "task-never-ends",
                (
                    f"The container {name} is not essential, but another one is: the task goes on after the work is"
                    " done, and costs money. Make this container essential and the others not."
                ),
            )

    def _of_target(self) -> Iterator[tuple[str, str]]:
        if not self.observed:
            yield (
                "cluster-not-observed",
                (
                    "Its cluster is not one of the ledger's `clusters`. The recorder is not told when its task stops:"
                    " a crash is found when the lease expires, and a task that never claims is not explained."
                ),
            )
        if self.target.without_revision:
            yield (
                "task-definition-without-revision",
                (f"{self.target.task_definition_arn} has no revision: each run uses the latest one."),
            )
        network = self.target.network
        if network:
            yield from network.doubts()
