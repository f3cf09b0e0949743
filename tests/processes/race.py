"""Races processes for every one of many periods, and counts who worked.

    python -m tests.processes.race --ledger sqlite:///race.db --processes 16 --periods 200

All processes of a period wait for one starting gun, then each becomes `cronce exec`. The work of the
winner appends a line to a file; that file, not the ledger, says how many worked. With `--warm` the
processes are forked with everything loaded, so that all of them ask the ledger within milliseconds
instead of within the second that sixteen interpreters need to start on a small machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import cronce.cli.runtime.exec  # loaded before the fork, for --warm
import cronce.guard.run_command  # noqa: F401  # the same
from cronce import Ledger
from cronce.cli.main import main as cronce_main
from cronce.vocabulary.errors import LedgerUnavailableError

JOB = "race"
WORK = 'echo "{period} $$" >>"$RACE_LOG"'


@dataclass(slots=True)
class Tally:
    """What came out of all races.

    Attributes:
        reasons: How often the losers gave which reason.
        problems: Processes that neither worked nor were refused with exit code 0 and a reason.
    """

    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def race(period: str, processes: int, *, ledger: str, folder: Path, warm: bool) -> list[tuple[int, str]]:
    """Exit code and stderr of each process, after all of them have raced for the period."""
    starting_line, gun = os.pipe()
    command = ["cronce", "exec", "--ledger", ledger, "--job", JOB, "--period", period]
    runners = []
    for number in range(processes):
        path = folder / f"{number}.err"
        pid = os.fork()
        if pid == 0:
            os.close(gun)
            _run([*command, "--", "sh", "-c", WORK], starting_line, path, warm=warm)
        runners.append((pid, path))
    os.close(starting_line)
    os.close(gun)  # everybody reads the end of the pipe at once
    return [(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), path.read_text()) for pid, path in runners]


def _run(command: list[str], starting_line: int, stderr: Path, *, warm: bool) -> NoReturn:
    """Wait for the gun, then be `cronce exec`; what it is forked from must never see a return."""
    try:
        os.dup2(os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.read(starting_line, 1)
        if not warm:
            os.execvp(command[0], command)
        sys.argv = command
        cronce_main()
    finally:
        os._exit(99)


def warm_up(url: str) -> None:
    """Load what the ledger at that URL needs, by asking it something."""
    ledger = Ledger.from_url(url)
    with suppress(LedgerUnavailableError):  # a file that is not there yet
        ledger.run(JOB, "warm-up")
    ledger.close()


def judge(answers: list[tuple[int, str]], tally: Tally) -> None:
    """Sort the answers of one race into the tally."""
    for code, stderr in answers:
        last = stderr.splitlines()[-1] if stderr else "{}"
        said = json.loads(last) if last.startswith("{") else {}
        match code, said.get("cronce.event"):
            case 0, "succeeded":
                tally.reasons["worked"] += 1
            case 0, "refused":
                tally.reasons[said["cronce.reason"]] += 1
            case _:
                tally.problems.append(f"exit code {code}: {stderr}")


def main() -> int:
    """Run all races; 0 if every period was worked on once and nobody else had trouble."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ledger", required=True, help="URL; the table must stand, a file need not")
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--periods", type=int, default=200)
    parser.add_argument("--warm", action="store_true", help="fork instead of starting interpreters")
    options = parser.parse_args()
    tally, began = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "worked.log"
        os.environ["RACE_LOG"] = str(log)
        if options.warm:
            warm_up(options.ledger)
        for number in range(options.periods):
            period = f"period-{number:04}"
            answers = race(period, options.processes, ledger=options.ledger, folder=Path(scratch), warm=options.warm)
            judge(answers, tally)
            if (number + 1) % 20 == 0:
                sys.stderr.write(f"{number + 1} of {options.periods} periods, {time.monotonic() - began:.0f} s\n")
        worked = Counter(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else Counter()
    twice = [period for period, times in worked.items() if times > 1]
    result = {
        "periods": options.periods,
        "processes": options.periods * options.processes,
        "children": worked.total(),
        "periods_worked": len(worked),
        "periods_worked_twice": twice,
        "answers": dict(tally.reasons),
        "problems": tally.problems,
        "seconds": round(time.monotonic() - began, 1),
    }
    sys.stdout.write(json.dumps(result) + "\n")
    return 0 if len(worked) == worked.total() == options.periods and not tally.problems else 1


if __name__ == "__main__":
    sys.exit(main())
