"""The daily digest, the job of the demo: a mail to every customer.

It never reads the clock to find out its period: `cronce exec` passes that in `CRONCE_PERIOD`, and
the checkpoint of an earlier attempt in `CRONCE_RESUME_FROM`. Without them it is the job as it was
before cronce: it starts at the first mail. With `--once`, each mail is an effect, and there are no checkpoints.
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
from cronce.vocabulary.environment import ATTEMPT, CHECKPOINT_SOCKET, PERIOD, RESUME_FROM

_SHORTEST_WAIT = 0.005


def main() -> None:
    """Send the remaining mails and print one line for each."""
    options = _options()
    period = os.environ.get(PERIOD)
    done = int(os.environ.get(RESUME_FROM, "0"))
    print(f"from {done}", flush=True)  # noqa: T201  # the job's log, as below
    pace = _Pace(options.pace)
    for number in range(done + 1, options.customers + 1):
        customer = customer_name(number)
        if options.once and not _begins(customer, options.once):
            continue
        # The idempotency key: however often the mail of a customer and a period is sent, it arrives
        # once. A job that does not know its period cannot have such a key.
        key = f"{period}.{customer}" if period else f"{options.container}.{customer}"
        if options.once:  # it needs no such key, and a mail that is sent twice is to be seen
            key = f"{period}.{os.environ[ATTEMPT]}.{customer}"
        new = deliver(options.maildir, key, to=customer, text="Good morning! Here is your digest.")
        print("sent" if new else "absorbed", customer, flush=True)  # noqa: T201
        if number == options.hang_after:
            signal.pause()
        pace.keep()
        if options.once:
            _end(customer)
        elif number % options.batch == 0:
            _checkpoint(number)


def _checkpoint(number: int) -> None:
    """Store in the ledger that all mails up to this one are sent."""
    address = os.environ.get(CHECKPOINT_SOCKET)
    if address and (problem := checkpoints.send(address, str(number))):
        sys.exit(problem)


def _begins(customer: str, on_unknown: str) -> bool:
    """Note that this customer's mail is about to be sent; false if it was, or may have been."""
    answer = checkpoints.exchange(os.environ[CHECKPOINT_SOCKET], on_unknown, customer)
    if answer != "ok" and not answer.startswith("skip "):
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
    parser.add_argument("--batch", type=int, default=100, help="mails between two checkpoints")
    parser.add_argument("--once", choices=("skip", "repeat"), help="each mail is an effect; if it is unknown, do this")
    parser.add_argument("--hang-after", type=int, metavar="N", help="hang after mail N, until it is killed")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds that the mail server takes per mail")
    return parser.parse_args()


if __name__ == "__main__":
    main()
