"""Rows and swaps for the tests of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cronce.testing.records import PERIOD
from cronce.testing.records import run as any_run

if TYPE_CHECKING:
    from cronce.protocol.records import Record, RunRecord
    from cronce.testing.conformance.lab import Lab

KEY = f"run#{PERIOD}"


def run(lab: Lab, **changes: Any) -> RunRecord:  # noqa: ANN401  # fields of several types
    """A run of this test's job."""
    return any_run(job=lab.job, **changes)


def swap(lab: Lab, record: Record, expected: Record | None) -> bool:
    """True if it was written; what stands afterwards is in any case what the answer said."""
    answer = lab.store.swap(record, expected)
    standing = lab.store.get(record.job, record.key)
    assert standing == (record if answer.written else answer.current)
    return answer.written
