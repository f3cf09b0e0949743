"""The command `cronce`.

- `main`: picks the command; `exec` and `checkpoint` start without loading anything else
- `exec_command`, `guard`, `running`: `cronce exec`, its options, the claim, and the command under it;
  `exec_parser`: its help, and what is wrong with its options
- `commands`: everything for people, on click and rich (the extra `cli`)
- `advice`, `wording`: what a state means and how it is said, pure; `render`, `tick_tables`, `bar`: on a terminal;
  `documents`: `--json`
- `ticks`, `starting`: what a person means, and whether that may start now, pure; `starter` starts it, `following`
  waits for its end, `backfilling` does both for many
- `exit_codes`: what each exit code means
"""
