"""`cronce wait`: for pipelines."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator

import pytest

from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.vocabulary.policy import CatchUp, Policy
from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, PERIOD, run


class Waits:
    """What happens in each wait of the command, instead of waiting."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slept: list[float] = []
        self._happens: list[Callable[[], object]] = []
        self._at = 0.0
        monkeypatch.setattr(time, "sleep", self._sleep)
        monkeypatch.setattr("cronce.cli.commands.wait.time.monotonic", lambda: self._at)

    def then(self, *happens: Callable[[], object]) -> None:
        """Do these, one in each wait."""
        self._happens += happens

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._at += seconds
        if self._happens:
            self._happens.pop(0)()
        elif len(self.slept) > 1000:
            raise AssertionError("the wait does not end")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Nothing happens yet."""
    return Waits(monkeypatch)


@pytest.fixture
def ledger(ledger_file: LedgerFile) -> Iterator[Ledger]:
    """Another process of the ledger."""
    found = Ledger.from_url(ledger_file.url)
    found.create()
    yield found
    found.close()


def ended(status: Status, reason: str | None = None, **changes: object) -> dict[str, object]:
    """A run that has ended."""
    return {"status": status, "reason": reason, "lease_until": None, "finished_at": now()} | changes


@pytest.mark.parametrize(
    ("row", "code", "says"),
    [
        (ended(Status.SUCCEEDED), 0, "SUCCEEDED"),
        (ended(Status.FAILED, Reason.EXIT_CODE, exit_code=3), 10, "FAILED: exit code 3"),
        (ended(Status.FAILED, Reason.LEASE_LOST), 10, "FAILED: lease_lost"),
        (ended(Status.SKIPPED, Reason.OVERLAP), 11, "SKIPPED: overlap"),
        (ended(Status.MISSED, Reason.NEVER_DELIVERED), 12, "MISSED: never_delivered"),
    ],
)
def test_each_end_has_its_exit_code(
    ledger_file: LedgerFile, cronce: Callable[..., Said], *, waits: Waits, row: dict[str, object], code: int, says: str
) -> None:
    """As documented; a run that has ended is not waited for."""
    ledger_file.put(run(**row))
    said = cronce("wait", JOB, PERIOD)
    assert (said.code, said.out, said.err) == (code, f"{JOB} {PERIOD} {says}\n", "")
    assert waits.slept == []
    codes = dict(re.findall(r"(\d+) (?:it|the run) (?:was )?(\w+)", " ".join(cronce("wait", "--help").out.split())))
    assert codes == {"0": "succeeded", "10": "failed", "11": "skipped", "12": "missed"}


def test_a_run_is_waited_for_from_before_its_start_to_its_end(
    ledger_file: LedgerFile, cronce: Callable[..., Said], ledger: Ledger, waits: Waits
) -> None:
    """Two seconds between looks."""
    ledger_file.put(run(period="2026-11-28", **ended(Status.SUCCEEDED)))
    claims: list[Claim] = []

    def start() -> None:
        claim = ledger.claim(JOB, PERIOD)
        assert isinstance(claim, Claim)
        claims.append(claim)

    def finish() -> None:
        claims[0].complete()

    waits.then(lambda: None, start, finish)
    assert cronce("wait", JOB, PERIOD).code == 0
    assert waits.slept == [2.0, 2.0, 2.0]


def test_a_failure_that_a_machine_tries_again_is_waited_for(
    cronce: Callable[..., Said], ledger: Ledger, fleet: Fleet, waits: Waits
) -> None:
    """Until the retries are used up, as the job's policy says; that is known from its schedule."""
    fleet.add_job(JOB, policy=Policy(backoff_limit=1))
    policy = Policy(backoff_limit=1)

    def fail() -> None:
        claim = ledger.claim(JOB, PERIOD, policy=policy)
        assert isinstance(claim, Claim)
        claim.fail("no")

    fail()
    waits.then(lambda: None, fail)
    assert cronce("wait", JOB, PERIOD).code == 10
    assert len(waits.slept) == 2


def test_a_missed_run_is_an_end_also_if_it_may_be_caught_up(
    ledger_file: LedgerFile, cronce: Callable[..., Said], fleet: Fleet, waits: Waits
) -> None:
    """A catch-up may be days away."""
    fleet.add_job(JOB, policy=Policy(catch_up=CatchUp.ALL))
    ledger_file.put(run(attempt=0, **ended(Status.MISSED, Reason.NEVER_DELIVERED)))
    assert cronce("wait", JOB, PERIOD).code == 12
    assert waits.slept == []


@pytest.mark.parametrize(("text", "slept"), [("5s", [2.0, 2.0, 1.0]), ("0s", [])])
def test_a_wait_has_a_limit(
    ledger_file: LedgerFile, cronce: Callable[..., Said], waits: Waits, text: str, slept: list[float]
) -> None:
    """124, as `timeout` ends with."""
    ledger_file.put(run(claimed_at=now()))
    said = cronce("wait", JOB, PERIOD, "--timeout", text)
    assert (said.code, said.out, waits.slept) == (124, "", slept)
    assert said.err.startswith(f"cronce: {JOB} {PERIOD} has not ended within ")


def test_the_document_has_the_run(ledger_file: LedgerFile, cronce: Callable[..., Said], waits: Waits) -> None:
    """Or null, if the time was over before there was one."""
    ledger_file.put(run(**ended(Status.SUCCEEDED)))
    document = json.loads(cronce("wait", JOB, PERIOD, "--json").out)
    assert {**document, "run": document["run"]["status"]} == {
        "job": JOB,
        "period": PERIOD,
        "timed_out": False,
        "run": "SUCCEEDED",
    }
    said = cronce("wait", JOB, "2026-11-30", "--json", "--timeout", "1s")
    assert json.loads(said.out) == {"job": JOB, "period": "2026-11-30", "timed_out": True, "run": None}
    assert (said.code, waits.slept) == (124, [1.0])


def test_a_job_that_does_not_exist_is_not_waited_for(
    ledger_file: LedgerFile, cronce: Callable[..., Said], waits: Waits
) -> None:
    """That wait would not end."""
    ledger_file.put(run(**ended(Status.SUCCEEDED)))
    said = cronce("wait", "daily-digst", PERIOD)
    assert (said.code, said.out, waits.slept) == (1, "", [])
    assert f"Did you mean {JOB}?" in said.err


def test_a_limit_that_is_none_is_64(cronce: Callable[..., Said]) -> None:
    """It names the option."""
    said = cronce("wait", JOB, PERIOD, "--timeout", "soon")
    assert (said.code, said.err.startswith("cronce: --timeout: 'soon' ")) == (64, True)
