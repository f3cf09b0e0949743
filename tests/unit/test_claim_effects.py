"""`Claim.once`, `once_each` and `step`: what a job sees, and what its next attempt finds."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from cronce import EffectState, InputInvalidError, LeaseLostError, Ledger, LedgerUnavailableError, Policy
from cronce.client.claim import Claim
from cronce.protocol.records import EffectsRecord
from cronce.stores.memory import MemoryStore
from cronce.testing.clocks import ManualClock
from tests.support.builders import JOB, PERIOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record


class CountedStore(MemoryStore):
    """Counts the requests about effects, and lets a test act before a write."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0
        self.before_write: Callable[[], None] | None = None

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """Count, and let the test act."""
        if isinstance(record, EffectsRecord):
            self.writes += 1
            if self.before_write:
                self.before_write()
        return super().swap(record, expected)

    def get(self, job: str, key: str) -> Record | None:
        """Count."""
        self.reads += key.startswith("effect#")
        return super().get(job, key)


class Host:
    """A ledger, and a job that can be killed and started again."""

    def __init__(self) -> None:
        self.store = CountedStore()
        self.clock = ManualClock()

    def claim(self, **options: Any) -> Claim:  # noqa: ANN401  # those of `Ledger.claim`
        """The next attempt; what was before is dead."""
        self.clock.advance(timedelta(hours=1))
        ledger = Ledger(self.store, owner="me", clock=self.clock, policy=Policy(backoff_limit=100))
        claim = ledger.claim(JOB, PERIOD, **options)
        assert isinstance(claim, Claim), claim
        return claim


@pytest.fixture
def host() -> Host:
    """A host with an empty ledger."""
    return Host()


def test_a_key_is_tried_once_whoever_asks(host: Host) -> None:
    """In the same attempt, and in the next one."""
    claim = host.claim()
    with claim.once("ann") as first:
        assert first
        assert first.state is EffectState.NEVER_TRIED
    assert not claim.once("ann")
    again = host.claim().once("ann")
    assert (bool(again), again.state) == (False, EffectState.DONE)


def test_the_effect_is_noted_before_it_is_tried(host: Host) -> None:
    """A process that dies in the block leaves UNKNOWN; two writes and a read are all that an effect costs."""
    host.claim().once("ann")
    assert (host.store.reads, host.store.writes) == (1, 1)
    found = host.claim().once("ann")
    assert (bool(found), found.state) == (False, EffectState.UNKNOWN)


def test_what_is_unknown_is_repeated_by_choice(host: Host) -> None:
    """At least once; it costs no second note that it is tried."""
    host.claim().once("ann")
    claim = host.claim()
    with claim.once("ann", on_unknown="repeat") as effect:
        assert effect
        writes = host.store.writes
    assert host.store.writes == writes + 1
    assert not host.claim().once("ann", on_unknown="repeat")


def test_an_error_leaves_it_unknown(host: Host) -> None:
    """A mail server that does not answer may have sent the mail."""
    claim = host.claim()
    with suppress(TimeoutError), claim.once("ann"):
        raise TimeoutError
    assert not claim.once("ann")
    assert host.claim().once("ann", on_unknown="repeat")


def test_what_certainly_did_not_happen_is_tried_again(host: Host) -> None:
    """The job says so."""
    claim = host.claim()
    with claim.once("ann") as effect:
        effect.not_done()
    found = host.claim().once("ann")
    assert (bool(found), found.state) == (True, EffectState.NEVER_TRIED)


def test_done_may_be_said_in_the_block(host: Host) -> None:
    """What fails after it changes nothing; outside `with` it is the only way."""
    claim = host.claim()
    with suppress(ValueError), claim.once("ann") as effect:
        effect.done()
        raise ValueError
    claim.once("ben").done()
    later = host.claim()
    assert [later.once(key).state for key in ("ann", "ben")] == [EffectState.DONE, EffectState.DONE]


def test_a_loop_in_batches_needs_a_write_per_batch(host: Host) -> None:
    """Each write notes that the last batch is done and that the next one is tried."""
    keys = [f"customer-{number}" for number in range(10)]
    assert list(host.claim().once_each(keys, batch=3)) == keys
    assert (host.store.reads, host.store.writes) == (1, 5)
    assert list(host.claim().once_each(keys, batch=3)) == []


