"""The suite of `cronce.testing` for effects and steps, on every store of `stores.py`."""

from cronce.testing.conformance.effects import *  # noqa: F403
