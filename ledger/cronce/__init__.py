"""cron, once: scheduled work that happens once per period across a whole fleet."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronce.client.claim import Claim, Refusal
    from cronce.client.ledger import Ledger
    from cronce.guard.once import run_once
    from cronce.protocol.requests import RefusalReason
    from cronce.vocabulary.errors import (
        ClockSkewError,
        CronceError,
        InputInvalidError,
        InputMissingError,
        LeaseLostError,
        LedgerUnavailableError,
        RecordUnreadableError,
        StopRequestedError,
    )
    from cronce.vocabulary.policy import CatchUp, ConcurrencyPolicy, OnLost, Policy
    from cronce.vocabulary.states import Reason, Status, Trigger

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
    "Claim": "cronce.client.claim",
    "Refusal": "cronce.client.claim",
    "ClockSkewError": "cronce.vocabulary.errors",
    "CronceError": "cronce.vocabulary.errors",
    "InputInvalidError": "cronce.vocabulary.errors",
    "InputMissingError": "cronce.vocabulary.errors",
    "LeaseLostError": "cronce.vocabulary.errors",
    "LedgerUnavailableError": "cronce.vocabulary.errors",
    "RecordUnreadableError": "cronce.vocabulary.errors",
    "StopRequestedError": "cronce.vocabulary.errors",
    "Ledger": "cronce.client.ledger",
    "run_once": "cronce.guard.once",
    "CatchUp": "cronce.vocabulary.policy",
    "ConcurrencyPolicy": "cronce.vocabulary.policy",
    "OnLost": "cronce.vocabulary.policy",
    "Policy": "cronce.vocabulary.policy",
    "RefusalReason": "cronce.protocol.requests",
    "Reason": "cronce.vocabulary.states",
    "Status": "cronce.vocabulary.states",
    "Trigger": "cronce.vocabulary.states",
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
