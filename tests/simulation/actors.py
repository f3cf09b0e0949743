"""What claimants and observers do, written with the protocol's real operations."""

from __future__ import annotations

from cronce.protocol.claiming import claim
from cronce.protocol.holding import Held, Lost, Outcome, finish, renew
from cronce.protocol.observing import ReleaseRequest, mark_lost, mark_stopped, release
from cronce.protocol.operations import get_run
from cronce.protocol.requests import ClaimRequest
from cronce.protocol.transitions import Event
from cronce.vocabulary.names import RunName
from cronce.vocabulary.states import Reason
from tests.simulation.processes import AwaitEnd, Script, Work

DONE = Outcome(event=Event.COMPLETE)
FAILED = Outcome(event=Event.FAIL, reason=Reason.ERROR, counts=True)
REPLACED = Outcome(event=Event.FAIL, reason=Reason.REPLACED)


def claimant(ask: ClaimRequest, *, beats: int = 0, outcome: Outcome = DONE) -> Script:
    """Claim, work, renew so many times meanwhile, finish, even if the run seems lost."""
    held = yield from claim(ask)
    if not isinstance(held, Held):
        return held
    yield Work(held)
    for _ in range(beats):
        renewed = yield from renew(held)
        if isinstance(renewed, Lost):
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


def person(job: str, period: str) -> Script:
    """Release the run, if it is held or lost."""
    return (yield from release(ReleaseRequest(run=RunName.of(job, period), actor="ann")))
