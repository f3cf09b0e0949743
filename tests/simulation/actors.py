"""What claimants and observers do, written with the protocol's real operations."""

from __future__ import annotations

from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.observing import ReleaseRequest, mark_lost, mark_stopped, release
from cronce.protocol.operations import get_run
from cronce.protocol.pausing import PauseRequest, pause, resume
from cronce.protocol.requests import ClaimRequest
from cronce.protocol.transitions import Event
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.names import RunName, checked_job
from cronce.vocabulary.states import Reason
from tests.simulation.processes import AwaitEnd, Script, Work

DONE = Outcome(event=Event.COMPLETE)
FAILED = Outcome(event=Event.FAIL, reason=Reason.ERROR, counts=True)
GIVEN_UP = Outcome(event=Event.FAIL, reason=Reason.LEASE_LOST)
REPLACED = Outcome(event=Event.FAIL, reason=Reason.REPLACED)


def claimant(ask: ClaimRequest, *, beats: int = 0, outcome: Outcome = DONE, gives_up: bool = False) -> Script:
    """Claim, work, renew the lease a number of times, finish, even if the run seems lost.

    A renewal may come late: the claimant was frozen, and tries it when it wakes up. With `gives_up`, it stops if that
    fails, and writes that it lost its lease.
    """
    held = yield from claim(ask)
    if not isinstance(held, Held):
        return held
    yield Work(held)
    for _ in range(beats):
        try:
            renewed = yield from renew(held)
        except LedgerUnavailableError:
            if not gives_up:
                raise
            renewed = Lost(None)
        if isinstance(renewed, Lost):
            outcome = GIVEN_UP if gives_up else outcome
            break
        held = renewed
        yield Work(held)
    yield Work(None)
    return (yield from finish(held, REPLACED if held.run.cancel_requested else outcome))


def watchdog(job: str, period: str) -> Script:
    """Look at the run and mark it if its lease is over."""
    run = yield from get_run(job, period)
    return run and (yield from mark_lost(run))


def recorder(job: str, period: str, *, owner: str) -> Script:
    """Hear, once it is so, that the owner's task stopped; mark its run."""
    yield AwaitEnd(owner)
    return (yield from mark_stopped(job, period, owner=owner, exit_code=137))


def pauser(job: str, _period: str) -> Script:
    """Pause the job."""
    return (yield from pause(PauseRequest(job=job, actor="ann", why="stocktaking")))


def resumer(job: str, _period: str) -> Script:
    """End the job's pause."""
    return (yield from resume(checked_job(job)))


def person(job: str, period: str) -> Script:
    """Release the run, if it is held or lost."""
    return (yield from release(ReleaseRequest(run=RunName.of(job, period), actor="ann")))
