"""What the state of a run means and what to do next. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from cronce.operate.look_up import UNKNOWN, About, RowKind
from cronce.operate.wording import age, in_the_way, length, why_ended
from cronce.protocol.observing import LOST_REASONS
from cronce.protocol.records import MAX_CLOCK_SKEW, Liveness, RunRecord
from cronce.protocol.retrying import MOST_LAUNCHES, Leave, Relaunch, after_attempt, never_started
from cronce.vocabulary.ledger_urls import without_password
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import CatchUp, OnLost, Policy
from cronce.vocabulary.states import Reason, Status


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do; `command` is a line for a shell, or None if there is nothing to type."""

    text: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """What a state means, and what a person can do."""

    meaning: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Commands:
    """The command lines to suggest about one run.

    Attributes:
        ledger: The URL to repeat in each; None if the environment has it.
        group: The schedule group to repeat in commands that start a task; None if it need not be given.
        through: The rerun function to repeat in commands that start a task; None if it need not be given.
        has_schedules: False for a ledger without a schedule group, from which no task can be started.
    """

    job: str
    period: str
    ledger: str | None = None
    group: str | None = None
    through: str | None = None
    has_schedules: bool = False

    def about(self, job: str) -> Commands:
        """The command lines to suggest about another job."""
        return replace(self, job=job, period="")

    def show(self, period: str | None = None, job: str | None = None) -> str:
        """Show this run, or another one, of this job or another one."""
        return self._line("show", [], [job or self.job, period or self.period])

    def release(self, *, force: bool = False) -> str:
        """Release the run."""
        return self._line("release", ["--force"] * force + ["--reason", "WHY"], [self.job, self.period])

    def run_again(self, *, force: bool = False) -> str:
        """Start the run: its task, or without a schedule group its command."""
        options = ["--force", "--reason", "WHY"] * force
        if self.has_schedules:
            options = [*self._group(), *([f"--through={self.through}"] if self.through else []), *options]
            return self._line("rerun", options, [self.job, self.period])
        return self._line("rerun", options, [self.job, self.period]) + " -- COMMAND"

    def why(self) -> str:
        """Explain the run."""
        return self._line("why", self._group(), [self.job, *([self.period] if self.period else [])])

    def logs(self) -> str:
        """Print the log of the newest attempt."""
        return self._line("logs", self._group(), [self.job, self.period])

    def next(self) -> str:
        """List the next ticks of the job."""
        return self._line("next", self._group(), [self.job])

    def runs(self) -> str:
        """List the runs of the job."""
        return self._line("runs", [], [self.job])

    def backfill(self, options: Sequence[str]) -> str:
        """Run many periods of the job."""
        return self._line("backfill", [*self._group(), *options], [self.job])

    def resume(self) -> str:
        """End the pause of the job."""
        return self._line("resume", [], [self.job])

    def jobs(self) -> str:
        """List the jobs of the ledger."""
        return self._line("jobs", self._group(), [])

    def doctor(self) -> str:
        """Check the stack."""
        return self._line("doctor", self._group(), [])

    def _group(self) -> list[str]:
        return [f"--schedule-group={self.group}"] if self.group else []

    def _line(self, command: str, options: list[str], names: list[str]) -> str:
        words = ["cronce", command, *([f"--ledger={without_password(self.ledger)}"] if self.ledger else []), *options]
        # A name that looks like an option must not be parsed as one.
        words += ["--"] if any(name.startswith("-") for name in names) else []
        return shlex.join([*words, *names])


PLAIN = Commands("", "")
"""Command lines that repeat no option: the environment has all that they need."""


