"""The parts of AWS that the emulator leaves out, and nothing else.

Everything else in the lane is the emulator's or the project's.

- `schedules`: EventBridge Scheduler. It starts the ECS task of a schedule with the schedule's role, fires one-time
  schedules and deletes them, and puts what it could not start into the dead-letter queue. The scenario decides about
  time: it delivers each tick; a one-time schedule fires at once.
- `task_events`: the event of ECS that a task stopped.
- `rules`: EventBridge invoking the functions of its rules; a scenario decides when a minute passes.
- `in_emulator`: IAM where the emulator evaluates a request differently from AWS, and the credentials of a task's role.
  Loaded by the emulator itself.

Not simulated: IAM for calls between AWS services (a queue's event source mapping, EventBridge invoking
a function, CloudFormation creating resources). `tests/cdk` checks their statements in the templates.
"""
