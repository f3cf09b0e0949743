"""What the description of a task says about the job and the run that it is for. Pure.

Whoever may start tasks chooses their overrides, so this is only a hint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cronce.client.settings import TaskSettings
from cronce.stores.urls import is_same_ledger
from cronce.vocabulary.environment import JOB, PERIOD, SCHEDULED_TIME
from cronce.vocabulary.errors import InputInvalidError, InputMissingError

_FAMILY = re.compile(r"(?:.*/)?([^/:]+)(?::[0-9]+)?")


def family_of(task_definition: str) -> str | None:
    """The family in the ARN or the name of a task definition; None if it is neither."""
    match = _FAMILY.fullmatch(task_definition)
    return match[1] if match else None


def job_container(overrides: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, str]]:
    """Name and environment of the job's container: the one whose override has the job and its period or tick.

    Raises:
        KeyError: No container has them.
    """
    for override in overrides:
        environ = {variable["name"]: variable["value"] for variable in override.get("environment", ())}
        if JOB in environ and (PERIOD in environ or SCHEDULED_TIME in environ):
            return override["name"], environ
    raise KeyError(JOB)


def run_of(task: Mapping[str, Any], ledger: str) -> tuple[str, str] | None:
    """Job and period that the overrides of the task name; None if they name none, or another ledger.

    Args:
        task: A task in the answer of DescribeTasks.
        ledger: URL of the ledger.
    """
    try:
        _, environ = job_container(task["overrides"]["containerOverrides"])
        settings = TaskSettings.from_environ(environ)
        is_here = settings.ledger is None or is_same_ledger(settings.ledger, ledger)
        return (settings.required_job(), settings.required_period()) if is_here else None
    except (KeyError, TypeError, ValueError, AttributeError, InputInvalidError, InputMissingError):
        return None
