"""A fleet of clocks whose hosts' wall clocks are set, in both directions, by seconds to hours, around ticks.

The true time is the store's. A tick counts as early if its target got it before its time, as lost if nobody got
it, as doubled if it came twice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.clock.store_time import StoreTime
from cronce.schedule import Every, parse
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import CatchUp
from tests.support.clockwork import MINUTE, SECOND, T0, Stage, at, job

if TYPE_CHECKING:
    from cronce.clock.config import ClockJob
    from cronce.clock.dispatch import Delivery
    from cronce.testing.clocks import ManualClock
    from tests.support.clockwork import Process

HOUR = timedelta(hours=1)
SIZES = [2 * SECOND, 7 * SECOND, 3 * MINUTE, HOUR, timedelta(days=400)]
JOBS = [
    job("second", timetable=Every(SECOND)),
    job("minute"),
    job("cron", timetable=parse("* * * * *")),
    job("tight", timetable=Every(10 * SECOND), starting_deadline=2 * MINUTE, catch_up=CatchUp.ALL),
]


class TellingStore(MemoryStore):
    """A store with a clock, which is right."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: ManualClock

    @property
    def answered_at(self) -> datetime:
        """The true time, in whole seconds as a `Date` has it."""
        return self.clock.now().replace(microsecond=0)


@dataclass
class Tally:
    """What became of the ticks of a play."""

    ticks: int = 0
    steps: int = 0
    lost: int = 0
    early: int = 0
    doubled: int = 0
    missed: int = 0


class Play:
    """Two processes, whose hosts' clocks are set now and then; the leader may be killed meanwhile."""

    def __init__(self, jobs: list[ClockJob], seed: int = 0) -> None:
        store = TellingStore()
        self.stage = Stage(store, start=T0 + timedelta(milliseconds=400))
        store.clock = self.stage.clock
        self.jobs = jobs
        self.dice = random.Random(seed)
        self.tally = Tally()
        self.stage.receive = self._received
        self.begin()
        self.stage.play(SECOND)
        self.begin()

    def begin(self, wrong_by: timedelta = timedelta(0)) -> Process:
        """Start a process on a host whose clock may be wrong."""
        return self.stage.process(self.jobs, wrong_by=wrong_by)

    @property
    def leader(self) -> Process | None:
        """Who leads, if anybody does."""
        return next((process for process in self.stage.processes if process.leads and not process.ended), None)

    def step(self, size: timedelta, *, lasts: timedelta, whom: Process | None) -> None:
        """Set the clock of one host, or of all, for some time."""
        self.tally.steps += 1
        hosts = [process.host for process in self.stage.processes if whom in (None, process)]
        for host in hosts:
            host.wrong_by = size
        self.stage.play(lasts)
        for host in hosts:
            host.wrong_by = timedelta(0)

    def kill(self) -> None:
        """Kill the leader, and start another process."""
        if (leader := self.leader) is not None:
            leader.kill()
            self.stage.processes.remove(leader)
        self.begin()

    def end(self, after: timedelta = 2 * MINUTE) -> Tally:
        """Let everything that is due happen, then count."""
        self.stage.play(after)
        until = self.stage.clock.now()
        for each in self.jobs:
            assert each.timetable is not None
            expected = [period_of(tick) for tick in each.timetable.between(T0 + SECOND, until)]
            came = self.stage.periods(each.name)
            self.tally.ticks += len(expected)
            self.tally.lost += len(set(expected) - set(came))
            self.tally.doubled += len(came) - len(set(came))
            self.tally.missed += sum("MISSED" in row for row in self.stage.rows(each.name).values())
        return self.tally

    def _received(self, delivery: Delivery) -> None:
        assert delivery.scheduled_at is not None
        self.tally.early += delivery.scheduled_at > self.stage.clock.now()


