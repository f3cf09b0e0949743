"""Lines that run the same command at several times, as one job with several expressions. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from cronce.adopt.convert.model import Decision, FieldVerdict, Job
from cronce.schedule import ScheduleInvalidError, joined, parse

_WHY = "one job with several expressions: a tick that two of them have runs once, and cron would start it twice"


def merged(jobs: Sequence[Job]) -> list[Job]:
    """The jobs, those of a source without names as one where they differ in nothing but their times.

    A job that the source names stays alone: its name is its history. So does one whose expression cannot be in a list,
    such as an interval.
    """
    found: list[Job] = []
    of_work: dict[tuple[str, str], list[int]] = defaultdict(list)
    for job in jobs:
        places = of_work[job.name, str(job.work)]
        for place in places:
            if (both := _both(found[place], job)) is not None:
                found[place] = both
                break
        else:
            places.append(len(found))
            found.append(job)
    return found


def _both(one: Job, other: Job) -> Job | None:
    if not (one.derived and other.derived) or one.when.every is not None or other.when.every is not None:
        return None
    alike = replace(other, when=one.when, place=one.place, decisions=one.decisions, description=one.description)
    if alike != one or one.when.timezone != other.when.timezone:
        return None
    try:
        text = joined([one.when.text, other.when.text])
        parse(text, timezone=one.when.timezone)
    except ScheduleInvalidError:
        return None
    decision = Decision(
        field="schedule", verdict=FieldVerdict.CHANGED, given=other.when.text, became=text, why=_WHY, place=other.place
    )
    descriptions = dict.fromkeys(filter(None, (one.description, other.description)))
    return replace(
        one,
        when=replace(one.when, text=text),
        description="; ".join(descriptions),
        decisions=(*one.decisions, *(each for each in other.decisions if each not in one.decisions), decision),
    )
