"""Two runs of one job, a lost lease, deadlines: real processes, short leases."""

from __future__ import annotations

import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce import Claim
from cronce.protocol.records import SLOT_KEY, RunRecord, SlotRecord
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.states import Trigger
from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Host

SHIFTED = Path(__file__).parents[1] / "chaos" / "shifted"
EARLIER, LATER = "2026-11-28", "2026-11-29"

# Logs its first and its last moment; `stop` in the folder ends it with success, SIGTERM after a moment of clearing up.
WORK = (
    'trap "sleep 0.3; echo end $CRONCE_PERIOD >>\\"$LOG\\"; exit 1" TERM; echo "begin $CRONCE_PERIOD" >>"$LOG"; '
    'while [ ! -e stop ]; do sleep 0.05; done; echo "end $CRONCE_PERIOD" >>"$LOG"'
)
QUICK_WORK = 'echo "begin $CRONCE_PERIOD" >>"$LOG"; echo "end $CRONCE_PERIOD" >>"$LOG"'
TICKING = 'echo ready >>"$LOG"; while :; do date +%s.%N >>"$LOG"; sleep 0.05; done'


def test_under_forbid_the_later_run_is_skipped_and_says_who_is_at_work(host: Host) -> None:
    """SKIPPED(overlap) with the blocker's period, in the row and in the line; exit 0."""
    holder = host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    later = host.guarded_shell(QUICK_WORK, period=LATER, options="--lease 2s")
    assert later.wait() == 0
    run = host.run(LATER)
    assert run is not None
    assert (run.status, run.reason, run.blocked_by) == ("SKIPPED", "overlap", EARLIER)
    said = later.event("refused")
    assert (said["reason"], said["blocked_by"]) == ("OVERLAPPING", EARLIER)
    assert EARLIER in said["message"]
    (host.folder / "stop").touch()
    assert holder.wait() == 0
    assert host.logged == [f"begin {EARLIER}", f"end {EARLIER}"]


def test_under_allow_both_run_side_by_side(host: Host) -> None:
    """Neither waits for the other."""
    guards = [
        host.guarded_shell(WORK, period=period, options="--lease 2s --concurrency-policy ALLOW")
        for period in (EARLIER, LATER)
    ]
    host.await_log(f"begin {EARLIER}")
    host.await_log(f"begin {LATER}")
    (host.folder / "stop").touch()
    assert [guard.wait() for guard in guards] == [0, 0]


def test_under_wait_the_later_run_queues_and_then_runs(host: Host) -> None:
    """Longer than its own lease, which it renews while it waits; the two do not overlap."""
    holder = host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    waiter = host.guarded_shell(QUICK_WORK, period=LATER, options="--lease 1s --concurrency-policy WAIT")
    until(lambda: renewals(host, LATER) >= 4, "four renewals of the waiting run")
    assert not waiter.ended
    assert len(host.logged) == 1
    (host.folder / "stop").touch()
    assert [holder.wait(), waiter.wait()] == [0, 0]
    assert host.logged == [f"{what} {period}" for period in (EARLIER, LATER) for what in ("begin", "end")]
    assert host.ended_run(LATER) == ("SUCCEEDED", None)


def test_a_wait_that_outlasts_the_starting_deadline_is_missed(host: Host) -> None:
    """MISSED(too_late), the work never starts, exit 0."""
    host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    period = nominal_time(datetime.now(UTC))
    waiter = host.guarded_shell(
        QUICK_WORK, period=period, options="--lease 2s --concurrency-policy WAIT --starting-deadline 5s"
    )
    assert waiter.wait() == 0
    assert waiter.event("refused")["reason"] == "TOO_LATE"
    run = host.run(period)
    assert run is not None
    assert (run.status, run.reason, run.blocked_by) == ("MISSED", "too_late", EARLIER)
    assert host.logged == [f"begin {EARLIER}"]


def test_sigterm_ends_a_wait_with_nothing_left_running(host: Host) -> None:
    """Exit 143, FAILED(interrupted) which does not count, and the next claim is not in its way."""
    host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    waiter = host.guarded_shell(QUICK_WORK, period=LATER, options="--concurrency-policy WAIT")
    until(lambda: host.run(LATER), "the waiting run")
    waiter.send(signal.SIGTERM)
    assert waiter.wait(10) == 128 + signal.SIGTERM
    run = host.run(LATER)
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "interrupted", 0)
    assert host.logged == [f"begin {EARLIER}"]


