"""The policy of a job, from the arguments of a construct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cronce.vocabulary.policy import Policy
from cronce_cdk._checks import Tree, duration, naming

_DURATIONS = ("starting_deadline", "active_deadline", "lease")


def policy_of(scope: Tree, given: Mapping[str, object]) -> Policy:
    """The policy with these fields; one that is None is left at its default.

    Raises:
        ConstructConfigError: A field cannot have that value.
    """
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        with naming(scope, name):
            if name in _DURATIONS:
                fields[name] = duration(scope, name, value)
                Policy(**{name: fields[name]})  # refuses what is out of bounds, while its name is known
            else:
                fields[name] = getattr(Policy.from_fields({name: value}), name)
    return Policy(**fields)
