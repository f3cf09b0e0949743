"""The words around the code: what it is, where it comes from, and what was decided about each job. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cronce.adopt.convert.model import CommandWork, Decision, FieldVerdict, Job, TaskWork
from cronce.operate.wording import visible

_WIDTH = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is said once.

    Attributes:
        count: How many jobs there are.
        files: The names of the files.
        kind: The kind of the files.
        differences: How the source's defaults differ from those of cronce; a sentence each.
    """

    count: int
    files: Sequence[str]
    kind: str
    differences: Sequence[str]

    @property
    def title(self) -> str:
        """One line, as for a docstring."""
        many = "1 job" if self.count == 1 else f"{self.count} jobs"
        return f"{many}, imported from {', '.join(self.files)} by `cronce import {self.kind}`."


def head_lines(header: Header, shared: Sequence[str], *, needed: str = "") -> list[str]:
    """The lines at the top of the output: what it is, what the images need, which defaults differ."""
    lines = wrapped(header.title, width=_WIDTH)
    if needed:
        lines += ["", *wrapped(needed, width=_WIDTH)]
    for heading, items in (("Defaults that differ:", header.differences), ("For every job:", shared)):
        if items:
            lines += ["", heading]
        for item in items:
            lines += wrapped(item, first="- ", indent="  ", width=_WIDTH)
    return lines


def guarded(jobs: Sequence[Job]) -> str:
    """What the images need, so that a second start is refused; empty if the output has it all."""
    if any(isinstance(job.work, TaskWork | CommandWork) for job in jobs):
        return (
            "Commands begin with `cronce exec --`, so an image needs cronce in it, and no ENTRYPOINT, which"
            " would come before that. docs/any-image.md is for images without Python."
        )
    return ""


def shared_remarks(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The remarks that are the same for every job, if there are several."""
    if len(jobs) < 2:
        return ()
    first, *others = (list(_remarks(job)) for job in jobs)
    return tuple(dict.fromkeys(each for each in first if all(each in other for other in others)))


def remarks(job: Job, shared: Sequence[str]) -> Iterator[str]:
    """The lines of the comment above a job: its place, and what does not mean the same here."""
    yield str(job.place)
    for remark in dict.fromkeys(_remarks(job)):
        if remark not in shared:
            yield from wrapped(remark, first="- ", indent="  ")


def _remarks(job: Job) -> Iterator[str]:
    for decision in job.decisions:
        if decision.verdict in (FieldVerdict.CHANGED, FieldVerdict.LEFT):
            yield _remark(decision)


def wrapped(text: str, *, first: str = "", indent: str = "", width: int = _WIDTH - 10) -> list[str]:
    """The text in lines, as `visible`."""
    return textwrap.wrap(
        visible(text),
        width=width,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _remark(decision: Decision) -> str:
    given = f" {decision.given}" if decision.given and len(decision.given) <= 60 else ""
    if decision.verdict is FieldVerdict.LEFT:
        return f"Not mapped: {decision.field}{given}: {_sentence(decision.why)}"
    return f"{decision.field}{given}: {_sentence(decision.why)}"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."
