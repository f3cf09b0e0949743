"""Who this process is: the ECS task it runs in, else host and process id."""

from __future__ import annotations

import json
import os
import re
import threading
from contextlib import closing
from typing import Any

from cronce.aws.http import HttpConnection, connect, parse_url

METADATA_URI = "ECS_CONTAINER_METADATA_URI_V4"
"""Set by ECS in every container (ECS Developer Guide, "Task metadata endpoint version 4")."""

_LONGEST_WAIT = 2.0
_TASK_ARN = re.compile(r"arn:aws[a-z-]*:ecs:(?P<region>[a-z0-9-]+):[0-9]{12}:task/(?P<cluster>[^/\s]+)/[A-Za-z0-9-]+")


def task_identity() -> str:
    """The ARN of this ECS task, or `host:pid`. At most 2 s late, and never an error."""
    uri = os.environ.get(METADATA_URI)
    if uri:
        answer: list[str] = []
        # In a thread, because a server that sends a byte a second keeps every socket timeout happy.
        thread = threading.Thread(target=_ask_metadata, args=(uri, answer), name="cronce-identity", daemon=True)
        thread.start()
        thread.join(_LONGEST_WAIT)
        if answer:
            return answer[0]
    return f"{os.uname().nodename}:{os.getpid()}"


def stop_ecs_task(owner: str, reason: str) -> None:
    """Ask ECS to stop the owner's task, if the owner is one.

    It only makes a `REPLACE` quicker: the request to stop stands in the ledger, and the owner
    sees it at its next heartbeat. So a missing permission (`ecs:StopTask`) is no error.
    """
    match = _TASK_ARN.fullmatch(owner)
    if match is None:
        return
    import botocore.session  # noqa: PLC0415  # heavy, and REPLACE only
    from botocore.config import Config  # noqa: PLC0415
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

    config = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 1})
    try:
        session = botocore.session.get_session()
        client: Any = session.create_client("ecs", region_name=match["region"], config=config)
        client.stop_task(cluster=match["cluster"], task=owner, reason=reason[:255])
    except (BotoCoreError, ClientError):
        return


def _ask_metadata(uri: str, answer: list[str]) -> None:
    """Put the task's ARN into `answer`; proxies are not asked."""
    try:
        url = parse_url(uri)
        with closing(HttpConnection(connect(url.host, url.port, timeout=_LONGEST_WAIT))) as endpoint:
            arn = json.loads(endpoint.exchange("GET", f"{url.path}/task", {"Host": url.netloc}).body)["TaskARN"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return
    if isinstance(arn, str) and _TASK_ARN.fullmatch(arn):
        answer.append(arn)
