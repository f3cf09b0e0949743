"""`cronce board`: the file it writes and the server."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from cronce.board.calendar import Mark
from cronce.board.reading import MOST_ROWS, read_board
from cronce.cli.actions.serve_board import is_loopback
from cronce.client.ledger import Ledger
from cronce.ecs import Launcher
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Status
from tests.cli.conftest import CRONCE, LedgerFile, Said, now
from tests.cli.ecs_fleet import GROUP, Fleet
from tests.support.builders import JOB, T0, run


def jobs_on(page: str) -> list[str]:
    """The names on the calendar."""
    return re.findall(r'<span class="job">(.*?)</span>', page)


def test_one_file_has_the_jobs_of_the_group_and_of_the_ledger(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said], tmp_path: Path
) -> None:
    """For its owner's eyes; an older file of that name is replaced, and a link is not followed."""
    fleet.add_job("billing", policy=Policy(suspend=True))
    fleet.add_job(JOB)
    at = now() - timedelta(hours=1)
    ledger_file.put(
        run(job="by-hand", period=period_of(at.replace(microsecond=0)), status=Status.FAILED, claimed_at=at),
        run(job="cronce:watchdog"),
        run(job="long-ago", period="2020-01-01", status=Status.SUCCEEDED),
    )
    target, other = tmp_path / "runs.html", tmp_path / "other"
    other.write_text("mine")
    target.symlink_to(other)
    assert cronce("pause", JOB, "--why", "stock<b>", "--actor", "ann").code == 0
    assert cronce("board", "-o", str(target)) == Said(0, f"Wrote {target}.\n", "")
    text = target.read_text()
    assert jobs_on(text) == ["billing", "by-hand", JOB]
    assert "suspended" in text
    assert "paused by ann now: stock&lt;b&gt;" in text
    assert "at 06:00 every day, Europe/Berlin" in text
    assert (target.stat().st_mode & 0o777, target.is_symlink(), other.read_text()) == (0o600, False, "mine")
    assert sorted(path.name for path in tmp_path.glob("runs.html*")) == ["runs.html"]


def test_the_board_replaces_only_a_file(ledger_file: LedgerFile, cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Root would otherwise replace a device, such as /dev/null, for the whole machine."""
    ledger_file.put(run())
    pipe, link, other = tmp_path / "pipe", tmp_path / "link", tmp_path / "runs.html.part"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    other.write_text("mine")
    for given in (pipe, link):
        said = cronce("board", "-o", str(given))
        assert said == Said(1, "", f"cronce: {given} cannot be written: it is no regular file\n")
    assert cronce("board", "-o", str(tmp_path / "runs.html")).code == 0
    assert (pipe.is_fifo(), link.is_symlink(), other.read_text()) == (True, True, "mine")


def test_a_tick_without_a_row_is_overdue_on_the_board(ledger_file: LedgerFile, fleet: Fleet) -> None:
    """On the day of the tick."""
    fleet.add_job(JOB)
    launcher = Launcher(group=GROUP, scheduler=fleet, ecs=fleet)
    with_definition = [(job.job, job) for job in launcher.jobs()]
    at = T0.replace(hour=4, minute=59)
    for when, marks in ((at, {28: Mark.OVERDUE}), (at + timedelta(minutes=2), {29: Mark.OVERDUE})):
        [job] = read_board(Ledger.from_url(ledger_file.url), with_definition, days=3, now=when).jobs
        assert {day.day: found.mark for day, found in job.days.items()} == marks


def test_of_a_job_with_very_many_runs_the_newest_are_read(ledger_file: LedgerFile) -> None:
    """The days before those are marked as not read."""
    ledger_file.put(
        *(run(period=period_of(T0 - timedelta(minutes=n)), status=Status.SUCCEEDED) for n in range(MOST_ROWS + 1))
    )
    [job] = read_board(Ledger.from_url(ledger_file.url), [(JOB, None)], days=30, now=T0).jobs
    assert sum(len(day.rows) for day in job.days.values()) == MOST_ROWS
    assert job.unread_before == (T0 - timedelta(minutes=MOST_ROWS)).date() + timedelta(days=1)
    [job] = read_board(Ledger.from_url(ledger_file.url), [(JOB, None)], days=1, now=T0).jobs
    assert job.unread_before is None


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["-o", "{here}/none/runs.html"], (1, "cannot be written: No such file or directory")),
        (["-o", "{here}"], (64, "is a directory")),
        (["--days", "0"], (64, "1<=x<=400")),
        (["--port", "65536"], (64, "0<=x<=65535")),
        (["--host", "example.com"], (64, "allowed: an IP address of this host, or localhost")),
        (["--host", "192.0.2.1"], (1, "192.0.2.1 port 8724 cannot be used")),
    ],
)
def test_what_cannot_be_used_is_one_line(
    ledger_file: LedgerFile, cronce: Callable[..., Said], tmp_path: Path, arguments: list[str], answer: tuple[int, str]
) -> None:
    """Nothing is written."""
    ledger_file.put(run())
    said = cronce("board", *(each.format(here=tmp_path) for each in arguments))
    assert (said.code, said.out, said.err.count("\n")) == (answer[0], "", 1)
    assert answer[1] in said.err


@contextmanager
def served(*arguments: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """`cronce board` in a process, and its port."""
    process = subprocess.Popen([CRONCE, "board", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://.+:(\d+)/", line)
        assert found, line
        yield int(found[1]), process
    finally:
        process.kill()
        process.communicate()


def ask(port: int, host: str, *, method: str = "GET", path: str = "/") -> tuple[int, str, http.client.HTTPMessage]:
    """Status, body and headers of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Host": host})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body, answer.headers


def test_the_server_shows_the_page_to_who_names_it_and_changes_nothing(ledger_file: LedgerFile) -> None:
    """A site whose name means this host gets nothing; Ctrl-C ends it with 130."""
    ledger_file.put(run(period=period_of(now().replace(microsecond=0)), status=Status.SUCCEEDED))
    with served("--ledger", ledger_file.url) as (port, process):
        status, body, headers = ask(port, f"localhost:{port}")
        assert (status, jobs_on(body)) == (200, [JOB])
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
        assert ask(port, f"127.0.0.1:{port}")[0] == 200
        assert ask(port, f"127.0.0.1:{port}", method="HEAD")[:2] == (200, "")
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "localhost",
            f"localhost:{port + 1}",
            f"a.localhost:{port}",
        ):
            status, body, _ = ask(port, host)
            assert (status, JOB in body) == (421, False)
        assert ask(port, f"localhost:{port}", path="/other")[0] == 404
        for method in ("POST", "PUT", "DELETE"):
            assert ask(port, f"localhost:{port}", method=method)[0] == 501
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def test_a_ledger_that_does_not_answer_is_said_on_the_page(tmp_path: Path) -> None:
    """The server stays, for the next reload."""
    with served("--ledger", f"sqlite:///{tmp_path / 'none' / 'runs.db'}") as (port, _):
        status, body, headers = ask(port, f"localhost:{port}")
        assert (status, headers["Content-Type"]) == (503, "text/plain; charset=utf-8")
        assert "runs.db" in body


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("10.0.0.1", False),
    ],
)
def test_only_an_address_of_this_host_is_served_without_a_warning(host: str, *, expected: bool) -> None:
    """The others can be reached from elsewhere."""
    assert is_loopback(host) is expected
