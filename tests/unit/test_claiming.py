"""Every rule about a single run, and the claim that applies them until one stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.protocol.claiming import Begin, Mine, Settle, claim, decide
from cronce.protocol.holding import Held
from cronce.protocol.operations import Get, Now, Operation, Swap, Take
from cronce.protocol.records import KEPT_ATTEMPTS, MAX_CLOCK_SKEW, Liveness, PastAttempt, RunRecord
from cronce.protocol.requests import RefusalReason, Refused, Skewed
from cronce.vocabulary.errors import LedgerUnavailableError
from cronce.vocabulary.policy import ConcurrencyPolicy, OnLost
from cronce.vocabulary.states import Reason, Status, Trigger
from cronce.vocabulary.values import replace
from tests.support.builders import LEASE, LEASE_IS_OVER_AT, PERIOD, T0, TICK, request, run, slot
from tests.support.scripted import World

if TYPE_CHECKING:
    from cronce.protocol.requests import ClaimRequest

HOUR = timedelta(hours=1)
LATER = T0 + HOUR
ALLOW = ConcurrencyPolicy.ALLOW

FAILED, SUCCEEDED, SKIPPED, MISSED = Status.FAILED, Status.SUCCEEDED, Status.SKIPPED, Status.MISSED

TABLE = {
    # what is asked for, what stands, when, and what follows: a new attempt's number, a state to settle, or a refusal
    "nothing stands": (request(), None, T0, 1),
    "nothing stands, suspended": (request(suspend=True), None, T0, SKIPPED),
    "nothing stands, suspended, by a person": (request(suspend=True, trigger=Trigger.MANUAL), None, T0, 1),
    "done": (request(), run(status=SUCCEEDED), LATER, "ALREADY_SUCCEEDED"),
    "done, by a person": (request(trigger=Trigger.MANUAL), run(status=SUCCEEDED), LATER, "ALREADY_SUCCEEDED"),
    "done, forced": (request(force="wrong data"), run(status=SUCCEEDED), LATER, 2),
    "done, forced for this attempt": (request(force="wrong data", force_attempt=2), run(status=SUCCEEDED), LATER, 2),
    "done, forced for an earlier attempt": (
        request(force="wrong data", force_attempt=2),
        run(status=SUCCEEDED, attempt=2),
        LATER,
        "ALREADY_SUCCEEDED",
    ),
    "done by my own token": (request(), run(status=SUCCEEDED, token="token-of-me"), LATER, "ALREADY_SUCCEEDED"),
    "done, past its retention": (request(), run(status=SUCCEEDED, expires_at=T0 - HOUR), LATER, "ALREADY_SUCCEEDED"),
    "running": (request(), run(), T0, "RUNNING_ELSEWHERE"),
    "running, past its retention": (request(), run(expires_at=T0 - HOUR), T0, "RUNNING_ELSEWHERE"),
    "running, forced": (request(force="now"), run(), T0, "RUNNING_ELSEWHERE"),
    "running, by a person": (request(trigger=Trigger.MANUAL), run(), T0, "RUNNING_ELSEWHERE"),
    "running, the lease is over": (request(), run(), LEASE_IS_OVER_AT - MAX_CLOCK_SKEW, "RUNNING_ELSEWHERE"),
    "running, my clock is 4 s ahead": (request(), run(), T0 + LEASE + timedelta(seconds=4), "RUNNING_ELSEWHERE"),
    "running, just before lease and skew are over": (request(), run(), LEASE_IS_OVER_AT - TICK, "RUNNING_ELSEWHERE"),
    "running, at the end of lease and skew": (request(), run(), LEASE_IS_OVER_AT, "RUNNING_ELSEWHERE"),
    "running, just after lease and skew": (request(), run(), LEASE_IS_OVER_AT + TICK, 2),
    "lost, hold": (request(on_lost=OnLost.HOLD), run(), LATER, "HELD"),
    "lost, hold, by a person": (request(on_lost=OnLost.HOLD, trigger=Trigger.MANUAL), run(), LATER, "HELD"),
    "lost, hold, forced": (request(on_lost=OnLost.HOLD, force="checked"), run(), LATER, 2),
    "lost, hold, forced for this attempt": (
        request(on_lost=OnLost.HOLD, force="checked", force_attempt=2),
        run(),
        LATER,
        2,
    ),
    "lost, hold, forced for an earlier attempt": (
        request(on_lost=OnLost.HOLD, force="checked", force_attempt=2),
        run(attempt=2),
        LATER,
        "HELD",
    ),
    "lost, suspended": (request(suspend=True), run(), LATER, "SUSPENDED"),
    "lost, no attempt left": (request(), run(failures=1), LATER, "ATTEMPTS_EXHAUSTED"),
    "lost, no attempt left, by a person": (request(trigger=Trigger.BACKFILL), run(failures=1), LATER, 2),
    "no lease": (request(), run(lease_until=None), T0, "HELD"),
    "no lease, a year later": (request(), run(lease_until=None), T0 + timedelta(days=365), "HELD"),
    "no lease, by a person": (request(trigger=Trigger.MANUAL, force="x"), run(lease_until=None), LATER, "HELD"),
    "failed, no retry": (request(), run(status=FAILED, reason="error", failures=1), LATER, "ATTEMPTS_EXHAUSTED"),
    "failed, at the limit": (request(backoff_limit=2), run(status=FAILED, reason="error", failures=2), LATER, 2),
    "failed, just over the limit": (
        request(backoff_limit=2),
        run(status=FAILED, reason="error", failures=3),
        LATER,
        "ATTEMPTS_EXHAUSTED",
    ),
    "failed, by a person": (request(trigger=Trigger.MANUAL), run(status=FAILED, reason="error", failures=9), LATER, 2),
    "failed, suspended": (request(suspend=True, backoff_limit=1), run(status=FAILED, failures=1), LATER, "SUSPENDED"),
    "failed, its deadline over": (
        request(starting_deadline=HOUR / 2, scheduled_at=T0, backoff_limit=1),
        run(status=FAILED, reason="error", failures=1),
        LATER,
        2,
    ),
    "never launched": (request(), run(status=FAILED, reason="launch_failed", attempt=0), LATER, 1),
    "never launched, its deadline over": (
        request(starting_deadline=HOUR / 2, scheduled_at=T0),
        run(status=FAILED, reason="launch_failed", attempt=0),
        LATER,
        "TOO_LATE",
    ),
    "replaced": (request(backoff_limit=9), run(status=FAILED, reason="replaced"), LATER, "REPLACED"),
    "unclaimed": (request(backoff_limit=9), run(status=FAILED, reason="unclaimed", attempt=0), LATER, "HELD"),
    "unclaimed, by a person": (
        request(trigger=Trigger.MANUAL),
        run(status=FAILED, reason="unclaimed", attempt=0),
        LATER,
        1,
    ),
    "replaced, by a person": (request(trigger=Trigger.MANUAL), run(status=FAILED, reason="replaced"), LATER, 2),
    "interrupted": (request(), run(status=FAILED, reason="interrupted"), LATER, 2),
    "marked lost": (request(), run(status=FAILED, reason="lease_lost"), LATER, 2),
    "marked lost, hold": (request(on_lost=OnLost.HOLD), run(status=FAILED, reason="lease_lost"), LATER, "HELD"),
    "task stopped, hold": (request(on_lost=OnLost.HOLD), run(status=FAILED, reason="task_stopped"), LATER, "HELD"),
    "failed by itself, hold": (
        request(on_lost=OnLost.HOLD, backoff_limit=1),
        run(status=FAILED, reason="error", failures=1),
        LATER,
        2,
    ),
    "released": (request(on_lost=OnLost.HOLD), run(status=FAILED, reason="released"), LATER, 2),
    "skipped": (request(), run(status=SKIPPED, reason="overlap", attempt=0), LATER, "OVERLAPPING"),
    "skipped, under another policy now": (
        request(concurrency_policy=ConcurrencyPolicy.ALLOW, suspend=True),
        run(status=SKIPPED, reason="overlap", attempt=0),
        LATER,
        "OVERLAPPING",
    ),
    "skipped, a retry": (
        request(trigger=Trigger.RETRY),
        run(status=SKIPPED, reason="overlap", attempt=0),
        LATER,
        "OVERLAPPING",
    ),
    "skipped, but its work had begun": (request(), run(status=SKIPPED, reason="overlap"), LATER, 2),
    "skipped, its work had begun, no retry left": (
        request(),
        run(status=SKIPPED, reason="overlap", failures=1),
        LATER,
        "ATTEMPTS_EXHAUSTED",
    ),
    "skipped, its work had begun and was lost, held": (
        request(on_lost=OnLost.HOLD),
        run(
            status=SKIPPED,
            reason="overlap",
            attempts=(PastAttempt(attempt=1, status=FAILED, owner="o", reason="lease_lost"),),
        ),
        LATER,
        "HELD",
    ),
    "skipped, by a person": (request(trigger=Trigger.MANUAL), run(status=SKIPPED, reason="overlap"), LATER, 2),
    "skipped by suspension": (request(), run(status=SKIPPED, reason="suspended", attempt=0), LATER, "SUSPENDED"),
    "skipped by suspension, by a person": (
        request(trigger=Trigger.BACKFILL, suspend=True),
        run(status=SKIPPED, reason="suspended", attempt=0),
        LATER,
        1,
    ),
    "skipped by a foreign writer, suspended": (request(suspend=True), run(status=SKIPPED), LATER, "SUSPENDED"),
    "skipped, its deadline over": (
        request(starting_deadline=HOUR / 2, scheduled_at=T0),
        run(status=SKIPPED),
        LATER,
        "TOO_LATE",
    ),
    "missed": (request(), run(status=MISSED, attempt=0), LATER, 1),
    "missed, never delivered": (request(), run(status=MISSED, reason="never_delivered", attempt=0), LATER, 1),
    "missed, too late": (request(), run(status=MISSED, reason="too_late", attempt=0), LATER, "TOO_LATE"),
    "missed, too late, caught up": (
        request(trigger=Trigger.CATCH_UP),
        run(status=MISSED, reason="too_late", attempt=0),
        LATER,
        "TOO_LATE",
    ),
    "missed, too late, by a person": (
        request(trigger=Trigger.MANUAL),
        run(status=MISSED, reason="too_late", attempt=0),
        LATER,
        1,
    ),
    "missed, its deadline over": (
        request(starting_deadline=HOUR / 2, scheduled_at=T0),
        run(status=MISSED, attempt=0),
        LATER,
        "TOO_LATE",
    ),
    "missed, its deadline over, by a person": (
        request(starting_deadline=HOUR / 2, scheduled_at=T0, trigger=Trigger.BACKFILL),
        run(status=MISSED, attempt=0),
        LATER,
        1,
    ),
}


@pytest.mark.parametrize(("ask", "standing", "now", "follows"), TABLE.values(), ids=TABLE)
def test_what_stands_decides(
    ask: ClaimRequest, standing: RunRecord | None, now: datetime, follows: int | Status | str
) -> None:
    """Each row of the table, as it reads."""
    match decide(ask, standing, now):
        case Begin(record):
            assert follows == record.attempt
            assert (record.status, record.token, record.owner) == (Status.RUNNING, "token-of-me", "me")
            assert record.lease_until == now + LEASE
            assert record.version == (standing.version + 1 if standing else 1)
        case Settle(record, reason):
            assert follows == record.status
            assert (record.reason, reason) == (Reason.SUSPENDED, RefusalReason.SUSPENDED)
            assert (record.attempt, record.lease_until, record.finished_at) == (0, None, now)
        case Refused(reason, record):
            assert follows == reason
            assert record is standing
        case Mine():
            pytest.fail("a foreign run is not mine")


@pytest.mark.parametrize(
    ("late", "follows"),
    [
        (timedelta(0), Begin),
        (HOUR - TICK, Begin),
        (HOUR, Begin),
        (HOUR + TICK, Settle),
        (-HOUR, Begin),  # a clock that is early, or a tick of the future
    ],
)
def test_a_first_start_is_barred_just_after_its_deadline(late: timedelta, follows: type) -> None:
    """And leaves a row that says so."""
    decision = decide(request(starting_deadline=HOUR, scheduled_at=T0), None, T0 + late)
    assert isinstance(decision, follows)
    if isinstance(decision, Settle):
        assert (decision.record.status, decision.record.reason) == (Status.MISSED, Reason.TOO_LATE)


def test_without_a_scheduled_time_nothing_is_late() -> None:
    """A deadline needs a nominal time to count from."""
    assert isinstance(decide(request(starting_deadline=HOUR), None, LATER), Begin)


def test_a_row_with_my_token_is_mine() -> None:
    """The SDK sent my request twice and the first answer was lost (L1)."""
    mine = run(token="token-of-me", owner="me")
    assert decide(request(), mine, T0) == Mine(mine)


def test_a_retry_continues_where_the_last_attempt_stopped() -> None:
    """The checkpoint stays, what belongs to the attempt goes, and history remembers it."""
    failed = run(
        status=FAILED,
        attempt=3,
        reason="error",
        error="boom",
        exit_code=7,
        failures=2,
        checkpoint="1500",
        cancel_requested="replaced by x",
        blocked_by="x",
        scheduled_at=T0,
        extra={"team": "growth"},
    )
    decision = decide(request(backoff_limit=2, scheduled_at=LATER), failed, LATER)
    assert isinstance(decision, Begin)
    begun = decision.record
    assert (begun.attempt, begun.failures, begun.checkpoint, begun.scheduled_at) == (4, 2, "1500", T0)
    assert (begun.reason, begun.error, begun.exit_code, begun.finished_at) == (None, None, None, None)
    assert (begun.cancel_requested, begun.blocked_by, begun.extra) == (None, None, {"team": "growth"})
    assert begun.attempts == (
        PastAttempt(
            attempt=3,
            status=FAILED,
            owner="other",
            claimed_at=T0,
            finished_at=T0,
            reason="error",
            exit_code=7,
            error="boom",
        ),
    )


def test_each_attempt_says_what_it_ran() -> None:
    """The row that of the current one, its history those of the earlier ones; who never began ran nothing."""
    first = decide(request(ran="1.4.1 digest:16"), None, T0)
    assert isinstance(first, Begin)
    assert first.record.ran == "1.4.1 digest:16"
    second = decide(request(ran="1.4.2 digest:17", backoff_limit=1), replace(first.record, status=FAILED), LATER)
    assert isinstance(second, Begin)
    assert (second.record.ran, [past.ran for past in second.record.attempts]) == (
        "1.4.2 digest:17",
        ["1.4.1 digest:16"],
    )


def test_a_forced_repeat_starts_over_and_keeps_the_history() -> None:
    """Its reason and its person are recorded; the old result is not the new attempt's."""
    done = run(status=SUCCEEDED, result='{"sent":3}', result_flag="TRUNCATED", checkpoint="3100")
    decision = decide(request(force="wrong data", actor="ada", trigger=Trigger.MANUAL), done, LATER)
    assert isinstance(decision, Begin)
    begun = decision.record
    assert (begun.checkpoint, begun.result, begun.result_flag) == (None, None, None)
    assert (begun.note, begun.actor, begun.trigger) == ("wrong data", "ada", Trigger.MANUAL)
    assert [past.status for past in begun.attempts] == [SUCCEEDED]


