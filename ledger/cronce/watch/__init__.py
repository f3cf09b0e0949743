"""What a watchdog does about the jobs of a ledger: missed ticks, lost runs, ticks to catch up.

The Lambda function `cronce_lambdas.watchdog` and the process `cronce watchdog` look in the same way. They differ in
where the jobs are defined, how work is started and where events go, which `jobs` and `launches` describe. Both can
look at a schedule group: `group_watchdog`, with `one_shots` and `tasks_at_work`.

Pure are `memory`, `due_ticks` (the ticks to judge) and `catching_up` (those to start afterwards). `look_at_job` and
`lost_runs` carry it out, `readable_rows` reads the ledger, `notices` reports, `turns` lets one look at a time.
"""
