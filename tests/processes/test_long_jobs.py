"""Work that takes many leases, and work that takes every core."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.support.host import until

if TYPE_CHECKING:
    from tests.support.host import Host

LEASES = 10
UNTIL_TOLD = 'echo "begin $CRONCE_ATTEMPT" >>"$LOG"; while [ ! -e stop ]; do sleep 0.05; done; echo end >>"$LOG"'


def test_a_job_of_ten_leases_is_done_once_while_others_keep_trying(host: Host) -> None:
    """Every other claim in that time is refused as running elsewhere; afterwards as done."""
    guard = host.guarded_shell(UNTIL_TOLD, options="--lease 1s")
    host.await_log("begin")
    reasons = set()
    while leases_held(host) < LEASES:
        other = host.guarded_shell(UNTIL_TOLD, options="--lease 1s")
        assert other.wait() == 0
        reasons.add(other.event("refused")["reason"])
    assert reasons == {"RUNNING_ELSEWHERE"}
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.logged == ["begin 1", "end"]
    afterwards = host.guarded_shell(UNTIL_TOLD)
    assert afterwards.wait() == 0
    assert afterwards.event("refused")["reason"] == "ALREADY_SUCCEEDED"


def test_a_child_that_takes_every_core_does_not_stop_the_heartbeats(host: Host) -> None:
    """Two busy processes a core, for two lease lengths: the claim is held all the time."""
    busy = 2 * (os.cpu_count() or 1)
    script = 'echo begin >>"$LOG"; ' + "sh -c 'while [ ! -e stop ]; do :; done' & " * busy + 'wait; echo end >>"$LOG"'
    guard = host.guarded_shell(script, options="--lease 4s")
    host.await_log("begin")
    until(lambda: leases_held(host, length=4) >= 2, "two lease lengths of heartbeats")
    (host.folder / "stop").touch()
    assert guard.wait() == 0
    assert host.logged == ["begin", "end"]
    assert [event["event"] for event in guard.events] == ["claimed", "succeeded"]


def leases_held(host: Host, *, length: float = 1) -> float:
    """From the claim to the last heartbeat, in leases; the run must still be the first attempt's."""
    run = host.run()
    assert run is not None
    assert (run.status, run.attempt) == ("RUNNING", 1)
    assert run.heartbeat_at is not None
    assert run.claimed_at is not None
    return (run.heartbeat_at - run.claimed_at).total_seconds() / length
