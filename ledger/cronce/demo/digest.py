"""The daily digest, the job of the demo: a mail to every customer.

It never reads the clock to find out its period: `cronce exec` passes that in `CRONCE_PERIOD`. Under `cronce exec`,
each mail is an effect, so that no customer gets a second one. Without it, it is the job as it was before cronce.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from cronce.demo.mailboxes import customer_name, deliver
from cronce.guard import checkpoints
from cronce.vocabulary.environment import ATTEMPT, CHECKPOINT_SOCKET, PERIOD

_SHORTEST_WAIT = 0.005


def main() -> None:
    """Send the mails that are to be sent and print one line for each."""
    options = _options()
    period, guarded = os.environ.get(PERIOD), CHECKPOINT_SOCKET in os.environ
    pace = _Pace(options.pace)
    for number in range(1, options.customers + 1):
        customer = customer_name(number)
        if guarded and not _begins(customer, options.on_unknown):
            continue
        # The mailbox would keep a second mail of another attempt or container, so that it could be counted.
        key = f"{period}.{os.environ[ATTEMPT]}.{customer}" if period else f"{options.container}.{customer}"
        deliver(options.maildir, key, to=customer, text="Good morning! Here is your digest.")
        print("sent", customer, flush=True)  # noqa: T201  # the job's log, as below
        if number == options.hang_after:
            signal.pause()
        if guarded:
            _end(customer)
        pace.keep()


def _begins(customer: str, on_unknown: str) -> bool:
    """Note that this customer's mail is about to be sent; false if it was, or may have been."""
    answer = checkpoints.exchange(os.environ[CHECKPOINT_SOCKET], on_unknown, customer)
    if answer.startswith("skip "):
        print(answer, customer, flush=True)  # noqa: T201
    elif answer != "ok":
        sys.exit(answer)
    return answer == "ok"


def _end(customer: str) -> None:
    """Note that the mail was sent."""
    if (answer := checkpoints.exchange(os.environ[CHECKPOINT_SOCKET], "done", customer)) != "ok":
        sys.exit(answer)


class _Pace:
    """Limits the rate to that of a mail server: an average number of seconds per mail."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._due = time.monotonic()

    def keep(self) -> None:
        """Wait if the work is ahead of the rate by more than a few milliseconds."""
        self._due += self._seconds
        ahead = self._due - time.monotonic()
        if ahead > _SHORTEST_WAIT:
            time.sleep(ahead)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m cronce.demo.digest", description="Send the daily digest.")
    parser.add_argument("maildir", type=Path)
    parser.add_argument("--container", default="container", help="name of this container")
    parser.add_argument("--customers", type=int, default=3100)
    parser.add_argument("--on-unknown", choices=("skip", "repeat"), default="skip", help="what to do with such a mail")
    parser.add_argument("--hang-after", type=int, metavar="N", help="hang after mail N, until it is killed")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the mail server takes per mail")
    return parser.parse_args()


if __name__ == "__main__":
    main()
