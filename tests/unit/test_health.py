"""`cronce health` and who answers it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cronce
from cronce.cli.runtime import health
from cronce.guard.health import HealthServer, address_of, ask
from cronce.vocabulary import environment
from tests.support.host import until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="abstract addresses are Linux's")


LEDGER = "dynamodb://runs?region=eu-west-1"


@pytest.fixture
def name() -> str:
    """A name that no other process has."""
    return f"clock-{uuid.uuid4().hex}"


@pytest.fixture
def listener(name: str) -> Iterator[socket.socket]:
    """A process of that name that listens, and says nothing by itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address_of(name, LEDGER))
        listener.listen()
        yield listener


def served(name: str, reasons: list[str | None]) -> None:
    """Serve a probe that answers with the last of the reasons, from now on."""
    HealthServer(lambda: reasons[-1], name=name, ledger=LEDGER).start()
    until(lambda: "no process" not in (ask(name, LEDGER, within=2) or ""), "an answer")


def test_it_says_what_the_probe_says_at_this_moment(name: str) -> None:
    """Healthy, ill, healthy again."""
    reasons: list[str | None] = [None]
    served(name, reasons)
    assert ask(name, LEDGER, within=2) is None
    reasons.append("the last tick is 3 m old")
    assert ask(name, LEDGER, within=2) == "the last tick is 3 m old"
    reasons.append(None)
    assert ask(name, LEDGER, within=2) is None


def test_a_probe_that_fails_is_no_good_news(name: str) -> None:
    """And the next one is asked all the same."""
    answers: list[str | None] = []

    def probe() -> str | None:
        return answers[0]

    HealthServer(probe, name=name, ledger=LEDGER).start()
    until(lambda: "its probe failed: IndexError" in (ask(name, LEDGER, within=2) or ""), "an answer")
    answers.append(None)
    assert ask(name, LEDGER, within=2) is None


def test_nobody_of_that_name_is_ill(name: str) -> None:
    """A process that is gone takes its address with it."""
    assert f"no process with the name '{name}'" in (ask(name, LEDGER, within=2) or "")


@pytest.mark.usefixtures("listener")
def test_a_process_that_says_nothing_is_ill_in_time(name: str) -> None:
    """One that is stopped, or hangs: the kernel takes the connection, and nobody answers it."""
    began = time.monotonic()
    assert ask(name, LEDGER, within=0.2) == "no answer within 0.2 s"
    assert time.monotonic() - began < 5


def test_a_process_that_hangs_up_is_ill(name: str, listener: socket.socket) -> None:
    """An empty answer is none."""

    def hang_up() -> None:
        connection, _ = listener.accept()
        connection.close()

    hanging_up = threading.Thread(target=hang_up)
    hanging_up.start()
    assert ask(name, LEDGER, within=60) is not None
    hanging_up.join()


def test_a_second_process_of_a_name_answers_once_the_first_is_gone(name: str, listener: socket.socket) -> None:
    """Two tasks that share a host's network, while one replaces the other."""
    HealthServer(lambda: "the second", name=name, ledger=LEDGER).start()
    assert ask(name, LEDGER, within=0.2) == "no answer within 0.2 s"
    listener.close()
    until(lambda: ask(name, LEDGER, within=2) == "the second", "the second's answer")


def test_a_client_that_says_nothing_does_not_keep_the_others_out(name: str) -> None:
    """It connects, and reads nothing."""
    served(name, [None])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as idle:
        idle.connect(address_of(name, LEDGER))
        assert ask(name, LEDGER, within=2) is None


def test_two_clocks_of_one_name_with_different_ledgers_are_two(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where both are given the same relative path, in two checkouts."""
    relative = "sqlite:///runs.db"
    monkeypatch.chdir(tmp_path)
    HealthServer(lambda: None, name=name, ledger=relative).start()
    until(lambda: ask(name, relative, within=2) is None, "an answer")
    assert ask(name, f"sqlite:///{tmp_path}/runs.db", within=2) is None
    assert "answers on this host" in (ask(name, LEDGER, within=2) or "")
    monkeypatch.chdir(tmp_path.parent)
    assert "answers on this host" in (ask(name, relative, within=2) or "")


def test_an_address_does_not_show_a_password(name: str) -> None:
    """Every process of the host can read it in `/proc/net/unix`."""
    with_password = "postgresql://ada:secret@db/shop"
    assert b"secret" not in address_of(name, with_password)
    assert "secret" not in (ask(name, with_password, within=2) or "")
    HealthServer(lambda: None, name=name, ledger=with_password).start()
    until(lambda: ask(name, with_password, within=2) is None, "an answer")


def test_long_names_fit_and_stay_apart() -> None:
    """107 bytes is the limit of an address (man 7 unix)."""
    first, second = "ü" * 500 + "1", "ü" * 500 + "2"
    assert len({address_of(first, LEDGER), address_of(second, LEDGER)}) == 2
    assert max(len(address_of(name, LEDGER)) for name in (first, *("n" * length for length in range(80, 100)))) <= 107


def cronce_health(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """What the command says."""
    return subprocess.run(
        ["cronce", "health", *arguments], env=path() | environ, capture_output=True, text=True, check=False, timeout=60
    )


def path() -> dict[str, str]:
    """An environment with nothing but the way to the command and the ledger."""
    return {"PATH": f"{sys.prefix}/bin", "CRONCE_LEDGER": LEDGER}


def test_the_commands_name_is_the_jobs(name: str) -> None:
    """As in a task of `PinnedScheduler`; 0 and one line."""
    assert (health._JOB, health._LEDGER) == (environment.JOB, environment.LEDGER)
    served(name, [None])
    answer = cronce_health(CRONCE_JOB=name)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "healthy\n", "")


@pytest.mark.parametrize("form", ["--name {}", "--name={}"])
def test_the_command_says_what_is_wrong_in_one_line(name: str, form: str) -> None:
    """1, on stderr, also where the reason has several lines."""
    served(name, ["the ledger\nis away"])
    answer = cronce_health(*form.format(name).split())
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "", "unhealthy: the ledger is away\n")


def test_the_command_does_not_guess_a_name() -> None:
    """64."""
    for arguments in ([], ["--name="], ["extra"], ["--name"], ["--name=x", "--ledger="]):
        answer = cronce_health(*arguments)
        assert (answer.returncode, len(answer.stderr.splitlines())) == (64, 1)
    assert cronce_health("--help").stdout.startswith("usage: cronce health")


def test_the_command_loads_nothing_of_the_ledger() -> None:
    """It is started every few seconds, beside the work."""
    program = (
        "import sys, cronce.cli.main, cronce.cli.runtime.health as health;"
        "health.main(['--name', 'x', '--ledger', 'y']); print(*sys.modules)"
    )
    # Without `site`, whose .pth files may bring more along (a measurement of coverage does).
    environ = os.environ | {"PYTHONPATH": str(Path(cronce.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], check=True, capture_output=True, text=True, env=environ
    )
    loaded = done.stdout.split()
    ours = {module for module in loaded if module.startswith("cronce.")}
    assert ours == {
        "cronce.cli",
        "cronce.cli.main",
        "cronce.cli.runtime",
        "cronce.cli.runtime.health",
        "cronce.guard",
        "cronce.guard.health",
        "cronce.vocabulary",
        "cronce.vocabulary.exit_codes",
    }
    assert {"socket", "threading", "argparse", "json", "datetime"} & set(loaded) == set()
