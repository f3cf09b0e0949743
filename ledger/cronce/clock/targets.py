"""Calls the targets of ticks: queues, tasks, functions, buses and commands.

botocore is loaded when the first target needs it. Each call is tried once, with time limits well within the
job's `timeout`: the clock retries, and the ledger records each try.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any, assert_never

from cronce.clock.config import ClockJob, CommandTarget, EventTarget, LambdaTarget, SqsTarget, TaskTarget
from cronce.clock.dispatch import Delivery, DispatchFailedError, DispatchGivenUpError
from cronce.guard.processes import die_with_parent
from cronce.vocabulary.environment import (
    ATTEMPT,
    CHECKPOINT_SOCKET,
    CLOCK,
    FENCE,
    JOB,
    PERIOD,
    POLICY,
    RESUME_FROM,
    SCHEDULED_TIME,
    TRIGGER,
)
from cronce.vocabulary.errors import CronceError
from cronce.vocabulary.states import Trigger

_QUEUE_REGION = re.compile(r"https?://(sqs(-fips)?\.)?(?P<region>[a-z]{2,4}(-[a-z0-9]+)+)\.(queue\.)?amazonaws\.")
_ARN_REGION = re.compile(r"arn:[^:]+:[^:]+:(?P<region>[a-z0-9-]+):")
_NOT_FOR_COMMANDS = (CLOCK, POLICY, SCHEDULED_TIME, ATTEMPT, FENCE, RESUME_FROM, CHECKPOINT_SOCKET)

_AFTER_SIGTERM = 1.0
_LONGEST_LOOK = 0.05


class Targets:
    """Calls the targets of deliveries; a `Send`. Safe to use from several threads."""

    def __init__(
        self,
        *,
        schedule_group: Callable[[], str],
        region: str | None = None,
        make_client: Callable[..., Any] | None = None,
    ) -> None:
        """Load and call nothing yet.

        Args:
            schedule_group: The group of the EventBridge schedules that define the jobs of task targets.
            region: The Region of targets that do not name one; None for the environment's.
            make_client: Makes an SDK client for `(service, region=, timeout=)`; None for botocore's.
        """
        self._schedule_group = schedule_group
        self._region = region
        self._clients = _Clients(make_client or _make_client)
        self._launchers: dict[str, Any] = {}

    def prepare(self, jobs: Iterable[ClockJob]) -> None:
        """Create the clients that the jobs need, so that the first tick does not wait for them. Never raises."""
        for job in jobs:
            with suppress(Exception):  # the dispatch reports it
                match job.target:
                    case SqsTarget(url=url):
                        self._client("sqs", job, _region(_QUEUE_REGION, url))
                    case LambdaTarget(function=function):
                        self._client("lambda", job, _region(_ARN_REGION, function))
                    case EventTarget(bus=bus):
                        self._client("events", job, _region(_ARN_REGION, bus))
                    case TaskTarget():
                        self._launcher(job)
                    case CommandTarget():
                        pass
                    case _:
                        assert_never(job.target)

    def __call__(self, delivery: Delivery) -> str | None:
        """Call the target; see `Send`."""
        target = delivery.job.target
        match target:
            case SqsTarget():
                return self._send_message(delivery, target)
            case TaskTarget():
                return self._start_task(delivery, target)
            case LambdaTarget():
                return self._invoke(delivery, target)
            case EventTarget():
                return self._put_event(delivery, target)
            case CommandTarget():
                run_command(delivery, target)
                return None
            case _:
                assert_never(target)

    def _send_message(self, delivery: Delivery, target: SqsTarget) -> str | None:
        request = {"QueueUrl": target.url, "MessageBody": delivery.message}
        if target.fifo:
            tick = f"{delivery.job.name}\0{delivery.period}" + "".join(
                f"\0{name}={value}" for name, value in sorted(delivery.environment.items())
            )
            request["MessageDeduplicationId"] = hashlib.sha256(tick.encode()).hexdigest()
            request["MessageGroupId"] = delivery.job.name
        client = self._client("sqs", delivery.job, _region(_QUEUE_REGION, target.url))
        return _text(_called(client.send_message, **request).get("MessageId"))

    def _invoke(self, delivery: Delivery, target: LambdaTarget) -> str | None:
        client = self._client("lambda", delivery.job, _region(_ARN_REGION, target.function))
        answer = _called(
            client.invoke, FunctionName=target.function, InvocationType="Event", Payload=delivery.message.encode()
        )
        if answer.get("StatusCode") != 202:
            raise DispatchFailedError(f"Lambda answered {answer.get('StatusCode')} {answer.get('FunctionError', '')}")
        return _text(answer.get("ResponseMetadata", {}).get("RequestId"))

    def _put_event(self, delivery: Delivery, target: EventTarget) -> str | None:
        entry = {
            "EventBusName": target.bus,
            "Source": target.source,
            "DetailType": target.detail_type,
            "Detail": delivery.message,
        } | ({} if delivery.scheduled_at is None else {"Time": delivery.scheduled_at})
        client = self._client("events", delivery.job, _region(_ARN_REGION, target.bus))
        answer = _called(client.put_events, Entries=[entry])
        # Status 200 does not mean that the entries were accepted (EventBridge API Reference, PutEvents).
        result = (answer.get("Entries") or [{}])[0]
        if answer.get("FailedEntryCount") or not result.get("EventId"):
            raise DispatchFailedError(f"{result.get('ErrorCode')}: {result.get('ErrorMessage')}")
        return _text(result["EventId"])

    def _start_task(self, delivery: Delivery, target: TaskTarget) -> str | None:
        from cronce.ecs import Launched  # noqa: PLC0415  # loaded only if used

        launcher = self._launcher(delivery.job)
        try:
            definition = launcher.find(target.job)
            answer = launcher.run(
                definition,
                delivery.period
                if definition.date_in is None or delivery.scheduled_at is None
                else definition.period_of(delivery.scheduled_at),
                scheduled_at=delivery.scheduled_at,
                # The same values in every try: ECS then recognizes the request by its token.
                trigger=Trigger.SCHEDULE,
                attempt=1,
            )
        except CronceError as error:
            raise DispatchFailedError(str(error), timed_out=_timed_out(error.__cause__)) from error
        if isinstance(answer, Launched):
            return str(answer.task_arn)
        raise DispatchFailedError(answer.reason)

    def _launcher(self, job: ClockJob) -> Any:  # noqa: ANN401  # loaded late
        if job.name not in self._launchers:
            from cronce.ecs import Launcher  # noqa: PLC0415

            self._launchers[job.name] = Launcher(
                group=self._schedule_group(),
                scheduler=self._client("scheduler", job, None, calls=4),
                ecs=self._client("ecs", job, None, calls=4),
            )
        return self._launchers[job.name]

    def _client(self, service: str, job: ClockJob, region: str | None, *, calls: int = 1) -> Any:  # noqa: ANN401
        try:
            return self._clients.get(service, region or self._region, job.timeout / calls)
        except Exception as error:
            raise DispatchFailedError(f"no client for {service}: {error}", timed_out=_timed_out(error)) from error


class _Clients:
    """Clients by service, Region and time limit. Creating one does not block the others."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: dict[tuple[str, str | None, timedelta], tuple[threading.Lock, list[Any]]] = {}

    def get(self, service: str, region: str | None, timeout: timedelta) -> Any:  # noqa: ANN401  # an SDK's
        with self._lock:
            lock, made = self._made.setdefault((service, region, timeout), (threading.Lock(), []))
        with lock:
            if not made:
                made.append(self._make(service, region=region, timeout=timeout))
            return made[0]


