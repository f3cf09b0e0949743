"""`cronce logs`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import click

from cronce.cli.app import (
    commands_for,
    complain,
    complain_if_unknown,
    group_option,
    launcher_for,
    ledger_option,
    opened,
)
from cronce.cli.arguments import job_argument, period_argument
from cronce.operate.wording import visible_lines
from cronce.protocol.records import RunRecord
from cronce.stores.codec import encode_time
from cronce.vocabulary import exit_codes
from cronce.vocabulary.states import Status

if TYPE_CHECKING:
    from cronce.operate.task_log import LogLine

_BETWEEN_LOOKS = 2.0
_LOOKS_AFTER_END = 3
"""CloudWatch Logs shows a line some seconds after it was written."""


@click.command(
    "logs",
    epilog="""\b
Examples:
  cronce logs daily-digest 2026-11-29T05:00:00Z
  cronce logs daily-digest 2026-11-29T05:00:00Z --attempt 1
  cronce logs daily-digest 2026-11-29T05:00:00Z --follow

Reads CloudWatch Logs, where the awslogs options of the task definition say.
ECS forgets a task an hour after it stopped; then the options are those of the
revision that the schedule starts now. Needs ecs:DescribeTasks,
ecs:DescribeTaskDefinition and logs:GetLogEvents.

With --json each event is one line: {"at", "message"}.

\b
Exit codes: 0 printed; 1 there is no such run, attempt or log; 64 bad usage;
69 the ledger, the schedules, ECS or CloudWatch Logs cannot be used.""",
)
@job_argument
@period_argument
@click.option("--attempt", metavar="N", type=click.IntRange(1), help="Which attempt.  [default: the newest]")
@click.option("--follow", is_flag=True, help="Continue until the attempt has ended.")
@click.option("--json", "as_lines", is_flag=True, help="Print each event as one line of JSON.")
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    period: str,
    attempt: int | None,
    follow: bool,
    as_lines: bool,
    group: str | None,
    url: str | None,
) -> int:
    """Print the log of one attempt."""
    from cronce.operate.task_log import NoLogError, TaskLog, place_of, task_of  # noqa: PLC0415  # botocore

    with opened(url) as ledger:
        run = ledger.run(job, period)
        if run is None:
            if complain_if_unknown(ctx, ledger, job):
                return exit_codes.PROBLEM
            missing = f"there is no run {job} {period} in {ledger.where}. To list the runs of the job:"
            return complain(missing, command=commands_for(ctx, job, period).runs())
        try:
            owner = task_of(run, attempt)
            launcher = launcher_for(url, group)
            log = TaskLog(place_of(launcher, launcher.known(job), owner))
            looks_after_end = 0 if follow else _LOOKS_AFTER_END
            while True:
                is_last = looks_after_end == _LOOKS_AFTER_END
                try:
                    for line in log.look():
                        click.echo(_as_line(line) if as_lines else visible_lines(line.message))
                except NoLogError:  # an attempt at work may not have logged yet
                    if is_last:
                        raise
                if is_last:
                    return 0
                looks_after_end = 0 if _is_at_work(ledger.run(job, period), owner) else looks_after_end + 1
                time.sleep(_BETWEEN_LOOKS)
        except NoLogError as error:
            return complain(str(error))


def _is_at_work(run: RunRecord | None, owner: str) -> bool:
    return run is not None and run.status is Status.RUNNING and run.owner == owner


def _as_line(line: LogLine) -> str:
    return json.dumps({"at": encode_time(line.at), "message": line.message})
