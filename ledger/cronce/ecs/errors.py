"""What can go wrong when a job's task is to be started, besides the calls themselves (`cronce.aws.errors`)."""

from __future__ import annotations

from collections.abc import Sequence

from cronce.vocabulary.errors import CronceError


class JobUnknownError(CronceError):
    """No schedule in the group defines the job.

    Attributes:
        job: The job that was asked for.
        group: The schedule group that was searched.
        near: Jobs in the group with a similar name.
    """

    def __init__(self, job: str, group: str, near: Sequence[str]) -> None:
        self.job = job
        self.group = group
        self.near = tuple(near)
        hint = f"; there is {', '.join(near)}" if near else "; check the job's name, the group and the Region"
        super().__init__(f"no schedule of the group {group} is for the job {job}{hint}")
