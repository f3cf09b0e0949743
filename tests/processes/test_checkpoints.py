"""Cursors that a child in any language stores with its run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.host import until

if TYPE_CHECKING:
    from tests.support.host import Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket's address is abstract (Linux only)")

RESUME = 'echo "resume $CRONCE_ATTEMPT ${CRONCE_RESUME_FROM-nothing}" >>"$LOG"'
KEEP_LOG = 'cronce checkpoint "$1" 2>>"$LOG"; echo "code $?" >>"$LOG"'


def test_after_a_sigkill_the_next_attempt_resumes_from_the_checkpoint(host: Host) -> None:
    """The last one that was taken, whoever runs next."""
    script = RESUME + '; cronce checkpoint 1000 && cronce checkpoint 1500 && echo stored >>"$LOG"; exec sleep 300'
    guard = host.guarded_shell(script, options="--lease 2s")
    host.await_log("stored")
    guard.send(signal.SIGKILL)
    claim = host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE")
    assert claim.resume_from == 1500
    claim.interrupt()
    assert host.guarded_shell(RESUME).wait() == 0
    assert [line for line in host.logged if "resume" in line] == ["resume 1 nothing", "resume 3 1500"]


@pytest.mark.parametrize(
    ("given", "resumed", "value"),
    [
        ("1500", "1500", 1500),
        ('{"page": 7, "of": [1, 2.5, null]}', '{"page":7,"of":[1,2.5,null]}', {"page": 7, "of": [1, 2.5, None]}),
        ('"text"', '"text"', "text"),
        ("customer-17", '"customer-17"', "customer-17"),
        ("Zürich 🚆", '"Z\\u00fcrich \\ud83d\\ude86"', "Zürich 🚆"),
        ("two\nlines", '"two\\nlines"', "two\nlines"),
        ("NaN and more", '"NaN and more"', "NaN and more"),
        ("", '""', ""),
        ("false", "false", False),
        ("0", "0", 0),
        ("null", '"null"', "null"),
        ("NaN", '"NaN"', "NaN"),
        ('{"at": Infinity}', '"{\\"at\\": Infinity}"', '{"at": Infinity}'),
        ("1e999", '"1e999"', "1e999"),
        ("[" * 5000, json.dumps("[" * 5000), "[" * 5000),
        ("x" * 32_000, json.dumps("x" * 32_000), "x" * 32_000),
    ],
    ids=[
        "number",
        "object",
        "string",
        "text",
        "unicode",
        "lines",
        "words",
        "empty",
        "false",
        "zero",
        "null",
        "nan",
        "infinity",
        "huge",
        "deep",
        "large",
    ],
)
def test_a_checkpoint_is_json_or_else_text(host: Host, given: str, resumed: str, value: object) -> None:
    """It stands as JSON in the row, and so in the next attempt's environment."""
    assert host.guard("sh", "-c", KEEP_LOG, "sh", given).wait() == 0
    assert host.logged == ["code 0"]
    run = host.run()
    assert run is not None
    assert run.checkpoint == resumed
    assert json.loads(resumed) == value


@pytest.mark.parametrize("given", ["x" * 40_000, "x" * 120_000], ids=["too-large", "far-too-large"])
def test_a_checkpoint_that_cannot_be_stored_is_refused_and_the_earlier_one_stands(host: Host, given: str) -> None:
    """Exit 1 and a line that says why; the run goes on."""
    script = "cronce checkpoint 1000; " + KEEP_LOG + "; exit 1"
    assert host.guard("sh", "-c", script, "sh", given).wait() == 1
    assert host.logged[-1] == "code 1"
    assert host.logged[0].startswith("cronce checkpoint: ")
    assert len(host.logged) == 2
    run = host.run()
    assert run is not None
    assert run.checkpoint == "1000"


