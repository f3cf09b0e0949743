"""Argument checks shared by all constructs. Tokens are not checked: their value is known only at deployment."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeGuard

import aws_cdk as cdk
import constructs
import jsii

from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_group, checked_job, group_key
from cronce.vocabulary.policy import Policy
from cronce_cdk._jsii_cache import stack_of
from cronce_cdk._limits import POLICY_TEXT
from cronce_cdk.errors import ConstructConfigError

TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")
"""A value within a text that is known only at deployment."""

_RESERVED = "cronce:"


class Tree(Protocol):
    """Anything with a node in the construct tree."""

    @property
    def node(self) -> constructs.Node:
        """The node."""


def is_token(value: object) -> bool:
    """Return whether the value is known only at deployment."""
    if isinstance(value, str):
        return "${Token[" in value  # CDK's own test, without a call to it
    if isinstance(value, list | tuple):
        return any(isinstance(each, str) and "{Token[" in each for each in value)
    # Anything else would be an error of jsii; NaN even ends its process.
    of_cdk = math.isfinite(value) if isinstance(value, float) else hasattr(type(value), "__jsii_type__")
    return of_cdk and bool(cdk.Token.is_unresolved(value))


def is_text(value: object) -> TypeGuard[str]:
    """Return whether the value is text that is known at synth."""
    return isinstance(value, str) and not is_token(value)


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether the value is a whole number; for Python, True is one."""
    return isinstance(value, int) and not isinstance(value, bool)


def refusal(scope: Tree, argument: str, value: object, allowed: str) -> ConstructConfigError:
    """Return the error for an argument of this construct."""
    return ConstructConfigError(scope.node.path, argument, value, allowed)


@contextmanager
def naming(scope: Tree, argument: str) -> Iterator[None]:
    """Turn an InputInvalidError of the ledger into one that names the construct and its argument."""
    try:
        yield
    except ConstructConfigError:
        raise
    except InputInvalidError as error:
        raise refusal(scope, argument, error.value, error.allowed) from error


def group_ref(scope: Tree, group: object) -> str:
    """Return the partition key of the exclusion group's row."""
    with naming(scope, "exclusion_group"):
        return group_key(checked_group(group))


def job_name(scope: Tree, job: object) -> str:
    """Return the job's name if the ledger can hold it."""
    if isinstance(job, str) and is_token(job):
        return job
    with naming(scope, "job"):
        checked = checked_job(job)
    if not POLICY_TEXT.fullmatch(checked):
        raise refusal(scope, "job", job, "characters up to U+00FF, because an IAM policy names the job")
    if checked.startswith(_RESERVED):
        raise refusal(
            scope, "job", job, f"a name that does not begin with {_RESERVED}, the prefix of the watchdog's rows"
        )
    return checked


def checked_policy(scope: Tree, policy: object) -> Policy:
    """Return the policy, or the default one for None."""
    if policy is None:
        return Policy()
    if not isinstance(policy, Policy):
        raise refusal(scope, "policy", policy, "a cronce.Policy")
    return policy


def having(scope: Tree, argument: str, value: object, attribute: str, allowed: str) -> None:
    """Refuse a value without that attribute. jsii's interfaces have no isinstance."""
    if not hasattr(value, attribute):
        raise refusal(scope, argument, value, allowed)


def placed(scope: object, construct_id: object) -> None:
    """Refuse a scope that is in no stack, and an ID that is none, before CDK fails on them.

    Raises:
        ConstructConfigError: The scope is an app or a stage, or no construct; or the ID is no text.
    """
    allowed = "a construct within a stack"
    if not isinstance(scope, constructs.Construct):
        raise ConstructConfigError("", "scope", scope, allowed)
    try:
        stack_of(scope)
    except RuntimeError as error:
        raise refusal(scope, "scope", scope, allowed) from error
    if not is_text(construct_id) or not construct_id:
        raise refusal(scope, "construct_id", construct_id, "text")


