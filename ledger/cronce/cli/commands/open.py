"""`cronce open`."""

from __future__ import annotations

import webbrowser

import click

from cronce.cli.app import complain, group_option, json_option, launcher_for, ledger_option, opened
from cronce.cli.arguments import complete_period, job_argument
from cronce.cli.parameters import PERIOD
from cronce.operate.wording import visible


@click.command(
    "open",
    epilog="""\b
Examples:
  cronce open daily-digest
  cronce open daily-digest 2026-11-29T05:00:00Z --browser
  cronce open daily-digest --json | jq -r .schedule

The JSON document has the pages by name: {"schedule", "table", "cluster",
"task", "log"}; null for what there is no page of. table is null unless the
ledger is in DynamoDB; task and log are those of the newest attempt of PERIOD,
null without one. Needs what 'cronce logs' needs for log.

\b
Exit codes: 0 printed; 1 there is no page, or no browser; 64 bad usage; 69 the
ledger, the schedules or ECS cannot be used.""",
)
@job_argument
@click.argument("period", required=False, callback=PERIOD, shell_complete=complete_period)
@click.option("--browser", is_flag=True, help="Also open the last page that is printed.")
@json_option
@group_option
@ledger_option
def command(
    *, job: str, period: str | None, browser: bool, as_document: bool, group: str | None, url: str | None
) -> int:
    """Print the pages of JOB in the console of AWS."""
    from cronce.operate.console import pages_of  # noqa: PLC0415  # botocore

    with opened(url) as ledger:
        launcher = launcher_for(url, group)
        run = ledger.run(job, period) if period else None
        pages = pages_of(launcher, launcher.known(job), run, ledger_url=url or "")
    found = {name: page for name, page in pages.items() if page}
    if as_document:
        from cronce.cli.output.documents import as_json  # noqa: PLC0415

        click.echo(as_json(pages))
    for name, page in found.items() if not as_document else ():
        click.echo(f"{name:8}  {visible(page)}")
    if not found:
        return complain(f"there is no page about {job} in the console of AWS")
    if browser and not webbrowser.open([*found.values()][-1]):
        return complain("there is no browser on this host")
    return 0
