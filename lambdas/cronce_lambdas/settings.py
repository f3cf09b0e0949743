"""The environment of the functions, as `RunLedger` sets it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from cronce import InputInvalidError
from cronce.client.settings import TaskSettings
from cronce.ecs import schedule_group_of
from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.environment import MISSED_AFTER, PINNED_SERVICES, SCHEDULE_GROUP
from cronce.vocabulary.names import ledger_name

_MISSED_AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedService:
    """A service that must run exactly one task.

    Attributes:
        cluster: ARN of its cluster.
        service: Its name.
        job: The job name of its leader's row in the ledger; empty if it has none.
    """

    cluster: str
    service: str
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the functions.

    Attributes:
        url: URL of the ledger.
        group: The schedule group of its jobs.
        missed_after: How long after the end of its flexible window a tick may be delivered.
    """

    url: str
    group: str
    missed_after: timedelta
    pinned: tuple[PinnedService, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read the variables; an empty one counts as absent.

        Raises:
            InputInvalidError: A variable is invalid; the error names it.
            InputMissingError: The URL of the ledger is missing.
        """
        url = TaskSettings.from_environ(environ).required_ledger()
        after = environ.get(MISSED_AFTER)
        return cls(
            url=url,
            group=environ.get(SCHEDULE_GROUP) or schedule_group_of(url),
            missed_after=parse_duration(after, what=MISSED_AFTER) if after else _MISSED_AFTER,
            pinned=_pinned(environ.get(PINNED_SERVICES) or "[]"),
        )

    @property
    def ledger_name(self) -> str:
        """The table's name, a dimension of every metric."""
        return ledger_name(self.url)


def _pinned(text: str) -> tuple[PinnedService, ...]:
    try:
        return tuple(
            PinnedService(cluster=str(each["cluster"]), service=str(each["service"]), job=str(each.get("job") or ""))
            for each in json.loads(text)
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputInvalidError(
            PINNED_SERVICES, text, 'a JSON list of {"cluster": ARN, "service": NAME, "job": NAME}'
        ) from None
