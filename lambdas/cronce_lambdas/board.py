"""Shows the runs of a ledger on a CloudWatch dashboard, as a custom widget. It writes nothing.

CloudWatch invokes `handler` with the parameters of the widget and a `widgetContext` when the dashboard is loaded or
refreshed, and when a person presses a button in the widget. It shows the HTML that `handler` returns. With `describe`
it asks for a description in Markdown (CloudWatch User Guide, "Details about custom widgets"; the samples in
aws-samples/cloudwatch-custom-widgets-samples).

The parameters are `{"days", "jobs", "part", "page"}` for the calendar, and `{"job", "periods", "overdue"}` for single
runs; each may be absent. For any other parameter the widget shows an error.

The function sends requests only to the ledger; the watchdog keeps the names and schedules of the jobs there. First it
reads the newest row of every job, for at most `_TIME_FOR_NEWEST_ROWS`. Then it reads the rows of the days for the jobs
of one page. For 1,000 jobs it makes about 1,100 requests, ten at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Self

from cronce import CronceError, InputInvalidError, Ledger, RecordUnreadableError
from cronce.board.calendar import JobCalendar, Row
from cronce.board.newest_rows import newest_rows
from cronce.board.reading import about_job, read_board
from cronce.board.widget import MOST_PERIODS, Dashboard, Widget, problem, runs_of_a_job, widget
from cronce.client.reporting import report
from cronce.client.settings import TaskSettings
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import JobDefinition
from cronce.operate.diagnosis import schedule_in_words
from cronce.operate.look_up import UNKNOWN
from cronce.protocol.records import UnreadableRow
from cronce.vocabulary.names import checked_job, checked_period, ledger_name, parse_scheduled_time
from cronce.vocabulary.payloads import decode_json
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.values import checked_whole
from cronce.watch.look_at_job import memories_of
from cronce.watch.memory import Memory, from_value
from cronce.watch.readable_rows import Rows

Jobs = list[tuple[str, JobDefinition | None]]

JOBS_OF_A_PAGE = 40
_DAYS, _MOST_DAYS = 14, 31
_MOST_ROWS = 200
"""How many rows of a job the calendar has; earlier days are hatched, because their rows were not read."""

_MOST_NAMES = 200
_MOST_PART = 200

_TIME_FOR_NEWEST_ROWS = timedelta(seconds=2)
"""After this time no more newest rows are read."""

_OF_CALENDAR, _OF_RUNS = ("days", "jobs", "part", "page"), ("job", "periods", "overdue")
_KNOWN = ("describe", "widgetContext", *_OF_CALENDAR, *_OF_RUNS)

DESCRIPTION = f"""\
## Runs of a cronce ledger

Shows the runs of every job as a calendar. Jobs that need a look come first. Press a day to see its runs.

### Parameters

| name | meaning |
|---|---|
| **days** | days of the calendar, 1 to {_MOST_DAYS}; {_DAYS} if absent |
| **jobs** | names of jobs to show instead of all |
| **part** | show jobs whose name has this part |

### Example

```yaml
days: {_DAYS}
part: mail
```
"""


def handler(event: object, context: object) -> str:
    """The HTML or the Markdown that the dashboard shows, also for an error."""
    return _boards(TaskSettings.from_environ(os.environ).required_ledger()).answer(
        event, endpoint=str(getattr(context, "invoked_function_arn", ""))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the dashboard asks for.

    Attributes:
        job: The job whose runs are asked for; None for the calendar.
        overdue: The tick of that job that has no row.
        repeated: The parameters that each press in the calendar repeats, as they were given.
    """

    days: int = _DAYS
    jobs: tuple[str, ...] | None = None
    part: str = ""
    page: int = 1
    job: str | None = None
    periods: tuple[str, ...] = ()
    overdue: datetime | None = None
    repeated: Mapping[str, Any]

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Self:
        """The request in the event.

        Raises:
            InputInvalidError: A parameter is unknown or cannot be used.
        """
        if unknown := [name for name in event if name not in _KNOWN]:
            raise InputInvalidError("the parameters", unknown[0], ", ".join((*_OF_CALENDAR, *_OF_RUNS)))
        job, due = event.get("job"), event.get("overdue")
        return cls(
            days=checked_whole(event.get("days", _DAYS), what="days", least=1, most=_MOST_DAYS),
            jobs=None if event.get("jobs") is None else _names("jobs", event["jobs"], checked_job, most=_MOST_NAMES),
            part=_part(event),
            page=checked_whole(event.get("page", 1), what="page", least=1, most=10_000),
            job=None if job is None else checked_job(job),
            periods=_names("periods", event.get("periods", []), _listed, most=MOST_PERIODS),
            overdue=None if due is None else parse_scheduled_time(due, what="overdue"),
            repeated={name: event[name] for name in ("days", "jobs") if event.get(name) is not None},
        )


