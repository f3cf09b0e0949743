"""From start to decision over TLS, cold: `cronce exec` with the standard library alone, and boto3.

    python -m benchmarks.tls [ROUNDS] [--cpu SHARE]

A server on this machine answers as DynamoDB does, with a certificate that a test authority signed. `AWS_CA_BUNDLE`
names either Amazon's roots and the test authority, or the system's whole bundle and the test authority. The contenders
alternate within every round. A time is the median; a ratio is the median of the ratios within a round. With
`--cpu 0.25` each process has a quarter of a CPU, by a control group, which needs root; the server has what is left.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import resource
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.cgroup import limited_to
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import cronce.aws

AMAZON_ROOTS = Path(cronce.aws.__path__[0]) / "amazon_roots.pem"
SYSTEM_BUNDLE = Path(ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt")
SCRIPTS = Path(sys.executable).parent
BY_BOTO3 = Path(__file__).parent / "guard" / "wrappers" / "by_boto3.py"
COMMAND = ["sh", "-c", "echo started; read -r _ || :"]


@dataclass
class Samples:
    """Seconds by contender, one sample per round."""

    winner: dict[str, list[float]] = field(default_factory=dict)
    winner_cpu: dict[str, list[float]] = field(default_factory=dict)
    loser: dict[str, list[float]] = field(default_factory=dict)
    loser_cpu: dict[str, list[float]] = field(default_factory=dict)


class Table(BaseHTTPRequestHandler):
    """Just enough of DynamoDB: conditional puts on absence, and everything else succeeds."""

    protocol_version = "HTTP/1.1"
    rows: dict[str, dict[str, Any]] = {}  # noqa: RUF012  # one table for all

    def do_POST(self) -> None:
        """Answer an operation."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        item = request.get("Item", {})
        key = json.dumps([item.get(name) for name in ("id", "job", "key")])
        if "attribute_not_exists" in request.get("ConditionExpression", "") and key in self.rows:
            code = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
            self._answer(400, {"__type": code, "Message": "failed", "Item": self.rows[key]})
            return
        self.rows[key] = item
        self._answer(200, {})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("x-amzn-RequestId", "R")
        self.send_header("x-amz-crc32", str(crc32(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tls", description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=15)
    parser.add_argument("--cpu", type=float, help="the share of a CPU that each process has, such as 0.25")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        limited = [] if options.cpu is None else stack.enter_context(limited_to(options.cpu))
        print(f"load average {os.getloadavg()[0]:.1f}")
        context, authority = _certificates(folder)
        amazon, system = folder / "amazon.pem", folder / "system.pem"
        amazon.write_bytes(AMAZON_ROOTS.read_bytes() + authority)
        system.write_bytes(SYSTEM_BUNDLE.read_bytes() + authority)
        http, https = _serve(None), _serve(context)
        ways = {
            "boto3, https": (_boto3, https, system),
            "boto3, http": (_boto3, http, None),
            "cronce exec, https, Amazon's roots": (_cronce, https, amazon),
            "cronce exec, https, system bundle": (_cronce, https, system),
            "cronce exec, http": (_cronce, http, None),
        }
        samples = Samples()
        for number in range(options.rounds + 1):
            taken = samples if number else Samples()  # the first round fills the page cache
            for way, (line, endpoint, bundle) in ways.items():
                environ = _environ(endpoint, bundle, folder)
                key = f"{way} {number}"
                _winner(taken, way, [*limited, *line(key)], environ)
                _loser(taken, way, [*limited, *line(key)], environ)
    print("| | winner ms | ratio | CPU | loser ms | ratio | CPU |\n|---|---|---|---|---|---|---|")
    for way in ways:
        cells = []
        for wall, cpu in ((samples.winner, samples.winner_cpu), (samples.loser, samples.loser_cpu)):
            cells += [f"{statistics.median(wall[way]) * 1000:.0f}", _ratio(wall, way), _ratio(cpu, way)]
        print("|", " | ".join([way, *cells]), "|")


def _ratio(series: dict[str, list[float]], way: str) -> str:
    pairs = zip(series[way], series["boto3, https"], strict=True)
    return f"{statistics.median(mine / theirs for mine, theirs in pairs):.2f}"


def _cronce(key: str) -> list[str]:
    options = ["--ledger", "dynamodb://runs", "--job", "job", "--concurrency-policy", "ALLOW", "--period", key]
    return [str(SCRIPTS / "cronce"), "exec", *options, "--", *COMMAND]


def _boto3(key: str) -> list[str]:
    return [sys.executable, str(BY_BOTO3), key, *COMMAND]


def _environ(endpoint: str, bundle: Path | None, folder: Path) -> dict[str, str]:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
    }
    return environ | ({"AWS_CA_BUNDLE": str(bundle)} if bundle else {})


def _winner(samples: Samples, way: str, line: list[str], environ: dict[str, str]) -> None:
    """From the start until the command runs."""
    before, began = _children_cpu(), time.perf_counter()
    process = subprocess.Popen(
        line, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        samples.winner.setdefault(way, []).append(time.perf_counter() - began)
    assert process.returncode == 0
    samples.winner_cpu.setdefault(way, []).append(_children_cpu() - before)


def _loser(samples: Samples, way: str, line: list[str], environ: dict[str, str]) -> None:
    """From the start to the end."""
    before, began = _children_cpu(), time.perf_counter()
    done = subprocess.run(line, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    samples.loser.setdefault(way, []).append(time.perf_counter() - began)
    samples.loser_cpu.setdefault(way, []).append(_children_cpu() - before)
    assert done.stdout == b"", "it has run the command"


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _serve(context: ssl.SSLContext | None) -> str:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Table)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{'https' if context else 'http'}://localhost:{server.server_address[1]}"


def _certificates(folder: Path) -> tuple[ssl.SSLContext, bytes]:
    """A server's context with a chain of two certificates, and the authority that signed the chain."""
    root_key, middle_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    root = _certificate("Test Root", root_key, "Test Root", root_key, authority=True)
    middle = _certificate("Test Intermediate", middle_key, "Test Root", root_key, authority=True)
    leaf = _certificate("localhost", key, "Test Intermediate", middle_key, authority=False)
    chain, private = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(leaf + middle)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, private)
    return context, root


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey, *, authority: bool
) -> bytes:
    now = dt.datetime.now(dt.UTC)
    subject, by = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)]) for text in (name, issuer))
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(by).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


if __name__ == "__main__":
    main()
