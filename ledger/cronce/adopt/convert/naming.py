"""Names of jobs: from what a source calls them, or from their command. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from cronce.adopt.convert.model import Decision, FieldVerdict, Job
from cronce.vocabulary.errors import InputInvalidError

_MOST = 64
_LAUNCHERS = frozenset(
    (
        *("bash", "dash", "ksh", "sh", "zsh", "env", "exec", "sudo", "su", "cd", "export", "test", "["),
        *("chronic", "cronic", "flock", "ionice", "nice", "nohup", "time", "timeout"),
        *("bundle", "bundler", "rails", "rake", "ruby", "python", "python2", "python3", "poetry", "uv"),
        *("java", "node", "npm", "npx", "yarn", "php", "artisan", "console", "manage.py", "docker"),
    )
)
"""Programs that only start another one."""

_SUBCOMMANDS = frozenset(("run", "compose", "x"))
"""Subcommands of some of them."""

_NO_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=|[\W\d]+[smhd]?$|python3\.\d+$")


def clean_name(name: str) -> str:
    """The name with only letters, digits, `_`, `.` and `-`; empty if nothing is left."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.")[:_MOST].rstrip("-.")


def name_of_command(command: str | Sequence[str]) -> str:
    """A name for a command line: the program or script that does the work, without folder and suffix."""
    if isinstance(command, str):
        try:
            words = shlex.split(command)
        except ValueError:
            words = command.split()
    else:
        words = list(command)
    after_cd = False
    for word in words:
        base = PurePosixPath(word).name
        is_folder, after_cd = after_cd, word == "cd"
        if is_folder or not base or word.startswith(("-", "/dev/")) or _NO_NAME.match(word):
            continue
        if base in _LAUNCHERS or word in _SUBCOMMANDS or word.endswith(("/", ".lock", ".pid")):
            continue
        stem = re.split(r"[(\[]", base)[0].rstrip(";")
        stem = re.sub(r"\.(sh|py|rb|php|pl|js|jar)$", "", stem)
        if cleaned := clean_name(stem.replace(":", "-")):
            return cleaned
    return "job"


def named_apart(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """The jobs, each under a name that no other one has.

    Names that were derived get a number; a name that the source gives is not changed.

    Raises:
        InputInvalidError: Two names of the source become the same; the error says where both are.
    """
    taken: dict[str, Job] = {}
    for job in jobs:
        if job.derived:
            continue
        key = _key(job.name)
        if (other := taken.get(key)) is not None:
            what = f"{other.place} and {job.place}"
            raise InputInvalidError(
                what, job.name, "names that differ after cleaning; rename one of them, or leave one out with --skip"
            )
        taken[key] = job
    named: list[Job] = []
    for job in jobs:
        name, number = job.name, 1
        while job.derived and _key(name) in taken:
            number += 1
            name = f"{job.name[: _MOST - 5]}-{number}"
        if job.derived:
            taken[_key(name)] = job
            why = "the source has no names; a job keeps its runs under its name, so choose it before the first run"
            decision = Decision(
                field="name", verdict=FieldVerdict.STATED, given="", became=name, why=why, place=job.place
            )
            job = replace(job, name=name, decisions=(decision, *job.decisions))  # noqa: PLW2901
        named.append(job)
    return tuple(named)


def identifier(name: str) -> str:
    """The name as Python and HCL write one: lower case, digits and `_`, not beginning with a digit."""
    text = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "job"
    return text if text[0].isalpha() else f"job_{text}"


def _key(name: str) -> str:
    """Names with the same key are one name in a construct tree, in HCL or for a reader."""
    return identifier(name)
