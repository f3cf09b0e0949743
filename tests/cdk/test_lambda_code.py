"""The archive with the code of the Lambda functions: what it holds, and that it works without anything else."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aws_cdk as cdk
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from cronce.portable.lambda_archive import lambda_archive
from cronce.vocabulary import environment
from cronce_cdk import ConstructConfigError, RunLedger
from tests.cdk.shop import ENVIRONMENT


def test_the_archive_holds_what_the_handlers_need_and_no_more() -> None:
    """Every file of the two packages, data files too, without the commands; and zone data."""
    found = zipfile.ZipFile(io.BytesIO(lambda_archive())).namelist()
    assert {"cronce/client/ledger.py", "cronce_lambdas/recorder.py", "tzdata/zones"} <= {*found}
    assert found == sorted(found)
    assert {name.partition("/")[0] for name in found} == {"cronce", "cronce_lambdas", "tzdata"}
    left_out = tuple(f"cronce/{room}/" for room in ("guard", "clock", "adopt", "cli", "demo", "testing", "portable"))
    expected = {
        f"{package}/{file.relative_to(folder).as_posix()}"
        for package in ("cronce", "cronce_lambdas")
        for folder in map(Path, importlib.import_module(package).__path__)
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {name for name in found if not name.startswith("tzdata/")} == {
        name for name in expected if not name.startswith(left_out)
    }


def test_the_functions_reach_aws_over_tls_with_the_archives_own_files(tmp_path: Path) -> None:
    """The lean transport loads Amazon's roots from the unpacked archive and refuses a server that they do not sign."""
    zipfile.ZipFile(io.BytesIO(lambda_archive())).extractall(tmp_path / "code")
    certificate, key = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_handshakes, args=(server, context))
        thread.start()
        code = (
            f"import sys; sys.path.insert(0, {str(tmp_path / 'code')!r});"
            "import ssl, time; from cronce.aws import tls;"
            "roots = ssl.create_default_context(cafile=tls._AMAZON_ROOTS).get_ca_certs();"
            "print(tls.__file__, len(roots), flush=True);"
            f"tls.connect_tls('localhost', {server.getsockname()[1]}, by=time.monotonic() + 10)"
        )
        done = subprocess.run([sys.executable, "-ISc", code], env={}, check=False, capture_output=True, text=True)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert done.stdout.split() == [str(tmp_path / "code/cronce/aws/tls.py"), "5"]
    assert "ssl.SSLCertVerificationError" in done.stderr.splitlines()[-1]


def _handshakes(server: socket.socket, context: ssl.SSLContext) -> None:
    """Offer TLS to each connection until the listener is shut down."""
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with contextlib.suppress(OSError), connection, context.wrap_socket(connection, server_side=True):
            pass


def _self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for localhost and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


def test_the_archive_is_the_same_bytes_from_another_folder(tmp_path: Path) -> None:
    """A copy of the packages in another folder, with other file times, has the same hash."""
    for package in ("cronce", "cronce_lambdas", "tzdata"):
        [folder] = importlib.import_module(package).__path__
        shutil.copytree(folder, tmp_path / package, copy_function=shutil.copyfile)
    code = (
        "import hashlib, cronce, sys; from cronce.portable.lambda_archive import lambda_archive;"
        "print(cronce.__file__, hashlib.sha256(lambda_archive()).hexdigest())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(tmp_path / "cronce/__init__.py"), hashlib.sha256(lambda_archive()).hexdigest()]


def test_the_handlers_load_from_the_archive_alone(tmp_path: Path) -> None:
    """Without site-packages: Lambda's runtime brings only boto3, and a foreign event does not load it."""
    archive = tmp_path / "code.zip"
    archive.write_bytes(lambda_archive())
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r});"
        "import cronce_lambdas.recorder as r, cronce_lambdas.rerun as a, cronce_lambdas.board as b;"
        "import cronce_lambdas.watchdog;"
        "from importlib.resources import files;"
        "print(r.__file__, list(r.handler({}, None)), files('tzdata').joinpath('zoneinfo/Europe/Berlin').is_file());"
        "print(a.handler({}, None)['reason'], 'width: 18px' in b.handler({'x': 1}, None))"
    )
    done = subprocess.run(
        [sys.executable, "-ISc", code],
        env={environment.LEDGER: "dynamodb://runs?region=eu-west-1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [f"{archive}/cronce_lambdas/recorder.py", "['ignored']", "True", "INVALID", "True"]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """At synth, instead of a function whose import fails at 06:00."""
    stack = cdk.Stack(cdk.App(), "Stack", env=ENVIRONMENT)
    monkeypatch.setattr("cronce.portable.lambda_archive.PACKAGES", ("cronce", "no_such_package"))
    with pytest.raises(ConstructConfigError, match="no_such_package"):
        RunLedger(stack, "Ledger")
