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
    """A service that has to have exactly one task.

    Attributes:
        cluster: ARN of its cluster.
        service: Its name.
        job: What its leader's row is called in the ledger; empty if nobody said.
    """

    cluster: str
    service: str
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment says.

    Attributes:
        url: The ledger's.
        group: The schedule group of its jobs.
        missed_after: How late a tick may be, besides its flexible window.
    """

    url: str
    group: str
    missed_after: timedelta
    pinned: tuple[PinnedService, ...] = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read the variables; an empty one counts as absent.

        Raises:
            InputInvalidError: A variable cannot be used; the error names it.
            InputMissingError: Nothing says where the ledger is.
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
