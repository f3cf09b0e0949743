"""Progress: what the lane is doing, how long each step took, and where its logs are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "e2e"
LOGS = CACHE / "logs"

_taken: list[tuple[str, float]] = []


class StepFailedError(Exception):
    """A command of the lane failed; the message has the end of its output."""


@contextmanager
def step(what: str) -> Iterator[None]:
    """Print on stderr that the step starts, and then how long it took or that it failed."""
    _say(f"{what} ...")
    started = time.monotonic()
    try:
        yield
    except BaseException:
        _say(f"{what}: FAILED after {time.monotonic() - started:.1f} s; the logs are in {LOGS.relative_to(ROOT)}")
        raise
    _taken.append((what, time.monotonic() - started))
    _say(f"{what}: {_taken[-1][1]:.1f} s")


def steps_taken() -> list[tuple[str, float]]:
    """Every finished step with its seconds, in order."""
    return list(_taken)


def run(
    *command: str | Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT, log: str, timeout: float = 900
) -> str:
    """What the command printed; its output is also added to the log of that name.

    Args:
        command: The program and its arguments.
        env: Changes to this process's environment.
        cwd: The folder it runs in.
        log: Name of the log.
        timeout: Seconds after which it is killed and counts as failed.

    Raises:
        StepFailedError: It could not be started, failed, or took too long.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    arguments = [str(part) for part in command]
    try:
        done = subprocess.run(
            arguments,
            cwd=cwd,
            env=os.environ | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StepFailedError(f"{' '.join(arguments)}: {error}") from error
    with (LOGS / f"{log}.log").open("a") as file:
        file.write(f"$ {' '.join(arguments)}\n{done.stdout}\n")
    if done.returncode:
        raise StepFailedError(f"{' '.join(arguments)} exited with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def _say(line: str) -> None:
    sys.stderr.write(f"e2e: {line}\n")
    sys.stderr.flush()