def test_under_replace_the_holder_is_stopped_before_the_later_run_begins(host: Host) -> None:
    """The earlier run is FAILED(replaced) after it cleared up; the two never overlap."""
    holder = host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    later = host.guarded_shell(QUICK_WORK, period=LATER, options="--lease 2s --concurrency-policy REPLACE")
    assert holder.wait() == 1
    assert later.wait() == 0
    assert host.logged == [f"{what} {period}" for period in (EARLIER, LATER) for what in ("begin", "end")]
    run = host.run(EARLIER)
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "replaced", 0)
    assert LATER in str(run.cancel_requested)
    assert host.ended_run(LATER) == ("SUCCEEDED", None)


def test_a_replaced_holder_that_ignores_sigterm_is_killed_first(host: Host) -> None:
    """The later run begins only when nothing of the earlier one lives."""
    script = 'trap "" TERM; echo "begin $CRONCE_PERIOD" >>"$LOG"; while :; do date +%s.%N >>"$LOG"; sleep 0.05; done'
    holder = host.guarded_shell(script, period=EARLIER, options="--lease 2s --grace 1s")
    host.await_log(f"begin {EARLIER}")
    later = host.guarded_shell(
        'echo "begin $CRONCE_PERIOD" >>"$LOG"; exec sleep 1',
        period=LATER,
        options="--lease 2s --concurrency-policy REPLACE",
    )
    assert holder.wait() == 128 + signal.SIGKILL
    assert later.wait() == 0
    assert host.logged[-1] == f"begin {LATER}", "the earlier run went on working"
    assert host.ended_run(EARLIER) == ("FAILED", "replaced")


def test_a_holder_that_died_is_marked_lost_before_its_job_is_taken(host: Host) -> None:
    """Another period of the job is skipped until the lease expires; then a person can run it."""
    holder = host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    holder.send(signal.SIGKILL)
    claim = host.claim_when_possible(meanwhile="OVERLAPPING", period=LATER, trigger=Trigger.MANUAL)
    assert host.ended_run(EARLIER) == ("FAILED", "lease_lost")
    claim.complete()


@pytest.mark.parametrize("sent_late", [True, False], ids=["late", "in-time"])
def test_a_start_after_the_starting_deadline_is_missed(host: Host, sent_late: bool) -> None:  # noqa: FBT001
    """MISSED(too_late), exit 0; a minute before, the same period runs."""
    period = nominal_time(datetime.now(UTC) - timedelta(minutes=10 if sent_late else 8))
    guard = host.guarded_shell(QUICK_WORK, period=period, options="--starting-deadline 9m")
    assert guard.wait() == 0
    if sent_late:
        assert guard.event("refused")["reason"] == "TOO_LATE"
        assert host.ended_run(period) == ("MISSED", "too_late")
        assert host.logged == []
    else:
        assert host.ended_run(period) == ("SUCCEEDED", None)


def test_the_active_deadline_stops_the_child(host: Host) -> None:
    """Exit 124, FAILED(active_deadline), which counts; one that ignores SIGTERM is killed."""
    script = 'trap "" TERM; echo ready >>"$LOG"; while :; do sleep 0.2; done'
    began = time.monotonic()
    guard = host.guarded_shell(script, options="--lease 2s --active-deadline 1s --grace 1s")
    assert guard.wait() == 124
    assert time.monotonic() - began >= 1.9
    run = host.run()
    assert run is not None
    assert (run.status, run.reason, run.failures) == ("FAILED", "active_deadline", 1)
    assert guard.event("failed")["reason"] == "active_deadline"
    until(lambda: not host.living(), "the child's end")


def test_a_failed_run_is_retried_up_to_its_backoff_limit(host: Host) -> None:
    """Two retries, then ATTEMPTS_EXHAUSTED with exit 0; a person's trigger goes beyond."""
    codes = [host.guarded_shell("exit 9", options="--backoff-limit 2").wait() for _ in range(4)]
    assert codes == [9, 9, 9, 0]
    refused = host.guarded_shell("exit 0", options="--backoff-limit 2")
    assert refused.wait() == 0
    assert refused.event("refused")["reason"] == "ATTEMPTS_EXHAUSTED"
    by_hand = host.guarded_shell("exit 0", options="--backoff-limit 2 --trigger manual")
    assert by_hand.wait() == 0
    assert by_hand.event("claimed")["attempt"] == 4


