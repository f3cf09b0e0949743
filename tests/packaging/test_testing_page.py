"""docs/testing.md: a stranger's tests, as the page shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FORGETFUL = """
class MemoryStore(MemoryStore):
    def swap(self, record, expected):
        if expected is not None and (found := self._items.get((record.job, record.key))):
            found["token"] = expected.token  # as if the version alone decided
        return super().swap(record, expected)
"""


def run_tests(folder: Path, source: str, *options: str) -> str:
    """What pytest prints about a file with that source, in a project that only loads the plugin."""
    (folder / "conftest.py").write_text('pytest_plugins = ["cronce.testing.plugin"]\n')
    (folder / "test_mine.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options]
    done = subprocess.run([*command, str(folder)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, id="a job"),
        pytest.param(1, id="a ledger in memory"),
        pytest.param(2, id="a store", marks=pytest.mark.slow),
    ],
)
def test_the_examples_of_the_page_pass(tmp_path: Path, number: int) -> None:
    """The third one is the whole suite, on a store that its author brings."""
    printed = run_tests(tmp_path, EXAMPLES[number], "-s")
    [passed] = re.findall(r"^(\d+) passed in ", printed, re.MULTILINE)
    assert int(passed) >= (1, 2, 200)[number]
    assert number > 0 or "14 kills" in printed


@pytest.mark.slow
def test_the_suite_finds_a_store_that_compares_versions_alone(tmp_path: Path) -> None:
    """And shows the values, because the plugin rewrites its assertions."""
    source = EXAMPLES[2].replace("\n\n\n@pytest.fixture", f"\n{FORGETFUL}\n\n@pytest.fixture")
    printed = run_tests(tmp_path, source, "-k", "a_row_deleted_and_begun_anew or a_swap_on_another_version_or_token")
    assert "FAILED test_mine.py::test_a_row_deleted_and_begun_anew_is_another_row" in printed
    assert "AssertionError: assert Swapped(written=True" in printed


def test_the_message_of_the_page_is_the_real_one(tmp_path: Path) -> None:
    """Of a job that sends all its mails before it notes them."""
    job = EXAMPLES[0].replace("                MAILS.append", "                pass\n        MAILS.append")
    printed = run_tests(tmp_path, job)
    [message] = re.findall(r"^AssertionError: (.*)$", PAGE, re.MULTILINE)
    assert message in printed
