"""Which runs have a task that is at work, as ECS lists it, although the ledger may have no row for them.

An image without the guard never claims its run, and a slow one claims it late. A tick whose task is at work was
delivered, so the watchdog does not call it missed, and starts no second task for it.

The overrides of a task name its job and its period. Whoever may start tasks of that family chooses them, so they are
only a hint: the watchdog waits, for `LONGEST_WAIT` at most, and does nothing else on their word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError, JobDefinition
from cronce.ecs.tasks import family_of, run_of

_PAGE = 100
"""The limit of one ListTasks and one DescribeTasks call (ECS API Reference)."""

_MOST_PAGES = 5

_EVENT_ON_ITS_WAY = timedelta(minutes=5)
"""How long after a task stopped its event may still be delivered, with the retries of Lambda."""

RunsAtWork = frozenset[tuple[str, str]]
"""Runs, by job and period."""


class TasksAtWork:
    """What ECS lists, for one look. It is asked once per cluster and family, and no more after it did not answer."""

    def __init__(self, ecs: Service, *, ledger: str, now: datetime) -> None:
        """Use the service; nothing is called yet.

        Args:
            ecs: ECS.
            ledger: URL of the ledger; a task of another one is not counted.
            now: When the look began.
        """
        self._ecs = ecs
        self._ledger = ledger
        self._now = now
        self._found: dict[tuple[str, str], RunsAtWork] = {}
        self._is_away = False

    def periods(self, job: JobDefinition) -> frozenset[str]:
        """The periods of the job that have a task at work. What ECS does not answer is reported and left out."""
        cluster = str(job.target["Arn"])
        family = family_of(str(job.target["EcsParameters"]["TaskDefinitionArn"]))
        if family is None:
            return frozenset()
        if (cluster, family) not in self._found:
            self._found[cluster, family] = frozenset() if self._is_away else self._ask(cluster, family)
        return frozenset(period for name, period in self._found[cluster, family] if name == job.job)

    def _ask(self, cluster: str, family: str) -> RunsAtWork:
        found: set[tuple[str, str]] = set()
        try:
            for status in ("RUNNING", "STOPPED"):
                for arns in self._pages(cluster, family, status):
                    answer = self._ecs.call("describe_tasks", family, cluster=cluster, tasks=arns)
                    at_work = [task for task in answer.get("tasks", ()) if is_at_work(task, self._now)]
                    found |= {run for task in at_work if (run := run_of(task, self._ledger))}
        except (CallUnavailableError, CallRefusedError) as error:
            self._is_away = isinstance(error, CallUnavailableError)
            report("tasks_unknown", level="WARNING", cluster=cluster, family=family, error=str(error))
        return frozenset(found)

    def _pages(self, cluster: str, family: str, status: str) -> Iterator[list[str]]:
        """Pages of ARNs of the tasks that ECS wants to be in that status."""
        request: dict[str, Any] = {"cluster": cluster, "family": family, "desiredStatus": status, "maxResults": _PAGE}
        for _ in range(_MOST_PAGES):
            page = self._ecs.call("list_tasks", family, **request)
            if page.get("taskArns"):
                yield page["taskArns"]
            if not page.get("nextToken"):
                return
            request["nextToken"] = page["nextToken"]
        error = f"more than {_MOST_PAGES * _PAGE} tasks are {status}"
        report("tasks_unknown", level="WARNING", cluster=cluster, family=family, error=error)


def is_at_work(task: Mapping[str, Any], now: datetime) -> bool:
    """True if the task has not stopped, or so recently that the recorder may not have heard of it. Pure.

    Args:
        task: A task in the answer of DescribeTasks.
        now: Aware.
    """
    if task.get("lastStatus") != "STOPPED":
        return True
    stopped_at = task.get("stoppedAt")
    return isinstance(stopped_at, datetime) and now - stopped_at < _EVENT_ON_ITS_WAY
