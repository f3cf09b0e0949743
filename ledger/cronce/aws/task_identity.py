"""The name of this process in the ledger: the ARN of its ECS task, else host and process id."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing

from cronce.aws.http import HttpConnection, connect, deadline, parse_url

METADATA_URI = "ECS_CONTAINER_METADATA_URI_V4"
"""Set by ECS in every container (ECS Developer Guide, "Task metadata endpoint version 4")."""

TASK_ARN = re.compile(r"arn:aws[a-z-]*:ecs:(?P<region>[a-z0-9-]+):[0-9]{12}:task/(?P<cluster>[^/\s]+)/[A-Za-z0-9-]+")

_LONGEST_WAIT = 2.0


def task_identity() -> str:
    """The ARN of this ECS task, or `host:pid`. Returns within 2 seconds and raises no error."""
    uri = os.environ.get(METADATA_URI)
    return (uri and _task_arn(uri)) or f"{os.uname().nodename}:{os.getpid()}"


def _task_arn(uri: str) -> str | None:
    """The task's ARN, as the metadata endpoint says it; None without a usable answer."""
    by = deadline(_LONGEST_WAIT)
    try:
        url = parse_url(uri)
        with closing(HttpConnection(connect(url.host, url.port, by=by))) as endpoint:
            response = endpoint.exchange("GET", f"{url.path}/task", {"Host": url.netloc}, by=by)
        arn = json.loads(response.body)["TaskARN"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return arn if response.status == 200 and isinstance(arn, str) and TASK_ARN.fullmatch(arn) else None
