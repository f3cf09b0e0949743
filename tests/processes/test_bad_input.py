"""What `cronce exec` cannot use: one line on stderr, exit code 64, and nothing written or started."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LEDGER = "sqlite:///runs.db"
OPTIONS = {"--ledger": LEDGER, "--job": "daily-digest", "--period": "2026-11-29"}

BROKEN_BYTES = os.fsdecode(b"digest-\xff")

# Each value for the option of that name.
BAD_VALUES = [
    ("--job", ""),
    ("--job", " daily-digest"),
    ("--job", "daily-digest\n"),
    ("--job", "daily\x00digest".replace("\x00", "\x07")),
    ("--job", "x" * 2049),
    ("--job", "ü" * 1025),
    ("--job", BROKEN_BYTES),
    ("--job", "zero\u200bwidth"),
    ("--period", ""),
    ("--period", "2026-11-29 "),
    ("--period", "run#2026"),
    ("--period", "x" * 1021),
    ("--period", "two\nlines"),
    ("--period", BROKEN_BYTES),
    ("--period", "2026-11-29T06:00:00"),
    ("--period", "2026-11-29T06:00:00.5Z"),
    ("--period", "2026-11-31T06:00:00Z"),
    ("--period", "2026-11-29T25:00:00Z"),
    ("--period", "0001-01-01T00:00:00+14:00"),
    ("--scheduled-time", "2026-11-29"),
    ("--scheduled-time", "tomorrow"),
    ("--scheduled-time", "<aws.scheduler.scheduled-time>"),
    ("--scheduled-time", "2026-11-29T06:00:00.123Z"),
    ("--trigger", "someone"),
    ("--trigger", ""),
    ("--force", ""),
    ("--force", "  "),
    ("--force", "a reason, but nobody's: the trigger is schedule"),
    ("--concurrency-policy", "FORBIDDEN"),
    ("--concurrency-policy", ""),
    ("--starting-deadline", "5 minutes"),
    ("--starting-deadline", "0"),
    ("--starting-deadline", "-5"),
    ("--active-deadline", "500ms"),
    ("--active-deadline", "inf"),
    ("--active-deadline", "367d"),
    ("--backoff-limit", "-1"),
    ("--backoff-limit", "1001"),
    ("--backoff-limit", "2.5"),
    ("--backoff-limit", "٣"),
    ("--on-lost", "GIVE_UP"),
    ("--lease", "100ms"),
    ("--lease", "2h"),
    ("--lease", "60 s"),
    ("--lease", "1e2"),
    ("--grace", "nan"),
    ("--grace", ""),
    ("--refused-exit-code", "256"),
    ("--refused-exit-code", "-1"),
    ("--refused-exit-code", "²"),
]

BAD_URLS = [
    "",
    "runs.db",
    "runs",
    "sqlite:",
    "sqlite:///",
    "sqlite://runs.db",
    "sqlite:///runs.db?mode=ro",
    "sqlite:///runs.db#x",
    "sqlite:///a\nb.db",
    "sqlite:///%00.db",
    "sqlite:///a%0Ab.db",
    "postgres://localhost/runs",
    "http://localhost:8000",
    "dynamodb:",
    "dynamodb://",
    "dynamodb:///",
    "dynamodb://ab",
    "dynamodb://runs/more",
    "dynamodb://ru ns",
    "dynamodb://runs?regoin=eu-west-1",
    "dynamodb://runs?region",
    "dynamodb://runs?region=",
    "dynamodb://runs?region=Ireland",
    "dynamodb://runs?region=eu-west-1&region=eu-west-2",
    "dynamodb://runs?region=eu-west-1&endpoint=localhost:8000",
    "dynamodb://runs?region=eu-west-1&endpoint=ftp://localhost",
    "dynamodb://runs?region=eu-west-1&endpoint=http://localhost:99999",
    "dynamodb://runs?region=eu-west-1&endpoint=http://[::1",
    "dynamodb://runs?region=eu-west-1&endpoint=http://:8000",
    "dynamodb://runs?region=eu-west-1&endpoint=http://localhost:port",
    "dynamodb://runs",  # and no Region in the environment
]

BAD_POLICIES = [
    "no JSON",
    "[]",
    "null",
    '"FORBID"',
    "{",
    '{"lease": "60s", "lease": "61s"}',
    '{"leese": "60s"}',
    '{"Lease": "60s"}',
    '{"a\\nb": 1}',
    '{"\\ud800": 1}',
    '{"lease": null}',
    '{"lease": NaN}',
    '{"lease": true}',
    '{"lease": ["60s"]}',
    '{"lease": 1e400}',
    '{"lease": 1' + "0" * 400 + "}",
    '{"backoff_limit": "two"}',
    '{"backoff_limit": 1.0}',
    '{"backoff_limit": true}',
    '{"backoff_limit": 1' + "0" * 400 + "}",
    '{"suspend": "no"}',
    '{"suspend": 1}',
    '{"concurrency_policy": 1}',
    '{"catch_up": "EVERY"}',
    '{"on_lost": null}',
    '{"starting_deadline": ""}',
    '{"starting_deadline": {}}',
    "[" * 20_000,
]

BAD_COMMAND_LINES = [
    [],
    ["--job", "j"],
    [*(part for option in OPTIONS.items() for part in option)],
    [*(part for option in OPTIONS.items() for part in option), "--"],
    [*(part for option in OPTIONS.items() for part in option), "--", ""],
    [*(part for option in OPTIONS.items() for part in option), "touch", "started"],
    ["--jobs", "j", "--", "touch", "started"],
    ["--jo", "j", "--", "touch", "started"],
    ["--un\nknown", "--", "touch", "started"],
    [BROKEN_BYTES, "--", "touch", "started"],
    ["--lease", "--", "touch", "started"],
    ["--ledger", LEDGER, "--job", "j", "--", "touch", "started"],  # no period: never a guess from the clock
    ["--ledger", LEDGER, "--period", "p", "--", "touch", "started"],
    ["--job", "j", "--period", "p", "--", "touch", "started"],
]

BAD_VARIABLES = [
    ("CRONCE_JOB", " x"),
    ("CRONCE_PERIOD", "a#b"),
    ("CRONCE_SCHEDULED_TIME", "<aws.scheduler.scheduled-time>"),
    ("CRONCE_TRIGGER", "someone"),
    ("CRONCE_POLICY", "{}{}"),
]


@pytest.mark.parametrize(("option", "value"), BAD_VALUES)
def test_a_bad_value_of_an_option_is_refused(tmp_path: Path, option: str, value: str) -> None:
    """The line names the option."""
    options = OPTIONS | {option: value}
    assert option in refusal_of(tmp_path, *(f"{name}={given}" for name, given in options.items()))


@pytest.mark.parametrize("url", BAD_URLS)
def test_a_bad_ledger_url_is_refused(tmp_path: Path, url: str) -> None:
    """Before anything is opened; the line says what is allowed."""
    options = OPTIONS | {"--ledger": url}
    refusal_of(tmp_path, *(f"{name}={given}" for name, given in options.items()))


@pytest.mark.parametrize("policy", BAD_POLICIES, ids=lambda policy: policy[:40])
def test_a_bad_policy_is_refused(tmp_path: Path, policy: str) -> None:
    """The line names the variable or the field."""
    line = refusal_of(tmp_path, *(f"{name}={given}" for name, given in OPTIONS.items()), env={"CRONCE_POLICY": policy})
    assert "CRONCE_POLICY" in line or "backoff_limit" in line


@pytest.mark.parametrize("arguments", BAD_COMMAND_LINES, ids=lambda arguments: " ".join(arguments)[:60] or "nothing")
def test_a_bad_command_line_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    """Unknown, shortened and missing options, and a missing command."""
    done = exec_with(tmp_path, *arguments)
    expect_refusal(tmp_path, done)


@pytest.mark.parametrize(("name", "value"), BAD_VARIABLES)
def test_a_bad_variable_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """The line names the variable."""
    task = {
        "CRONCE_LEDGER": LEDGER,
        "CRONCE_JOB": "daily-digest",
        "CRONCE_SCHEDULED_TIME": "2026-11-29T06:00:00Z",
        name: value,
    }
    assert name in refusal_of(tmp_path, env=task)


def test_what_the_tables_change_is_all_that_is_wrong_with_them(tmp_path: Path) -> None:
    """The same command line without a bad value works."""
    done = exec_with(tmp_path, *(f"{name}={given}" for name, given in OPTIONS.items()), "--", "touch", "started")
    assert done.returncode == 0
    assert (tmp_path / "runs.db").exists()
    assert (tmp_path / "started").exists()
    assert [json.loads(line)["cronce.event"] for line in done.stderr.splitlines()] == ["claimed", "succeeded"]


def refusal_of(folder: Path, *options: str, env: dict[str, str] | None = None) -> str:
    """The one line with which `cronce exec` refuses these options."""
    return expect_refusal(folder, exec_with(folder, *options, "--", "touch", "started", env=env))


def exec_with(folder: Path, *arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run `cronce exec` in the folder."""
    command = ["cronce", "exec", *arguments]
    return subprocess.run(
        command, check=False, capture_output=True, cwd=folder, env=os.environ | (env or {}), timeout=60
    )


