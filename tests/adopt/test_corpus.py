"""The audit on small projects whose findings people wrote down first: all of them are found, and nothing else."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from cronce.adopt.audit.run import audit
from cronce.cli.commands.audit import command

CORPUS = Path(__file__).with_name("corpus")
TREES = sorted(path.parent for path in CORPUS.glob("*/expected.toml"))

Told = tuple[str, str, int]


def _expected(tree: Path) -> set[Told]:
    findings = tomllib.loads((tree / "expected.toml").read_text(encoding="utf-8"))["findings"]
    return {(finding["rule"], finding["path"], finding["line"]) for finding in findings}


def _found(tree: Path) -> set[Told]:
    found = audit(tree / "tree").findings
    return {(finding.rule, str(finding.place.path), finding.place.line) for finding in found}


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_a_project_has_the_findings_that_people_expect_and_no_other(tree: Path) -> None:
    """Rule, file and line."""
    assert _found(tree) == _expected(tree)


def test_precision_and_recall_on_the_corpus_are_those_of_the_page() -> None:
    """All trees together, so that a change of a rule shows what it costs; both kinds of trees are there."""
    expected = {(tree.name, *told) for tree in TREES for told in _expected(tree)}
    found = {(tree.name, *told) for tree in TREES for told in _found(tree)}
    right = len(expected & found)
    figures = (
        f"{len(TREES)} small projects with {len(expected)} findings: "
        f"precision {right / len(found):.2f}, recall {right / len(expected):.2f}"
    )
    page = " ".join((CORPUS.parents[2] / "docs" / "audit.md").read_text(encoding="utf-8").split())
    assert figures in page
    harmless = [tree for tree in TREES if not any(rule in _WRONG for rule, _, _ in _expected(tree))]
    assert len(harmless) >= len(TREES) // 4
    assert len(TREES) - len(harmless) >= len(TREES) // 4


def test_the_page_shows_what_the_program_prints_for_the_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four copies of a clock, and a scheduler that one line keeps alone, each with its fix."""
    monkeypatch.chdir(CORPUS / "story" / "tree")
    result = CliRunner().invoke(command, [], standalone_mode=False)
    assert result.return_value == 1
    printed = "\n".join(line.rstrip() for line in result.output.strip().splitlines())
    page = (CORPUS.parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    assert f"```text\n$ cronce audit\n{printed}\n```" in page
    assert "APScheduler runs in each of 4 copies (deploy.replicas: 4) of service web" in printed
    assert "service scheduler has one copy: it is kept by one line (deploy.replicas: 1)" in printed
    assert "command: cronce pin --job scheduler -- celery --app shop.tasks beat" in printed


def test_a_clock_that_a_comment_hides_does_not_come_back_through_its_service(tmp_path: Path) -> None:
    """Neither as the command of a service nor in its code."""
    (tmp_path / "compose.yaml").write_text(
        "services:\n  beat:\n    image: x\n    # cronce: ignore[celery-beat] see deploy/\n"
        "    command: celery -A app beat\n    scale: 2\n",
        encoding="utf-8",
    )
    assert audit(tmp_path).findings == ()


_WRONG = {"clock-in-copies", "clock-in-services", "clock-doubles-in-deployment", "clock-perhaps-in-copies"}