def test_a_crash_in_a_loop_leaves_one_batch_unknown(host: Host) -> None:
    """The batches before it are done, the ones after it never tried."""
    for customer in host.claim().once_each(range(100), key=str, batch=10):
        if customer == 25:
            break_off = [claim_state(host, str(number)) for number in range(40)]
            assert break_off == ["done"] * 20 + ["unknown"] * 10 + ["never_tried"] * 10
            return
    pytest.fail("the loop ended")


def claim_state(host: Host, key: str) -> str:
    """As the rows have it, without taking the tail."""
    record = host.store.get(JOB, f"effect#{PERIOD}#000001")
    assert isinstance(record, EffectsRecord)
    return record.effects.get(key, "never_tried")


def test_a_loop_that_ends_early_leaves_only_the_current_item_unknown(host: Host) -> None:
    """Its body did not come to its end. The others of the batch were never tried."""
    claim = host.claim()
    with claim:
        for customer in claim.once_each("abcd", batch=4):
            if customer == "b":
                break
    record = host.store.get(JOB, f"effect#{PERIOD}#000001")
    assert isinstance(record, EffectsRecord)
    assert record.effects == {"a": "done", "b": "unknown", "c": "never_tried", "d": "never_tried"}


def test_an_error_in_a_loop_is_noted_when_the_claim_fails(host: Host) -> None:
    """The end of the run is written after the notes that were still open."""
    claim = host.claim()
    with suppress(ValueError), claim:
        for customer in claim.once_each("abcd", batch=4):
            if customer == "c":
                raise ValueError
    assert list(host.claim().once_each("abcd", on_unknown="repeat")) == ["c", "d"]


def test_a_repeated_key_in_a_loop_is_tried_once(host: Host) -> None:
    """In one batch, and in two."""
    assert list(host.claim().once_each("aabca", batch=3)) == ["a", "b", "c"]


def test_an_effect_that_is_under_way_is_not_begun_again(host: Host) -> None:
    """Under `repeat` neither: only when its block has ended with an error is it unknown."""
    claim = host.claim()
    with suppress(TimeoutError), claim.once("ann", on_unknown="repeat"):
        assert not claim.once("ann", on_unknown="repeat")
        raise TimeoutError
    assert claim.once("ann", on_unknown="repeat")


def test_threads_share_writes_and_begin_an_effect_once(host: Host) -> None:
    """Also under `repeat`: what another thread has begun is not unknown."""
    claim = host.claim()
    begun: list[str] = []
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait()
        for number in range(50):
            for key in (f"shared-{number}", f"{thread}-{number}"):
                with claim.once(key, on_unknown="repeat") as effect:
                    if effect:
                        begun.append(key)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(8)))
    assert len(begun) == len(set(begun)) == 50 + 8 * 50
    assert list(host.claim().once_each(begun)) == []


def test_who_waits_while_another_thread_writes_is_in_the_next_write(host: Host) -> None:
    """Three notes, two writes."""
    claim = host.claim()
    claim.once("first").done()
    writing, others = threading.Event(), threading.Event()

    def hold() -> None:
        host.store.before_write = None
        writing.set()
        others.wait(10)

    host.store.before_write = hold
    writes = host.store.writes
    with ThreadPoolExecutor(3) as threads:
        one = threads.submit(claim.once, "ann")
        assert writing.wait(10)
        more = [threads.submit(claim.once, key) for key in ("ben", "cem")]
        effects = claim._effects
        assert effects is not None
        while len(effects._unwritten) < 3:  # what is being written is among them
            assert not others.wait(0.01)
        others.set()
        assert all(future.result() for future in (one, *more))
    assert host.store.writes == writes + 2


def test_a_claim_that_was_lost_tries_nothing(host: Host) -> None:
    """Its successor has the tail, and its own clock says so besides."""
    old = host.claim()
    old.once("ann").done()
    host.claim().once("ben")
    with pytest.raises(LeaseLostError):
        old.once("cem")
    assert old.is_lost()


