"""`cronce runs` and `cronce show`: every state, for people and for machines."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from cronce.cli.commands import runs as runs_command
from cronce.protocol.records import PastAttempt, RunRecord
from cronce.stores.codec import encode, encode_time
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import field_names
from tests.cli.conftest import LedgerFile, Said, now, without_colour
from tests.support.builders import JOB, run

if TYPE_CHECKING:
    from collections.abc import Callable

EVIL = "\x1b[31mred\x1b[0m [bold red]markup[/] :boom:\nsecond\x07 line\x9b2J"
ARN = "arn:aws:ecs:eu-west-1:123456789012:task/production/0123456789abcdef0123456789abcdef"


def all_states() -> list[RunRecord]:
    """A run in every state, newest period last."""
    at = now()
    ago = at - timedelta(minutes=3)
    past = PastAttempt(attempt=1, status=Status.FAILED, owner=ARN, claimed_at=ago, finished_at=at, reason="lease_lost")
    done = {"claimed_at": ago, "finished_at": ago + timedelta(seconds=80)}
    return [
        run(period="2026-11-21", status=Status.SUCCEEDED, result='{"mails":3100}', **done),
        run(period="2026-11-22", status=Status.FAILED, reason=Reason.EXIT_CODE, exit_code=3, failures=1, **done),
        run(period="2026-11-23", status=Status.FAILED, reason=Reason.ERROR, error=EVIL, **done),
        run(period="2026-11-24", status=Status.SKIPPED, reason=Reason.OVERLAP, blocked_by="2026-11-23", **done),
        run(period="2026-11-25", status=Status.MISSED, reason=Reason.TOO_LATE, attempt=0, **done),
        run(period="2026-11-26", status=Status.FAILED, reason=Reason.RELEASED, actor="ann@host", note="ok", **done),
        run(period="2026-11-27T06:00:00Z", attempt=2, attempts=(past,), checkpoint="1500", owner=ARN, claimed_at=ago,
            lease_until=at + timedelta(minutes=90, seconds=30), scheduled_at=ago),
        run(period="2026-11-28", claimed_at=ago, lease_until=ago),
        run(period="2026-11-29", claimed_at=ago, lease_until=None),
    ]  # fmt: skip


def words_of(said: Said) -> str:
    """What was said, whatever the columns are."""
    return " ".join(said.out.split())


def test_the_table_has_a_line_a_run_newest_first(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """With its status, its age, its duration and the reason."""
    ledger_file.put(*all_states())
    said = cronce("runs", JOB)
    lines = [line.split() for line in said.out.splitlines() if line.startswith("2026")]
    assert said.code == 0
    assert [line[0] for line in lines] == sorted((run.period for run in all_states()), reverse=True)
    for expected in (
        "HELD: no lease",
        "lease expired 3m ago",
        "released by ann@host",
        "overlap with 2026-11-23",
        "exit code 3",
        "too_late",
        "1m 20s",
        "task 0123456789ab",
        "(3m ago)",
    ):
        assert expected in said.out


def test_the_document_has_every_attribute_of_the_table(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Under the same name and as it is stored, null where there is none, times in ISO 8601."""
    runs = all_states()
    expires_at = now().replace(microsecond=0)
    ledger_file.put(*runs, run(period="2026-12-01", status=Status.SUCCEEDED, expires_at=expires_at))
    document = json.loads(cronce("runs", JOB, "--json").out)
    assert (document["job"], document["before"]) == (JOB, None)
    newest, *others = document["runs"]
    assert newest["expires_at"] == encode_time(expires_at)
    names = set(field_names(RunRecord)) - {"extra"} | {"key"}
    for shown, stored in zip(others, reversed(runs), strict=True):
        assert set(shown) == names
        without_nulls = {name: value for name, value in shown.items() if value is not None and name != "attempts"}
        item = encode(stored)
        if stored.status is Status.SUCCEEDED:
            item["exit_code"] = 0
        attempts = item.pop("attempts")
        assert without_nulls == item
        assert [{k: v for k, v in past.items() if v is not None} for past in shown["attempts"]] == attempts
        assert json.loads(cronce("show", JOB, stored.period, "--json").out) == shown


