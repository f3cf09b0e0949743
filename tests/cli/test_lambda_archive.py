"""`cronce lambda-archive`: the code of the Lambda functions in a file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cronce.portable.lambda_archive import lambda_archive

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Said


def test_it_writes_the_bytes_that_the_constructs_deploy(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """And both spellings of their hash: people compare the first, Terraform and Lambda the second."""
    file = tmp_path / "code.zip"
    said = cronce("lambda-archive", str(file))
    digest = hashlib.sha256(lambda_archive())
    assert (said.code, said.err) == (0, "")
    assert file.read_bytes() == lambda_archive()
    assert said.out.splitlines()[1:] == [
        f"sha256:        {digest.hexdigest()}",
        f"sha256_base64: {base64.b64encode(digest.digest()).decode()}",
    ]


def test_the_document_has_the_same(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """For scripts."""
    file = tmp_path / "code.zip"
    told = json.loads(cronce("lambda-archive", str(file), "--json").out)
    archive = file.read_bytes()
    assert told == {
        "file": str(file),
        "bytes": len(archive),
        "sha256": hashlib.sha256(archive).hexdigest(),
        "sha256_base64": base64.b64encode(hashlib.sha256(archive).digest()).decode(),
    }


def test_a_file_that_cannot_be_written_is_one_error(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """And nothing is left behind."""
    said = cronce("lambda-archive", str(tmp_path / "no" / "code.zip"))
    assert (said.code, said.out) == (64, "")
    assert "FILE:" in said.err
    assert "No such file or directory" in said.err
    assert said.err.count("\n") == 1
    assert [*tmp_path.glob("**/*.zip*")] == []


def test_only_a_file_is_replaced(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Root would otherwise replace a device, such as /dev/stdout, for the whole machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for given in (pipe, link, tmp_path):
        said = cronce("lambda-archive", str(given))
        assert (said.code, said.out) == (64, "")
        assert "FILE:" in said.err
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert {*tmp_path.iterdir()} == {pipe, link}


def test_a_link_to_a_file_stays_a_link(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """The file that it names gets the archive; another file of a similar name is left alone."""
    file, link, other = tmp_path / "code.zip", tmp_path / "link.zip", tmp_path / "code.zip.new"
    file.write_bytes(b"old")
    other.write_bytes(b"mine")
    link.symlink_to(file)
    assert cronce("lambda-archive", str(link)).code == 0
    assert link.is_symlink()
    assert file.read_bytes() == lambda_archive()
    assert other.read_bytes() == b"mine"


def test_a_missing_package_is_named(
    cronce: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of a function whose import fails at 06:00."""
    monkeypatch.setattr("cronce.portable.lambda_archive.PACKAGES", ("cronce", "no_such_package"))
    said = cronce("lambda-archive", str(tmp_path / "code.zip"))
    assert (said.code, said.err) == (
        64,
        "cronce: the package no_such_package is missing: pip install 'cronce[cli]'\n",
    )