def run_command(delivery: Delivery, target: CommandTarget) -> None:
    """Run the command to its end, in a process group that is killed at the job's `timeout`.

    Raises:
        DispatchFailedError: It failed, cannot be started, or took too long.
        DispatchGivenUpError: `give_up` was set before it ended.
    """
    environ = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_COMMANDS} | {
        JOB: delivery.job.name,
        PERIOD: delivery.period,
        TRIGGER: delivery.trigger,
        **({} if delivery.nominal_time is None else {SCHEDULED_TIME: delivery.nominal_time}),
        **delivery.environment,
    }
    words = [word.replace("{period}", delivery.period) for word in target.arguments]
    try:
        process = subprocess.Popen(  # noqa: S603  # the user's command
            words,
            env=environ,
            stdin=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=die_with_parent,  # noqa: PLW1509  # one call of the kernel: else a successor starts beside it
        )
    except OSError as error:
        raise DispatchFailedError(f"{words[0]}: {error.strerror or error}") from error
    deadline = time.monotonic() + delivery.job.timeout.total_seconds()
    look = 0.001
    while process.poll() is None:
        left = deadline - time.monotonic()
        if left <= 0 or delivery.give_up.is_set():
            _kill_group(process)
            if left > 0:
                raise DispatchGivenUpError(f"{words[0]} was stopped because the clock ends")
            raise DispatchFailedError(f"{words[0]} took longer than its timeout and was killed", timed_out=True)
        delivery.give_up.wait(min(look, left))
        look = min(look * 2, _LONGEST_LOOK)
    if process.returncode != 0:
        raise DispatchFailedError(f"{words[0]} ended with {_ending(process.returncode)}")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM, and SIGKILL after a moment, to the command and the processes it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_AFTER_SIGTERM)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {-code}"


def _make_client(service: str, *, region: str | None, timeout: timedelta) -> Any:  # noqa: ANN401  # made at run time
    """A client that tries once and whose calls take at most three quarters of the limit."""
    from cronce.aws.sdk import make_client  # noqa: PLC0415  # loaded only if used

    return make_client(service, region=region, call_timeout=timeout * 3 / 4, tries=1, connections=32)


def _called(operation: Callable[..., Any], **request: Any) -> Any:  # noqa: ANN401  # an SDK's answer
    try:
        return operation(**request)
    except Exception as error:
        # botocore's messages name the operation and the answer.
        raise DispatchFailedError(f"{type(error).__name__}: {error}", timed_out=_timed_out(error)) from error


def _timed_out(error: BaseException | None) -> bool:
    return type(error).__name__ in ("ReadTimeoutError", "ConnectTimeoutError")


def _region(pattern: re.Pattern[str], where: str) -> str | None:
    """The Region in a URL or an ARN, or None."""
    match = pattern.match(where)
    return match["region"] if match else None


def _text(value: object) -> str | None:
    return None if value is None else str(value)
