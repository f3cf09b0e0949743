"""cron, once: scheduled work that happens once per period across a whole fleet."""

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
