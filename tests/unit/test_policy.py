"""A policy as JSON, and what it refuses."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.policy import CatchUp, ConcurrencyPolicy, OnLost, Policy

SECOND = timedelta(seconds=1)
TICK = timedelta(milliseconds=1)


def test_the_defaults_are_the_documented_ones() -> None:
    """FORBID, no retry, a lease of a minute."""
    assert Policy() == Policy(
        concurrency_policy=ConcurrencyPolicy.FORBID,
        starting_deadline=None,
        active_deadline=None,
        backoff_limit=0,
        suspend=False,
        catch_up=CatchUp.NONE,
        on_lost=OnLost.RETRY,
        lease=60 * SECOND,
    )
    assert Policy().to_json() == "{}"


def test_every_field_is_read_as_a_person_writes_it() -> None:
    """Case does not matter, durations have units, a number may be text as on a command line."""
    text = """{"concurrency_policy": "wait", "starting_deadline": "1h", "active_deadline": 90, "backoff_limit": "2",
               "suspend": true, "catch_up": "Latest", "on_lost": "HOLD", "lease": "30s"}"""
    assert Policy.from_json(text) == Policy(
        concurrency_policy=ConcurrencyPolicy.WAIT,
        starting_deadline=timedelta(hours=1),
        active_deadline=90 * SECOND,
        backoff_limit=2,
        suspend=True,
        catch_up=CatchUp.LATEST,
        on_lost=OnLost.HOLD,
        lease=30 * SECOND,
    )


def test_an_exclusion_group_is_for_forbid_and_wait() -> None:
    """And survives the way through a task's environment."""
    for policy in ("FORBID", "WAIT"):
        grouped = Policy.from_fields({"exclusion_group": "billing", "concurrency_policy": policy})
        assert Policy.from_json(grouped.to_json()) == grouped
    for policy in ("ALLOW", "REPLACE"):
        with pytest.raises(InputInvalidError) as refused:
            Policy.from_fields({"exclusion_group": "billing", "concurrency_policy": policy})
        assert str(refused.value) == (
            "policy exclusion_group: 'billing' is not usable;"
            f" allowed: only with concurrency_policy FORBID or WAIT, not {policy}"
        )


@pytest.mark.parametrize("name", ["", "a b", "a/b", "group:billing", "é", "a" * 101, 7, ["billing"]])
def test_a_name_that_no_group_can_have_is_refused(name: object) -> None:
    """It is part of a key and of IAM policies."""
    with pytest.raises(InputInvalidError, match=r"^exclusion_group: .* allowed: the name of a group: 1 to 100 of A-Z"):
        Policy(exclusion_group=name)  # type: ignore[arg-type]
    assert Policy(exclusion_group="a" * 100).exclusion_group == "a" * 100


def test_a_deadline_may_be_null() -> None:
    """Then there is none."""
    assert Policy.from_json('{"starting_deadline": null, "active_deadline": null}') == Policy()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "CRONCE_POLICY: '' is not usable; allowed: a JSON object"),
        ("{", "allowed: a JSON object, each field once"),
        ("[]", "allowed: a JSON object"),
        ("null", "allowed: a JSON object"),
        ("7", "allowed: a JSON object"),
        ("[" * 100_000, "allowed: a JSON object"),
        ('{"lease": "1m", "lease": "2m"}', "each field once"),
        ('{"leese": "1m"}', "CRONCE_POLICY field: 'leese' is not usable; allowed: concurrency_policy, "),
        (
            '{"concurrency_policy": "NEVER"}',
            "CRONCE_POLICY concurrency_policy: 'NEVER' .* ALLOW, FORBID, REPLACE, WAIT",
        ),
        ('{"concurrency_policy": null}', "CRONCE_POLICY concurrency_policy"),
        ('{"on_lost": "IGNORE"}', "allowed: RETRY, HOLD"),
        ('{"catch_up": 1}', "allowed: NONE, LATEST, ALL"),
        ('{"backoff_limit": true}', "backoff_limit: True .* a whole number"),
        ('{"backoff_limit": 1.5}', "backoff_limit: 1.5 .* a whole number"),
        ('{"backoff_limit": "-1"}', "backoff_limit: '-1' .* a whole number"),
        ('{"backoff_limit": "10000"}', "backoff_limit: '10000' .* a whole number"),
        ('{"backoff_limit": "٣"}', "backoff_limit: .* a whole number"),
        ('{"backoff_limit": -1}', "backoff_limit: -1 .* from 0 to 1000"),
        ('{"backoff_limit": 1001}', "backoff_limit: 1001 .* from 0 to 1000"),
        ('{"suspend": "yes"}', "suspend: 'yes' .* true or false"),
        ('{"lease": null}', "lease: None"),
        ('{"lease": "0"}', "lease: '0ms' .* 500ms to 1h"),
        ('{"active_deadline": false}', "active_deadline: False"),
    ],
)
def test_a_bad_policy_is_refused_by_the_name_of_its_field(text: str, says: str) -> None:
    """One line: what was given, and what may be."""
    with pytest.raises(InputInvalidError, match=says) as refused:
        Policy.from_json(text, what="CRONCE_POLICY")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("lease", [timedelta(milliseconds=500), timedelta(hours=1)])
def test_a_lease_at_its_limits_is_taken(lease: timedelta) -> None:
    """Half a second to an hour."""
    assert Policy(lease=lease).lease == lease


@pytest.mark.parametrize("lease", [timedelta(milliseconds=499), timedelta(hours=1) + TICK, timedelta(0), -SECOND])
def test_a_lease_beyond_its_limits_is_refused(lease: timedelta) -> None:
    """Just before the shortest, just after the longest."""
    with pytest.raises(InputInvalidError, match=r"^lease: "):
        Policy(lease=lease)


@pytest.mark.parametrize("name", ["starting_deadline", "active_deadline"])
def test_a_deadline_is_at_least_a_second(name: str) -> None:
    """A shorter one could never be met."""
    assert getattr(Policy.from_fields({name: "1s"}), name) == SECOND
    with pytest.raises(InputInvalidError, match=f"^policy {name}: '999ms' .* at least 1s"):
        Policy.from_fields({name: "999ms"})


@pytest.mark.parametrize(("limit", "taken"), [(-1, False), (0, True), (1000, True), (1001, False)])
def test_a_backoff_limit_is_a_small_number(limit: int, taken: bool) -> None:  # noqa: FBT001  # a table's column
    """0 to 1000."""
    if taken:
        assert Policy(backoff_limit=limit).backoff_limit == limit
    else:
        with pytest.raises(InputInvalidError):
            Policy(backoff_limit=limit)


_deadlines = st.none() | st.integers(1000, 86_400_000).map(lambda ms: timedelta(milliseconds=ms))


@given(
    st.builds(
        Policy,
        concurrency_policy=st.sampled_from(ConcurrencyPolicy),
        starting_deadline=_deadlines,
        active_deadline=_deadlines,
        backoff_limit=st.integers(0, 1000),
        suspend=st.booleans(),
        catch_up=st.sampled_from(CatchUp),
        on_lost=st.sampled_from(OnLost),
        lease=st.integers(500, 3_600_000).map(lambda ms: timedelta(milliseconds=ms)),
    )
)
def test_a_policy_reads_back_what_it_writes(policy: Policy) -> None:
    """As JSON, whatever it says."""
    assert Policy.from_json(policy.to_json()) == policy
    assert isinstance(json.loads(policy.to_json()), dict)
