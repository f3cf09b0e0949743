"""What reacts to ECS and to time, as AWS Lambda functions over the ledger.

- `recorder`: a task stopped, or could not be started -> its run is settled, its next task arranged
- `watchdog`: every minute -> missed ticks, lost runs, ticks to catch up, pinned services

The decisions are pure: `stopped` and `dead_letters` say what an event means, `relaunch` whether a run gets
another task, `missed` which ticks were due and what became of them.
"""
