"""A fleet over days of virtual time, through the real `Ledger`, `Claim` and `Driver`.

Schedulers deliver a tick never, once or many times; tasks crash, pause, are asked to stop or work
too long; hosts have wrong clocks and lose their way to the table; answers are lost, writes come
late or twice. Some rows are of a newer version, and nobody may act on them; some stop events and
sightings are forged, and change nothing. After every write and every act of a task the promises are
held against it, and in the end every tick must stand in one visible final state.

`python -m tests.simulation.fleet --seed N` replays one fleet, `--seeds A-B` runs many. A failure
prints its seed and what happened to the job. The last line is one line of figures.
"""

# ruff: noqa: T201  # a command prints

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from random import Random
from unittest.mock import patch

from cronce.client.claim import Claim
from cronce.client.driver import Driver
from cronce.client.ledger import Ledger
from cronce.client.observer import Observer
from cronce.client.time_source import SteadyClock
from cronce.protocol.observing import LOST_REASONS, mark_lost
from cronce.protocol.records import RunRecord, run_key
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError, RecordUnreadableError
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost, Policy
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.simulation.kernel import EPOCH, HostClock, Kernel, Proc
from tests.simulation.promises import broken_by_overlap, broken_by_trust, shown
from tests.simulation.rules import FINAL, BrokenRuleError
from tests.simulation.wire import Table, Weather, Wire

DAY = 86_400.0
LEASE = timedelta(seconds=60)
ROUND = 60.0
"""Seconds between two rounds of the watchdog."""

NOTICED_WITHIN = LEASE.total_seconds() + 10 + ROUND + 30
"""Seconds after which a crashed run is not RUNNING any more: the lease, the allowance for skew and
the clocks' own error, a round of the watchdog, and its patience with the table."""

DEPLOYED_EVERY = 5400.0

