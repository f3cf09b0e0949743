"""ECS StopTask, which makes `REPLACE` faster."""

from __future__ import annotations

from datetime import timedelta

from cronce.aws.answers import NoAnswerError
from cronce.aws.task_identity import TASK_ARN

_CALL_TIMEOUT = timedelta(seconds=3)


def stop_ecs_task(owner: str, reason: str) -> None:
    """Ask ECS to stop the owner's task; does nothing if the owner is not an ECS task.

    The request to stop is already in the ledger, and the owner sees it at its next heartbeat: StopTask only
    shortens the wait. So an error, such as a missing `ecs:StopTask` permission, is ignored.
    """
    match = TASK_ARN.fullmatch(owner)
    if match is None:
        return
    try:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  # heavy, and REPLACE only
    except ModuleNotFoundError:  # the portable folder
        return

    from cronce.aws.sdk import make_client, within  # noqa: PLC0415  # same

    def stop() -> None:
        client = make_client("ecs", region=match["region"], call_timeout=_CALL_TIMEOUT, tries=1)
        client.stop_task(cluster=match["cluster"], task=owner, reason=reason[:255])

    try:
        within(_CALL_TIMEOUT, stop)
    except (BotoCoreError, ClientError, NoAnswerError):
        return
