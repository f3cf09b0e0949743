"""The commands for people, on click: look at runs, start one again, free one, see what is next.

Only click is loaded here. A command loads rich, a store and the launcher when it runs, so `--help` is quick.

- `_group`: the command `cronce` itself, and what its commands share
- `_looking`: runs, show
- `_next`, `_rerun`, `_backfill`: options and help; `_coming`, `_starting`, `_filling`: what they do
- `_tending`: release, init; `_handed_over`: those with a parser of their own; `_learning`: demo, help
"""

from __future__ import annotations

from cronce.cli.commands import _backfill, _handed_over, _learning, _looking, _next, _rerun, _tending
from cronce.cli.commands._group import cronce, main

__all__ = ["cronce", "main"]

_IN_ORDER = (
    _handed_over.exec_,
    _looking.runs,
    _looking.show,
    _next.next_,
    _rerun.rerun,
    _backfill.backfill,
    _tending.release,
    _tending.init,
    _handed_over.clock,
    _handed_over.pin,
    _handed_over.health,
    _handed_over.checkpoint,
    _learning.demo,
    _learning.help_,
)
"""As `cronce --help` lists them: what a task does, what on-call does, what is set up once, the rest."""

for _command in _IN_ORDER:
    cronce.add_command(_command)
