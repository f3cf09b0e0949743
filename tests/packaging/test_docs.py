"""What the documents say is what the code does."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click
import pytest

from cronce import EffectState, OnUnknown, Policy, RefusalReason
from cronce.cli.app import cronce as command_line
from cronce.protocol.records import EffectsRecord, GroupSlotRecord, RunRecord, SlotRecord
from cronce.protocol.transitions import TRANSITIONS
from cronce.vocabulary import exit_codes
from cronce.vocabulary.states import Reason, Trigger
from cronce.vocabulary.values import field_names

ROOT = Path(__file__).parents[2]
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
README = (ROOT / "README.md").read_text()
POLICIES = (ROOT / "docs" / "policies.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_the_state_diagram_is_the_transition_table() -> None:
    """Every arrow's events, and no others."""
    picture = (ROOT / "docs" / "img" / "run-states.svg").read_text()
    drawn = set(re.findall(r'data-from="(\w+)" data-to="(\w+)" [^>]*>(\w+)<', picture))
    coded = {(before or "none", after, event) for (before, event), after in TRANSITIONS.items()}
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


def test_every_attribute_of_a_groups_slot_is_described() -> None:
    """In the paragraph about it."""
    paragraph = PROTOCOL[PROTOCOL.index("**The slot of an exclusion group**") :].partition("Reasons:")[0]
    described = set(re.findall(r"`(\w+)`", paragraph))
    assert set(field_names(GroupSlotRecord)) - {"job", "extra"} - described == set()


def test_every_attribute_of_a_segment_of_effects_is_described() -> None:
    """In the paragraph about it, and each state."""
    paragraph = PROTOCOL[PROTOCOL.index("**A segment of effects**") :].partition("Reasons:")[0]
    described = set(re.findall(r"`(\w+)`", paragraph))
    assert {*field_names(EffectsRecord), *EffectState} - {"job", "extra"} - described == set()


def test_every_state_of_an_effect_is_described() -> None:
    """In the table and in the picture."""
    page = (ROOT / "docs" / "effects.md").read_text()
    picture = (ROOT / "docs" / "img" / "effect-states.svg").read_text()
    assert [s.name for s in EffectState if f"| {s.name} |" not in page or f">{s.name}<" not in picture] == []
    assert [choice for choice in OnUnknown if f'`on_unknown="{choice}"`' not in page] == []


def test_the_effects_pages_python_runs(tmp_path: Path) -> None:
    """Each example in the same empty folder; the second one finds nothing done, because its period is another."""
    told = {
        "CRONCE_LEDGER": f"sqlite:///{tmp_path}/runs.db",
        "CRONCE_JOB": "daily-digest",
        "CRONCE_PERIOD": "2026-11-29",
    }
    printed = []
    for example in _python((ROOT / "docs" / "effects.md").read_text()):
        command = [sys.executable, "-c", example]
        ran = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **told}, capture_output=True, text=True, check=True
        )
        printed.append(ran.stdout)
    mails = "mail to ann@example.com\nmail to ben@example.com\n"
    blocks = "first does the work\nsecond skips it: ALREADY_SUCCEEDED\n"
    assert printed == [mails, mails, "report of 3100 rows\n", blocks]


def test_every_reason_and_trigger_is_described() -> None:
    """A reader of the table looks them up."""
    assert [name for name in (*Reason, *Trigger) if name not in PROTOCOL] == []


def test_every_refusal_is_described() -> None:
    """INTERRUPTED is the claimant's own doing, and stands in no table of what others left."""
    assert [reason for reason in RefusalReason if reason not in PROTOCOL] == [RefusalReason.INTERRUPTED]


def test_every_field_of_the_policy_is_described() -> None:
    """With its default and what it means."""
    described = set(re.findall(r"^\| `(\w+)` \|", POLICIES, re.MULTILINE))
    assert set(field_names(Policy)) == described


def test_the_policy_of_the_page_is_the_same_in_python_and_as_json() -> None:
    """The examples of one page agree."""
    names: dict[str, object] = {}
    [example] = _python(POLICIES)
    exec(example, names)
    [text] = re.findall(r"CRONCE_POLICY='([^']+)'", POLICIES)
    assert names["policy"] == Policy.from_json(text)


def test_every_exit_code_is_described() -> None:
    """Scripts rely on them."""
    page = (ROOT / "docs" / "exit-codes.md").read_text()
    described = {int(code) for row in re.findall(r"^\| ([\d, ]+) \|", page, re.MULTILINE) for code in row.split(",")}
    coded = {value for name, value in vars(exit_codes).items() if name.isupper()}
    assert coded - {exit_codes.PROBLEM, exit_codes.BY_SIGNAL} == described


@pytest.mark.parametrize("page", ["docs/guarantees.md", "SECURITY.md"])
def test_every_test_that_a_page_names_exists(page: str) -> None:
    """`tests/path.py::test_name`, or with its class between them."""
    named = re.findall(r"`(tests/[\w/]+\.py)((?:::\w+)*)`", (ROOT / page).read_text())
    missing = [f"{path}{names}" for path, names in named if not _defines(ROOT / path, names.split("::")[1:])]
    assert named
    assert missing == []


