"""Names of launches. The same launch always has the same name, so that it happens only once."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import ledger_name, schedule_group_name

ONE_SHOT_PREFIX = "once-"
_ONE_SHOT = re.compile(rf"{ONE_SHOT_PREFIX}[0-9a-f]{{16}}")
_MINUTE = timedelta(minutes=1)


def one_shot_name(job: str, period: str, *, attempt: int, launch: int) -> str:
    """The name of the one-shot schedule for this launch: `once-` and 16 hexadecimal digits."""
    return f"{ONE_SHOT_PREFIX}{_digest(job, period, attempt, launch)[:16]}"


def is_one_shot(schedule_name: str) -> bool:
    """True for a name that `one_shot_name` made."""
    return _ONE_SHOT.fullmatch(schedule_name) is not None


def client_token(job: str, period: str, *, attempt: int, launch: int) -> str:
    """The `clientToken` of RunTask; ECS starts one task per token within a day."""
    return _digest(job, period, attempt, *([launch] if launch > 1 else []))[:32]


def at_expression(not_before: datetime) -> str:
    """`at(...)` in UTC, at the first whole minute not before `not_before`: the resolution of EventBridge Scheduler."""
    at = not_before.astimezone(UTC)
    whole = at.replace(second=0, microsecond=0)
    return f"at({whole if whole == at else whole + _MINUTE:%Y-%m-%dT%H:%M:%S})"


def schedule_group_of(ledger: str) -> str:
    """The name of the schedule group that belongs to the ledger with this URL.

    Raises:
        InputInvalidError: The ledger is not a DynamoDB table, so it has no schedule group.
    """
    table = ledger_name(ledger)
    if not ledger.startswith("dynamodb://") or not table:
        raise InputInvalidError("ledger", ledger, "dynamodb://TABLE?region=REGION: schedules go with a table")
    return schedule_group_name(table)


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()
