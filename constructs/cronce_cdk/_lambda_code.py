"""The code of the Lambda functions as an asset of the app; one archive serves all functions."""

from __future__ import annotations

import hashlib
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from cronce.portable.lambda_archive import lambda_archive, missing_packages
from cronce_cdk._checks import Tree, refusal


def lambda_code(scope: Tree) -> lambda_.Code:
    """Write the archive into the app's output folder and return it as an asset.

    Raises:
        ConstructConfigError: A package is not installed.
    """
    if missing := missing_packages():
        raise refusal(scope, "installed packages", f"without {', '.join(missing)}", "pip install 'cronce[cdk]'")
    archive = lambda_archive()
    digest = hashlib.sha256(archive).hexdigest()
    stage = cdk.Stage.of(scope)  # type: ignore[arg-type]  # a Tree is a construct
    assert stage is not None  # noqa: S101  # every construct of a stack has one
    file = Path(stage.outdir) / f"cronce-lambdas-{digest[:16]}.zip"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(archive)
    return lambda_.Code.from_asset(str(file), asset_hash=digest)
