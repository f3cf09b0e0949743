"""cron, once: scheduled work that happens once per period across a whole fleet."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronce.claim import Claim, Refusal
    from cronce.errors import (
        ClockSkewError,
        CronceError,
        InputInvalidError,
        InputMissingError,
        LeaseLostError,
        LedgerUnavailableError,
        RecordUnreadableError,
        StopRequestedError,
    )
    from cronce.ledger import Ledger
    from cronce.once import run_once
    from cronce.policy import CatchUp, ConcurrencyPolicy, OnLost, Policy
    from cronce.protocol.requests import RefusalReason
    from cronce.protocol.states import Reason, Status, Trigger

__all__ = [
    "CatchUp",
    "Claim",
    "ClockSkewError",
    "ConcurrencyPolicy",
    "CronceError",
    "InputInvalidError",
    "InputMissingError",
    "LeaseLostError",
    "Ledger",
    "LedgerUnavailableError",
    "OnLost",
    "Policy",
    "Reason",
    "RecordUnreadableError",
    "Refusal",
    "RefusalReason",
    "Status",
    "StopRequestedError",
    "Trigger",
    "run_once",
]

_HOMES = {
    "Claim": "cronce.claim",
    "Refusal": "cronce.claim",
    "ClockSkewError": "cronce.errors",
    "CronceError": "cronce.errors",
    "InputInvalidError": "cronce.errors",
    "InputMissingError": "cronce.errors",
    "LeaseLostError": "cronce.errors",
    "LedgerUnavailableError": "cronce.errors",
    "RecordUnreadableError": "cronce.errors",
    "StopRequestedError": "cronce.errors",
    "Ledger": "cronce.ledger",
    "run_once": "cronce.once",
    "CatchUp": "cronce.policy",
    "ConcurrencyPolicy": "cronce.policy",
    "OnLost": "cronce.policy",
    "Policy": "cronce.policy",
    "RefusalReason": "cronce.protocol.requests",
    "Reason": "cronce.protocol.states",
    "Status": "cronce.protocol.states",
    "Trigger": "cronce.protocol.states",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for: `cronce exec` must have the signals in hand before that."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  # `cronce exec` has no use for it

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted([*globals(), *__all__])
