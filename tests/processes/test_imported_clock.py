"""A crontab that was imported for `cronce clock` ticks as a process."""

from __future__ import annotations

import signal
import uuid
from typing import TYPE_CHECKING

from cronce.adopt.convert.conversion import convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import Source
from tests.support.host import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host

CRONTAB = """\
GREETING="it's $ME"
@every 1s echo "$CRONCE_JOB $GREETING {period}" >> "$LOG"
0 0 1 1 * /bin/false
"""


def test_the_command_of_a_crontab_runs_at_each_tick(host: Host, tmp_path: Path) -> None:
    """By a shell, with its variables as they were written; each tick once."""
    source = Source(file="crontab", text=CRONTAB)
    file = tmp_path / "clock.toml"
    file.write_text(convert("supercronic", [source], ImportTarget.CLOCK).code)
    clock = host.start(
        "cronce", "clock", "--config", str(file), "--ledger", host.url, "--job", f"clock-{uuid.uuid4().hex[:8]}"
    )
    until(lambda: len(host.logged) >= 3, "three ticks")
    clock.send(signal.SIGTERM)
    assert clock.wait() == 0
    words = [line.split() for line in host.logged]
    assert {tuple(line[:-1]) for line in words} == {("echo", "it's", "$ME")}
    ticks = [line[-1] for line in words]
    assert sorted(set(ticks)) == ticks
