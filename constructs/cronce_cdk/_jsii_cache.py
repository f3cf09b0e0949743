"""A cache of answers from jsii.

Each property or call on a CDK object is a round trip to the Node.js process. A job makes about ninety, and most jobs
of a stack ask the same questions about the same cluster and task definition. See ADR 0010.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from constructs import Construct

T = TypeVar("T")

_answers: WeakKeyDictionary[object, dict[tuple[int, ...], tuple[object, object]]] = WeakKeyDictionary()


def cached(owner: object, about: tuple[object, ...], ask: Callable[[], T]) -> T:
    """Return the answer of `ask`, or the earlier one for the same objects. It lives as long as `owner`.

    Use it only for answers that never change. If `ask` raises, nothing is stored.
    """
    known = _answers.setdefault(owner, {})
    key = tuple(hash(each) if isinstance(each, str | bool) else id(each) for each in about)
    if key not in known:
        known[key] = (about, ask())  # the objects are kept alive, so that no other object gets their id
    answer: Any = known[key][1]
    return answer  # type: ignore[no-any-return]  # `ask` returned a T


def stack_of(scope: Construct) -> cdk.Stack:
    """Return the construct's stack."""
    return scope if isinstance(scope, cdk.Stack) else cached(scope, ("stack",), lambda: cdk.Stack.of(scope))


def path_of(scope: Construct) -> str:
    """Return the construct's path in the tree."""
    return cached(scope, ("path",), lambda: scope.node.path)


def top_of(stack: cdk.Stack) -> cdk.Stack:
    """Return the stack that is deployed: of a nested stack, its outermost parent."""

    def outermost() -> cdk.Stack:
        found = stack
        while parent := found.nested_stack_parent:
            found = parent
        return found

    return cached(stack, ("top",), outermost)
