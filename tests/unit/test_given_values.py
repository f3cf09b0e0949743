"""Every public constructor and method takes what it is meant to take, or refuses it by name; nothing in between."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from cronce import Claim, InputInvalidError, Ledger, Policy, Reason, Trigger
from cronce.client.leadership import Leadership
from cronce.client.observer import Observer
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.policy import CatchUp, ConcurrencyPolicy, OnLost
from tests.support.builders import JOB, PERIOD, T0, TICK

if TYPE_CHECKING:
    from collections.abc import Callable

NAN, INFINITE = float("nan"), float("inf")
NEITHER_TEXT_NOR_MEMBER = (None, True, 1, b"FORBID", "NONSENSE", "", ["FORBID"], object())


def policy(**given: Any) -> Policy:  # noqa: ANN401  # what no type checker would let pass
    """A policy with fields of any type."""
    return Policy(**given)


AS_TEXT = [
    ("concurrency_policy", ConcurrencyPolicy),
    ("on_lost", OnLost),
    ("catch_up", CatchUp),
]


@pytest.mark.parametrize(("field", "kind"), AS_TEXT)
def test_a_policy_given_as_text_is_the_policy_of_that_name(field: str, kind: Any) -> None:  # noqa: ANN401
    """The very member, because the rules compare with `is`."""
    for member in kind:
        for text in (member, member.value, member.value.lower()):
            assert getattr(policy(**{field: text}), field) is member
            assert policy(**{field: text}) == policy(**{field: member})


@pytest.mark.parametrize(("field", "kind"), AS_TEXT)
@pytest.mark.parametrize("value", NEITHER_TEXT_NOR_MEMBER)
def test_a_policy_of_another_name_or_type_is_refused(field: str, kind: Any, value: object) -> None:  # noqa: ANN401
    """The error names the field and what is allowed."""
    with pytest.raises(InputInvalidError, match=rf"^{field}: .* allowed: {', '.join(kind)}$"):
        policy(**{field: value})


DURATIONS = ("lease", "starting_deadline", "active_deadline")


@pytest.mark.parametrize("field", DURATIONS)
@pytest.mark.parametrize(
    "value", [True, NAN, INFINITE, -INFINITE, -60, "-60s", "60 s", "", b"60s", [60], timedelta.min]
)
def test_a_duration_that_is_none_is_refused(field: str, value: object) -> None:
    """A bool, NaN and a negative one too."""
    with pytest.raises(InputInvalidError, match=rf"^{field}: "):
        policy(**{field: value})


@pytest.mark.parametrize("field", DURATIONS)
def test_a_duration_may_be_given_as_it_is_written(field: str) -> None:
    """As text, as seconds, and as a duration, which keeps the milliseconds that are stored."""
    expected = policy(**{field: timedelta(seconds=90)})
    assert policy(**{field: "90s"}) == policy(**{field: 90}) == policy(**{field: 90.0}) == expected
    exact = policy(**{field: timedelta(seconds=90, microseconds=1)})
    assert exact == expected == Policy.from_json(exact.to_json())


@pytest.mark.parametrize("field", ["starting_deadline", "active_deadline"])
def test_a_deadline_beyond_a_year_is_refused_as_its_text_is(field: str) -> None:
    """What a constructor takes, the environment of its task gives back."""
    longest = policy(**{field: timedelta(days=366)})
    assert Policy.from_json(longest.to_json()) == longest
    with pytest.raises(InputInvalidError, match=rf"^{field}: .*at most 366d"):
        policy(**{field: timedelta(days=366) + TICK})


@pytest.mark.parametrize("value", [True, False, 1.0, 1.5, NAN, -1, 1001, "-1", "1.0", "x", None, b"1"])
def test_a_backoff_limit_is_a_whole_number(value: object) -> None:
    """A bool is none."""
    with pytest.raises(InputInvalidError, match=r"^backoff_limit: .* a whole number from 0 to 1000"):
        policy(backoff_limit=value)


@pytest.mark.parametrize("value", [0, 1, "true", "no", None, [], "false"])
def test_a_flag_is_true_or_false(value: object) -> None:
    """The text "false" is true in Python, and a number is no flag."""
    with pytest.raises(InputInvalidError, match=r"^suspend: .* true or false"):
        policy(suspend=value)


def ledger(**changes: Any) -> Ledger:  # noqa: ANN401
    """A ledger in memory, of an owner called `me`."""
    return Ledger(MemoryStore(), **{"owner": "me"} | changes)


BAD_CLAIMS: list[tuple[str, dict[str, object]]] = [
    ("job", {"job": 7}),
    ("job", {"job": ""}),
    ("period", {"period": T0}),
    ("period", {"period": None}),
    ("policy", {"policy": "FORBID"}),
    ("policy", {"policy": {"lease": "60s"}}),
    ("scheduled_at", {"scheduled_at": "2026-11-29T06:00:00Z"}),
    ("scheduled_at", {"scheduled_at": T0.date()}),
    ("scheduled_at", {"scheduled_at": T0.replace(tzinfo=None)}),
    ("scheduled_at", {"scheduled_at": T0 + timedelta(microseconds=1)}),
    ("scheduled_at", {"scheduled_at": T0.timestamp()}),
    ("scheduled_at", {"scheduled_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}),
    ("scheduled_at", {"scheduled_at": datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2)))}),
    ("trigger", {"trigger": "cron"}),
    ("trigger", {"trigger": None}),
    ("trigger", {"trigger": True}),
    ("force", {"force": True}),
    ("force", {"force": ""}),
    ("force", {"force": "  "}),
    ("actor", {"actor": 5}),
    ("note", {"note": b"why"}),
    ("token", {"token": ""}),
    ("token", {"token": 5}),
    ("token", {"token": "x" * 257}),
    ("stop", {"stop": True}),
    ("stop", {"stop": threading.Lock()}),
]


@pytest.mark.parametrize(("what", "given"), BAD_CLAIMS)
def test_a_claim_refuses_what_it_cannot_use(what: str, given: dict[str, Any]) -> None:
    """By name, before anything is written."""
    asked = ledger()
    with pytest.raises(InputInvalidError, match=rf"^{what}: "):
        asked.claim(**{"job": JOB, "period": PERIOD} | given)
    assert asked.page(JOB).runs == ()


def test_a_claim_takes_texts_and_zones() -> None:
    """A trigger by its text, a time in any zone."""
    at = T0.astimezone(timezone(timedelta(hours=5, minutes=45)))
    claim = ledger().claim(JOB, "2026", trigger="Manual", scheduled_at=at)  # type: ignore[arg-type]  # on purpose
    assert isinstance(claim, Claim)
    assert claim.record.trigger is Trigger.MANUAL
    assert claim.record.scheduled_at == T0
    assert claim.record.scheduled_at.tzinfo is UTC


BAD_CALLS: dict[str, tuple[str, Callable[[Ledger], object]]] = {
    "a policy of the ledger": ("policy", lambda _: ledger(policy="FORBID")),
    "an owner of the ledger": ("owner", lambda _: ledger(owner=5)),
    "an owner that a function gives": ("owner", lambda _: ledger(owner=lambda: "").claim(JOB, PERIOD)),
    "a limit that is a bool": ("limit", lambda it: it.page(JOB, limit=True)),
    "a limit that is text": ("limit", lambda it: it.page(JOB, limit="5")),  # type: ignore[arg-type]
    "a limit that is no number": ("limit", lambda it: it.page(JOB, limit=NAN)),  # type: ignore[arg-type]
    "an actor that is nobody": ("actor", lambda it: it.release(JOB, PERIOD, actor="")),
    "force in words": ("force", lambda it: it.release(JOB, PERIOD, actor="ann", force="yes")),  # type: ignore[arg-type]
    "an owner that is nobody": ("owner", lambda it: Observer(it).mark_stopped(JOB, PERIOD, owner="")),
    "an exit code that is a bool": (
        "exit_code",
        lambda it: Observer(it).mark_stopped(JOB, PERIOD, owner="o", exit_code=True),
    ),
    "an exit code that is text": (
        "exit_code",
        lambda it: Observer(it).mark_stopped(JOB, PERIOD, owner="o", exit_code="1"),  # type: ignore[arg-type]
    ),
    "no reason": ("reason", lambda it: Observer(it).mark_missed(JOB, PERIOD, reason="", scheduled_at=None)),
    "a time without a zone": (
        "scheduled_at",
        lambda it: Observer(it).mark_missed(JOB, PERIOD, reason="r", scheduled_at=T0.replace(tzinfo=None)),
    ),
    "a trigger that is none": (
        "trigger",
        lambda it: Observer(it).mark_not_started(JOB, PERIOD, owner="o", error=None, scheduled_at=None, trigger="x"),  # type: ignore[arg-type]
    ),
    "a lease of a leader": ("lease", lambda it: Leadership(it, "clock", lease=NAN)),  # type: ignore[arg-type]
    "a poll of a leader": ("poll", lambda it: Leadership(it, "clock", lease=timedelta(seconds=9), poll=True)),  # type: ignore[arg-type]
    "a name of a leader": ("job", lambda it: Leadership(it, 5, lease=timedelta(seconds=9))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("what", "call"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_every_method_refuses_what_it_cannot_use(what: str, call: Callable[[Ledger], object]) -> None:
    """By name."""
    with pytest.raises(InputInvalidError, match=rf"^{what}: "):
        call(ledger())


def claimed() -> Claim:
    """A held attempt."""
    claim = ledger().claim(JOB, PERIOD)
    assert isinstance(claim, Claim)
    return claim


@pytest.mark.parametrize("reason", ["nonsense", None, True, 5])
def test_a_failure_has_a_known_reason(reason: Any) -> None:  # noqa: ANN401
    """The claim is still held after the refusal."""
    claim = claimed()
    with pytest.raises(InputInvalidError, match=r"^reason: "):
        claim.fail("why", reason=reason)
    claim.fail("why", reason="interrupted")  # type: ignore[arg-type]  # on purpose
    assert (claim.record.reason, claim.record.failures) == (Reason.INTERRUPTED, 0)


class Untold(Exception):  # noqa: N818  # an exception of somebody else's
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "recorded"),
    [(ValueError("no"), "ValueError: no"), (Untold(), "Untold"), ("no", "no"), (b"no", "bytes: b'no'"), (None, None)],
)
def test_a_failure_is_recorded_whatever_says_it(error: object, recorded: str | None) -> None:
    """A failure that cannot be told is still one."""
    claim = claimed()
    claim.fail(error)
    assert claim.record.error == recorded


class Secretive(dict[str, int]):
    """A mapping that does not want to be read."""

    def items(self) -> Any:  # noqa: ANN401, D102  # not for readers
        raise RuntimeError


def test_a_result_of_any_class_costs_no_success() -> None:
    """It is left out, and flagged."""
    claim = claimed()
    claim.complete(Secretive(a=1))
    assert (claim.record.status, claim.record.result, claim.record.result_flag) == ("SUCCEEDED", None, "NOT_JSON")


def test_a_checkpoint_of_any_class_is_refused_and_the_claim_kept() -> None:
    """The work goes on."""
    claim = claimed()
    assert not claim.checkpoint(Secretive(a=1))
    assert claim.checkpoint(1)
    assert claim.resume_from == 1
