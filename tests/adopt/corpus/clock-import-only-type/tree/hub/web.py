from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask

if TYPE_CHECKING:
    from hub.clock import Clock

app = Flask(__name__)


def describe(clock: Clock) -> str:
    return str(clock)
