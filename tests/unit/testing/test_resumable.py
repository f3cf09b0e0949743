"""`assert_resumable` passes what survives every kill, and finds what does not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from cronce import Claim, ConcurrencyPolicy, OnUnknown, Policy
from cronce.testing import Resumed, assert_resumable

CUSTOMERS = ["ann", "ben", "cem"]
MAILS: list[str] = []
send = MAILS.append
Job = Callable[[Claim], object]


def with_effects(claim: Claim, *, on_unknown: OnUnknown) -> int:
    """A mail to each customer, each an effect."""
    for customer in CUSTOMERS:
        with claim.once(customer, on_unknown=on_unknown) as effect:
            if effect:
                MAILS.append(customer)
    return len(CUSTOMERS)


def in_batches(claim: Claim, *, on_unknown: OnUnknown) -> int:
    """The same, noted two at a time."""
    for customer in claim.once_each(CUSTOMERS, batch=2, on_unknown=on_unknown):
        send(customer)
    return len(CUSTOMERS)


def unguarded(claim: Claim) -> None:
    """A mail to each customer."""
    claim.check()
    MAILS.extend(CUSTOMERS)


def by_checkpoint(claim: Claim) -> None:
    """A mail to each customer after the last checkpoint."""
    for number in range(int(str(claim.resume_from or 0)), len(CUSTOMERS)):
        MAILS.append(CUSTOMERS[number])
        claim.checkpoint(number + 1)


@pytest.mark.parametrize("job", [with_effects, in_batches])
@pytest.mark.parametrize("on_unknown", OnUnknown)
def test_a_job_whose_mails_are_effects_is_resumable(job: Callable[..., int], on_unknown: OnUnknown) -> None:
    """Under either choice."""
    found = assert_resumable(partial(job, on_unknown=on_unknown), effects=MAILS, on_unknown=on_unknown)
    assert found.kills == 2 * found.writes > 4


@pytest.mark.parametrize("policy", ConcurrencyPolicy)
def test_each_write_of_the_claim_is_killed_before_and_after(policy: ConcurrencyPolicy) -> None:
    """Three effects begin and end, the run ends; except under ALLOW, the slot is released."""
    job = partial(with_effects, on_unknown=OnUnknown.SKIP)
    found = assert_resumable(job, effects=MAILS, policy=Policy(concurrency_policy=policy))
    writes = 7 if policy is ConcurrencyPolicy.ALLOW else 8
    assert found == Resumed(writes=writes, kills=2 * writes)


@pytest.mark.parametrize(
    ("job", "on_unknown", "says"),
    [
        (
            unguarded,
            OnUnknown.SKIP,
            "killed just before write 1 (the end of the run), these happen again: 'ann', 'ben'",
        ),
        (unguarded, OnUnknown.REPEAT, "these happen again: 'ann', 'ben', 'cem'; 0 effects were UNKNOWN"),
        (by_checkpoint, OnUnknown.SKIP, "killed just before write 1 (checkpoint 1), these happen again: 'ann'"),
        (partial(with_effects, on_unknown=OnUnknown.SKIP), OnUnknown.REPEAT, "these never happen: 'ann'; 1 effects"),
        (partial(with_effects, on_unknown=OnUnknown.REPEAT), OnUnknown.SKIP, "these happen again: 'ann'; 1 effects"),
    ],
)
def test_a_job_that_is_not_resumable_is_found(job: Job, on_unknown: OnUnknown, says: str) -> None:
    """The message says at which write it was killed, and what was wrong afterwards."""
    with pytest.raises(AssertionError) as found:
        assert_resumable(job, effects=MAILS, on_unknown=on_unknown)
    assert says in str(found.value)


def test_a_checkpoint_makes_work_resumable_that_may_be_repeated() -> None:
    """Such as a file that is written anew: then its content is the outcome, and nothing is an effect."""
    pages: dict[int, str] = {}

    def job(claim: Claim) -> int:
        for number in range(int(str(claim.resume_from or 0)), 3):
            pages[number] = f"page {number}"
            claim.checkpoint(number + 1)
        return len(pages)

    found = assert_resumable(job, effects=[], outcome=lambda: dict(pages), reset=pages.clear)
    assert found.writes == 5


def test_a_result_or_an_outcome_that_depends_on_the_kill_is_found() -> None:
    """The number of mails of one attempt is not that of the run."""

    def job(claim: Claim) -> int:
        return sum(1 for _ in claim.once_each(CUSTOMERS))

    with pytest.raises(AssertionError, match="the result is 2 instead of 3"):
        assert_resumable(job, effects=[])
    attempts: list[int] = []
    with pytest.raises(AssertionError, match=r"the outcome is \[1, 2\] instead of \[1\]"):
        assert_resumable(
            lambda claim: attempts.append(claim.attempt),
            effects=[],
            outcome=lambda: list(attempts),
            reset=attempts.clear,
        )


def test_steps_are_writes_too() -> None:
    """A step is done again only if the kill came before its result was kept."""
    exported: list[str] = []

    def export() -> dict[str, int]:
        exported.append("file")
        return {"rows": 7}

    def job(claim: Claim) -> object:
        return claim.step("export", export)

    assert assert_resumable(job, effects=[], outcome=lambda: bool(exported), reset=exported.clear).writes == 3
    with pytest.raises(AssertionError, match="killed just before write 1 \\(step 'export'\\), these happen again"):
        assert_resumable(job, effects=exported)
