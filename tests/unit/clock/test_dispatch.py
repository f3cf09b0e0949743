"""One tick, from the ledger's yes to its end."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce.client.ledger import Ledger
from cronce.clock.agenda import Tick
from cronce.clock.config import CommandTarget, SqsTarget, TaskTarget
from cronce.clock.dispatch import Delivery, Dispatcher, DispatchFailedError, DispatchGivenUpError, TickEnding
from cronce.clock.plan import Verdict
from cronce.protocol.records import SlotRecord
from cronce.schedule import PeriodForm, parse
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from cronce.testing.lossy_store import LossyStore
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.policy import ConcurrencyPolicy, Policy
from cronce.vocabulary.states import Reason
from cronce.vocabulary.values import replace
from tests.support.clockwork import CLOCK, MINUTE, SECOND, T0, at, job

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.protocol.records import RunRecord
    from cronce.stores.store import Store

PERIOD = at(timedelta(0))


class Desk:
    """A dispatcher with its ledger, its time and what its target was given."""

    def __init__(self, store: Store | None = None) -> None:
        self.clock = ManualClock(T0 + SECOND)
        self.ledger = Ledger(store or MemoryStore(), owner="me", clock=self.clock)
        self.other = Ledger(store or self.ledger._store, owner="other", clock=self.clock)
        self.stop = threading.Event()
        self.give_up = threading.Event()
        self.given: list[Delivery] = []
        self.target: Callable[[Delivery], str | None] = lambda _: "receipt"
        self.dispatcher = Dispatcher(
            self.ledger, clock_name=CLOCK, send=self._send, clock=self.clock, stop=self.stop, give_up=self.give_up
        )

    def carry_out(self, verdict: Verdict = Verdict.ON_TIME, **changes: Any) -> TickEnding:  # noqa: ANN401  # fields of `Tick`
        """One try of the tick at T0."""
        default: dict[str, Any] = {"job": job(), "at": T0, "since": 0.0, "not_before": T0, "tries": 1}
        return self.dispatcher.carry_out(Tick(**default | changes), verdict)

    @property
    def row(self) -> RunRecord | None:
        """Its row."""
        return self.other.run(f"{CLOCK}:beat", PERIOD)

    def current(self) -> tuple[str, str | None]:
        """Status and reason of its row, which must be there."""
        row = self.row
        assert row is not None
        return str(row.status), row.reason

    def claim_elsewhere(self, **policy: Any) -> Any:  # noqa: ANN401  # a claim, used as such
        """Somebody else claims the tick."""
        allow = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW, **policy)
        return self.other.claim(f"{CLOCK}:beat", PERIOD, policy=allow, scheduled_at=T0)

    def _send(self, delivery: Delivery) -> str | None:
        self.given.append(delivery)
        return self.target(delivery)


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The events of the log so far."""
    return [json.loads(line)["cronce.event"] for line in capsys.readouterr().err.splitlines()]


def test_the_target_is_told_what_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Job, period and nominal time; its receipt is the run's result."""
    desk = Desk()
    assert desk.carry_out() is TickEnding.SETTLED
    (delivery,) = desk.given
    assert (delivery.job.name, delivery.period, delivery.scheduled_at) == ("beat", PERIOD, T0)
    assert json.loads(delivery.message) == {"job": "beat", "period": PERIOD, "scheduled_at": PERIOD}
    row = desk.row
    assert row is not None
    assert (row.status, row.result, row.scheduled_at, row.trigger) == ("SUCCEEDED", '"receipt"', T0, "schedule")
    (line,) = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert line["cronce.event"] == "tick_dispatched"
    assert (line["cronce.clock"], line["cronce.job"], line["cronce.period"]) == (CLOCK, f"{CLOCK}:beat", PERIOD)
    assert line["cronce.lateness"] == 1.0


def test_a_tick_of_a_suspended_job_is_a_row_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    """SKIPPED(suspended); the target is not called."""
    desk = Desk()
    assert desk.carry_out(job=job(suspend=True)) is TickEnding.SETTLED
    assert (desk.given, desk.current()) == ([], ("SKIPPED", "suspended"))
    assert told(capsys) == ["tick_refused"]


