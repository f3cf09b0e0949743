"""The clock: dispatches the ticks of its jobs, and never does their work itself.

Who is authoritative: a tick is dispatched by whoever claims the row `(<clock>:<job>, nominal time)`. That
row alone keeps two clocks from dispatching one tick. The leader's lease only keeps them from trying, so it
may be wrong for a while without harm.

    standby --(the leader's row is free)--> leading --(SIGTERM, or the lease is lost)--> standby or end

Leading, one loop decides and never waits for anything but the ledger: it reads the time, takes up the ticks
that became due, renews the lease before it starts any of them, and gives each one to a worker (claim the
row, call the target, complete the row). So a target that hangs holds up nothing but itself, and a loop that
hangs loses the lease.

What a leader leaves behind is a cursor a job, in the checkpoint of the leader's row: every tick up to it is
settled. The next leader goes on from there; where the row is gone, from the newest row of the job.

From the text inwards: `config` reads and checks what is asked for; `every` has the ticks of `every = "10s"`;
`plan` decides what is due, caught up, missed or given up, from times alone; `cursors` is what one leader
tells the next; `agenda` keeps a job's ticks that are not settled; `dispatch` brings one tick to its end;
`targets` calls what is called; `service` is the loop.
"""
