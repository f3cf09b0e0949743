"""`cronce tail`."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

import click

from cronce.cli.actions.find_jobs import find_jobs
from cronce.cli.app import complain_if_unknown, group_option, launcher_for, ledger_option, opened
from cronce.cli.arguments import jobs_argument
from cronce.cli.parameters import DURATION
from cronce.operate.changes import Transition, Watch
from cronce.operate.wording import short_owner, visible, why_ended
from cronce.stores.codec import encode_time
from cronce.vocabulary import exit_codes
from cronce.vocabulary.ledger_urls import is_in_dynamodb


@click.command(
    "tail",
    epilog="""\b
Examples:
  cronce tail
  cronce tail daily-digest billing --every 10s
  cronce tail --json --for 1h | jq -r 'select(.status == "FAILED") | .job'

Without JOB, all jobs are watched that exist at the start. The newest 20 rows
of each are looked at, so an older period that somebody runs again is not seen.
Each look costs one request to the ledger per job. Ctrl-C ends it.

With --json each change is one line: {"at", "job", "period", "was", "status",
"attempt", "reason", "exit_code", "owner"}. at is when it was seen; was is the
status before, null for a run that is new.

\b
Exit codes: 0 the time of --for has passed; 1 a job does not exist; 64 bad
usage; 69 the ledger or the schedules cannot be used; 130 Ctrl-C.""",
)
@jobs_argument
@click.option(
    "--every", metavar="D", default="5s", show_default=True, callback=DURATION, help="Time between two looks."
)
@click.option("--for", "for_", metavar="D", callback=DURATION, help="End after this time.  [default: never]")
@click.option("--json", "as_lines", is_flag=True, help="Print each change as one line of JSON.")
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    jobs: tuple[str, ...],
    every: timedelta,
    for_: timedelta | None,
    as_lines: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Print the changes of runs as they happen."""
    until = None if for_ is None else time.monotonic() + for_.total_seconds()
    with opened(url) as ledger:
        for job in jobs:
            if not ledger.page(job, limit=1).rows and complain_if_unknown(ctx, ledger, job):
                return exit_codes.PROBLEM
        if not jobs:
            launcher = launcher_for(url, group) if group or is_in_dynamodb(url) else None
            jobs = tuple(known.name for known in find_jobs(ledger, launcher))
        watch = Watch(ledger, jobs)
        watch.look()  # what happened before is not news
        while until is None or time.monotonic() < until:
            time.sleep(every.total_seconds())
            for change in watch.look():
                click.echo(_as_line(change) if as_lines else _in_words(change))
    return 0


def _as_line(change: Transition) -> str:
    run = change.run
    document = {
        "at": encode_time(datetime.now(UTC)),
        "job": run.job,
        "period": run.period,
        "was": change.was,
        "status": run.status,
        "attempt": run.attempt,
        "reason": run.reason,
        "exit_code": run.exit_code,
        "owner": run.owner,
    }
    return json.dumps(document)


def _in_words(change: Transition) -> str:
    run = change.run
    why = why_ended(run.reason, run.exit_code, run.error)
    attempt = f" attempt {run.attempt} by {short_owner(run.owner)}" if run.attempt else ""
    at = f"{datetime.now(UTC):%H:%M:%S}Z"
    return f"{at} {visible(run.job)} {visible(run.period)} {run.status}{attempt}{f': {why}' if why else ''}"