def test_a_tick_of_a_paused_job_is_a_row_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    """One look at the slot tells, and the target is not called until the job is resumed."""
    desk = Desk()
    desk.other.pause(f"{CLOCK}:beat", actor="ann", why="stocktaking")
    assert desk.carry_out() is TickEnding.SETTLED
    assert (desk.given, desk.current()) == ([], ("SKIPPED", "paused"))
    assert (row := desk.row) is not None
    assert (row.actor, row.note, row.scheduled_at) == ("ann", "stocktaking", T0)
    assert told(capsys) == ["tick_refused"]
    desk.other.resume(f"{CLOCK}:beat")
    later = T0 + MINUTE
    desk.clock.advance(MINUTE)
    assert desk.carry_out(at=later) is TickEnding.SETTLED
    assert [delivery.scheduled_at for delivery in desk.given] == [later]


@pytest.mark.parametrize(
    ("target", "started"),
    [
        (CommandTarget(arguments=("./enqueue",)), "beat"),
        (SqsTarget(url="https://sqs.eu-west-1.amazonaws.com/111122223333/work"), "beat"),
        (TaskTarget(job="daily-digest"), "daily-digest"),
    ],
)
def test_a_pause_of_the_started_job_holds_its_ticks_back(target: Any, started: str) -> None:  # noqa: ANN401  # of a kind
    """No command runs, no message is sent, no task starts; the row is the clock's, and the started job has none."""
    desk = Desk()
    desk.other.pause(started, actor="ann", why="stocktaking")
    assert desk.carry_out(job=job(target=target)) is TickEnding.SETTLED
    assert (desk.given, desk.current()) == ([], ("SKIPPED", "paused"))
    assert (row := desk.row) is not None
    assert (row.actor, row.note) == ("ann", "stocktaking")
    assert desk.other.run(started, PERIOD) is None
    desk.other.resume(started)
    desk.clock.advance(MINUTE)
    assert desk.carry_out(job=job(target=target), at=T0 + MINUTE) is TickEnding.SETTLED
    assert len(desk.given) == 1


def test_a_pause_of_the_clocks_own_name_does_not_depend_on_the_started_job() -> None:
    """And a job of the same name as the target's is another one."""
    desk = Desk()
    desk.other.pause("beat", actor="ann", why="stocktaking")
    assert desk.carry_out(job=job(target=TaskTarget(job="daily-digest"))) is TickEnding.SETTLED
    assert [delivery.job.name for delivery in desk.given] == ["beat"]


class _Denying(LossyStore):
    """A store whose role may not read the slot of one job, or does not hear of it for a moment."""

    def __init__(self, *, transient: bool) -> None:
        super().__init__(MemoryStore())
        self.transient = transient

    def get(self, job: str, key: str) -> Any:  # noqa: ANN401  # a record
        if job == "beat":
            raise LedgerUnavailableError("runs", "AccessDeniedException: dynamodb:GetItem", transient=self.transient)
        return super().get(job, key)


def test_where_the_role_may_not_read_the_started_job_its_claim_decides(capsys: pytest.CaptureFixture[str]) -> None:
    """The tick is sent, and the log says once that the pause is not seen."""
    desk = Desk(_Denying(transient=False))
    for minute in range(2):
        assert desk.carry_out(at=T0 + minute * MINUTE) is TickEnding.SETTLED
    assert len(desk.given) == 2
    assert told(capsys) == ["pause_not_seen", "tick_dispatched", "tick_dispatched"]


def test_while_the_store_does_not_say_whether_the_started_job_is_paused_the_tick_waits() -> None:
    """It is not sent on a guess."""
    desk = Desk(_Denying(transient=True))
    desk.stop.set()
    assert desk.carry_out() is TickEnding.AGAIN
    assert desk.given == []


def test_a_started_job_whose_slot_cannot_be_read_starts_nothing() -> None:
    """A newer version may have paused it."""
    desk = Desk()
    desk.other.pause("beat", actor="ann", why="stocktaking")
    store = desk.other._store
    slot = store.get("beat", "slot")
    assert isinstance(slot, SlotRecord)
    assert store.swap(replace(slot, version=slot.version + 1, schema=99), slot).written
    assert desk.carry_out() is TickEnding.AGAIN
    assert desk.given == []


