"""What a refusal says to a person."""

from __future__ import annotations

import pytest

from cronce import InputInvalidError, Refusal, RefusalReason, Status
from cronce.protocol.records import RunRecord
from tests.support.builders import JOB, PERIOD, run

OTHER = "(attempt 2 by other)"

NAMED = {
    "the one that runs": (RefusalReason.RUNNING_ELSEWHERE, run(attempt=2), OTHER),
    "the one that did it": (RefusalReason.ALREADY_SUCCEEDED, run(attempt=2, status=Status.SUCCEEDED), OTHER),
    "the one that failed": (RefusalReason.ATTEMPTS_EXHAUSTED, run(attempt=2, status=Status.FAILED), OTHER),
    "the run in the way": (
        RefusalReason.OVERLAPPING,
        run(attempt=0, status=Status.SKIPPED, owner="me", blocked_by="2026-11-28"),
        "(2026-11-28)",
    ),
    "nobody, too late": (RefusalReason.TOO_LATE, run(attempt=0, status=Status.MISSED, owner="me"), "has passed"),
    "nobody, suspended": (RefusalReason.SUSPENDED, run(attempt=0, status=Status.SKIPPED, owner="me"), "was suspended"),
    "nobody, interrupted": (RefusalReason.INTERRUPTED, run(status=Status.FAILED, owner="me"), "work began"),
    "nobody, no row": (RefusalReason.LEASE_LOST, None, "work began"),
}


@pytest.mark.parametrize(("reason", "record", "ends"), NAMED.values(), ids=NAMED)
def test_a_refusal_names_who_has_the_run_and_never_the_refused_process(
    reason: RefusalReason, record: RunRecord | None, ends: str
) -> None:
    """An attempt 0 is nobody's."""
    text = str(Refusal(job=JOB, period=PERIOD, reason=reason, record=record))
    assert text.endswith(ends)
    assert "me)" not in text
    assert "attempt 0" not in text


def test_a_refusal_has_a_known_reason() -> None:
    """As text it becomes the member, because callers compare with `is`."""
    assert Refusal(job=JOB, period=PERIOD, reason="HELD").reason is RefusalReason.HELD  # type: ignore[arg-type]
    with pytest.raises(InputInvalidError, match=r"^reason: "):
        Refusal(job=JOB, period=PERIOD, reason="nonsense")  # type: ignore[arg-type]
