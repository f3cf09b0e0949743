"""What was asked of the CDK before is not asked again.

Each question is a trip to the Node process, a third of a millisecond at best; a job would make
ninety of them, and a hundred jobs mostly ask the same about the same cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import aws_cdk as cdk
from constructs import Construct

T = TypeVar("T")

_answers: WeakKeyDictionary[object, dict[tuple[int, ...], tuple[object, object]]] = WeakKeyDictionary()


def remembered(owner: object, about: tuple[object, ...], ask: Callable[[], T]) -> T:
    """What `ask` answered before, for the very same objects; it lives as long as `owner`.

    Only for answers that never change. An `ask` that raises is asked again.
    """
    known = _answers.setdefault(owner, {})
    key = tuple(hash(each) if isinstance(each, str | bool) else id(each) for each in about)
    if key not in known:
        known[key] = (about, ask())  # the objects are kept, so that no other gets their id
    answer: Any = known[key][1]
    return answer  # type: ignore[no-any-return]  # of type T, as it came from `ask`


def stack_of(scope: Construct) -> cdk.Stack:
    """The stack of the construct."""
    return scope if isinstance(scope, cdk.Stack) else remembered(scope, ("stack",), lambda: cdk.Stack.of(scope))


def path_of(scope: Construct) -> str:
    """The construct's path in the tree."""
    return remembered(scope, ("path",), lambda: scope.node.path)
