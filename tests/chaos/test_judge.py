"""The judge, with histories made by hand: each rule broken once, and what is allowed."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.chaos.journal import Line
from tests.chaos.judge import SLACK, Rules, Verdict, judge

RULES = {"alone": Rules(alone=True, lease=2), "together": Rules(alone=False, lease=2)}


def work(
    process: int,
    kinds: str,
    *,
    at: float,
    job: str = "alone",
    period: str = "p1",
    attempt: int = 1,
    fence: int = 1,
    every: float = 0.05,
    born: float | None = None,
) -> list[Line]:
    """Lines of one attempt: `s`tart, `w`ork, `e`nd or `f`ailed, one a step from that second on."""
    names = {"s": "start", "w": "work", "e": "end", "f": "failed"}
    moments = [int((at + number * every) * 1e9) for number in range(len(kinds))]
    begun = int((at - 0.01 if born is None else born) * 1e9)
    return [
        Line(names[kind], job, period, attempt, fence, moment, begun, process, 1000 + process)
        for kind, moment in zip(kinds, moments, strict=True)
    ]


def judged(*pieces: list[Line], exits: dict[int, int] | None = None) -> Verdict:
    """The verdict on pieces of work, whose lines were written in the order of their times."""
    return judge(sorted(chain(*pieces), key=lambda line: line.at), exits or {}, RULES)


def accused(verdict: Verdict) -> list[str]:
    """What is broken, without the lines that show it."""
    return [violation.partition("\n")[0].rstrip(":") for violation in verdict.violations]


def test_attempts_one_after_the_other_are_right() -> None:
    """A failure, a crash in mid-work, a success."""
    verdict = judged(
        work(1, "swwf", at=1),
        work(2, "sww", at=2, attempt=2, fence=2),
        work(3, "swwe", at=11, attempt=3, fence=3),
        exits={1: 3, 2: -9, 3: 0, 4: 75},
    )
    assert accused(verdict) == []
    assert (verdict.attempts, verdict.repeated_ends, verdict.after_waking) == (3, 0, set())


@pytest.mark.parametrize("job", RULES)
def test_two_attempts_of_a_run_at_work_at_the_same_time_are_a_violation(job: str) -> None:
    """Their lines alternate: said once for each pair."""
    verdict = judged(
        work(1, "swwwwww", at=1, job=job), work(2, "swwwwe", at=1.1, job=job, attempt=2, fence=2), exits={1: 70, 2: 0}
    )
    assert set(accused(verdict)) >= {"two work at the same time, by attempt"}


def test_two_runs_of_a_job_that_forbids_it_at_work_at_the_same_time_are_a_violation() -> None:
    """Each is alone in its period, but not in its job."""
    pieces = [work(1, "swwwwwe", at=1), work(2, "swwwwe", at=1.1, period="p2", fence=2)]
    assert accused(judged(*pieces)) == ["two work at the same time, by fence"]


def test_two_runs_of_a_job_that_allows_it_may_overlap() -> None:
    """Under ALLOW only the run counts."""
    pieces = [work(1, "swwwwwe", at=1, job="together"), work(2, "swwwwe", at=1.1, job="together", period="p2")]
    assert accused(judged(*pieces)) == []


def test_two_with_the_same_attempt_are_a_violation() -> None:
    """Even one after the other."""
    verdict = judged(work(1, "sww", at=1, job="together"), work(2, "swe", at=20, job="together"))
    assert accused(verdict) == ["two have the same attempt"]


def test_a_fence_that_does_not_rise_is_a_violation() -> None:
    """The second holder of the job got the fence of the first."""
    verdict = judged(work(1, "swe", at=1), work(2, "swe", at=20, period="p2"))
    assert accused(verdict) == ["two have the same fence"]


def test_an_attempt_that_begins_after_its_successor_is_a_violation() -> None:
    """Nobody starts work on a claim that was lost before."""
    verdict = judged(work(2, "swe", at=1, job="together", attempt=2), work(1, "sw", at=9, job="together"))
    assert accused(verdict) == ["a smaller attempt began later"]


def test_an_attempt_that_was_stopped_between_its_birth_and_its_first_line_is_borne() -> None:
    """It was made when nobody else was there, and is ended when it wakes."""
    verdict = judged(
        work(2, "swe", at=9, job="together", attempt=2), work(1, "sw", at=12, born=1, job="together"), exits={1: 70}
    )
    assert accused(verdict) == []
    assert len(verdict.after_waking) == 2


def test_a_moment_of_work_after_waking_is_borne_and_counted() -> None:
    """Silent before the successor began, and awake for less than a guard needs."""
    verdict = judged(
        work(1, "sww", at=1), work(2, "swwwwww", at=9, attempt=2, fence=2), work(1, "ww", at=9.11), exits={1: 70, 2: -9}
    )
    assert accused(verdict) == []
    assert len(verdict.after_waking) == 2
    assert verdict.longest_after_waking == pytest.approx(0.05)


def test_work_that_wakes_just_before_its_successors_first_line_is_borne() -> None:
    """It was silent for longer than its lease: in that time the successor was given the claim."""
    verdict = judged(
        work(1, "sww", at=1), work(1, "wwww", at=8.9), work(2, "swe", at=9, attempt=2, fence=2), exits={1: 70, 2: 0}
    )
    assert accused(verdict) == []
    assert verdict.longest_after_waking == pytest.approx(0.15)


@pytest.mark.parametrize(("silence", "woken_for"), [(1.9, 0.1), (6.0, 0.2 + SLACK + 0.1)], ids=["short", "long ago"])
def test_work_that_woke_otherwise_is_a_violation(silence: float, woken_for: float) -> None:
    """After less than its lease, or longer ago than a guard needs."""
    woken_at = 1.1 + silence
    verdict = judged(
        work(1, "sww", at=1),
        work(1, "w" * 40, at=woken_at),
        work(2, "swe", at=woken_at + woken_for, attempt=2, fence=2),
        exits={1: 70, 2: 0},
    )
    assert accused(verdict) != []


def test_work_that_goes_on_after_waking_is_a_violation() -> None:
    """A tenth of the lease and the slack are over."""
    moments = int((0.2 + SLACK) / 0.05) + 2
    verdict = judged(
        work(1, "sww", at=1, job="together"),
        work(2, "s" + "w" * 60, at=9, attempt=2, job="together"),
        work(1, "w" * moments, at=9.51, job="together"),
    )
    assert accused(verdict) == ["went on after waking, although a higher attempt works"]


def test_a_stop_between_the_look_at_the_clock_and_the_line_hides_nothing() -> None:
    """The line has an old time, but comes after its successor's."""
    stale = work(1, "sw", at=1)
    lines = [stale[0], *work(2, "swwwwwe", at=9, attempt=2, fence=2), stale[1]._replace(at=int(1.05e9))]
    verdict = judge(lines, {1: 70, 2: 0}, RULES)
    assert accused(verdict) == []
    assert len(verdict.after_waking) == 1


