"""The suite of `cronce.testing` for the protocol, on every store of `stores.py`."""

from cronce.testing.conformance.claims import *  # noqa: F403
from cronce.testing.conformance.groups import *  # noqa: F403
from cronce.testing.conformance.overlaps import *  # noqa: F403
