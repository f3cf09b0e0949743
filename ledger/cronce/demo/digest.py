"""The daily digest: a mail to every customer. The job of the demo, as one would write it oneself.

It asks no clock what it is for: `cronce exec` says it in `CRONCE_PERIOD`, and in
`CRONCE_RESUME_FROM` how far an earlier attempt got. Without them it is the job as it was before:
it starts when it is started, and begins at the beginning.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from cronce.demo.mailboxes import customer_name, deliver
from cronce.guard import checkpoints
from cronce.vocabulary.environment import CHECKPOINT_SOCKET, PERIOD, RESUME_FROM

_SHORTEST_WAIT = 0.005


def main() -> None:
    """Send the mails that are still to be sent, and print a line for each."""
    options = _options()
    period = os.environ.get(PERIOD)
    done = int(os.environ.get(RESUME_FROM, "0"))
    print(f"from {done}", flush=True)  # noqa: T201  # the job's log, as below
    pace = _Pace(options.pace)
    for number in range(done + 1, options.customers + 1):
        customer = customer_name(number)
        # The key makes the mail of a customer and a period one mail, however often it is sent; mail
        # services call it idempotency key. Who does not know the period has nothing to make it of.
        key = f"{period}.{customer}" if period else f"{options.container}.{customer}"
        new = deliver(options.maildir, key, to=customer, text="Good morning! Here is your digest.")
        print("sent" if new else "absorbed", customer, flush=True)  # noqa: T201
        pace.keep()
        if number % options.batch == 0:
            _checkpoint(number)


def _checkpoint(number: int) -> None:
    """Have the ledger remember that all mails up to this one are sent."""
    address = os.environ.get(CHECKPOINT_SOCKET)
    if address and (problem := checkpoints.send(address, str(number))):
        sys.exit(problem)


class _Pace:
    """As slow as a mail server: so many seconds a mail on average, and never slower than need be."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due = time.monotonic()

    def keep(self) -> None:
        """Wait if this is going too fast, a few milliseconds at a time."""
        self._due += self._seconds
        ahead = self._due - time.monotonic()
        if ahead > _SHORTEST_WAIT:
            time.sleep(ahead)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cronce.demo.digest", description="Send the daily digest.")
    parser.add_argument("maildir", type=Path)
    parser.add_argument("--container", default="container", help="what this container is called")
    parser.add_argument("--customers", type=int, default=3100)
    parser.add_argument("--batch", type=int, default=100, help="mails from checkpoint to checkpoint")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the mail server takes for a mail")
    return parser.parse_args()


if __name__ == "__main__":
    main()
