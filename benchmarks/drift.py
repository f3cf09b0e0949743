"""How late a clock's ticks are, and whether one is lost, over minutes of real time.

    python -m benchmarks.drift                 # ten minutes
    python -m benchmarks.drift --minutes 1

One `cronce clock` with jobs that run every ten seconds and a ledger in a file. Each tick runs a command that
writes its period and the time, so ticks and their lateness are measured from outside. The report also has the lateness
that the clock reports: until its target had accepted the tick, here until the command's end.
The exit code is 1 if a tick is missing or came twice.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

_EVERY = timedelta(seconds=10)
_RECORD = 'echo "$CRONCE_JOB {period} $(date +%s.%N)" >>ticks'


def main() -> int:
    """Run, count, print; the exit code."""
    parser = argparse.ArgumentParser(description="Lateness of ticks over minutes of real time.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cronce-drift-") as folder:
        stderr = _run_clock(Path(folder), jobs=options.jobs, seconds=options.minutes * 60)
        ticks = [line.split() for line in (Path(folder) / "ticks").read_text().splitlines()]
    seen = {(job, datetime.fromisoformat(period)): float(at) for job, period, at in ticks}
    doubled = len(ticks) - len(seen)
    missing = sum(len(_between(sorted(tick for job, tick in seen if job == name))) for name in {job for job, _ in seen})
    missing -= len(seen)
    outside = [at - tick.timestamp() for (_, tick), at in seen.items()]
    events = [json.loads(line) for line in stderr.splitlines() if line.startswith('{"time"')]
    reported = [event["cronce.lateness"] for event in events if event["cronce.event"] == "tick_dispatched"]
    print(f"{options.minutes:g} minutes, {options.jobs} jobs of every {_EVERY.seconds} s")
    print(f"ticks: {len(seen)} dispatched, {missing} missing, {doubled} twice")
    print("lateness, ms         p50     p99   worst")
    _print_row("command begun", outside)
    _print_row("dispatch ended", reported)
    others = Counter(event["cronce.event"] for event in events if not event["cronce.event"].startswith("tick_disp"))
    print("other log lines:", ", ".join(f"{name} {count}" for name, count in sorted(others.items())))
    return 1 if missing or doubled or not seen else 0


def _run_clock(folder: Path, *, jobs: int, seconds: float) -> str:
    """Run a clock for that long; return its log."""
    job = {"every": f"{_EVERY.seconds}s", "target": {"command": ["sh", "-c", _RECORD]}}
    environ = os.environ | {"CRONCE_CLOCK": json.dumps({"jobs": {f"job-{n}": job for n in range(jobs)}})}
    words = [str(Path(sys.executable).with_name("cronce")), "clock", "--job", "drift", "--ledger", "sqlite:///runs.db"]
    with (folder / "stderr").open("wb") as stderr:
        clock = subprocess.Popen(words, cwd=folder, env=environ, stderr=stderr)
        # Not at a tick, so that the last one is not cut off.
        time.sleep(seconds + (_EVERY.seconds / 2 - (time.time() + seconds)) % _EVERY.seconds)
        clock.send_signal(signal.SIGTERM)
        code = clock.wait(60)
    text = (folder / "stderr").read_text()
    assert code == 0, text
    return text


def _between(ticks: Sequence[datetime]) -> list[datetime]:
    """Every tick that is due from the first to the last."""
    return [ticks[0] + n * _EVERY for n in range((ticks[-1] - ticks[0]) // _EVERY + 1)]


def _print_row(name: str, seconds: list[float]) -> None:
    values = sorted(round(each * 1000, 1) for each in seconds)
    at = {part: values[min(len(values) - 1, int(len(values) * part))] for part in (0.5, 0.99)}
    print(f"{name:16} {at[0.5]:7.1f} {at[0.99]:7.1f} {values[-1]:7.1f}")


if __name__ == "__main__":
    began_at = datetime.now(UTC)
    print(f"began {began_at:%Y-%m-%dT%H:%M:%SZ}")
    sys.exit(main())
