"""The health of a process: `HealthServer` answers for it, `ask` asks.

The address is an abstract one (Linux, `man 7 unix`): it needs no file and no port, and disappears with
its process. It belongs to the network namespace; under `awsvpc` and `bridge` that is the task's own.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

_LONGEST_NAME = 90
"""An address has at most 107 bytes (`man 7 unix`); a longer name is cut and gets a hash."""

_LONGEST_ANSWER = 4096
_BETWEEN_BINDS = 1.0
_PAUSE_AFTER_ERROR = 0.1

HEALTHY = "healthy"

Probe = Callable[[], "str | None"]
"""None if all is well, else the reason. Called from a thread; it must return quickly."""


class HealthServer:
    """Answers `cronce health` from a thread, until the process ends."""

    def __init__(self, probe: Probe, *, name: str, ledger: str) -> None:
        """Take a probe; `start` serves it.

        Args:
            probe: Called once for each question.
            name: The job of this process.
            ledger: The URL of its ledger. Processes of one name with different ledgers are not confused.
        """
        self._probe = probe
        self._address = address_of(name, ledger)

    def start(self) -> None:
        """Serve from a thread. Without abstract addresses or threads, nothing is served."""
        import threading  # noqa: PLC0415  # who asks does not need it
        from contextlib import suppress  # noqa: PLC0415  # the same

        if sys.platform == "linux":
            with suppress(RuntimeError):  # the system has no thread left
                threading.Thread(target=self._serve, name="cronce-health", daemon=True).start()

    def _serve(self) -> None:
        import socket  # noqa: PLC0415  # who asks does not need it

        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            while True:
                try:
                    listener.bind(self._address)
                    break
                except OSError:
                    # Another process of this name on this host, perhaps the one that this replaces.
                    time.sleep(_BETWEEN_BINDS)
            listener.listen()
            while True:
                try:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(1)
                        connection.sendall(self._answer())
                except OSError:
                    time.sleep(_PAUSE_AFTER_ERROR)

    def _answer(self) -> bytes:
        try:
            reason = self._probe()
        except Exception as error:  # noqa: BLE001  # a probe that fails is not healthy
            reason = f"its probe failed: {error!r}"
        return (reason or HEALTHY).encode("utf-8", "replace")[:_LONGEST_ANSWER]


def ask(name: str, ledger: str, *, within: float) -> str | None:
    """None if that process is healthy, else the reason, or why it cannot be asked.

    Args:
        name: The job of the process.
        ledger: The URL of its ledger.
        within: Seconds that this may take altogether.
    """
    # Loaded in a new process every few seconds, beside the work: `socket` is mostly tables.
    import _socket  # noqa: PLC0415

    deadline = time.monotonic() + within
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    answer = b""
    try:
        connection.settimeout(within)
        connection.connect(address_of(name, ledger))
        while (left := deadline - time.monotonic()) > 0:
            connection.settimeout(left)
            if not (more := connection.recv(_LONGEST_ANSWER)):
                break
            answer += more
    except TimeoutError:
        return f"no answer within {within:g} s"
    except ConnectionRefusedError:
        return f"no process with the name {name!r} and the ledger {_named(ledger)} answers on this host"
    except OSError as error:
        return f"cannot be asked: {error}"
    finally:
        connection.close()
    text = answer.decode("utf-8", "replace")
    if text == HEALTHY:
        return None
    return text or "the connection was closed without an answer"


def address_of(name: str, ledger: str) -> bytes:
    """The abstract address of the process with that name and ledger."""
    scheme, slashes, path = ledger.partition("///")
    if slashes and scheme == "sqlite:":
        ledger = os.path.abspath(path)  # noqa: PTH100  # the same relative path in another folder is another ledger
    data = f"{name}@{_named(ledger)}".encode("utf-8", "surrogateescape")
    if len(data) > _LONGEST_NAME:
        from hashlib import sha256  # noqa: PLC0415  # loads OpenSSL; most addresses are short

        data = data[: _LONGEST_NAME - 33] + b"#" + sha256(data).hexdigest()[:32].encode()
    return b"\0cronce-health-" + data


def _named(ledger: str) -> str:
    """The URL without its password: every process of the host can read the addresses of all sockets."""
    if "@" not in ledger:
        return ledger
    from cronce.vocabulary.ledger_urls import without_password  # noqa: PLC0415  # most URLs have no user

    return without_password(ledger)
