"""One leader at a time: who waits, who follows, and what it costs."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim, InputInvalidError, Ledger, LedgerUnavailableError, Reason
from cronce.client.leadership import LEADER, Leadership
from cronce.client.observer import Observer
from cronce.protocol.records import MAX_CLOCK_SKEW, may_be_claimed, run_key
from cronce.protocol.transitions import Event
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.testing.lossy_store import LossyStore
from cronce.vocabulary.states import Status
from tests.support.builders import LEASE_IS_OVER_AT, T0, TICK, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record

NAME = "clock"
LEASE = timedelta(seconds=60)
POLL = timedelta(seconds=1)


class WatchedStore(MemoryStore):
    """Counts what it is asked, and fails if told to.

    Attributes:
        reads: Rows read so far.
        writes: Swaps so far, refused ones too.
        failing: Raised instead of an answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.writes = 0
        self.failing: Exception | None = None

    def get(self, job: str, key: str) -> Record | None:
        """As in memory, counted."""
        self.reads += 1
        self._fail()
        return super().get(job, key)

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """As in memory, counted."""
        self.writes += 1
        self._fail()
        return super().swap(record, expected)

    def _fail(self) -> None:
        if self.failing is not None:
            raise self.failing


class Hall:
    """A store, a clock, and those who want to lead."""

    def __init__(self) -> None:
        self.store = WatchedStore()
        self.clock = ManualClock(T0)
        self.stop = threading.Event()

    def aspirant(self, owner: str = "me", **options: Any) -> Leadership:  # noqa: ANN401  # Leadership's own
        """One who wants to lead."""
        given: dict[str, Any] = {"lease": LEASE, "clock": self.clock}
        return Leadership(self.ledger(owner), NAME, **given | options)

    def ledger(self, owner: str) -> Ledger:
        """The ledger as a process sees it."""
        return Ledger(self.store, owner=owner, clock=self.clock)

    def led_by(self, owner: str) -> Claim:
        """The claim of somebody who leads from now on."""
        claim = self.aspirant(owner).try_once()
        assert claim is not None
        return claim

    def wait(self, aspirant: Leadership, *, looks: int = 200) -> Claim | None:
        """What waiting leads to; asked to stop after so many looks."""
        self.clock.meanwhile(*[lambda: None] * (looks - 1), self.stop.set)
        return aspirant.wait(self.stop)

    def row(self) -> Record | None:
        """The leader's row."""
        return MemoryStore.get(self.store, NAME, run_key(LEADER))


@pytest.fixture
def hall() -> Hall:
    """Nobody leads yet."""
    return Hall()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The log lines so far, without the prefix of the keys."""
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    return [{key.removeprefix("cronce."): value for key, value in line.items()} for line in said]


def test_the_first_leads_at_once_with_one_request(hall: Hall) -> None:
    """A claim is the quickest question."""
    claim = hall.wait(hall.aspirant())
    assert claim is not None
    assert (claim.job, claim.period, claim.attempt) == (NAME, "leader", 1)
    assert (hall.store.reads, hall.store.writes, hall.clock.waits) == (0, 1, [])


def test_who_stands_by_reads_once_a_poll_and_writes_nothing(hall: Hall) -> None:
    """One refused write at the start, which tells who leads."""
    hall.led_by("other")
    hall.store.writes = 0
    aspirant = hall.aspirant()
    assert hall.wait(aspirant, looks=30) is None
    assert (hall.store.reads, hall.store.writes) == (29, 1)
    assert hall.clock.waits == [1.0] * 30


def test_a_release_is_followed_at_the_next_look(hall: Hall) -> None:
    """Within one poll; the attempt rises, and nothing counts as a failure."""
    leader = hall.led_by("other")
    hall.clock.meanwhile(lambda: None, lambda: leader.interrupt("stopped"))
    claim = hall.wait(hall.aspirant())
    assert claim is not None
    assert hall.clock.waits == [1.0, 1.0]
    assert (claim.attempt, claim.record.failures, claim.record.owner) == (2, 0, "me")


def test_a_dead_leader_is_followed_just_after_its_lease_and_the_skew_of_clocks(hall: Hall) -> None:
    """Not a look earlier."""
    hall.led_by("other")
    claim = hall.wait(hall.aspirant())
    assert claim is not None
    over = T0 + LEASE + MAX_CLOCK_SKEW
    assert over < hall.clock.now() <= over + POLL
    assert claim.attempt == 2


def test_a_living_leader_is_never_followed(hall: Hall) -> None:
    """Heartbeats put the end of its lease off."""
    leader = hall.led_by("other")
    hall.clock.meanwhile(*[leader.heartbeat] * 200)
    assert hall.wait(hall.aspirant(), looks=1) is None
    assert hall.clock.now() > T0 + LEASE + MAX_CLOCK_SKEW


def test_what_the_recorder_marks_is_followed_at_the_next_look(hall: Hall) -> None:
    """The leader's task stopped: long before its lease is over."""
    hall.led_by("arn:task")
    mark = lambda: Observer(hall.ledger("recorder")).mark_stopped(NAME, LEADER, owner="arn:task", exit_code=137)  # noqa: E731
    hall.clock.meanwhile(mark)
    claim = hall.wait(hall.aspirant())
    assert claim is not None
    assert hall.clock.waits == [1.0]
    assert [(past.owner, past.reason) for past in claim.record.attempts] == [("arn:task", "task_stopped")]


