"""cronce: every process has a clock and asks the ledger for each tick."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

from story import clock, work

from cronce import Ledger, Policy

POLICY = Policy(lease=timedelta(seconds=4), concurrency_policy=os.environ["STORY_POLICY"])
LEDGER = Ledger.from_url(os.environ["STORY_URL"], policy=POLICY)


def fire(tick: int) -> None:
    """Work if the claim is ours."""
    if claim := LEDGER.claim("tick", datetime.fromtimestamp(tick, UTC).isoformat()):
        with claim:
            work(tick)


clock(fire)
