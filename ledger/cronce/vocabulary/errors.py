"""Every error cronce raises, under one root.

A message says what happened, to which job and period, and what to do about it. Losing a race is
not here: that is a value (`cronce.Refusal`), because nothing went wrong.
"""

from __future__ import annotations

__all__ = [
    "ClockSkewError",
    "CronceError",
    "InputInvalidError",
    "InputMissingError",
    "LeaseLostError",
    "LedgerUnavailableError",
    "RecordUnreadableError",
    "StopRequestedError",
]


class CronceError(Exception):
    """Something about cronce went wrong; the message says what, where, and what to do."""


class InputInvalidError(CronceError):
    """A value from outside cannot be used; nothing was written.

    Attributes:
        what: The thing that was given, as its giver knows it: `job`, `--lease`, `CRONCE_POLICY`.
        value: What was given.
        allowed: What would have been taken.
    """

    def __init__(self, what: str, value: object, allowed: str) -> None:
        self.what = what
        self.value = value
        self.allowed = allowed
        super().__init__(f"{what}: {_shown(value)} is not usable; allowed: {allowed}")

    def called(self, what: str) -> InputInvalidError:
        """The same error under the name that the giver of the value knows it by."""
        return InputInvalidError(what, self.value, self.allowed)


class InputMissingError(CronceError):
    """Something that cronce must be told was not told, and it does not guess; nothing was written."""

    def __init__(self, what: str, how: str) -> None:
        self.what = what
        super().__init__(f"{what} is missing: {how}")


class LedgerUnavailableError(CronceError):
    """The store did not answer, or not in a usable way; the work must not start on it.

    Whether a write landed is unknown. Asking again with the same token is safe.

    Attributes:
        where: The store as a person knows it, for DynamoDB the table, the Region and the endpoint.
        cause: What went wrong there.
        transient: True if the same request may succeed a moment later.
    """

    def __init__(self, where: str, cause: str, *, transient: bool, hint: str = "") -> None:
        self.where = where
        self.cause = cause
        self.transient = transient
        super().__init__(f"the ledger cannot be used: {where}: {cause}{'; ' + hint if hint else ''}")


class RecordUnreadableError(LedgerUnavailableError):
    """A row is there but is not one this version can read; it is neither used nor overwritten."""

    def __init__(self, job: str, key: str, problem: str) -> None:
        self.job = job
        self.key = key
        super().__init__(
            f"row job={job!r} key={key!r}",
            problem,
            transient=False,
            hint="it is left as it is; a newer cronce or a person has to look at it",
        )


class ClockSkewError(LedgerUnavailableError):
    """This host's clock disagrees with the store's by more than leases can bear."""


class LeaseLostError(CronceError):
    """The claim is no longer this process's; its work must stop, and its outcome was not written."""

    def __init__(self, job: str, period: str, attempt: int, why: str) -> None:
        self.job = job
        self.period = period
        self.attempt = attempt
        self.why = why
        super().__init__(
            f"attempt {attempt} of {job} {period} no longer holds its run: {why};"
            " stop the work, another attempt may be running"
        )


class StopRequestedError(CronceError):
    """The claim is still held, but the work was asked to end; raised by `Claim.check`."""


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # too deep, or a class of somebody else's: the error still has to be told
        return f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"
