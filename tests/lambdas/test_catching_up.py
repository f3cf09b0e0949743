"""Which missed ticks are caught up, and when the next one is launched."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cronce import CatchUp, Policy, Reason, Status
from cronce.protocol.records import RunRecord
from cronce.watch.catching_up import CatchUpStep, catch_up_step, first_done, to_catch_up, with_backlog
from cronce.watch.memory import MOST_JUDGED
from tests.lambdas.test_due_ticks import remembered
from tests.support.builders import run
from tests.support.cloud import T0

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
SECOND = timedelta(seconds=1)


def missed(reason: str = Reason.NEVER_DELIVERED, **changes: Any) -> RunRecord:  # noqa: ANN401
    """The row of a missed tick."""
    default = {"status": Status.MISSED, "reason": reason, "attempt": 0, "scheduled_at": T0}
    return run(**default | changes)


TICKS = (T0, T0 + HOUR, T0 + 2 * HOUR)


@pytest.mark.parametrize(
    ("policy", "newest", "chosen"),
    [
        (Policy(), None, ()),
        (Policy(catch_up=CatchUp.ALL), T0 + DAY, TICKS),
        (Policy(catch_up=CatchUp.ALL, suspend=True), None, ()),
        (Policy(catch_up=CatchUp.LATEST), None, TICKS[2:]),
        (Policy(catch_up=CatchUp.LATEST), T0 + HOUR, TICKS[2:]),
        (Policy(catch_up=CatchUp.LATEST), T0 + 3 * HOUR, ()),
    ],
)
def test_the_policy_says_what_is_caught_up(
    policy: Policy, newest: datetime | None, chosen: tuple[datetime, ...]
) -> None:
    """The latest is not caught up where a newer tick has been delivered."""
    assert to_catch_up(policy, TICKS, newest=newest) == chosen
    assert to_catch_up(policy, (), newest=newest) == ()


ALL = Policy(catch_up=CatchUp.ALL)

STEPS = {
    "missed": (missed(), {}, CatchUpStep.LAUNCH),
    "could not be started": (missed("launch_failed: X"), {}, CatchUpStep.LAUNCH),
    "another run is at work": (missed(), {"busy": True}, CatchUpStep.WAIT),
    "its task is on its way": (missed(), {"launched": T0 + HOUR}, CatchUpStep.WAIT),
    "its task may still come": (
        missed(),
        {"launched": T0 + HOUR, "at": T0 + HOUR + 15 * MINUTE - SECOND},
        CatchUpStep.WAIT,
    ),
    "its task does not come": (missed(), {"launched": T0 + HOUR, "at": T0 + HOUR + 15 * MINUTE}, CatchUpStep.DROP),
    "it runs": (run(), {}, CatchUpStep.WAIT),
    "it is done": (run(status=Status.SUCCEEDED), {}, CatchUpStep.DROP),
    "it was skipped": (run(status=Status.SKIPPED, reason=Reason.OVERLAP), {}, CatchUpStep.DROP),
    "it failed for good": (run(status=Status.FAILED, reason=Reason.EXIT_CODE, failures=1), {}, CatchUpStep.DROP),
    "it is retried": (
        run(status=Status.FAILED, reason=Reason.TASK_STOPPED, finished_at=T0 + HOUR),
        {},
        CatchUpStep.WAIT,
    ),
    "its retry does not come": (
        run(status=Status.FAILED, reason=Reason.TASK_STOPPED, finished_at=T0 + HOUR),
        {"at": T0 + HOUR + 30 * MINUTE},
        CatchUpStep.DROP,
    ),
    "its row is gone": (None, {}, CatchUpStep.DROP),
    "the schedule is disabled": (missed(), {"enabled": False}, CatchUpStep.DROP),
    "the job is suspended": (missed(), {"policy": Policy(catch_up=CatchUp.ALL, suspend=True)}, CatchUpStep.DROP),
    "nothing is caught up any more": (missed(), {"policy": Policy()}, CatchUpStep.DROP),
    "a day late": (missed(), {"at": T0 + DAY}, CatchUpStep.LAUNCH),
    "a week late, without a deadline": (missed(), {"at": T0 + 7 * DAY}, CatchUpStep.LAUNCH),
    "at its starting deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=HOUR)},
        CatchUpStep.LAUNCH,
    ),
    "after its starting deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=HOUR), "at": T0 + HOUR + SECOND},
        CatchUpStep.DROP,
    ),
    "later, with a longer deadline": (
        missed(),
        {"policy": Policy(catch_up=CatchUp.ALL, starting_deadline=2 * DAY), "at": T0 + DAY + HOUR},
        CatchUpStep.LAUNCH,
    ),
}


class TestBacklog:
    """Ticks that are to be caught up, one after the other."""

    MEMORY = remembered(T0 + MINUTE)

    def test_it_is_sorted_and_has_each_tick_once(self) -> None:
        """An interrupted look finds them again; a launch that was arranged stays arranged."""
        memory = replace(self.MEMORY, backlog=TICKS[:2], launched_at=T0)
        again, _ = with_backlog(memory, ALL, TICKS[1:])
        assert (again.backlog, again.launched_at) == (TICKS, T0)

    def test_an_older_tick_goes_first(self) -> None:
        """Then its launch is not arranged yet."""
        memory, _ = with_backlog(replace(self.MEMORY, backlog=TICKS[1:], launched_at=T0), ALL, TICKS[:1])
        assert (memory.backlog, memory.launched_at) == (TICKS, None)

    def test_of_the_latest_there_is_one(self) -> None:
        """The newer replaces the older."""
        memory = replace(self.MEMORY, backlog=TICKS[:1], launched_at=T0)
        newer, dropped = with_backlog(memory, Policy(catch_up=CatchUp.LATEST), TICKS[2:])
        assert dropped == ()
        assert (newer.backlog, newer.launched_at) == (TICKS[2:], None)

    def test_it_is_bounded(self) -> None:
        """The oldest are dropped."""
        ticks = tuple(T0 + n * MINUTE for n in range(MOST_JUDGED + 5))
        memory, dropped = with_backlog(self.MEMORY, ALL, ticks)
        assert (memory.backlog, dropped) == (ticks[5:], ticks[:5])

    def test_without_more_it_stays(self) -> None:
        """The memory does not change."""
        assert with_backlog(self.MEMORY, ALL, ()) == (self.MEMORY, ())

    def test_the_next_one_is_still_to_be_arranged(self) -> None:
        """The launch of the next tick is not arranged yet."""
        memory = first_done(replace(self.MEMORY, backlog=TICKS, launched_at=T0))
        assert (memory.backlog, memory.launched_at) == (TICKS[1:], None)

    @pytest.mark.parametrize(("row", "given", "step"), STEPS.values(), ids=STEPS)
    def test_what_is_done_about_the_first(
        self, row: RunRecord | None, given: dict[str, Any], step: CatchUpStep
    ) -> None:
        """By default at 07:00, for the tick of 06:00."""
        memory = replace(self.MEMORY, backlog=TICKS, launched_at=given.get("launched"))
        done = catch_up_step(
            memory,
            row,
            policy=given.get("policy", ALL),
            enabled=given.get("enabled", True),
            busy=given.get("busy", False),
            now=given.get("at", T0 + HOUR),
        )
        assert done is step
