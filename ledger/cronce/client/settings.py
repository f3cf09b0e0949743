"""What the environment of a task says, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from cronce.vocabulary.environment import ACTOR, FORCE, JOB, LEDGER, NOTE, PERIOD, POLICY, SCHEDULED_TIME, TRIGGER
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from cronce.vocabulary.names import checked_job, checked_period, parse_scheduled_time, period_of, scheduled_time_of
from cronce.vocabulary.policy import Policy
from cronce.vocabulary.states import Trigger
from cronce.vocabulary.values import replace, value_class


@value_class(kw_only=True)
class TaskSettings:
    """What the environment says; each part may be absent and given otherwise."""

    ledger: str | None = None
    job: str | None = None
    period: str | None = None
    scheduled_at: datetime | None = None
    policy: Policy = Policy()  # a value, shared as it is
    trigger: Trigger = Trigger.SCHEDULE
    force: str | None = None
    actor: str | None = None
    note: str | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> TaskSettings:
        """Read the variables; an empty one counts as absent.

        Raises:
            InputInvalidError: A variable is not usable; the error names it.
        """
        given = {name: value for name, value in environ.items() if name.startswith("CRONCE_") and value}
        policy = Policy.from_json(given[POLICY], what=POLICY) if POLICY in given else Policy()
        return _with(
            cls(
                ledger=given.get(LEDGER),
                policy=policy,
                force=given.get(FORCE),
                actor=given.get(ACTOR),
                note=given.get(NOTE),
            ),
            job=given.get(JOB),
            period=given.get(PERIOD),
            scheduled_time=given.get(SCHEDULED_TIME),
            trigger=given.get(TRIGGER),
            called={"job": JOB, "period": PERIOD, "scheduled_time": SCHEDULED_TIME, "trigger": TRIGGER},
        )

    def overridden(
        self,
        *,
        policy: Policy,
        ledger: str | None,
        job: str | None,
        period: str | None,
        scheduled_time: str | None,
        trigger: str | None,
    ) -> TaskSettings:
        """These settings with what the command line says instead; None leaves a part as it is.

        Raises:
            InputInvalidError: An option is not usable; the error names it.
        """
        options = {"job": "--job", "period": "--period", "scheduled_time": "--scheduled-time", "trigger": "--trigger"}
        base = replace(self, ledger=self.ledger if ledger is None else ledger, policy=policy)
        return _with(base, job=job, period=period, scheduled_time=scheduled_time, trigger=trigger, called=options)

    def required_ledger(self) -> str:
        """The ledger's URL.

        Raises:
            InputMissingError: Nobody gave it.
        """
        return _required(
            self.ledger, "the ledger's URL", f"give --ledger or set {LEDGER}, e.g. dynamodb://runs?region=eu-west-1"
        )

    def required_job(self) -> str:
        """The job's name.

        Raises:
            InputMissingError: Nobody gave it.
        """
        return _required(self.job, "the job's name", f"give --job or set {JOB}, e.g. daily-digest")

    def required_period(self) -> str:
        """The period.

        Raises:
            InputMissingError: Nobody gave it, nor a scheduled time; the clock is never asked.
        """
        return _required(
            self.period,
            "the period",
            f"give --period or --scheduled-time, or set {SCHEDULED_TIME} (EventBridge Scheduler fills it) or {PERIOD};"
            " it is never taken from the clock, because a late or repeated start would then be another period",
        )

    def forced(self) -> str | None:
        """The reason for repeating a success; None if nobody wants that.

        Raises:
            InputInvalidError: It is there without a person's trigger. In a task definition it would
                repeat every success that the schedule delivers twice.
        """
        if self.force is not None and (not self.trigger.by_person or not self.force.strip()):
            allowed = f"a person's reason in words, with {TRIGGER} {Trigger.MANUAL} or {Trigger.BACKFILL}"
            raise InputInvalidError(FORCE, self.force, allowed)
        return self.force


def _with(
    settings: TaskSettings,
    *,
    job: str | None,
    period: str | None,
    scheduled_time: str | None,
    trigger: str | None,
    called: Mapping[str, str],
) -> TaskSettings:
    """Check each text that is given; `called` has the name that its giver knows it by.

    An explicit period wins over one that follows from the scheduled time, and what is given
    here wins over what stood.
    """
    at = settings.scheduled_at
    checked = settings.period
    if scheduled_time is not None:
        at = parse_scheduled_time(scheduled_time, what=called["scheduled_time"])
        checked = period_of(at)
    if period is not None:
        checked = checked_period(period, what=called["period"])
        if scheduled_time is None:
            at = scheduled_time_of(checked)
    return replace(
        settings,
        job=settings.job if job is None else checked_job(job, what=called["job"]),
        period=checked,
        scheduled_at=at,
        trigger=settings.trigger if trigger is None else _trigger(trigger, what=called["trigger"]),
    )


def _required(value: str | None, what: str, how: str) -> str:
    if value is None:
        raise InputMissingError(what, how)
    return value


def _trigger(value: str, *, what: str) -> Trigger:
    try:
        return Trigger(value.lower())
    except ValueError:
        raise InputInvalidError(what, value, ", ".join(Trigger)) from None
