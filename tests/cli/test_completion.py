"""What a shell offers after TAB: commands, options, jobs and periods, through click's own scripts."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import partial

import pytest

from cronce.cli.actions import complete
from cronce.ecs import Launcher
from cronce.vocabulary.states import Status
from tests.cli.conftest import CRONCE, LedgerFile
from tests.cli.ecs_fleet import GROUP, Fleet
from tests.support.builders import JOB, run


def shell_offers(line: str, **environ: str) -> list[str]:
    """What click's script for bash gets for the word at the end of the line; a space before it begins a new one."""
    words = {"_CRONCE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CRONCE_")}
    done = subprocess.run([CRONCE], env=inherited | words | environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [word.partition(",")[2] for word in done.stdout.split()]


@pytest.fixture
def rows(ledger_file: LedgerFile) -> LedgerFile:
    """Two jobs; one has three runs."""
    for day in ("27", "28", "29"):
        ledger_file.put(run(period=f"2026-11-{day}T05:00:00Z", status=Status.SUCCEEDED, lease_until=None))
    ledger_file.put(run(job="billing"), run(job="two words"), run(job="$(reboot)"))
    return ledger_file


def test_commands_and_options_are_offered() -> None:
    """Without a ledger."""
    assert shell_offers("cronce re") == ["rerun", "resume", "release"]
    assert shell_offers(f"cronce runs {JOB} --be") == ["--before"]


@pytest.mark.parametrize("command", ["runs", "show", "why", "next", "logs", "wait", "rerun", "pause", "resume", "tail"])
def test_jobs_are_offered_for_each_command_that_takes_one(rows: LedgerFile, command: str) -> None:
    """Of the ledger in the environment; a name that is no single word is left out."""
    assert shell_offers(f"cronce {command} ", CRONCE_LEDGER=rows.url) == ["billing", JOB]


def test_the_newest_periods_of_the_job_are_offered(rows: LedgerFile) -> None:
    """That begin as typed; the ledger may be given on the command line."""
    offered = shell_offers(f"cronce show --ledger={rows.url} {JOB} 2026-11-2")
    assert offered == [f"2026-11-{day}T05:00:00Z" for day in ("29", "28", "27")]
    assert shell_offers(f"cronce show {JOB} 2026-11-29", CRONCE_LEDGER=rows.url) == ["2026-11-29T05:00:00Z"]


@pytest.mark.parametrize("url", ["nonsense", "sqlite:////no/such/folder/runs.db", "postgresql://u@127.0.0.1:1/d?x=y"])
def test_a_ledger_that_cannot_be_read_offers_nothing(url: str) -> None:
    """And says nothing: the person is typing."""
    assert shell_offers("cronce show ", CRONCE_LEDGER=url) == []
    assert shell_offers(f"cronce show {JOB} ", CRONCE_LEDGER=url) == []


def test_jobs_of_a_schedule_group_are_offered(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """One listing by the beginning of the name, however many jobs there are."""
    for job in (JOB, "daily-report", "billing"):
        fleet.add_job(job)
    monkeypatch.setattr(complete, "launcher_for", lambda *_: Launcher(group=GROUP, scheduler=fleet))
    offered = partial(complete.jobs_like, url="dynamodb://runs", group=GROUP)
    assert offered("daily-") == [JOB, "daily-report"]
    assert offered("") == ["billing", JOB, "daily-report"]
    assert offered("nope") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_documented_line(rows: LedgerFile) -> None:
    """The line of docs/operations.md, in a real shell."""
    script = f"""
PATH={CRONCE.parent}:$PATH
eval "$(_CRONCE_COMPLETE=bash_source cronce)"
COMP_WORDS=(cronce show {JOB} 2026-11-29) COMP_CWORD=3
_cronce_completion cronce
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-ic", script],
        env=dict(os.environ) | {"CRONCE_LEDGER": rows.url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["2026-11-29T05:00:00Z"], done.stderr
