"""IAM database authentication of Amazon RDS and Aurora: the password is a signed request.

RDS User Guide, "IAM database authentication for PostgreSQL". A token is valid for 15 minutes, for the beginning of a
session.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from cronce.aws.answers import NoAnswerError, botocore_missing
from cronce.aws.credentials import CredentialsSource, check_keys, plain_source
from cronce.aws.http import time_left
from cronce.aws.sigv4 import Credentials, presigned
from cronce.stores.postgres.address import Address

_VALID_FOR = 900


def token(address: Address, credentials: Credentials, *, region: str, at: datetime) -> str:
    """The password of the address's user.

    Args:
        address: The server and the user.
        credentials: What to sign with.
        region: The Region of the database.
        at: Now, aware, in UTC.
    """
    host = f"{address.host}:{address.port}"
    query = presigned(
        {"Action": "connect", "DBUser": address.user},
        credentials,
        host=host,
        region=region,
        service="rds-db",
        at=at,
        valid_for=_VALID_FOR,
    )
    return f"{host}/?{query}"


def token_source(address: Address, region: str) -> Callable[[float], str]:
    """Makes a token for each new connection, with the credentials of the environment, the task or botocore.

    Raises:
        NoAnswerError: A key in the environment cannot be used.
    """
    check_keys(os.environ)
    source = plain_source(os.environ) or _sdk_source()
    return lambda by: token(address, source(by), region=region, at=datetime.now(UTC))


def _sdk_source() -> CredentialsSource:
    try:
        import botocore.session  # noqa: PLC0415  # heavy
    except ModuleNotFoundError:
        raise botocore_missing("these credentials") from None
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    from cronce.aws.sdk import no_answer, within  # noqa: PLC0415

    session = botocore.session.get_session()

    def load() -> Credentials | None:
        found = session.get_credentials()
        if found is None:
            return None
        keys = found.get_frozen_credentials()
        return Credentials(access_key=keys.access_key or "", secret_key=keys.secret_key or "", token=keys.token)

    def current(by: float) -> Credentials:
        try:
            keys = within(timedelta(seconds=time_left(by)), load)
        except BotoCoreError as error:
            raise no_answer(error) from error
        if keys is None:
            raise NoAnswerError("NoCredentialsError", "no AWS credentials to sign an IAM token with", transient=False)
        return keys

    return current