class Boards:
    """Answers the dashboards of one ledger."""

    def __init__(self, *, ledger: Ledger, name: str, clock: Clock | None = None) -> None:
        """Make no request yet.

        Args:
            ledger: The runs.
            name: The table's name, for the log.
            clock: The source of time; None for this host's clock.
        """
        self._ledger = ledger
        self._name = name
        self._clock = clock or SystemClock()

    def answer(self, event: object, *, endpoint: str) -> str:
        """The HTML or the Markdown for the event.

        Args:
            event: What CloudWatch passes.
            endpoint: ARN of this function, which each press calls.
        """
        if not isinstance(event, Mapping):
            return problem("The event is not a JSON object, so no dashboard sent it.", Dashboard(endpoint=endpoint))
        if event.get("describe") is True:
            return DESCRIPTION
        theme = _mapping(event.get("widgetContext")).get("theme")
        dashboard = Dashboard(endpoint=endpoint, theme=str(theme))
        try:
            request = Request.of(event)
            if request.job is None:
                return self._calendar(request, dashboard)
            return self._runs(request, request.job, dashboard)
        except CronceError as error:
            report("board_refused", level="ERROR", ledger=self._name, error=str(error))
            return problem(str(error), dashboard)

    def _calendar(self, request: Request, dashboard: Dashboard) -> str:
        now, began = self._clock.now(), self._clock.monotonic()
        known = self._known_jobs()
        if request.jobs is None:
            jobs: Jobs = sorted(known.items())
        else:
            jobs = [(name, known.get(name)) for name in dict.fromkeys(request.jobs)]
        part = request.part.casefold()
        jobs = [each for each in jobs if part in each[0].casefold()]
        newest = newest_rows(
            self._ledger,
            jobs,
            now=now,
            is_late=lambda: self._clock.monotonic() - began > _TIME_FOR_NEWEST_ROWS.total_seconds(),
        )
        pages = max(1, -(-len(newest) // JOBS_OF_A_PAGE))
        number = min(request.page, pages)
        of_page = newest[(number - 1) * JOBS_OF_A_PAGE : number * JOBS_OF_A_PAGE]
        board = read_board(
            self._ledger,
            [(each.name, each.definition) for each in of_page],
            days=request.days,
            now=now,
            most_rows=_MOST_ROWS,
            policies_known=False,
        )
        shown = {job.name for job in board.jobs}
        return widget(
            Widget(
                board=board,
                jobs=len(jobs),
                need_a_look=sum(each.needs_a_look for each in newest),
                not_read=sum(not each.was_read for each in newest),
                without_runs=[each.name for each in of_page if each.name not in shown],
                part=request.part,
                number=number,
                pages=pages,
                repeated=request.repeated,
            ),
            dashboard,
        )

    def _runs(self, request: Request, job: str, dashboard: Dashboard) -> str:
        now = self._clock.now()
        definition = self._known_jobs().get(job)
        about = UNKNOWN if definition is None else about_job(definition, policy_known=False)
        rows = [row for period in request.periods if (row := self._row(job, period)) is not None]
        calendar = JobCalendar(
            name=job, days={}, schedule="" if definition is None else schedule_in_words(definition), about=about
        )
        return runs_of_a_job(calendar, rows, dashboard, now=now, due=request.overdue)

    def _row(self, job: str, period: str) -> Row | None:
        try:
            return self._ledger.run(job, period)
        except RecordUnreadableError as error:
            return UnreadableRow(job=error.job, key=error.key, problem=error.problem)
        except InputInvalidError as error:  # something else wrote the row, and the calendar lists it
            return UnreadableRow(job=job, key=period, problem=str(error))

    def _known_jobs(self) -> dict[str, JobDefinition | None]:
        """The jobs that the watchdog remembers."""
        rows = memories_of(Rows(self._ledger, self._name))
        known: dict[str, JobDefinition | None] = {}
        for schedule, row in rows.items():
            memory = from_value(decode_json(row.checkpoint))
            if memory is not None and memory.job is not None:
                known[memory.job] = _definition(schedule, memory.job, memory)
        return known


def _definition(schedule: str, job: str, memory: Memory) -> JobDefinition:
    """The job as the watchdog remembers it. Its policy and its target are not remembered."""
    timing = memory.timing
    return JobDefinition(
        job=job,
        schedule_name=schedule,
        group_name="",
        expression=timing.expression,
        timezone=timing.timezone,
        start=timing.start,
        end=timing.end,
        enabled=timing.enabled,
        flexible_window=timing.window,
        policy=Policy(),
        created_at=memory.modified_at,
        modified_at=memory.modified_at,
        date_in=memory.date_in,
        delivers_ticks=True,
        target={},
    )


def _names(what: str, given: object, checked: Callable[[object], str], *, most: int) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > most:
        raise InputInvalidError(what, given, f"a list of at most {most} names")
    return tuple(checked(each) for each in given)


def _listed(period: object) -> str:
    """A period as the calendar lists it: whatever the key of a row has."""
    return period if isinstance(period, str) else checked_period(period)


def _part(event: Mapping[str, Any]) -> str:
    """The part of a name that a person typed into the widget, else that of its parameters."""
    context = _mapping(event.get("widgetContext"))
    typed = _mapping(_mapping(context.get("forms")).get("all"))
    part = typed.get("part", event.get("part", ""))
    if not isinstance(part, str) or len(part) > _MOST_PART:
        raise InputInvalidError("part", part, f"a text of at most {_MOST_PART} characters")
    return part.strip()


def _mapping(value: object) -> Mapping[str, Any]:
    """The value, or an empty mapping in place of a value of another type."""
    return value if isinstance(value, Mapping) else {}


@cache
def _boards(url: str) -> Boards:
    """The boards of a ledger, whose connections every invocation in this execution environment uses."""
    return Boards(ledger=Ledger.from_url(url, owner="cronce:board"), name=ledger_name(url))
