"""The record -> docs/comparison.md. Pure, but for the two paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.compare.peers import PEERS
from benchmarks.compare.stories import INTERVAL, PROCESSES, STORIES, TICKS

RECORDED = Path(__file__).with_name("recorded.json")
PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"

_INTRODUCTION = f"""\
<!-- `python -m benchmarks.compare --record` writes this page from benchmarks/compare/recorded.json. -->
# Comparison

The same story on cronce and on what people use instead: a tick every {INTERVAL} s, {PROCESSES} processes of each
contender, {TICKS} ticks. The work of a tick appends one line to a log when it begins and one when it ends. The tables
are counted from these lines alone, whatever a contender records itself. `make compare` plays it again in less than 15
minutes; the program of each contender is a short file in `benchmarks/compare/programs`.
"""

_WORDS = """\
- **once**: one attempt began and came to its end. **twice**: two or more came to their end. **never**: nobody began.
- **cut off**: an attempt was killed, or had not ended when the story was over. Then the tick was **resumed** by another
  attempt (in brackets: the longest time from the begin of the first one), or **lost**.
- **early**: the work began more than a second before its time.
- **at once**: the most attempts that were at work at the same time, of any tick.
- **alive**: how many of the contender's processes still ran at the end. Nothing restarts those that give up.
"""

_FAIRNESS = """\
Every contender has the settings with which it does best here, and those that only shorten a timeout to the length of
the story. All that use PostgreSQL share one server, with a database each. Each that uses Valkey has a server with
`appendfsync always`. All contenders play at the same time on the same machine, so that the load is the same for all.

What the counts do not show:

- The tools promise different things. DBOS, Celery and procrastinate are for work in many steps or many tasks, with
  retries and queues; a schedule is one of their parts. The comparison asks only what becomes of ticks.
- An advisory lock and a key for the job forbid overlaps. Where the work is longer than the interval, *never* is then
  what was asked for. cronce records such a tick as SKIPPED(overlap); a lock leaves no trace.
- After a kill, `cronce clock` and DBOS may do a tick twice: the work came to its end, and its process was killed before
  it could record that. In an earlier play of the kills, one tick of each `cronce clock` met that. [Effects](effects.md)
  decide what happens then, per effect.
- `cronce` in each process resumes a killed run when somebody asks for its period again, for example `cronce sweep`. In
  the story nobody does; until then the row says RUNNING with an expired lease.
- Celery's work is told no nominal time. Its ticks are counted by messages: two within half an interval are one tick
  done twice. So a clock that is ahead sends nothing early in this table. A process is alive if its worker is.
- One run of each story is a sample: a single tick more or less is chance. cronce on DynamoDB is not among the
  contenders, because DynamoDB Local keeps its tables in memory and loses them when it is restarted.
- The times include the load of the machine.
"""

_COST = f"""\
Of the undisturbed story. Memory is proportional (PSS), with all that a process starts; one process of {PROCESSES}. The
first process of each starts alone on an empty database; up to one interval of its time is the wait for a tick.
"""

_Column = tuple[str, Callable[[Mapping[str, Any]], object]]

_COLUMNS: tuple[_Column, ...] = (
    ("once", lambda c: c["once"]),
    ("twice", lambda c: _bad(c["doubled"])),
    ("never", lambda c: _bad(c["missed"])),
    ("cut off", lambda c: c["cut"]),
    ("resumed", lambda c: f"{c['resumed']} ({c['resumed_after']:.0f} s)" if c["resumed"] else 0),
    ("lost", lambda c: _bad(c["lost"])),
    ("early", lambda c: _bad(c["early"])),
    ("at once", lambda c: c["at_once"]),
    ("alive", lambda c: f"{c['alive']} of {PROCESSES}"),
)
_COSTS: tuple[_Column, ...] = (
    ("statements or commands per tick", lambda c: c["statements"]),
    ("MB per process", lambda c: c["megabytes"]),
    ("seconds to the first run", lambda c: "none in 30 s" if c["first_run"] is None else c["first_run"]),
)


def rendered(record: Mapping[str, Any]) -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(record["versions"].items(), key=_by_name))
    loads = ", ".join(
        f"{name} {min(of['load'])} to {max(of['load'])} ({of['at']})" for name, of in record["stories"].items()
    )
    settings = "\n".join(f"- **{peer.title}** (`{_program(peer.command)}`): {peer.settings}." for peer in PEERS)
    recorded = (
        f"Recorded on {record['machine']}. Load average during the stories, and when they were played (UTC): {loads}."
        " Above 2, other programs were busy: late starts are then no contender's fault.\n"
    )
    return "\n".join(
        [
            _INTRODUCTION,
            recorded,
            f"Versions: {versions}.\n",
            _WORDS,
            tables(record),
            "## Settings\n",
            settings + "\n",
            "## Fairness\n",
            _FAIRNESS,
        ]
    )


def tables(record: Mapping[str, Any]) -> str:
    """A table for each story, and one of what the contenders cost."""
    parts = []
    for name, played in record["stories"].items():
        story = STORIES[name]
        parts += [f"## {story.title}\n", f"{story.says}\n", _table(_COLUMNS, played["counts"])]
    for played in record["stories"].values():
        if "costs" in played:
            parts += ["## Cost\n", _COST, _table(_COSTS, played["costs"])]
    return "\n".join(parts)


def _table(columns: Iterable[_Column], of: Mapping[str, Mapping[str, Any]]) -> str:
    columns = list(columns)
    rows = ["| | " + " | ".join(title for title, _ in columns) + " |", "|---" + "|---:" * len(columns) + "|"]
    rows += [
        f"| {peer.title} | " + " | ".join(str(value(of[peer.key])) for _, value in columns) + " |"
        for peer in PEERS
        if peer.key in of
    ]
    return "\n".join(rows) + "\n"


def _bad(number: int) -> str:
    return f"**{number}**" if number else "0"


def _program(command: tuple[str, ...] | str) -> str:
    if isinstance(command, str):
        return "by_celery.py"
    return command[1].rpartition("/")[2] if command[1].endswith(".py") else "cronce clock"


def _by_name(item: tuple[str, str]) -> str:
    return item[0].lower()
