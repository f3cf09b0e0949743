"""A PostgreSQL advisory lock for the duration of the work; who does not get it skips the tick."""

from __future__ import annotations

import os

import psycopg
from story import clock, work


def fire(tick: int) -> None:
    """Work if the lock is ours."""
    with psycopg.connect(os.environ["STORY_URL"], connect_timeout=2) as connection:
        row = connection.execute("SELECT pg_try_advisory_xact_lock(42)").fetchone()
        if row and row[0]:
            work(tick)


clock(fire)