FORGED_A_DAY = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A scheduled job: how often it is due and how long its work takes, in seconds."""

    name: str
    every: float
    work: tuple[float, float]
    policy: Policy
    deployments: tuple[ConcurrencyPolicy, ...] = ()
    """The concurrency policies of later deployments, one after the other, each for 90 minutes."""

    formerly: str = ""
    """The name of the job before it was renamed."""

    def policy_at(self, at: float) -> Policy:
        """The policy that is deployed at that moment."""
        if not self.deployments:
            return self.policy
        number = int(at // DEPLOYED_EVERY) % len(self.deployments)
        return replace(self.policy, concurrency_policy=self.deployments[number])


def changing_jobs() -> tuple[Job, ...]:
    """Jobs whose policy changes with every deployment, in two orders."""
    policy = Policy(lease=LEASE, backoff_limit=2)
    allow, forbid, wait, replacing = (ConcurrencyPolicy(name) for name in ("ALLOW", "FORBID", "WAIT", "REPLACE"))
    orders = {"there and back": (allow, forbid), "all": (allow, replacing, wait, allow, forbid, wait, replacing)}
    return tuple(
        Job(name=name, every=900, work=(5, 2000), policy=policy, deployments=order) for name, order in orders.items()
    )


def grouped_jobs() -> tuple[Job, ...]:
    """Jobs of one exclusion group that are due at the same moments, and one without."""

    def job(name: str, every: float, **policy: object) -> Job:
        return Job(name=name, every=every, work=(5, 400), policy=Policy(lease=LEASE, backoff_limit=2, **policy))  # type: ignore[arg-type]

    return (
        job("close", 1800, exclusion_group="billing"),
        job("bills", 1800, exclusion_group="billing", concurrency_policy=ConcurrencyPolicy.WAIT),
        job("hold", 3600, exclusion_group="billing", on_lost=OnLost.HOLD),
        job("alone", 3600),
    )


def _jobs() -> tuple[Job, ...]:
    def job(name: str, every: float, work: tuple[float, float], **policy: object) -> Job:
        return Job(name=name, every=every, work=work, policy=Policy(lease=LEASE, backoff_limit=2, **policy))  # type: ignore[arg-type]

    late = timedelta(minutes=20)
    return (
        job("allow", 900, (5, 300), concurrency_policy=ConcurrencyPolicy.ALLOW),
        job("forbid", 600, (5, 500), concurrency_policy=ConcurrencyPolicy.FORBID),
        job("forbid-hold", 1800, (5, 900), concurrency_policy=ConcurrencyPolicy.FORBID, on_lost=OnLost.HOLD),
        job("wait", 900, (5, 1000), concurrency_policy=ConcurrencyPolicy.WAIT, starting_deadline=late),
        job("replace", 900, (5, 1000), concurrency_policy=ConcurrencyPolicy.REPLACE),
    )


@dataclass(frozen=True, slots=True)
class Host:
    """Where tasks run: its clock, and until when it has no way to the table."""

    clock: HostClock
    partitions: list[tuple[float, float]]


class Fleet:
    """One seeded fleet from its first tick to its last state."""

    noticed_within = NOTICED_WITHIN

    def __init__(self, seed: int, *, days: float = 1.0, hosts: int = 20, jobs: Sequence[Job] | None = None) -> None:
        self.seed = seed
        self._jobs = jobs or _jobs()
        self.counts: Counter[str] = Counter()
        self._days = days
        self._rng = Random(seed)
        self._kernel = Kernel()
        self._table = Table(self._kernel, self._log, self._policies())
        self._history: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=60))
        self._acting: dict[str, dict[Proc, Claim]] = defaultdict(dict)
        self._fences: Counter[str] = Counter()
        self._procs: dict[str, Proc] = {}
        self._about = ""
        self._succeeded: set[tuple[str, str]] = set()
        self._calm = False
        self._hosts = [self._host(number) for number in range(hosts)]
        self._unreadable: set[tuple[str, float]] = set()
        for job in self._jobs:
            self._put_unreadable(job)

    def run(self) -> None:
        """Live through the days, then let it calm down, then look.

        Raises:
            BrokenRuleError: A promise was broken, or the protocol crashed; the message tells the
                seed, and what happened to the job.
        """
        with patch.object(os, "urandom", Random(self.seed + 1).randbytes):
            try:
                for job in self._jobs:
                    for number in range(int(self._days * DAY / job.every)):
                        self._tick(job, number * job.every)
                self._spawn_watchdogs()
                for _ in range(max(int(FORGED_A_DAY * self._days), 20)):
                    self._spawn_intruder()
                self._kernel.run(self._days * DAY)
                self._calm = True
                self._kernel.run(self._days * DAY + 4 * 3600)
                for row in self._table.changed_unreadable():
                    self._hold("", f"a row of a newer version is left alone: {row}")
                for job in self._jobs:
                    self._check_ends(job)
            except Exception as error:
                history = "\n".join(self.history().get(self._about, []))
                told = str(error) if isinstance(error, BrokenRuleError) else repr(error)
                raise BrokenRuleError(f"seed {self.seed}, {_hms(self._kernel.now)}: {told}\n{history}") from error
            finally:
                self._kernel.end()

    def history(self) -> dict[str, list[str]]:
        """What happened last to each job, a line an event."""
        return {job: list(events) for job, events in self._history.items()}

    def _policies(self) -> dict[str, Policy]:
        return {job.name: job.policy for job in self._jobs}

    def _spawn_watchdogs(self) -> None:
        for job in self._jobs:
            self._kernel.spawn(f"watchdog of {job.name}", partial(self._watch, job))

    def _put_unreadable(self, job: Job) -> None:
        """Put rows of a newer version before and after every period of the job, and for a few of its ticks."""
        count = int(self._days * DAY / job.every)
        ticks = [number * job.every for number in self._rng.sample(range(count), max(count // 30, 1))]
        self._unreadable |= {(job.name, tick) for tick in ticks}
        for period in ("0", "z", *map(period_at, ticks)):
            self._table.put_unreadable(job.name, period)

    def _ticks(self, job: Job) -> list[float]:
        """The ticks of the job, without those whose row is of a newer version."""
        ticks = (number * job.every for number in range(int(self._days * DAY / job.every)))
        return [tick for tick in ticks if (job.name, tick) not in self._unreadable]

    # -- what schedulers and platform do

    def _host(self, number: int) -> Host:
        """The first one has a clock that cannot be trusted; it must be found out."""
        wrong = self._rng.uniform(-2.4, 2.4) if number else self._rng.choice((-600.0, 600.0))
        partitions: list[tuple[float, float]] = []
        at = 0.0
        while (at := at + self._rng.expovariate(1 / 7200)) < self._days * DAY:
            partitions.append((at, at + self._rng.uniform(2, 150)))
        return Host(HostClock(self._kernel, ahead=wrong), partitions)

    def _tick(self, job: Job, at: float) -> None:
        """Deliver the tick never, once or more often; the watchdog delivers what was forgotten."""
        self.counts["ticks"] += 1
        for _ in range(self._rng.choices((0, 1, 2, 4), weights=(1, 12, 4, 2))[0]):
            self._start(job, at, Trigger.SCHEDULE, delay=self._rng.choice((0.0, 0.5, 2.0, 30.0, 200.0)))

    def _start(self, job: Job, tick: float, trigger: Trigger, *, delay: float = 0.0) -> None:
        """Start a task, and decide what befalls it."""
        self.counts["tasks"] += 1
        owner = f"task-{self.counts['tasks']}"
        host = self._rng.choice(self._hosts)
        begins = max(self._kernel.now, tick) + delay + self._rng.uniform(0, 1)
        proc = self._kernel.spawn(owner, partial(self._task, job, tick, trigger, host), at=begins)
        self._procs[owner] = proc
        soon = begins + self._rng.choice((self._rng.uniform(0, 0.5), self._rng.uniform(0, job.work[1])))
        fate = self._rng.random()
        if self._calm:
            return
        if fate < 0.08:
            self._kernel.call(soon, lambda: self._crash(proc, job, tick, host))
        elif fate < 0.14:
            self._kernel.call(soon, lambda: self._pause(proc, job))
        elif fate < 0.18:
            self._kernel.call(soon, lambda: self._ask_to_stop(proc, job, "the platform"))

    def _crash(self, proc: Proc, job: Job, tick: float, host: Host) -> None:
        if not proc.alive:
            return
        self.counts["crashes"] += 1
        self._log(job.name, proc.name, "crashes")
        self._acting[job.name].pop(proc, None)
        self._kernel.kill(proc)
        self._tell_recorder(job, tick, proc, exit_code=137)
        # A host whose clock is ahead learns it from the first answer. If it crashes before that, its lease is as long.
        within = self.noticed_within + max(0.0, host.clock.ahead)
        self._kernel.call(self._kernel.now + within, lambda: self._check_noticed(job, tick, proc, within))

    def _tell_recorder(self, job: Job, tick: float, proc: Proc, *, exit_code: int) -> None:
        """Let the recorder hear that the task stopped: late, twice or never."""
        for _ in range(self._rng.choice((0, 1, 1, 2))):
            self._kernel.spawn(
                "recorder",
                lambda _proc: self._record(job, tick, proc, exit_code),
                at=self._kernel.now + self._rng.uniform(0.5, 90),
            )

    def _pause(self, proc: Proc, job: Job) -> None:
        if proc.alive:
            self.counts["pauses"] += 1
            proc.paused_until = self._kernel.now + self._rng.choice((5.0, 20.0, 70.0, 200.0))
            self._log(job.name, proc.name, f"is paused until {_hms(proc.paused_until)}")

    def _ask_to_stop(self, proc: Proc, job: Job, who: str) -> None:
        if proc.alive and not proc.killed:
            self.counts["stops"] += 1
            self._log(job.name, proc.name, f"is asked to stop by {who}")
            self._kernel.ask_to_stop(proc)

    # -- what a task does

    def _task(self, job: Job, tick: float, trigger: Trigger, host: Host, proc: Proc) -> None:
        """Be a task from its first line to its last."""
        self._ended(job, tick, proc, exit_code=self._attempt(job, tick, trigger, host, proc))

    def _ended(self, job: Job, tick: float, proc: Proc, *, exit_code: int) -> None:
        """A task has ended by itself; here nobody hears of that."""

    def _attempt(self, job: Job, tick: float, trigger: Trigger, host: Host, proc: Proc) -> int:
        """Claim, work as long as the claim is trusted, settle; the exit code, as `cronce exec` has it."""
        ledger = self._ledger(proc.name, job, host)
        period = period_at(tick)
        try:
            claim = ledger.claim(job.name, period, trigger=trigger, stop=proc.stop)
        except LedgerUnavailableError as error:
            self.counts["unreadable" if isinstance(error, RecordUnreadableError) else "unavailable"] += 1
            return exit_codes.UNAVAILABLE
        if not isinstance(claim, Claim):
            self.counts["refused"] += 1
            self._log(job.name, proc.name, f"is refused {period}: {claim.reason}")
            return 0
        self.counts["claims"] += 1
        self._log(job.name, proc.name, f"works on {period}, fence {claim.fence}")
        self._acting[job.name][proc] = claim
        try:
            return self._work(proc, job, claim)
        except LeaseLostError:
            self.counts["leases lost"] += 1
            self._log(job.name, proc.name, f"lost {period}")
            self._acting[job.name].pop(proc, None)
            claim.give_up()
            return exit_codes.LEASE_LOST
        finally:
            self._acting[job.name].pop(proc, None)

    def _work(self, proc: Proc, job: Job, claim: Claim) -> int:
        left = self._rng.uniform(*job.work)
        self._act(job, claim)
        while left > 0:
            step = min(left, LEASE.total_seconds() / 4, claim.trust_left)
            self._kernel.sleep(step)
            left -= step
            self._act(job, claim)
            if proc.stop.is_set() or claim.stop_requested:
                self._acting[job.name].pop(proc, None)
                claim.fail("asked to stop", reason=claim.stop_requested or Reason.INTERRUPTED)
                return 128 + signal.SIGTERM
            claim.heartbeat()
        self._acting[job.name].pop(proc, None)
        if self._rng.random() < 0.05:
            claim.fail("bad data")
            return 1
        claim.complete({"mails": 3100})
        self.counts["completed"] += 1
        done = (job.formerly or job.name, claim.period)
        if done in self._succeeded:
            self._hold(job.name, f"a success is never repeated: {claim.period}")
        self._succeeded.add(done)
        return 0

    def _act(self, job: Job, claim: Claim) -> None:
        """Do something that others see, as a task does after `Claim.check`; nobody else may be acting then.

        Raises:
            LeaseLostError: The task must not act any more.
        """
        asleep = claim.trust_left <= 0
        if claim.is_lost():
            claim.check()
        self.counts["woken"] += asleep
        self.counts["acts"] += 1
        if claim.trust_left <= 0:
            self._hold(job.name, f"who acts trusts its claim: {claim.record.owner} does not")
        self._hold(job.name, broken_by_trust(claim._held, self._table.rows(claim.job, claim.record.key), claim._policy))
        everywhere = self._acting.values() if claim._held.group else [self._acting[job.name]]
        for other in [each for acting in everywhere for each in acting.values()]:
            if other is not claim and other.trust_left > 0:
                policies, rows = {claim._policy, other._policy}, self._table.rows(claim.job, claim.record.key)
                self._hold(job.name, broken_by_overlap(claim._held, other._held, policies, rows))
        if claim._held.slot is not None:
            effects = claim._held.group.job if claim._held.group else job.name
            if claim.fence < self._fences[effects]:
                self._hold(job.name, f"fences rise: {claim.fence} acts after {self._fences[effects]}")
            self._fences[effects] = claim.fence

    def _ledger(self, name: str, job: Job, host: Host) -> Ledger:
        return Ledger(
            self._wire(name, host),
            policy=job.policy_at(self._kernel.now),
            owner=name,
            clock=host.clock,
            stop_task=lambda owner, _reason: self._ask_to_stop(self._procs[owner], job, name),
        )

    def _wire(self, name: str, host: Host | None) -> Wire:
        def weather() -> Weather | None:
            if self._calm:
                return Weather(throttled=0, request_lost=0, answer_lost=0, late=0, twice=0)
            now = self._kernel.now
            return None if host and any(begins <= now < ends for begins, ends in host.partitions) else Weather()

        return Wire(self._kernel, self._table, name, rng=self._rng, weather=weather)

    # -- what observers do

    def _record(self, job: Job, tick: float, proc: Proc, exit_code: int) -> None:
        """Tell the ledger that the task stopped; the platform may tell it late, twice or never."""
        ledger = Ledger(self._wire("recorder", None), clock=HostClock(self._kernel, ahead=0.0), owner="recorder")
        try:
            Observer(ledger).mark_stopped(job.name, period_at(tick), owner=proc.name, exit_code=exit_code)
        except LedgerUnavailableError:
            self.counts["events lost"] += 1

    def _watch(self, job: Job, proc: Proc) -> None:
        """Mark what is lost, and start again what did not come to its end."""
        clock = HostClock(self._kernel, ahead=0.0)
        wire = self._wire(proc.name, None)
        again: dict[float, float] = {}
        while True:
            self._kernel.sleep(ROUND)
            now = self._kernel.now
            for tick in self._ticks(job):
                if tick > now or again.get(tick) == float("inf"):
                    continue
                run = self._table.get(job.name, run_key(period_at(tick)))
                if isinstance(run, RunRecord) and _settled(run):
                    again[tick] = float("inf")
                    continue
                if isinstance(run, RunRecord) and run.status is Status.RUNNING:
                    driver = Driver(wire, SteadyClock(clock), proc.stop, lambda _owner, _reason: None)
                    driver.run(mark_lost(run), lambda _error, waited: 20.0 - waited)
                    continue
                if now - tick < 300 or again.get(tick, 0.0) > now:
                    continue
                again[tick] = now + 1200
                if isinstance(run, RunRecord) and run.reason in LOST_REASONS and job.policy.on_lost is OnLost.HOLD:
                    self._release(job, tick)
                else:
                    self._start(job, tick, Trigger.RETRY if run else Trigger.CATCH_UP)

    def _release(self, job: Job, tick: float) -> None:
        ledger = Ledger(self._wire("ann", None), clock=HostClock(self._kernel, ahead=0.0), owner="ann")
        try:
            ledger.release(job.name, period_at(tick), actor="ann", note="looked at it")
        except LedgerUnavailableError:
            return
        self.counts["released"] += 1
        self._start(job, tick, Trigger.RETRY, delay=1.0)

    # -- what nobody may do

    def _spawn_intruder(self) -> None:
        """Let somebody who is nobody's observer report something, soon after a tick of a job."""
        job = self._rng.choice(self._jobs)
        tick = self._rng.choice(self._ticks(job))
        self._kernel.spawn("intruder", lambda _proc: self._forge(job, tick), at=tick + self._rng.uniform(0, 120))

    def _forge(self, job: Job, tick: float) -> None:
        """Report the stop of a task of another job or of none, or that no task claimed a run that one did claim."""
        self.counts["forged"] += 1
        ledger = Ledger(self._wire("intruder", None), clock=HostClock(self._kernel, ahead=0.0), owner="intruder")
        period, forged = period_at(tick), f"forged-{self.counts['forged']}"
        run = self._table.get(job.name, run_key(period))
        elsewhere = [proc.name for name, acting in self._acting.items() if name != job.name for proc in acting]
        kind = self._rng.randrange(3) if isinstance(run, RunRecord) and run.attempt > 0 else 0
        try:
            if kind == 0:
                Observer(ledger).mark_stopped(
                    job.name, period, owner=self._rng.choice([forged, *elsewhere]), exit_code=137
                )
            elif kind == 1:
                Observer(ledger).mark_not_started(
                    job.name, period, owner=forged, error="forged", scheduled_at=None, trigger=Trigger.SCHEDULE
                )
            else:
                Observer(ledger).mark_missed(job.name, period, reason=Reason.NEVER_DELIVERED, scheduled_at=None)
        except LedgerUnavailableError:
            self.counts["events lost"] += 1

    # -- what must hold

    def _check_noticed(self, job: Job, tick: float, proc: Proc, within: float) -> None:
        if (job.name, tick) in self._unreadable:
            return
        run = self._table.get(job.name, run_key(period_at(tick)))
        if isinstance(run, RunRecord) and run.status is Status.RUNNING and run.owner == proc.name:
            self._hold(job.name, f"a crash is noticed within {within:g} s: {proc.name} died, but {shown(run)}")

    def _check_rows(self, job: Job) -> None:
        periods = set(map(period_at, self._ticks(job)))
        for row in self._table.query(job.name, limit=100_000, before=None).runs:
            if row.period not in periods:
                self._hold(job.name, f"only ticks have rows, and {row.period} is none")
            if (row.owner or "").startswith("forged"):
                self._hold(job.name, f"nobody's word is no row: {shown(row)}")

    def _check_ends(self, job: Job) -> None:
        self._check_rows(job)
        for tick in self._ticks(job):
            run = self._table.get(job.name, run_key(period_at(tick)))
            if not isinstance(run, RunRecord) or run.status not in FINAL:
                self._hold(job.name, f"every tick ends in one visible state: {period_at(tick)} is {shown(run)}")
                continue
            self.counts[run.status] += 1
            exhausted = run.status is Status.FAILED and run.failures > job.policy.backoff_limit
            late = job.policy.starting_deadline is not None and run.status is Status.MISSED
            if not (_settled(run) or exhausted or late):
                self._hold(job.name, f"nothing is stuck: after hours of calm {shown(run)}")

    def _hold(self, job: str, broken: str | None) -> None:
        if broken:
            self._about = job or self._about
            raise BrokenRuleError(f"{job}: {broken}" if job else broken)

    def _log(self, job: str, who: str, what: str) -> None:
        self._about = job
        self._history[job].append(f"  {_hms(self._kernel.now)}  {who:12} {what}")


