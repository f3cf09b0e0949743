"""Notices of the recorder and the watchdog: a metric for alarms, and an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from cronce.client.reporting import report
from cronce.protocol.records import RunRecord
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.names import period_of
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason, Status
from cronce.watch.due_ticks import Due
from cronce.watch.jobs import WatchedJob
from cronce.watch.memory import Timing

RUN_MISSED = "Cronce Run Missed"
RUN_HELD = "Cronce Run Held"
RUN_GIVEN_UP = "Cronce Run Given Up"
RUN_UNCLAIMED = "Cronce Run Unclaimed"
TICKS_NOT_JUDGED = "Cronce Ticks Not Judged"
SCHEDULE_CHANGED = "Cronce Schedule Changed"
SCHEDULE_GONE = "Cronce Schedule Gone"
PINNED_COUNT_WRONG = "Cronce Pinned Count Wrong"
RUN_TOO_LONG = "Cronce Run Too Long"
NO_SUCCESS = "Cronce Job Without Success"


@dataclass(frozen=True, slots=True)
class Notice:
    """An event.

    Attributes:
        run: The run whose row says why; None if there is none.
        cause: What happened, in one sentence; empty if the row of the run has the cause.
    """

    detail_type: str
    detail: dict[str, Any]
    run: RunRecord | None = None
    cause: str = ""


def missed(run: RunRecord, *, ledger: str, counted: bool = False) -> Notice:
    """Count a missed tick, and return its event.

    Args:
        run: Its row.
        ledger: The table's name.
        counted: True if the tick was counted before, and only its cause is new.
    """
    event = "missed_cause" if counted else "missed"
    report(event, level="ERROR", job=run.job, period=run.period, ledger=ledger, reason=run.reason, error=run.error)
    return Notice(RUN_MISSED, _about(run, ledger), run)


def left_to_a_person(run: RunRecord, why: str, *, held: bool, ledger: str) -> Notice:
    """Count a run that no machine starts again, and return its event.

    Args:
        run: Its row.
        why: Why no machine starts it.
        held: True if that is so because of `on_lost=HOLD`.
        ledger: The table's name.
    """
    if run.reason == Reason.UNCLAIMED:
        event, detail_type = "unclaimed", RUN_UNCLAIMED
    elif held:
        event, detail_type = "run_held", RUN_HELD
    else:
        event, detail_type = "run_given_up", RUN_GIVEN_UP
    report(event, level="ERROR", job=run.job, period=run.period, ledger=ledger, owner=run.owner, why=why)
    return Notice(detail_type, _about(run, ledger) | {"why": why, "attempt": run.attempt}, run)


def not_judged(job: str, todo: Due, *, ledger: str) -> Notice:
    """Count ticks that are too many, or older than the ledger, to be judged, and return their event.

    Args:
        job: The job.
        todo: With a number of ticks left out.
        ledger: The table's name.
    """
    before = period_of(todo.ticks[0]) if todo.ticks else None
    report("ticks_not_judged", level="ERROR", job=job, ledger=ledger, count=todo.left_out, before=before)
    about = {"ledger": ledger, "job": job, "count": todo.left_out, "before": before}
    told = f"{todo.left_out} ticks were not judged: they are too many, or older than the ledger."
    return Notice(TICKS_NOT_JUDGED, _known(about), cause=told)


def schedule_changed(job: WatchedJob, before: Timing, *, ledger: str) -> Notice:
    """Report that the schedule was moved, and return the event, with the ticks around the change.

    Args:
        job: The job as it is now.
        before: When it was due before.
        ledger: The table's name.
    """
    last, following = before.last_tick(job.modified_at), Timing.of(job).next_tick(job.modified_at)
    old, new = f"{before.expression} {before.timezone}", f"{job.expression} {job.timezone}"
    last_tick, next_tick = (None if tick is None else period_of(tick) for tick in (last, following))
    report(
        "schedule_changed", job=job.job, ledger=ledger, before=old, after=new, last_tick=last_tick, next_tick=next_tick
    )
    about = {"before": old, "after": new, "lastTick": last_tick, "nextTick": next_tick}
    return Notice(
        SCHEDULE_CHANGED,
        _known({"ledger": ledger, "job": job.job} | about),
        cause=f"Its schedule was {old}, and is {new}.",
    )


def schedule_gone(job: str | None, schedule: str, *, ledger: str) -> Notice:
    """Count a job whose schedule does not exist any more, and return its event.

    Args:
        job: The job; None if an earlier version did not remember it.
        schedule: Name of the schedule.
        ledger: The table's name.
    """
    report("schedule_gone", level="ERROR", job=job, schedule=schedule, ledger=ledger)
    about = {"ledger": ledger, "job": job, "schedule": schedule}
    return Notice(SCHEDULE_GONE, _known(about), cause=f"Its schedule {schedule} does not exist any more.")


def run_too_long(run: RunRecord, longest: timedelta, *, ledger: str) -> Notice:
    """Count a run that takes longer than it may, and return its event.

    Args:
        run: Its row.
        longest: How long it may take.
        ledger: The table's name.
    """
    text = format_duration(longest)
    report(
        "run_too_long", level="WARNING", job=run.job, period=run.period, ledger=ledger, owner=run.owner, longest=text
    )
    about = _about(run, ledger) | {"attempt": run.attempt, "longest": text}
    about |= {} if run.claimed_at is None else {"since": period_of(run.claimed_at.replace(microsecond=0))}
    return Notice(RUN_TOO_LONG, about, cause=f"It has been running for more than {text}.")


def no_success(job: str, since: datetime, patience: timedelta, newest: RunRecord | None, *, ledger: str) -> Notice:
    """Count a job that has had no success for too long, and return its event.

    Args:
        job: The job.
        since: When it succeeded last, or was first expected to.
        patience: How long it may be without a success.
        newest: Its newest run that has ended, if there is one.
        ledger: The table's name.
    """
    at, text = period_of(since.replace(microsecond=0)), format_duration(patience)
    report("no_success", level="WARNING", job=job, ledger=ledger, since=at, longest=text)
    about = {"ledger": ledger, "job": job, "since": at, "longest": text}
    about |= {} if newest is None else {"period": newest.period}
    failed = newest is not None and newest.status is not Status.SUCCEEDED
    return Notice(NO_SUCCESS, about, newest if failed else None, f"It has not succeeded for {text}, since {at}.")


def ignored(why: str, job: str, period: str, source: str) -> dict[str, Any]:
    """Count a hint that changes nothing, and return the answer for it. Its texts are no dimensions of the metric.

    Args:
        why: Why it is ignored.
        job: The job that it names.
        period: The period that it names.
        source: The task or schedule that it is about.
    """
    report("event_ignored", level="ERROR", why=why, hint=shortened(f"{job!r} {period!r} {source!r}", 500))
    return {"ignored": why}


def _about(run: RunRecord, ledger: str) -> dict[str, Any]:
    scheduled_at = None if run.scheduled_at is None else period_of(run.scheduled_at)
    about = {"ledger": ledger, "job": run.job, "period": run.period, "scheduledTime": scheduled_at}
    about |= {"reason": run.reason, "error": run.error}
    return _known(about)


def _known(about: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in about.items() if value is not None}
