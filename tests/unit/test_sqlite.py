"""The SQLite file: who may read it, what readers wait for, and what is deleted."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from cronce import Claim, Ledger, Policy
from cronce.client.observer import Observer
from cronce.protocol.records import UnreadableRow
from cronce.stores.sqlite import PRUNED_AT_ONCE, SqliteStore
from cronce.testing.clocks import ManualClock
from cronce.vocabulary.errors import ClockSkewError, LedgerUnavailableError, RecordUnreadableError
from tests.support.builders import JOB, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@contextmanager
def opened(path: Path, *, timeout: timedelta = timedelta(seconds=3)) -> Iterator[SqliteStore]:
    """A store on that file."""
    store = SqliteStore(path, timeout=timeout)
    try:
        yield store
    finally:
        store.close()


def claim(path: Path, at: datetime, period: str, *, job: str = JOB) -> Claim:
    """A claim made at that time; it must be given."""
    with opened(path) as store:
        answer = Ledger(store, owner="me", clock=ManualClock(at), policy=Policy()).claim(job, period)
        assert isinstance(answer, Claim)
        return answer


def keys(path: Path) -> set[tuple[str, str]]:
    """The rows in the file."""
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT job, key FROM ledger"))


# Who may read it.


def test_only_the_owner_may_read_the_file(tmp_path: Path) -> None:
    """Rows have errors and results; also in the log and the index beside the file."""
    path = tmp_path / "runs.db"
    with opened(path) as store:
        store.swap(run(), None)
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("runs.db", "runs.db-wal", "runs.db-shm"), 0o600)


def test_a_file_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    """Somebody may have given it to a group."""
    path = tmp_path / "runs.db"
    path.touch()
    path.chmod(0o660)
    with opened(path) as store:
        store.swap(run(), None)
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        assert stat.S_IMODE((tmp_path / "runs.db-wal").stat().st_mode) == 0o660


# Readers.


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """Another process is in the middle of a transaction; what it has not committed is not seen."""
    path = tmp_path / "runs.db"
    with opened(path) as store:
        store.swap(run(), None)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer, opened(path, timeout=timedelta(0)) as store:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM ledger")
        assert store.get(JOB, run().key) == run()
        assert store.query(JOB, limit=5).runs == (run(),)
        assert store.jobs() == (JOB,)
        with pytest.raises(LedgerUnavailableError, match="locked") as raised:
            store.swap(run(version=2), run())
        assert raised.value.transient


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    """Not even a table into the file of another program."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with opened(path) as store:
        assert store.get(JOB, run().key) is None
        assert store.query(JOB, limit=5).rows == ()
        assert store.jobs() == ()
    assert path.read_bytes() == before


def test_a_reader_of_an_empty_file_sees_no_rows(tmp_path: Path) -> None:
    """The first claim has created it and not yet written to it."""
    path = tmp_path / "runs.db"
    path.touch()
    with opened(path) as store:
        assert store.get(JOB, run().key) is None
        assert store.query(JOB, limit=5).rows == ()


def test_what_one_connection_commits_the_next_read_sees(tmp_path: Path) -> None:
    """Also through a connection that has read before."""
    path = tmp_path / "runs.db"
    with opened(path) as reader, opened(path) as writer:
        assert reader.get(JOB, run().key) is None
        writer.swap(run(), None)
        assert reader.get(JOB, run().key) == run()
        writer.swap(run(version=2), run())
        assert reader.get(JOB, run().key) == run(version=2)


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a ledger of one run, mounted read-only elsewhere."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    with opened(source / "runs.db") as store:
        store.swap(run(), None)
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", str(source), str(target)], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"this user may not mount: {mounted.stderr.strip()}")
    try:
        yield target
    finally:
        subprocess.run(["umount", str(target)], check=True)


def test_a_ledger_on_a_read_only_mount_can_be_read(read_only_folder: Path) -> None:
    """As a backup or a volume of another container; a claim is refused with the reason."""
    with opened(read_only_folder / "runs.db") as store:
        assert store.get(JOB, run().key) == run()
        assert store.query(JOB, limit=5).runs == (run(),)
        with pytest.raises(LedgerUnavailableError, match="readonly") as raised:
            store.swap(run(version=2), run())
        assert not raised.value.transient
    assert {each.name for each in read_only_folder.iterdir()} == {"runs.db"}


def test_a_ledger_on_a_read_only_mount_can_be_read_beside_its_writer(read_only_folder: Path, tmp_path: Path) -> None:
    """Who sees the latest commits, from another container on the same host."""
    with opened(tmp_path / "source" / "runs.db") as writer, opened(read_only_folder / "runs.db") as reader:
        writer.swap(run(version=2), run())
        assert reader.get(JOB, run().key) == run(version=2)
        writer.swap(run(version=3), run(version=2))
        assert reader.get(JOB, run().key) == run(version=3)


