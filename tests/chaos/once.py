"""The same work as a program with `run_once`: `python -m tests.chaos.once STEPS end|failed`."""

from __future__ import annotations

import sys
import time

from cronce import Claim, Refusal, run_once
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError
from tests.chaos.journal import FAILED, STEP, Journal, now

REFUSED = 75


class WorkFailedError(Exception):
    """The work is to fail."""


def work(claim: Claim) -> None:
    """Check the claim before each step."""
    steps, last = sys.argv[1:3]
    journal = Journal(job=claim.job, period=claim.period, attempt=claim.attempt, fence=claim.fence, born=now())
    claim.check()
    journal.write("start")
    for _ in range(int(steps)):
        time.sleep(STEP)
        claim.check()
        journal.write("work")
    claim.check()
    journal.write(last)
    if last == "failed":
        raise WorkFailedError


def main() -> int:
    """The exit code that `cronce exec` would have."""
    try:
        answer = run_once(work)
    except WorkFailedError:
        return FAILED
    except LeaseLostError:
        return exit_codes.LEASE_LOST
    except LedgerUnavailableError:
        return exit_codes.UNAVAILABLE
    return REFUSED if isinstance(answer, Refusal) else 0


if __name__ == "__main__":
    sys.exit(main())
