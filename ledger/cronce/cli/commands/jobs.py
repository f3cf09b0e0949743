"""`cronce jobs`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from cronce.cli.actions.find_jobs import find_jobs
from cronce.cli.app import group_option, json_option, launcher_for, ledger_option, opened
from cronce.cli.output.progress import progress
from cronce.operate.wording import visible
from cronce.vocabulary.ledger_urls import is_in_dynamodb

_MOST = 100


@click.command(
    "jobs",
    epilog="""\b
Examples:
  cronce jobs
  cronce jobs --last 50
  cronce jobs --json | jq -r '.jobs[] | select(.overdue_since) | .job'

The jobs are those of the schedule group and, if the ledger is not in DynamoDB,
those with runs in it. LATE is how long after its time the newest run started,
or for how long a tick is overdue that has no run. OK counts the newest 20 rows
(--last): successes, and runs that succeeded, failed or were missed.

Costs two requests to the ledger per job, one ListSchedules per hundred jobs,
and one GetSchedule per job.

\b
The JSON document is {"jobs", "last"}: the jobs, and how many rows of each
were read. A job is {"job", "schedule", "timezone", "state", "paused", "last",
"next", "overdue_since", "late_by", "ended", "succeeded", "succeeded_at",
"problem"}:
  state      enabled, disabled, suspended or unscheduled
  paused     {"at", "by", "why", "until"}, or null
  last       the newest run: {"period", "status", "reason", "claimed_at"}
  late_by    seconds; null if no run started
  problem    why the job's slot cannot be read, or null

\b
Exit codes: 0 listed; 64 bad usage; 69 the ledger or the schedules cannot be
used.""",
)
@click.option(
    "--last",
    metavar="N",
    type=click.IntRange(1, _MOST),
    default=20,
    show_default=True,
    help="How many rows of each job are read.",
)
@json_option
@group_option
@ledger_option
def command(*, last: int, as_document: bool, group: str | None, url: str | None) -> None:
    """List the jobs, and how each is doing."""
    from cronce.operate.overview import look_at  # noqa: PLC0415  # schedules

    launcher = launcher_for(url, group) if group or is_in_dynamodb(url) else None
    with opened(url) as ledger, progress() as count:
        jobs = find_jobs(ledger, launcher, done=count(None))
        now, done = datetime.now(UTC), count(len(jobs))
        seen = look_at(ledger, [(job.name, job.definition) for job in jobs], last=last, now=now, done=done)
    found = list(zip(jobs, seen, strict=True))
    if as_document:
        from cronce.cli.output.documents import as_json, job_document  # noqa: PLC0415

        click.echo(as_json({"jobs": [job_document(*each) for each in found], "last": last}))
        return
    from cronce.cli.output.jobs import jobs_table  # noqa: PLC0415  # rich
    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415

    console = PlainConsole()
    if jobs:
        console.print(jobs_table(found, now=now, width=console.width))
    else:
        where = f" and the schedule group {visible(launcher.group)}" if launcher else ""
        console.say(f"No jobs in {visible(ledger.where)}{where}.")
