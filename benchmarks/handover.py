"""How long there is no leader after a SIGTERM to the leader, and what leading and standing by cost.

    python -m benchmarks.handover                      # 50 hand-overs of `cronce pin`, then a minute of counting
    python -m benchmarks.handover --command clock      # of `cronce clock`
    python -m benchmarks.handover --runs 5 --count-for 15

Two real processes on DynamoDB Local. A hand-over is measured from the SIGTERM to the leader until the
standby's command runs (`pin`) or the standby says that it leads (`clock`). The SIGTERM comes at a random
moment of the standby's poll; the command of `pin` is a shell that ends at once on SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.dynamodb_local import DynamoDbLocal
from tests.support.host import Command, Host, until

_OPERATION = re.compile(rb"X-Amz-Target: DynamoDB_\d+\.(\w+)", re.IGNORECASE)
_STARTED = 'date +%s.%N >>"$LOG"; exec sleep 3600'
_CLOCK = '[jobs.yearly]\nschedule = "0 0 1 1 *"\ntimezone = "UTC"\ntarget = { command = ["true"] }\n'
_HOUR = 3600


class CountingProxy:
    """Passes everything on to DynamoDB, and counts the requests by operation."""

    def __init__(self, endpoint: str) -> None:
        """Listen on a free port until the process ends."""
        parts = urlsplit(endpoint)
        self._target = (parts.hostname or "", parts.port or 80)
        self.counted: Counter[str] = Counter()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._target)
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.counted.update(
                    name.decode() for name in _OPERATION.findall(data)
                )  # a request is sent in one piece
                sink.sendall(data)
        for side in (source, sink):
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50, help="hand-overs (default 50)")
    parser.add_argument("--command", choices=("pin", "clock"), default="pin")
    parser.add_argument("--count-for", type=float, default=60, metavar="S", help="seconds of counting (default 60)")
    options = parser.parse_args()
    os.environ |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with DynamoDbLocal() as server, tempfile.TemporaryDirectory() as folder:
        with Host(Path(folder), _url(server.endpoint)) as host:
            host.ledger.create()
            seconds = [*_hand_overs(host, options.command, options.runs)]
            print(f"`cronce {options.command}`, {len(seconds)} hand-overs at the default poll, seconds from SIGTERM:")
            print(f"  median {statistics.median(seconds):.2f}, worst {max(seconds):.2f}, best {min(seconds):.2f}")
        with Host(Path(folder), _url(server.endpoint)) as host:
            _count(host, server.endpoint, options.command, options.count_for)


def _hand_overs(host: Host, command: str, runs: int) -> list[float]:
    leader = _start(host, command)
    _await(leader, "leading")
    seconds = []
    for number in range(runs):
        follower = _start(host, command)
        _await(follower, "standby")
        time.sleep(random.random())  # the moment within the poll
        signalled_at = time.time()
        leader.send(signal.SIGTERM)
        _await(follower, "leading")
        seconds.append(_leads_since(host, follower, command, number + 2) - signalled_at)
        leader.wait()
        leader = follower
    leader.send(signal.SIGTERM)
    leader.wait()
    return seconds


def _leads_since(host: Host, follower: Command, command: str, starts: int) -> float:
    """When its command started, or when it said that it leads."""
    if command == "clock":
        return datetime.fromisoformat(follower.event("leading")["time"]).timestamp()
    until(lambda: len(host.logged) >= starts, "the command's start")
    return float(host.logged[-1])


def _count(host: Host, endpoint: str, command: str, seconds: float) -> None:
    """Print the requests in an hour of a leader and of a standby."""
    proxies = {"leader": CountingProxy(endpoint), "standby": CountingProxy(endpoint)}
    for role, proxy in proxies.items():
        host.url = _url(proxy.endpoint)
        _await(_start(host, command), "leading" if role == "leader" else "standby")
    time.sleep(2)  # what belongs to the start
    before = {role: proxy.counted.copy() for role, proxy in proxies.items()}
    time.sleep(seconds)
    print(f"requests in an hour, by {seconds:.0f} s of counting, default lease and poll:")
    for role, proxy in proxies.items():
        counted = proxy.counted - before[role]
        by_name = ", ".join(f"{name} {count * _HOUR / seconds:.0f}" for name, count in sorted(counted.items()))
        print(f"  {role}: {by_name or 'none'}")


def _start(host: Host, command: str) -> Command:
    which = ("--ledger", host.url, "--job", "clock")
    if command == "pin":
        return host.start("cronce", "pin", *which, "--", "sh", "-c", _STARTED)
    config = host.folder / "clock.toml"
    config.write_text(_CLOCK)
    return host.start("cronce", "clock", *which, "--config", str(config))


def _await(command: Command, event: str) -> None:
    until(lambda: event in [each["event"] for each in command.events], f"{event}; it said {command.err}")


def _url(endpoint: str) -> str:
    return f"dynamodb://runs?region=eu-west-1&endpoint={endpoint}"


if __name__ == "__main__":
    main()
