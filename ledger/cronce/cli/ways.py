"""How `rerun` and `backfill` start a run: its ECS task, the target of a clock's job, or a command in this process."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from cronce.cli.app import launcher_for
from cronce.cli.parameters import TEXT
from cronce.client.ledger import Ledger
from cronce.client.settings import TaskSettings
from cronce.vocabulary.environment import POLICY, SCHEDULE_GROUP
from cronce.vocabulary.errors import InputMissingError
from cronce.vocabulary.ledger_urls import is_in_dynamodb

if TYPE_CHECKING:
    from cronce.cli.actions.follow import Tasks
    from cronce.cli.actions.host_start import HostJob
    from cronce.cli.actions.start import StartsRuns
    from cronce.ecs import JobDefinition

COMMAND_WORDS = "cronce.command"
"""Where a context keeps the words after `--`."""

config_option = click.option(
    "--config",
    metavar="FILE",
    callback=TEXT,
    help="Find JOB in this configuration of 'cronce clock', and start it through its target.",
)
"""Add `--config FILE`, passed as `config`."""


class WithCommand(click.Command):
    """A command that takes `-- COMMAND [ARGUMENT ...]` after its own arguments.

    A `--` before them only says that they are names, even if they look like options.
    """

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage, with COMMAND."""
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND ...]"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what follows the `--` for `command_of`."""
        at = [place for place, word in enumerate(args) if word == "--"]
        first = next((param.name for param in self.params if isinstance(param, click.Argument)), "")
        if at and not isinstance(self.make_parser(ctx).parse_args(args[: at[0]])[0].get(first), str):
            at = at[1:]
        if at:
            ctx.meta[COMMAND_WORDS] = args[at[0] + 1 :]
            if not ctx.meta[COMMAND_WORDS] or not ctx.meta[COMMAND_WORDS][0]:
                raise click.UsageError("COMMAND is missing after --.", ctx)
            args = args[: at[0]]
        return super().parse_args(ctx, args)


def command_suffix(ctx: click.Context) -> str:
    """` -- COMMAND`, to repeat it in a suggested command line; empty without COMMAND."""
    words: list[str] | None = ctx.meta.get(COMMAND_WORDS)
    return f" -- {shlex.join(words)}" if words else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How runs of the job are started.

    Attributes:
        definition: The job.
        launcher: Starts its work.
        tasks: Says what became of started tasks; None if nothing can.
        is_here: True if the work runs in this process.
    """

    definition: JobDefinition | HostJob
    launcher: StartsRuns
    tasks: Tasks | None
    is_here: bool = False


def way_for(
    ctx: click.Context, ledger: Ledger, job: str, *, url: str | None, group: str | None, config: str | None
) -> Way:
    """The way that was asked for: a command and a configuration come before the schedule group.

    Raises:
        InputInvalidError: The configuration cannot be used, or does not have the job.
        InputMissingError: There is nothing to start the work with; the error says what can be given.
    """
    words: list[str] | None = ctx.meta.get(COMMAND_WORDS)
    if words is None and config is None:
        if not (group or os.environ.get(SCHEDULE_GROUP) or is_in_dynamodb(url)):
            how = (
                "give --config FILE (that of 'cronce clock'), or the command after --; with ECS, --schedule-group or"
                f" {SCHEDULE_GROUP}, which only for a ledger in DynamoDB follows from the table's name"
            )
            raise InputMissingError(f"what starts the work of {job}", how)
        launcher = launcher_for(url, group)
        return Way(definition=launcher.find(job), launcher=launcher, tasks=launcher)
    from cronce.cli.actions.host_start import (  # noqa: PLC0415  # only what is used is loaded
        CommandStart,
        HostJob,
        TargetStart,
        job_of_config,
    )

    configured = job_of_config(job, config) if config is not None else None
    policy = TaskSettings.from_environ({name: os.environ[name] for name in [POLICY] if name in os.environ}).policy
    definition = HostJob(job=job, policy=policy, configured=configured)
    if words is not None or configured is None:
        here = CommandStart(ledger, words or [], output_to_stderr=bool(ctx.params.get("as_document")))
        return Way(definition=definition, launcher=here, tasks=None, is_here=True)
    return Way(definition=definition, launcher=TargetStart(configured, url=url or ""), tasks=None)
