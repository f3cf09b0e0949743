"""Plays the story: the folder, the signals, the summary and the exit code."""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from cronce.demo.narrator import Narrator, Silence, Storyteller
from cronce.demo.processes import Crew
from cronce.demo.story import DIGEST, Counted, Story, StoryStuckError
from cronce.vocabulary import exit_codes
from cronce.vocabulary.errors import InputInvalidError


def play(*, customers: int, keep: str | None, as_document: bool, digest: Sequence[str] = DIGEST) -> int:
    """Play the story; the exit code is 0 if every number is right.

    Args:
        customers: How many customers get the digest.
        keep: The folder for the files; None for a temporary one.
        as_document: Print a JSON summary instead of the story.
        digest: The command of the job.

    Raises:
        InputInvalidError: `keep` is not a new or empty folder.
    """
    if sys.platform != "linux":
        sys.stderr.write(
            "cronce: the demo needs Linux: only there does a job die with its wrapper and store checkpoints\n"
        )
        return exit_codes.PROBLEM
    narrator: Narrator = Silence() if as_document else Storyteller()
    began = time.monotonic()
    with _signals_as_ctrl_c(), _folder(keep) as folder, _logs(folder) as logs, Crew(logs) as crew:
        try:
            counted = Story(folder, customers=customers, narrator=narrator, crew=crew, digest=digest).play()
        except StoryStuckError as error:
            sys.stderr.write(f"cronce: {error}\n{crew.last_words()}")
            return exit_codes.PROBLEM
    seconds = time.monotonic() - began
    wrong = [one for one in counted if not one.check.right]
    if as_document:
        sys.stdout.write(json.dumps(_summary(counted, seconds=seconds, keep=keep), indent=2) + "\n")
    else:
        narrator.say(_moral(counted, wrong, seconds=seconds, keep=keep))
    return exit_codes.PROBLEM if wrong else 0


def _moral(counted: Sequence[Counted], wrong: Sequence[Counted], *, seconds: float, keep: str | None) -> str:
    files = f" Mails, logs and ledger are in {keep}." if keep else ""
    if wrong:
        files = files or " Play it again with --keep DIR to look at mails and logs."
        return f"\n{len(wrong)} of {len(counted)} numbers are wrong; see the crosses above. ({seconds:.0f}s){files}"
    return f"\nAll {len(counted)} numbers are right. ({seconds:.0f}s){files}"


def _summary(counted: Sequence[Counted], *, seconds: float, keep: str | None) -> dict[str, object]:
    numbers = [{"scene": one.scene} | asdict(one.check) | {"right": one.check.right} for one in counted]
    right = all(one.check.right for one in counted)
    return {"right": right, "seconds": round(seconds, 1), "folder": keep, "checks": numbers}


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="cronce-demo-") as name:
            yield Path(name)
        return
    folder = Path(keep).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        empty = not any(folder.iterdir())
    except OSError as error:
        raise InputInvalidError(
            "--keep", keep, f"a folder that can be created or is empty ({error.strerror})"
        ) from None
    if not empty:
        raise InputInvalidError("--keep", keep, "a new or empty folder")
    yield folder


@contextmanager
def _logs(folder: Path) -> Iterator[Path]:
    logs = folder / "logs"
    logs.mkdir()
    yield logs


@contextmanager
def _signals_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the demo as Ctrl-C does, leaving no process and no file."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
