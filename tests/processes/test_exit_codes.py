"""What passes through `cronce exec` unchanged: exit codes, output, input, arguments, environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Host

BINARY = bytes(range(256)) * 300


@pytest.mark.parametrize("code", [0, 1, 2, 42, 64, 69, 70, 124, 125, 128, 143, 255])
def test_the_exit_code_is_the_commands_own(host: Host, code: int) -> None:
    """Also where the code is one that cronce uses itself; the ledger has it too."""
    command = host.guarded_shell(f"exit {code}")
    assert command.wait() == code
    run = host.run()
    assert run is not None
    expected = ("SUCCEEDED", None, None) if code == 0 else ("FAILED", "exit_code", code)
    assert (run.status, run.reason, run.exit_code) == expected
    assert command.events[-1]["exit_code"] == code


def test_the_row_says_which_version_of_the_work_each_attempt_ran(host: Host) -> None:
    """As `CRONCE_VERSION` says it, without spaces around it and at most 200 characters of it."""
    for version in (" 1.4.1 ", "2" * 300):
        assert host.guard("false", options="--backoff-limit 1", env={"CRONCE_VERSION": version}).wait() == 1
    run = host.run()
    assert run is not None
    assert (run.ran, [past.ran for past in run.attempts]) == ("2" * 200, ["1.4.1"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGPIPE])
def test_a_signal_that_ends_the_command_is_128_more(host: Host, number: signal.Signals) -> None:
    """As in a shell."""
    assert host.guarded_shell(f"kill -{number.value} $$").wait() == 128 + number
    assert host.ended_run() == ("FAILED", "exit_code")


@pytest.mark.parametrize(("command", "code"), [("no-such-command", 127), ("./not-executable", 126), ("/", 126)])
def test_a_command_that_cannot_be_started_is_126_or_127_and_a_failed_run(host: Host, command: str, code: int) -> None:
    """As in a shell; the ledger says which command."""
    (host.folder / "not-executable").write_text("echo hello")
    guard = host.guard(command)
    assert guard.wait() == code
    run = host.run()
    assert run is not None
    assert (run.status, run.exit_code) == ("FAILED", code)
    assert command in str(run.error)


def test_output_of_any_bytes_is_unchanged(host: Host) -> None:
    """The command writes to our files itself."""
    program = f"import sys; sys.stdout.buffer.write(bytes(range(256)) * {len(BINARY) // 256})"
    command = host.guard(sys.executable, "-c", program)
    assert command.wait() == 0
    assert command.out == BINARY


def test_output_is_not_held_back(host: Host) -> None:
    """Half a line arrives while the command goes on."""
    command = host.guarded_shell("printf half; while [ ! -e stop ]; do sleep 0.05; done; printf ' whole'")
    until(lambda: command.out == b"half", "the first half")
    assert not command.ended
    (host.folder / "stop").touch()
    assert command.wait() == 0
    assert command.out == b"half whole"


def test_stdin_is_the_commands(host: Host) -> None:
    """Bytes go to the command, and so does their end."""
    command = host.guard("cat", stdin=subprocess.PIPE)
    stdin = command.process.stdin
    assert stdin
    stdin.write(b"first\n")
    stdin.flush()
    until(lambda: command.out == b"first\n", "the first line while stdin is open")
    stdin.write(BINARY)
    stdin.close()
    assert command.wait() == 0
    assert command.out == b"first\n" + BINARY


def test_the_period_is_put_into_arguments_as_given(host: Host) -> None:
    """Also several times, and within a word; other braces and odd bytes stay."""
    odd = os.fsdecode(b"\xff\xfe")
    command = host.guard("printf", "%s|", "--day={period}", "{period}/{period}", "{}", "{job}", "", odd)
    assert command.wait() == 0
    expected = [f"--day={PERIOD}", f"{PERIOD}/{PERIOD}", "{}", "{job}", "", odd]
    assert command.out == os.fsencode("|".join(expected) + "|")


def test_the_command_finds_its_run_in_its_environment(host: Host) -> None:
    """Job, period, attempt and fence, beside everything that was there before."""
    program = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith('CRONCE_')}))"
    env = {"CRONCE_RESUME_FROM": "a stranger's", "CRONCE_EXECUTION_ID": "e-1"}
    command = host.guard(sys.executable, "-c", program, env=env)
    assert command.wait() == 0
    found = json.loads(command.out)
    assert found.pop("CRONCE_CHECKPOINT_SOCKET", None) if sys.platform == "linux" else True
    assert found == {
        "CRONCE_JOB": JOB,
        "CRONCE_PERIOD": PERIOD,
        "CRONCE_ATTEMPT": "1",
        "CRONCE_FENCE": "1",
        "CRONCE_EXECUTION_ID": "e-1",
    }


def test_a_refused_process_exits_with_the_code_it_was_given(host: Host) -> None:
    """0 without the option; the reason is in its line."""
    assert host.guard("true").wait() == 0
    assert host.guard("true").wait() == 0
    refused = host.guard("true", options="--refused-exit-code 75")
    assert refused.wait() == 75
    assert refused.event("refused")["reason"] == "ALREADY_SUCCEEDED"


RUN_ONCE = "import cronce; cronce.run_once(lambda _: open('done', 'w'))"


@pytest.mark.parametrize("inner", [("cronce", "exec", "--", "touch", "done"), (sys.executable, "-c", RUN_ONCE)])
def test_a_guard_within_the_guard_of_its_own_run_is_bad_usage(host: Host, inner: tuple[str, ...]) -> None:
    """An image whose entry point is the guard, and a command that has one. As a refusal it would be a success."""
    outer = host.guard(*inner, env={"CRONCE_LEDGER": host.url})
    assert outer.wait() == 64
    assert "CRONCE_ATTEMPT: '1' is not usable; allowed: one guard per run" in outer.err
    assert host.ended_run() == ("FAILED", "exit_code")
    assert not (host.folder / "done").exists()


def test_a_guard_within_the_guard_of_another_run_starts_its_own(host: Host) -> None:
    """Another job, or another period."""
    inner = (
        "cronce exec --job other -- touch done && cronce exec --period 2026-11-28 --concurrency-policy ALLOW -- true"
    )
    outer = host.guard("sh", "-c", inner, env={"CRONCE_LEDGER": host.url})
    assert outer.wait() == 0
    assert (host.folder / "done").exists()
    assert host.ended_run("2026-11-28")[0] == "SUCCEEDED"


def test_each_process_says_at_most_two_lines_and_each_is_json(host: Host) -> None:
    """One at the claim and one at the end; stdout has nothing of ours."""
    command = host.guard("true")
    assert command.wait() == 0
    assert [event["event"] for event in command.events] == ["claimed", "succeeded"]
    assert (len(command.err.splitlines()), command.out) == (2, b"")
