"""The texts of an event for people: its cause, and one line with the job, the period and the cause. Pure."""

from __future__ import annotations

from cronce.operate.row_causes import first_sentence
from cronce.operate.wording import visible
from cronce.watch.notices import Notice

_MOST = 900
"""Characters of the line; a message of SMS or chat that is longer is cut by others."""

_PLAIN = str.maketrans({'"': "'", "\\": "/", "<": "‹", ">": "›"})  # noqa: RUF001  # brackets that mean nothing to chats
"""EventBridge puts the text of an event into the JSON of a message without escaping it (User Guide, "Common issues with
transforming input"), and Slack takes `<!channel>` for a call to everybody."""


def cause_of(notice: Notice) -> str:
    """Why it happened: the first sentence that `cronce why` would say, if it knew only the row."""
    run = notice.run
    if run is None:
        return visible(notice.cause)
    if not notice.cause:
        return visible(first_sentence(run))
    return visible(f"{notice.cause} Its newest run, {run.period}: {first_sentence(run)}")


def text_for_people(notice: Notice, cause: str) -> str:
    """The line for people: plain text that can stand in JSON, and calls nobody."""
    detail = notice.detail
    job = " ".join(str(detail[name]) for name in ("job", "period") if detail.get(name))
    left = f" No machine starts it again: {detail['why']}." if detail.get("why") else ""
    line = visible(f"{notice.detail_type}: {job} in {detail['ledger']}. {cause}{left}").translate(_PLAIN)
    return line if len(line) <= _MOST else f"{line[: _MOST - 4]} ..."
