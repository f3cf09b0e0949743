"""The settings of a task from its environment and command line, as typed values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from cronce.protocol.requests import ClaimRequest
from cronce.vocabulary.environment import (
    ACTOR,
    DATE_IN,
    EXCLUSION_GROUP,
    FORCE,
    FORCE_ATTEMPT,
    JOB,
    LEDGER,
    NOTE,
    PERIOD,
    POLICY,
    SCHEDULED_TIME,
    TRIGGER,
)
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.names import (
    JobName,
    Period,
    RunName,
    checked_job,
    checked_period,
    parse_scheduled_time,
    period_of,
    scheduled_time_of,
)
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import checked_member, field_names, replace, value_class

_VARIABLES = {
    "ledger": LEDGER,
    "job": JOB,
    "period": PERIOD,
    "scheduled_time": SCHEDULED_TIME,
    "date_in": DATE_IN,
    "trigger": TRIGGER,
    "force": FORCE,
    "force_attempt": FORCE_ATTEMPT,
    "actor": ACTOR,
    "note": NOTE,
}
_LONGEST_ATTEMPT = 9
"""Digits of the number of an attempt."""

_WHICH_PERIOD = frozenset({"period", "scheduled_time"})
_NO_OPTIONS: Mapping[str, str] = {}

T = TypeVar("T")


@value_class
class _Text:
    """A text and the name under which it was given, for errors."""

    text: str
    called: str


@value_class(kw_only=True)
class TaskSettings:
    """The settings of a task; each part may be absent.

    Attributes:
        ledger: URL of the ledger.
        ledger_called: The name under which the URL was given, for errors.
        scheduled_at: The nominal time; None if only a period is known.
        force: The reason for repeating a success.
        force_called: The name under which it was given, for errors.
        force_attempt: The attempt that it is for; None for any.
        actor: The person who decided, if any.
        note: That person's reason, if nothing is forced.
    """

    ledger: str | None = None
    ledger_called: str = LEDGER
    job: JobName | None = None
    period: Period | None = None
    scheduled_at: datetime | None = None
    policy: Policy = Policy()  # immutable, so it may be shared
    trigger: Trigger = Trigger.SCHEDULE
    force: str | None = None
    force_called: str = FORCE
    force_attempt: int | None = None
    actor: str | None = None
    note: str | None = None
    has_options: bool = True

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], options: Mapping[str, str] = _NO_OPTIONS) -> TaskSettings:
        """Read the variables and the options; options take precedence.

        Args:
            environ: The environment; an empty variable counts as absent.
            options: The command line's texts by the name of their field, `on_lost` for `--on-lost`. An empty text
                is an error: `--job "$JOB"` with an unset variable does not mean the environment's job. Names that
                are no setting of a task are ignored.

        Raises:
            InputInvalidError: A text cannot be used; the error names its variable or option.
        """
        given = {
            name: _Text(environ[variable], variable) for name, variable in _VARIABLES.items() if environ.get(variable)
        }
        if not _WHICH_PERIOD.isdisjoint(options):  # the environment's are about another run
            given = {name: text for name, text in given.items() if name not in _WHICH_PERIOD}
        given |= {name: _Text(text, f"--{name}".replace("_", "-")) for name, text in options.items()}
        period, scheduled_at = _which_period(given.get("period"), given.get("scheduled_time"), given.get("date_in"))
        ledger, job = given.get("ledger"), given.get("job")
        trigger, force, force_attempt = given.get("trigger"), given.get("force"), given.get("force_attempt")
        actor, note = given.get("actor"), given.get("note")
        return cls(
            ledger=ledger.text if ledger else None,
            ledger_called=ledger.called if ledger else LEDGER,
            job=checked_job(job.text, what=job.called) if job else None,
            period=period,
            scheduled_at=scheduled_at,
            policy=_policy(environ, options),
            trigger=checked_member(Trigger, trigger.text, what=trigger.called) if trigger else Trigger.SCHEDULE,
            force=force.text if force else None,
            force_called=force.called if force else FORCE,
            force_attempt=_attempt(force_attempt) if force_attempt else None,
            actor=actor.text if actor else None,
            note=note.text if note else None,
        )

    def required_ledger(self) -> str:
        """The ledger's URL.

        Raises:
            InputMissingError: Nobody gave it.
        """
        how = f"{self._give('--ledger')}set {LEDGER}, e.g. dynamodb://runs?region=eu-west-1"
        return _required(self.ledger, "the ledger's URL", how)

    def required_job(self) -> JobName:
        """The job's name.

        Raises:
            InputMissingError: Nobody gave it.
        """
        return _required(self.job, "the job's name", f"{self._give('--job')}set {JOB}, e.g. daily-digest")

    def required_period(self) -> Period:
        """The period.

        Raises:
            InputMissingError: Nobody gave it or a scheduled time. The clock is never asked.
        """
        return _required(
            self.period,
            "the period",
            f"{self._give('--period or --scheduled-time,')}set {SCHEDULED_TIME} (EventBridge Scheduler fills it)"
            f" or {PERIOD}; it is never taken from the clock, because a late or repeated start would then be another"
            " period",
        )

    def _give(self, options: str) -> str:
        return f"give {options} or " if self.has_options else ""

    def run_name(self) -> RunName:
        """The run.

        Raises:
            InputMissingError: Nobody gave its job or its period.
        """
        return RunName(job=self.required_job(), period=self.required_period(), scheduled_at=self.scheduled_at)

    def claim_request(self, *, token: str, owner: str, ran: str | None = None) -> ClaimRequest:
        """The request for the run; see `Ledger.owner` and `Ledger.ran`.

        Raises:
            InputMissingError: Nobody gave its job or its period.
            InputInvalidError: A success is to be repeated, but not for a person's reason. Left in a task definition,
                `CRONCE_FORCE` would repeat every success that the schedule delivers twice.
        """
        if self.force is not None and (not self.trigger.by_person or not self.force.strip()):
            allowed = f"a person's reason in words, with {TRIGGER} {Trigger.MANUAL} or {Trigger.BACKFILL}"
            raise InputInvalidError(self.force_called, self.force, allowed)
        return ClaimRequest(
            run=self.run_name(),
            token=token,
            owner=owner,
            policy=self.policy,
            trigger=self.trigger,
            force=self.force,
            force_attempt=self.force_attempt,
            actor=_person() if self.force is not None and self.actor is None else self.actor,
            note=self.note,
            ran=ran,
        )


def _person() -> str:
    """Who forces a run without saying so: user@host."""
    user = os.environ.get("LOGNAME") or os.environ.get("USER") or f"uid {os.getuid()}"
    return f"{user}@{os.uname().nodename}"


def _which_period(
    period: _Text | None, scheduled_time: _Text | None, date_in: _Text | None
) -> tuple[Period | None, datetime | None]:
    """The period and the nominal time; each is derived from the other if only one is given."""
    at = parse_scheduled_time(scheduled_time.text, what=scheduled_time.called) if scheduled_time else None
    if period is None:
        return (_period_of_tick(at, date_in) if at else None), at
    checked = checked_period(period.text, what=period.called)
    return checked, at or scheduled_time_of(checked)


def _period_of_tick(at: datetime, date_in: _Text | None) -> Period:
    if date_in is None:
        return period_of(at)
    from cronce.schedule import PeriodForm  # noqa: PLC0415  # most jobs do not need it

    try:
        return checked_period(PeriodForm.DATE.period(at, date_in.text))
    except InputInvalidError as error:
        raise error.called(date_in.called) from None


def _attempt(given: _Text) -> int:
    if not (given.text.isascii() and given.text.isdigit() and len(given.text) <= _LONGEST_ATTEMPT):
        raise InputInvalidError(given.called, given.text, "the number of an attempt, such as 2")
    return int(given.text)


def _policy(environ: Mapping[str, str], options: Mapping[str, str]) -> Policy:
    text, group = environ.get(POLICY), environ.get(EXCLUSION_GROUP)
    policy = Policy.from_json(text, what=POLICY) if text else Policy()
    if group:
        try:
            policy = replace(policy, exclusion_group=group)
        except InputInvalidError as error:
            raise error.called(EXCLUSION_GROUP) from None
    changes = {name: options[name] for name in field_names(Policy) if name in options}
    try:
        return replace(policy, **changes) if changes else policy
    except InputInvalidError as error:
        raise error.called(f"--{error.what}".replace("_", "-")) from None


def _required(value: T | None, what: str, how: str) -> T:
    if value is None:
        raise InputMissingError(what, how)
    return value
