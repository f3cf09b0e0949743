"""`cronce once KEY -- COMMAND`: effects of a command in any language."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.effects import effects

if TYPE_CHECKING:
    from tests.support.host import Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket's address is abstract (Linux only)")

SAY = 'echo "mail $1" >>"$LOG"'
CODE = 'echo "code $?" >>"$LOG"'

SOCKET_CLIENT = """
import os, socket, sys
def ask(word, key):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(b"\\0" + os.environ["CRONCE_CHECKPOINT_SOCKET"].removeprefix("@").encode())
        connection.sendall(b"%s %d\\n%s" % (word.encode(), len(key.encode()), key.encode()))
        return b"".join(iter(lambda: connection.recv(4096), b"")).decode()
"""


def once(key: str, command: str = SAY, *, options: str = "") -> str:
    """A line of a script."""
    return f"cronce once {options} {key} -- sh -c '{command}' sh {key}"


def test_an_effect_is_done_once_in_all_attempts(host: Host) -> None:
    """Twice in the first one, once more in the next one."""
    script = f"{once('ann')}; {once('ann')}; {CODE}; exit 1"
    assert host.guarded_shell(script).wait() == 1
    again = host.guarded_shell(f"{once('ann')}; {CODE}; {once('ben')}", options="--trigger manual")
    assert again.wait() == 0
    assert host.logged == ["mail ann", "code 0", "code 0", "mail ben"]
    assert effects(host) == {"ann": "done", "ben": "done"}


@pytest.mark.parametrize(("options", "again"), [("", []), ("--on-unknown repeat", ["mail ann"])])
def test_after_a_sigkill_an_effect_is_unknown(host: Host, options: str, again: list[str]) -> None:
    """It is skipped and reported, or repeated, as the caller says; the ones before it are done."""
    script = f"{once('ben')}; {once('ann', SAY + '; exec sleep 300')}"
    guard = host.guarded_shell(script, options="--lease 2s")
    host.await_log("mail ann")
    guard.send(signal.SIGKILL)
    host.claim_when_possible(meanwhile="RUNNING_ELSEWHERE").interrupt()
    next_one = host.guarded_shell(f"{once('ben', options=options)}; {once('ann', options=options)}")
    assert next_one.wait() == 0
    assert host.logged == ["mail ben", "mail ann", *again]
    assert ("ann is skipped" in next_one.err) == (not again)


@pytest.mark.parametrize(
    ("command", "code", "state"),
    [
        ("exit 0", 0, "done"),
        ("exit 3", 3, "unknown"),
        ("kill -9 $$", 137, "unknown"),
        ("exit 75", 75, "never_tried"),
        ("exec /no/such/program", 127, "never_tried"),
        ("exec /etc", 126, "never_tried"),
    ],
)
def test_the_commands_end_says_what_became_of_the_effect(host: Host, command: str, code: int, state: str) -> None:
    """Its exit code is the command's own."""
    assert host.guarded_shell(f"{once('ann', command)}; {CODE}").wait() == 0
    assert host.logged == [f"code {code}"]
    assert effects(host) == {"ann": state}


def test_a_command_that_cannot_be_started_was_never_tried(host: Host) -> None:
    """The line says which."""
    guard = host.guarded_shell(f"cronce once ann -- /no/such/program; {CODE}; cronce once ann -- /etc; {CODE}")
    assert guard.wait() == 0
    assert host.logged == ["code 127", "code 126"]
    assert guard.err.count("cannot be started") == 2
    assert effects(host) == {"ann": "never_tried"}


def test_a_failed_effect_may_be_repeated_in_the_same_attempt(host: Host) -> None:
    """By those who want it at least once."""
    script = f"{once('ann', SAY + '; exit 3')}; {once('ann')}; {once('ann', options='--on-unknown=repeat')}"
    assert host.guarded_shell(script).wait() == 0
    assert host.logged == ["mail ann", "mail ann"]


def test_two_processes_never_begin_the_same_effect(host: Host) -> None:
    """Not even those who repeat what is unknown."""
    script = "; ".join(f"{once('ann', SAY + '; sleep 1', options='--on-unknown repeat')} &" for _ in range(4))
    assert host.guarded_shell(f"{script.replace('&;', '&')} wait").wait() == 0
    assert host.logged == ["mail ann"]


def test_a_stop_of_all_is_awaited_and_noted(host: Host) -> None:
    """SIGTERM reaches the command too; it ends its mail, and that is noted."""
    command = 'trap "echo end >>$LOG; exit 0" TERM; ' + SAY + "; while :; do sleep 0.1; done"
    guard = host.guarded_shell("exec " + once("ann", command.replace("'", '"')))
    host.await_log("mail ann")
    guard.send(signal.SIGTERM)
    guard.wait()
    assert host.logged == ["mail ann", "end"]
    assert effects(host) == {"ann": "done"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["ann"],
        ["ann", "--"],
        ["--", "true"],
        ["a", "b", "--", "true"],
        ["--on-unknown", "maybe", "a", "--", "true"],
    ],
)
def test_bad_usage_is_one_line_and_nothing_runs(host: Host, arguments: list[str]) -> None:
    """Also without a guard around it."""
    done = host.start("cronce", "once", *arguments)
    assert done.wait() == 64
    assert done.err.startswith("cronce once: give a KEY and a command")
    assert len(done.err.splitlines()) == 1


def test_without_a_guard_nothing_runs(host: Host) -> None:
    """64 where there is no socket, 69 where nobody answers."""
    alone = host.start("cronce", "once", "ann", "--", "touch", "ran")
    assert alone.wait() == 64
    gone = host.start("cronce", "once", "ann", "--", "touch", "ran", env={"CRONCE_CHECKPOINT_SOCKET": "@cronce-gone"})
    assert gone.wait() == 69
    assert not (host.folder / "ran").exists()


def test_a_key_that_cannot_be_stored_is_refused_and_nothing_runs(host: Host) -> None:
    """With the reason."""
    guard = host.guard("sh", "-c", f'cronce once "$1" -- touch ran; {CODE}', "sh", "a\nb")
    assert guard.wait() == 0
    assert host.logged == ["code 1"]
    assert "key of the effect" in guard.err
    assert not (host.folder / "ran").exists()


def test_the_socket_is_as_documented(host: Host) -> None:
    """Every request of docs/effects.md, and what is none."""
    program = SOCKET_CLIENT + (
        'asked = "skip ann,done ann,skip ann,repeat ben,unknown ben,skip ben,repeat ben,never_tried ben,skip ben"\n'
        'said = [ask(*line.split()) for line in (asked + ",done cem,delete ann").split(",")]\n'
        'open(os.environ["LOG"], "w").write("\\n".join(said))\n'
    )
    guard = host.guard(sys.executable, "-c", program)
    assert guard.wait() == 0, guard.err
    assert host.logged == [
        "ok",
        "ok",
        "skip done",
        "ok",
        "ok",
        "skip unknown",
        "ok",
        "ok",
        "ok",
        "the effect 'cem' was not begun",
        "unknown request 'delete'; known are skip, repeat, done, unknown, never_tried",
    ]
