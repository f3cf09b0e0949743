"""The command that `cronce exec` runs: `work.py STEPS end|failed [stubborn]`.

`stubborn` ignores SIGTERM. The work counts steps, not time: after a pause it continues where it was.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from journal import FAILED, STEP, Journal, born  # type: ignore[import-not-found]  # it is beside this script

steps, last, *stubborn = sys.argv[1:]
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
journal = Journal(
    job=os.environ["CRONCE_JOB"],
    period=os.environ["CRONCE_PERIOD"],
    attempt=int(os.environ["CRONCE_ATTEMPT"]),
    fence=int(os.environ["CRONCE_FENCE"]),
    born=born(),
)
journal.write("start")
for _ in range(int(steps)):
    time.sleep(STEP)
    journal.write("work")
journal.write(last)
sys.exit(0 if last == "end" else FAILED)
