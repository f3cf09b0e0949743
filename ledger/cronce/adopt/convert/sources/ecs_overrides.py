"""What ecschedule and EventBridge rules have in common: how ECS starts a task, and what it overrides in it."""

from __future__ import annotations

from collections.abc import Iterable

from cronce.adopt.convert.model import Notes
from cronce.adopt.convert.secrecy import may_be_secret, may_have_secret
from cronce.adopt.convert.sources.fields import Value
from cronce.vocabulary.errors import InputInvalidError

ONE_CONTAINER = "overrides of one container: a run is the work of one"
BY_CONSTRUCT = "the schedule gets a role of its own, with exactly what it needs"
ONE_TASK = "a run is one task; four tasks per tick are four jobs, or one job that starts more tasks"
NO_ROLE = "no role in an override; put it into the task definition"
_LAUNCH_TYPES = ("FARGATE", "EC2", "EXTERNAL")
_PLATFORM_VERSIONS = ("LATEST", "1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0")
_IN_DEFINITION = "only the task definition says it; put it there, or into one of the job's own"


def only_container(overrides: Value) -> Value | None:
    """The one container with overrides.

    Raises:
        InputInvalidError: There are several.
    """
    items = overrides.items()
    if len(items) > 1:
        raise overrides.refused(ONE_CONTAINER)
    return items[0] if items else None


def check_placement(launch_type: Value | None, platform_version: Value | None) -> None:
    """Check what becomes the name of a constant.

    Raises:
        InputInvalidError: There is no such launch type or platform version.
    """
    for value, known in ((launch_type, _LAUNCH_TYPES), (platform_version, _PLATFORM_VERSIONS)):
        if value is not None and value.text() not in known:
            raise value.refused(", ".join(known))


def providers_of(value: Value | None, notes: Notes) -> tuple[tuple[str, int | None, int | None], ...]:
    """Provider, base and weight of each item of a capacity provider strategy (ECS, CapacityProviderStrategyItem)."""
    found = []
    for each in [] if value is None else value.items():
        fields = each.fields()
        name = fields.need("capacityProvider", "the name of the capacity provider").text()
        base, weight = fields.take("base"), fields.take("weight")
        least = None if base is None else base.whole(most=100_000)
        found.append((name, least, None if weight is None else weight.whole(most=1000)))
        fields.report(notes)
    if value is not None:
        names = " ".join(name for name, _, _ in found)
        notes.kept(value.name, names, names, line=value.line)
    return tuple(found)


def command_of(value: Value | None, notes: Notes) -> tuple[str, ...] | None:
    """The command of an override; a remark if a secret seems to be in it."""
    if value is None:
        return None
    words = value.words()
    if not words:
        raise value.refused("at least one word")
    note_command(words, value.name, notes, line=value.line)
    return words


def note_command(words: Iterable[str], field: str, notes: Notes, *, line: int | None = None) -> None:
    """Note the command as kept; with a remark, and without its text, if a secret seems to be in it."""
    words = tuple(words)
    if may_have_secret(" ".join(words)):
        why = "it seems to contain a secret, which everybody with scheduler:GetSchedule can read: use a secret of ECS"
        notes.changed(field, "", "the command as it is", why, line=line)
    else:
        notes.kept(field, words, " ".join(words), line=line)


def environment_of(pairs: Iterable[tuple[str, str, int]], field: str, notes: Notes) -> dict[str, str]:
    """The variables without those that may be secrets and those that cronce sets.

    Args:
        pairs: Name, value and line of each.
        field: What the source calls them.
        notes: Where it is noted.

    Raises:
        InputInvalidError: A name is not that of a variable.
    """
    kept: dict[str, str] = {}
    for name, value, line in pairs:
        if not name or "=" in name or not name.isprintable():
            raise InputInvalidError(f"{notes.place.file}:{line}: {field}", name, "names without =")
        if name.startswith("CRONCE_"):
            notes.left(f"{field} {name}", "", "cronce sets the variables that begin with CRONCE_", line=line)
        elif may_be_secret(name, value):
            why = "it may be a secret, so its value is not copied; give it to the container as a secret of ECS"
            notes.left(f"{field} {name}", "", why, line=line)
        else:
            kept[name] = value
            notes.kept(f"{field} {name}", value, value, line=line)
    return kept


def note_sizes(values: Iterable[Value | None], notes: Notes) -> None:
    """Note CPU and memory of an override as not mapped."""
    for value in values:
        if value is not None:
            notes.left(value.name, value.content, _IN_DEFINITION, line=value.line)
