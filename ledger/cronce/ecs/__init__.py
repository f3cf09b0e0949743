"""Start a job's task as its schedule does: now, or once at a later minute.

The EventBridge schedule is the definition of the job. Everything that starts a task, other than EventBridge
Scheduler itself, reads the definition from there and fixes the period:

- People and the clock start a task now: `Launcher.run` calls RunTask.
- The Lambda functions start a task later: `Launcher.run_later` creates a one-shot schedule, which deletes itself. So
  they need neither RunTask nor the roles of the tasks (docs/adr/0007-one-shot-launches.md).

`definition` is pure and interprets the answer of GetSchedule. `names` derives the name of a launch, so that the
same launch requested twice happens once. `launcher` calls EventBridge Scheduler and ECS. `eligibility` asks the ledger
whether a person's task would be admitted.
"""

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.ecs.definition import JobDefinition, WaitingTask, definition_of, launch_overrides
from cronce.ecs.errors import JobUnknownError
from cronce.ecs.launcher import Launched, Launcher, NotLaunched
from cronce.ecs.names import schedule_group_of

__all__ = [
    "CallRefusedError",
    "CallUnavailableError",
    "JobDefinition",
    "JobUnknownError",
    "Launched",
    "Launcher",
    "NotLaunched",
    "WaitingTask",
    "definition_of",
    "launch_overrides",
    "schedule_group_of",
]
