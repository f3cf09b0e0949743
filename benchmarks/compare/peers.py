"""The contenders, with their settings and the reason for each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.compare.stories import INTERVAL

PROGRAMS = Path(__file__).parent / "programs"
BIN = Path(sys.executable).parent
LEASE = "4s"

CLOCK = f"""
[jobs.tick]
every = "{INTERVAL}s"
target = {{ command = ["{sys.executable}", "{PROGRAMS / "by_cronce_clock.py"}"] }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A contender.

    Attributes:
        key: Its name in the record, its database and its log.
        title: Its name on the page.
        packages: The distributions whose versions the page names.
        server: `postgresql` or `valkey`.
        command: One of its processes; run by a shell if it is a text.
        prepare: A command before the first process.
        environ: For its processes.
        settings: What is not the default, and why.
        ticks_by_time: True if its work is told no nominal time, so that ticks are only counted.
    """

    key: str
    title: str
    packages: tuple[str, ...]
    server: str
    command: tuple[str, ...] | str
    settings: str
    prepare: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    ticks_by_time: bool = False

    def start(self, environ: Mapping[str, str], errors: Path) -> subprocess.Popen[bytes]:
        """Start one process, in a session of its own."""
        with errors.open("ab") as output:
            return subprocess.Popen(
                self.command,
                shell=isinstance(self.command, str),
                cwd=PROGRAMS,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


def _python(program: str) -> tuple[str, ...]:
    return (sys.executable, str(PROGRAMS / program))


def _cronce(key: str, title: str, server: str, command: tuple[str, ...], settings: str) -> Peer:
    return Peer(
        key=key,
        title=title,
        packages=("cronce",),
        server=server,
        command=command,
        prepare=(str(BIN / "cronce"), "init"),
        environ={"CRONCE_CLOCK": _clock_as_json()},
        settings=settings,
    )


def _clock_as_json() -> str:
    import json  # noqa: PLC0415
    import tomllib  # noqa: PLC0415

    return json.dumps(tomllib.loads(CLOCK))


_CLOCK = (str(BIN / "cronce"), "clock", "--job", "clock", "--lease", LEASE)
_CLOCK_SETTINGS = f"lease {LEASE} (60 s by default), so that a dead leader is replaced within the story"
_CLAIM_SETTINGS = (
    f"a thread with a clock in each process calls `Ledger.claim`; lease {LEASE}; policy ALLOW, and FORBID, the"
    " default, where the work is longer than the interval"
)

PEERS = (
    _cronce("cronce_clock_pg", "cronce clock, PostgreSQL", "postgresql", _CLOCK, _CLOCK_SETTINGS),
    _cronce("cronce_clock_valkey", "cronce clock, Valkey", "valkey", _CLOCK, _CLOCK_SETTINGS),
    _cronce(
        "cronce_claim", "cronce in each process, PostgreSQL", "postgresql", _python("by_cronce.py"), _CLAIM_SETTINGS
    ),
    Peer(
        key="dbos",
        title="DBOS",
        packages=("dbos",),
        server="postgresql",
        command=_python("by_dbos.py"),
        settings="a scheduled workflow with one step; a fixed `executor_id` per process, so that a process that comes"
        " back recovers its own workflows (the free library recovers no other's)",
    ),
    Peer(
        key="apscheduler",
        title="APScheduler 4",
        packages=("apscheduler",),
        server="postgresql",
        command=_python("by_apscheduler.py"),
        settings="the newest pre-release; lease_duration 4 s and cleanup_interval 10 s (30 s and 15 min by default), so"
        " that the jobs of the dead are released within the story; max_running_jobs 10 (1 by default), so that one dead"
        " job does not block the task",
    ),
    Peer(
        key="celery",
        title="Celery beat, RedBeat",
        packages=("celery", "celery-redbeat"),
        server="valkey",
        command=f"{BIN}/celery -A by_celery beat -S redbeat.RedBeatScheduler -l WARNING --pidfile= &"
        f" exec {BIN}/celery -A by_celery worker -c 4 -l WARNING -n $STORY_PROCESS@story",
        settings="each process is a beat and a worker with 4 children; acks_late, reject_on_worker_lost and a"
        " visibility timeout of 10 s (1 h by default), so that a killed task comes back within the story; RedBeat's"
        " lock 5 s",
        ticks_by_time=True,
    ),
    Peer(
        key="procrastinate",
        title="procrastinate",
        packages=("procrastinate",),
        server="postgresql",
        command=_python("by_procrastinate.py"),
        prepare=(str(BIN / "procrastinate"), "--app=by_procrastinate.app", "schema", "--apply"),
        settings="a periodic task, 8 at once; every 5 s a second one retries stalled jobs, as the documents show;"
        " heartbeat 1 s, stalled after 4 s (10 s and 30 s by default)",
    ),
    Peer(
        key="advisory_lock",
        title="advisory lock, by hand",
        packages=("psycopg",),
        server="postgresql",
        command=_python("by_advisory_lock.py"),
        settings="a clock in each process; `pg_try_advisory_xact_lock` during the work",
    ),
    Peer(
        key="set_nx_job",
        title="SET NX EX, one key for the job",
        packages=("redis",),
        server="valkey",
        command=_python("by_set_nx.py"),
        environ={"STORY_KEY": "job"},
        settings="a clock in each process; expiry 4 s, deleted by its owner after the work",
    ),
    Peer(
        key="set_nx_tick",
        title="SET NX EX, one key per tick",
        packages=("redis",),
        server="valkey",
        command=_python("by_set_nx.py"),
        environ={"STORY_KEY": "tick"},
        settings="a clock in each process; the key has the nominal time and stays for 10 minutes",
    ),
)


def base_environ() -> dict[str, str]:
    """What every process gets."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {"PYTHONPATH": str(PROGRAMS), "STORY_INTERVAL": str(INTERVAL)}