def test_with_the_date_as_its_period_a_day_is_dispatched_once() -> None:
    """The schedule is moved from 06:00 to 10:00 after the first run: the second tick is done already."""
    desk = Desk()
    at_six = job(timetable=parse("0 6 * * *"), period_form=PeriodForm.DATE)
    at_ten = job(timetable=parse("0 10 * * *"), period_form=PeriodForm.DATE)
    assert desk.carry_out(job=at_six) is TickEnding.SETTLED
    desk.clock.advance(timedelta(hours=4))
    assert desk.carry_out(job=at_ten, at=T0 + timedelta(hours=4)) is TickEnding.SETTLED
    (delivery,) = desk.given
    assert json.loads(delivery.message) == {"job": "beat", "period": "2026-11-29", "scheduled_at": PERIOD}
    row = desk.other.run(f"{CLOCK}:beat", "2026-11-29")
    assert row is not None
    assert (row.status, row.scheduled_at) == ("SUCCEEDED", T0)


def test_what_is_caught_up_says_so() -> None:
    """And has no deadline."""
    desk = Desk()
    desk.clock.advance(timedelta(days=2))
    assert desk.carry_out(Verdict.CATCH_UP) is TickEnding.SETTLED
    assert desk.given[0].trigger == "catch_up"
    assert desk.current() == ("SUCCEEDED", None)


def test_a_tick_that_became_too_late_on_the_way_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    """The ledger has the last word on the deadline."""
    desk = Desk()
    desk.clock.advance(5 * MINUTE)
    assert desk.carry_out() is TickEnding.SETTLED
    assert (desk.given, desk.current()) == ([], ("MISSED", "too_late"))
    assert told(capsys) == ["tick_missed"]


def test_a_missed_tick_becomes_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    """A row that exists already is not changed."""
    desk = Desk()
    assert desk.carry_out(Verdict.MISS) is TickEnding.SETTLED
    assert (desk.given, desk.current()) == ([], ("MISSED", "too_late"))
    done = Desk()
    done.claim_elsewhere().complete()
    assert done.carry_out(Verdict.MISS) is TickEnding.SETTLED
    assert done.current() == ("SUCCEEDED", None)
    assert told(capsys) == ["tick_missed", "tick_refused"]


def test_a_tick_whose_tries_were_cut_short_is_told_as_failed(capsys: pytest.CaptureFixture[str]) -> None:
    """Its clock stopped before it could give up. One without a try left was reported already."""
    desk = Desk()
    desk.claim_elsewhere().fail("no")
    assert desk.carry_out(Verdict.MISS) is TickEnding.SETTLED
    assert desk.carry_out(Verdict.MISS, job=job(backoff_limit=0)) is TickEnding.SETTLED
    assert told(capsys) == ["tick_failed", "tick_refused"]


def test_what_another_clock_dispatches_is_looked_at_again() -> None:
    """By reading, which costs less than a claim that is refused."""
    desk = Desk()
    claim = desk.claim_elsewhere()
    assert desk.carry_out() is TickEnding.UNRESOLVED
    assert desk.carry_out(Verdict.MISS) is TickEnding.UNRESOLVED
    assert desk.carry_out(unresolved=True) is TickEnding.UNRESOLVED
    claim.complete()
    assert desk.carry_out(unresolved=True) is TickEnding.SETTLED
    assert desk.given == []


def test_what_another_clock_died_of_is_taken_over() -> None:
    """When its lease and the skew are over."""
    desk = Desk()
    desk.claim_elsewhere(lease=timedelta(seconds=20))
    desk.clock.advance(timedelta(seconds=25))
    assert desk.carry_out(unresolved=True) is TickEnding.UNRESOLVED
    desk.clock.advance(timedelta(milliseconds=1))
    assert desk.carry_out(unresolved=True) is TickEnding.SETTLED
    assert len(desk.given) == 1


@pytest.mark.parametrize(
    ("error", "silent"),
    [
        (DispatchFailedError("no"), set()),
        (DispatchFailedError("nothing", timed_out=True), {"beat"}),
        (ZeroDivisionError("a bug"), set()),
    ],
)
def test_a_failure_is_written_down_and_tried_again(error: Exception, silent: set[str]) -> None:
    """An error that nobody foresaw is one too."""
    desk = Desk()

    def fail(_: Delivery) -> str:
        raise error

    desk.target = fail
    assert desk.carry_out() is TickEnding.FAILED
    assert (desk.current(), desk.dispatcher.silent) == (("FAILED", "error"), silent)
    assert desk.carry_out(job=job(backoff_limit=1)) is TickEnding.SETTLED
    assert desk.carry_out(job=job(backoff_limit=1)) is TickEnding.SETTLED
    assert len(desk.given) == 2


