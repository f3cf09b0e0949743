"""The lane `terraform`: Terraform's core and a stand-in provider, for everything here."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cronce.portable.lambda_archive import lambda_archive
from tests.cdk.shop import new_shop
from tests.support.terraform import LANE, Terraform, write_configuration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cronce_cdk import ScheduledTask


@pytest.fixture(scope="session")
def terraform() -> Iterator[Terraform]:
    """Terraform with a provider that plans only."""
    with Terraform() as terraform:
        yield terraform


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions' code, as `cronce lambda-archive` writes it."""
    file = tmp_path_factory.mktemp("archive") / "cronce-lambdas.zip"
    file.write_bytes(lambda_archive())
    return file


@pytest.fixture(scope="session")
def same_plan(terraform: Terraform, archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The plan of the stack of `same/main.tf`, by the modules."""
    folder = tmp_path_factory.mktemp("same")
    write_configuration(folder, (LANE / "same" / "main.tf").read_text())
    return terraform.plan(folder, archive=str(archive))


@pytest.fixture(scope="session")
def try_job() -> Callable[..., ScheduledTask]:
    """Makes a job by the constructs with some arguments changed, under a new name each time."""
    shop, numbers = new_shop(), itertools.count()
    return lambda **changed: shop.job(f"job{next(numbers)}", **changed)
