"""`cronce new`."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

import click

from cronce.cli.app import json_option
from cronce.cli.parameters import TEXT
from cronce.operate.wording import visible
from cronce.schedule import ScheduleInvalidError

_DEFAULT_SCHEDULE, _DEFAULT_TIMEZONE = "0 6 * * *", "UTC"


@click.command(
    "new",
    epilog="""\b
Examples:
  cronce new digest
  cronce new digest --language ruby --with terraform
  cronce new shop/digest --name daily-digest \\
      --schedule '0 6 * * 1-5' --timezone Europe/Berlin

DIR becomes a project that can be deployed: a job that prints its digest, the
guard before its command, a ledger, alarms, and a test that starts the job
twice. README.md in it has the commands. It contains this version of cronce,
so it needs no other install. Nothing is fetched and nothing is deployed.

\b
The JSON document is {"folder", "job", "schedule", "timezone", "with",
"language", "files"}: files has the path of each file below the folder.

\b
Exit codes: 0 written; 64 bad usage, or DIR has something in it or cannot be
written. Then nothing was written.""",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--with",
    "deployed_with",
    type=click.Choice(["cdk", "terraform"]),
    default="cdk",
    show_default=True,
    help="What deploys it.",
)
@click.option(
    "--language",
    type=click.Choice(["python", "ruby", "node", "any"]),
    default="python",
    show_default=True,
    help="What the job is written in; any: a shell script, for an image of yours.",
)
@click.option("--name", "job", metavar="JOB", callback=TEXT, help="The job's name.  [default: the name of DIR]")
@click.option(
    "--schedule",
    metavar="EXPR",
    callback=TEXT,
    default=_DEFAULT_SCHEDULE,
    show_default=True,
    help="When the job is due: Unix cron, cron(...), rate(...) or at(...).",
)
@click.option(
    "--timezone",
    metavar="TZ",
    callback=TEXT,
    default=_DEFAULT_TIMEZONE,
    show_default=True,
    help="The time zone of the schedule, such as Europe/Berlin.",
)
@json_option
def command(
    *,
    folder: Path,
    deployed_with: str,
    language: str,
    job: str | None,
    schedule: str,
    timezone: str,
    as_document: bool,
) -> None:
    """Write a small project with a job that can be deployed."""
    from cronce.adopt.new.project import (  # noqa: PLC0415  # what it needs is not needed for --help
        TEST_COMMANDS,
        DeployedWith,
        Language,
        files_of,
        new_project,
    )
    from cronce.adopt.new.writing import write_project  # noqa: PLC0415

    try:
        project = new_project(
            folder=folder.absolute().name,
            job=job,
            schedule=schedule,
            timezone=timezone,
            deployed_with=DeployedWith(deployed_with),
            language=Language(language),
            now=datetime.now(UTC),
        )
    except ScheduleInvalidError as error:
        raise error.called("--timezone" if error.field == "timezone" else "--schedule") from None
    files = files_of(project)
    write_project(folder, files)
    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        document = {
            "folder": str(folder),
            "job": project.job,
            "schedule": project.schedule.expression,
            "timezone": project.schedule.timezone,
            "with": deployed_with,
            "language": language,
            "files": sorted(files),
        }
        click.echo(as_json(document))
        return
    click.echo(f"Wrote {visible(str(folder))}: {len(files)} files. The job {visible(project.job)} is due")
    click.echo(f"{project.schedule.describe()}. Next, as README.md there says:")
    click.echo(f"  cd {visible(shlex.quote(str(folder)))}")
    click.echo("  python3 -m venv .venv && . .venv/bin/activate")
    click.echo("  pip install --requirement requirements-dev.txt")
    click.echo(f"  {' '.join(TEST_COMMANDS[project.language])}    # starts the job twice: the second start is refused")
