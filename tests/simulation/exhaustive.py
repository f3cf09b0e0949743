"""What the exhaustive search is run with, and its command.

`python -m tests.simulation.exhaustive` runs the bound of every test run, `--wide` that of `make prove`,
`--deep` the one for hours of patience. The last line is one line of figures.
"""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import permutations, product

from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord, SlotRecord
from cronce.protocol.requests import ClaimRequest, bearable_skew
from cronce.vocabulary.names import RunName
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import replace
from tests.simulation.actors import DONE, FAILED, claimant, pauser, person, recorder, resumer, watchdog
from tests.simulation.interleavings import EPOCH, JOB, OTHER_JOB, Bound, Figures, Search
from tests.simulation.processes import Process, Script

LEASE = timedelta(seconds=20)

COARSE = Bound(faults=1, jumps=1, sizes=(timedelta(seconds=15.6), timedelta(seconds=31)))
"""Time moves once: to just before trust ends, or beyond every lease and allowance."""

FINE = Bound(faults=1, jumps=2, sizes=(timedelta(seconds=10), timedelta(seconds=15.6)))
"""Time moves twice: together within trust, after it, within the allowance for skew, or beyond everything."""

QUIET = Bound(faults=0, jumps=1, sizes=COARSE.sizes)
TIMELESS = Bound(faults=1, jumps=0, sizes=())
STORMY = Bound(faults=2, jumps=2, sizes=FINE.sizes)