def test_a_deleted_row_is_followed_at_the_next_look(hall: Hall) -> None:
    """By a person in the console; the old leader's claim is lost at its next heartbeat."""
    hall.led_by("other")
    hall.clock.meanwhile(hall.store._items.clear)
    assert hall.wait(hall.aspirant()) is not None
    assert hall.clock.waits == [1.0]


def test_a_checkpoint_is_the_next_leaders(hall: Hall) -> None:
    """Whoever leads next resumes from it."""
    leader = hall.led_by("other")
    leader.checkpoint({"until": "06:00"})
    leader.interrupt("stopped")
    assert hall.led_by("me").resume_from == {"until": "06:00"}


def fail(claim: Claim) -> None:
    """End a term as a failure."""
    claim.fail("broken")


def replaced(claim: Claim) -> None:
    """End a term that somebody asked to end."""
    store = claim._driver._store
    run = claim.record
    store.swap(run.after(Event.CANCEL, cancel_requested="a person"), run)
    claim.interrupt("stopped")


ENDINGS: dict[str, Callable[[Claim], None]] = {
    "success": lambda claim: claim.complete("done"),
    "failure": fail,
    "interruption": lambda claim: claim.interrupt("stopped"),
    "clock skew": lambda claim: claim.fail(reason=Reason.CLOCK_SKEW),
    "replaced": replaced,
}


@pytest.mark.parametrize("end", ENDINGS.values(), ids=ENDINGS)
def test_no_ending_of_a_term_locks_the_next_leader_out(hall: Hall, end: Callable[[Claim], None]) -> None:
    """Not even twenty of them: neither limits nor a success bind a leader."""
    for term in range(1, 21):
        claim = hall.wait(hall.aspirant(f"leader-{term}"))
        assert claim is not None
        assert claim.attempt == term
        end(claim)
        hall.stop.clear()
    assert max(hall.clock.waits, default=0.0) <= POLL.total_seconds()


