"""What every construct asks of its arguments; a token's value is nobody's to judge before the deployment."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard

import aws_cdk as cdk
import constructs
import jsii

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_job
from cronce_cdk.errors import ConstructConfigError

TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")
"""A value in a text that is known only at deploy time."""

_RESERVED = "cronce:"


class Tree(Protocol):
    """Anything with a place in the construct tree."""

    @property
    def node(self) -> constructs.Node:
        """The place."""


def is_token(value: object) -> bool:
    """Whether the value is known only at deploy time."""
    if isinstance(value, str):
        return "${Token[" in value  # as CDK itself sees it, without a trip to it
    return not isinstance(value, int | type(None)) and bool(cdk.Token.is_unresolved(value))


def is_text(value: object) -> TypeGuard[str]:
    """Whether the value is text that is known now."""
    return isinstance(value, str) and not is_token(value)


def refusal(scope: Tree, argument: str, value: object, allowed: str) -> ConstructConfigError:
    """The error that names the construct."""
    return ConstructConfigError(scope.node.path, argument, value, allowed)


@contextmanager
def naming(scope: Tree, argument: str) -> Iterator[None]:
    """Turn the ledger's own refusal of a value into one that names the construct and its argument."""
    try:
        yield
    except ConstructConfigError:
        raise
    except InputInvalidError as error:
        raise refusal(scope, argument, error.value, error.allowed) from error


def job_name(scope: Tree, job: str) -> str:
    """The job's name, if the ledger can hold it."""
    if is_token(job):
        return job
    with naming(scope, "job"):
        checked = checked_job(job)
    if checked.startswith(_RESERVED):
        raise refusal(scope, "job", job, f"a name that does not begin with {_RESERVED}, which the watchdog's rows do")
    return checked


def having(scope: Tree, argument: str, value: object, attribute: str, allowed: str) -> None:
    """Refuse a value of another kind; `attribute` is what its kind has (jsii's interfaces cannot be asked)."""
    if not hasattr(value, attribute):
        raise refusal(scope, argument, value, allowed)


def duration(scope: Tree, argument: str, value: object) -> dt.timedelta:
    """The duration, in Python's own type."""
    if isinstance(value, dt.timedelta):
        return value
    if isinstance(value, cdk.Duration) and not value.is_unresolved():
        return dt.timedelta(milliseconds=value.to_milliseconds())
    raise refusal(scope, argument, value, "a datetime.timedelta or an aws_cdk.Duration, known at synth")


def texts(scope: Tree, argument: str, values: Sequence[str] | None) -> list[str] | None:
    """The words of a command; None stays None."""
    if values is None:
        return None
    if isinstance(values, str) or not values or not all(isinstance(value, str) for value in values):
        raise refusal(scope, argument, values, "a list of words, at least one")
    return [*values]


def text_map(
    scope: Tree, argument: str, values: Mapping[Any, object] | None, *, reserved: str | None = None
) -> dict[str, str]:
    """Names and texts; jsii would fail on a None among them without saying where."""
    checked: dict[str, str] = {}
    for name, value in (values or {}).items():
        if not isinstance(name, str) or not isinstance(value, str) or not name:
            raise refusal(scope, argument, {name: value}, "names and values that are text")
        if reserved and name.startswith(reserved):
            raise refusal(
                scope, argument, name, f"names that do not begin with {reserved}: those are set from the rest"
            )
        checked[name] = value
    return checked


def warn(scope: constructs.IConstruct, identifier: str, message: str) -> None:
    """Say that the input is doubtful; `cdk synth` shows it, and it can be acknowledged by its identifier."""
    cdk.Annotations.of(scope).add_warning_v2(f"cronce:{identifier}", message)


@jsii.implements(constructs.IValidation)
class FinishedTree:
    """Runs a check over the tree as it is after every construct and aspect has had its say."""

    def __init__(self, check: Callable[[], Sequence[str]]) -> None:
        self._check = check

    def validate(self) -> list[str]:
        """What is wrong; synth fails if that is anything."""
        return [*self._check()]
