"""Text on the command line: it says something, and an error names it as it was typed."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import MAX_SCHEDULE_NAME, checked_job, checked_period

_GROUP = re.compile(rf"[0-9A-Za-z_.-]{{1,{MAX_SCHEDULE_NAME}}}")
"""The name of a schedule group (Scheduler API Reference, CreateScheduleGroup)."""

_FUNCTION = re.compile(r"(arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[0-9A-Za-z_-]{1,64}")
"""The name or ARN of a function, without a version: an invocation grant is for the function (Lambda API, Invoke)."""

Callback = Callable[[click.Context, click.Parameter, str | None], str | None]
"""What click calls with the text of a parameter, None if it was not given."""


def checked_by(check: Callable[..., str]) -> Callback:
    """A callback that checks the text; the function takes it, and as `what` its name for the error."""
    return lambda ctx, param, text: None if text is None else check(text, what=_called(param, ctx))


def _called(param: click.Parameter, ctx: click.Context) -> str:
    """`JOB`, `--ledger`, or the variable if that gave the text."""
    if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.ENVIRONMENT:
        return str(param.envvar)
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name


def _with_words(text: str, *, what: str) -> str:
    if not text.strip():
        raise InputInvalidError(what, text, "text that is not blank; leave it out if there is none")
    return text


def _group(name: str, *, what: str) -> str:
    if not _GROUP.fullmatch(name):
        allowed = f"the name of a schedule group: 1 to {MAX_SCHEDULE_NAME} of A-Z a-z 0-9 _ . -"
        raise InputInvalidError(what, name, allowed)
    return name


def _function(name: str, *, what: str) -> str:
    if not _FUNCTION.fullmatch(name):
        raise InputInvalidError(what, name, "the name or ARN of a Lambda function, without a version")
    return name


TEXT = checked_by(_with_words)
"""Text that is not blank: `--reason "$WHY"` with an unset variable is a mistake, and not an absent option."""
JOB, PERIOD, GROUP = checked_by(checked_job), checked_by(checked_period), checked_by(_group)
FUNCTION = checked_by(_function)