def test_an_attempt_that_died_is_remembered_as_lost() -> None:
    """Nobody wrote its end, so the take-over does."""
    decision = decide(request(), run(), LATER)
    assert isinstance(decision, Begin)
    (past,) = decision.record.attempts
    assert (past.status, past.reason, past.finished_at) == (FAILED, Reason.LEASE_LOST, LATER)


def test_only_the_last_attempts_are_remembered() -> None:
    """A row does not grow without end."""
    past = tuple(PastAttempt(attempt=n, status=FAILED, owner="o") for n in range(1, KEPT_ATTEMPTS + 1))
    decision = decide(request(), run(attempt=11, attempts=past), LATER)
    assert isinstance(decision, Begin)
    assert [attempt.attempt for attempt in decision.record.attempts] == [*range(2, KEPT_ATTEMPTS + 2)]


def test_a_row_is_kept_for_the_retention() -> None:
    """From the last claim on, in whole seconds as DynamoDB's TTL wants it."""
    decision = decide(request(retention=HOUR), None, T0 + TICK)
    assert isinstance(decision, Begin)
    assert decision.record.expires_at == T0 + HOUR


# The claim as a whole.


def test_a_first_claim_without_a_slot_is_one_write() -> None:
    """Where every claim of the job is under ALLOW, as of a leader."""
    world = World()
    held = world.play(claim(request(concurrency_policy=ALLOW, has_slot=False)))
    assert isinstance(held, Held)
    assert (world.count(Swap), world.count(Get)) == (1, 0)
    assert world.run().concurrency_policy is None


