"""What must not happen. Reads the work's lines and the exit codes, and nothing else.

Work that is stopped together with its guard cannot know that its lease expired. When both are continued, the guard
ends the work: at once, or after a tenth of the lease if it ignores SIGTERM (`docs/guarantees.md`: live means to act on
a claim, and a stopped process cannot act). So a line *after waking* is accepted if the work was silent before its
successor began (for at least the lease, if it was continued at that moment), and only for a moment. Such lines are
counted. An effect that must not happen twice even then needs `CRONCE_FENCE`, which is smaller in such a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeVar

from tests.chaos.journal import FAILED, STEP, Line
from tests.chaos.once import REFUSED

K = TypeVar("K")

_SECOND = 1_000_000_000

SILENCE = 10 * STEP
"""Seconds without a line after which the work counts as stopped."""

SLACK = 1.0
"""Seconds that a guard may wait for a processor after waking, on a busy machine."""

_ENDS = {0, FAILED, REFUSED, 69, 70, 128 + 15, 128 + 9, -9, -15}
"""All allowed exit codes: see `cronce.vocabulary.exit_codes`, and those of signals that were sent."""

_END_UNRECORDED = {70, 128 + 15, 128 + 9, -9, -15}
"""The exit codes after which work that wrote its `end` may be repeated: its success was not reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a job promises.

    Attributes:
        alone: True if no two of its runs may overlap.
        lease: Seconds.
    """

    alone: bool
    lease: float


@dataclass(slots=True)
class Verdict:
    """The findings.

    Attributes:
        violations: Each a sentence, with the lines that show it.
        attempts: The number of attempts that began.
        after_waking: Lines written after a successor began, accepted as described above.
        longest_after_waking: The longest time for which one attempt wrote such lines, in seconds.
        repeated_ends: Attempts that completed, could not be recorded, and were repeated.
    """

    violations: list[str] = field(default_factory=list)
    attempts: int = 0
    after_waking: set[Line] = field(default_factory=set)
    longest_after_waking: float = 0.0
    repeated_ends: int = 0


def judge(
    lines: Iterable[Line],
    exits: Mapping[int, int],
    rules: Mapping[str, Rules],
    *,
    finished: Iterable[tuple[str, str]] = (),
    superfluous: Iterable[int] = (),
) -> Verdict:
    """Judge a history.

    Args:
        lines: In the order of the file.
        exits: The exit code of each started program.
        rules: For each job.
        finished: The runs that must have succeeded by now.
        superfluous: Programs that were started after all runs had succeeded: they must not work.
    """
    verdict = Verdict()
    history = list(_in_order(lines))
    for (job, _), of_run in _grouped(history, lambda line: (line.job, line.period)).items():
        _judge_order(of_run, lambda line: line.attempt, "attempt", rules[job], verdict)
        _judge_success(of_run, exits, verdict)
    for job, of_job in _grouped(history, lambda line: line.job).items():
        if rules[job].alone:
            _judge_order(of_job, lambda line: line.fence, "fence", rules[job], verdict)
    for process, code in exits.items():
        if code not in _ENDS:
            verdict.violations.append(f"program {process} ended with {code}, which is not a documented exit code")
    verdict.violations += _unfinished(history, finished)
    worked = {line.process for line in history}
    verdict.violations += [
        f"program {process} worked although every run had succeeded" for process in superfluous if process in worked
    ]
    verdict.attempts = len(worked)
    return verdict


def _in_order(lines: Iterable[Line]) -> Iterator[Line]:
    """The lines with increasing times: a process may be stopped between reading the clock and writing."""
    return accumulate(lines, lambda before, line: line._replace(at=max(before.at, line.at)))


def _judge_order(
    lines: Sequence[Line], number: Callable[[Line], int], name: str, rules: Rules, verdict: Verdict
) -> None:
    """Of attempts that must not overlap, the newest has the highest number, and older ones write nothing more."""
    newest = lines[0]
    last: dict[int, int] = {}
    woke: dict[int, int] = {}
    awake: dict[int, float] = {}
    guilty: set[int] = set()

    def accuse(line: Line, what: str) -> None:
        if line.process not in guilty:
            guilty.add(line.process)
            verdict.violations.append(f"{what}:\n    {newest}\n    {line}")

    for line in lines:
        since = last.get(line.process, line.born)
        silent = (line.at - since) / _SECOND
        if silent >= rules.lease:
            woke[line.process] = line.at
        if number(line) > number(newest):
            newest = line
        elif line.process != newest.process:
            if number(line) == number(newest):
                accuse(line, f"two have the same {name}")
            elif line.process in awake:
                awake[line.process] += silent if silent < SILENCE else 0.0
            elif since > newest.at:
                accuse(line, f"a smaller {name} began later")
            elif silent < SILENCE and line.process not in woke:
                accuse(line, f"two work at the same time, by {name}")
            awake.setdefault(line.process, (line.at - woke.get(line.process, line.at)) / _SECOND)
            if awake[line.process] > rules.lease / 10 + SLACK:
                accuse(line, f"went on after waking, although a higher {name} works")
            if line.process not in guilty:
                verdict.after_waking.add(line)
        last[line.process] = line.at
    borne = [seconds for process, seconds in awake.items() if process not in guilty]
    verdict.longest_after_waking = max(verdict.longest_after_waking, *borne, 0.0)


def _judge_success(of_run: Sequence[Line], exits: Mapping[int, int], verdict: Verdict) -> None:
    """A reported success had done its work, and no later attempt repeated it."""
    final = max(of_run, key=lambda line: line.attempt)
    for process, lines in _grouped(of_run, lambda line: line.process).items():
        done, code = lines[-1].kind == "end", exits.get(process)
        if code == 0 and not done:
            verdict.violations.append(f"a success without the end of its work:\n    {lines[-1]}")
        if code == 0 and lines[-1].attempt != final.attempt:
            verdict.violations.append(f"a success was repeated:\n    {lines[-1]}\n    {final}")
        if done and code is not None and code != 0:
            if code not in _END_UNRECORDED:
                verdict.violations.append(f"work was done, but its program ended with {code}:\n    {lines[-1]}")
            verdict.repeated_ends += lines[-1].attempt != final.attempt


def _unfinished(history: Sequence[Line], finished: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The runs whose last attempt did not complete."""
    runs = _grouped(history, lambda line: (line.job, line.period))
    for job, period in finished:
        of_run = runs.get((job, period), [])
        final = max(of_run, key=lambda line: line.attempt, default=None)
        if final is None or not any(line.kind == "end" and line.process == final.process for line in of_run):
            yield f"{job} {period} never succeeded; its last line:\n    {final}"


def _grouped(lines: Iterable[Line], key: Callable[[Line], K]) -> dict[K, list[Line]]:
    groups: dict[K, list[Line]] = defaultdict(list)
    for line in lines:
        groups[key(line)].append(line)
    return groups
