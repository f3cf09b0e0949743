"""Value classes: frozen, with slots, compared by their fields; and checks of what a field is given.

`value_class` gives what `@dataclass(frozen=True, slots=True)` gives, also to type checkers. The standard decorator
generates and compiles source code for every class and loads `inspect`, which took a quarter of the time in which
`cronce exec` decides (docs/adr/0006-lean-transport.md). Modules that `cronce exec` loads use this one, all other
modules use `dataclasses`; tests/processes/test_what_exec_loads.py checks both.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

from cronce.vocabulary.errors import InputInvalidError

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@overload
def value_class(cls: type[T]) -> type[T]: ...
@overload
def value_class(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True)
def value_class(cls: type[T] | None = None, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """Make a value class of a class with annotated fields.

    A field's default must be immutable, because it is shared. `__post_init__` runs at the end of `__init__`. A method
    that the class defines is kept.

    Args:
        cls: The class; it may have no base class with fields.
        kw_only: True if fields can only be given by name.
    """
    return _made(cls, kw_only=kw_only) if cls is not None else lambda late: _made(late, kw_only=kw_only)


def field_names(cls: type) -> tuple[str, ...]:
    """The names of the fields of a value class, in their order."""
    names: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]  # every value class has them
    return names


def field_values(value: object) -> tuple[Any, ...]:
    """The values of the fields of a value class's instance, in their order."""
    kind: Any = type(value)
    values: tuple[Any, ...] = kind.__values__(value)
    return values


def replace(original: T, **changes: Any) -> T:  # noqa: ANN401  # as in `dataclasses`
    """A copy of the value with some fields changed."""
    kind: Any = type(original)
    fields: dict[str, Any] = dict(zip(kind.__match_args__, field_values(original), strict=True))
    fields.update(changes)
    copy: T = kind(**fields)
    return copy


def checked_member(kind: type[E], value: object, *, what: str) -> E:
    """The member that `value` is or names, in any case: comparisons with `is` then hold.

    Raises:
        InputInvalidError: It names no member.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        for member in kind:
            if member.value.casefold() == value.casefold():
                return member
    raise InputInvalidError(what, value, ", ".join(kind))


def checked_flag(value: object, *, what: str) -> bool:
    """True or False; nothing else is taken for one of them.

    Raises:
        InputInvalidError: It is something else.
    """
    if not isinstance(value, bool):
        raise InputInvalidError(what, value, "true or false")
    return value


def checked_whole(value: object, *, what: str, least: int, most: int) -> int:
    """The whole number, which no bool is.

    Raises:
        InputInvalidError: It is no whole number from `least` to `most`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputInvalidError(what, value, f"a whole number from {least} to {most}")
    return int(value)


def checked_instance(kind: type[T], value: object, *, what: str, allowed: str) -> T:
    """The value, if it is of the kind.

    Raises:
        InputInvalidError: It is of another kind.
    """
    if not isinstance(value, kind):
        raise InputInvalidError(what, value, allowed)
    return value


def _made(cls: type[T], *, kw_only: bool) -> type[T]:
    namespace = dict(cls.__dict__)
    names = tuple(namespace.get("__annotations__", ()))
    known = frozenset(names)
    defaults = {name: namespace.pop(name) for name in names if name in namespace}
    setters: list[tuple[str, Callable[[object, object], None]]] = []
    post_init = namespace.get("__post_init__")
    values_of: Callable[[Any], tuple[Any, ...]] = (
        attrgetter(*names) if len(names) > 1 else lambda it: tuple(getattr(it, name) for name in names)
    )

    def init(self: object, *values: object, **named: object) -> None:
        given = named
        if values:
            placed = dict(zip(names, values, strict=False))
            if len(values) > (0 if kw_only else len(names)) or not placed.keys().isdisjoint(named):
                raise TypeError(f"{cls.__name__}: too many positional arguments, or one is repeated by name")
            given = placed | named
        if len(given) < len(names):
            given = defaults | given
        try:
            for name, put in setters:
                put(self, given[name])
        except KeyError:
            complain(given)
        if len(given) > len(names):
            complain(given)
        if post_init is not None:
            post_init(self)

    def complain(given: dict[str, object]) -> NoReturn:
        if unknown := given.keys() - known:
            raise TypeError(f"{cls.__name__}: unknown argument {', '.join(sorted(unknown))}")
        raise TypeError(f"{cls.__name__}: {next(name for name in names if name not in given)} is missing")

    def equal(self: object, other: object) -> bool:
        return values_of(self) == values_of(other) if type(self) is type(other) else NotImplemented

    def show(self: object) -> str:
        return f"{cls.__qualname__}({', '.join(f'{n}={v!r}' for n, v in zip(names, values_of(self), strict=True))})"

    def refuse(_self: object, name: str, *_: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be changed: a value is replaced, see `replace`")

    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    made_for_all = {
        "__init__": init,
        "__eq__": equal,
        "__hash__": lambda self: hash(values_of(self)),
        "__repr__": show,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__reduce__": lambda self: (_rebuilt, (type(self), values_of(self))),
    }
    finished = made_for_all | namespace | {"__slots__": names, "__match_args__": names, "__values__": values_of}
    metaclass: Any = type(cls)
    made: type[T] = metaclass(cls.__name__, cls.__bases__, finished)
    setters += [(name, made.__dict__[name].__set__) for name in names]
    return made


def _rebuilt(cls: type[T], values: tuple[Any, ...]) -> T:
    """What copying and pickling call."""
    return cls(**dict(zip(field_names(cls), values, strict=True)))