def grantee_of(scope: Tree, value: object) -> None:
    """Refuse what has no principal to grant anything to."""
    having(scope, "grantee", value, "grant_principal", "a role, a user, or another IGrantable")


def flags(scope: Tree, given: Mapping[str, object]) -> None:
    """Refuse a value that is not a bool."""
    for argument, value in given.items():
        if not isinstance(value, bool):
            raise refusal(scope, argument, value, "True or False")


def kinds(scope: Tree, kind: type, given: Mapping[str, object]) -> None:
    """Refuse a value that is neither None nor of that class."""
    for argument, value in given.items():
        if value is not None and not isinstance(value, kind):
            raise refusal(scope, argument, value, f"{kind.__module__}.{kind.__name__}".replace("builtins.str", "text"))


def whole(scope: Tree, argument: str, value: object) -> int:
    """Return the whole number; 0 is refused."""
    if not is_whole(value) or value == 0:
        raise refusal(scope, argument, value, "a whole number over 0")
    return value


def listed(scope: Tree, argument: str, values: object, attribute: str, allowed: str) -> list[Any]:
    """Return the members of a list of objects that have that attribute."""
    if isinstance(values, str | Mapping) or not isinstance(values, Sequence):
        raise refusal(scope, argument, values, f"a list of {allowed}")
    for value in values:
        having(scope, argument, value, attribute, f"a list of {allowed}")
    return [*values]


def duration(scope: Tree, argument: str, value: object) -> dt.timedelta:
    """Return the duration as a timedelta."""
    if isinstance(value, dt.timedelta):
        return value
    if isinstance(value, cdk.Duration) and not value.is_unresolved():
        return dt.timedelta(milliseconds=value.to_milliseconds())
    raise refusal(scope, argument, value, "a datetime.timedelta or an aws_cdk.Duration, known at synth")


def sendable(scope: Tree, argument: str, text: str) -> str:
    """Return the text if a request and a container can hold it. A NUL ends the text in a container."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refusal(scope, argument, text, "text that UTF-8 can encode") from None
    if "\0" in text:
        raise refusal(scope, argument, text, "text without NUL")
    return text


def texts(scope: Tree, argument: str, values: Sequence[str] | None) -> list[str] | None:
    """Return the words of a command, or None for None."""
    if values is None:
        return None
    if not isinstance(values, list | tuple) or not values or not all(isinstance(value, str) for value in values):
        raise refusal(scope, argument, values, "a list of at least one word")
    return [sendable(scope, argument, value) for value in values]


def text_map(
    scope: Tree, argument: str, values: Mapping[Any, object] | None, *, reserved: str | None = None
) -> dict[str, str]:
    """Return the names with their texts. jsii fails on a None among them without naming it."""
    checked: dict[str, str] = {}
    if values is not None and not isinstance(values, Mapping):
        raise refusal(scope, argument, values, "a mapping of names to text")
    for name, value in (values or {}).items():
        if not isinstance(name, str) or not isinstance(value, str) or not name:
            raise refusal(scope, argument, {name: value}, "names and values that are text")
        if "=" in sendable(scope, argument, name):
            raise refusal(scope, argument, name, "names without =, which ends the name of a variable")
        if reserved and name.startswith(reserved):
            raise refusal(scope, argument, name, f"names that do not begin with {reserved}: the construct sets those")
        checked[name] = sendable(scope, argument, value)
    return checked


def warn(scope: constructs.IConstruct, identifier: str, message: str) -> None:
    """Add a warning, which `cdk synth` shows and which can be acknowledged by its identifier."""
    cdk.Annotations.of(scope).add_warning_v2(f"cronce:{identifier}", message)


@jsii.implements(constructs.IValidation)
class FinishedTree:
    """Runs a check on the tree at the end of synth, after all constructs and aspects."""

    def __init__(self, check: Callable[[], Sequence[str]]) -> None:
        self._check = check

    def validate(self) -> list[str]:
        """Return the errors. If there are any, synth fails."""
        return [*self._check()]
