"""`cronce release` and `cronce init`: what they change, and what they refuse."""

from __future__ import annotations

import getpass
import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.client.ledger import Ledger
from cronce.protocol.records import RunRecord
from cronce.stores.dynamo.store import _HINTS
from cronce.vocabulary.states import Reason, Status
from tests.cli.conftest import LedgerFile, Said, now
from tests.support.builders import JOB, PERIOD, run

if TYPE_CHECKING:
    from collections.abc import Callable


def run_now(ledger_file: LedgerFile) -> RunRecord:
    """The run as it is now."""
    ledger = Ledger.from_url(ledger_file.url)
    found = ledger.run(JOB, PERIOD)
    ledger.close()
    assert found is not None
    return found


def alive() -> RunRecord:
    """A run whose owner is alive."""
    return run(claimed_at=now(), lease_until=now() + timedelta(hours=1))


@pytest.mark.parametrize(
    "held",
    [
        run(status=Status.FAILED, reason=Reason.LEASE_LOST),
        run(status=Status.FAILED, reason=Reason.TASK_STOPPED),
        run(lease_until=None),
        run(lease_until=now() - timedelta(minutes=1)),
    ],
    ids=["lease lost", "task stopped", "no lease", "lease over"],
)
def test_a_held_run_is_released_with_who_and_why(
    ledger_file: LedgerFile, cronce: Callable[..., Said], held: RunRecord
) -> None:
    """And the next attempt may begin at once."""
    ledger_file.put(held)
    said = cronce("release", JOB, PERIOD, "--reason", "half was sent", "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    assert "The next start begins attempt 2." in said.out
    assert f"  cronce rerun {JOB} {PERIOD} -- COMMAND" in said.out
    after = run_now(ledger_file)
    assert (after.status, after.reason, after.actor, after.note) == (Status.FAILED, "released", "ann", "half was sent")


def test_the_actor_is_the_operating_systems_user(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """On this host."""
    ledger_file.put(run(lease_until=None))
    assert cronce("release", JOB, PERIOD).code == 0
    assert run_now(ledger_file).actor == f"{getpass.getuser()}@{os.uname().nodename}"


def test_a_user_without_a_name_is_recorded_by_number(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a container with an unknown user id."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr(getpass, "getuser", nameless)
    ledger_file.put(run(lease_until=None))
    assert cronce("release", JOB, PERIOD).code == 0
    assert run_now(ledger_file).actor == f"uid {os.getuid()}@{os.uname().nodename}"


def test_a_living_owner_keeps_its_run_unless_it_is_forced(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """The refusal says how, and the release says what that means."""
    ledger_file.put(alive())
    refused = cronce("release", JOB, PERIOD)
    assert (refused.code, refused.out) == (1, "")
    assert "its owner (other) is alive" in refused.err
    assert f"cronce release --force --reason WHY {JOB} {PERIOD}" in refused.err
    assert run_now(ledger_file).status is Status.RUNNING
    forced = cronce("release", JOB, PERIOD, "--force")
    assert forced.code == 0
    assert "stops at its next heartbeat" in forced.out
    assert run_now(ledger_file).reason == "released"


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.SKIPPED, Status.MISSED, Status.FAILED])
def test_what_is_not_held_is_not_released(ledger_file: LedgerFile, cronce: Callable[..., Said], status: Status) -> None:
    """Forced or not; the message leads to what can be done."""
    ledger_file.put(run(status=status, reason="error"))
    for options in ([], ["--force"]):
        said = cronce("release", JOB, PERIOD, *options)
        assert (said.code, said.out) == (1, "")
        assert f"it is not held ({status}). To see what you can do: cronce show {JOB} {PERIOD}" in said.err
    assert run_now(ledger_file).version == 1


def test_a_run_that_is_not_there_is_not_released(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """And no row is created."""
    ledger_file.put(run())
    said = cronce("release", JOB, "1999-01-01")
    assert (said.code, said.err) == (1, f"cronce: {JOB} 1999-01-01 is not released: there is no such run.\n")


def test_a_file_is_created_once(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """The second time it exists already, which is fine."""
    first, second = cronce("init"), cronce("init")
    assert (first.code, first.out) == (0, f"Created: SQLite file {ledger_file.path}\n")
    assert (second.code, second.out) == (0, f"Already exists: SQLite file {ledger_file.path}\n")
    assert ledger_file.path.exists()


def test_a_new_table_is_no_replacement_for_a_deleted_one(
    cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing table is restored first: in an empty one, done work counts as never done."""
    hint = _HINTS["ResourceNotFoundException"]
    assert hint.index("restore it") < hint.index("cronce init")
    monkeypatch.setattr(Ledger, "create", lambda _self: True)
    created = cronce("init", "--ledger", "dynamodb://runs?region=eu-west-1")
    assert (created.code, created.err) == (0, "")
    assert "no point-in-time recovery" in created.out
    assert "restore that one" in created.out
