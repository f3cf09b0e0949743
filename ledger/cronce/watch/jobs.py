"""What a watchdog needs to know about a job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from cronce.vocabulary.policy import Policy


class WatchedJob(Protocol):
    """A job as it is defined now; `cronce.ecs.JobDefinition` is one, and has the meaning of each attribute."""

    @property
    def job(self) -> str:
        """Its name in the ledger."""

    @property
    def schedule_name(self) -> str:
        """The name under which it is remembered."""

    @property
    def expression(self) -> str:
        """When it is due."""

    @property
    def timezone(self) -> str:
        """The IANA zone of the expression."""

    @property
    def start(self) -> datetime | None:
        """No ticks before this time."""

    @property
    def end(self) -> datetime | None:
        """No ticks at or after this time."""

    @property
    def enabled(self) -> bool:
        """False if it has no ticks for now."""

    @property
    def flexible_window(self) -> timedelta:
        """By how much a delivery may be delayed on purpose."""

    @property
    def policy(self) -> Policy:
        """The policy of its runs."""

    @property
    def no_success_for(self) -> timedelta | None:
        """How long it may be without a success; zero for no limit, None for the default that follows from its ticks."""

    @property
    def created_at(self) -> datetime:
        """When it was defined first; it misses nothing from before that."""

    @property
    def modified_at(self) -> datetime:
        """When any part of its definition last changed."""

    @property
    def date_in(self) -> str | None:
        """The zone of whose days the periods are; None if a period is the nominal time of its tick."""

    @property
    def delivers_ticks(self) -> bool:
        """True if its ticks start runs."""

    @property
    def ticks_are_known(self) -> bool:
        """True if its ticks can be computed."""

    @property
    def target(self) -> Mapping[str, Any]:
        """What a tick starts."""

    def period_of(self, tick: datetime) -> str:
        """The period of the run of this tick."""

    def is_period(self, period: str) -> bool:
        """True if the period has the form of those of ticks."""
