"""The clock: dispatches the ticks of its jobs. It never does their work itself.

Who is authoritative: the row `(<clock>:<job>, period of the tick)`. A tick is dispatched by the process that
claims this row; the row alone prevents two clocks from dispatching the same tick. The leader's lease only
keeps the other processes from trying. It may be wrong for a while without harm.

    standby --(acquires the leader's row)--> leading --(SIGTERM: releases it)--> end
       ^                                        |
       +------------(the lease is lost)---------+

While it leads, one loop makes all decisions and waits for nothing but the ledger. Each turn reads the time,
adds the ticks that became due, renews the lease before it starts any of them, and passes each tick to a worker,
which claims the row, calls the target and completes the row. A target that hangs delays only its own job. A
loop that hangs loses the lease.

The leader stores a cursor for each job in the checkpoint of its row: every tick up to the cursor is settled. The
next leader resumes from there, or from the newest row of the job if there is no cursor.

A tick has two forms: a `Tick` while it is open, and the `Delivery` that a target gets.

`config` parses the jobs; `plan` decides from times alone what is due, caught up, missed or given up; `agenda`
keeps the open ticks and the cursor of a job; `dispatch` takes one tick from claim to completion; `targets` calls
queues, tasks, functions, buses and commands; `service` is the loop.
"""