def test_an_attribute_of_a_newer_version_is_in_the_document(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """What this version does not know it does not hide."""
    ledger_file.put(run(extra={"colour": "blue"}))
    assert json.loads(cronce("show", JOB, "2026-11-29", "--json").out)["colour"] == "blue"


def test_pages_follow_each_other_without_a_gap(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """`before` of one page is `--before` of the next, until it is null."""
    ledger_file.put(*all_states())
    seen: list[str] = []
    before: list[str] = []
    while True:
        document = json.loads(cronce("runs", JOB, "--limit", "4", *before, "--json").out)
        seen += [run["period"] for run in document["runs"]]
        if document["before"] is None:
            break
        before = ["--before", document["before"]]
    assert seen == sorted((run.period for run in all_states()), reverse=True)
    assert f"--before {seen[1]}" in cronce("runs", JOB, "--limit", "2").out


@pytest.mark.parametrize("before", ["yesterday", "29.11.2026", "now", "-1"])
def test_before_is_a_period_of_the_kind_that_the_job_has(
    ledger_file: LedgerFile, cronce: Callable[..., Said], before: str
) -> None:
    """`yesterday` sorts after every date, so the first page would be taken for the right one."""
    ledger_file.put(*all_states())
    said = cronce("runs", JOB, f"--before={before}")
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert said.err.startswith("cronce: --before: ")
    assert "such as 2026-11-29" in said.err
    ledger_file.put(run(job="batches", period="batch-7"))
    assert cronce("runs", "batches", "--before", "batch-8").code == 0
    for good in ("2026", "2026-11", "2026-11-27T06:00:00Z", "1999-01-01"):
        assert cronce("runs", JOB, "--before", good).code == 0


def test_only_the_states_that_are_asked_for(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Several are possible, and the limit counts those that are shown."""
    ledger_file.put(*all_states())
    found = json.loads(cronce("runs", JOB, "--status", "skipped", "--status", "MISSED", "--json").out)["runs"]
    assert [run["status"] for run in found] == ["MISSED", "SKIPPED"]
    first = json.loads(cronce("runs", JOB, "--status", "failed", "--limit", "2", "--json").out)
    rest = json.loads(cronce("runs", JOB, "--status", "failed", "--before", first["before"], "--json").out)
    periods = [run["period"] for page in (first, rest) for run in page["runs"]]
    assert periods == ["2026-11-26", "2026-11-23", "2026-11-22"]


def test_the_newest_run_that_did_not_succeed_is_one_command_away(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To look at, and to run again; through its schedule where there is one. Nothing where all is well."""
    ledger_file.put(
        run(period="2026-11-26", status=Status.FAILED, reason=Reason.EXIT_CODE),
        run(period="2026-11-27", status=Status.MISSED, reason=Reason.TOO_LATE),
        run(period="2026-11-28", status=Status.SUCCEEDED),
        run(period="2026-11-29", lease_until=now() + timedelta(hours=1)),
    )
    hints = [line.strip() for line in cronce("runs", JOB).out.splitlines() if line.startswith("  cronce ")]
    assert hints == [
        f"cronce why {JOB} 2026-11-27",
        f"cronce rerun {JOB} 2026-11-27 -- COMMAND",
    ]
    monkeypatch.setenv("CRONCE_SCHEDULE_GROUP", "runs")
    assert f"  cronce rerun {JOB} 2026-11-27\n" in cronce("runs", JOB).out
    assert "cronce show" not in cronce("runs", JOB, "--status", "SUCCEEDED").out


def test_a_search_without_a_match_is_said_in_words(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """It is an answer, not an error."""
    ledger_file.put(run())
    assert "that are MISSED" in cronce("runs", JOB, "--status", "missed").out


@pytest.mark.parametrize(
    ("period", "parts"),
    [
        ("2026-11-21", ["Succeeded.", '{"mails":3100}', "1m 20s"]),
        ("2026-11-22", ["Failed; counted failures: 1", "exit code 3", f"cronce rerun {JOB} 2026-11-22 -- COMMAND"]),
        ("2026-11-24", ["blocked by 2026-11-23, now FAILED (", "asked ", "cronce show daily-digest 2026-11-23"]),
        ("2026-11-25", ["after the starting deadline", "asked "]),
        ("2026-11-26", ["Released by ann@host", "note ok"]),
        (
            "2026-11-27T06:00:00Z",
            ["Running", "1h 30m left", "1500", "Earlier attempts", "lease_lost", ARN, "scheduled"],
        ),
        (
            "2026-11-28",
            ["Lost: its owner sends no heartbeats", "expired", "cronce release --reason WHY daily-digest 2026-11-28"],
        ),
        ("2026-11-29", ["HELD", "cronce release --reason WHY daily-digest 2026-11-29"]),
    ],
)
def test_a_page_has_all_about_a_run(
    ledger_file: LedgerFile, cronce: Callable[..., Said], period: str, parts: list[str]
) -> None:
    """What it means first, the facts, and the next step last."""
    ledger_file.put(*all_states())
    said = cronce("show", JOB, period)
    assert said.code == 0
    for part in parts:
        assert part in words_of(said)


def test_a_suggested_command_repeats_a_ledger_that_was_given_by_option(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the environment it need not."""
    ledger_file.put(run(lease_until=None))
    assert "release --reason WHY" in cronce("show", JOB, "2026-11-29").out
    monkeypatch.delenv("CRONCE_LEDGER")
    assert f"release --ledger={ledger_file.url} " in cronce("show", JOB, "2026-11-29", "--ledger", ledger_file.url).out


def test_a_run_that_is_not_there_is_a_problem(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """Exit code 1, one line, and where to look."""
    ledger_file.put(run())
    for options in ([], ["--json"]):
        said = cronce("show", JOB, "1999-01-01", *options)
        assert (said.code, said.out) == (1, "")
        assert said.err.startswith("cronce: there is no run daily-digest 1999-01-01")
        assert said.err.count("\n") == 1


@pytest.mark.parametrize("command", [["runs", JOB], ["show", JOB, "2026-11-23"]])
def test_nothing_from_outside_acts_on_the_terminal(
    ledger_file: LedgerFile, on_terminal: Callable[..., str], command: list[str]
) -> None:
    """Escape sequences, bells and rich's markup in an error are shown as they are."""
    ledger_file.put(*all_states())
    raw = on_terminal(*command, columns=400)
    assert "\x1b[31mred" not in raw
    assert "\x07" not in raw
    assert "\x9b" not in raw
    assert r"\x1b[31mred\x1b[0m [bold red]markup[/] :boom:" in without_colour(raw)


def test_evil_names_are_shown_not_obeyed(ledger_file: LedgerFile, cronce: Callable[..., Said]) -> None:
    """A foreign writer may call an owner, a reason or an actor anything."""
    ledger_file.put(run(status=Status.FAILED, owner=EVIL, reason=EVIL, actor=EVIL, note=EVIL, blocked_by="[/]"))
    for said in (cronce("runs", JOB), cronce("show", JOB, "2026-11-29"), cronce("show", JOB, "2026-11-29", "--json")):
        assert said.code == 0
        assert not {"\x1b", "\x07", "\x9b"} & set(said.out)
        assert "[bold red]markup[/] :boom:" in said.out


@pytest.mark.parametrize("blocker", ["a#b", "\x1b[2J", " "])
def test_a_blocker_that_cannot_be_looked_up_is_shown_by_name(
    ledger_file: LedgerFile, cronce: Callable[..., Said], blocker: str
) -> None:
    """The page about the run itself is there all the same."""
    ledger_file.put(run(status=Status.SKIPPED, reason=Reason.OVERLAP, blocked_by=blocker))
    said = cronce("show", JOB, "2026-11-29")
    assert (said.code, said.err) == (0, "")
    assert "blocked by" in said.out


def test_a_blocker_of_another_job_of_the_group_is_shown_with_its_job(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """And how it is now; the list and `why` name it as well."""
    blocked = {"blocked_by": "2026-11-28", "blocked_by_job": "daily-close", "exclusion_group": "billing"}
    ledger_file.put(
        run(status=Status.SKIPPED, reason=Reason.OVERLAP, **blocked),
        run(job="daily-close", period="2026-11-28", status=Status.SUCCEEDED),
    )
    said = cronce("show", JOB, "2026-11-29")
    assert "blocked by daily-close 2026-11-28, now SUCCEEDED" in words_of(said)
    assert "group billing" in words_of(said)
    assert "overlap with daily-close 2026-11-28" in words_of(cronce("runs", JOB))
    why = words_of(cronce("why", JOB, "2026-11-29"))
    assert "because a run of its exclusion group (daily-close 2026-11-28) was active when it was due." in why
    assert "That run has ended since: SUCCEEDED." in why


def test_a_blocker_whose_row_cannot_be_read_is_shown_by_name(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """As above."""
    skipped = run(status=Status.SKIPPED, reason=Reason.OVERLAP, blocked_by="2026-11-28")
    ledger_file.put(skipped, run(period="2026-11-28", schema=99))
    said = cronce("show", JOB, "2026-11-29")
    assert (said.code, said.err) == (0, "")
    assert "blocked by 2026-11-28" in words_of(said)


def test_a_search_for_a_state_has_an_end(
    ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops after a number of runs and says how to continue, instead of reading years of them."""
    monkeypatch.setattr(runs_command, "_MOST_A_PAGE", 5)
    monkeypatch.setattr(runs_command, "_MOST_READ", 10)
    ledger_file.put(*(run(period=f"p{number:02}", status=Status.SUCCEEDED) for number in range(15)))
    document = json.loads(cronce("runs", JOB, "--status", "missed", "--json").out)
    assert (document["runs"], document["before"]) == ([], "p05")
    rest = json.loads(cronce("runs", JOB, "--status", "missed", "--before", "p05", "--json").out)
    assert (rest["runs"], rest["before"]) == ([], None)


@pytest.mark.parametrize("columns", [80, 120])
def test_every_page_fits_its_terminal(ledger_file: LedgerFile, on_terminal: Callable[..., str], columns: int) -> None:
    """No line is longer; only a command to copy may be, because a break would spoil it."""
    ledger_file.put(*all_states())
    shown = on_terminal("runs", JOB, columns=columns)
    for period in ("2026-11-23", "2026-11-27T06:00:00Z"):
        shown += on_terminal("show", JOB, period, columns=columns)
    lines = without_colour(shown).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  cronce ")) <= columns
    assert any("2026-11-27T06:00:00Z" in line and "RUNNING" in line for line in lines)


def test_colour_is_for_terminals_and_can_be_forbidden(
    ledger_file: LedgerFile, on_terminal: Callable[..., str], cronce: Callable[..., Said]
) -> None:
    """On a terminal a success is green; with NO_COLOR, on a dumb terminal and in a pipe nothing is."""
    ledger_file.put(*all_states())
    assert "\x1b[32mSUCCEEDED" in on_terminal("runs", JOB)
    assert "\x1b" not in on_terminal("runs", JOB, NO_COLOR="1")
    assert "\x1b" not in on_terminal("show", JOB, "2026-11-21", TERM="dumb")
    assert "\x1b[32mSUCCEEDED" in on_terminal("runs", JOB, NO_COLOR="")
    assert "\x1b" not in cronce("runs", JOB).out


def test_times_name_the_zone_they_are_in(ledger_file: LedgerFile, on_terminal: Callable[..., str]) -> None:
    """The host's own, whatever it is."""
    at = now().replace(month=1, day=15, hour=6, minute=0, second=0)
    ledger_file.put(run(status=Status.SUCCEEDED, claimed_at=at, finished_at=at))
    assert f"{at:%Y-%m-%d} 06:00:00 UTC" in on_terminal("show", JOB, "2026-11-29", TZ="UTC")
    assert f"{at:%Y-%m-%d} 07:00:00 CET" in on_terminal("show", JOB, "2026-11-29", TZ="Europe/Zurich")


def test_a_success_that_was_repeated_by_force_has_no_reason(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """An earlier version noted `lease_lost` with it."""
    past = PastAttempt(attempt=1, status=Status.SUCCEEDED, owner="host:7", reason="lease_lost", note="spam")
    ledger_file.put(run(status=Status.SUCCEEDED, attempt=2, attempts=(past,)))
    shown = cronce("show", JOB, "2026-11-29").out
    assert "lease_lost" not in shown
    assert "spam" in shown


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.MISSED])
def test_a_run_whose_work_never_began_has_no_attempt(
    ledger_file: LedgerFile, cronce: Callable[..., Said], status: Status
) -> None:
    """Its row may have a number, which counts the claim."""
    ledger_file.put(run(status=status, reason=Reason.OVERLAP, attempt=1, blocked_by="2026-11-28"))
    (line,) = [line for line in cronce("runs", JOB).out.splitlines() if line.startswith("2026-11-29")]
    assert line.split()[2] == "-"
    assert "attempt none, trigger schedule" in words_of(cronce("show", JOB, "2026-11-29"))