def test_a_success_that_is_repeated_is_a_violation() -> None:
    """Its program ended with 0: its success was recorded."""
    verdict = judged(work(1, "swe", at=1), work(2, "swe", at=20, attempt=2, fence=2), exits={1: 0, 2: 0})
    assert accused(verdict) == ["a success was repeated"]


@pytest.mark.parametrize("code", [-9, 70, 143])
def test_an_end_that_could_not_be_recorded_may_be_repeated(code: int) -> None:
    """Exactly-once effects are not promised; it is counted."""
    verdict = judged(work(1, "swe", at=1), work(2, "swe", at=20, attempt=2, fence=2), exits={1: code, 2: 0})
    assert accused(verdict) == []
    assert verdict.repeated_ends == 1


@pytest.mark.parametrize("code", [3, 69, 75])
def test_an_end_whose_program_says_otherwise_is_a_violation(code: int) -> None:
    """It did the work and says that it failed, or did not start."""
    assert accused(judged(work(1, "swe", at=1), exits={1: code})) == [
        f"work was done, but its program ended with {code}"
    ]


def test_a_success_without_its_end_is_a_violation() -> None:
    """The program ended with 0 although its work was cut off."""
    assert accused(judged(work(1, "sww", at=1), exits={1: 0})) == ["a success without the end of its work"]


def test_an_exit_code_that_nothing_explains_is_a_violation() -> None:
    """A traceback, for instance."""
    assert accused(judged(exits={1: 1})) == ["program 1 ended with 1, which is not a documented exit code"]


@pytest.mark.parametrize("kinds", ["sww", "swf", ""])
def test_a_run_that_never_succeeds_is_a_violation(kinds: str) -> None:
    """At the end every period has its success."""
    verdict = judge(work(1, kinds, at=1), {}, RULES, finished=[("alone", "p1")])
    assert accused(verdict) == ["alone p1 never succeeded; its last line"]


def test_a_run_whose_last_attempt_did_not_end_is_a_violation() -> None:
    """An earlier end, after which it was begun again, is no success."""
    lines = work(1, "swe", at=1) + work(2, "sw", at=20, attempt=2, fence=2)
    verdict = judge(lines, {1: -9, 2: -9}, RULES, finished=[("alone", "p1")])
    assert accused(verdict) == ["alone p1 never succeeded; its last line"]


def test_work_when_all_was_done_is_a_violation() -> None:
    """Also if the repeated success was never reported."""
    lines = work(1, "swe", at=1) + work(2, "swe", at=20, attempt=2, fence=2)
    verdict = judge(lines, {1: -9, 2: 0}, RULES, finished=[("alone", "p1")], superfluous=[2])
    assert accused(verdict) == ["program 2 worked although every run had succeeded"]
