"""Whether the process beside this one does its work: `HealthServer` tells, `ask` asks.

The address is an abstract one (Linux, `man 7 unix`): it needs no file and no port, and is gone with
its process. It belongs to the network namespace, which under `awsvpc` and `bridge` is the task's own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_LONGEST_NAME = 90
"""An address has at most 107 bytes (`man 7 unix`); a longer name is cut and told apart by its hash."""

_LONGEST_ANSWER = 4096
_BETWEEN_BINDS = 1.0

HEALTHY = "healthy"

Probe = Callable[[], "str | None"]
"""None while all is well, else the reason why not. Called from a thread, and soon done."""


class HealthServer:
    """Answers `cronce health` from a thread, until the process ends."""

    def __init__(self, probe: Probe, *, name: str) -> None:
        """Take a probe; `start` serves it.

        Args:
            probe: Asked once for each question.
            name: What the asker calls this process.
        """
        self._probe = probe
        self._name = name

    def start(self) -> None:
        """Serve from a thread. Where there are no abstract addresses, nothing is served."""
        import threading  # noqa: PLC0415  # an asker has no use for it

        if sys.platform == "linux":
            threading.Thread(target=self._serve, name="cronce-health", daemon=True).start()

    def _serve(self) -> None:
        import socket  # noqa: PLC0415  # nor for this

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            while True:
                try:
                    listener.bind(address_of(self._name))
                    break
                except OSError:
                    # Another process of this name on this host, perhaps the one that we follow.
                    time.sleep(_BETWEEN_BINDS)
            listener.listen()
            while True:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(1)
                        connection.sendall(self._answer())
                except OSError:
                    continue

    def _answer(self) -> bytes:
        try:
            reason = self._probe()
        except Exception as error:  # noqa: BLE001  # a probe that fails says nothing good
            reason = f"its probe failed: {error!r}"
        return (reason or HEALTHY).encode("utf-8", "replace")[:_LONGEST_ANSWER]


def ask(name: str, *, within: float) -> str | None:
    """None if the process of that name is healthy, else why not, or why it cannot be asked.

    Args:
        name: As its `HealthServer` has it.
        within: Seconds that it may take altogether.
    """
    # Loaded in a process of its own every few seconds, beside the work: `socket` is mostly tables.
    import _socket  # noqa: PLC0415

    deadline = time.monotonic() + within
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    answer = b""
    try:
        connection.settimeout(within)
        connection.connect(address_of(name))
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            if not (more := connection.recv(_LONGEST_ANSWER)):
                break
            answer += more
    except TimeoutError:
        return f"no answer within {within:g} s"
    except ConnectionRefusedError:
        return f"no process with the name {name!r} answers on this host"
    except OSError as error:
        return f"cannot be asked: {error}"
    finally:
        connection.close()
    text = answer.decode("utf-8", "replace")
    if text == HEALTHY:
        return None
    return text or "it hung up"


def address_of(name: str) -> bytes:
    """The abstract address of the process of that name."""
    data = name.encode()
    if len(data) > _LONGEST_NAME:
        from hashlib import sha256  # noqa: PLC0415  # loads OpenSSL; names are short

        data = data[: _LONGEST_NAME - 33] + b"#" + sha256(data).hexdigest()[:32].encode()
    return b"\0cronce-health-" + data
