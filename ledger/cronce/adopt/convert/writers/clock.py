"""Jobs as a configuration of `cronce clock`, in TOML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from cronce.adopt.convert.model import CommandWork, Job
from cronce.adopt.convert.writers.literals import comment_line, toml_key, toml_text
from cronce.adopt.convert.writers.remarks import Header, head_lines, remarks, shared_remarks
from cronce.clock.config import config_from_toml
from cronce.vocabulary.durations import format_duration
from cronce.vocabulary.policy import CatchUp

_WIDTH = 100
_MOST_SECONDS = timedelta(minutes=5)


def write_clock(jobs: Sequence[Job], header: Header) -> str:
    """The file, as `cronce clock` reads it.

    Raises:
        InputInvalidError: A clock cannot have it, such as more than 200 jobs.
    """
    shared = shared_remarks(jobs)
    lines = [*map(comment_line, head_lines(header, shared))]
    lines += ["#", "# Check it: cronce clock --config FILE --check"]
    for job in jobs:
        lines += ["", *map(comment_line, remarks(job, shared)), *_job(job)]
    code = "\n".join(lines) + "\n"
    config_from_toml(code, what="clock.toml")
    return code


def _job(job: Job) -> list[str]:
    lines = [f"[jobs.{toml_key(job.name)}]"]
    if job.description:
        lines.insert(0, comment_line(job.description))
    when = job.when
    if when.every is not None:
        lines.append(f"every = {toml_text(format_duration(when.every))}")
    else:
        first, *further = map(toml_text, when.expressions)
        lines.append(f"schedule = [{', '.join([first, *further])}]" if further else f"schedule = {first}")
        if when.timezone != "UTC":
            lines.append(f"timezone = {toml_text(when.timezone)}")
    if job.policy.suspend or not job.enabled:
        lines.append("suspend = true")
    if job.policy.starting_deadline is not None:
        lines.append(f"starting_deadline = {toml_text(format_duration(job.policy.starting_deadline))}")
    if job.policy.catch_up is not CatchUp.NONE:
        lines.append(f"catch_up = {toml_text(job.policy.catch_up)}")
    if isinstance(job.work, CommandWork):
        longest = min(job.policy.active_deadline or _MOST_SECONDS, _MOST_SECONDS)
        lines += [
            f"timeout = {toml_text(format_duration(longest))}",
            f"backoff_limit = {min(job.policy.backoff_limit, 10)}",
        ]
        variables = [f"{name}={value}" for name, value in job.environment.items()]
        words = ["env", *variables, *job.work.command] if variables else [*job.work.command]
        lines += _target("command", words)
    else:
        lines.append(f"target = {{ task = {toml_text(job.name)} }}")
    return lines


def _target(kind: str, words: Sequence[str]) -> list[str]:
    """An inline table; TOML 1.0 has it on one line, but for the list in it."""
    flat = f"target = {{ {kind} = [{', '.join(map(toml_text, words))}] }}"
    if len(flat) <= _WIDTH:
        return [flat]
    return [f"target = {{ {kind} = [", *(f"    {toml_text(word)}," for word in words), "] }"]
