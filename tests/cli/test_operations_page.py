"""`docs/operations.md` is played from top to bottom: what it shows is what the commands print."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Self

import pytest

from cronce.cli.actions import start
from cronce.cli.commands import backfill, jobs, pause, rerun, resume, runs, show, why
from cronce.cli.commands import next as next_command
from cronce.client.leadership import LEADER
from cronce.client.time_source import SystemClock
from cronce.protocol.records import PastAttempt, RunRecord
from cronce.schedule import ZoneData
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status
from cronce.watch.launches import WATCHDOG_LOOK
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import run

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
COLUMNS = 100
TASK = "arn:aws:ecs:eu-west-1:123456789012:task/shop/"


class StoryTime(datetime):
    """The clock of the page; each wait of a command takes 40 seconds of it."""

    at = NOW

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """The time in the story."""
        return cls.fromtimestamp(cls.at.timestamp(), tz)


@pytest.fixture
def cronce_then(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Said]]:
    """Runs a command on that morning."""
    StoryTime.at = NOW
    for module in (jobs, runs, show, why, rerun, backfill, next_command, pause, resume, start):
        monkeypatch.setattr(module, "datetime", StoryTime)
    zone_data = ZoneData(version="2026b", source="system", zone=UTC)
    monkeypatch.setattr(next_command, "zone_data", lambda _timezone: (zone_data,))
    monkeypatch.setattr(SystemClock, "now", lambda _self: StoryTime.at)
    monkeypatch.setattr(SystemClock, "monotonic", lambda _self: StoryTime.at.timestamp())
    for module in (rerun, backfill):
        monkeypatch.setattr(module, "operator", lambda: "ann@desk")
    monkeypatch.setattr(time, "sleep", lambda _seconds: _time_passes(fleet))
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    fleet.add_job("daily-digest")
    fleet.add_job("cleanup")
    fleet.add_job("billing", "cron(0 23 * * ? *)", policy=Policy(on_lost=OnLost.HOLD))
    ledger_file.put(*digests(), held_bill(), bare_cleanup(), watchdogs_look())
    yield cronce
    monkeypatch.undo()
    time.tzset()


def _time_passes(fleet: Fleet) -> None:
    StoryTime.at += timedelta(seconds=40)
    fleet.step()


def digests() -> list[RunRecord]:
    """The last days of the digest; the 26th has no row."""

    def digest(day: int, task: str, **changes: object) -> RunRecord:
        at = datetime(2026, 11, day, 5, tzinfo=UTC)
        begun = at + timedelta(seconds=41)
        default = {
            "job": "daily-digest",
            "period": f"2026-11-{day}T05:00:00Z",
            "status": Status.SUCCEEDED,
            "owner": TASK + task * 4,
            "scheduled_at": at,
            "claimed_at": begun,
            "finished_at": begun + timedelta(minutes=4, seconds=12),
        }
        return run(**default | changes)

    return [
        digest(24, "5f0c3ab1"),
        digest(25, "91d7e004"),
        digest(
            27,
            "0aa4b7c2",
            status=Status.MISSED,
            reason=Reason.NEVER_DELIVERED,
            attempt=0,
            owner="watchdog",
            claimed_at=datetime(2026, 11, 27, 5, 6, tzinfo=UTC),
            finished_at=datetime(2026, 11, 27, 5, 6, tzinfo=UTC),
        ),
        digest(
            28,
            "c81f2d90",
            attempt=2,
            attempts=(
                PastAttempt(
                    attempt=1,
                    status=Status.FAILED,
                    owner=TASK + "77e3a9d1" * 4,
                    claimed_at=datetime(2026, 11, 28, 5, 0, 41, tzinfo=UTC),
                    finished_at=datetime(2026, 11, 28, 5, 2, 10, tzinfo=UTC),
                    reason=Reason.TASK_STOPPED,
                    exit_code=137,
                    error="OutOfMemoryError: Container killed due to memory usage",
                ),
            ),
        ),
        digest(
            29,
            "3be5d6f8",
            status=Status.FAILED,
            reason=Reason.EXIT_CODE,
            exit_code=3,
            failures=1,
            checkpoint='{"sent":1500}',
        ),
    ]


def bare_cleanup() -> RunRecord:
    """A task without the guard that ran to its end."""
    at = datetime(2026, 11, 29, 5, tzinfo=UTC)
    return run(
        job="cleanup",
        period="2026-11-29T05:00:00Z",
        status=Status.FAILED,
        reason=Reason.UNCLAIMED,
        attempt=0,
        exit_code=0,
        owner=TASK + "e0c1b2a3" * 4,
        scheduled_at=at,
        claimed_at=None,
        finished_at=at + timedelta(minutes=2),
        error="EssentialContainerExited: Essential container in task exited",
    )


def watchdogs_look() -> RunRecord:
    """The watchdog looked less than a minute ago."""
    at = NOW - timedelta(seconds=20)
    row = {"status": Status.FAILED, "reason": Reason.INTERRUPTED, "claimed_at": at, "finished_at": at}
    return run(job=WATCHDOG_LOOK, period=LEADER, **row)


def held_bill() -> RunRecord:
    """A run that died half-way under HOLD."""
    at = datetime(2026, 11, 28, 22, tzinfo=UTC)
    return run(
        job="billing",
        period="2026-11-28T22:00:00Z",
        status=Status.FAILED,
        reason=Reason.TASK_STOPPED,
        owner=TASK + "d2c4e6a8" * 4,
        scheduled_at=at,
        claimed_at=at + timedelta(seconds=38),
        finished_at=at + timedelta(minutes=3),
        exit_code=137,
        error="OutOfMemoryError: Container killed due to memory usage",
    )


def replayed(page: str, cronce: Callable[..., Said]) -> str:
    """The page with what its commands print now."""

    def play(block: re.Match[str]) -> str:
        lines = []
        for command in re.findall(r"^\$ (.*)$", block[1], re.MULTILINE):
            said = cronce(*shlex.split(command)[1:])
            shown = [line.rstrip() for line in (said.out + said.err).splitlines()]
            lines += [f"$ {command}", *shown]
        return "```console\n" + "\n".join(lines) + "\n```"

    return re.sub(r"```console\n(.*?)\n```", play, page, flags=re.DOTALL)


def test_the_page_shows_what_the_commands_print(cronce_then: Callable[..., Said]) -> None:
    """To the letter."""
    page = PAGE.read_text()
    assert page.count("\n$ ") >= 14
    assert replayed(page, cronce_then) == page
