"""`make prove` ends in one line of figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.parametrize("number", [1, 2, 3])
def test_covers(number, record_property):
    record_property("states", 400 * number)
    record_property("schedules", 10**12)
    record_property(f"caught {number}", "by a look at it")

def test_breaks():
    assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "xdist"])
def test_the_last_line_adds_up_what_was_covered(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """Also with several processes; failures are counted, and texts are printed above."""
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    session = [sys.executable, "-m", "pytest", "-p", "tests.support.proof", *workers, "--rootdir", str(tmp_path)]
    done = subprocess.run([*session, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[-1] == "prove: 2,400 states, 3.0e+12 schedules; 1 failed; 0 min"
    assert [line for line in lines if line.startswith("caught")] == [f"caught {n}: by a look at it" for n in (1, 2, 3)]
