"""From the text of files to the code of a target, and the decisions. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cronce.adopt.convert.fitting import ImportTarget, fitted
from cronce.adopt.convert.merging import merged
from cronce.adopt.convert.model import Job, RefusedJob, Source
from cronce.adopt.convert.naming import named_apart
from cronce.adopt.convert.sources.celery import CELERY_DEFAULTS, read_celery
from cronce.adopt.convert.sources.crontab import CRON_DEFAULTS, read_crontab, read_supercronic, read_system_crontab
from cronce.adopt.convert.sources.ecschedule import ECSCHEDULE_DEFAULTS, read_ecschedule
from cronce.adopt.convert.sources.event_rules import RULE_DEFAULTS, read_event_rules
from cronce.adopt.convert.sources.kubernetes import CRONJOB_DEFAULTS, read_cronjobs
from cronce.adopt.convert.sources.ofelia import OFELIA_DEFAULTS, read_ofelia
from cronce.adopt.convert.sources.ruby_jobs import (
    RUBY_DEFAULTS,
    read_good_job,
    read_sidekiq_cron,
    read_sidekiq_scheduler,
)
from cronce.adopt.convert.sources.whenever import WHENEVER_DEFAULTS, read_whenever
from cronce.adopt.convert.writers.cdk import write_cdk
from cronce.adopt.convert.writers.clock import write_clock
from cronce.adopt.convert.writers.remarks import Header
from cronce.adopt.convert.writers.terraform import write_terraform
from cronce.vocabulary.errors import Found, InputInvalidError

MOST_SOURCE_BYTES = 5_000_000
"""Bytes of a file that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """A kind of file.

    Attributes:
        read: Reads the jobs of all files.
        about: What it is, for people.
        differences: How its defaults differ from those of cronce.
    """

    read: Callable[[Sequence[Source]], Iterator[Job | RefusedJob]]
    about: str
    differences: Sequence[str]


_Reader = Callable[[Source], Iterator[Job | RefusedJob]]


def _each(read: _Reader, about: str, differences: Sequence[str]) -> SourceKind:
    """A kind whose files are read one by one."""

    def read_all(sources: Sequence[Source]) -> Iterator[Job | RefusedJob]:
        return (job for source in sources for job in read(source))

    return SourceKind(read=read_all, about=about, differences=differences)


KINDS = {
    "ecschedule": _each(read_ecschedule, "rules of ecschedule, YAML or JSON", ECSCHEDULE_DEFAULTS),
    "crontab": _each(read_crontab, "what crontab -l prints", CRON_DEFAULTS),
    "system-crontab": _each(read_system_crontab, "/etc/crontab, /etc/cron.d: with a user", CRON_DEFAULTS),
    "supercronic": _each(read_supercronic, "a crontab for supercronic", CRON_DEFAULTS),
    "cronjob": _each(read_cronjobs, "CronJob manifests of Kubernetes", CRONJOB_DEFAULTS),
    "event-rules": SourceKind(
        read=read_event_rules, about="rules of EventBridge and their targets, JSON", differences=RULE_DEFAULTS
    ),
    "celery": _each(read_celery, "a beat schedule in a Python file", CELERY_DEFAULTS),
    "whenever": _each(read_whenever, "config/schedule.rb of whenever", WHENEVER_DEFAULTS),
    "sidekiq-cron": _each(read_sidekiq_cron, "a schedule of sidekiq-cron, YAML", RUBY_DEFAULTS),
    "sidekiq-scheduler": _each(read_sidekiq_scheduler, "a schedule of sidekiq-scheduler", RUBY_DEFAULTS),
    "good-job": _each(read_good_job, "the cron of GoodJob as YAML", RUBY_DEFAULTS),
    "ofelia": _each(read_ofelia, "labels of compose, or the INI of ofelia", OFELIA_DEFAULTS),
}
"""Each kind that can be imported, by its name on the command line."""

_WRITERS: dict[ImportTarget, Callable[[Sequence[Job], Header], str]] = {
    ImportTarget.CDK: write_cdk,
    ImportTarget.TERRAFORM: write_terraform,
    ImportTarget.CLOCK: write_clock,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The code and what was decided."""

    jobs: tuple[Job, ...]
    code: str
    skipped: tuple[str, ...]


def convert(kind: str, sources: Sequence[Source], target: ImportTarget, *, skip: Sequence[str] = ()) -> Converted:
    """Write the jobs of all files as code of the target.

    Args:
        kind: A name of `KINDS`.
        sources: The files.
        target: What to write.
        skip: Names of jobs to leave out.

    Raises:
        InputInvalidError: A file is not of that kind, a job cannot be written, two have one name, there is none, or a
            name to skip does not occur.
        InputMissingError: Something is missing without which a file cannot be read.
    """
    found = list(KINDS[kind].read(sources))
    unknown = {*skip}.difference(*(_callings(each) for each in found))
    if unknown:
        names = ", ".join(dict.fromkeys(each.name for each in found))
        raise InputInvalidError("--skip", min(unknown), f"the name of a job, or its FILE:LINE: {names}")
    jobs: list[Job] = []
    refused: list[RefusedJob] = []
    for each in found:
        if not _callings(each).isdisjoint(skip):
            continue
        if isinstance(each, RefusedJob):
            refused.append(each)
            continue
        try:
            jobs.append(fitted(each, target))
        except InputInvalidError as error:
            refused.append(RefusedJob(name=each.name, place=each.place, error=error))
    if refused:
        raise _refusal(refused)
    if not jobs:
        raise InputInvalidError(", ".join(source.file for source in sources), Found("no job"), "at least one job")
    named = named_apart(merged(jobs))
    header = Header(
        count=len(named), files=[source.file for source in sources], kind=kind, differences=KINDS[kind].differences
    )
    return Converted(jobs=named, code=_WRITERS[target](named, header), skipped=tuple(skip))


def _callings(job: Job | RefusedJob) -> set[str]:
    """How a job can be named to skip it; two that run one command have one name, but not one line."""
    return {job.name, str(job.place)}


def _refusal(refused: Sequence[RefusedJob]) -> InputInvalidError:
    """The first error, with the way around it."""
    first = refused[0]
    others = f"; {len(refused) - 1} more like this" if len(refused) > 1 else ""
    allowed = f"{first.error.allowed}; or leave the job out: --skip {shlex.quote(str(first.place))}{others}"
    return InputInvalidError(first.error.what, first.error.value, allowed)
