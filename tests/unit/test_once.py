"""`once(job, period)`: exactly one caller enters."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from cronce import (
    Claim,
    InputInvalidError,
    InputMissingError,
    LeaseLostError,
    Ledger,
    LedgerUnavailableError,
    Refusal,
    RefusalReason,
    Status,
    once,
)
from cronce.stores.memory import MemoryStore
from tests.support.builders import JOB, PERIOD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def ledger() -> Ledger:
    """An empty one."""
    return Ledger(MemoryStore(), owner="me")


def status(ledger: Ledger) -> Status | None:
    """Of the run."""
    run = ledger.run(JOB, PERIOD)
    return run.status if run else None


def test_one_of_many_callers_enters_and_the_others_are_refused_at_once(ledger: Ledger) -> None:
    """While it is inside."""
    gate, refused = threading.Barrier(8), threading.Semaphore(0)

    def call(_: int) -> bool:
        gate.wait(10)
        with once(JOB, PERIOD, ledger=ledger) as claim:
            if claim:
                for _ in range(7):
                    assert refused.acquire(timeout=10)
            else:
                assert claim.reason is RefusalReason.RUNNING_ELSEWHERE
                refused.release()
            return bool(claim)

    with ThreadPoolExecutor(8) as callers:
        assert sorted(callers.map(call, range(8))) == [False] * 7 + [True]
    assert status(ledger) is Status.SUCCEEDED


def test_who_comes_later_is_refused_too(ledger: Ledger) -> None:
    """A lock would let it in. Another period is another run."""
    assert once(JOB, PERIOD, ledger=ledger)(lambda claim: claim.period) == PERIOD
    later = once(JOB, PERIOD, ledger=ledger)(lambda _: pytest.fail("entered"))
    assert isinstance(later, Refusal)
    assert later.reason is RefusalReason.ALREADY_SUCCEEDED
    assert once(JOB, "2026-11-30", ledger=ledger)(lambda claim: claim.period) == "2026-11-30"


def test_an_error_is_recorded_and_passes_on(ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    """The log says so as well."""
    with pytest.raises(ValueError, match="no mail server"), once(JOB, PERIOD, ledger=ledger):
        raise ValueError("no mail server")
    run = ledger.run(JOB, PERIOD)
    assert run is not None
    assert (run.status, run.error) == (Status.FAILED, "ValueError: no mail server")
    events = [json.loads(line)["cronce.event"] for line in capsys.readouterr().err.splitlines()]
    assert events == ["claimed", "failed"]


def test_an_error_in_a_refused_block_passes_on_and_changes_nothing(ledger: Ledger) -> None:
    """There is nothing to settle."""
    once(JOB, PERIOD, ledger=ledger)(str)
    with pytest.raises(KeyError), once(JOB, PERIOD, ledger=ledger):
        raise KeyError
    assert status(ledger) is Status.SUCCEEDED


def test_a_claim_that_the_block_settled_is_left_alone(ledger: Ledger) -> None:
    """Its result is kept."""
    with once(JOB, PERIOD, ledger=ledger) as claim:
        assert isinstance(claim, Claim)
        claim.complete(7)
    run = ledger.run(JOB, PERIOD)
    assert run is not None
    assert run.result == "7"


def test_a_lost_claim_is_an_error_at_the_end(ledger: Ledger) -> None:
    """The success could not be recorded."""

    def lose(_: Claim) -> None:
        ledger.release(JOB, PERIOD, actor="ann", force=True)
        assert isinstance(ledger.claim(JOB, PERIOD), Claim)

    with pytest.raises(LeaseLostError):
        once(JOB, PERIOD, ledger=ledger)(lose)


def test_nobody_enters_while_the_ledger_is_away(tmp_path: Path) -> None:
    """It fails closed."""
    away = Ledger.from_url(f"sqlite:///{tmp_path}/no/such/folder/runs.db")
    with pytest.raises(LedgerUnavailableError), once(JOB, PERIOD, ledger=away):
        pytest.fail("entered")


def test_without_a_ledger_it_is_the_environments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for `run_once`; without any, it is an error before the block."""
    monkeypatch.delenv("CRONCE_LEDGER", raising=False)
    with pytest.raises(InputMissingError, match="CRONCE_LEDGER"):
        once(JOB, PERIOD)
    monkeypatch.setenv("CRONCE_LEDGER", f"sqlite:///{tmp_path}/runs.db")
    assert once(JOB, PERIOD)(lambda claim: claim.attempt) == 1


@pytest.mark.parametrize(("job", "period", "what"), [("", PERIOD, "job"), (JOB, "a#b", "period")])
def test_a_bad_name_is_an_error_before_the_block(ledger: Ledger, job: str, period: str, what: str) -> None:
    """And nothing is written."""
    with pytest.raises(InputInvalidError, match=what):
        once(job, period, ledger=ledger)