def expect_refusal(folder: Path, done: subprocess.CompletedProcess[bytes]) -> str:
    """One line, 64, and an empty folder."""
    stderr = done.stderr.decode()
    assert (done.returncode, done.stdout, len(stderr.splitlines())) == (64, b"", 1), stderr
    assert stderr.startswith("cronce exec: ")
    assert len(stderr) < 1000
    assert list(folder.iterdir()) == []
    return stderr


def test_a_foreign_clock_needs_no_period(tmp_path: Path) -> None:
    """The command gets the nominal time of the tick just due; a second start of it is refused."""
    at = datetime.now(UTC).replace(microsecond=0)
    options = ["--schedule", f"at({at:%Y-%m-%dT%H:%M:%S})", "--tolerance", "5m", "--ledger", LEDGER, "--job", "j"]
    command = ["cronce", "exec", *options, "--", "echo", "{period}"]
    ran = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert ran == [f"{at:%Y-%m-%dT%H:%M:%SZ}\n", ""]


def test_a_foreign_clock_that_starts_at_another_time_starts_nothing(tmp_path: Path) -> None:
    """64, one line, and no file."""
    options = ["--schedule", "at(2020-01-01T00:00:00)", "--ledger", LEDGER, "--job", "j"]
    ran = subprocess.run(
        ["cronce", "exec", *options, "--", "echo", "{period}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (64, "", 1)
    assert ran.stderr.startswith("cronce exec: --schedule: ")
    assert list(tmp_path.iterdir()) == []
