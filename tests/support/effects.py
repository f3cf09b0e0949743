"""What a ledger knows of the effects of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cronce.protocol.records import EffectsRecord
from tests.support.host import JOB, PERIOD

if TYPE_CHECKING:
    from tests.support.host import Host


def effects(host: Host) -> dict[str, str]:
    """Their states by key, of those in the first row; none if there is no row."""
    row = host.ledger._store.get(JOB, f"effect#{PERIOD}#000001")
    return dict(row.effects) if isinstance(row, EffectsRecord) else {}
