"""`cronce import`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from cronce.adopt.convert.conversion import KINDS, MOST_SOURCE_BYTES, convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import Source
from cronce.cli.app import json_option
from cronce.cli.output.files import not_written, write_whole
from cronce.cli.parameters import TEXT
from cronce.schedule import ScheduleInvalidError, parse
from cronce.vocabulary.errors import InputInvalidError

_KINDS = "\n".join(f"  {name:<18} {kind.about}" for name, kind in KINDS.items())
_NEW_FILE = "a file that does not exist, or --force to replace it"


@click.command(
    "import",
    epilog=f"""\b
Examples:
  cronce import ecschedule ecschedule.yaml -o jobs.py
  crontab -l | cronce import crontab - --to clock --timezone Asia/Tokyo
  kubectl get cronjob -o yaml | cronce import cronjob - --to terraform

\b
KIND is one of:
{_KINDS}

FILE may be - for the standard input. Nothing of it is executed, and nothing is
looked up. Every field is kept, changed, stated (a default) or not mapped, and
the table on stderr says which, and why. Defaults of the source are written
out, so that a job does what it did. A value that may be a secret is not
copied. What cannot be written is an error, unless --skip leaves the job out.

\b
The JSON document is {{"jobs", "skipped", "file", "code"}}. A job is {{"name",
"file", "line", "decisions"}}, a decision {{"field", "verdict", "given",
"became", "why", "line"}}; verdict is kept, changed, stated or not mapped. code
is null if it was written to a file.

\b
Exit codes: 0 written; 64 bad usage, a file cannot be read or converted, or
the output exists.""",
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--to",
    "target",
    type=click.Choice([each.value for each in ImportTarget]),
    default=ImportTarget.CDK.value,
    show_default=True,
    help="What to write: a CDK construct, a Terraform module, or clock.toml.",
)
@click.option("--timezone", metavar="TZ", callback=TEXT, help="The zone of schedules that state none.  [default: UTC]")
@click.option(
    "--skip", metavar="JOB", multiple=True, help="Leave out the job of this name, or FILE:LINE; can be repeated."
)
@click.option("-o", "--output", metavar="FILE", callback=TEXT, help="Write the code to FILE instead of stdout.")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@json_option
def command(
    *,
    kind: str,
    files: tuple[str, ...],
    target: str,
    timezone: str | None,
    skip: tuple[str, ...],
    output: str | None,
    force: bool,
    as_document: bool,
) -> None:
    """Write the schedules of another tool as code of cronce."""
    if timezone is not None:
        try:
            parse("0 0 * * *", timezone=timezone)
        except ScheduleInvalidError as error:
            raise error.called("--timezone") from None
    if force and output is None:
        raise click.UsageError("--force needs --output.")
    if output is not None and not force and Path(output).exists():
        raise InputInvalidError("--output", output, _NEW_FILE)
    sources = [_source(file, timezone) for file in dict.fromkeys(files)]
    converted = convert(kind, sources, ImportTarget(target), skip=skip)
    if output is not None:
        try:
            write_whole(Path(output), converted.code.encode(), replace=force)
        except FileExistsError:
            raise InputInvalidError("--output", output, _NEW_FILE) from None
        except (OSError, ValueError) as error:
            raise not_written("--output", Path(output), error) from None
    from cronce.cli.output.conversion import conversion_document, print_decisions  # noqa: PLC0415  # rich

    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        click.echo(as_json(conversion_document(converted, file=output)))
        return
    if output is None:
        click.echo(converted.code, nl=False)
    print_decisions(converted)


def _source(file: str, timezone: str | None) -> Source:
    """The text of a file, or of the standard input.

    Raises:
        InputInvalidError: It cannot be read, is too large, or is not UTF-8.
    """
    name = "standard input" if file == "-" else file
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_SOURCE_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MOST_SOURCE_BYTES + 1)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        not_text = isinstance(error, UnicodeDecodeError)
        cause = "it is not UTF-8" if not_text else getattr(error, "strerror", None) or str(error)
        raise InputInvalidError("FILE", file, f"a text file that can be read ({cause})") from None
    if len(data) > MOST_SOURCE_BYTES:
        raise InputInvalidError("FILE", file, f"a file of at most {MOST_SOURCE_BYTES:,} bytes")
    return Source(file=name, text=text, timezone=timezone)