def test_a_claim_under_allow_is_a_write_and_a_look_at_the_slot() -> None:
    """The first one after another policy writes there that runs without a slot may be alive."""
    world = World()
    held = world.play(claim(request(concurrency_policy=ALLOW)))
    assert isinstance(held, Held)
    assert (world.count(Swap), world.count(Get)) == (2, 1)
    assert (world.slot().mode, world.slot().period, world.slot().fence) == ("ALLOW", None, 0)
    world.asked.clear()
    assert isinstance(world.play(claim(request(concurrency_policy=ALLOW, period="2026-11-30"))), Held)
    assert (world.count(Swap), world.count(Get)) == (1, 1)
    assert world.run().concurrency_policy == "ALLOW"
    assert held.run == world.run()
    assert held.trusted_until == T0 + LEASE * 4 / 5


def test_a_duplicate_is_told_in_one_round_trip() -> None:
    """The refused write brings back what stands."""
    world = World(run())
    assert world.play(claim(request())) == Refused(RefusalReason.RUNNING_ELSEWHERE, run())
    assert (world.count(Swap), world.count(Get)) == (1, 0)
    assert world.run() == run()


def test_a_claim_takes_the_slot() -> None:
    """Under FORBID, the default."""
    world = World()
    held = world.play(claim(request()))
    assert isinstance(held, Held)
    assert held.slot == world.slot()
    assert (held.fence, world.slot().token) == (1, "token-of-me")


