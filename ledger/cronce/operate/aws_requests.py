"""Requests of `cronce doctor` to the services of AWS: each has an answer, or a check that says why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cronce.aws.sdk import Service
from cronce.operate.checks import Review, unknown
from cronce.operate.gathering import why_not
from cronce.vocabulary.errors import CronceError

Services = Callable[[str], Service]
"""Gives the AWS service of that name."""

_MOST_PAGES = 10


class AwsRequests:
    """Asks services. A request that fails becomes a check that is not known."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._opened: dict[str, Service] = {}

    def ask(self, service: str, operation: str, about: str, **request: Any) -> Any:  # noqa: ANN401  # an SDK's answer
        """The answer, or a check that says why there is none."""
        try:
            if service not in self._opened:
                self._opened[service] = self._services(service)
            return self._opened[service].call(operation, about, **request)
        except CronceError as error:
            return unknown(service, why_not(error))

    def pages(
        self, service: str, operation: str, items: str, token: str, following: str
    ) -> tuple[list[Any], bool] | Review:
        """The items of at most ten pages, and False if there are more."""
        found: list[Any] = []
        request: dict[str, Any] = {}
        for _ in range(_MOST_PAGES):
            answer = self.ask(service, operation, items, **request)
            if isinstance(answer, Review):
                return answer
            found += answer.get(items, ())
            if not answer.get(following):
                return found, True
            request = {token: answer[following]}
        return found, False
