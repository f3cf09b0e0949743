"""The rule of `cronce.guard.attempt`: whatever fails between the claim and the end, one call after the other.

No failure may leave a RUNNING row without a live owner, lose work that was done, leave a process behind, or end
with an exit code that is not documented.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.client.leadership import LEADER
from cronce.vocabulary import exit_codes
from tests.support import failing
from tests.support.host import JOB, PERIOD, until

if TYPE_CHECKING:
    from tests.support.host import Command, Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the keeper is Linux's")

PROGRAM = failing.__file__
WORK = ("sh", "-c", 'echo done >>"$LOG"')
STORE = (
    "import os; from cronce.guard.checkpoints import send; "
    "send(os.environ['CRONCE_CHECKPOINT_SOCKET'], '7'); open(os.environ['LOG'], 'a').write('done\\n')"
)
CHECKPOINT = (sys.executable, "-c", STORE)
WAYS = {
    "exec": ("exec", "--", *WORK),
    "exec with a checkpoint": ("exec", "--", *CHECKPOINT),
    "pin": ("pin", "--", *WORK),
    "run_once": ("once",),
}
DOCUMENTED = {
    exit_codes.LEASE_LOST,
    exit_codes.UNAVAILABLE,
    exit_codes.GUARD_FAILED,
    exit_codes.NOT_EXECUTABLE,
    exit_codes.BY_SIGNAL + signal.SIGKILL,
}


def start(host: Host, way: str, *, role: str, at: int, how: str) -> Command:
    """Start that way, with a failure at that call."""
    counts = host.folder / "counts"
    counts.unlink(missing_ok=True)
    host.log.unlink(missing_ok=True)
    variables = {"CRONCE_LEDGER": host.url, "CRONCE_JOB": JOB, "CRONCE_PERIOD": PERIOD}
    failure = {"FAIL_ROLE": role, "FAIL_AT": str(at), "FAIL_HOW": how, "FAIL_COUNTS": str(counts)}
    root = str(Path(PROGRAM).parents[2])
    environ = variables | failure | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    return host.start(sys.executable, PROGRAM, *WAYS[way], env=environ)


def points(host: Host, way: str, role: str) -> int:
    """How many calls that process makes when nothing fails."""
    command = start(host, way, role=role, at=0, how="OSError")
    assert command.wait() == 0, command.err
    counts = [line.split() for line in (host.folder / "counts").read_text().splitlines()]
    return max(int(count) for name, count in counts if name == role)


def violation(host: Host, command: Command, way: str) -> str | None:
    """What is wrong after the process has ended; None if nothing is."""
    code = command.wait(60)
    until(lambda: not host.living(), f"the end of everything: {command.err}")
    run = host.ledger.run(JOB, LEADER if way == "pin" else PERIOD)
    status = run.status.value if run else None
    if status == "RUNNING":
        return "left RUNNING"
    done = "done" in host.logged
    if way == "pin":
        return None if code in DOCUMENTED | {0} else f"exit code {code}"
    if status == "SUCCEEDED":
        return None if code == 0 and done else f"SUCCEEDED, exit code {code}, done: {done}"
    if code not in DOCUMENTED and not (way == "run_once" and code == 1):
        return f"exit code {code}"
    if done and code != exit_codes.BY_SIGNAL + signal.SIGKILL:
        return f"the work is done, but {status} {run and run.reason}, exit code {code}"
    return None


QUICK = {("run_once", "guard", "OSError")}
"""This one runs with every test run; the others take minutes."""

SWEEPS = [
    pytest.param(way, role, how, marks=[] if (way, role, how) in QUICK else pytest.mark.slow)
    for way in WAYS
    for role in ("guard", "keeper")
    for how in failing.ERRORS
    if not (way == "run_once" and role == "keeper")
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("way", "role", "how"), SWEEPS)
def test_no_failure_of_a_single_call_breaks_the_rule(host: Host, way: str, role: str, how: str) -> None:
    """Every call once."""
    host.ledger.create()
    found = []
    total = points(host, way, role)
    for at in range(1, total + 1):
        forget(host)
        command = start(host, way, role=role, at=at, how=how)
        if wrong := violation(host, command, way):
            found.append(f"call {at} of {total}: {wrong}: {command.err.strip()}")
    assert found == [], "\n".join(found)
    assert total > 10


def forget(host: Host) -> None:
    """Empty the ledger."""
    with host.ledger._store._transaction() as connection:  # type: ignore[attr-defined]  # a SqliteStore
        connection.execute("DELETE FROM ledger")
