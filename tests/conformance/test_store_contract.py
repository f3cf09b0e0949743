"""The suite of `cronce.testing` for stores, on every store of `stores.py`."""

from cronce.testing.conformance.listing import *  # noqa: F403
from cronce.testing.conformance.writes import *  # noqa: F403