def test_every_line_of_the_security_page_has_its_test() -> None:
    """A boundary without one is only a hope."""
    rows = re.findall(r"^\|(.*)\|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    without = [row for row in rows if not re.search(r"`tests/[\w/]+\.py::", row.rpartition("|")[2])]
    assert [row.rpartition("|")[2].strip(" -") for row in without] == ["tests", "", "tests", ""]


def _defines(file: Path, names: list[str]) -> bool:
    body = list(_statements(file)) if file.exists() else None
    for name in names:
        found = (each for each in body or () if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name == name)
        body = getattr(next(found, None), "body", None)
    return body is not None


def _statements(file: Path) -> Iterator[ast.stmt]:
    """Those of the file, and of the modules of the test kit whose names it imports all."""
    for statement in ast.parse(file.read_text()).body:
        yield statement
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*" and statement.module:
            yield from _statements(ROOT / "ledger" / f"{statement.module.replace('.', '/')}.py")


def test_every_page_is_in_the_index() -> None:
    """A reader finds it from docs/README.md; each decision is in the index of decisions."""
    for folder in (ROOT / "docs", ROOT / "docs" / "adr"):
        linked = set(re.findall(r"\]\(([\w./-]+\.md)", (folder / "README.md").read_text()))
        assert {page.name for page in folder.glob("*.md")} - {"README.md"} - linked == set()


def test_the_readme_is_short() -> None:
    """It is read in one go; everything else is a page."""
    assert len(README.splitlines()) <= 130


def test_every_link_between_documents_leads_somewhere() -> None:
    """Relative links of the README and of everything in docs."""
    broken = [
        f"{page.name}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / link).exists()
    ]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_is_one(page: Path) -> None:
    """`cronce WORD`, in a sentence or in a block."""
    named = set(re.findall(r"(?:`|^)cronce ([a-z]+(?:-[a-z]+)*)\b", page.read_text(), re.MULTILINE))
    assert named - set(command_line.list_commands(click.Context(command_line))) == set()


def test_the_readmes_python_runs(tmp_path: Path) -> None:
    """The example with a ledger at hand, in an empty folder."""
    [example] = [block for block in _python(README) if "from_url" in block]
    ran = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "digest for 2026-11-30\n"), ran.stderr


def test_the_readmes_task_runs(tmp_path: Path) -> None:
    """The example with `run_once`, told by its environment as a task on ECS is."""
    [example] = [block for block in _python(README) if "run_once" in block]
    told = {
        "CRONCE_LEDGER": f"sqlite:///{tmp_path}/runs.db",
        "CRONCE_JOB": "daily-digest",
        "CRONCE_PERIOD": "2026-11-29",
    }
    ran = subprocess.run(
        [sys.executable, "-c", example], env={**os.environ, **told}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, '"cronce.event": "succeeded"' in ran.stderr) == (0, True), ran.stderr


def test_the_readmes_commands_run(tmp_path: Path) -> None:
    """In one empty folder, one after the other: the digest goes out once, and on call see why."""
    names = ("exec", "runs", "show", "next")
    lines = re.findall(rf"^(cronce (?:{'|'.join(names)}) .*)$", README, re.MULTILINE)
    printed = [_shell(line, tmp_path) for line in lines]
    assert [line.split()[1] for line in lines] == ["exec", *names]
    assert printed[:2] == ["digest for 2026-11-29\n", ""]
    assert all("SUCCEEDED" in text for text in printed[2:4])
    assert "Europe/Berlin" in printed[4]


def test_the_schedules_pages_python_says_what_its_comments_say() -> None:
    """Each line with a comment that begins like a value, and what the preview prints."""
    names: dict[str, object] = {}
    first, several, preview = _python((ROOT / "docs" / "schedules.md").read_text())
    for block, count in ((first, 4), (several, 2)):
        exec(block, names)
        said = re.findall(r"^(schedule\.\S.*?) +# (\(?'.*'\)?|[\d-]+ [\d:]+ UTC)", block, re.MULTILINE)
        assert len(said) == count
        for expression, value in said:
            found = eval(expression, names)
            assert value == (f"{found:%Y-%m-%d %H:%M} UTC" if isinstance(found, datetime) else repr(found))
    printed: list[tuple[object, ...]] = []
    exec(preview, {**names, "print": lambda *values: printed.append(values)})
    lines = [re.split(r" {3}", line.removeprefix("# ")) for line in preview.splitlines() if line.startswith("# ")]
    assert [f"{utc:%Y-%m-%d %H:%M} UTC" for utc, _, _ in printed] == [utc for utc, *_ in lines]
    assert [note for _, _, note in printed] == [dict(enumerate(line)).get(2, "") for line in lines]


def test_the_costs_add_up() -> None:
    """Each line equals its last column, the last line is their sum, and the text states it too."""
    page = (ROOT / "docs" / "costs.md").read_text()
    table = page[page.index("| what | a month |") :].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+) \| \$([\d.]+) \|(.*)\|$", table, re.MULTILINE)
    *lines, (together, total, _) = [(what, float(amount), how) for what, amount, how in rows]
    for what, amount, how in lines:
        terms = re.findall(r"([\d.,]+) x \$([\d.]+)", how)
        computed = sum(float(number.replace(",", "")) * float(price) for number, price in terms)
        assert computed == pytest.approx(amount, abs=0.0051), what
    assert together == "together"
    assert total == pytest.approx(sum(amount for _, amount, _ in lines))
    assert f"**about ${total:.0f} a month**" in page
    assert f"to ${total:.0f} a month" in README


def _python(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def _shell(line: str, folder: Path) -> str:
    """What it prints, run as a reader does who has installed cronce; it exits with 0."""
    ran = subprocess.run(["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
