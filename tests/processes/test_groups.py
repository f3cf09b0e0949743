"""Two jobs of one exclusion group, as real processes with short leases."""

from __future__ import annotations

import signal
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from cronce.protocol.records import GroupSlotRecord
from tests.processes.conftest import ON_SQLITE_AND_POSTGRES
from tests.support.host import PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Command, Host

WORKING = 'while [ ! -e "stop-$CRONCE_JOB" ]; do echo "$CRONCE_JOB" >>"$LOG"; sleep 0.05; done'


def start(host: Host, job: str, *, policy: str = "WAIT", group: str = "billing") -> Command:
    """Start a run of the job, which writes its name all the time until there is a file `stop-JOB`."""
    options = f"--job {job} --lease 2s --concurrency-policy {policy} --exclusion-group {group}"
    return host.guard("env", f"CRONCE_JOB={job}", "sh", "-c", WORKING, options=options)


def test_a_job_of_the_group_is_skipped_and_says_whose_run_is_at_work(host: Host) -> None:
    """In the row and in the line; the group is free when the run has ended."""
    close = start(host, "close")
    host.await_log("close")
    bills = start(host, "bills", policy="FORBID")
    assert bills.wait() == 0
    said = bills.event("refused")
    assert (said["reason"], said["blocked_by"]) == ("OVERLAPPING", PERIOD)
    assert f"close {PERIOD}" in said["message"]
    run = host.ledger.run("bills", PERIOD)
    assert run is not None
    assert (run.status, run.reason, run.blocked_by_job, run.exclusion_group) == (
        "SKIPPED",
        "overlap",
        "close",
        "billing",
    )
    (host.folder / "stop-close").touch()
    assert close.wait() == 0
    slot = host.ledger._store.get("cronce:group:billing", "slot")
    assert isinstance(slot, GroupSlotRecord)
    assert (slot.period, slot.fence) == (None, 2)


def test_a_group_that_cannot_be_is_one_line_and_nothing_starts(host: Host) -> None:
    """Exit 64; the name, and the policies that a group may have."""
    for policy, group, says in (
        ("FORBID", "a/b", "--exclusion-group: 'a/b' is not usable; allowed: the name of a group"),
        (
            "ALLOW",
            "billing",
            "--exclusion-group: 'billing' is not usable; allowed: only with concurrency_policy FORBID",
        ),
    ):
        refused = start(host, "close", policy=policy, group=group)
        assert refused.wait() == 64
        assert says in refused.err
        assert len(refused.err.splitlines()) == 1
    assert host.logged == []


@pytest.mark.slow
@ON_SQLITE_AND_POSTGRES
def test_jobs_of_a_group_never_overlap_although_one_is_killed_and_one_frozen(host: Host) -> None:
    """The guard of the first is killed, that of the second is frozen until the third has begun: one after the other."""
    close = start(host, "close")
    host.await_log("close")
    bills = start(host, "bills")
    until(lambda: host.ledger.run("bills", PERIOD), "the run that waits")
    close.send(signal.SIGKILL)
    host.await_log("bills")
    host.freeze(bills.pid, job="bills", period=PERIOD)
    report = start(host, "report")
    host.await_log("report")
    bills.send(signal.SIGCONT)
    assert bills.wait() == 70
    (host.folder / "stop-report").touch()
    assert report.wait() == 0
    holders = [host.logged[0], *(after for before, after in pairwise(host.logged) if before != after)]
    assert holders == ["close", "bills", "report"]
    assert host.ledger.run("report", PERIOD).status == "SUCCEEDED"  # type: ignore[union-attr]