def test_a_row_without_a_lease_is_never_taken_silently(hall: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    """Something else wrote it; one line says how it is freed, and then it is followed."""
    foreign = run(job=NAME, period=LEADER, lease_until=None, heartbeat_at=None)
    hall.store.swap(foreign, None)
    assert hall.wait(hall.aspirant(), looks=500) is None
    (line,) = lines(capsys)
    assert line["event"] == "standby"
    assert "'cronce release' releases it" in line["message"]
    hall.ledger("a person").release(NAME, LEADER, actor="me")
    hall.stop.clear()
    assert hall.wait(hall.aspirant()) is not None


AWAY = {
    "for a while": LedgerUnavailableError("memory", "timed out", transient=True),
    "until somebody helps": LedgerUnavailableError("memory", "no such table", transient=False),
    "in a way nobody foresaw": RuntimeError("a bug of a driver"),
}


@pytest.mark.parametrize("error", AWAY.values(), ids=AWAY)
@pytest.mark.parametrize("led", [True, False], ids=["led", "not led"])
def test_nobody_leads_while_the_ledger_is_away_and_one_does_when_it_is_back(
    hall: Hall,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    led: bool,  # noqa: FBT001  # a test's parameter
) -> None:
    """K1: whatever the exception is. One line when it goes, one when it is back."""
    if led:
        leader = hall.led_by("other")
        leader.interrupt("stopped")
    aspirant = hall.aspirant()
    hall.store.failing = error
    assert hall.wait(aspirant, looks=100) is None
    hall.store.failing = None
    hall.stop.clear()
    claim = hall.wait(aspirant)
    assert claim is not None
    assert [(line["event"], line["level"]) for line in lines(capsys)] == [
        ("unavailable", "ERROR"),
        ("available", "INFO"),
    ]


def test_a_claim_that_landed_without_an_answer_is_found_again(hall: Hall) -> None:
    """L2: otherwise its own ghost keeps it out until that one's lease is over."""
    store = LossyStore(hall.store)
    aspirant = Leadership(Ledger(store, owner="me", clock=hall.clock), NAME, lease=LEASE, clock=hall.clock)
    gone: list[object] = []

    def fail_for_long() -> None:
        gone.append(hall.row())
        hall.store.failing = AWAY["until somebody helps"]

    def come_back() -> None:
        hall.store.failing = None

    store.losing, store.after_next_swap = 1, fail_for_long
    hall.clock.meanwhile(*[lambda: None] * 5, come_back)
    claim = hall.wait(aspirant)
    assert claim is not None
    assert len(gone) == 1
    assert (claim.attempt, claim.record.claimed_at) == (1, T0)
    assert hall.clock.now() < T0 + timedelta(seconds=10)


def test_the_line_names_the_cause(hall: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    """And says that nothing runs meanwhile."""
    hall.store.failing = AWAY["until somebody helps"]
    hall.wait(hall.aspirant(), looks=3)
    (line,) = lines(capsys)
    assert "no such table" in line["message"]
    assert "standby" in line["message"]


def test_who_leads_is_told_once_a_term(hall: Hall, capsys: pytest.CaptureFixture[str]) -> None:
    """Not with every look."""
    first = hall.led_by("first")

    def change() -> None:
        first.interrupt("stopped")
        hall.led_by("second")

    hall.clock.meanwhile(*[lambda: None] * 9, change)
    hall.wait(hall.aspirant(), looks=20)
    assert [(line["event"], line["holder"], line["attempt"]) for line in lines(capsys)] == [
        ("standby", "first", 1),
        ("standby", "second", 2),
    ]


def test_asked_to_stop_it_asks_nothing(hall: Hall) -> None:
    """Also if nobody leads."""
    hall.stop.set()
    assert hall.aspirant().wait(hall.stop) is None
    assert (hall.store.reads, hall.store.writes) == (0, 0)


def test_trying_once_is_one_request_if_another_one_leads(hall: Hall) -> None:
    """And raises if that is not known."""
    hall.led_by("other")
    hall.store.writes = 0
    assert hall.aspirant().try_once() is None
    assert (hall.store.reads, hall.store.writes) == (0, 1)
    hall.store.failing = AWAY["until somebody helps"]
    with pytest.raises(LedgerUnavailableError):
        hall.aspirant().try_once()


def test_of_many_at_once_one_leads(hall: Hall) -> None:
    """Each of them asks in the same moment."""
    aspirants = [hall.aspirant(f"aspirant-{number}") for number in range(16)]
    start = threading.Barrier(len(aspirants))

    def ask(aspirant: Leadership) -> Claim | None:
        start.wait()
        return aspirant.try_once()

    with ThreadPoolExecutor(len(aspirants)) as pool:
        claims = [claim for claim in pool.map(ask, aspirants) if claim]
    assert len(claims) == 1


def test_another_period_is_another_leader(hall: Hall) -> None:
    """The watchdog has one a schedule."""
    assert hall.aspirant("a", period="first").try_once() is not None
    assert hall.aspirant("b", period="second").try_once() is not None
    assert hall.aspirant("c", period="second").try_once() is None


def test_it_says_how_long_the_ledger_has_been_silent(hall: Hall) -> None:
    """Counted from the last answer, or from when it began to ask."""
    aspirant = hall.aspirant()
    hall.clock.advance(timedelta(hours=1))
    hall.led_by("other")
    seen: list[float] = []
    hall.clock.meanwhile(lambda: seen.append(aspirant.silent_for))
    hall.wait(aspirant, looks=2)
    assert seen == [1.0]
    hall.store.failing = AWAY["until somebody helps"]
    hall.stop.clear()
    hall.wait(aspirant, looks=90)
    assert aspirant.silent_for == 90.0


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"poll": timedelta(milliseconds=49)}, "poll"),
        ({"poll": timedelta(minutes=11)}, "poll"),
        ({"lease": timedelta(0)}, "lease"),
        ({"period": "a#b"}, "period"),
    ],
)
def test_what_cannot_be_used_is_named(hall: Hall, options: dict[str, Any], names: str) -> None:
    """Before anything is asked."""
    with pytest.raises(InputInvalidError, match=names):
        hall.aspirant(**options)


def test_a_lease_that_the_stores_time_limits_do_not_fit_is_an_error_and_no_outage() -> None:
    """It would never pass."""

    class SlowStore(MemoryStore):
        call_timeout = timedelta(seconds=2)

    aspirant = Leadership(Ledger(SlowStore()), NAME, lease=timedelta(seconds=5))
    with pytest.raises(InputInvalidError, match=r"^timeouts of"):
        aspirant.wait(threading.Event())


@pytest.mark.parametrize(
    ("status", "at", "free"),
    [
        (Status.RUNNING, T0, False),
        (Status.RUNNING, LEASE_IS_OVER_AT, False),
        (Status.RUNNING, LEASE_IS_OVER_AT + TICK, True),
        *[(status, T0, True) for status in Status if status is not Status.RUNNING],
    ],
)
def test_a_row_may_be_free_as_soon_as_a_claim_may_win_it(status: Status, at: Any, free: bool) -> None:  # noqa: ANN401, FBT001
    """Just before and just after the boundary."""
    assert may_be_claimed(run(status=status), at) is free
    assert may_be_claimed(None, at)