def advise(run: RunRecord, now: datetime, commands: Commands, about: About = UNKNOWN) -> Advice:
    """What the state of the row means at `now`, what machines do next, and what a person can do."""
    match about.kind:
        case RowKind.LEADER:
            return _advise_leader(run, now, commands)
        case RowKind.WATCHDOG:
            return _advise_watchdog(run, now, commands)
        case RowKind.DISPATCH:
            return _advise_dispatch(run, now, commands)
        case RowKind.RUN:
            advice = _advise_run(run, now, commands, about)
            if about.next_task_at is None:
                return advice
            at = f"{period_of(about.next_task_at)} ({age(about.next_task_at, now=now)})"
            return Advice(f"{advice.meaning} A machine starts its next task at {at}.", advice.steps)
        case _:
            assert_never(about.kind)


def deserves_a_look(run: RunRecord, now: datetime, kind: RowKind = RowKind.RUN) -> bool:
    """True for a run that neither succeeded nor is active, and for any row without a lease."""
    if kind in (RowKind.LEADER, RowKind.WATCHDOG):
        return run.liveness(now) is Liveness.NO_LEASE
    return run.status is not Status.SUCCEEDED and run.liveness(now) is not Liveness.ALIVE


def may_be_run_again(run: RunRecord, now: datetime, about: About) -> bool:
    """True for a run that a person can start as it is, without a release or a check before."""
    if run.reason in (Reason.NEVER_DELIVERED, Reason.NEVER_CLAIMED):  # a job without the guard may have done the work
        return False
    return about.kind is RowKind.RUN and deserves_a_look(run, now) and not _is_held(run, now, about.policy)


def _is_held(run: RunRecord, now: datetime, policy: Policy | None) -> bool:
    """True if a person has to release the run first; False if that depends on an unknown policy."""
    if run.liveness(now) is Liveness.NO_LEASE or run.reason == Reason.UNCLAIMED:
        return True
    return _is_lost(run, now) and policy is not None and policy.on_lost is OnLost.HOLD


def _is_lost(run: RunRecord, now: datetime) -> bool:
    return run.liveness(now) is Liveness.EXPIRED or (run.status is Status.FAILED and run.reason in LOST_REASONS)


def _advise_run(run: RunRecord, now: datetime, commands: Commands, about: About) -> Advice:
    if _is_lost(run, now):
        return _advise_lost(run, now, commands, about)
    match run.status:
        case Status.RUNNING:
            return _advise_running(run, now, commands)
        case Status.SUCCEEDED:
            again = Step("To repeat it anyway, with a reason that is recorded:", commands.run_again(force=True))
            return Advice("Succeeded. Every later start of this period is refused.", (again,))
        case Status.FAILED:
            return _advise_failed(run, commands, about)
        case Status.SKIPPED | Status.MISSED:
            return _advise_not_started(run, commands, about)
        case _:
            assert_never(run.status)


