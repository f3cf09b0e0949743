"""How cronce calls AWS.

- `http`, `tls`, `sigv4`, `credentials`: the lean way, which needs only the standard library
- `sdk`: the only maker of botocore clients, and calls through them
- `answers`: what both ways return or raise, and which errors are transient
- `errors`: what a call of EventBridge Scheduler, ECS or EventBridge raises
- `task_identity`: the ARN of this ECS task, and what it runs
- `stop_task`: ECS StopTask
"""
