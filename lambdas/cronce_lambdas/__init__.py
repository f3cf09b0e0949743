"""AWS Lambda functions that react to ECS events, to time and to people.

- `recorder`: a task stopped, or could not start. It settles the run and arranges the next task.
- `watchdog`: runs every minute. It finds missed ticks, lost runs, ticks to catch up and wrong pinned services.
- `rerun`: a person asks for a run. It has the run started if the claim of its task would be accepted.
- `board`: a dashboard asks for the calendar of the runs, or for single runs. It only reads.

The decisions are pure: `stopped_task` and `dead_letters` interpret an event, `event_check` compares it with the job's
definition, `relaunch` decides whether a run gets another task. `next_task` carries out what was decided about a run's
next task. What a watchdog does about a job is in `cronce.watch`.
"""
