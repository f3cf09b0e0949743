"""`cronce demo`, played for fewer customers by real processes; and played wrong, to see it fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cronce.demo import checks
from cronce.demo.mailboxes import mails_by_customer
from cronce.demo.narrator import Silence
from cronce.demo.processes import Crew
from cronce.demo.story import Story
from cronce.stores.sqlite import SqliteStore
from cronce.vocabulary.states import Status
from tests.support.host import until
from tests.support.schemas import check_output

CRONCE = Path(sys.executable).parent / "cronce"
CUSTOMERS = 150

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the demo needs Linux"),
]


def play(*options: str, temp: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Plays the demo to its end."""
    environ = dict(os.environ) | ({"TMPDIR": str(temp)} if temp else {})
    command = [str(CRONCE), "demo", "--customers", str(CUSTOMERS), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environ)


def test_the_story_ends_well_and_every_number_can_be_counted_again(tmp_path: Path) -> None:
    """Told to the end with exit code 0, and what is kept shows the same as what was said."""
    kept = tmp_path / "kept"
    said = play("--keep", str(kept))
    assert (said.returncode, said.stderr) == (0, "")
    for expected in ("Scene 1", "Scene 4", f"{4 * CUSTOMERS} mails for {CUSTOMERS} customers", "already done"):
        assert expected in said.stdout
    assert "✗" not in said.stdout
    assert "All 21 numbers are right." in said.stdout
    for folder, each in (("mails-without-ledger", 4), ("mails-2026-11-29", 1), ("mails-2026-11-30", 1)):
        mails = mails_by_customer(kept / folder)
        assert set(mails.values()) == {each}
        assert len(mails) == CUSTOMERS
        removed = next((kept / folder / "new").iterdir())
        removed.unlink()
        off = checks.mails_arrived(mails_by_customer(kept / folder), customers=CUSTOMERS, each=each)
        assert not any(check.right for check in off)
    store = SqliteStore(kept / "ledger.db")
    newest, oldest = store.query("daily-digest", limit=10).runs
    store.close()
    assert (newest.period, newest.status, newest.attempt) == ("2026-11-30", Status.SUCCEEDED, 2)
    assert (oldest.period, oldest.status, oldest.attempt) == ("2026-11-29", Status.SUCCEEDED, 1)
    assert [past.reason for past in newest.attempts] == ["lease_lost"]


@pytest.mark.slow
def test_the_summary_is_one_document_and_nothing_is_left_behind(tmp_path: Path) -> None:
    """The folder is gone with the mails in it."""
    said = play("--json", temp=tmp_path)
    assert (said.returncode, said.stderr) == (0, "")
    check_output(("demo", "--json"), said.stdout)
    summary = json.loads(said.stdout)
    assert summary["right"] is True
    assert summary["folder"] is None
    assert {check["scene"] for check in summary["checks"]} == {1, 2, 3, 4}
    counted = {check["what"]: check["counted"] for check in summary["checks"] if check["scene"] == 3}
    assert counted["mails sent when it was killed"] == 75
    assert counted["mails that attempt 2 found unknown, and skipped"] == 1
    assert not list(tmp_path.iterdir())


DEFECTS = {
    "doubles a mail": 'deliver(options.maildir, f"once.more.{os.getpid()}", to=customer_name(1), text="Again")',
    "loses a mail": '(options.maildir / "new" / key).unlink()',
}


def defective_digest(folder: Path, does: str) -> list[str]:
    """The digest with a defect at its last customer."""
    right = (Path(checks.__file__).parent / "digest.py").read_text()
    marker = "        pace.keep()\n"
    assert marker in right
    program = folder / "digest.py"
    program.write_text(
        right.replace(marker, f"        if number == {CUSTOMERS}:\n            {DEFECTS[does]}\n{marker}")
    )
    return [sys.executable, str(program)]


def test_the_crash_does_not_depend_on_how_fast_the_host_is(tmp_path: Path) -> None:
    """A digest that sends all mails between two looks of the story is still killed at the same mail."""
    right = (Path(checks.__file__).parent / "digest.py").read_text()
    assert right.count("        pace.keep()\n") == 1
    program = tmp_path / "digest.py"
    program.write_text(right.replace("        pace.keep()\n", ""))
    (tmp_path / "logs").mkdir()
    with Crew(tmp_path / "logs") as crew:
        digest = [sys.executable, str(program)]
        story = Story(tmp_path, customers=CUSTOMERS, narrator=Silence(), crew=crew, digest=digest)
        story.killed_halfway()
    assert [one.check.what for one in story.counted if not one.check.right] == []
    counted = {one.check.what: one.check.counted for one in story.counted}
    assert counted["mails sent when it was killed"] == 75
    assert counted["mails that attempt 2 found done"] == 74
    assert counted["mails that attempt 2 sent"] == 75


@pytest.mark.parametrize("does", DEFECTS)
def test_a_digest_that_does_it_wrong_is_found(tmp_path: Path, does: str) -> None:
    """In the first scene already, where each customer should have four mails."""
    digest = defective_digest(tmp_path, does)
    (tmp_path / "logs").mkdir()
    with Crew(tmp_path / "logs") as crew:
        story = Story(tmp_path, customers=CUSTOMERS, narrator=Silence(), crew=crew, digest=digest)
        story.four_clocks()
    assert [one.check.right for one in story.counted] == [False, False]


@pytest.mark.slow
def test_a_number_that_is_off_fails_the_whole_demo(tmp_path: Path) -> None:
    """Exit code 1, a cross beside the number with what it should be, and all files gone."""
    digest = defective_digest(tmp_path, "loses a mail")
    temp = tmp_path / "temp"
    temp.mkdir()
    program = (
        "import sys; from cronce.demo.stage import play;"
        f"sys.exit(play(customers={CUSTOMERS}, keep=None, as_document=False, digest={digest!r}))"
    )
    environ = dict(os.environ) | {"TMPDIR": str(temp)}
    command = [sys.executable, "-c", program]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240, env=environ)
    assert (said.returncode, said.stderr) == (1, "")
    assert f"✗ mails in the mailbox: {4 * (CUSTOMERS - 1)}, expected {4 * CUSTOMERS}" in said.stdout
    assert "of 21 numbers are wrong" in said.stdout
    assert "Play it again with --keep DIR" in " ".join(said.stdout.split())
    assert not list(temp.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_demo_leaves_no_process_and_no_file(tmp_path: Path, number: signal.Signals) -> None:
    """In the middle of the first scene, quietly."""
    environ = dict(os.environ) | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [CRONCE, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ, start_new_session=True
    )
    until(lambda: list(tmp_path.glob("cronce-demo-*/mails-without-ledger/new/*")), "mails of the first scene")
    started = processes_of(tmp_path)
    assert len(started) == 4
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in errors
    assert processes_of(tmp_path) == []
    assert not list(tmp_path.iterdir())


def processes_of(folder: Path) -> list[int]:
    """The processes that were started for that folder and live."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in arguments and b"cronce.demo.digest" in arguments:
            found.append(int(process.name))
    return found


@pytest.mark.parametrize("kept", ["full", "file"])
def test_a_folder_with_something_in_it_is_refused(tmp_path: Path, kept: str) -> None:
    """Bad usage, before anything is started or written."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").touch()
    (tmp_path / "file").touch()
    said = play("--keep", str(tmp_path / kept))
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (64, "", 1)
    assert said.stderr.startswith("cronce: --keep: ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "letter"]