@pytest.mark.parametrize("size", [sign * size for sign in (1, -1) for size in SIZES], ids=str)
@pytest.mark.parametrize("how", ["the leader's host", "all hosts", "killed"])
def test_a_step_from_five_seconds_before_a_tick_to_seven_after_it_changes_nothing(size: timedelta, how: str) -> None:
    """From :55 to :07; the leader may be killed while its clock is wrong."""
    play = Play(JOBS[1:] if how == "all hosts" else JOBS)
    play.stage.play(T0 + 55 * SECOND - play.stage.clock.now())
    leader = play.leader
    assert leader is not None
    if how == "killed":
        leader.host.wrong_by = size
        play.stage.play(6 * SECOND)
        play.kill()
    play.step(size, lasts=12 * SECOND, whom=leader if how == "the leader's host" else None)
    tally = play.end(after=MINUTE)
    assert (tally.lost, tally.early, tally.doubled, tally.missed) == (0, 0, 0, 0)
    assert tally.ticks > 15


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 20))])
def test_random_steps_with_killed_leaders_lose_nothing_double_nothing_and_send_nothing_early(seed: int) -> None:
    """Steps of seconds to days that last from a moment to minutes; new processes begin with a wrong clock too.

    The store tells whole seconds, so no step is shorter: a smaller error cannot be detected.
    """
    tally = random_play(seed).end()
    assert (tally.lost, tally.early, tally.doubled, tally.missed) == (0, 0, 0, 0)
    assert tally.steps >= 20


def random_play(seed: int) -> Play:
    """A play of some 30 minutes, drawn from a seed."""
    play = Play(JOBS, seed)
    dice = play.dice
    for _ in range(25):
        size = dice.choice((1, -1)) * dice.choice(SIZES) * dice.uniform(0.6, 1)
        whom = dice.choice((play.leader, None))
        play.step(size, lasts=timedelta(seconds=dice.choice((0.4, 3, 12, 40, 90))), whom=whom)
        if dice.random() < 0.2:
            if leader := play.leader:
                leader.host.wrong_by = size
                play.stage.play(timedelta(seconds=dice.uniform(0, 5)))
            play.kill()
            play.stage.processes[-1].host.wrong_by = size
        play.stage.play(timedelta(seconds=dice.uniform(0, 40)))
        for process in play.stage.processes:
            process.host.wrong_by = timedelta(0)
    return play


@pytest.mark.slow
def test_the_same_plays_find_a_clock_that_believes_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the store's time ticks are early, and lost or missed."""
    monkeypatch.setattr(StoreTime, "now", lambda self: self._host.now())
    tallies = [random_play(0).end()]
    assert sum(tally.early for tally in tallies) > 0
    assert sum(tally.lost for tally in tallies) > 0


def test_a_cursor_from_the_future_skips_nothing() -> None:
    """A leader of an earlier version wrote it, when its clock was an hour ahead, and was killed."""
    play = Play([job("second", timetable=Every(SECOND), starting_deadline=2 * MINUTE)])
    play.stage.play(20 * SECOND)
    leader = play.leader
    assert leader is not None
    for agenda in leader.service._agendas:
        agenda._see(play.stage.clock.now() + HOUR)
    assert leader.service._claim is not None
    leader.service._renew(leader.service._claim)
    play.kill()
    assert play.end().lost == 0
    assert play.stage.periods("second")[:3] == [at(n * SECOND) for n in (1, 2, 3)]


@pytest.mark.parametrize("size", [12 * SECOND, -12 * SECOND, HOUR, -HOUR], ids=str)
def test_with_a_store_without_a_clock_a_short_step_changes_nothing(size: timedelta) -> None:
    """SQLite and memory: all hosts are one host, and the step is taken back within a minute."""
    play = Play(JOBS)
    play.stage.store.__class__ = MemoryStore
    play.stage.play(T0 + 55 * SECOND - play.stage.clock.now())
    play.step(size, lasts=12 * SECOND, whom=None)
    tally = play.end()
    assert (tally.lost, tally.early, tally.doubled, tally.missed) == (0, 0, 0, 0)


def test_with_a_store_without_a_clock_a_long_step_is_followed_and_what_was_dropped_is_made_up() -> None:
    """An hour ahead for two minutes: what the clock judged meanwhile is looked at again when the step is taken back."""
    play = Play([job("second", timetable=Every(SECOND))])
    play.stage.play(20 * SECOND)
    play.stage.store.__class__ = MemoryStore
    for process in play.stage.processes:
        process.host.wrong_by = timedelta(0)
    play.step(HOUR, lasts=2 * MINUTE, whom=None)
    tally = play.end()
    assert (tally.lost, tally.doubled) == (0, 0)
