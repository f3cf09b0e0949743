"""Faults that last: what is insisted on, for how long, and what the caller is told."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError

from cronce import (
    Claim,
    ClockSkewError,
    ConcurrencyPolicy,
    InputInvalidError,
    LeaseLostError,
    Ledger,
    LedgerUnavailableError,
    Policy,
    Reason,
    Refusal,
    RefusalReason,
    Status,
)
from cronce.protocol.records import RunRecord
from cronce.stores.dynamo import DynamoStore
from cronce.testing.clocks import ManualClock
from tests.support.faulty_wire import Fault, Wire, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_dynamodb import DynamoDBClient

    from tests.conformance.stores import DynamoLab

PERIOD = "2026-11-29"
ALLOW = Policy(concurrency_policy=ConcurrencyPolicy.ALLOW)
LEASE = timedelta(seconds=60)
TRUST = LEASE * 4 / 5


def claimed(lab: DynamoLab, policy: Policy = ALLOW) -> Claim:
    """A claim on the run."""
    mine = lab.ledger(policy=policy).claim(lab.job, PERIOD)
    assert isinstance(mine, Claim)
    return mine


def standing(lab: DynamoLab) -> RunRecord | None:
    """The run as it stands."""
    record = lab.store.get(lab.job, f"run#{PERIOD}")
    assert record is None or isinstance(record, RunRecord)
    return record


def until(clock: ManualClock, end: datetime, fault: Fault | str) -> Iterator[Fault | str]:
    """The fault, for every request before that moment."""
    while clock.now() < end:
        yield fault


def for_ever(fault: Fault | str) -> Iterator[Fault | str]:
    """The fault, for every request."""
    while True:
        yield fault


# Twelve racers, the winner's answer dropped (L2).


class WinnerLosesAnswer(Wire):
    """Carries everything, but the first good answer to a write never comes back."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        super().__init__(client, table=table)
        self._lock = threading.Lock()
        self.dropped = 0

    def send(self, request: AWSPreparedRequest) -> AWSResponse:
        """The answer, unless it is that one."""
        response = self._send(request)
        with self._lock:
            if response.status_code == 200 and not self.dropped:
                self.dropped += 1
                raise ReadTimeoutError(endpoint_url=request.url)
        return response


