"""A failure at every call of an invocation, one after the other."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

from cronce.client.claim import Claim
from cronce.ecs import Launcher
from cronce.stores.memory import MemoryStore
from cronce.vocabulary.errors import LedgerUnavailableError
from tests.support.cloud import GROUP, client_error

if TYPE_CHECKING:
    from cronce.protocol.operations import Swapped
    from cronce.protocol.records import Record
    from cronce.stores.store import Page
    from tests.lambdas.events import World

T = TypeVar("T")

API = frozenset(
    {
        *("list_schedules", "get_schedule", "create_schedule", "put_events", "describe_table"),
        *("describe_services", "list_tasks", "describe_tasks"),
    }
)


class Kind(StrEnum):
    """What happens at the call."""

    REFUSED = "no answer, nothing done"
    LOST = "done, no answer"
    DIES_BEFORE = "the process dies before it"
    DIES_AFTER = "the process dies after it"


class KilledError(BaseException):
    """Lambda killed the process: nothing can catch it, and nothing more is called."""


@dataclass
class Injector:
    """Counts the calls of an invocation, and lets one of them fail.

    Attributes:
        at: The number of that call; 0 for none.
        calls: The calls so far.
        dead: True once the process is killed: no clean-up reaches the outside any more.
    """

    at: int = 0
    kind: Kind = Kind.REFUSED
    calls: list[str] = field(default_factory=list)
    dead: bool = False

    def call(self, name: str, act: Callable[[], T], error: Callable[[], Exception]) -> T:
        """Perform the call, or what happens instead."""
        if self.dead:
            raise KilledError
        self.calls.append(name)
        if len(self.calls) != self.at:
            return act()
        self.dead = self.kind in (Kind.DIES_BEFORE, Kind.DIES_AFTER)
        if self.kind in (Kind.LOST, Kind.DIES_AFTER):
            act()
        raise KilledError if self.dead else error()


class InjectedStore(MemoryStore):
    """A store whose calls are counted."""

    injector = Injector()

    def get(self, job: str, key: str) -> Record | None:
        """See `Store.get`."""
        return self._call(f"get {job} {key}", lambda: super(InjectedStore, self).get(job, key))

    def swap(self, record: Record, expected: Record | None) -> Swapped:
        """See `Store.swap`."""
        return self._call(f"swap {record.job} {record.key}", lambda: super(InjectedStore, self).swap(record, expected))

    def query(self, job: str, *, limit: int, before: str | None = None) -> Page:
        """See `Store.query`."""
        return self._call(f"query {job}", lambda: super(InjectedStore, self).query(job, limit=limit, before=before))

    def _call(self, name: str, act: Callable[[], T]) -> T:
        return self.injector.call(name, act, lambda: LedgerUnavailableError("memory", name, transient=False))


class InjectedClient:
    """An AWS client whose calls are counted; everything else is the client's."""

    def __init__(self, client: Any, injector: Injector) -> None:  # noqa: ANN401
        self._client = client
        self.injector = injector

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name not in API:
            return getattr(self._client, name)

        def called(**request: Any) -> Any:  # noqa: ANN401
            def act() -> Any:  # noqa: ANN401
                return getattr(self._client, name)(**request)

            throttled = client_error(name, "ThrottlingException", "slow down", status=429)
            return self.injector.call(name, act, lambda: throttled)

        return called


@contextmanager
def injected(world: World, injector: Injector) -> Iterator[None]:
    """Count the world's calls, and let one fail; heartbeats of a look are left out."""
    store = world.store
    assert isinstance(store, InjectedStore)
    clients = world.scheduler, world.events, world.ecs
    store.injector = injector
    world.events, world.ecs = InjectedClient(world.events, injector), InjectedClient(world.ecs, injector)  # type: ignore[assignment]
    world.launcher = Launcher(group=GROUP, scheduler=InjectedClient(world.scheduler, injector))
    try:
        with redirect_stderr(io.StringIO()), patch.object(Claim, "start_heartbeat", lambda _claim: None):
            yield
    finally:
        world.scheduler, world.events, world.ecs = clients
        world.launcher = Launcher(group=GROUP, scheduler=world.scheduler)
        store.injector = Injector()


def failing(world: World, injector: Injector, invoke: Callable[[], object]) -> bool:
    """Invoke once with the failure; True if the invocation ended without an error."""
    with injected(world, injector), suppress(KilledError, Exception):
        invoke()
        return True
    return False
