"""The parts of AWS that the emulator leaves out, and nothing else.

Everything else that the lane sees is the emulator's or the project's own.

- `schedules`: EventBridge Scheduler. It starts the ECS task of a schedule with the schedule's role, fires one-time
  schedules and deletes them, and puts what it could not start into the dead-letter queue. Time is the scenario's: a
  tick comes when a scenario delivers it, a one-time schedule fires at once.
- `task_events`: ECS telling EventBridge that a task stopped.
- `rules`: EventBridge telling the functions of the rules; a minute passes when a scenario says so.
- `in_emulator`: IAM where the emulator sees a request otherwise than AWS, and the credentials of a task's role. Loaded
  by the emulator itself.

What nobody plays: IAM for calls of AWS services among each other (a queue's event source mapping, EventBridge invoking
a function, CloudFormation making things). Their statements are looked at in the templates (`tests/cdk`).
"""
