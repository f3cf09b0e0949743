"""The arguments that several commands take, and what a shell offers for them."""

from __future__ import annotations

import os

import click

from cronce.cli.parameters import JOB, PERIOD
from cronce.vocabulary.environment import LEDGER, SCHEDULE_GROUP
from cronce.vocabulary.names import checked_job


def complete_job(ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    """The jobs that a shell offers."""
    from cronce.cli.actions.complete import jobs_like  # noqa: PLC0415  # only for a shell that completes a word

    return jobs_like(beginning, url=_given(ctx, "url", LEDGER), group=_given(ctx, "group", SCHEDULE_GROUP))


def complete_period(ctx: click.Context, _param: click.Parameter, beginning: str) -> list[str]:
    """The periods that a shell offers."""
    from cronce.cli.actions.complete import periods_like  # noqa: PLC0415  # as above

    return periods_like(beginning, job=ctx.params.get("job"), url=_given(ctx, "url", LEDGER))


def _given(ctx: click.Context, name: str, variable: str) -> str | None:
    return ctx.params.get(name) or os.environ.get(variable)


def _jobs(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    del ctx, param  # named [JOB]... in the usage, because they may be left out
    return tuple(checked_job(name, what="JOB") for name in names)


job_argument = click.argument("job", callback=JOB, shell_complete=complete_job)
"""Add `JOB`, passed as `job`; a shell offers the jobs."""

period_argument = click.argument("period", callback=PERIOD, shell_complete=complete_period)
"""Add `PERIOD`, passed as `period`; a shell offers the newest periods of the job."""

jobs_argument = click.argument("jobs", metavar="[JOB]...", nargs=-1, callback=_jobs, shell_complete=complete_job)
"""Add any number of `JOB`, passed as `jobs`."""