def test_a_file_that_is_not_a_database_is_a_permanent_error(tmp_path: Path) -> None:
    """By readers and writers alike."""
    path = tmp_path / "runs.db"
    path.write_bytes(b"# notes\n" * 1000)
    with opened(path) as store:
        for ask in (lambda: store.get(JOB, run().key), lambda: store.swap(run(), None)):
            with pytest.raises(LedgerUnavailableError, match="not a database") as raised:
                ask()
            assert not raised.value.transient


# A wall clock that is set during a run.

HOUR = timedelta(hours=1)


class Host:
    """A host whose wall clock can be set, and whose boot clock cannot."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = ManualClock(datetime.now(UTC))
        self.boot = ("this boot", 1000.0)
        self.stores: list[SqliteStore] = []

    def ledger(self, owner: str) -> Ledger:
        """The ledger as one process sees it."""
        self.stores.append(SqliteStore(self.path, boot_clock=lambda: self.boot))
        return Ledger(self.stores[-1], owner=owner, clock=self.clock)

    def passes(self, by: timedelta) -> None:
        """Let time pass."""
        self.clock.advance(by)
        self.boot = (self.boot[0], self.boot[1] + by.total_seconds())

    def sets_its_clock(self, by: timedelta) -> None:
        """Move the wall clock alone."""
        self.clock.step(by)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host with a ledger in a file."""
    host = Host(tmp_path / "runs.db")
    yield host
    for store in host.stores:
        store.close()


def test_a_clock_that_is_set_ahead_takes_no_run_from_a_live_owner(host: Host) -> None:
    """Its lease has expired by the wall clock and not by the boot clock: an error, and nothing is written."""
    owner = host.ledger("owner").claim(JOB, "2026-11-29")
    assert isinstance(owner, Claim)
    host.sets_its_clock(HOUR)
    with pytest.raises(ClockSkewError, match="clock was set while attempt 1 of daily-digest"):
        host.ledger("other").claim(JOB, "2026-11-29")
    with pytest.raises(ClockSkewError):
        host.ledger("other").claim(JOB, "2026-11-30")  # FORBID: it would settle the run first
    with pytest.raises(ClockSkewError):
        Observer(host.ledger("other")).mark_lost(JOB, "2026-11-29")
    owner.complete()
    done = host.ledger("other").run(JOB, "2026-11-29")
    assert done is not None
    assert done.status == "SUCCEEDED"


def test_a_clock_that_is_set_ahead_takes_no_group_from_a_live_owner(host: Host) -> None:
    """Nor from one of another job; after the lease by the boot clock it is free."""
    policy = Policy(exclusion_group="billing")
    owner = host.ledger("owner").claim("close", "2026-11-29", policy=policy)
    assert isinstance(owner, Claim)
    host.sets_its_clock(HOUR)
    with pytest.raises(ClockSkewError, match="clock was set while attempt 1 of close 2026-11-29"):
        host.ledger("other").claim("bills", "2026-11-29", policy=policy)
    owner.heartbeat()
    host.passes(timedelta(seconds=130))
    assert isinstance(host.ledger("other").claim("bills", "2026-11-30", policy=policy), Claim)


def test_after_the_lease_a_dead_owner_is_succeeded_whatever_the_wall_clock_says(host: Host) -> None:
    """Both clocks have then passed its end."""
    host.ledger("dead").claim(JOB, "2026-11-29")
    host.sets_its_clock(HOUR)
    host.passes(timedelta(seconds=61))
    answer = host.ledger("other").claim(JOB, "2026-11-29")
    assert isinstance(answer, Claim)
    assert answer.attempt == 2


def test_after_a_reboot_the_wall_clock_decides(host: Host) -> None:
    """No owner has survived it."""
    host.ledger("dead").claim(JOB, "2026-11-29")
    host.boot = ("the next boot", 3.0)
    host.sets_its_clock(HOUR)
    assert isinstance(host.ledger("other").claim(JOB, "2026-11-29"), Claim)


def test_a_person_may_release_a_run_whatever_the_clocks_say(host: Host) -> None:
    """With force, as for any owner that is alive."""
    host.ledger("owner").claim(JOB, "2026-11-29")
    host.sets_its_clock(HOUR)
    host.ledger("person").release(JOB, "2026-11-29", actor="ada", force=True)
    assert isinstance(host.ledger("other").claim(JOB, "2026-11-29"), Claim)


