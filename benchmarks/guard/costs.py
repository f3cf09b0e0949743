"""Requests and capacity units of a run, counted by a proxy that requests DynamoDB's consumed capacity."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.guard.cycles import CONTENDERS
from benchmarks.guard.world import Worker, World

_READS = frozenset({"GetItem", "Query"})


@dataclass(slots=True)
class Cost:
    """The requests.

    Attributes:
        writes: Write requests, including refused ones.
        reads: Read requests.
        write_units: Consumed by them; a refused conditional write of a row under 1 KB is one unit
            (DynamoDB Developer Guide, "Read and write operations": it consumes, although the error does not report it).
        read_units: Consumed by the reads.
    """

    writes: int = 0
    reads: int = 0
    write_units: float = 0.0
    read_units: float = 0.0


@dataclass(slots=True)
class Costs:
    """Of a run from claim to recorded end, and of one refused attempt at the same time."""

    winner: dict[str, Cost]
    loser: dict[str, Cost]


def measure_costs(world: World) -> Costs:
    """One run of every contender, alone and then with a second attempt while it works."""
    winner, loser = {}, {}
    with _counting(world.endpoint) as (endpoint, counted):
        for name in CONTENDERS:
            with Worker(name, world.environ(endpoint=endpoint), world.complaints) as worker:
                worker.ready()
                for _ in range(2):  # a job's first run may have another cost
                    counted()
                    if not worker.ask(do="race", key=uuid4().hex, sent=0.0)["won"]:
                        raise RuntimeError(f"{name} lost alone")
                alone = winner[name] = counted()
                if worker.ask(do="duel", key=uuid4().hex) != {"won": True, "second": False}:
                    raise RuntimeError(f"{name} let a second one in")
                both = counted()
                loser[name] = Cost(**{what: value - getattr(alone, what) for what, value in asdict(both).items()})
    return Costs(winner, loser)


_MARKS = ("Content-Type", "Date", "x-amzn-RequestId", "x-amz-crc32")


@contextmanager
def _counting(endpoint: str) -> Iterator[tuple[str, Counter]]:
    """A proxy to the endpoint, and a function that returns and resets its counts."""
    counter = Counter(urlsplit(endpoint).netloc)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, marks, answer = counter.forward({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(status)
            for name, value in marks.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", counter
        finally:
            server.shutdown()


class Counter:
    """Forwards requests to DynamoDB and adds up what they cost."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._cost = Cost()

    def __call__(self) -> Cost:
        """The cost since last asked."""
        with self._lock:
            cost, self._cost = self._cost, Cost()
        return cost

    def forward(self, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """DynamoDB's answer with its consumed capacity; DynamoDB Local does not check the signature.

        Returns:
            The status, the headers by which a client knows an answer of DynamoDB, and the body.
        """
        request = json.loads(body) | {"ReturnConsumedCapacity": "TOTAL"}
        sent = {name: value for name, value in headers.items() if name not in ("content-length", "host")}
        sent["accept-encoding"] = "identity"
        connection = HTTPConnection(self._host, timeout=10)
        try:
            connection.request("POST", "/", json.dumps(request), sent)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        self._add(headers["x-amz-target"].rpartition(".")[2], response.status, json.loads(answer))
        return response.status, {name: response.headers[name] for name in _MARKS if name in response.headers}, answer

    def _add(self, operation: str, status: int, answer: dict[str, object]) -> None:
        consumed = answer.get("ConsumedCapacity")
        if isinstance(consumed, dict):
            units = float(consumed["CapacityUnits"])
        elif status == 400 and "ConditionalCheckFailed" in str(answer.get("__type")):
            units = 1.0
        else:
            raise RuntimeError(f"{operation} has no price: {status} {answer}")
        with self._lock:
            if operation in _READS:
                self._cost.reads += 1
                self._cost.read_units += units
            else:
                self._cost.writes += 1
                self._cost.write_units += units
