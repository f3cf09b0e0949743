"""What the state of a run means and what to do next. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import assert_never

from cronce.cli.output.wording import age, length
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import MAX_CLOCK_SKEW, Liveness, RunRecord
from cronce.vocabulary.states import Reason, Status
from cronce.vocabulary.values import value_class


@value_class
class Step:
    """One thing to do; `command` is a line for a shell, or None if there is nothing to type."""

    text: str
    command: str | None = None


@value_class
class Advice:
    """What a state means, and what a person can do."""

    meaning: str
    steps: tuple[Step, ...] = ()


@value_class
class Commands:
    """The command lines to suggest about one run.

    Attributes:
        ledger: The URL to repeat in each; None if the environment has it.
        group: The schedule group to repeat in commands that start a task; None if it need not be given.
        has_schedules: False for a ledger without a schedule group, from which no task can be started.
    """

    job: str
    period: str
    ledger: str | None = None
    group: str | None = None
    has_schedules: bool = False

    def show(self, period: str | None = None) -> str:
        """Show this run, or another one of the job."""
        return self._line("show", [], [self.job, period or self.period])

    def release(self, *, force: bool = False) -> str:
        """Release the run."""
        return self._line("release", ["--force"] * force + ["--reason", "WHY"], [self.job, self.period])

    def run_again(self, *, force: bool = False) -> str:
        """Start the run: its task, or without a schedule group its command."""
        if self.has_schedules:
            return self._line("rerun", self._group() + ["--force", "--reason", "WHY"] * force, [self.job, self.period])
        options = [f"--job={self.job}", f"--period={self.period}", "--trigger=manual"] + ["--force=WHY"] * force
        return self._line("exec", options, []) + " -- COMMAND"

    def runs(self) -> str:
        """List the runs of the job."""
        return self._line("runs", [], [self.job])

    def backfill(self, options: Sequence[str]) -> str:
        """Run many periods of the job."""
        return self._line("backfill", [*self._group(), *options], [self.job])

    def _group(self) -> list[str]:
        return [f"--schedule-group={self.group}"] if self.group else []

    def _line(self, command: str, options: list[str], names: list[str]) -> str:
        words = ["cronce", command, *([f"--ledger={self.ledger}"] if self.ledger else []), *options]
        # A name that looks like an option must not be parsed as one.
        words += ["--"] if any(name.startswith("-") for name in names) else []
        return shlex.join([*words, *names])


def advise(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    """What the state of the run means at `now`, and what a person can do."""
    match run.status:
        case Status.RUNNING:
            return _advise_running(run, now, commands)
        case Status.SUCCEEDED:
            again = Step("To repeat it anyway, with a reason that is recorded:", commands.run_again(force=True))
            return Advice("Succeeded. Every later start of this period is refused.", (again,))
        case Status.FAILED:
            return _advise_failed(run, commands)
        case Status.SKIPPED | Status.MISSED:
            return _advise_not_started(run, commands)
        case _:
            assert_never(run.status)


def deserves_a_look(run: RunRecord, now: datetime) -> bool:
    """True for a run that neither succeeded nor is active."""
    return run.status is not Status.SUCCEEDED and run.liveness(now) is not Liveness.ALIVE


def may_be_run_again(run: RunRecord, now: datetime) -> bool:
    """True for a run that a person can start as it is."""
    return deserves_a_look(run, now) and run.liveness(now) is not Liveness.NO_LEASE


def _advise_running(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    if run.lease_until is None:
        meaning = "HELD: its row has no lease (something other than cronce wrote it), so no start takes it over."
        return Advice(meaning, (Step("Once you know that its owner has ended, release it:", commands.release()),))
    if run.liveness(now) is Liveness.EXPIRED:
        meaning = f"Lost: its owner sends no heartbeats, and its lease expired {age(run.lease_until, now=now)}."
        return _lost(meaning, run, commands)
    if now > run.lease_until:
        left = length(run.lease_until + MAX_CLOCK_SKEW - now)
        return Advice(
            f"Its lease has expired. Its owner counts as alive for another {left}, because clocks may differ"
            f" by {length(MAX_CLOCK_SKEW)}.",
            (Step("Wait; then the next start takes it over."),),
        )
    left = length(run.lease_until - now)
    asked = f" Its owner was asked to stop: {run.cancel_requested}." if run.cancel_requested else ""
    return Advice(
        f"Running: every other start is refused.{asked}",
        (
            Step(f"Nothing to do. If its owner dies, its lease expires in {left} and the next start takes it over."),
            Step("To take it from its owner while that is alive (stop the owner first):", commands.release(force=True)),
        ),
    )


def _advise_failed(run: RunRecord, commands: Commands) -> Advice:
    if run.reason in LOST_REASONS:
        return _lost("Lost: its owner ended without a report, so it is unknown how far the work got.", run, commands)
    again = Step("To run it now:", commands.run_again())
    following = run.attempt + 1
    match run.reason:
        case Reason.RELEASED:
            return Advice(
                f"Released by {run.actor or 'a person'}. The next start begins attempt {following}.", (again,)
            )
        case Reason.REPLACED:
            return Advice(
                "Stopped, because a newer run of the job replaced it. Only a person can start it again.", (again,)
            )
        case str() as reason if reason.startswith(Reason.LAUNCH_FAILED):
            return Advice("Not run: its task stopped before it claimed the run, so no attempt began.", (again,))
        case Reason.INTERRUPTED:
            meaning = f"Interrupted from outside, which is no failure. The next start begins attempt {following}."
            return Advice(meaning, (again,))
        case _:
            meaning = (
                f"Failed; counted failures: {run.failures}. Up to the job's backoff_limit (default 0), machines start"
                f" attempt {following}; beyond it, only a person can."
            )
            return Advice(meaning, (again,))


def _advise_not_started(run: RunRecord, commands: Commands) -> Advice:
    again = Step("To run it now:", commands.run_again())
    match run.reason:
        case Reason.OVERLAP:
            before = f" ({run.blocked_by})" if run.blocked_by else ""
            first = [Step("To see that run:", commands.show(run.blocked_by))] if run.blocked_by else []
            return Advice(f"Not run: another run of the job{before} was active when it was due.", (*first, again))
        case Reason.SUSPENDED:
            return Advice("Not run: the job was suspended.", (again,))
        case Reason.TOO_LATE:
            return Advice("Not run: its start came after the starting deadline.", (again,))
        case Reason.NEVER_DELIVERED:
            return Advice("Not run: its tick was never delivered, or started no task.", (again,))
        case _:
            return Advice("Not run: nothing started it, or its task failed to start.", (again,))


def _lost(meaning: str, run: RunRecord, commands: Commands) -> Advice:
    return Advice(
        meaning,
        (
            Step(
                f"Under on_lost=RETRY (the default) the next start begins attempt {run.attempt + 1}; to start it now:",
                commands.run_again(),
            ),
            Step("Under on_lost=HOLD it is HELD until a person releases it:", commands.release()),
        ),
    )
