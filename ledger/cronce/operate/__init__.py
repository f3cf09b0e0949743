"""What happened to a run and what to do about it, for people (docs/adr/0023-operate.md).

`gathering` asks the ledger, EventBridge Scheduler and ECS for `facts`. The others are pure: `why` makes a
`diagnosis` of the facts. `row_causes` finds the cause in a row, `ends` in how a container ended, `aws_causes` in a text
of AWS; `task_variables` finds variables that are wrong, and `faulty_schedules` further schedules. `advice` says what a
person can do, `remedies` has the commands that mend a cause, `look_up` says what a row is about, and `wording` has text
for values.

`cronce doctor` is `examining`, with `launching`, `access` and `machinery` for what is deployed. They ask by
`aws_requests`, and `checks` judges the answers. `event_bus` and `event_text` send events.
"""
