"""The command `cronce`.

- `main`: picks the command; `exec` and `checkpoint` start without loading anything else
- `exec_command`, `guard`: `cronce exec`, its options and what it does
- `commands`: everything for people, on click and rich (the extra `cli`)
- `advice`, `wording`: what a state means and how it is said, pure; `render`: tables; `documents`: `--json`
- `exit_codes`: what each exit code means
"""