def test_a_success_is_repeated_only_for_a_reason(host: Host) -> None:
    """`--force` begins the next attempt and keeps the earlier one."""
    assert host.guard("true").wait() == 0
    which = ("--ledger", host.url, "--job", JOB, "--period", PERIOD)
    forced = host.start("cronce", "exec", *which, "--trigger=manual", "--force=the mails were wrong", "--", "true")
    assert forced.wait() == 0
    run = host.run()
    assert run is not None
    assert (run.status, run.attempt, run.note) == ("SUCCEEDED", 2, "the mails were wrong")
    assert [past.status for past in run.attempts] == ["SUCCEEDED"]


def test_a_run_released_by_force_stops_the_child_within_a_heartbeat(host: Host) -> None:
    """Exit 70; the released run is left as the person made it, and is free for the next claim."""
    guard = host.guarded_shell(TICKING, options="--lease 4s")
    host.await_log("ready")
    released = host.ledger.release(JOB, PERIOD, actor="on-call", note="wrong release", force=True)
    released_at = time.time()
    assert isinstance(released, RunRecord)
    assert guard.wait() == 70
    assert host.run() == released
    assert guard.event("lost")["attempt"] == 1
    until(lambda: not host.living(), "the end of every process")
    heartbeat, slack = 1.0, 2.0  # the slack is for a busy machine, well before the lease is over
    assert float(host.logged[-1]) < released_at + heartbeat + slack
    assert isinstance(host.ledger.claim(JOB, PERIOD), Claim)


@pytest.mark.parametrize("gone", [True, False], ids=["row-deleted", "row-taken"])
def test_a_row_that_changed_under_the_child_stops_it(host: Host, gone: bool) -> None:  # noqa: FBT001
    """Exit 70 whatever stands there now, and nothing is written over it."""
    guard = host.guarded_shell(TICKING, options="--lease 2s")
    host.await_log("ready")
    stands = take_row(host, gone=gone)
    assert guard.wait() == 70
    assert host.run() == stands
    until(lambda: not host.living(), "the end of every process")
    assert guard.event("lost")["attempt"] == 1


def test_a_slot_taken_by_nobody_is_left_as_it_is_by_the_loser(host: Host) -> None:
    """A skipped run does not free the job of the run that is at work."""
    host.guarded_shell(WORK, period=EARLIER, options="--lease 2s")
    host.await_log(f"begin {EARLIER}")
    assert host.guarded_shell(QUICK_WORK, period=LATER).wait() == 0
    store = SqliteStore(host.folder / "runs.db")
    slot = store.get(JOB, SLOT_KEY)
    store.close()
    assert isinstance(slot, SlotRecord)
    assert (slot.period, slot.fence) == (EARLIER, 1)


def take_row(host: Host, *, gone: bool) -> RunRecord | None:
    """Delete the run's row, or write another owner's attempt over it, as no honest claimant would."""
    store = SqliteStore(host.folder / "runs.db")
    try:
        while True:
            seen = store.get(JOB, f"run#{PERIOD}")
            assert isinstance(seen, RunRecord)
            if gone:
                with store._transaction() as connection:
                    connection.execute("DELETE FROM ledger WHERE key = ?", (seen.key,))
                return None
            taken = RunRecord(
                job=JOB,
                period=PERIOD,
                version=seen.version + 1,
                status=seen.status,
                attempt=seen.attempt + 1,
                token="another's",
                owner="another",
                lease_until=seen.lease_until,
            )
            store._boot_clock = lambda: None  # nobody but a test takes a run whose lease lasts
            if store.swap(taken, seen).written:
                return taken
    finally:
        store.close()


def renewals(host: Host, period: str) -> int:
    """How often the run was written again since its claim."""
    run = host.run(period)
    return run.version - 1 if run else 0


def nominal_time(at: datetime) -> str:
    """The period of a tick at that time."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_clock_that_is_set_ahead_starts_no_second_command(host: Host) -> None:
    """By the wall clock the lease expired an hour ago; the boot clock of the host knows better: 69."""
    first = host.guarded_shell('echo ready >>"$LOG"; while [ ! -e stop ]; do sleep 0.05; done', options="--lease 60s")
    host.await_log("ready")
    (host.folder / "offset").write_text("3600")
    shifted = {"PYTHONPATH": str(SHIFTED), "CHAOS_CLOCK": str(host.folder / "offset")}
    second = host.guard("sh", "-c", 'echo second >>"$LOG"', options="--lease 60s", env=shifted)
    assert second.wait() == 69
    assert "clock was set while attempt 1" in second.event("unavailable")["message"]
    (host.folder / "stop").touch()
    assert first.wait() == 0
    assert host.logged == ["ready"]
    assert host.ended_run() == ("SUCCEEDED", None)
