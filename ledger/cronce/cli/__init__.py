"""The command `cronce`.

- `main`: chooses the command; those of `runtime` start without loading anything else
- `runtime`: exec, pin, clock, health, checkpoint, once, each with a parser of its own
- `app`: the click group (the extra `cli`): its commands, what they share, their exit codes
- `commands`: runs, show, next, rerun, backfill, release, init, check, lambda-archive, help: one module per command
- `actions`: what the commands do, without a terminal
- `output`: what they print: tables, wording, advice, JSON
"""
