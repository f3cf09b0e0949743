"""The table of runs and the page of one run, on rich.

Text from the ledger is always a `Text` of `visible` characters, see `tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cronce.cli.output.tables import STATUS_STYLES, WIDE, Column, table
from cronce.operate.advice import Advice
from cronce.operate.look_up import RowKind, kind_by_name
from cronce.operate.wording import age, length, moment, one_line, short_owner, visible, visible_lines, why_ended
from cronce.protocol.records import Liveness, PastAttempt, RunRecord, UnreadableRow
from cronce.vocabulary.payloads import shortened
from cronce.vocabulary.states import Reason, Status

_MOST_SHOWN_BYTES = 2000
_LABEL_WIDTH = 12


def runs_table(runs: Iterable[RunRecord | UnreadableRow], *, now: datetime, width: int) -> RenderableType:
    """One line per run, or on a narrow terminal a few."""
    wide = width >= WIDE
    columns = [
        Column("PERIOD", fold=True, min_width=10, max_width=40),
        Column("STATUS"),
        Column("TRY", label="try", right=True),
        Column("STARTED", label="started"),
        Column("TOOK", label="took", right=True),
        *([Column("OWNER", label="by", fold=True, max_width=30)] if wide else []),
        Column("NOTE", fold=True),
    ]
    rows = []
    for run in runs:
        if isinstance(run, UnreadableRow):
            empty = [Text("-")] * (len(columns) - 3)
            status = Text("UNREADABLE", style="red")
            rows.append((Text(visible(run.period)), status, *empty, Text(one_line(run.problem))))
            continue
        started = "-"
        if _did_start(run) and run.claimed_at:
            started = moment(run.claimed_at, now=now) if wide else age(run.claimed_at, now=now)
        rows.append(
            (
                Text(visible(run.period)),
                status_text(run, now),
                Text(str(run.attempt) if _did_start(run) or run.attempts else "-"),
                Text(started),
                Text(_took(run, now)),
                *([Text(short_owner(run.owner) if run.attempt else "-")] if wide else []),
                Text(_note(run, now, with_owner=not wide)),
            )
        )
    return table(columns, rows, width)


def run_page(
    run: RunRecord, advice: Advice, *, now: datetime, width: int, blocker: RunRecord | None = None
) -> Sequence[RenderableType]:
    """Everything about one run, as parts to print one after the other.

    Args:
        run: The run.
        advice: What its state means.
        now: Aware.
        width: Columns of the terminal.
        blocker: The run named in `blocked_by`, as it is now.
    """
    title = Text.assemble((visible(run.job), "bold"), "  ", (visible(run.period), "bold"), "  ", status_text(run, now))
    parts: list[RenderableType] = [title, Text(visible(advice.meaning)), Text(), _facts(run, now, blocker)]
    if run.attempts:
        heading = "Earlier attempts" if _is_run(run) else "Earlier terms"
        parts += [
            Text(),
            Text(heading, style="bold"),
            _past_attempts(run.attempts, now, with_status=_is_run(run), width=width),
        ]
    return parts


def _facts(run: RunRecord, now: datetime, blocker: RunRecord | None) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=_LABEL_WIDTH)
    grid.add_column(overflow="fold")
    for label, value in _labelled(run, now, blocker):
        if value:
            grid.add_row(label, Text(value))
    return grid


def _labelled(run: RunRecord, now: datetime, blocker: RunRecord | None) -> Iterable[tuple[str, str | None]]:
    def when(at: datetime | None) -> str | None:
        return None if at is None else moment(at, now=now)

    def given(text: str | None) -> str | None:
        return None if text is None else visible(text)

    if _is_run(run):
        attempt = run.attempt if _did_start(run) or run.attempts else "none"
        yield "attempt", f"{attempt}, trigger {run.trigger}, counted failures {run.failures}"
    else:
        yield "term", str(run.attempt)
    yield "owner", visible(run.owner)
    yield "ran", given(run.ran)
    yield "scheduled", when(run.scheduled_at)
    yield ("started" if _did_start(run) else "asked"), when(run.claimed_at)
    yield "heartbeat", when(run.heartbeat_at) if run.status is Status.RUNNING else None
    yield "lease", _lease(run, now)
    yield "finished", when(run.finished_at)
    yield "took", _took(run, now) if _did_start(run) and run.finished_at else None
    yield "reason", given(run.reason)
    yield "blocked by", _blocked_by(run, blocker, now)
    yield "group", given(run.exclusion_group)
    yield "exit code", None if run.exit_code is None else str(run.exit_code)
    yield "error", None if run.error is None else visible_lines(run.error)
    yield "stop asked", given(run.cancel_requested)
    yield "by", given(run.actor)
    yield "note", given(run.note)
    yield "checkpoint", _payload(run.checkpoint)
    yield "result", _payload(run.result)
    yield "result is", given(run.result_flag)


def _lease(run: RunRecord, now: datetime) -> str | None:
    if run.status is not Status.RUNNING:
        return None
    if run.lease_until is None:
        return "none"
    left = run.lease_until - now
    return f"{length(left)} left" if left > timedelta(0) else f"expired {moment(run.lease_until, now=now)}"


def _blocked_by(run: RunRecord, blocker: RunRecord | None, now: datetime) -> str | None:
    if run.blocker is None:
        return None
    name = visible(run.blocker)
    if blocker is None:
        return name
    since = f" ({age(blocker.finished_at, now=now)})" if blocker.finished_at else ""
    return f"{name}, now {blocker.status}{since}, owner {visible(blocker.owner)}"


def _payload(text: str | None) -> str | None:
    if text is None:
        return None
    cut = shortened(text, _MOST_SHOWN_BYTES)
    return visible(cut) + ("" if cut == text else f" ... ({len(text)} characters; --json shows all)")


def _past_attempts(attempts: Sequence[PastAttempt], now: datetime, *, with_status: bool, width: int) -> RenderableType:
    columns = [
        Column("TRY", right=True),
        *([Column("ENDED AS")] if with_status else []),
        Column("STARTED", label="started"),
        Column("TOOK", label="took", right=True),
        Column("OWNER", label="by", fold=True),
        Column("WHY", fold=True),
    ]
    rows = []
    for past in attempts:
        took = length(past.finished_at - past.claimed_at) if past.finished_at and past.claimed_at else "-"
        failed = past.status is not Status.SUCCEEDED  # a forced repeat left a reason on earlier successes
        why = why_ended(past.reason, past.exit_code, past.error) if failed else ""
        rows.append(
            (
                Text(str(past.attempt)),
                *([Text(past.status, style=STATUS_STYLES[past.status])] if with_status else []),
                Text(age(past.claimed_at, now=now) if past.claimed_at else "-"),
                Text(took),
                Text(short_owner(past.owner)),
                Text(why or (visible(past.note) if past.note else "")),
            )
        )
    return table(columns, rows, width)


def status_text(run: RunRecord, now: datetime) -> Text:
    """The status in words: a leader's row is FAILED after an orderly end too, which would alarm people."""
    if _is_run(run):
        return Text(run.status, style=STATUS_STYLES[run.status])
    is_held = run.liveness(now) is Liveness.ALIVE
    if kind_by_name(run.job, run.period) is RowKind.LEADER:
        return Text("LEADS", style="green") if is_held else Text("NO LEADER", style="yellow")
    return Text("LOOKS", style="cyan") if is_held else Text("IDLE", style="dim")


