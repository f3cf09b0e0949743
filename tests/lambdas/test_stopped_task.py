"""What an ECS event says about a task that stopped."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from cronce import Trigger
from cronce.vocabulary.exit_codes import UNAVAILABLE
from cronce_lambdas.stopped_task import StoppedTask, stopped_replica, stopped_task
from tests.lambdas.events import ARN, CLUSTER, EVENT, JOB, PERIOD, altered, stopped
from tests.support.cloud import T0


def task_of(event: dict[str, Any]) -> StoppedTask:
    """The task that the event is about."""
    task = stopped_task(event)
    assert task is not None
    return task


def test_an_event_is_read_whole() -> None:
    """Exit code and reason are those of the job's container, not of its sidecar."""
    task = task_of(EVENT)
    assert (task.arn, task.job, task.period, task.scheduled_at) == (ARN, JOB, PERIOD, T0)
    assert (task.trigger, task.launch, task.exit_code, task.imposed) == (Trigger.SCHEDULE, 1, 137, False)
    assert task.cause == (
        "EssentialContainerExited: Essential container in task exited:"
        " OutOfMemoryError: Container killed due to memory usage"
    )


def test_a_relaunched_task_says_for_which_period_and_which_launch_it_is() -> None:
    """Its period is fixed; the nominal time may be another thing."""
    task = task_of(stopped(CRONCE_PERIOD="2026-W48", CRONCE_TRIGGER="retry", CRONCE_LAUNCH="4"))
    assert (task.period, task.scheduled_at, task.trigger, task.launch) == ("2026-W48", T0, Trigger.RETRY, 4)


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "1.5", "٣", "99999"])
def test_a_launch_that_is_no_number_is_the_first(text: str) -> None:
    """Nothing raises, and nothing is unbounded."""
    assert task_of(stopped(CRONCE_LAUNCH=text)).launch == 1


CAUSES = {
    "image": ("TaskFailedToStart", None, "CannotPullContainerError: not found", True, False),
    "no containers told": ("TaskFailedToStart", None, None, True, False),
    "spot": ("SpotInterruption", 143, None, True, False),
    "a person": ("UserInitiated", 143, None, True, False),
    "host": ("TerminationNotice", 137, None, True, False),
    "ledger away": ("EssentialContainerExited", UNAVAILABLE, None, False, False),
    "by itself": ("EssentialContainerExited", 1, None, False, True),
    "done": ("EssentialContainerExited", 0, None, False, True),
    "lost": ("EssentialContainerExited", None, None, False, False),
}


@pytest.mark.parametrize(("stop_code", "exit_code", "reason", "imposed", "worked"), CAUSES.values(), ids=CAUSES)
def test_who_stopped_it_and_whether_it_may_have_worked(
    stop_code: str,
    exit_code: int | None,
    reason: str | None,
    imposed: bool,  # noqa: FBT001  # a column
    worked: bool,  # noqa: FBT001  # a column
) -> None:
    """A missing exit code never counts as a success."""
    task = task_of(stopped(exit_code=exit_code, stop_code=stop_code, reason=reason))
    assert (task.exit_code, task.imposed, task.may_have_worked) == (exit_code, imposed, worked)


REASONS = {
    "CannotPullContainerError: pull image manifest has been retried 5 time(s): not found": True,
    "CannotPullECRContainerError: AccessDeniedException": True,
    "CannotCreateContainerError: Error response from daemon: container name is in use": True,
    "CannotCreateVolumeError: no space left on device": True,
    "ResourceInitializationError: unable to pull secrets or registry auth": True,
    "CannotStartContainerError: failed to create task for container: exec /cronce/cronce: no such file": True,
    "CannotStartContainerError:  dependency graph: failed to resolve container ordering dependency [cronce(cronce:1)"
    " (STOPPED->RUNNING) - Exit: 1] for target [digest(shop:1) (NONE->RUNNING)]": True,
    "CannotInspectContainerError: Could not transition to inspecting; timed out after waiting 30s": False,
    "ContainerRuntimeTimeoutError: Could not transition to running; timed out after waiting 1m": False,
    "DockerTimeoutError: Could not transition to started; timed out after waiting 3m0s": False,
    "CannotStopContainerError: failed sending SIGTERM to container": False,
    "OutOfMemoryError: Container killed due to memory usage": False,
    "": False,
}
"""What ECS says about a container with an exit code, and whether that means that it never ran."""


@pytest.mark.parametrize("code", [143, 127, 128, 1, 0])
@pytest.mark.parametrize(("reason", "never"), REASONS.items(), ids=[text[:40] for text in REASONS])
def test_an_exit_code_of_a_container_that_never_ran_is_none(reason: str, never: bool, code: int) -> None:  # noqa: FBT001
    """The ECS agent writes 143 for a container whose dependency failed, a runtime 127 or 128 for a missing program."""
    task = task_of(stopped(exit_code=code, reason=reason or None))
    assert (task.exit_code, task.may_have_worked) == ((None, False) if never else (code, True))


def test_a_task_without_containers_never_ran() -> None:
    """The task stopped before ECS created them."""
    assert task_of(altered(containers=[])).exit_code is None


MALFORMED: list[Any] = [
    {},
    {"detail": None},
    {"detail": []},
    {"detail": {"lastStatus": "STOPPED"}},
    altered(lastStatus="RUNNING"),
    altered(overrides={}),
    altered(overrides={"containerOverrides": None}),
    altered(overrides={"containerOverrides": [{"name": "digest"}]}),
    altered(overrides={"containerOverrides": [{"name": "digest", "environment": [{"name": "CRONCE_JOB"}]}]}),
    altered(containers=None),
    altered(containers=[{}]),
    stopped(CRONCE_SCHEDULED_TIME="<aws.scheduler.scheduled-time>"),
    stopped(CRONCE_TRIGGER="nobody"),
    stopped(CRONCE_JOB=""),
]


@pytest.mark.parametrize("event", MALFORMED)
def test_a_foreign_or_malformed_event_is_none(event: dict[str, Any]) -> None:
    """Nothing raises."""
    assert stopped_task(event) is None


def test_a_task_of_a_service_is_known_by_its_group() -> None:
    """With the exit code of the container that failed, if one did."""
    containers = [{"name": "log"}, {"name": "clock", "exitCode": 0}, {"name": "agent", "exitCode": 3, "reason": "why"}]
    replica = stopped_replica(altered(group="service:clock", containers=containers))
    assert replica is not None
    assert (replica.arn, replica.cluster, replica.service, replica.exit_code) == (ARN, CLUSTER, "clock", 3)
    assert replica.cause.endswith("exited: why")
    quiet = stopped_replica(altered(group="service:clock", containers=[{"name": "clock", "exitCode": 0}]))
    assert quiet is not None
    assert quiet.exit_code == 0


@pytest.mark.parametrize(
    "event",
    [
        {},
        EVENT,
        altered(group=None),
        altered(group="service:x", lastStatus="RUNNING"),
        altered(group="service:x", clusterArn=...),
    ],
)
def test_other_tasks_are_no_replicas(event: dict[str, Any]) -> None:
    """A job's own task has its family as its group."""
    if event.get("detail", {}).get("clusterArn") is ...:
        del event["detail"]["clusterArn"]
    assert stopped_replica(event) is None


def test_a_task_that_waited_for_its_turn_has_a_time_only_if_its_period_is_one() -> None:
    """A period that a person chose has none."""
    task = task_of(stopped(CRONCE_PERIOD="2026-11-30T06:00:00Z", CRONCE_SCHEDULED_TIME=""))
    assert task.scheduled_at == T0 + timedelta(days=1)