def test_without_a_clock_the_tail_alone_keeps_a_lost_claim_out(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The owner believes that its lease lasts."""
    old = host.claim()
    old.once("ann").done()
    host.claim().once("ben")
    monkeypatch.setattr(type(old), "trust_left", 1.0)
    with pytest.raises(LeaseLostError, match="it is now attempt 2, RUNNING, of me"):
        old.once("cem")


def test_a_claim_that_is_lost_between_note_and_effect_does_not_try_it(host: Host) -> None:
    """The write took longer than the lease, and another attempt has begun."""
    claim = host.claim()

    def meanwhile() -> None:
        host.store.before_write = lambda: None
        host.clock.advance(timedelta(hours=1))
        host.claim()

    host.store.before_write = meanwhile
    with pytest.raises(LeaseLostError):
        claim.once("ann")


def test_a_row_that_cannot_be_read_is_an_error_and_the_claim_is_kept(host: Host) -> None:
    """A newer version wrote it; the job may decide to fail in order."""
    claim = host.claim()
    item = {"job": JOB, "key": f"effect#{PERIOD}#000001", "schema": 99, "version": 1}
    host.store._items[JOB, f"effect#{PERIOD}#000001"] = item
    with pytest.raises(LedgerUnavailableError, match="schema 99"):
        claim.once("ann")
    assert not claim.is_lost()
    claim.fail("no")


def test_a_forced_repeat_tries_everything_again(host: Host) -> None:
    """A person wants it so, and gives a reason."""
    with host.claim() as claim:
        claim.once("ann").done()
        assert claim.step("count", lambda: 1) == 1
    with host.claim(force="wrong prices") as again:
        assert again.once("ann")
        assert again.step("count", lambda: 2) == 2


def test_a_step_is_done_once_and_its_result_is_kept(host: Host) -> None:
    """A write for each; the first attempt gets the result in the form that later ones get."""
    claim = host.claim()
    assert claim.step("export", lambda: {"rows": (1, 2)}) == {"rows": [1, 2]}
    assert claim.step("nothing", lambda: None) is None
    assert (host.store.reads, host.store.writes) == (1, 2)
    later = host.claim()
    assert later.step("export", lambda: pytest.fail("repeated")) == {"rows": [1, 2]}
    assert later.step("nothing", lambda: pytest.fail("repeated")) is None


def test_a_step_that_fails_is_repeated(host: Host) -> None:
    """Nothing is noted before it ends."""
    claim = host.claim()
    with pytest.raises(ZeroDivisionError):
        claim.step("export", lambda: 1 / 0)
    assert host.claim().step("export", lambda: 7) == 7


@pytest.mark.parametrize("result", [object(), float("nan"), "x" * 40_000, b"bytes"])
def test_a_result_that_cannot_be_kept_is_an_error_that_names_the_step(host: Host, result: object) -> None:
    """A truncated result would be wrong."""
    with pytest.raises(InputInvalidError, match="result of step 'export'"):
        host.claim().step("export", lambda: result)


@pytest.mark.parametrize("key", ["", " ", "a\nb", "a\tb", "x" * 1025, "\ud800", None, 7])
def test_a_bad_key_is_an_error_and_nothing_is_written(host: Host, key: Any) -> None:  # noqa: ANN401  # what no type checker lets through
    """Of an effect, in a loop, and of a step."""
    claim = host.claim()
    with pytest.raises(InputInvalidError, match="key of the effect"):
        claim.once(key)
    with pytest.raises(InputInvalidError, match="key of the effect"):
        list(claim.once_each([key]))
    with pytest.raises(InputInvalidError, match="name of the step"):
        claim.step(key, int)
    assert host.store.writes == 0


@pytest.mark.parametrize("options", [{"on_unknown": "maybe"}, {"batch": 0}, {"batch": "3"}, {"batch": True}])
def test_bad_options_are_errors_before_the_loop_begins(host: Host, options: dict[str, Any]) -> None:
    """And name what is allowed."""
    with pytest.raises(InputInvalidError, match=next(iter(options))):
        host.claim().once_each("ab", **options)


def test_after_the_end_of_the_claim_nothing_is_begun(host: Host) -> None:
    """The claim is single use."""
    claim = host.claim()
    claim.once("ann").done()
    claim.complete()
    with pytest.raises(RuntimeError, match="already settled"):
        claim.once("ben")