def _is_run(run: RunRecord) -> bool:
    return kind_by_name(run.job, run.period) is RowKind.RUN


def _did_start(run: RunRecord) -> bool:
    """False for a run whose work never began."""
    return run.attempt > 0 and run.status not in (Status.SKIPPED, Status.MISSED)


def _took(run: RunRecord, now: datetime) -> str:
    if not _did_start(run) or run.claimed_at is None:
        return "-"
    return length((run.finished_at or now) - run.claimed_at)


def _note(run: RunRecord, now: datetime, *, with_owner: bool) -> str:
    match run.status:
        case Status.RUNNING if run.lease_until is None:
            return "HELD: no lease"
        case Status.RUNNING if run.lease_until is not None and now > run.lease_until:
            return f"lease expired {age(run.lease_until, now=now)}"
        case Status.RUNNING:
            return f"by {short_owner(run.owner)}" if with_owner else ""
        case Status.SKIPPED if run.reason == Reason.OVERLAP and run.blocker:
            return f"overlap with {visible(run.blocker)}"
        case Status.SKIPPED if run.reason == Reason.PAUSED and run.actor:
            return f"paused by {visible(run.actor)}: {one_line(run.note or '')}"
        case Status.FAILED if run.reason == Reason.RELEASED and run.actor:
            return f"released by {visible(run.actor)}"
    return why_ended(run.reason, run.exit_code, run.error)
