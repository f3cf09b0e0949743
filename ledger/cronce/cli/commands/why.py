"""`cronce why`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import click

from cronce.cli.app import commands_for, group_option, json_option, launcher_for, ledger_option, opened
from cronce.cli.arguments import job_argument
from cronce.cli.parameters import PERIOD
from cronce.operate.facts import NotKnown
from cronce.vocabulary import exit_codes
from cronce.vocabulary.ledger_urls import is_in_dynamodb


@click.command(
    "why",
    epilog="""\b
Examples:
  cronce why daily-digest
  cronce why daily-digest 2026-11-29T06:00:00Z --json | jq -r .cause.sentence

Without PERIOD it is about the newest tick, or about the clock of that name.
It reads the ledger, the schedule and what ECS says about the task, and writes
nothing. What it may not read is listed as not known.

The JSON document is {"job", "period", "status", "cause", "also",
"not_known"}. A finding, such as cause and each of also, is {"code",
"sentence", "more", "evidence", "next"}; evidence is a list of {"what",
"value"}, next one of {"text", "command"}, command null if there is nothing to
type. The codes do not change.

\b
Exit codes: 0 explained; 1 the job is not known; 64 bad usage; 69 the ledger
cannot be used (the answer says why).""",
)
@job_argument
@click.argument("period", callback=PERIOD, required=False)
@json_option
@group_option
@ledger_option
@click.pass_context
def command(
    ctx: click.Context, *, job: str, period: str | None, as_document: bool, group: str | None, url: str | None
) -> int:
    """Explain why a run happened, or did not, and what to do.

    The first sentence is the cause. Below it are the facts with their times and places, and the
    exact command to type next.
    """
    from cronce.aws import sdk  # noqa: PLC0415
    from cronce.operate.gathering import Gathering  # noqa: PLC0415
    from cronce.operate.why import explain  # noqa: PLC0415  # loads what calls AWS

    # Without a group, the schedules are not looked for in AWS if the table is somewhere else.
    launcher = launcher_for(url, group) if group or (is_in_dynamodb(url) and "endpoint=" not in (url or "")) else None

    def logs(region: str) -> sdk.Service:
        return sdk.Service("logs", region=region)

    with opened(url) as ledger:
        facts = Gathering(ledger, launcher, url=url or "", now=datetime.now(UTC), logs=logs).about(job, period)
    commands = commands_for(ctx, job, facts.period or "")
    commands = replace(commands, has_schedules=commands.has_schedules and facts.definition is not None)
    explanation = explain(facts, commands)
    if as_document:
        from cronce.cli.output.documents import as_json, explanation_document  # noqa: PLC0415

        click.echo(as_json(explanation_document(facts, explanation)))
    else:
        from cronce.cli.output.explanation import print_explanation  # noqa: PLC0415  # rich

        print_explanation(facts, explanation)
    if isinstance(facts.row, NotKnown):
        return exit_codes.UNAVAILABLE
    return exit_codes.PROBLEM if explanation.cause.code == "unknown-job" else 0
