"""`cronce jobs`."""

from __future__ import annotations

import click

from cronce.cli.actions.find_jobs import find_jobs
from cronce.cli.app import group_option, is_in_dynamodb, json_option, launcher_for, ledger_option, opened
from cronce.cli.output.wording import visible


@click.command(
    "jobs",
    epilog="""\b
Examples:
  cronce jobs
  cronce jobs --json | jq -r '.jobs[] | select(.state == "disabled") | .job'

The jobs are those of the schedule group and, if the ledger is not in DynamoDB,
those with runs in it.

The JSON document is {"jobs"}; a job is {"job", "schedule", "timezone",
"state"}, where state is enabled, disabled, suspended or unscheduled.

\b
Exit codes: 0 listed; 64 bad usage; 69 the ledger or the schedules cannot be
used.""",
)
@json_option
@group_option
@ledger_option
def command(*, as_document: bool, group: str | None, url: str | None) -> None:
    """List the jobs."""
    launcher = launcher_for(url, group) if group or is_in_dynamodb(url) else None
    with opened(url) as ledger:
        jobs = find_jobs(ledger, launcher)
    if as_document:
        from cronce.cli.output.documents import as_json, job_document  # noqa: PLC0415

        click.echo(as_json({"jobs": [job_document(job) for job in jobs]}))
        return
    from cronce.cli.output.tables import PlainConsole, jobs_table  # noqa: PLC0415  # rich

    console = PlainConsole()
    if jobs:
        console.print(jobs_table(jobs))
    else:
        where = f" and the schedule group {visible(launcher.group)}" if launcher else ""
        console.say(f"No jobs in {visible(ledger.where)}{where}.")
