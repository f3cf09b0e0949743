"""`cronce lambda-archive`."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import click

from cronce.cli.app import json_option
from cronce.cli.output.files import not_written, write_whole
from cronce.operate.wording import visible
from cronce.portable.lambda_archive import lambda_archive, missing_packages
from cronce.vocabulary.errors import InputMissingError


@click.command(
    "lambda-archive",
    epilog="""\b
Examples:
  cronce lambda-archive build/cronce-lambdas.zip
  aws s3 cp build/cronce-lambdas.zip s3://my-bucket/

The archive has the code of the recorder and the watchdog. Its bytes are the
same on every machine, for one version of cronce and of tzdata. The Terraform
module `ledger` takes it as `lambda_archive`, or from a bucket as
`lambda_archive_s3` with the hash in base64.

\b
The JSON document is {"file", "bytes", "sha256", "sha256_base64"}.

\b
Exit codes: 0 written; 64 bad usage, or a package is missing.""",
)
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def command(*, file: Path, as_document: bool) -> None:
    """Write the code of the Lambda functions, for Terraform."""
    if missing := missing_packages():
        raise InputMissingError(f"the package {', '.join(missing)}", "pip install 'cronce[cli]'")
    archive = lambda_archive()
    try:
        write_whole(file, archive, replace=True)
    except (OSError, ValueError) as error:
        raise not_written("FILE", file, error) from None
    digest = hashlib.sha256(archive)
    encoded = base64.b64encode(digest.digest()).decode()
    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        told = {"file": str(file), "bytes": len(archive), "sha256": digest.hexdigest(), "sha256_base64": encoded}
        click.echo(as_json(told))
        return
    click.echo(f"Wrote {visible(str(file))}: {len(archive):,} bytes")
    click.echo(f"sha256:        {digest.hexdigest()}")
    click.echo(f"sha256_base64: {encoded}")
