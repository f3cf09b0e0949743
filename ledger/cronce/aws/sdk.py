"""botocore: the only maker of clients, and calls of services other than DynamoDB."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from cronce.aws.answers import NoAnswerError, ServiceError, botocore_missing
from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.vocabulary.errors import InputMissingError

T = TypeVar("T")

_CALL_TIMEOUT = timedelta(seconds=12)
_LONGEST_LOADING = timedelta(seconds=10)
"""How long credentials may take. A `credential_process` is a program that asks others; nothing else limits it."""
_TRIES = 3
_BACKOFF = timedelta(seconds=5)
"""How long botocore may pause between three tries in its standard mode, and some more."""


def make_client(
    service: str,
    *,
    region: str | None,
    endpoint: str | None = None,
    call_timeout: timedelta = _CALL_TIMEOUT,
    tries: int = _TRIES,
    connections: int = 10,
) -> Any:  # noqa: ANN401  # a botocore client, whose methods are made at run time
    """A botocore client.

    Args:
        service: The service's name in botocore.
        region: The Region; None for the environment's `AWS_REGION` or `AWS_DEFAULT_REGION` (ECS and Lambda set both,
            other hosts set one).
        endpoint: URL of the service; None for the Region's endpoint.
        call_timeout: How long one try may take: a third of it to connect, the rest to wait for the answer.
        tries: How often a call is tried.
        connections: How many connections the client keeps open.

    Raises:
        InputMissingError: No Region is configured.
        NoAnswerError: Credentials cannot be loaded, or not in ten seconds, or botocore is not installed.
    """
    try:
        import botocore.session  # noqa: PLC0415  # heavy
    except ModuleNotFoundError:
        raise botocore_missing(f"calls to {service}") from None
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, NoRegionError  # noqa: PLC0415

    seconds = call_timeout.total_seconds()
    config = Config(
        connect_timeout=seconds / 3,
        read_timeout=seconds * 2 / 3,
        retries={"total_max_attempts": tries, "mode": "standard"},
        max_pool_connections=connections,
        user_agent_extra="cronce",
    )

    session = botocore.session.get_session()
    try:
        # A client's own code takes as long as the CPU needs; only what asks somebody is given a limit.
        within(_LONGEST_LOADING, session.get_credentials)
        client = session.create_client(
            service, region_name=region or os.environ.get("AWS_REGION"), endpoint_url=endpoint, config=config
        )
        bundle = session.get_config_variable("ca_bundle")
    except NoAnswerError:
        limit = f"the credentials were not loaded within {_LONGEST_LOADING.total_seconds():g} s"
        told = f"{limit}: look at the profile's credential_process or SSO session"
        raise NoAnswerError("CredentialRetrievalError", told, transient=False) from None
    except NoRegionError:
        how = "give it in the ledger's URL (dynamodb://TABLE?region=eu-west-1), or set AWS_REGION"
        raise InputMissingError("the Region", how) from None
    except (BotoCoreError, ValueError) as error:  # ValueError: an endpoint or a key that is none
        raise no_answer(error) from error
    if bundle:
        from cronce.aws.tls import trusting  # noqa: PLC0415  # botocore has loaded OpenSSL already

        trusting(bundle)  # botocore would report a missing file at each call, as a failed connection
    return client


def longest_call(client: Any) -> timedelta | None:  # noqa: ANN401  # a botocore client
    """How long one call of the client may take, its own retries included; None for a client that does not say."""
    config = getattr(getattr(client, "meta", None), "config", None)
    if config is None:
        return None
    retries = config.retries or {}
    # Without a setting, the legacy mode tries a DynamoDB request ten times (botocore, retries reference).
    tries = retries.get("total_max_attempts") or retries.get("max_attempts", 9) + 1
    unlimited = timedelta(days=1).total_seconds()
    return timedelta(seconds=tries * ((config.connect_timeout or unlimited) + (config.read_timeout or unlimited)))


def within(limit: timedelta, call: Callable[[], T]) -> T:
    """The result of the call, or its exception, if it ends within the limit.

    botocore's time limits apply to each `recv`, and none applies to a name look-up. So the call runs in a thread that
    is abandoned when the limit has passed; whether its request is carried out is then unknown.

    Raises:
        NoAnswerError: The limit has passed.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def perform() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=perform, name="cronce-call", daemon=True)
    thread.start()
    thread.join(min(limit.total_seconds(), threading.TIMEOUT_MAX))
    if results:
        return results[0]
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # the error's traceback refers to this frame: no circle is left
    raise NoAnswerError("TimeoutError", f"no answer within {limit.total_seconds():g} s", transient=True)


def no_answer(error: Exception) -> NoAnswerError:
    """The botocore error as the error of a request without a usable answer."""
    from botocore import exceptions  # noqa: PLC0415  # already loaded by the code that made the client
    from botocore.parsers import ResponseParserError  # noqa: PLC0415

    # No answer, a malformed one, or credentials that are late. Every other error is a fault of the configuration.
    transient = (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.CredentialRetrievalError,
        exceptions.MetadataRetrievalError,
        ResponseParserError,
    )
    return NoAnswerError(type(error).__name__, str(error), transient=isinstance(error, transient))


class Service:
    """An AWS service, called through a botocore client that is made at the first call."""

    def __init__(
        self,
        name: str,
        *,
        region: str | None = None,
        endpoint: str | None = None,
        client: Any = None,  # noqa: ANN401  # made at run time
    ) -> None:
        """Name the service; nothing is loaded or called yet.

        Args:
            name: The service's name in botocore.
            region: The Region; None for the environment's.
            endpoint: URL of the service; None for the Region's endpoint.
            client: A botocore or boto3 client to use instead.
        """
        self._name = name
        self._region = region
        self._endpoint = endpoint
        self._client = client
        self._making = threading.Lock()

    def call(self, operation: str, about: str, **request: Any) -> Any:  # noqa: ANN401  # an SDK's answer
        """Perform the operation.

        Args:
            operation: The client's method, e.g. `get_schedule`.
            about: The subject of the call, for the error.
            request: Its arguments.

        Raises:
            CallUnavailableError: There is no usable answer, or the service is busy.
            CallRefusedError: The service refused the call, or the SDK could not send it.
            InputMissingError: No Region is configured.
        """
        what = f"{operation} for {about}"
        try:
            with self._making:  # several threads may be the first to call
                if self._client is None:
                    self._client = make_client(self._name, region=self._region, endpoint=self._endpoint)
        except NoAnswerError as error:
            refused = CallUnavailableError if error.transient else CallRefusedError
            raise refused(f"a client for {self._name}", error.message) from error
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # already loaded
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        client = self._client
        limit = longest_call(client)
        try:
            if limit is None:
                return getattr(client, operation)(**request)
            return within(limit + _BACKOFF, lambda: getattr(client, operation)(**request))
        except NoAnswerError as error:
            raise CallUnavailableError(what, error.message) from error
        except ClientError as error:
            failure = service_error(error)
            if failure.transient:
                raise CallUnavailableError(what, str(failure)) from error
            raise CallRefusedError(what, str(failure), code=failure.code, details=error.response) from error
        except (BotoCoreError, ResponseParserError) as error:
            failed = CallUnavailableError if no_answer(error).transient else CallRefusedError
            raise failed(what, str(error)) from error


def service_error(error: Any) -> ServiceError:  # noqa: ANN401  # botocore's ClientError, loaded late
    """The service's refusal in a botocore ClientError."""
    response = error.response
    return ServiceError(
        response.get("Error", {}).get("Code", ""),
        response.get("Error", {}).get("Message", ""),
        status=response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0),
        item=response.get("Item"),
    )
