"""An unmodified foreign clock: celery beat from PyPI, twice, under `cronce pin`."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.support.host import JOB, Command, Host, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SHOP = """
from celery import Celery

app = Celery("shop", broker="filesystem://")
app.conf.broker_transport_options = {"data_folder_in": "broker", "data_folder_out": "broker"}
app.conf.beat_schedule = {"digest": {"task": "shop.digest", "schedule": 0.5}}

@app.task
def digest():
    pass
"""


class Tick(NamedTuple):
    """A message in the broker: when it was sent (this host's monotonic clock), and by which process."""

    at: float
    origin: str


@pytest.fixture
def shop(host: Host) -> Host:
    """A folder with an app, whose broker is a folder of files."""
    (host.folder / "broker").mkdir()
    (host.folder / "shop.py").write_text(SHOP)
    return host


def beat(number: int) -> list[str]:
    """The command of a beat with a state of its own, as on a machine of its own."""
    return ["celery", "-A", "shop", "beat", "--pidfile=", f"--schedule=beat-{number}.db"]


def pinned(shop: Host, number: int) -> Command:
    """Start a beat under `cronce pin`."""
    return shop.start("cronce", "pin", "--ledger", shop.url, "--job", JOB, "--", *beat(number))


def ticks(broker: Path) -> list[Tick]:
    """What the beats have sent so far, in order."""
    texts = {message.name: message.read_text() for message in broker.glob("*.msg")}
    return sorted(
        Tick(float(name.split("_")[0]) / 1000, json.loads(text)["headers"]["origin"])
        for name, text in texts.items()
        if text  # the newest file may still be empty
    )


def await_ticks(shop: Host, number: int, *, of: int = 1) -> list[Tick]:
    """The ticks so far, once the last of that many beats has sent so many."""

    def found() -> list[Tick]:
        so_far = ticks(shop.folder / "broker")
        origins = list(dict.fromkeys(tick.origin for tick in so_far))
        enough = len(origins) >= of and [tick.origin for tick in so_far].count(origins[-1]) >= number
        return so_far if enough else []

    return until(found, f"{number} ticks of beat {of}", every=0.1)


def test_two_at_once_are_one_beat_and_the_second_goes_on_when_the_first_ends(shop: Host) -> None:
    """Half as many ticks as two beats would send, all of one process; after SIGTERM all of the other."""
    first = pinned(shop, 1)
    await_ticks(shop, 1)
    second = pinned(shop, 2)
    until(lambda: "standby" in [event["event"] for event in second.events], "the second on standby")
    assert len({tick.origin for tick in await_ticks(shop, 20)}) == 1
    first.send(signal.SIGTERM)
    assert first.wait() == 0
    after = await_ticks(shop, 10, of=2)
    origins = [tick.origin for tick in after]
    assert origins == sorted(origins, key=origins.index)
    assert len(set(origins)) == 2


def test_without_it_two_beats_send_every_tick_twice(shop: Host) -> None:
    """What the test above would see: so it can fail."""
    for number in (1, 2):
        shop.start(*beat(number))
    origins = [tick.origin for tick in await_ticks(shop, 10, of=2)]
    assert len(set(origins)) == 2
    assert origins != sorted(origins, key=origins.index)
