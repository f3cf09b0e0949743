"""Text on the command line: it says something, and an error names it as it was typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import click

from cronce.vocabulary.durations import parse_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_job, checked_line, checked_period, checked_schedule_group

_FUNCTION = re.compile(r"(arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:)?[0-9A-Za-z_-]{1,64}")
"""The name or ARN of a function, without a version: an invocation grant is for the function (Lambda API, Invoke)."""

Callback = Callable[[click.Context, click.Parameter, str | None], str | None]
"""What click calls with the text of a parameter, None if it was not given."""


def checked_by(check: Callable[..., str]) -> Callback:
    """A callback that checks the text; the function takes it, and as `what` its name for the error."""

    def checked(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
        # A shell that completes a word may have half of another one.
        return text if text is None or ctx.resilient_parsing else check(text, what=_called(param, ctx))

    return checked


def _called(param: click.Parameter, ctx: click.Context) -> str:
    """`JOB`, `--ledger`, or the variable if that gave the text."""
    if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.ENVIRONMENT:
        return str(param.envvar)
    return param.opts[0] if isinstance(param, click.Option) else param.human_readable_name


def _with_words(text: str, *, what: str) -> str:
    if not text.strip():
        raise InputInvalidError(what, text, "text that is not blank; leave it out if there is none")
    return text


def _function(name: str, *, what: str) -> str:
    if not _FUNCTION.fullmatch(name):
        raise InputInvalidError(what, name, "the name or ARN of a Lambda function, without a version")
    return name


TEXT = checked_by(_with_words)
"""Text that is not blank: `--reason "$WHY"` with an unset variable is a mistake, and not an absent option."""


def _duration(ctx: click.Context, param: click.Parameter, text: str | None) -> timedelta | None:
    return None if text is None else parse_duration(text, what=_called(param, ctx))


DURATION = _duration
LINE = checked_by(checked_line)
"""One printable line."""
JOB, PERIOD, GROUP = checked_by(checked_job), checked_by(checked_period), checked_by(checked_schedule_group)
FUNCTION = checked_by(_function)
