"""What the documents say is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cronce import Policy, RefusalReason
from cronce.cli import exit_codes
from cronce.protocol.records import RunRecord, SlotRecord
from cronce.protocol.states import TRANSITIONS, Reason, Trigger
from cronce.values import field_names

ROOT = Path(__file__).parents[2]
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
GUARANTEES = (ROOT / "docs" / "guarantees.md").read_text()
README = (ROOT / "README.md").read_text()


def test_the_state_diagram_is_the_transition_table() -> None:
    """Every arrow, and no other."""
    drawn = set(re.findall(r"^    (\S+) --> (\S+) : (\S+)$", PROTOCOL, re.MULTILINE))
    coded = {(before or "[*]", after, event) for (before, event), after in TRANSITIONS.items()}
    assert coded == drawn


def test_every_attribute_of_a_run_is_described_and_no_other() -> None:
    """`job` and the key that the period is in are described in the text above the table."""
    described = set(re.findall(r"^\| `(\w+)` \| [SNL] \|", PROTOCOL, re.MULTILINE))
    assert set(field_names(RunRecord)) - {"job", "period", "extra"} == described


def test_every_attribute_of_the_slot_is_described() -> None:
    """In the paragraph about it."""
    paragraph = PROTOCOL[PROTOCOL.index("**The slot**") :].partition("Reasons:")[0]
    described = set(re.findall(r"`(\w+)`", paragraph))
    assert set(field_names(SlotRecord)) - {"job", "extra"} - described == set()


def test_every_reason_and_trigger_is_described() -> None:
    """A reader of the table looks them up."""
    assert [name for name in (*Reason, *Trigger) if name not in PROTOCOL] == []


def test_every_refusal_is_described() -> None:
    """INTERRUPTED is the claimant's own doing, and stands in no table of what others left."""
    assert [reason for reason in RefusalReason if reason not in PROTOCOL] == [RefusalReason.INTERRUPTED]


def test_every_field_of_the_policy_is_in_the_readme() -> None:
    """`catch_up` is the watchdog's, and is described with it."""
    described = set(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE))
    assert set(field_names(Policy)) - {"catch_up"} == described


def test_every_exit_code_is_in_the_readme() -> None:
    """Scripts rely on them."""
    table = README[README.index("## Exit codes") :].partition("\n## ")[0]
    described = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", table, re.MULTILINE) for code in row.split(",")}
    coded = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert coded - {exit_codes.PROBLEM, exit_codes.BY_SIGNAL} == described


def test_every_test_that_a_guarantee_names_exists() -> None:
    """`tests/path.py::test_name`."""
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", GUARANTEES)
    missing = [
        f"{path}::{test}"
        for path, test in named
        if not (ROOT / path).exists() or (test and f"def {test}(" not in (ROOT / path).read_text())
    ]
    assert named
    assert missing == []


def test_every_link_between_documents_leads_somewhere() -> None:
    """Relative links of the README and of everything in docs."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    broken = [
        f"{page.name}: {link}"
        for page in pages
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert broken == []


def test_the_readmes_python_runs(tmp_path: Path) -> None:
    """The example with a ledger at hand, in an empty folder."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (example,) = [block for block in blocks if "from_url" in block]
    ran = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "digest for 2026-11-30\n"), ran.stderr


@pytest.mark.parametrize("line", [0, 1])
def test_the_readmes_commands_run(line: int, tmp_path: Path) -> None:
    """The first prints the digest; the second says why not, and exits with 0."""
    commands = re.findall(r"^(cronce exec .*)$", README, re.MULTILINE)[: line + 1]
    bin_folder = Path(sys.executable).parent
    for command in commands:
        ran = subprocess.run(
            ["/bin/sh", "-c", f"{bin_folder}/{command}"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout == ("digest for 2026-11-29\n" if line == 0 else "")
