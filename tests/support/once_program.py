"""A task that is a Python program with `run_once`; its arguments define what the work does.

Writes a JSON line to `$LOG` when the work begins, with the claim's fields, and one with what `run_once` returned.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from cronce import Claim, run_once


def work(claim: Claim) -> object:
    """Do what the command line defines."""
    log({"period": claim.period, "attempt": claim.attempt, "fence": claim.fence, "resume_from": claim.resume_from})
    match sys.argv[1:]:
        case ["return", value]:
            return json.loads(value)
        case ["raise", message]:
            raise ValueError(message)
        case ["exit", code]:
            sys.exit(int(code))
        case ["exit"]:
            sys.exit()
        case ["sleep"]:
            time.sleep(300)
        case ["checkpoint", value]:
            claim.checkpoint(json.loads(value))
            time.sleep(300)
        case ["check"]:
            while True:
                claim.check()
                time.sleep(0.05)
        case unknown:
            raise AssertionError(unknown)
    return None


def log(line: object) -> None:
    """Append a line in one write."""
    with Path(os.environ["LOG"]).open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    returned = run_once(work)
    log({"returned": str(returned) if returned is not None and not isinstance(returned, dict | list) else returned})
