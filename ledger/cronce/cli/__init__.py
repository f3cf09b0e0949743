"""The command `cronce`.

- `main`: picks the command; `exec` and `checkpoint` start without loading anything else
- `exec_command`: `cronce exec`, the guard before any command
- `commands`: everything else, on click and rich (the extra `cli`)
- `exit_codes`: what each exit code means
"""
