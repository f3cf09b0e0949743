"""Have a ledger's rerun function start the task: for people who may invoke it, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cronce.aws.errors import CallRefusedError, CallUnavailableError
from cronce.aws.sdk import Service
from cronce.cli.actions.may_start import Refuse, Start, in_words
from cronce.operate.advice import Commands
from cronce.protocol.by_person import MayNotStart, MayStart
from cronce.protocol.overlap import Course
from cronce.protocol.records import RunRecord
from cronce.protocol.requests import RefusalReason
from cronce.stores.codec import decode
from cronce.vocabulary.errors import RecordUnreadableError
from cronce.vocabulary.names import checked_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Arranged:
    """EventBridge Scheduler starts the task, within two minutes.

    Attributes:
        start: What the function found.
        before: True if a task of this attempt was arranged earlier; its own person and reason are recorded.
    """

    start: Start
    before: bool


@dataclass(frozen=True, slots=True)
class NotArranged:
    """The function did not accept the request; `reason` is for scripts."""

    reason: str
    why: str


class RerunFunction:
    """A Lambda function `cronce_lambdas.rerun`."""

    def __init__(self, name: str, *, region: str | None) -> None:
        """Name the function; nothing is called yet.

        Args:
            name: Its name or ARN.
            region: AWS Region; None for the environment's.
        """
        self._name = name
        self._lambda = Service("lambda", region=region)

    def arrange(
        self, commands: Commands, *, actor: str, reason: str | None, force: bool, now: datetime
    ) -> Arranged | Refuse | NotArranged:
        """Ask for the run of the commands.

        Raises:
            InputInvalidError: The reason or the name is too long.
            CallUnavailableError: The function did not answer, or failed. Asking again starts no second run.
            CallRefusedError: The caller may not invoke it, or it is not a function of cronce.
        """
        wish: dict[str, Any] = {"job": commands.job, "period": commands.period}
        wish["actor"] = checked_line(actor, what="--actor")
        if reason is not None:
            wish["reason"] = checked_line(reason, what="--reason")
        if force:
            wish["force"] = True
        answer = self._invoke(wish)
        try:
            return _understood(answer, now, commands)
        except (KeyError, TypeError, ValueError, AttributeError, RecordUnreadableError):
            what = f"invoke {self._name} for {commands.job} {commands.period}"
            raise CallRefusedError(what, "the answer is not one of a rerun function of this version") from None

    def _invoke(self, wish: Mapping[str, Any]) -> Any:  # noqa: ANN401  # JSON
        what = f"{self._name} for {wish['job']} {wish['period']}"
        answer = self._lambda.call("invoke", what, FunctionName=self._name, Payload=json.dumps(wish).encode())
        from botocore.exceptions import BotoCoreError  # noqa: PLC0415  # already loaded

        try:
            document = json.loads(answer["Payload"].read())
        except (BotoCoreError, OSError, ValueError, RecursionError) as error:
            raise CallUnavailableError(f"invoke {what}", str(error)) from error
        if answer.get("FunctionError"):
            message = document.get("errorMessage") if isinstance(document, dict) else None
            raise CallUnavailableError(f"invoke {what}", str(message or answer["FunctionError"]))
        return document


def _understood(answer: Any, now: datetime, commands: Commands) -> Arranged | Refuse | NotArranged:  # noqa: ANN401
    """The answer as `cronce_lambdas.rerun` describes it."""
    if "why" in answer:
        return NotArranged(str(answer["reason"]), str(answer["why"]))
    run, beside = (_row(answer.get(name)) for name in ("run", "beside"))
    if answer["started"] is not True:
        if run is None and beside is None:
            raise TypeError
        refused = MayNotStart(run=run, reason=RefusalReason(answer["reason"]), beside=beside)
        words = in_words(refused, now, commands)
    else:
        course = Course(answer["course"])
        words = in_words(MayStart(run=run, forced=answer["forced"], course=course, beside=beside), now, commands)
    return words if isinstance(words, Refuse) else Arranged(start=words, before=bool(answer["before"]))


def _row(item: Any) -> RunRecord | None:  # noqa: ANN401
    if item is None:
        return None
    record = decode(item)
    if not isinstance(record, RunRecord):
        raise TypeError
    return record
