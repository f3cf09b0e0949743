"""What can go wrong when a task is to be started."""

from __future__ import annotations

from collections.abc import Sequence

from cronce.vocabulary.errors import CronceError


class JobUnknownError(CronceError):
    """No schedule of the group is that job's.

    Attributes:
        job: The job that was asked for.
        group: The schedule group that was searched.
        near: Jobs of the group with a similar name.
    """

    def __init__(self, job: str, group: str, near: Sequence[str]) -> None:
        self.job = job
        self.group = group
        self.near = tuple(near)
        hint = f"; there is {', '.join(near)}" if near else "; check the job's name, the group and the Region"
        super().__init__(f"no schedule of the group {group} is for the job {job}{hint}")


class LaunchUnavailableError(CronceError):
    """EventBridge Scheduler or ECS did not answer, or not now; the same call may succeed a moment later.

    Whether a task was started is unknown. Asking again is safe: a launch has a name of its own.

    Attributes:
        what: The call, and what it was about.
        cause: What went wrong.
    """

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"{what} had no answer: {cause}")


class LaunchRefusedError(CronceError):
    """EventBridge Scheduler or ECS said no, and will say so again.

    Attributes:
        what: The call, and what it was about.
        cause: What was said.
    """

    def __init__(self, what: str, cause: str) -> None:
        self.what = what
        self.cause = cause
        super().__init__(f"{what} was refused: {cause}")
