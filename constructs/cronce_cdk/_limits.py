"""Limits of the AWS APIs. A test compares each with the service model that botocore ships."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

DESCRIPTION = 512
"""Characters of a schedule's description (Scheduler, Description)."""

TIMEZONE = 50
"""Characters of a schedule's time zone (Scheduler, ScheduleExpressionTimezone)."""

TAGS = 50
"""Tags of a task (ECS, Tags)."""

TAG_KEY, TAG_VALUE = 128, 256
"""Characters of a tag's key and value (ECS, TagKey and TagValue)."""

TAG_TEXT = re.compile(r"(?:[\w.:/=+\-@]|(?![\t-\r\x1c-\x1f\x85])\s)*")
"""What a tag's key and value may hold (ECS, TagKey and TagValue)."""

PROVIDERS = 6
"""Items of a capacity-provider strategy (Scheduler, CapacityProviderStrategy)."""

WEIGHT, BASE = 1000, 100_000
"""Largest weight and base of an item (ECS, CapacityProviderStrategyItemWeight and -Base)."""

SECURITY_GROUPS, SUBNETS = 5, 16
"""Security groups and subnets of a task (Scheduler, SecurityGroups and Subnets)."""

TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")
"""A table's name (DynamoDB, TableName)."""

POLICY_TEXT = re.compile(r"[\t\n\r\x20-\xff]*")
"""What a policy may hold (IAM, policyDocumentType)."""

EVENT_PATTERN = 4096
"""Characters of a rule's event pattern (EventBridge, EventPattern)."""

FUNCTION_ENVIRONMENT = 4096
"""Bytes of all environment variables of a function (Lambda Developer Guide, "Lambda quotas"; it is in no model)."""

FUNCTION_MEMORY = 128, 10_240
"""Least and most MiB of a function (Lambda, MemorySize; Lambda Developer Guide, "Lambda quotas")."""

FUNCTION_TIMEOUT = timedelta(seconds=10), timedelta(minutes=15)
"""Timeout of a function: no less, because a start with its imports takes seconds; no more, by Lambda's quotas."""

QUEUE_READERS = 2
"""Smallest limit of the invocations that read a queue at the same time (Lambda, MaximumConcurrency)."""

FUNCTION_SUBNETS = 16
"""Subnets of a function (Lambda, SubnetIds)."""

INLINE_POLICIES = 10_240
"""Characters of all inline policies of a role, white space aside (IAM User Guide, "IAM and AWS STS quotas")."""

STOP_TIMEOUT = 120
"""Seconds of a container's stop timeout on Fargate (ECS API Reference, ContainerDefinition)."""

TASK_CPU = 128, 196_608
"""Least and most CPU units of a task outside of Fargate (ECS API Reference, RegisterTaskDefinition)."""

CONTAINER_MEMORY = 6
"""Least MiB of a container (ECS API Reference, ContainerDefinition)."""

FARGATE_MEMORY: dict[int, Sequence[int]] = {
    256: (512, 1024, 2048),
    512: range(1024, 4097, 1024),
    1024: range(2048, 8193, 1024),
    2048: range(4096, 16385, 1024),
    4096: range(8192, 30721, 1024),
    8192: range(16384, 61441, 4096),
    16384: range(32768, 122881, 8192),
}
"""CPU units -> memory in MiB of a task on Fargate (ECS Developer Guide, "Fargate task size")."""
