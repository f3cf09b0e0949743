"""A bar on the terminal of a person who waits until the jobs are read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress() -> Iterator[Callable[[int | None], Callable[[], object]]]:
    """A bar, if stderr is a terminal; given the number of jobs, it gives what to call after each.

    None as the number means that the schedules are read and counted.
    """
    if not sys.stderr.isatty():
        yield lambda _jobs: lambda: None
        return
    from rich.progress import Progress, TextColumn  # noqa: PLC0415

    from cronce.cli.output.tables import PlainConsole  # noqa: PLC0415

    columns = (*Progress.get_default_columns(), TextColumn("{task.completed:.0f}"))
    with Progress(*columns, console=PlainConsole(sys.stderr), transient=True) as bar:
        task = bar.add_task("Reading the schedules", total=None)

        def count(jobs: int | None) -> Callable[[], object]:
            what = "Reading the schedules" if jobs is None else f"Reading {jobs} jobs"
            bar.reset(task, description=what, total=jobs)
            return lambda: bar.advance(task)

        yield count
