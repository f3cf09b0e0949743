"""What a person does to a job: pause it, so that no machine starts its runs, and resume it.

The pause is in the job's slot, which each claim reads or conditions its write on. So it costs a claim no request, and
it survives every deployment. It binds claims only: a run that has begun goes on.
"""

from __future__ import annotations

from datetime import datetime

from cronce.protocol.operations import Steps, get_slot, read_clock, swap
from cronce.protocol.records import Pause, SlotRecord, whole_milliseconds
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import JobName, checked_job, checked_words
from cronce.vocabulary.values import checked_instance, value_class


@value_class(kw_only=True)
class PauseRequest:
    """A person's request to pause a job.

    Attributes:
        actor: Who requests it.
        why: That person's reason.
        until: When the pause ends by itself, aware; None if only a person ends it.
    """

    job: str
    actor: str
    why: str
    until: datetime | None = None

    def __post_init__(self) -> None:
        checked: dict[str, object] = {
            "job": checked_job(self.job),
            "actor": checked_words(self.actor, what="actor", allowed="the name of a person"),
            "why": checked_words(self.why, what="why", allowed="the reason for the pause, in words"),
        }
        if self.until is not None:
            allowed = "a datetime with a time zone"
            until = checked_instance(datetime, self.until, what="until", allowed=allowed)
            if until.utcoffset() is None:
                raise InputInvalidError("until", until, allowed)
            checked["until"] = whole_milliseconds(until)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def pause(ask: PauseRequest) -> Steps[Pause]:
    """Pause the job, or give its pause another reason and end; returns the pause.

    Raises:
        InputInvalidError: It would be over already.
    """
    slot = yield from get_slot(ask.job)
    while True:
        now = yield from read_clock()
        if ask.until is not None and ask.until <= now:
            raise InputInvalidError("until", ask.until.isoformat(), "a time in the future")
        wanted = Pause(at=now, by=ask.actor, why=ask.why, until=ask.until)
        if slot is not None and slot.is_paused(now) and slot.paused_at is not None:
            wanted = Pause(at=slot.paused_at, by=ask.actor, why=ask.why, until=ask.until)
        answer = yield from swap((slot or SlotRecord(job=ask.job, version=0)).with_pause(wanted), slot)
        if answer.written:
            return wanted
        slot = answer.current if isinstance(answer.current, SlotRecord) else None


def resume(job: JobName) -> Steps[Pause | None]:
    """End the job's pause; returns that pause, or None if there was none."""
    slot = yield from get_slot(job)
    while slot is not None and slot.pause is not None:
        answer = yield from swap(slot.with_pause(None), slot)
        if answer.written:
            return slot.pause
        slot = answer.current if isinstance(answer.current, SlotRecord) else None
    return None


def pause_of(job: JobName) -> Steps[Pause | None]:
    """The pause of the job that is in force now; None if a machine may start its runs."""
    slot = yield from get_slot(job)
    if slot is None or slot.pause is None:
        return None
    return slot.pause if slot.is_paused((yield from read_clock())) else None
