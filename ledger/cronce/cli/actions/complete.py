"""The names that a shell offers for JOB and PERIOD. It never fails: a person who types wants no error."""

from __future__ import annotations

import io
from contextlib import closing, redirect_stderr, suppress

from cronce.cli.app import launcher_for
from cronce.client.ledger import Ledger
from cronce.vocabulary.errors import CronceError
from cronce.vocabulary.ledger_urls import is_in_dynamodb

_SPECIAL = set(" '\"\\$`,;&|<>()")
"""A name with one of these is no single word in a shell, or ends a name in click's own list."""

MOST = 50
"""How many names are offered."""


def jobs_like(beginning: str, *, url: str | None, group: str | None) -> list[str]:
    """Jobs whose names begin so: of the schedule group one ListSchedules and a GetSchedule for each that is offered.

    A ledger that is not in DynamoDB is asked for its jobs.
    """
    names: set[str] = set()
    with suppress(CronceError), redirect_stderr(io.StringIO()):
        if group or is_in_dynamodb(url):
            names.update(launcher_for(url, group).jobs_like(beginning, most=MOST))
        if url and not is_in_dynamodb(url):
            with closing(Ledger.from_url(url)) as ledger:
                names.update(ledger.jobs() or ())
    return _offered(beginning, sorted(names))


def periods_like(beginning: str, *, job: str | None, url: str | None) -> list[str]:
    """The newest periods of the job that begin so, newest first; one request."""
    periods: list[str] = []
    with suppress(CronceError), redirect_stderr(io.StringIO()):
        if job and url:
            with closing(Ledger.from_url(url)) as ledger:
                periods = [row.period for row in ledger.page(job, limit=MOST).rows]
    return _offered(beginning, periods)


def _offered(beginning: str, names: list[str]) -> list[str]:
    """Those that a shell can insert as one word; no name controls the terminal."""
    fit = [name for name in names if name.startswith(beginning) and name.isprintable() and not _SPECIAL & set(name)]
    return fit[:MOST]
