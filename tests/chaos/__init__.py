"""Real processes, a real DynamoDB Local, and everything that can happen to them, for minutes.

    python -m tests.chaos --seed 1 --seconds 60

`cronce exec` and programs with `run_once` ask for the same periods again and again, from machines that each have
their own way to the ledger and their own clock. Processes are killed, terminated, stopped and woken, clocks jump,
requests are lost, held back, delivered late, throttled, and their answers dropped. Afterwards everything calms
down, and every period is asked for twice more.

Judged is only what the outside saw: the lines that the work appended to a file, and the exit codes. The ledger is
not asked. The seed fixes the dice, not the order in which an operating system runs processes: a seed does not
replay a run, it only repeats its weather.

- `journal`: the lines that the work writes
- `work`, `once`: the work, as a command of `cronce exec` and as a program with `run_once`
- `shifted/sitecustomize`: the clock of a machine
- `weather`: the way to the ledger
- `programs`: starts, kills, stops, wakes; then the calm
- `judge`: what must not be seen
"""
