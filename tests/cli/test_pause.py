"""`cronce pause` and `cronce resume`, and where a pause is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from cronce.client.ledger import Ledger
from cronce.protocol.records import Pause, SlotRecord
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.states import Reason, Status, Trigger
from tests.cli.conftest import LedgerFile, Said, now
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, PERIOD, run

WHY = "the mail provider is down"


def pause_now(ledger_file: LedgerFile) -> Pause | None:
    """The job's pause as it is now."""
    ledger = Ledger.from_url(ledger_file.url)
    try:
        return ledger.pause_of(JOB)
    finally:
        ledger.close()


def paused(ledger_file: LedgerFile, cronce: Callable[..., Said], *options: str) -> None:
    """Pause the job, which has one run."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    assert cronce("pause", JOB, "--why", WHY, "--actor", "ann", *options).code == 0


def test_a_job_is_paused_and_resumed(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """In words, with the next command."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    said = cronce("pause", JOB, "--why", WHY, "--actor", "ann")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        f"Paused {JOB}: no machine starts a run of it. A run that has begun goes on.",
        "To resume it:",
        f"  cronce resume {JOB}",
    ]
    assert (pause := pause_now(ledger_file)) is not None
    assert (pause.by, pause.why, pause.until) == ("ann", WHY, None)
    said = cronce("resume", JOB)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Resumed {JOB}. It was paused by ann ")
    assert f"{WHY}\nTo see the periods that were skipped meanwhile:\n  cronce runs {JOB}\n" in said.out
    assert pause_now(ledger_file) is None
    assert cronce("resume", JOB).out == f"{JOB} is not paused.\n"


def test_with_schedules_the_command_runs_what_was_skipped(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """Without them `backfill` knows no tick."""
    fleet.add_job(JOB)
    ledger_file.put(run(status=Status.SUCCEEDED))
    cronce("pause", JOB, "--why", WHY)
    assert (
        f"{WHY}\nTo run the periods that were skipped meanwhile:\n  cronce backfill --from="
        in cronce("resume", JOB).out
    )


def test_a_job_that_does_not_exist_is_not_resumed(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """The one that was meant stays paused."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    cronce("pause", JOB, "--why", WHY)
    said = cronce("resume", JOB[:-1])
    assert (said.code, said.out) == (1, "")
    assert f"there is no job {JOB[:-1]} in" in said.err
    assert f"Did you mean {JOB}?" in said.err


def test_the_documents_have_who_why_and_until(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """The same pause when it begins and when it ends."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    said = json.loads(cronce("pause", JOB, "--why", WHY, "--actor", "ann", "--until", "2999-01-01", "--json").out)
    assert set(said) == {"job", "paused"}
    assert said["paused"] | {"at": ""} == {"at": "", "by": "ann", "why": WHY, "until": "2999-01-01T23:59:59.999Z"}
    assert json.loads(cronce("resume", JOB, "--json").out) == {"job": JOB, "was_paused": said["paused"]}
    assert json.loads(cronce("resume", JOB, "--json").out) == {"job": JOB, "was_paused": None}


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2h", timedelta(hours=2)),
        ("90s", timedelta(seconds=90)),
        ("2999-01-01T06:00:00+02:00", datetime(2999, 1, 1, 4, tzinfo=UTC)),
        ("2999-01-01T06:00:00", datetime(2999, 1, 1, 6, tzinfo=UTC)),
    ],
)
def test_an_end_is_a_duration_or_a_time(
    ledger_file: LedgerFile, cronce: Callable[..., Said], text: str, end: datetime | timedelta
) -> None:
    """A time without a zone is in UTC."""
    before = now()
    paused(ledger_file, cronce, "--until", text)
    assert (pause := pause_now(ledger_file)) is not None
    assert pause.until is not None
    if isinstance(end, timedelta):
        assert before - timedelta(seconds=1) <= pause.until - end <= now()
    else:
        assert pause.until == end