_OBSERVERS: Mapping[str, Callable[[str, str], Script]] = {
    "watchdog": watchdog,
    "recorder": partial(recorder, owner="a"),
    "person": person,
}
_SCRIPTS = {**_OBSERVERS, "pauser": pauser, "resumer": resumer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Two claimants and perhaps an observer.

    Attributes:
        same: True if both claim the same period, False for two periods of one job.
        observer: `watchdog`, `recorder`, `person`, `pauser`, `resumer` or None.
        fails: True if the first claimant's work fails; one retry is allowed then.
        gives_up: True if the first claimant stops when it cannot renew its lease, and writes so.
        ahead: How far the clocks of the second claimant and the observer are ahead of the first one's.
        skew: How far the second claimant believes its clock to be from the store's.
        deadline: The starting deadline.
        foreign: True if a foreign writer left a RUNNING row without a lease.
        paused: True if a person paused the job an hour before.
        before: The first claimant's policy, if the second is of a later deployment with another one.
        group: True if the job is in an exclusion group.
        others: True if the second claimant is of another job of the group.
    """

    concurrency: ConcurrencyPolicy
    on_lost: OnLost = OnLost.RETRY
    same: bool
    observer: str | None = None
    fails: bool = False
    gives_up: bool = False
    ahead: timedelta = MAX_CLOCK_SKEW
    skew: timedelta = timedelta(0)
    deadline: timedelta | None = None
    foreign: bool = False
    paused: bool = False
    before: ConcurrencyPolicy | None = None
    group: bool = False
    others: bool = False

    def __str__(self) -> str:
        words = [self.concurrency, self.on_lost, "one period" if self.same else "two periods"]
        words += ["of two jobs"] if self.others else []
        words += ["of a group"] if self.group else []
        words += [f"with {self.observer}"] if self.observer else []
        words += ["work fails"] if self.fails else []
        words += ["gives up"] if self.gives_up else []
        words += [f"clock {self.ahead.total_seconds():+g} s"]
        words += [f"skew {self.skew.total_seconds():g} s"] if self.skew else []
        words += ["foreign row"] if self.foreign else []
        words += ["paused"] if self.paused else []
        words += [f"after {self.before}"] if self.before else []
        words += [f"deadline {self.deadline.total_seconds():g} s"] if self.deadline else []
        return " ".join(words)

    def search(self, bound: Bound) -> Search:
        """The search of this scenario, ready to begin."""
        policy = Policy(
            concurrency_policy=self.concurrency,
            on_lost=self.on_lost,
            lease=LEASE,
            backoff_limit=int(self.fails),
            starting_deadline=self.deadline,
            exclusion_group="billing" if self.group else None,
        )
        earlier = replace(policy, concurrency_policy=self.before) if self.before else policy
        first = ClaimRequest(run=RunName.of(JOB, "11-29", EPOCH), token="ta", owner="a", policy=earlier)
        period = "11-29" if self.same else "11-30"
        scheduled_at = EPOCH if self.same else EPOCH + timedelta(seconds=1)
        job = OTHER_JOB if self.others else JOB
        second = ClaimRequest(run=RunName.of(job, period, scheduled_at), token="tb", owner="b", policy=policy)
        outcome = FAILED if self.fails else DONE
        processes = [
            Process("a", partial(claimant, first, beats=1, outcome=outcome, gives_up=self.gives_up)),
            Process("b", partial(claimant, second), ahead=self.ahead, skew=self.skew),
        ]
        asks = [first, second]
        if self.observer:
            script = partial(_SCRIPTS[self.observer], JOB, first.period)
            processes.append(Process(self.observer, script, ahead=self.ahead))
        foreign = RunRecord(
            job=JOB, period=first.period, version=1, status=Status.RUNNING, attempt=1, token="tz", owner="z"
        )
        slot = SlotRecord(job=JOB, version=1, paused_at=EPOCH - timedelta(hours=1), paused_by="ann", paused_why="why")
        stands = foreign if self.foreign else slot if self.paused else None
        return Search(processes, asks, bound=bound, stands=stands)


def quick_plan() -> Iterator[tuple[Scenario, Bound]]:
    """What every test run affords: one run without a slot, one with it."""
    yield Scenario(concurrency=ConcurrencyPolicy.ALLOW, same=True), FINE
    yield Scenario(concurrency=ConcurrencyPolicy.FORBID, same=False, observer="recorder"), QUIET


def default_plan() -> Iterator[tuple[Scenario, Bound]]:
    """What catches most mutants of the protocol, in about a minute."""
    yield from quick_plan()
    allow, forbid = ConcurrencyPolicy.ALLOW, ConcurrencyPolicy.FORBID
    wait, replacing = ConcurrencyPolicy.WAIT, ConcurrencyPolicy.REPLACE
    far = timedelta(seconds=60)
    for policy in (allow, forbid, wait, replacing):
        yield Scenario(concurrency=policy, same=True, foreign=True), QUIET
        yield Scenario(concurrency=policy, same=False, deadline=timedelta(seconds=12)), QUIET
        yield Scenario(concurrency=policy, same=False, paused=True, observer="resumer"), TIMELESS
    for policy in (forbid, wait, replacing):
        yield Scenario(concurrency=policy, same=False, observer="pauser"), TIMELESS
    yield Scenario(concurrency=forbid, same=True, ahead=far, skew=far), COARSE
    yield Scenario(concurrency=forbid, same=True, ahead=_farthest_apart()), COARSE
    yield Scenario(concurrency=forbid, same=True, on_lost=OnLost.HOLD), COARSE
    yield Scenario(concurrency=forbid, same=True, fails=True), COARSE
    yield Scenario(concurrency=forbid, same=True, gives_up=True), COARSE
    yield Scenario(concurrency=allow, same=True, gives_up=True, observer="watchdog"), COARSE
    yield Scenario(concurrency=forbid, same=False, gives_up=True), QUIET
    yield Scenario(concurrency=allow, same=True, on_lost=OnLost.HOLD, observer="recorder"), COARSE
    yield Scenario(concurrency=forbid, same=True, observer="recorder"), COARSE
    yield Scenario(concurrency=forbid, same=True, on_lost=OnLost.HOLD, observer="person"), QUIET
    yield Scenario(concurrency=allow, same=True, observer="watchdog"), COARSE
    yield Scenario(concurrency=forbid, same=False), COARSE
    yield Scenario(concurrency=forbid, same=True), FINE
    yield Scenario(concurrency=forbid, same=False, observer="watchdog"), QUIET
    yield Scenario(concurrency=wait, same=False), COARSE
    yield Scenario(concurrency=replacing, same=False), TIMELESS
    yield Scenario(concurrency=forbid, same=False, before=allow), COARSE
    yield Scenario(concurrency=allow, same=False, before=forbid), QUIET
    yield Scenario(concurrency=wait, same=False, before=allow), QUIET


def group_plan() -> Iterator[tuple[Scenario, Bound]]:
    """Exclusion groups: two jobs of one, and two runs of one of its jobs; half a minute in all."""
    grouped = partial(Scenario, concurrency=ConcurrencyPolicy.FORBID, same=False, group=True)
    yield grouped(others=True, gives_up=True), TIMELESS
    yield grouped(same=True), QUIET
    yield grouped(others=True), QUIET
    yield grouped(), QUIET
    yield grouped(others=True, observer="recorder"), QUIET
    yield grouped(others=True, concurrency=ConcurrencyPolicy.WAIT), QUIET


def _farthest_apart() -> timedelta:
    """How far apart two hosts' clocks can be of which neither is found out: the store's `Date` is cut to seconds."""
    return 2 * (bearable_skew(LEASE, max_clock_skew=MAX_CLOCK_SKEW) + timedelta(seconds=1))


def wide_plan() -> Iterator[tuple[Scenario, Bound]]:
    """What `make prove` affords: every policy with every observer, for one period and for two."""
    for concurrency, on_lost, same, observer in product(ConcurrencyPolicy, OnLost, (True, False), (None, *_OBSERVERS)):
        ahead = MAX_CLOCK_SKEW if on_lost is OnLost.RETRY else -MAX_CLOCK_SKEW
        scenario = Scenario(concurrency=concurrency, on_lost=on_lost, same=same, observer=observer, ahead=ahead)
        yield scenario, COARSE if same else QUIET
    for before, after in permutations(ConcurrencyPolicy, 2):
        yield Scenario(concurrency=after, same=False, before=before), QUIET


def deep_plan() -> Iterator[tuple[Scenario, Bound]]:
    """Every policy, periods, observer and clock; two faults for one period without observer."""
    for concurrency, on_lost, same, observer, ahead in product(
        ConcurrencyPolicy, OnLost, (True, False), (None, *_OBSERVERS), (MAX_CLOCK_SKEW, -MAX_CLOCK_SKEW)
    ):
        scenario = Scenario(concurrency=concurrency, on_lost=on_lost, same=same, observer=observer, ahead=ahead)
        waits = concurrency in (ConcurrencyPolicy.WAIT, ConcurrencyPolicy.REPLACE) and not same
        if observer:
            yield scenario, QUIET if waits else COARSE
        else:
            yield scenario, COARSE if waits else FINE
            if same:
                yield scenario, STORMY


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the search, a line a scenario."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.exhaustive", description=__doc__)
    parser.add_argument("--wide", action="store_true", help="every policy with every observer")
    parser.add_argument("--deep", action="store_true", help="every clock as well, and two faults")
    options = parser.parse_args(arguments)
    began, total, scenarios = time.monotonic(), Figures(), 0
    plan = deep_plan if options.deep else wide_plan if options.wide else default_plan
    for scenario, bound in plan():
        figures = scenario.search(bound).explore()
        total += figures
        scenarios += 1
        print(f"{scenario!s:52} {bound}: {figures}", flush=True)
    print(f"exhaustive: {scenarios} scenarios, {total}, 0 promises broken, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
