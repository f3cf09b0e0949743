"""A call of EventBridge Scheduler or ECS, and what its failing means."""

from __future__ import annotations

import os
from typing import Any

from cronce.aws.errors import LaunchRefusedError, LaunchUnavailableError

_PASSING = frozenset(
    {
        "ExpiredTokenException",
        "InternalServerException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServerException",
        "ServiceQuotaExceededException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
    }
)
"""Errors after which the same call may succeed (API References of Scheduler and ECS, "Common errors")."""


class CallRefusedError(Exception):
    """The service refused the call, and will refuse it again.

    Attributes:
        code: E.g. `ConflictException`.
        message: The service's text.
        details: What else it answered.
    """

    def __init__(self, what: str, code: str, message: str, details: dict[str, Any]) -> None:
        self.what = what
        self.code = code
        self.message = message
        self.details = details
        super().__init__(f"{code}: {message}")

    def as_error(self) -> LaunchRefusedError:
        """What to raise where no such answer was reckoned with."""
        return LaunchRefusedError(self.what, str(self))


def make_client(service: str, *, region: str | None, endpoint: str | None) -> Any:  # noqa: ANN401  # made at run time
    """A client that tries three times; each call may take some ten seconds.

    Args:
        service: The service's name, as in boto.
        region: Where; None for the environment's, by either of its names (ECS and Lambda set both, other
            hosts one).
        endpoint: Another endpoint than AWS's.

    Raises:
        LaunchRefusedError: Nothing says which Region, or how to sign.
    """
    import botocore.session  # noqa: PLC0415  # heavy, and not for importers of the names
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    config = Config(
        connect_timeout=3,
        read_timeout=10,
        retries={"total_max_attempts": 3, "mode": "standard"},
        user_agent_extra="cronce",
    )
    try:
        session = botocore.session.get_session()
        return session.create_client(
            service, region_name=region or os.environ.get("AWS_REGION"), endpoint_url=endpoint, config=config
        )
    except BotoCoreError as error:
        raise LaunchRefusedError(f"a client for {service}", str(error)) from error


def call(client: Any, operation: str, about: str, **request: Any) -> Any:  # noqa: ANN401  # an SDK's answer
    """Perform the operation.

    Args:
        client: A botocore client.
        operation: The method, e.g. `get_schedule`.
        about: What the call is about, for the error.
        request: Its arguments.

    Raises:
        CallRefusedError: The service refused it.
        LaunchUnavailableError: There was no usable answer, or the service is busy.
        LaunchRefusedError: This side cannot even ask: no credentials, arguments that the SDK refuses.
    """
    from botocore import exceptions  # noqa: PLC0415  # loaded already by whoever made the client
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    what = f"{operation} for {about}"
    try:
        return getattr(client, operation)(**request)
    except exceptions.ClientError as error:
        response: Any = error.response
        code, message = response.get("Error", {}).get("Code", ""), response.get("Error", {}).get("Message", "")
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in _PASSING or status >= 500 or status == 429:
            raise LaunchUnavailableError(what, f"{code}: {message}") from error
        raise CallRefusedError(what, code, message, response) from error
    except (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.CredentialRetrievalError,
        exceptions.MetadataRetrievalError,
        ResponseParserError,
    ) as error:
        raise LaunchUnavailableError(what, str(error)) from error
    except exceptions.BotoCoreError as error:
        raise LaunchRefusedError(what, str(error)) from error