def test_the_winner_whose_answer_was_lost_is_the_winner() -> None:
    """Its own row refuses the request that was sent again (L1)."""
    world = World()
    world.lose_answer(1)
    held = world.play(claim(request(concurrency_policy=ALLOW)))
    assert isinstance(held, Held)
    assert held.run == world.run()


def test_the_winner_who_meanwhile_was_asked_to_stop_is_the_winner() -> None:
    """The row is not equal to what was written any more, but its token is mine; trust counts from the request."""
    world = World()
    mine = run(token="token-of-me", owner="me", version=2, cancel_requested="replaced by x")

    def written_and_changed() -> None:
        world.put(mine)
        world.now += timedelta(seconds=3)

    world.before(Swap, 1, written_and_changed)
    held = world.play(claim(request(concurrency_policy=ALLOW)))
    assert isinstance(held, Held)
    assert (held.run, held.sent_at) == (mine, T0)


def test_a_row_of_mine_that_does_not_say_when_it_was_written_is_renewed_first() -> None:
    """Somebody edited it; its lease counts as over."""
    world = World(run(token="token-of-me", owner="me", heartbeat_at=None))
    held = world.play(claim(request(concurrency_policy=ALLOW)))
    assert isinstance(held, Held)
    assert (held.sent_at, world.run().heartbeat_at, world.run().version) == (T0, T0, 2)


