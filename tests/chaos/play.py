"""One run of chaos, from the table to the figures."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.judge import Verdict, judge
from tests.chaos.programs import JOBS, Blow, Programs
from tests.chaos.weather import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What happened, and the verdict."""

    seed: int
    seconds: float
    started: int
    periods: int
    blows: Counter[Blow]
    met: Counter[Fault]
    exits: Counter[int]
    verdict: Verdict

    @property
    def violations(self) -> list[str]:
        """The broken promises."""
        return self.verdict.violations

    def __str__(self) -> str:
        """The violations, and one line of figures."""
        blows = ", ".join(f"{self.blows[blow]} {blow}" for blow in Blow)
        met = ", ".join(f"{self.met[fault]} {fault}" for fault in Fault if fault is not Fault.NONE)
        exits = ", ".join(f"{code}: {times}" for code, times in sorted(self.exits.items()))
        verdict = self.verdict
        figures = (
            f"chaos: seed {self.seed}, {self.seconds:.0f} s; {self.started} programs started ({blows});"
            f" {self.met.total()} requests ({met}); {self.periods} periods, {verdict.attempts} attempts at work,"
            f" {verdict.repeated_ends} done again because their success could not be recorded,"
            f" {len(verdict.after_waking)} lines after waking (longest {verdict.longest_after_waking * 1000:.0f} ms);"
            f" exit codes {{{exits}}}; {len(self.violations)} violations"
        )
        return "\n".join([*(f"VIOLATION: {violation}" for violation in self.violations), figures])


def play(folder: Path, url: str, *, seed: int, seconds: float, crash: Callable[[], None] | None = None) -> Outcome:
    """Run chaos in an empty folder with an empty ledger on a server of this machine, then judge it.

    Args:
        folder: For the work's lines and the output of each program.
        url: The ledger.
        seed: Of the random choices.
        seconds: Of chaos; the calm takes another minute.
        crash: Kills the ledger's server and starts it again on the same files; None if it has none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        message = f"{folder} is not empty: an older history would be judged too"
        raise FileExistsError(message)
    with Programs(folder, url, random.Random(seed), crash) as programs:
        programs.rage(seconds)
        programs.calm()
        return Outcome(
            seed=seed,
            seconds=seconds,
            started=programs.started,
            periods=len(programs.runs),
            blows=programs.blows,
            met=programs.met,
            exits=Counter(programs.exits.values()),
            verdict=judge(programs.lines, programs.exits, JOBS, finished=programs.runs, superfluous=programs.proof),
        )
