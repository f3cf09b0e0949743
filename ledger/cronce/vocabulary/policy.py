"""How a job handles overlaps, lateness, failures and crashes, in the terms of Kubernetes CronJob."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from cronce.vocabulary.durations import checked_duration, format_duration
from cronce.vocabulary.errors import InputInvalidError
from cronce.vocabulary.names import checked_group
from cronce.vocabulary.values import checked_flag, checked_member, checked_whole, field_names, value_class

__all__ = ["CatchUp", "ConcurrencyPolicy", "OnLost", "Policy"]

_ONE_SECOND = timedelta(seconds=1)


class ConcurrencyPolicy(StrEnum):
    """What happens when a run of the job is due while another run is alive."""

    ALLOW = "ALLOW"
    """Both run at the same time."""
    FORBID = "FORBID"
    """The later one is skipped."""
    REPLACE = "REPLACE"
    """The running one is asked to stop; the later one starts when it has ended."""
    WAIT = "WAIT"
    """The later one waits for the running one, until its starting deadline."""


_EXCLUDING = (ConcurrencyPolicy.FORBID, ConcurrencyPolicy.WAIT)
"""The policies that a job of an exclusion group may have. `ALLOW` excludes nothing, and it is not for a policy to stop
the run of another job, as `REPLACE` would."""


class OnLost(StrEnum):
    """What happens to a run whose process died without reporting an outcome."""

    RETRY = "RETRY"
    """The next claim takes it over."""
    HOLD = "HOLD"
    """It waits for a person (`cronce release`)."""


class CatchUp(StrEnum):
    """Which missed ticks are run afterwards."""

    NONE = "NONE"
    LATEST = "LATEST"
    ALL = "ALL"


@value_class(kw_only=True)
class Policy:
    """How a job handles overlaps, lateness, failures and crashes.

    A field takes a value of its type, or the text or number that a person writes for it (`"FORBID"`, `"5m"`); anything
    else is an `InputInvalidError` that names the field.

    Attributes:
        concurrency_policy: See `ConcurrencyPolicy`; a member, or its name as text.
        starting_deadline: How late after its scheduled time a run may start for the first time.
        active_deadline: How long an attempt may run.
        backoff_limit: How many failed attempts are retried.
        suspend: True to skip scheduled runs. A person's rerun is not skipped.
        catch_up: See `CatchUp`.
        on_lost: See `OnLost`.
        lease: How long the claim of a dead process is respected; a heartbeat renews it every quarter of this time.
        exclusion_group: Runs of jobs of one group never overlap; with `FORBID` or `WAIT` only. None for no group.
    """

    concurrency_policy: ConcurrencyPolicy = ConcurrencyPolicy.FORBID
    starting_deadline: timedelta | None = None
    active_deadline: timedelta | None = None
    backoff_limit: int = 0
    suspend: bool = False
    catch_up: CatchUp = CatchUp.NONE
    on_lost: OnLost = OnLost.RETRY
    lease: timedelta = timedelta(seconds=60)
    exclusion_group: str | None = None

    def __post_init__(self) -> None:
        for name in field_names(Policy):
            object.__setattr__(self, name, _parsed(name, getattr(self, name), what=name))
        if not timedelta(milliseconds=500) <= self.lease <= timedelta(hours=1):
            raise InputInvalidError("lease", format_duration(self.lease), "500ms to 1h")
        for name in ("starting_deadline", "active_deadline"):
            deadline: timedelta | None = getattr(self, name)
            if deadline is not None and deadline < _ONE_SECOND:
                raise InputInvalidError(name, format_duration(deadline), "at least 1s")
        if self.exclusion_group is not None and self.concurrency_policy not in _EXCLUDING:
            allowed = f"only with concurrency_policy FORBID or WAIT, not {self.concurrency_policy}"
            raise InputInvalidError("exclusion_group", self.exclusion_group, allowed)

    @classmethod
    def from_json(cls, text: str, *, what: str = "policy") -> Policy:
        """The policy that a JSON object gives, e.g. `{"backoff_limit": 2, "lease": "60s"}`.

        Raises:
            InputInvalidError: It is not a JSON object, or a field is unknown or not usable.
        """
        import json  # noqa: PLC0415  # with the store; `from cronce import Ledger` alone has no use for it

        try:
            given = json.loads(text, object_pairs_hook=_without_duplicates)
        except (ValueError, RecursionError):
            raise InputInvalidError(what, text, "a JSON object, each field once") from None
        if not isinstance(given, dict):
            raise InputInvalidError(what, text, "a JSON object")
        return cls.from_fields(given, what=what)

    @classmethod
    def from_fields(cls, given: dict[str, object], *, what: str = "policy") -> Policy:
        """The policy with these fields, each as a person writes it; absent ones have their defaults.

        Raises:
            InputInvalidError: A field is unknown or not usable; the error names it.
        """
        known = field_names(cls)
        for name in given:
            if name not in known:
                raise InputInvalidError(f"{what} field", name, ", ".join(known))
        try:
            return cls(**given)  # type: ignore[arg-type]  # each value is parsed for its own field
        except InputInvalidError as error:
            raise error.called(f"{what} {error.what}") from None

    def to_json(self) -> str:
        """The JSON that `from_json` reads back as this policy; defaults are omitted."""
        import json  # noqa: PLC0415  # same

        return json.dumps(self.to_fields())

    def to_fields(self) -> dict[str, object]:
        """The fields that `from_fields` reads back as this policy; defaults are omitted."""
        default = Policy()
        values = {name: getattr(self, name) for name in field_names(Policy)}
        changed = {name: value for name, value in values.items() if value != getattr(default, name)}
        return {n: format_duration(v) if isinstance(v, timedelta) else v for n, v in changed.items()}


def _parsed(name: str, value: object, *, what: str) -> object:
    match name:
        case "concurrency_policy":
            return checked_member(ConcurrencyPolicy, value, what=what)
        case "on_lost":
            return checked_member(OnLost, value, what=what)
        case "catch_up":
            return checked_member(CatchUp, value, what=what)
        case "backoff_limit":
            if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 4:
                value = int(value)
            return checked_whole(value, what=what, least=0, most=1000)
        case "suspend":
            return checked_flag(value, what=what)
        case "exclusion_group":
            return None if value is None else checked_group(value, what=what)
        case "lease":
            return checked_duration(value, what=what)
        case _:
            return None if value is None else checked_duration(value, what=what)


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    given = dict(pairs)
    if len(given) != len(pairs):
        msg = "a field is given twice"
        raise ValueError(msg)
    return given