def test_a_pause_in_which_another_clock_took_the_tick_keeps_the_target_from_being_called() -> None:
    """SIGSTOP right behind the claim, for longer than its lease."""
    store = LossyStore(MemoryStore())
    desk = Desk(store)

    def pause() -> None:
        desk.clock.advance(timedelta(seconds=90))
        desk.claim_elsewhere().complete()

    store.after_next_swap = pause
    assert desk.carry_out() is TickEnding.AGAIN
    assert desk.carry_out(tries=2) is TickEnding.SETTLED
    assert desk.given == []


def test_a_claim_that_would_not_last_for_the_call_is_given_back() -> None:
    """It is free at once, and the pause counts as no failure."""
    store = LossyStore(MemoryStore())
    desk = Desk(store)
    store.after_next_swap = lambda: desk.clock.advance(timedelta(seconds=11))
    assert desk.carry_out() is TickEnding.AGAIN
    assert (desk.given, desk.current()) == ([], ("FAILED", "interrupted"))
    row = desk.row
    assert row is not None
    assert row.failures == 0


def test_what_is_broken_off_is_free_at_once_and_counts_as_no_failure() -> None:
    """The clock ends; the next one begins anew."""
    desk = Desk()

    def break_off(_: Delivery) -> str:
        raise DispatchGivenUpError("the clock ends")

    desk.target = break_off
    assert desk.carry_out() is TickEnding.AGAIN
    row = desk.row
    assert row is not None
    assert (row.status, row.reason, row.failures) == ("FAILED", Reason.INTERRUPTED, 0)


def test_nothing_is_begun_when_this_process_cannot_wait_any_more() -> None:
    """The grace has ended."""
    desk = Desk()
    desk.give_up.set()
    assert desk.carry_out() is TickEnding.AGAIN
    assert desk.given == []


def test_a_late_success_of_a_paused_worker_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody else has taken the tick over by then; the log says that it may have been dispatched twice."""
    desk = Desk()

    def pause(_: Delivery) -> str:
        desk.clock.advance(MINUTE)
        desk.claim_elsewhere().complete("theirs")
        return "ours"

    desk.target = pause
    assert desk.carry_out() is TickEnding.SETTLED
    row = desk.row
    assert row is not None
    assert (row.owner, row.result) == ("other", '"theirs"')
    assert told(capsys) == ["tick_unclear", "tick_dispatched"]


def test_a_ledger_that_is_away_leaves_the_tick_for_later(capsys: pytest.CaptureFixture[str]) -> None:
    """It says so once."""

    class Away(MemoryStore):
        """Never answers."""

        def swap(self, *_: object) -> Any:  # noqa: ANN401  # never returns
            """Never."""
            raise LedgerUnavailableError("memory", "away", transient=False)

    desk = Desk(Away())
    assert desk.carry_out() is TickEnding.AGAIN
    assert desk.carry_out(tries=2) is TickEnding.AGAIN
    assert desk.given == []
    assert told(capsys) == ["unavailable"]


def test_an_error_that_nobody_foresaw_leaves_the_other_ticks_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """It never leaves the worker."""

    class Broken(MemoryStore):
        """Fails with an unexpected error."""

        def swap(self, *_: object) -> Any:  # noqa: ANN401  # never returns
            """Never."""
            raise ZeroDivisionError

    assert Desk(Broken()).carry_out() is TickEnding.AGAIN
    assert told(capsys) == ["tick_unclear"]


def test_a_foreign_row_without_a_lease_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of ours wrote it."""
    desk = Desk()
    desk.claim_elsewhere()
    assert isinstance(desk.ledger._store, MemoryStore)
    del desk.ledger._store._items[f"{CLOCK}:beat", f"run#{PERIOD}"]["lease_until"]
    assert desk.carry_out() is TickEnding.SETTLED
    assert desk.given == []
    assert told(capsys) == ["tick_refused"]
