"""Every error cronce raises, under one root.

A message says what happened, to which job and period, and what to do. Losing a race is not an error: it is a value
(`cronce.Refusal`).
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
    """The root of all errors; the message says what failed, where, and what to do."""


class Found(str):
    """What was found in place of a value, in words: an error shows it without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in self)


class InputInvalidError(CronceError):
    """A given value cannot be used; nothing was written.

    Attributes:
        what: The name under which it was given: `job`, `--lease`, `CRONCE_POLICY`.
        value: The value.
        allowed: What is accepted.
    """

    def __init__(self, what: str, value: object, allowed: str) -> None:
        self.what = what
        self.value = value
        self.allowed = allowed
        told = _shown(value) if isinstance(value, Found) else f"{_shown(value)} is not usable"
        super().__init__(f"{what}: {told}; allowed: {allowed}")

    def called(self, what: str) -> InputInvalidError:
        """The same error under another name of the value: the one under which it was given."""
        return InputInvalidError(what, self.value, self.allowed)


class InputMissingError(CronceError):
    """A required value was not given, and is not guessed; nothing was written."""

    def __init__(self, what: str, how: str) -> None:
        self.what = what
        super().__init__(f"{what} is missing: {how}")


class LedgerUnavailableError(CronceError):
    """The store gave no usable answer; the work must not start.

    It is unknown whether a write was stored. A repeated request with the same token is safe.

    Attributes:
        where: The store; for DynamoDB the table, the Region and the endpoint.
        cause: What failed.
        transient: True if the same request may succeed a moment later.
    """

    def __init__(self, where: str, cause: str, *, transient: bool, hint: str = "") -> None:
        self.where = where
        self.cause = cause
        self.transient = transient
        super().__init__(f"the ledger cannot be used: {where}: {cause}{'; ' + hint if hint else ''}")


class RecordUnreadableError(LedgerUnavailableError):
    """A row exists that this version cannot read; it is neither used nor overwritten.

    Attributes:
        job: The row's job.
        key: Its sort key.
        problem: Why it cannot be read.
    """

    def __init__(self, job: str, key: str, problem: str) -> None:
        self.job = job
        self.key = key
        self.problem = problem
        super().__init__(
            f"row job={job!r} key={key!r}",
            problem,
            transient=False,
            hint="it is left as it is; a newer cronce or a person has to look at it",
        )


class ClockSkewError(LedgerUnavailableError):
    """This host's clock differs from the store's by more than leases tolerate."""


class LeaseLostError(CronceError):
    """This process no longer holds the claim; its work must stop, and its outcome was not written."""

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
    """The claim is still held, but the work was asked to stop; raised by `Claim.check`."""


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  # too deep, or a foreign class whose repr fails: the error is still reported
        return f"a {type(value).__name__}"
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"
