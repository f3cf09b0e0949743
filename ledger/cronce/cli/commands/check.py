"""`cronce check`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import BinaryIO

import click

from cronce.cli.actions.check_plan import check_plan
from cronce.cli.app import json_option
from cronce.operate.wording import visible
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError


@click.command(
    "check",
    epilog="""\b
Examples:
  terraform show -json plan | cronce check -
  cronce check plan.json --strict --allow lost-to-daylight-saving

FILE is what 'terraform show -json' prints of a plan or a state; - is the
standard input. Errors can never work: an unknown time zone, a schedule that
never fires, a job name used twice, an input that is too long. Warnings may
be intended; --allow NAME hides those of that name.

\b
The JSON document is {"jobs", "findings"}; a finding is {"severity", "name",
"address", "message"}, where severity is error or warning.

\b
Exit codes: 0 no errors; 1 errors, with --strict also warnings; 64 bad usage,
or FILE is not such a document.""",
)
@click.argument("file", type=click.File("rb"))
@click.option("--strict", is_flag=True, help="Warnings are failures too.")
@click.option("--allow", metavar="NAME", multiple=True, help="Hide warnings of this name; can be repeated.")
@json_option
def command(*, file: BinaryIO, strict: bool, allow: tuple[str, ...], as_document: bool) -> int:
    """Check the jobs of a Terraform plan before it is applied."""
    try:
        document = json.loads(file.read())
    except (ValueError, RecursionError):
        raise InputInvalidError("FILE", file.name, "a JSON document of `terraform show -json`") from None
    checked = check_plan(document, now=datetime.now(UTC))
    findings = [each for each in checked.findings if each.is_error or each.name not in allow]
    errors = sum(each.is_error for each in findings)
    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        told = [
            {
                "severity": "error" if each.is_error else "warning",
                "name": each.name,
                "address": each.address,
                "message": each.message,
            }
            for each in findings
        ]
        click.echo(as_json({"jobs": [*checked.jobs], "findings": told}))
    else:
        for each in findings:
            severity = "error" if each.is_error else "warning"
            click.echo(visible(f"{severity} {each.name}: {each.address}: {each.message}"))
        click.echo(f"{len(checked.jobs)} jobs checked: {errors} errors, {len(findings) - errors} warnings.")
    return exit_codes.PROBLEM if errors or (strict and findings) else 0
