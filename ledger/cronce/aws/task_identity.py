"""The name of this process in the ledger, and what it runs: the ARN of its ECS task, else host and process id."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from typing import Any

from cronce.aws.http import HttpConnection, connect, deadline, parse_url
from cronce.vocabulary.values import value_class

METADATA_URI = "ECS_CONTAINER_METADATA_URI_V4"
"""Set by ECS in every container (ECS Developer Guide, "Task metadata endpoint version 4")."""

TASK_ARN = re.compile(r"arn:aws[a-z-]*:ecs:(?P<region>[a-z0-9-]+):[0-9]{12}:task/(?P<cluster>[^/\s]+)/[A-Za-z0-9-]+")

_FAMILY = re.compile(r"[A-Za-z0-9_-]{1,255}")
_REVISION = re.compile(r"[0-9]{1,10}")
_DIGEST = re.compile(r"(?P<short>sha256:[0-9a-f]{12})[0-9a-f]{52}")

_LONGEST_WAIT = 2.0


@value_class(kw_only=True)
class TaskIdentity:
    """What the ledger says of this process.

    Attributes:
        name: The ARN of its ECS task, or `host:pid`.
        image: `family:revision` of its task definition and the digest of its image in short, as far as ECS says them.
    """

    name: str
    image: str | None = None


def task_identity() -> TaskIdentity:
    """The identity, with one request in an ECS task. Returns within 2 seconds and raises no error."""
    uri = os.environ.get(METADATA_URI)
    return (uri and _of_task(uri)) or TaskIdentity(name=f"{os.uname().nodename}:{os.getpid()}")


def _of_task(uri: str) -> TaskIdentity | None:
    """What the metadata endpoint says; None without a usable answer."""
    by = deadline(_LONGEST_WAIT)
    try:
        url = parse_url(uri)
        with closing(HttpConnection(connect(url.host, url.port, by=by))) as endpoint:
            response = endpoint.exchange("GET", f"{url.path}/task", {"Host": url.netloc}, by=by)
        task = json.loads(response.body)
        arn = task["TaskARN"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if response.status != 200 or not isinstance(arn, str) or not TASK_ARN.fullmatch(arn):
        return None
    return TaskIdentity(name=arn, image=_image(task, container=url.path.rpartition("/")[2]))


def _image(task: dict[str, Any], *, container: str) -> str | None:
    """What the task runs, as far as the answer has it in the documented form."""
    family, revision, digest = task.get("Family"), task.get("Revision"), _digest(task.get("Containers"), container)
    known = _matches(_FAMILY, family) and _matches(_REVISION, revision)
    return " ".join([*([f"{family}:{revision}"] if known else []), *([digest] if digest else [])]) or None


def _digest(containers: object, container: str) -> str | None:
    """The image of the container with that id; on EC2 the id is another, and the task's only container is meant."""
    if not isinstance(containers, list):
        return None
    ours = [each for each in containers if isinstance(each, dict) and each.get("Type") == "NORMAL"]
    named = [each for each in ours if each.get("DockerId") == container] or ours
    digest = named[0].get("ImageID") if len(named) == 1 else None
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    return found and found["short"]


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
