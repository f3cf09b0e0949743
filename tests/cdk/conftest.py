"""A shop for each test, or one for many that synthesize nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import aws_cdk as cdk
import pytest

from cronce_cdk import ScheduledTask
from tests.cdk.shop import ENVIRONMENT, Shop, new_shop


@pytest.fixture
def stack() -> cdk.Stack:
    """An empty stack with a known account and Region."""
    return cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)


@pytest.fixture
def shop() -> Shop:
    """A shop of this test's own, for templates."""
    return new_shop()


@pytest.fixture(scope="module")
def shared_shop() -> Shop:
    """A shop of a module's, for what is refused: it is never synthesized."""
    return new_shop()


@pytest.fixture(scope="module")
def try_job(shared_shop: Shop) -> Callable[..., ScheduledTask]:
    """Makes a job with some arguments changed, under a new name each time."""
    numbers = itertools.count()
    return lambda **changed: shared_shop.job(f"job{next(numbers)}", **changed)
