"""AWS Lambda functions that react to ECS events and to time, and update the ledger.

- `recorder`: a task stopped, or could not start. It settles the run and arranges the next task.
- `watchdog`: runs every minute. It finds missed ticks, lost runs, ticks to catch up and wrong pinned services.

The decisions are pure: `stopped_task` and `dead_letters` interpret an event, `event_check` compares it with the job's
definition, `relaunch` decides whether a run gets another task, `due_ticks` finds the ticks to judge, and `catching_up`
those to start afterwards. `next_task` carries out what was decided about a run's next task.
"""
