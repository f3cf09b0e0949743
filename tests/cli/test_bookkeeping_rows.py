"""Rows that are no run of a job: a leader's, the watchdog's, and the dispatches of a clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from cronce.protocol.records import RunRecord
from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import run

CLOCK = "clock"


def leader(**changes: object) -> RunRecord:
    """The row of a leader since three minutes ago, alive unless changed."""
    default = {
        "job": CLOCK,
        "period": "leader",
        "attempt": 7,
        "owner": "host:7",
        "claimed_at": now() - timedelta(minutes=3),
        "lease_until": now() + timedelta(minutes=1),
    }
    ended = {"finished_at": now() - timedelta(minutes=1), "lease_until": None} if "status" in changes else {}
    return run(**default | ended | changes)


def words_of(said: Said) -> str:
    """The output without its line breaks."""
    return " ".join(said.out.split())


INTERRUPTED = {"status": Status.FAILED, "reason": Reason.INTERRUPTED}
EVERY_LEADER = [
    pytest.param({}, "Leader since 3m ago: host:7 (term 7).", id="leads"),
    pytest.param(INTERRUPTED, "No leader. host:7 led until 1m ago (term 7) and ended in order", id="ended in order"),
    pytest.param(
        {"status": Status.FAILED, "reason": Reason.LEASE_LOST},
        "No leader. host:7 led until 1m ago (term 7) and ended without a report",
        id="died",
    ),
    pytest.param({"lease_until": now() - timedelta(minutes=1)}, "No leader. The lease of host:7", id="lease expired"),
    pytest.param({"lease_until": None}, "HELD", id="foreign"),
    pytest.param({"status": Status.FAILED, "reason": Reason.EXIT_CODE, "exit_code": 3}, "exit code 3", id="exit code"),
    pytest.param({"status": Status.FAILED, "reason": Reason.RELEASED, "actor": "ann"}, "ann released", id="released"),
    pytest.param({"status": Status.SUCCEEDED}, "No leader.", id="marked by a command"),
    pytest.param({"status": Status.MISSED, "reason": Reason.TOO_LATE}, "No leader.", id="foreign status"),
]


@pytest.mark.parametrize(("changes", "says"), EVERY_LEADER)
@pytest.mark.parametrize("schedules", [False, True])
def test_a_leaders_page_says_who_leads_and_never_how_to_run_it(
    ledger_file: LedgerFile,
    fleet: Fleet,
    cronce: Callable[..., Said],
    monkeypatch: pytest.MonkeyPatch,
    *,
    changes: dict[str, object],
    says: str,
    schedules: bool,
) -> None:
    """A command under `cronce exec` would mark the row SUCCEEDED, and `rerun` has nothing to start."""
    assert fleet.schedules == {}
    if not schedules:
        monkeypatch.delenv("CRONCE_SCHEDULE_GROUP")
    ledger_file.put(leader(**changes))
    for said in (cronce("show", CLOCK, "leader"), cronce("runs", CLOCK), cronce("why", CLOCK)):
        assert said.code == 0
        assert "cronce exec" not in said.out
        assert "rerun" not in said.out
    assert says in words_of(cronce("show", CLOCK, "leader"))
    assert says in words_of(cronce("why", CLOCK))


@pytest.mark.parametrize(
    ("changes", "status"), [({}, "LEADS"), (INTERRUPTED, "NO LEADER"), ({"lease_until": None}, "NO LEADER")]
)
def test_the_table_shows_whether_somebody_leads(
    ledger_file: LedgerFile, cronce: Callable[..., Said], changes: dict[str, object], status: str
) -> None:
    """Not FAILED after an orderly end, and no hint that something went wrong."""
    ledger_file.put(leader(**changes))
    said = cronce("runs", CLOCK)
    assert status in said.out
    assert "FAILED" not in said.out
    assert "did not succeed" not in said.out


def test_the_watchdogs_rows_say_what_they_are(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Their FAILED(interrupted) is the normal state between two looks."""
    for job, period in (("cronce:watchdog", "daily-digest-0123456789ab"), ("cronce:watchdog:look", "leader")):
        ledger_file.put(leader(job=job, period=period, **INTERRUPTED))
        page, table = cronce("show", job, period), cronce("runs", job)
        assert "The watchdog's own row" in page.out
        assert "IDLE" in table.out
        why = cronce("why", job)
        assert "The watchdog's own row" in why.out
        for said in (page, table, why):
            assert "FAILED" not in said.out
            assert "cronce exec" not in said.out
            assert "rerun" not in said.out
    assert '"status": "FAILED"' in cronce("show", "cronce:watchdog:look", "leader", "--json").out


@pytest.mark.parametrize(
    "changes",
    [
        {"status": Status.FAILED, "reason": Reason.ERROR, "error": "queue not found", "failures": 4},
        {"status": Status.FAILED, "reason": Reason.LEASE_LOST},
        {"status": Status.MISSED, "reason": Reason.TOO_LATE, "attempt": 0},
        {"status": Status.SUCCEEDED, "result": '"message-1"'},
        {"lease_until": now() - timedelta(minutes=1)},
    ],
)
def test_a_clocks_dispatch_is_not_run_by_a_command(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], changes: dict[str, object]
) -> None:
    """The clock sends it to its target; a command in its place would only mark the row."""
    assert fleet.schedules == {}
    ledger_file.put(leader(), run(job="clock:digest", period="2026-11-27T05:00:00Z", **changes))
    page, table = cronce("show", "clock:digest", "2026-11-27T05:00:00Z"), cronce("runs", "clock:digest")
    why = cronce("why", "clock:digest")
    assert "clock 'clock'" in words_of(page)
    assert "clock 'clock'" in words_of(why)
    for said in (page, table, why):
        assert said.code == 0
        assert "cronce exec" not in said.out
        assert "rerun" not in said.out


def test_a_job_with_a_colon_is_no_dispatch_if_no_clock_has_its_name(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """Users may call a job anything."""
    ledger_file.put(run(job="shop:digest", status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3))
    assert "cronce rerun shop:digest" in cronce("show", "shop:digest", "2026-11-29").out


def test_a_released_leader_is_followed_by_one_that_stands_by(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """Nothing is started by hand."""
    ledger_file.put(leader(lease_until=None))
    said = cronce("release", CLOCK, "leader", "--reason", "host is gone")
    assert said.code == 0
    assert "cronce exec" not in said.out
    assert "The next process of 'clock' that stands by leads." in said.out


@pytest.mark.parametrize(("job", "period"), [(CLOCK, "leader"), ("cronce:watchdog", "daily-digest-0123456789ab")])
def test_a_rerun_of_a_row_that_is_no_run_is_refused(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], job: str, period: str
) -> None:
    """One line that says what the row is."""
    ledger_file.put(leader(job=job, period=period, **INTERRUPTED))
    said = cronce("rerun", job, period)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "not a run" in said.err
    assert fleet.requests == []
