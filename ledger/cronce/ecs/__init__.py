"""Starting a job's task as its schedule does: now, or once at a later minute.

The EventBridge schedule is the job's definition. Who starts a task besides EventBridge Scheduler reads the
definition there, and fixes the period:

- people and the clock start it now: `Launcher.run`, which is RunTask;
- recorder and watchdog start it later: `Launcher.run_later`, a one-shot schedule that takes itself away, so
  that they need neither RunTask nor the roles of the tasks (docs/adr/0007-one-shot-launches.md).

`_definition` is pure and reads what GetSchedule answers; `_names` says what a launch is called, so that doing it
twice is doing it once; `_launcher` talks to EventBridge Scheduler and ECS through `calls`.
"""

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.ecs.definition import JobDefinition, definition_of, launch_overrides
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
    "definition_of",
    "launch_overrides",
    "schedule_group_of",
]
