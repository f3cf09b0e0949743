"""Pinned services: those that must run exactly one task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from cronce.aws.sdk import Service
from cronce.client.reporting import report
from cronce.ecs import CallRefusedError, CallUnavailableError
from cronce.watch.notices import PINNED_COUNT_WRONG, Notice
from cronce_lambdas.settings import PinnedService

_MOST_SERVICES = 10
"""The limit of one DescribeServices call (ECS API Reference)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCount:
    """A pinned service whose desired count is not 1.

    Attributes:
        desired_count: Its desired count; None if the service does not exist or is inactive.
    """

    service: PinnedService
    desired_count: int | None

    @property
    def key(self) -> str:
        """Identifies this problem; the same service with another count is another problem."""
        return f"{self.service.cluster} {self.service.service} {self.desired_count}"

    def notice(self, ledger: str) -> Notice:
        """The event about this problem."""
        of = self.service
        return Notice(
            PINNED_COUNT_WRONG,
            {
                "ledger": ledger,
                "job": of.job,
                "cluster": of.cluster,
                "service": of.service,
                "desiredCount": self.desired_count,
            },
            cause=f"Service {of.service} has a desired count of {_count(self.desired_count)}, and must have 1.",
        )


def _count(count: int | None) -> str:
    return "none, because it does not exist" if count is None else str(count)


class Services:
    """Reads the desired counts of services from ECS."""

    def __init__(self, ecs: Service) -> None:
        self._ecs = ecs

    def wrong(self, pinned: Sequence[PinnedService]) -> tuple[list[WrongCount], bool]:
        """The services whose desired count is not 1; False if some are unknown, because a call failed."""
        found: list[WrongCount] = []
        is_whole = True
        for cluster, group in groupby(sorted(pinned, key=attrgetter("cluster")), attrgetter("cluster")):
            services = list(group)
            for first in range(0, len(services), _MOST_SERVICES):
                batch = services[first : first + _MOST_SERVICES]
                try:
                    names = [each.service for each in batch]
                    answer = self._ecs.call("describe_services", cluster, cluster=cluster, services=names)
                except (CallUnavailableError, CallRefusedError) as error:
                    if isinstance(error, CallRefusedError) and error.code == "ClusterNotFoundException":
                        found += wrong_counts(batch, ())
                    else:
                        report("look_failed", level="ERROR", cluster=cluster, error=str(error))
                        is_whole = False
                    continue
                found += wrong_counts(batch, answer.get("services", ()))
        return found, is_whole


def wrong_counts(pinned: Iterable[PinnedService], described: Iterable[Mapping[str, Any]]) -> list[WrongCount]:
    """The pinned services whose desired count is not 1; a missing or inactive service has no count. Pure."""
    counts = {each["serviceName"]: each["desiredCount"] for each in described if each.get("status") == "ACTIVE"}
    return [
        WrongCount(service=each, desired_count=counts.get(each.service))
        for each in pinned
        if counts.get(each.service) != 1
    ]