def test_losing_a_take_over_is_decided_again() -> None:
    """Somebody else took the dead run between the look and the write."""
    world = World(run(), now=LATER)
    successor = run(version=2, attempt=2, token="third", lease_until=LATER + LEASE)
    world.before(Swap, 2, lambda: world.put(successor))
    assert world.play(claim(request())) == Refused(RefusalReason.RUNNING_ELSEWHERE, successor)
    assert world.run() == successor


def test_a_row_that_vanished_is_claimed_anew() -> None:
    """A person deleted it between the look and the write."""
    world = World(run(), now=LATER)
    world.before(Swap, 2, lambda: world.delete(run()))
    held = world.play(claim(request(concurrency_policy=ALLOW)))
    assert isinstance(held, Held)
    assert held.run.attempt == 1


def test_a_row_deleted_and_begun_anew_is_not_overwritten() -> None:
    """Its version is the old one's again; its token is not."""
    begun_anew = run(token="third", lease_until=LATER + LEASE)
    world = World(run(), now=LATER)
    world.before(Swap, 2, lambda: world.put(begun_anew))
    assert world.play(claim(request())) == Refused(RefusalReason.RUNNING_ELSEWHERE, begun_anew)
    assert world.run() == begun_anew


def test_a_settled_tick_leaves_its_row() -> None:
    """Every tick ends in a visible state."""
    world = World(now=LATER)
    refused = world.play(claim(request(starting_deadline=HOUR / 2, scheduled_at=T0)))
    assert refused == Refused(RefusalReason.TOO_LATE, world.run())
    assert (world.run().status, world.run().reason) == (Status.MISSED, Reason.TOO_LATE)


