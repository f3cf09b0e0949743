"""The addresses of pages in the console of AWS."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import quote, unquote

from cronce.ecs import CallRefusedError, JobDefinition, Launcher
from cronce.operate.facts import console_host, is_task
from cronce.operate.task_log import NoLogError, place_of
from cronce.protocol.records import RunRecord
from cronce.vocabulary.ledger_urls import is_in_dynamodb
from cronce.vocabulary.names import ledger_name


def pages_of(
    launcher: Launcher, job: JobDefinition | None, run: RunRecord | None, *, ledger_url: str
) -> dict[str, str | None]:
    """The pages about a job and one of its runs, by name; None for what there is no page of.

    Args:
        launcher: Asks ECS where the task of the run logs.
        job: The job as its schedule defines it; None if it has no schedule.
        run: The run; None for the pages of the job alone.
        ledger_url: Where the ledger is.

    Raises:
        CallUnavailableError: ECS did not answer.
    """
    owner = run.owner if run is not None and is_task(run.owner) else None
    cluster = str(job.target["Arn"]) if job else ""
    region = cluster.split(":")[3] if cluster.count(":") >= 5 else owner.split(":")[3] if owner else ""
    pages: dict[str, str | None] = dict.fromkeys(("schedule", "table", "cluster", "task", "log"))
    if not region:
        return pages

    def page(service: str, rest: str, end: str = "") -> str:
        return f"https://{console_host(region)}/{service}{rest}?region={region}{end}"

    if job is not None:
        place = f"{quote(job.group_name, safe='')}/{quote(job.schedule_name, safe='')}"
        pages["schedule"] = page("scheduler/", "home", f"#schedules/{place}")
        pages["cluster"] = page("ecs/v2/clusters/", quote(cluster.rpartition("/")[2], safe="") + "/tasks")
    if is_in_dynamodb(ledger_url):
        table = quote(unquote(ledger_name(ledger_url)), safe="")
        pages["table"] = page("dynamodbv2/", "home", f"#item-explorer?table={table}")
    if owner is not None:
        name, task = (quote(part, safe="") for part in owner.split("/")[1:])
        pages["task"] = page("ecs/v2/clusters/", f"{name}/tasks/{task}")
        with suppress(NoLogError, CallRefusedError):
            pages["log"] = place_of(launcher, job, owner).link
    return pages
