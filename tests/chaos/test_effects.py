"""The digest of the demo is killed again and again: no customer gets two mails, or none is left without one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from cronce import Ledger, Policy, Status
from cronce.demo.mailboxes import customer_name, mails_by_customer, make_maildir, number_of_mails
from cronce.guard.processes import descendants
from tests.chaos.programs import dynamodb_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket's address is abstract (Linux only)")

JOB, PERIOD = "daily-digest", "2026-11-29"
KILLS, CUSTOMERS = (200, 3100) if os.environ.get("LONG") == "1" else (20, 310)
LANES = {"sqlite": None, "postgres": "postgres", "valkey": "valkey", "dynamodb-local": "dynamodb-local"}
STORES = [pytest.param(name, marks=pytest.mark.lane(lane) if lane else ()) for name, lane in LANES.items()]


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty ledger in the store that the parameter names."""
    store, name = request.param, f"effects-{uuid.uuid4().hex[:12]}"
    match store:
        case "sqlite":
            url = f"sqlite:///{tmp_path}/runs.db"
        case "postgres":
            url = request.getfixturevalue("postgres").url(table=name.replace("-", "_"))
        case "valkey":
            url = f"{request.getfixturevalue('valkey').url}?prefix={name}"
        case _:
            url = dynamodb_url(name, request.getfixturevalue("dynamodb_local"))
    ledger = Ledger.from_url(url)
    ledger.create()
    ledger.close()
    return url


class Digest:
    """The digest under `cronce exec`, started until it is done."""

    def __init__(self, folder: Path, url: str, on_unknown: str, *, customers: int, seed: int) -> None:
        """Prepare an empty mailbox.

        Args:
            folder: Where it is.
            url: An empty ledger.
            on_unknown: `skip` or `repeat`.
            customers: How many mails there are.
            seed: Decides when to kill, and whom.
        """
        self.maildir = make_maildir(folder / "mails")
        self._random = random.Random(seed)
        self._url = url
        self._ledger = Ledger.from_url(url, policy=Policy())
        self._command = [sys.executable, "-m", "cronce.demo.digest", str(self.maildir), "--on-unknown", on_unknown]
        self._command += ["--customers", str(customers)]
        self._customers = customers
        self.kills = Counter[str]()

    def kill(self, times: int) -> None:
        """Start the digest and kill it this number of times, a little further each time."""
        for number in range(1, times + 1):
            # Kills are spread over four fifths of the mails, and the moment within a mail is left to chance. A kill may
            # leave a customer out, so the last fifth may be shorter.
            target = self._customers * number * 4 // (5 * (times + 1))
            target = max(target, number_of_mails(self.maildir) + 1)  # each attempt sends one at least
            guard = self._start()
            while guard.poll() is None and number_of_mails(self.maildir) < target:
                time.sleep(0.001)
            time.sleep(self._random.uniform(0, 0.01))
            assert guard.poll() is None, f"it ended by itself with {guard.returncode}"
            whom = self._random.choice(("guard", "job"))
            self.kills[whom] += 1
            everybody = [guard.pid, *(descendants(guard.pid) or ())]
            os.kill(guard.pid if whom == "guard" else everybody[-1], signal.SIGKILL)
            guard.wait(60)
            while any(os.path.exists(f"/proc/{pid}") for pid in everybody):  # noqa: PTH110  # the keeper kills the rest
                time.sleep(0.001)
            run = self._ledger.run(JOB, PERIOD)
            if run is not None and run.status is Status.RUNNING:  # instead of waiting for the end of its lease
                self._ledger.release(JOB, PERIOD, actor="test", note="killed", force=True)

    def finish(self) -> Counter[str]:
        """Let it come to its end; the mails of each customer."""
        assert self._start().wait(300) == 0
        run = self._ledger.run(JOB, PERIOD)
        self._ledger.close()
        assert run is not None
        assert (run.status, run.attempt) == (Status.SUCCEEDED, self.kills.total() + 1)
        return mails_by_customer(self.maildir)

    def _start(self) -> subprocess.Popen[bytes]:
        options = ["--ledger", self._url, "--job", JOB, "--period", PERIOD, "--trigger", "manual"]
        command = [sys.executable, "-c", "from cronce.cli.main import main; main()", "exec", *options, "--"]
        return subprocess.Popen([*command, *self._command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("on_unknown", ["skip", "repeat"])
def test_a_killed_digest_sends_no_mail_twice_or_leaves_none_out(tmp_path: Path, url: str, on_unknown: str) -> None:
    """A few kills; whoever wants at most once gets that, the other one at least once."""
    _judge(Digest(tmp_path, url, on_unknown, customers=100, seed=1), on_unknown, kills=3, customers=100)


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("url", STORES, indirect=True)
@pytest.mark.parametrize("on_unknown", ["skip", "repeat"])
def test_no_kill_breaks_the_choice(
    tmp_path: Path,
    url: str,
    on_unknown: str,
    request: pytest.FixtureRequest,
    record_property: Callable[[str, object], None],
) -> None:
    """20 kills for each choice and store, or 200 and 3,100 customers with LONG=1."""
    digest = Digest(tmp_path, url, on_unknown, customers=CUSTOMERS, seed=int(time.time()))
    found = _judge(digest, on_unknown, kills=KILLS, customers=CUSTOMERS)
    figures = ", ".join(f"{number} {name}" for name, number in found.items())
    record_property("effects", f"{request.node.callspec.id}: {figures}")


def _judge(digest: Digest, on_unknown: str, *, kills: int, customers: int) -> dict[str, int]:
    digest.kill(kills)
    mails = digest.finish()
    times = Counter(mails[customer_name(number)] for number in range(1, customers + 1))
    found = {
        "kills": digest.kills.total(),
        "without a mail": times[0],
        "with one mail": times[1],
        "with two mails or more": customers - times[0] - times[1],
    }
    assert (found["with two mails or more"] if on_unknown == "skip" else found["without a mail"]) == 0, found
    assert found["with one mail"] >= customers - kills  # a kill touches one mail at most
    return found