def test_losing_the_race_for_a_settled_tick_is_decided_again() -> None:
    """The one who was in time has it."""
    world = World(run(status=SUCCEEDED))
    assert world.play(claim(request(suspend=True))) == Refused(RefusalReason.ALREADY_SUCCEEDED, world.run())


@pytest.mark.parametrize("skew", [MAX_CLOCK_SKEW - TICK, MAX_CLOCK_SKEW])
def test_a_small_skew_is_borne(skew: timedelta) -> None:
    """Just before and at the limit."""
    world = World(run(), now=LATER)
    world.skew = skew
    assert isinstance(world.play(claim(request())), Held)


def test_a_clock_ten_minutes_ahead_steals_nothing() -> None:
    """It is found out by the store's own time, and nothing is written (L17)."""
    world = World(run(), now=T0 + timedelta(minutes=10))
    world.skew = timedelta(minutes=10)
    assert world.play(claim(request())) == Skewed(timedelta(minutes=10))
    assert world.run() == run()


def test_a_skewed_clock_gives_its_first_claim_back() -> None:
    """The skew is known only from the answer; the attempt is not held against the run."""
    world = World()
    world.skew = MAX_CLOCK_SKEW + TICK
    assert world.play(claim(request())) == Skewed(MAX_CLOCK_SKEW + TICK)
    assert (world.run().status, world.run().reason, world.run().failures) == (FAILED, Reason.CLOCK_SKEW, 0)
    world.skew = timedelta(0)
    assert isinstance(world.play(claim(request())), Held)


def test_a_skewed_clock_does_not_call_a_tick_late() -> None:
    """The store's clock is heard before that judgement is written down; the tick stays untouched."""
    world = World(now=LATER)
    world.skew = HOUR
    assert world.play(claim(request(starting_deadline=HOUR / 2, scheduled_at=T0))) == Skewed(HOUR)
    assert world.count(Swap) == 0


@pytest.mark.parametrize(("lease", "bearable"), [(3600, 5.0), (60, 5.0), (35, 5.0), (34, 4.9), (10, 2.5), (0.5, 1.55)])
def test_a_short_lease_bears_less_skew(lease: float, bearable: float) -> None:
    """Two hosts may be twice as far apart, and the owner's fifth of the lease has to cover the rest."""
    ask = request(lease=timedelta(seconds=lease), concurrency_policy=ALLOW)
    assert ask.bearable_skew == timedelta(seconds=bearable)
    world = World()
    world.skew = ask.bearable_skew
    assert isinstance(world.play(claim(ask)), Held)
    world = World()
    world.skew = ask.bearable_skew + TICK
    assert isinstance(world.play(claim(ask)), Skewed)


TRUST_ENDS = LEASE * 4 / 5


@pytest.mark.parametrize(("pause", "renewals"), [(TRUST_ENDS - TICK, 0), (TRUST_ENDS, 1), (TRUST_ENDS + TICK, 1)])
def test_a_claim_whose_trust_ran_out_is_renewed_first(pause: timedelta, renewals: int) -> None:
    """A pause between the run and the slot: just before, at and just after four fifths of the lease."""
    world = World()

    def sleep() -> None:
        world.now += pause

    world.before(Take, 1, sleep)
    held = world.play(claim(request()))
    assert isinstance(held, Held)
    assert world.count(Swap) == 1 + renewals
    assert held.trusted_until == (T0 + pause if renewals else T0) + TRUST_ENDS
    assert world.now < held.trusted_until