def _advise_running(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    if run.lease_until is None:
        return _without_lease(commands)
    if now > run.lease_until:
        return Advice(
            f"Its lease has expired. {_until_expired(run.lease_until, now)}",
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


def _advise_lost(run: RunRecord, now: datetime, commands: Commands, about: About) -> Advice:
    if run.status is Status.RUNNING and run.lease_until is not None:
        meaning = f"Lost: its owner sends no heartbeats, and its lease expired {age(run.lease_until, now=now)}."
    else:
        meaning = "Lost: its owner ended without a report, so it is unknown how far the work got."
    release = commands.release()
    if about.policy is None:
        retry = f"Under on_lost=RETRY (the default) the next start begins attempt {run.attempt + 1}. To start it now:"
        steps = (Step(retry, commands.run_again()), Step("Under on_lost=HOLD, release it first:", release))
        return Advice(meaning, steps)
    if about.policy.on_lost is OnLost.HOLD:
        check = Step("Check how far it got. If it may be run again:", release)
        return Advice(f"{meaning} HELD: only a person may start it again (on_lost=HOLD).", (check,))
    following = _following(run, about.policy, enabled=about.enabled)
    return Advice(f"{meaning} {following}", (Step("To run it now:", commands.run_again()),))


def _advise_failed(run: RunRecord, commands: Commands, about: About) -> Advice:
    again = Step("To run it now:", commands.run_again())
    following = f" {_following(run, about.policy, enabled=about.enabled)}" if about.policy else ""
    match run.reason:
        case Reason.UNCLAIMED:
            meaning = (
                "HELD: its task ended with exit code 0 and never claimed the run, so the work may be done."
                " No machine repeats it. Is 'cronce exec --' missing before the command of the job?"
            )
            return Advice(meaning, (Step("Check whether the work was done. Only if it was not:", commands.release()),))
        case Reason.RELEASED:
            return Advice(
                f"Released by {run.actor or 'a person'}. No machine starts it before its next tick.", (again,)
            )
        case Reason.REPLACED:
            meaning = "Stopped, because a newer run of the job replaced it. Only a person can start it again."
            return Advice(meaning, (again,))
        case str() as reason if reason.startswith(Reason.LAUNCH_FAILED):
            meaning = (
                "Not run: its task stopped before it claimed the run, so no attempt began."
                f" Machines launch a task {MOST_LAUNCHES} times at most; after that only a person can."
            )
            return Advice(meaning, (again,))
        case Reason.INTERRUPTED:
            return Advice(f"Interrupted from outside, which does not count as a failure.{following}", (again,))
        case _ if about.policy is None and about.has_schedule:
            following = (
                f" Machines start attempt {run.attempt + 1} while that is within the job's backoff_limit (default 0);"
                " after that only a person can."
            )
    return Advice(f"Failed; counted failures: {run.failures}.{following}", (again,))


def _following(run: RunRecord, policy: Policy, *, enabled: bool) -> str:
    """What machines do after an attempt that has ended."""
    if run.status is Status.RUNNING:
        return f"The watchdog or the next start begins attempt {run.attempt + 1}."
    match after_attempt(run, policy=policy, enabled=enabled):
        case Relaunch() as relaunch:
            delay = f"{length(relaunch.delay)} after it ended, in the next full minute"
            return f"A machine starts attempt {relaunch.attempt} {delay}."
        case Leave() as leave:
            return f"No machine starts it again: {leave.why}."


def _advise_not_started(run: RunRecord, commands: Commands, about: About) -> Advice:
    again = Step("To run it now:", commands.run_again())
    catch_up = ""
    if about.policy is not None and never_started(run):
        catches_up = about.policy.catch_up is not CatchUp.NONE and about.enabled and not about.policy.suspend
        who = "The watchdog may catch it up" if catches_up else "No machine starts it"
        catch_up = f" {who} (catch_up={about.policy.catch_up})."
    match run.reason:
        case Reason.OVERLAP:
            to_see = commands.show(run.blocked_by, run.blocked_by_job)
            first = [Step("To see that run:", to_see)] if run.blocked_by else []
            return Advice(f"Not run: {in_the_way(run)} was active when it was due.", (*first, again))
        case Reason.SUSPENDED:
            return Advice("Not run: the job was suspended.", (again,))
        case Reason.PAUSED:
            meaning = f"Not run: {run.actor or 'somebody'} paused the job ({run.note}). No machine starts it later."
            return Advice(meaning, (again,))
        case Reason.TOO_LATE:
            return Advice("Not run: its start came after the starting deadline.", (again,))
        case Reason.NEVER_DELIVERED:
            meaning = f"Not run: no claim came for its tick.{catch_up}"
            unguarded = "If the job does not run under 'cronce exec', its work may be done: check that first."
            return Advice(meaning, (Step(unguarded), again))
        case Reason.NEVER_CLAIMED:
            meaning = "A task of its tick was at work and has not claimed the run. No machine repeats it."
            unguarded = "The task may still be at work, or its work may be done: check that first, in ECS."
            return Advice(meaning, (Step(unguarded), again))
        case _:
            return Advice(f"Not run: nothing started it, or its task failed to start.{catch_up}", (again,))


def _advise_leader(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    term = f"(term {run.attempt})"
    if run.status is Status.RUNNING:
        if run.lease_until is None:
            return _without_lease(commands)
        if run.liveness(now) is Liveness.EXPIRED:
            expired = age(run.lease_until, now=now)
            return Advice(f"No leader. The lease of {run.owner} {term} expired {expired}.", (_NEXT_LEADER,))
        since = f" since {age(run.claimed_at, now=now)}" if run.claimed_at else ""
        expired = f" Its lease has expired. {_until_expired(run.lease_until, now)}" if now > run.lease_until else ""
        stop = Step(
            "To make another process lead, stop this one. If it cannot be stopped:", commands.release(force=True)
        )
        return Advice(f"Leader{since}: {run.owner} {term}.{expired} Other processes of this name stand by.", (stop,))
    until = f" until {age(run.finished_at, now=now)}" if run.finished_at else ""
    led = f"No leader. {run.owner} led{until} {term}"
    match run.status, run.reason:
        case Status.FAILED, Reason.INTERRUPTED:
            meaning = f"{led} and ended in order."
        case Status.FAILED, Reason.RELEASED:
            meaning = f"{led}, then {run.actor or 'a person'} released the row."
        case Status.FAILED, (Reason.LEASE_LOST | Reason.TASK_STOPPED):
            meaning = f"{led} and ended without a report."
        case Status.FAILED, _:
            meaning = f"{led} and ended: {why_ended(run.reason, run.exit_code, run.error) or 'unknown reason'}."
        case _:
            meaning = f"No leader. Something other than a leader set this row to {run.status}."
    return Advice(meaning, (_NEXT_LEADER,))


_NEXT_LEADER = Step("The next process of this name that stands by leads. If none runs, start one.")


def _advise_watchdog(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    if run.liveness(now) is Liveness.NO_LEASE:
        return _without_lease(commands)
    written = run.finished_at or run.claimed_at
    last = f" It was last written {age(written, now=now)}." if written else ""
    return Advice(
        f"The watchdog's own row: what it remembers between two looks.{last}",
        (Step("Nothing to do. The watchdog claims and releases it at each look, about once a minute."),),
    )


def _advise_dispatch(run: RunRecord, now: datetime, commands: Commands) -> Advice:
    clock = run.job.partition(":")[0]
    who = f"the clock {clock!r} sends this tick to its target"
    by_hand = Step("If the work is still needed, send it to the target yourself; no cronce command does that.")
    match run.status:
        case Status.RUNNING if run.lease_until is None:
            return _without_lease(commands)
        case Status.RUNNING if run.liveness(now) is Liveness.EXPIRED:
            meaning = f"Lost: {who}, and its lease expired {age(run.lease_until, now=now)}." if run.lease_until else ""
            return Advice(meaning, (Step("The clock tries it again until its starting deadline."),))
        case Status.RUNNING:
            return Advice(f"Running: {who}.", (Step("Nothing to do."),))
        case Status.SUCCEEDED:
            return Advice(f"Dispatched: {who}, and the target has accepted it.")
        case Status.FAILED if run.reason in LOST_REASONS:
            meaning = f"Lost: {who}, and ended without a report; the target may have got it."
            return Advice(meaning, (Step("The clock tries it again until its starting deadline."), by_hand))
        case Status.FAILED:
            meaning = f"Not dispatched: {who}, and that failed; counted failures: {run.failures}."
            retry = "The clock tries it again up to its backoff_limit and its starting deadline."
            return Advice(meaning, (Step(retry), by_hand))
        case Status.SKIPPED | Status.MISSED:
            return Advice(f"Not dispatched: {who}, but did not in time.", (by_hand,))
        case _:
            assert_never(run.status)


def _without_lease(commands: Commands) -> Advice:
    meaning = "HELD: its row has no lease (something other than cronce wrote it), so no start takes it over."
    return Advice(meaning, (Step("Once you know that its owner has ended, release it:", commands.release()),))


def _until_expired(lease_until: datetime, now: datetime) -> str:
    left, skew = length(lease_until + MAX_CLOCK_SKEW - now), length(MAX_CLOCK_SKEW)
    return f"Its owner counts as alive for another {left}, because clocks may differ by {skew}."
