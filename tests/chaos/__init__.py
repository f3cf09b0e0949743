"""Minutes of real processes on a real DynamoDB Local, PostgreSQL or Valkey, with everything that can happen to them.

    python -m tests.chaos --seed 1 --seconds 60 --store valkey

`cronce exec` and programs with `run_once` claim the same periods again and again, from machines that each have their
own connection to the ledger and their own clock. Processes are killed, terminated, stopped and continued; clocks jump;
requests are lost, delayed, delivered late or throttled; answers are dropped; a server with files crashes. Then all of
this ends, and every period is claimed twice more.

Only what is visible from outside is judged: the lines that the work appended to a file, and the exit codes. The ledger
is not read. The seed fixes the random choices, not the order in which the operating system runs processes: a seed
repeats the faults, not the run.

- `journal`: the lines that the work writes
- `work`, `once`: the work, as a command of `cronce exec` and as a program with `run_once`
- `shifted/sitecustomize`: the clock of a machine
- `weather`: the connection to the ledger
- `programs`: starts, kills, stops and continues programs; then the calm
- `clocks`: `cronce clock` on hosts whose wall clocks step
- `judge`: what must not happen
"""