@pytest.mark.parametrize("policy", [ALLOW, ConcurrencyPolicy.FORBID])
def test_a_claim_that_was_taken_over_before_it_was_returned_is_refused(policy: ConcurrencyPolicy) -> None:
    """And lets go of the slot that it still got."""
    world = World()
    successor = run(version=9, attempt=2, token="third")

    def paused() -> None:
        world.now += LEASE * 2
        world.put(successor)

    # Just before the last look at the clock: with a slot that is the third, else the second.
    world.before(Now, 2 if policy is ALLOW else 3, paused)
    assert world.play(claim(request(concurrency_policy=policy))) == Refused(RefusalReason.LEASE_LOST, successor)
    assert world.run() == successor
    if policy is not ALLOW:
        assert world.slot().period is None


def test_a_blocked_claim_is_refused_with_its_row() -> None:
    """Another period of the job is at work."""
    yesterday = run(period="2026-11-28")
    world = World(yesterday, slot(yesterday))
    refused = world.play(claim(request()))
    assert refused == Refused(RefusalReason.OVERLAPPING, world.run())
    assert (world.run().status, world.run().blocked_by) == (Status.SKIPPED, "2026-11-28")


def test_a_dead_run_is_taken_over_with_its_slot() -> None:
    """Blocked until the lease is over, then attempt 2; retention plays no role (L3)."""
    dead = run(expires_at=T0 + timedelta(days=400))
    world = World(dead, slot(dead), now=LEASE_IS_OVER_AT)
    assert isinstance(world.play(claim(request())), Refused)
    world.now += TICK
    held = world.play(claim(request()))
    assert isinstance(held, Held)
    assert (held.run.attempt, held.fence) == (2, slot(dead).fence + 1)


def test_a_retry_keeps_the_rows_unknown_attributes() -> None:
    """Another version of cronce may have written them."""
    world = World(replace(run(), extra={"team": "growth"}), now=LATER)
    world.play(claim(request()))
    assert world.run(PERIOD).extra == {"team": "growth"}


def test_an_earlier_attempt_keeps_the_reason_of_its_own_end() -> None:
    """A success that a person repeats was not lost; an attempt that was taken over was."""
    done = run(status=Status.SUCCEEDED)
    forced = decide(request(trigger=Trigger.MANUAL, force="why"), done, T0)
    assert isinstance(forced, Begin)
    assert [(past.status, past.reason, past.finished_at) for past in forced.record.attempts] == [
        (Status.SUCCEEDED, None, T0)
    ]
    later = LEASE_IS_OVER_AT + TICK
    taken = decide(request(), run(), later)
    assert isinstance(taken, Begin)
    assert [(past.status, past.reason, past.finished_at) for past in taken.record.attempts] == [
        (Status.FAILED, Reason.LEASE_LOST, later)
    ]


@pytest.mark.parametrize("year", [1, 9999])
def test_a_lease_at_the_edge_of_the_calendar_is_judged_like_any_other(year: int) -> None:
    """No date of a foreign writer stops a claim with an error of arithmetic."""
    at = datetime.max.replace(tzinfo=UTC) if year > 1 else datetime.min.replace(tzinfo=UTC)
    standing = run(lease_until=at)
    expected = Liveness.EXPIRED if year == 1 else Liveness.ALIVE
    assert standing.liveness(T0) is expected
    assert isinstance(decide(request(), standing, T0), Begin if year == 1 else Refused)


@pytest.mark.parametrize(("policy", "request_of_slot"), [(ALLOW, Get), (ConcurrencyPolicy.FORBID, Take)])
def test_a_run_whose_slot_cannot_be_used_is_given_back(
    policy: ConcurrencyPolicy, request_of_slot: type[Operation]
) -> None:
    """At once, with the error; the next claim takes it over."""
    world = World()
    world.cut_off(request_of_slot, 1)
    with pytest.raises(LedgerUnavailableError, match="cut off"):
        world.play(claim(request(concurrency_policy=policy)))
    mine = world.run()
    assert (mine.status, mine.reason, mine.failures) == (Status.FAILED, Reason.SLOT_UNUSABLE, 0)
    assert "cut off" in str(mine.error)
    assert isinstance(decide(request(), mine, T0), Begin)


def test_a_run_that_cannot_be_given_back_either_is_free_when_its_lease_expires() -> None:
    """The first error is the one that is told."""
    world = World()
    world.cut_off(Take, 1)
    world.cut_off(Swap, 2)
    with pytest.raises(LedgerUnavailableError, match="cut off"):
        world.play(claim(request()))
    assert world.run().status is Status.RUNNING
