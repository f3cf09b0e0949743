"""cron, once: scheduled work that happens once per period across a whole fleet.

The public names are those in the `__all__` of the modules below. Each is loaded when it is first used: `cronce exec`
must handle signals before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType as _Module

    from cronce.client.claim import *  # noqa: F403  # the `__all__` of each module is the list of names
    from cronce.client.ledger import *  # noqa: F403
    from cronce.client.refusal import *  # noqa: F403
    from cronce.guard.once import *  # noqa: F403
    from cronce.protocol.effects import *  # noqa: F403
    from cronce.protocol.requests import *  # noqa: F403
    from cronce.vocabulary.errors import *  # noqa: F403
    from cronce.vocabulary.policy import *  # noqa: F403
    from cronce.vocabulary.states import *  # noqa: F403

_HOMES = (
    "vocabulary.errors",
    "vocabulary.policy",
    "vocabulary.states",
    "protocol.requests",
    "client.refusal",
    "client.claim",
    "client.ledger",
    "guard.once",
    "protocol.effects",
)
"""In the order of their imports: to look for a name in one loads only what the name's own module needs anyway."""


def __getattr__(name: str) -> object:
    """The public name, loaded now."""
    if name == "__all__":
        return sorted(_public_names())
    if not name.startswith("_"):
        for home in map(_home, _HOMES):
            if name in home.__all__:
                value: object = getattr(home, name)
                globals()[name] = value
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *_public_names()})


def _public_names() -> list[str]:
    return [name for home in _HOMES for name in _home(home).__all__]


def _home(name: str) -> _Module:
    # `importlib` would load more than it does here.
    home: _Module = __import__(f"{__name__}.{name}", fromlist=("__all__",))
    return home