# What is deleted.


def test_a_row_past_its_retention_is_deleted_at_a_later_claim(tmp_path: Path) -> None:
    """Of any job; 400 days after the claim, and a day for clocks that differ."""
    path = tmp_path / "runs.db"
    for job in ("a", "b"):
        claim(path, LONG_AGO, "old", job=job).complete()
    claim(path, LONG_AGO + timedelta(days=10), "young", job="a").complete()
    claim(path, LONG_AGO + timedelta(days=401), "one", job="a").complete()
    assert ("a", "run#old") in keys(path)
    claim(path, LONG_AGO + timedelta(days=401, seconds=1), "two", job="a")
    assert {key for key in keys(path) if key[1] != "slot"} == {
        ("a", "run#young"),
        ("a", "run#one"),
        ("a", "run#two"),
    }


def test_a_claim_deletes_no_more_than_its_share(tmp_path: Path) -> None:
    """A task does not wait for the years before it."""
    path = tmp_path / "runs.db"
    for number in range(PRUNED_AT_ONCE + 5):
        claim(path, LONG_AGO, f"old-{number}").complete()
    claim(path, LONG_AGO + timedelta(days=500), "new-1").complete()
    assert len([key for _, key in keys(path) if key.startswith("run#old")]) == 5
    claim(path, LONG_AGO + timedelta(days=500), "new-2").complete()
    assert not [key for _, key in keys(path) if key.startswith("run#old")]


def test_a_host_whose_clock_is_ahead_deletes_nothing(tmp_path: Path) -> None:
    """What a claim says of the time does not count where the host knows better."""
    path = tmp_path / "runs.db"
    claim(path, datetime.now(UTC) - timedelta(days=30), "old").complete()
    claim(path, datetime.now(UTC) + timedelta(days=1000), "new").complete()
    assert (JOB, "run#old") in keys(path)


def test_a_running_row_is_never_deleted(tmp_path: Path) -> None:
    """Nobody has settled it: a person may have to look at it."""
    path = tmp_path / "runs.db"
    claim(path, LONG_AGO, "held", job="a")
    claim(path, LONG_AGO + timedelta(days=500), "new", job="b")
    assert ("a", "run#held") in keys(path)


def test_a_file_of_an_older_version_is_taken_over(tmp_path: Path) -> None:
    """Its rows are kept, and what is written from now on is deleted in its time."""
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE ledger (job TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, token TEXT NOT NULL,"
            " item TEXT NOT NULL, PRIMARY KEY (job, key)) WITHOUT ROWID"
        )
        row = {"job": JOB, "key": "run#older", "status": "SUCCEEDED", "version": 1, "token": "t", "expires_at": 1}
        connection.execute("INSERT INTO ledger VALUES (?, ?, 1, 't', ?)", (JOB, "run#older", json.dumps(row)))
    claim(path, LONG_AGO, "old").complete()
    claim(path, LONG_AGO + timedelta(days=500), "new").complete()
    assert {key for _, key in keys(path)} == {"run#older", "run#new", "slot"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_only_be_read_can_be_read(tmp_path: Path) -> None:
    """By a person of the group, for instance."""
    path = tmp_path / "runs.db"
    with opened(path) as store:
        store.swap(run(), None)
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with opened(path) as store:
            assert store.get(JOB, run().key) == run()
    finally:
        tmp_path.chmod(0o700)


def test_effects_are_deleted_as_their_run_is(tmp_path: Path) -> None:
    """They expire at the same time."""
    path = tmp_path / "runs.db"
    old = claim(path, LONG_AGO, "old")
    old.once("ann").done()
    old.complete()
    assert (JOB, "effect#old#000001") in keys(path)
    claim(path, LONG_AGO + timedelta(days=500), "new").complete()
    assert {key for _, key in keys(path)} == {"run#new", "slot"}


@pytest.mark.parametrize("text", ["", "no JSON", "[]", "7", "null", '{"a":', "[" * 10_000])
def test_a_row_that_is_no_row_is_unreadable(tmp_path: Path, text: str) -> None:
    """Somebody edited the file: not JSON, or not an object."""
    with opened(tmp_path / "runs.db") as store:
        store.swap(run(), None)
        with store._transaction() as connection:
            connection.execute("UPDATE ledger SET item = ?", (text,))
        with pytest.raises(RecordUnreadableError):
            store.get(JOB, run().key)
        with pytest.raises(RecordUnreadableError):
            store.swap(run(), None)
        [unreadable] = store.query(JOB, limit=5).rows
    assert isinstance(unreadable, UnreadableRow)
    assert "not a JSON object" in unreadable.problem