def test_of_twelve_racers_one_wins_although_its_answer_was_dropped(client: DynamoDBClient, table: str) -> None:
    """Not none: the winner knows its own row by its token (L2)."""
    wire = WinnerLosesAnswer(client, table=table)
    job = f"race-{id(wire)}"
    gate = threading.Barrier(12)
    answers: dict[str, Claim | Refusal] = {}

    def race(owner: str) -> None:
        ledger = Ledger(DynamoStore(table, client=client), owner=owner, policy=ALLOW)
        gate.wait(60)
        answers[owner] = ledger.claim(job, PERIOD)

    threads = [threading.Thread(target=race, args=(f"racer-{number}",)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wire.dropped == 1
    assert len(answers) == 12
    (winner,) = (owner for owner, got in answers.items() if isinstance(got, Claim))
    row = DynamoStore(table, client=client).get(job, f"run#{PERIOD}")
    assert isinstance(row, RunRecord)
    assert row.owner == winner
    reasons = {got.reason for got in answers.values() if isinstance(got, Refusal)}
    assert reasons == {RefusalReason.RUNNING_ELSEWHERE}


# A table that is throttled for long (L10).


def test_an_outcome_is_written_however_long_the_table_is_throttled(lab: DynamoLab, wire: Wire) -> None:
    """As long as the lease allows, with growing pauses that differ from process to process."""
    mine = claimed(lab)
    lab.clock.waits.clear()
    wire.meets(until(lab.clock, lab.clock.now() + timedelta(seconds=40), Fault.THROTTLED))
    mine.complete("done")
    assert standing(lab) == mine.record
    waits = lab.clock.waits
    assert 20 < len(waits) < 60
    for number, wait in enumerate(waits):
        longest = min(0.05 * 2**number, 2.0) * 1.5
        assert longest / 3 <= wait <= longest
    assert len(set(waits)) > len(waits) / 2


def test_an_outcome_that_cannot_be_written_until_the_lease_is_over_is_lost(lab: DynamoLab, wire: Wire) -> None:
    """The caller is told why; the next claim finds a run whose owner is silent."""
    mine = claimed(lab)
    wire.meets(for_ever(Fault.THROTTLED))
    began = lab.clock.now()
    with pytest.raises(LeaseLostError, match=r"ledger was unavailable .*ProvisionedThroughputExceededException"):
        mine.complete("done")
    assert lab.clock.now() - began <= TRUST
    wire.meets([])
    lab.clock.advance(LEASE)
    assert claimed(lab).attempt == 2


def test_a_claim_gives_up_after_nine_seconds(lab: DynamoLab, wire: Wire) -> None:
    """The work does not start, and the message says where and why."""
    wire.meets(for_ever(Fault.THROTTLED))
    began = lab.clock.now()
    with pytest.raises(LedgerUnavailableError, match=r"fault-runs in eu-west-1 .*ProvisionedThroughput") as unavailable:
        lab.ledger().claim(lab.job, PERIOD)
    assert timedelta(seconds=5) < lab.clock.now() - began <= timedelta(seconds=9)
    assert unavailable.value.transient
    assert "PutItem" not in wire.arrived


# Only a failed condition means that somebody else has it (L11).

NEVER_A_REFUSAL = [
    "AccessDeniedException",
    "ExpiredTokenException",
    "InternalServerError",
    "ItemCollectionSizeLimitExceededException",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "ReplicatedWriteConflictException",
    "RequestLimitExceeded",
    "ResourceNotFoundException",
    "ThrottlingException",
    "TransactionCanceledException",
    "TransactionConflictException",
    "UnrecognizedClientException",
    "ValidationException",
    "SomethingNobodyHasSeenException",
    "",
]


@pytest.mark.parametrize("code", NEVER_A_REFUSAL)
def test_a_failed_call_is_never_reported_as_somebody_elses(lab: DynamoLab, wire: Wire, code: str) -> None:
    """It is an error with its cause, and the work does not start."""
    wire.meets(for_ever(code))
    with pytest.raises(LedgerUnavailableError, match=f"fault-runs in eu-west-1 .*{code}"):
        lab.ledger().claim(lab.job, PERIOD)
    wire.meets([])
    assert standing(lab) is None


@pytest.mark.parametrize("code", NEVER_A_REFUSAL)
def test_a_failed_heartbeat_is_never_taken_for_a_lost_run(lab: DynamoLab, wire: Wire, code: str) -> None:
    """It is tried again inside the lease (L8)."""
    mine = claimed(lab)
    wire.meets([code, code, code])
    mine.heartbeat()
    assert not mine.is_lost()
    assert standing(lab) == mine.record


def test_a_garbled_answer_is_no_answer(lab: DynamoLab, wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy's HTML page: tried again, and then an error with its cause."""

    def html(request: AWSPreparedRequest) -> AWSResponse:
        return answer(request, b"<html>Bad Gateway</html>", status=502)

    with monkeypatch.context() as patched:
        patched.setattr(wire, "send", html)
        with pytest.raises(LedgerUnavailableError, match="502"):
            lab.ledger().claim(lab.job, PERIOD)
    assert standing(lab) is None


# Credentials that are away for a while (L14).


def test_a_claim_survives_ninety_seconds_without_credentials(lab: DynamoLab, wire: Wire) -> None:
    """If the lease allows it, in whichever hour of its work."""
    mine = claimed(lab, Policy(concurrency_policy=ConcurrencyPolicy.ALLOW, lease=timedelta(minutes=3)))
    for _ in range(8):
        lab.clock.advance(timedelta(seconds=45))
        mine.heartbeat()
    lab.clock.advance(timedelta(seconds=45))
    wire.meets(until(lab.clock, lab.clock.now() + timedelta(seconds=90), Fault.NO_CREDENTIALS))
    mine.heartbeat()
    assert not mine.is_lost()
    mine.complete()
    assert standing(lab) == mine.record


def test_a_claim_does_not_outlive_its_trust_without_credentials(lab: DynamoLab, wire: Wire) -> None:
    """It is lost before anybody else may begin, and says why."""
    mine = claimed(lab)
    wire.meets(for_ever(Fault.NO_CREDENTIALS))
    until_then = mine.trusted_until
    lab.clock.advance(LEASE / 4)
    with pytest.raises(LeaseLostError, match="NoCredentialsError"):
        mine.heartbeat()
    assert mine.is_lost()
    assert lab.clock.now() <= until_then


# The wrong table (L15), and time limits longer than the lease (L16).


def test_a_missing_table_stops_the_work_and_is_named(lab: DynamoLab) -> None:
    """With its Region, the cause and the next step (L15)."""
    store = DynamoStore("no-such-runs", client=lab.client)
    with pytest.raises(LedgerUnavailableError) as unavailable:
        Ledger(store, owner="me").claim(lab.job, PERIOD)
    message = str(unavailable.value)
    assert "no-such-runs in eu-west-1 at http://127.0.0.1:" in message
    assert "ResourceNotFoundException" in message
    assert "check the table's name and Region; if it was deleted, restore it" in message
    assert not unavailable.value.transient


def new_client(dynamodb_local: str, **config: Any) -> Any:  # noqa: ANN401  # settings of several types
    """A client as a user might bring it."""
    return boto3.client("dynamodb", region_name="eu-west-1", endpoint_url=dynamodb_local, config=Config(**config))


TOO_SLOW = {
    # settings, and the longest call that follows from them
    "botocore's defaults": ({}, "20m"),
    "no time limit": ({"read_timeout": None, "connect_timeout": None, "retries": {"total_max_attempts": 1}}, "2d"),
    "just at half the lease": ({"connect_timeout": 5, "read_timeout": 5, "retries": {"total_max_attempts": 1}}, "10s"),
    "slow in several tries": ({"connect_timeout": 1, "read_timeout": 2, "retries": {"total_max_attempts": 4}}, "12s"),
    "retries counted the old way": ({"connect_timeout": 1, "read_timeout": 2, "retries": {"max_attempts": 3}}, "12s"),
}


@pytest.mark.parametrize(("config", "longest"), TOO_SLOW.values(), ids=TOO_SLOW)
def test_a_client_slower_than_the_lease_is_refused(dynamodb_local: str, config: dict[str, Any], longest: str) -> None:
    """When the ledger is made, with the numbers (L16)."""
    client = new_client(dynamodb_local, **config)
    with pytest.raises(InputInvalidError) as refused:
        Ledger(DynamoStore("runs", client=client))
    assert f"'{longest}' is not usable" in str(refused.value)
    assert "3 calls in less than half the lease of 1m" in str(refused.value)
    client.close()


def test_a_client_just_fast_enough_is_taken(dynamodb_local: str) -> None:
    """On this side of the boundary."""
    client = new_client(dynamodb_local, connect_timeout=5, read_timeout=4.99, retries={"total_max_attempts": 1})
    Ledger(DynamoStore("runs", client=client))
    client.close()


def test_a_lease_shorter_than_the_client_bears_is_refused_at_the_claim(lab: DynamoLab) -> None:
    """Nothing is written."""
    with pytest.raises(InputInvalidError, match="half the lease of 30s"):
        lab.ledger().claim(lab.job, PERIOD, policy=Policy(lease=timedelta(seconds=30)))
    assert standing(lab) is None


# A clock that is far from the service's (L17).


@pytest.mark.parametrize("off", [timedelta(minutes=10), timedelta(minutes=-10)])
def test_a_clock_ten_minutes_off_is_found_and_steals_nothing(lab: DynamoLab, table: str, off: timedelta) -> None:
    """By the `Date` of DynamoDB's answers."""
    store = DynamoStore(table, client=lab.client)
    true = Ledger(store, owner="true")
    skewed = Ledger(store, owner="skewed", clock=ManualClock(datetime.now(UTC) + off))
    holder = true.claim(lab.job, PERIOD)
    assert isinstance(holder, Claim)
    before = standing(lab)
    if off > timedelta(0):
        with pytest.raises(ClockSkewError, match=r"clock differs from the store's by (599|60[0-9]) s.*NTP"):
            skewed.claim(lab.job, PERIOD)
    else:
        refusal = skewed.claim(lab.job, PERIOD)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is RefusalReason.RUNNING_ELSEWHERE
    assert standing(lab) == before
    with pytest.raises(ClockSkewError):
        skewed.claim(lab.job, "another")
    left = store.get(lab.job, "run#another")
    assert isinstance(left, RunRecord)
    assert (left.status, left.reason, left.failures) == (Status.FAILED, Reason.CLOCK_SKEW, 0)
