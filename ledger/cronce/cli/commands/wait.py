"""`cronce wait`."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import click

from cronce.cli.app import complain, complain_if_unknown, group_option, json_option, ledger_option, look_up_row, opened
from cronce.cli.arguments import job_argument, period_argument
from cronce.cli.parameters import DURATION
from cronce.operate.look_up import About
from cronce.operate.wording import length, visible, why_ended
from cronce.protocol.records import RunRecord
from cronce.protocol.retrying import Relaunch, after_attempt
from cronce.vocabulary import exit_codes
from cronce.vocabulary.states import Status

_BETWEEN_LOOKS = 2.0
"""Seconds between two looks; each costs one read of the ledger."""

FAILED, SKIPPED, MISSED = 10, 11, 12
_CODES = {Status.SUCCEEDED: 0, Status.FAILED: FAILED, Status.SKIPPED: SKIPPED, Status.MISSED: MISSED}


@click.command(
    "wait",
    epilog="""\b
Examples:
  cronce wait daily-digest 2026-11-29T05:00:00Z --timeout 30m && ./publish
  cronce wait daily-digest 2026-11-29T05:00:00Z --json | jq .run.status

A run that does not exist yet is waited for. A failed run that a machine tries
again is waited for too, if the schedule of JOB can be read. A look costs one
read of the ledger, every two seconds.

The JSON document is {"job", "period", "timed_out", "run"}: the run as 'cronce
show --json' prints it, or null if there is none.

\b
Exit codes: 0 the run succeeded; 10 it failed; 11 it was skipped; 12 it was
missed; 124 --timeout passed before it ended; 1 the job does not exist; 64 bad
usage; 69 the ledger cannot be used.""",
)
@job_argument
@period_argument
@click.option(
    "--timeout", metavar="D", callback=DURATION, help="Wait no longer than this, such as 30m.  [default: no limit]"
)
@json_option
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context,
    *,
    job: str,
    period: str,
    timeout: timedelta | None,
    as_document: bool,
    group: str | None,  # noqa: ARG001  # `look_up_row` finds it in the context
    url: str | None,
) -> int:
    """Wait until the run has ended, for pipelines."""
    began = time.monotonic()
    with opened(url) as ledger:
        run = ledger.run(job, period)
        if run is None and not ledger.page(job, limit=1).rows and complain_if_unknown(ctx, ledger, job):
            return exit_codes.PROBLEM
        about, _ = look_up_row(ctx, ledger, job, period)
        told = ""
        while not _has_ended(run, about):
            now = _said(run)
            if now != told and sys.stderr.isatty():
                told = now
                click.echo(f"{visible(job)} {visible(period)}: {now}; waiting.", err=True)
            left = None if timeout is None else timeout.total_seconds() - (time.monotonic() - began)
            if left is not None and left <= 0:
                break
            time.sleep(_BETWEEN_LOOKS if left is None else min(_BETWEEN_LOOKS, left))
            run = ledger.run(job, period)
    timed_out = not _has_ended(run, about)
    if as_document:
        from cronce.cli.output.documents import as_json, run_document  # noqa: PLC0415

        document = {"job": job, "period": period, "timed_out": timed_out, "run": run and run_document(run)}
        click.echo(as_json(document))
    elif not timed_out:
        click.echo(f"{visible(job)} {visible(period)} {_said(run)}")
    if timed_out or run is None:
        waited = length(timeout or timedelta(0))
        return complain(f"{job} {period} has not ended within {waited}: {_said(run)}", exit_codes.DEADLINE)
    return _CODES[run.status]


def _has_ended(run: RunRecord | None, about: About) -> bool:
    """True if the run is final, and no machine is known to begin its next attempt."""
    if run is None or run.status is Status.RUNNING:
        return False
    if run.status is not Status.FAILED or about.policy is None:
        return True
    return not isinstance(after_attempt(run, policy=about.policy, enabled=about.enabled), Relaunch)


def _said(run: RunRecord | None) -> str:
    if run is None:
        return "it has not started"
    why = why_ended(run.reason, run.exit_code, run.error)
    return f"{run.status}{f': {why}' if why else ''}"
