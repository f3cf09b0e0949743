"""Tasks that stopped without a claim."""

from __future__ import annotations

from typing import Any

from cronce import Policy

RETRIES = Policy(backoff_limit=2)
NEVER_RAN: dict[str, Any] = {"exit_code": None, "stop_code": "TaskFailedToStart", "reason": "CannotPullContainerError"}
