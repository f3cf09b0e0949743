"""An explanation and the checks of a stack on the terminal: sentences, evidence and the next commands."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from cronce.cli.output.runs import status_text
from cronce.cli.output.tables import PlainConsole
from cronce.operate.advice import Advice
from cronce.operate.checks import Review, State
from cronce.operate.diagnosis import Diagnosis, Evidence, Explanation
from cronce.operate.facts import Facts
from cronce.operate.wording import visible
from cronce.protocol.records import RunRecord

_STATE_STYLES = {State.OK: "green", State.WARNING: "yellow", State.PROBLEM: "red", State.UNKNOWN: "cyan"}


def print_explanation(facts: Facts, explanation: Explanation) -> None:
    """Print it; every text from outside is shown as text."""
    console = PlainConsole()
    title = Text(visible(facts.job), style="bold")
    if facts.period:
        title.append(f"  {visible(facts.period)}")
    if isinstance(facts.row, RunRecord):
        title = Text.assemble(title, "  ", status_text(facts.row, facts.now))
    console.print(title)
    cause = explanation.cause
    console.print(Text(visible(cause.sentence), style="bold"))
    if cause.more:
        console.print(Text(visible(cause.more)))
    if cause.evidence:
        console.print()
        console.print(_grid(cause.evidence))
    if explanation.also or explanation.not_known:
        console.print()
    for each in explanation.also:
        console.print(Text(f"Also: {visible(each.sentence)}"))
        _print_steps(console, each)
    for unknown in explanation.not_known:
        console.print(Text(f"Not known: {visible(str(unknown))}", style="yellow"))
    if cause.steps:
        console.print()
        _print_steps(console, cause)


def print_checks(found: Sequence[Review]) -> None:
    """Print one line per check; below it, why it matters and the next command."""
    console = PlainConsole()
    for check in found:
        line = Text.assemble((f"{check.state.value:<10}", _STATE_STYLES[check.state]), f"{check.name:<14}")
        console.print(line.append(visible(check.sentence)), soft_wrap=not console.is_terminal)
        if check.why:
            console.print(Text(f"{'':<24}{visible(check.why)}", style="dim"), soft_wrap=not console.is_terminal)
        if check.command is not None:
            console.print_command(f"{'':<22}{check.command}")


def _print_steps(console: PlainConsole, of: Diagnosis) -> None:
    console.print_advice(Advice(of.sentence, of.steps))


def _grid(evidence: tuple[Evidence, ...]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=12)
    grid.add_column(overflow="fold")
    for each in evidence:
        grid.add_row(each.what, Text(visible(each.value)))
    return grid
