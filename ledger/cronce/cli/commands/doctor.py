"""`cronce doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from cronce.cli.app import commands_for, group_option, json_option, launcher_for, ledger_option, opened
from cronce.client.settings import TaskSettings
from cronce.operate.checks import State
from cronce.vocabulary import exit_codes
from cronce.vocabulary.ledger_urls import is_in_dynamodb
from cronce.vocabulary.policy import Policy


@click.command(
    "doctor",
    epilog="""\b
Examples:
  cronce doctor
  cronce doctor --json | jq -r '.checks[] | select(.state == "problem")'

It checks, one line each: the variables of this environment, the ledger and
whether this role may write it, the clock of this host, the table, the
schedules, zone data, the watchdog, whether each job's image has ever claimed a
run, why the newest run of a job failed, the revisions, their variables, log
groups, secrets, images in ECR, clusters, subnets and security groups, the roles
of schedules and tasks, dead-letter queues, the functions and the rules that
invoke them, the pinned clocks, and alarms without an action. It writes nothing.
Inside a task it checks what that task would meet.

Costs one Query and one GetSchedule per job, one request per task definition,
log group, secret, image and clock, four per role of a schedule and its task (20
are simulated), and at most 60 others.

The JSON document is {"checks", "problems"}. A check is {"name", "state",
"sentence", "why", "next"}: state is ok, warning, problem or "not known", next
a command or null. problems is their number.

\b
Exit codes: 0 no problem; 1 at least one problem; 64 bad usage.""",
)
@json_option
@group_option
@ledger_option
@click.pass_context
def command(ctx: click.Context, *, as_document: bool, group: str | None, url: str | None) -> int:
    """Check the ledger, its jobs and this environment.

    What may not be asked is not known, and no problem.
    """
    from cronce.aws import sdk  # noqa: PLC0415  # only what is used is loaded
    from cronce.operate.examining import Examination  # noqa: PLC0415
    from cronce.stores.urls import open_store, region_of  # noqa: PLC0415

    url = TaskSettings(ledger=url).required_ledger()
    # Without a group, the schedules are not looked for in AWS if the table is somewhere else.
    launcher = launcher_for(url, group) if group or (is_in_dynamodb(url) and "endpoint=" not in url) else None
    with opened(url) as ledger, _progress() as done:
        examination = Examination(
            store=open_store(url, lease=Policy().lease),
            ledger=ledger,
            launcher=launcher,
            services=lambda name: sdk.Service(name, region=region_of(url)),
            url=url,
            environ=os.environ,
            folder=Path.cwd(),
            done=done,
            commands=commands_for(ctx, "", ""),
        )
        found = list(examination.checks())
    problems = sum(check.state is State.PROBLEM for check in found)
    if as_document:
        from cronce.cli.output.documents import as_json, check_document  # noqa: PLC0415

        click.echo(as_json({"checks": [check_document(check) for check in found], "problems": problems}))
    else:
        from cronce.cli.output.explanation import print_checks  # noqa: PLC0415  # rich

        print_checks(found)
    return exit_codes.PROBLEM if problems else 0


@contextmanager
def _progress() -> Iterator[Callable[[], object]]:
    """A count of the answers on the terminal of a person who waits; the function to call after each."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}, {task.completed:.0f} answers"))
    with Progress(*columns, console=PlainConsole(sys.stderr), transient=True) as progress:
        task = progress.add_task("Checking", total=None)
        yield lambda: progress.advance(task)
