"""A person asks for a run: have its task started, if the claim of the task would be accepted.

For people who may not call RunTask: with `iam:PassRole` that starts any command with the job's roles. Whoever may
invoke this function can only name a job, a period and a reason. What starts, when and with which roles follows from
the job's own schedule, and a one-shot schedule with the job's scheduler role starts it
(docs/adr/0017-rerun-function.md).

The payload is `{"job", "period", "actor", "reason", "force"}`; `reason` and `force` may be absent; `force` needs a
reason. Everything else is refused. The actor is what the caller claims to be: Lambda does not tell a function who
invoked it. The log line has the ID of the request, under which CloudTrail has the caller.

The answer is one of:

- `{"started": true, "before", "forced", "course", "run", "beside"}`: the task is arranged. `before` is true if a task
  of the same attempt was arranged earlier.
- `{"started": false, "reason", "run", "beside"}`: its claim would be refused; `reason` is that of the refusal.
- `{"started": false, "reason", "why"}`: the request itself cannot be carried out.

`run` and `beside`, the other run of the job that is active, are rows without what the work stored in them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Self

from cronce import InputInvalidError, Ledger, RecordUnreadableError, Trigger
from cronce.client.reporting import report
from cronce.client.time_source import Clock, SystemClock
from cronce.ecs import CallRefusedError, JobUnknownError, Launcher
from cronce.ecs.eligibility import nominal_time, person_may_start
from cronce.protocol.by_person import MayNotStart, attempt_after, variables_of
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.stores.codec import encode
from cronce.vocabulary.names import checked_job, checked_line, checked_period
from cronce_lambdas.event_check import in_the_future, no_tick
from cronce_lambdas.settings import Settings

Answer = dict[str, Any]

_SOON = timedelta(seconds=10)

_SHOWN = frozenset(
    {
        *("job", "key", "version", "status", "attempt", "owner", "trigger", "scheduled_at"),
        *("claimed_at", "finished_at", "lease_until", "reason", "exit_code"),
    }
)
"""The attributes of a row that the caller sees: not the result, the checkpoint or the error of the work."""


def handler(event: object, context: object) -> Answer:
    """Have the run started, or say why not.

    Raises:
        LedgerUnavailableError: The ledger did not answer.
        CallUnavailableError: EventBridge Scheduler did not answer. Asking again starts no second run.
    """
    return _reruns(Settings.from_environ(os.environ)).answer(event, request=getattr(context, "aws_request_id", None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person asks for."""

    job: str
    period: str
    actor: str
    reason: str | None
    force: bool

    @classmethod
    def of(cls, event: object) -> Self:
        """The wish in the payload.

        Raises:
            InputInvalidError: The payload is anything else than the documented one.
        """
        known = ("job", "period", "actor", "reason", "force")
        if not isinstance(event, Mapping) or not all(name in known for name in event):
            raise InputInvalidError("the payload", event, f"a JSON object with {', '.join(known)} and no other names")
        force = event.get("force", False)
        if not isinstance(force, bool):
            raise InputInvalidError("force", force, "true or false")
        reason = event.get("reason")
        if reason is not None or force:
            reason = checked_line(reason, what="reason")
        return cls(
            job=checked_job(event.get("job")),
            period=checked_period(event.get("period")),
            actor=checked_line(event.get("actor"), what="actor"),
            reason=reason,
            force=force,
        )


class Reruns:
    """Carries out wishes through a ledger and its schedule group."""

    def __init__(self, *, ledger: Ledger, launcher: Launcher, name: str, clock: Clock | None = None) -> None:
        """Use the parts; nothing is called yet.

        Args:
            ledger: The runs; it is only read.
            launcher: Finds the jobs' definitions and creates one-shot schedules.
            name: The table's name, for the log.
            clock: Where time comes from; None for this host's clock.
        """
        self._ledger = ledger
        self._launcher = launcher
        self._name = name
        self._clock = clock or SystemClock()

    def answer(self, event: object, *, request: str | None = None) -> Answer:
        """Have the run started, or say why not; every answer is logged with the request's ID.

        Raises:
            LedgerUnavailableError: The ledger did not answer.
            CallUnavailableError: EventBridge Scheduler did not answer.
        """
        try:
            wish = Wish.of(event)
        except InputInvalidError as error:
            report("rerun_refused", ledger=self._name, request=request, reason="INVALID", why=str(error))
            return _cannot("INVALID", str(error))
        answer = self._carry_out(wish)
        about: dict[str, Any] = {"ledger": self._name, "job": wish.job, "period": wish.period, "request": request}
        about |= {"actor": wish.actor, "note": wish.reason}
        if answer["started"]:
            report("rerun_arranged", **about, force=answer["forced"], before=answer["before"])
        else:
            report("rerun_refused", **about, reason=answer["reason"], why=answer.get("why"))
        return answer

    def _carry_out(self, wish: Wish) -> Answer:
        try:
            job = self._launcher.find(wish.job)
        except JobUnknownError as error:
            return _cannot("UNKNOWN_JOB", str(error))
        now = self._clock.now()
        try:
            decision = person_may_start(self._ledger, job, wish.period, force=wish.force, now=now)
            at = nominal_time(job, decision.run, wish.period)
        except RecordUnreadableError as error:
            return _cannot(RefusalReason.HELD, str(error))
        except InputInvalidError as error:  # only another version can parse the schedule
            return _cannot("NOT_LAUNCHED", str(error))
        if decision.run is None:
            why = no_tick(job, wish.period, at)
            if why is None and in_the_future(wish.period, at, now):
                why = "its period has not come yet"
            if why is not None:
                return _cannot("NO_TICK", why)
        rows = {"run": _shown(decision.run), "beside": _shown(decision.beside)}
        if isinstance(decision, MayNotStart):
            return {"started": False, "reason": decision.reason.value, **rows}
        try:
            made = self._launcher.run_later(
                job,
                wish.period,
                scheduled_at=at,
                trigger=Trigger.MANUAL,
                attempt=attempt_after(decision.run),
                launch=1,
                not_before=now + _SOON,
                environment=variables_of(decision.run, forced=decision.forced, actor=wish.actor, reason=wish.reason),
            )
        except CallRefusedError as error:
            return _cannot("NOT_LAUNCHED", str(error))
        return {"started": True, "before": not made, "forced": decision.forced, "course": decision.course.value, **rows}


def _cannot(reason: str, why: str) -> Answer:
    return {"started": False, "reason": str(reason), "why": why}


def _shown(run: RunRecord | None) -> Answer | None:
    return None if run is None else {name: value for name, value in encode(run).items() if name in _SHOWN}


@cache
def _reruns(settings: Settings) -> Reruns:
    """Its clients are made once per execution environment, and used by every invocation in it."""
    ledger = Ledger.from_url(settings.url, owner="cronce:rerun")
    return Reruns(ledger=ledger, launcher=Launcher(group=settings.group), name=settings.ledger_name)