def _settled(run: RunRecord) -> bool:
    """True if no machine begins another attempt: it is done, skipped or too late, or a newer run replaced it."""
    return run.status in (Status.SUCCEEDED, Status.SKIPPED) or run.reason in (Reason.REPLACED, Reason.TOO_LATE)


def period_at(tick: float) -> str:
    """The period of the tick at that moment of the simulation."""
    return f"{EPOCH + timedelta(seconds=tick):%Y-%m-%dT%H:%M:%SZ}"


def _hms(at: float) -> str:
    return f"{EPOCH + timedelta(seconds=at):%d %H:%M:%S.%f}"[:-3]


def main(kind: type[Fleet], arguments: Sequence[str] | None = None) -> None:
    """Run fleets of that kind, a line a seed."""
    parser = argparse.ArgumentParser(description=sys.modules[kind.__module__].__doc__)
    parser.add_argument("--seed", type=int, default=1, help="replay this fleet")
    parser.add_argument("--seeds", metavar="A-B", help="run all of these")
    parser.add_argument("--days", type=float, default=1.0, help="virtual days, before four hours of calm")
    options = parser.parse_args(arguments)
    first, _, last = (options.seeds or str(options.seed)).partition("-")
    began, total = time.monotonic(), Counter[str]()
    seeds = range(int(first), int(last or first) + 1)
    for seed in seeds:
        fleet = kind(seed, days=options.days)
        fleet.run()
        total += fleet.counts
        print(f"seed {seed}: {_figures(fleet.counts)}", flush=True)
    print(
        f"{kind.__name__.lower()}: {len(seeds)} seeds, {len(seeds) * options.days:g} virtual days, {_figures(total)},"
        f" 0 promises broken, {time.monotonic() - began:.0f} s"
    )


def _figures(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in sorted(counts, key=str.lower))


if __name__ == "__main__":
    main(Fleet)
