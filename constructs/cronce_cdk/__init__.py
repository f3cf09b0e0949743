"""CDK constructs for scheduled work that happens once per period.

- `RunLedger`: the table with the runs, and the functions that watch over it
- `ExternalLedger`: a ledger in PostgreSQL or Redis, with the service that watches over it
- `FunctionSettings`: how those functions run
- `LedgerKeys`: the KMS keys with which all that is encrypted
- `ScheduledTask`: a job that EventBridge Scheduler starts on ECS
- `Guard`: `cronce exec` before the command of images that have no Python
- `PinnedScheduler`: a clock as an ECS service with one task; `ClockJob` and the targets are its jobs
"""

from cronce_cdk.clock_jobs import ClockJob, ClockTarget, CommandTarget, EventTarget, LambdaTarget, SqsTarget, TaskTarget
from cronce_cdk.errors import ConstructConfigError
from cronce_cdk.external_ledger import ExternalLedger
from cronce_cdk.function_settings import FunctionSettings
from cronce_cdk.guard import Guard
from cronce_cdk.keys import LedgerKeys
from cronce_cdk.pinned_scheduler import PinnedScheduler
from cronce_cdk.run_ledger import RunLedger
from cronce_cdk.run_ledger_base import RunLedgerBase
from cronce_cdk.scheduled_task import ScheduledTask
from cronce_cdk.task_size import TaskSize

__all__ = [
    "ClockJob",
    "ClockTarget",
    "CommandTarget",
    "ConstructConfigError",
    "EventTarget",
    "ExternalLedger",
    "FunctionSettings",
    "Guard",
    "LambdaTarget",
    "LedgerKeys",
    "PinnedScheduler",
    "RunLedger",
    "RunLedgerBase",
    "ScheduledTask",
    "SqsTarget",
    "TaskSize",
    "TaskTarget",
]