def test_without_a_guard_around_it_a_checkpoint_is_a_usage_error(host: Host) -> None:
    """64 where there is no socket, 69 where nobody answers, and for wrong arguments 64."""
    alone = host.start("cronce", "checkpoint", "1500")
    assert alone.wait() == 64
    assert len(alone.err.splitlines()) == 1
    gone = host.start("cronce", "checkpoint", "1500", env={"CRONCE_CHECKPOINT_SOCKET": "@cronce-gone"})
    assert gone.wait() == 69
    assert len(gone.err.splitlines()) == 1
    assert host.start("cronce", "checkpoint").wait() == 64
    assert host.start("cronce", "checkpoint", "1", "2").wait() == 64


def test_a_checkpoint_after_the_run_was_lost_is_refused(host: Host) -> None:
    """The child hears of it, and the row is not touched."""
    script = (
        'trap "" TERM; echo ready >>"$LOG"; while [ ! -e go ]; do sleep 0.05; done; ' + KEEP_LOG + "; exec sleep 300"
    )
    guard = host.guard("sh", "-c", script, "sh", "1500", options="--lease 4s")
    host.await_log("ready")
    released = host.ledger.release("daily-digest", "2026-11-29", actor="on-call", force=True)
    (host.folder / "go").touch()
    assert guard.wait() == 70
    assert host.run() == released
    assert "code 0" not in host.logged


def test_connections_that_say_nothing_delay_nobody(host: Host) -> None:
    """Also those that say only half of it; nothing of them is stored."""
    program = (
        "import os, socket, subprocess, sys\n"
        "address = b'\\0' + os.environ['CRONCE_CHECKPOINT_SOCKET'].removeprefix('@').encode()\n"
        "silent = [socket.socket(socket.AF_UNIX) for _ in range(20)]\n"
        "[one.connect(address) for one in silent]\n"
        "silent[0].sendall(b'4\\n12')\n"
        "subprocess.run(['cronce', 'checkpoint', '7'], check=True, timeout=4)\n"
        "[one.close() for one in silent]\n"
        "subprocess.run(['cronce', 'checkpoint', '8'], check=True, timeout=4)\n"
    )
    guard = host.guard(sys.executable, "-c", program)
    assert guard.wait() == 0, guard.err
    run = host.run()
    assert run is not None
    assert run.checkpoint == "8"


def test_a_process_that_is_not_the_commands_is_refused(host: Host) -> None:
    """Although the address is in the kernel's list of sockets; it is not the run's token either."""
    wait = "while [ ! -e stop ]; do sleep 0.05; done; exit 1"
    script = f'cronce checkpoint 7; echo "$CRONCE_CHECKPOINT_SOCKET" >>"$LOG"; {wait}'
    guard = host.guarded_shell(script)
    host.await_log("@")
    (address,) = host.logged
    run = host.run()
    assert run is not None
    assert run.token not in address
    stranger = host.start("cronce", "checkpoint", "1000000", env={"CRONCE_CHECKPOINT_SOCKET": address})
    assert stranger.wait() == 1
    assert "was not started by that 'cronce exec'" in stranger.err
    (host.folder / "stop").touch()
    assert guard.wait() == 1
    run = host.run()
    assert run is not None
    assert run.checkpoint == "7"


def test_a_command_that_became_another_user_stores_its_checkpoints(host: Host) -> None:
    """It is still the guard's own."""
    if os.geteuid():
        pytest.skip("only root may change the user")
    program = (
        "import os, sys; from cronce.guard.checkpoints import send;"
        "os.setgid(65534); os.setuid(65534); sys.exit(send(os.environ['CRONCE_CHECKPOINT_SOCKET'], '7') or 0)"
    )
    assert host.guard(sys.executable, "-c", program).wait() == 0
    run = host.run()
    assert run is not None
    assert run.checkpoint == "7"


def test_checkpoints_of_many_children_at_once_are_all_taken(host: Host) -> None:
    """One after the other; the last one stands."""
    script = 'for i in 1 2 3 4; do cronce checkpoint $i || echo refused >>"$LOG" & done; wait; cronce checkpoint 99'
    guard = host.guard("sh", "-c", script, stdin=subprocess.DEVNULL)
    assert guard.wait() == 0
    assert host.logged == []
    run = until(host.run, "the run")
    assert run is not None
    assert run.checkpoint == "99"