@pytest.mark.parametrize("until", ["tomorrow", "2020-01-01", "0s", "-2h", "2h30m"])
def test_an_end_that_is_none_or_has_passed_is_64(
    ledger_file: LedgerFile, cronce: Callable[..., Said], until: str
) -> None:
    """Nothing is written."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    said = cronce("pause", JOB, "--why", WHY, f"--until={until}")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith("cronce: --until: ")
    assert pause_now(ledger_file) is None


def test_a_pause_needs_a_reason(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Who finds it wants to know."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    assert (said := cronce("pause", JOB)).code == 64
    assert "--why" in said.err


def test_a_job_that_does_not_exist_is_not_paused(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """A typing error would leave the real one running."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    said = cronce("pause", "daily-digst", "--why", WHY)
    assert (said.code, said.out) == (1, "")
    assert f"Did you mean {JOB}?" in said.err


@pytest.mark.parametrize("name", ["clock", "cronce:watchdog"])
def test_what_is_no_job_is_not_paused(ledger_file: LedgerFile, cronce: Callable[..., Said], name: str) -> None:
    """A leader, the watchdog."""
    ledger_file.put(run(job="clock", period="leader"), run(job="cronce:watchdog"))
    said = cronce("pause", name, "--why", WHY)
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith("cronce: JOB: ")


@pytest.mark.parametrize("command", [("runs", JOB), ("show", JOB, PERIOD)])
def test_a_pause_is_shown(ledger_file: LedgerFile, cronce: Callable[..., Said], command: tuple[str, ...]) -> None:
    """With who and why; a run that was skipped for it too."""
    paused(ledger_file, cronce, "--until", "2999-01-01")
    said = cronce(*command)
    assert said.code == 0
    assert f"{JOB} is paused by ann now, until 2999-01-01 23:59:59 UTC: {WHY}" in " ".join(said.out.split())


def test_next_says_that_the_job_is_paused(ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """In words and in the remark."""
    fleet.add_job(JOB)
    paused(ledger_file, cronce)
    assert f"is paused by ann now: {WHY}" in cronce("next", JOB).out.replace("\n", " ")
    assert json.loads(cronce("next", JOB, "--json").out)["remark"] == f"{JOB} is paused by ann now: {WHY}"


def test_a_tick_that_was_skipped_says_who_paused_the_job(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """In the list, and on its page with what to do."""
    skipped = {
        "status": Status.SKIPPED,
        "reason": Reason.PAUSED,
        "attempt": 0,
        "lease_until": None,
        "finished_at": now(),
    }
    ledger_file.put(run(**skipped, actor="ann", note=WHY))
    assert f"paused by ann: {WHY}" in cronce("runs", JOB).out
    page = " ".join(cronce("show", JOB, PERIOD).out.split())
    assert f"Not run: ann paused the job ({WHY}). No machine starts it later. " in page
    assert f"cronce rerun {JOB} {PERIOD} -- COMMAND" in page


def test_a_persons_rerun_of_a_paused_job_runs_and_says_so(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """The pause stays."""
    fleet.add_job(JOB)
    paused(ledger_file, cronce)
    said = cronce("rerun", JOB, "2026-11-28T05:00:00Z", "--follow")
    assert said.code == 0, said
    assert f"{JOB} is paused by ann now: {WHY} (This start is yours, so it is not bound by that.)" in said.out
    assert (pause := pause_now(ledger_file)) is not None
    assert pause.by == "ann"


def test_a_hostile_reason_is_shown_as_text(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Anybody who may write the table can put anything there."""
    ledger_file.put(run(status=Status.SUCCEEDED))
    store = SqliteStore(ledger_file.path)
    store.swap(SlotRecord(job=JOB, version=0).with_pause(Pause(at=now(), by="\x1b[2Jann", why="a\x1b[31m\nb")), None)
    store.close()
    for command in (("runs", JOB), ("show", JOB, PERIOD), ("resume", JOB)):
        said = cronce(*command)
        assert said.code == 0
        assert "\x1b" not in said.out
        assert r"\x1b[2Jann" in said.out


def test_exec_is_refused_with_who_and_why_and_a_person_is_not(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """The refusal is benign: its tick is decided."""
    paused(ledger_file, cronce)
    ledger = Ledger.from_url(ledger_file.url)
    refusal = ledger.claim(JOB, "2026-11-30")
    assert not refusal
    assert str(refusal) == f"{JOB} 2026-11-30 is not started: the job is paused by ann: {WHY}"
    assert ledger.claim(JOB, "2026-11-30", trigger=Trigger.MANUAL)
    ledger.close()
