"""Deploy time: CDK constructs for scheduled work that happens once per period.

- `RunLedger`: the table that every task asks, and what watches over it
- `ScheduledTask`: a job, from EventBridge Scheduler straight to ECS RunTask
- `PinnedScheduler`: a clock of one's own as an ECS service of which there is one; `ClockJob` and the targets
  say what it sends when
"""

from cronce_cdk.clock_jobs import ClockJob, ClockTarget, CommandTarget, EventTarget, LambdaTarget, SqsTarget, TaskTarget
from cronce_cdk.errors import ConstructConfigError
from cronce_cdk.pinned_scheduler import PinnedScheduler
from cronce_cdk.run_ledger import RunLedger, RunLedgerBase
from cronce_cdk.scheduled_task import ScheduledTask

__all__ = [
    "ClockJob",
    "ClockTarget",
    "CommandTarget",
    "ConstructConfigError",
    "EventTarget",
    "LambdaTarget",
    "PinnedScheduler",
    "RunLedger",
    "RunLedgerBase",
    "ScheduledTask",
    "SqsTarget",
    "TaskTarget",
]
