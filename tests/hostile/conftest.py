"""Both ways to DynamoDB: the standard library alone, and botocore."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.aws.sigv4 import Credentials
from cronce.stores.dynamo import DynamoStore
from cronce.stores.dynamo.sdk import Sdk
from cronce.stores.dynamo.signed_http import SignedHttp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from cronce.stores.dynamo.transport import Transport

    Way = Callable[..., AbstractContextManager[DynamoStore]]

REGION = "eu-west-1"


def lean(endpoint: str, call_timeout: timedelta) -> Transport:
    """The standard library alone."""
    keys = Credentials(access_key="testing", secret_key="testing")
    return SignedHttp(endpoint, region=REGION, credentials=lambda *_: keys, call_timeout=call_timeout)


def sdk(endpoint: str, call_timeout: timedelta) -> Transport:
    """Botocore."""
    return Sdk.connect(region=REGION, endpoint=endpoint, call_timeout=call_timeout)


@pytest.fixture(params=[pytest.param(lean, id="lean"), pytest.param(sdk, id="botocore", marks=pytest.mark.slow)])
def way(request: pytest.FixtureRequest) -> Way:
    """Opens a store at an endpoint, one way or the other."""

    @contextmanager
    def opened(endpoint: str, *, seconds: float = 10) -> Iterator[DynamoStore]:
        store = DynamoStore("runs", transport=request.param(endpoint, timedelta(seconds=seconds)))
        try:
            yield store
        finally:
            store.close()

    return opened
