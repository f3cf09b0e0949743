"""What docs/constructs.md and the README say are apps that synthesize, and templates that CloudFormation takes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aws_cdk as cdk
import pytest
from aws_cdk import assertions

from tests.cdk.shop import fargate_task, imported_cluster
from tests.cdk.test_templates import IGNORED_BY_CFN_LINT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "constructs.md").read_text()
README = (ROOT / "README.md").read_text()
SYNTH = "app.synth()\n"

_SECTION = re.compile(r"^## ([^\n]+)$|^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _pieces() -> Iterator[tuple[str, str]]:
    """Each block of Python, under the heading that it stands below and a number."""
    heading, number = "", 0
    for title, code in _SECTION.findall(PAGE):
        heading, number = (title, 0) if title else (heading, number + 1)
        if code:
            yield f"{heading} {number}", code


(_, APP), *PIECES = _pieces()


@pytest.fixture(scope="module")
def synthesized() -> Iterator[dict[str, Path]]:
    """The cloud assembly of the app, and of the app with each piece."""
    folders: dict[str, Path] = {}
    for name, piece in [("the app", ""), *PIECES]:
        names: dict[str, Any] = {}
        exec(compile(APP.removesuffix(SYNTH) + piece + SYNTH, name, "exec"), names)
        app: cdk.App = names["app"]
        folders[name] = Path(app.outdir)
    yield folders
    for folder in folders.values():
        shutil.rmtree(folder)


@pytest.mark.slow
def test_every_piece_synthesizes(synthesized: dict[str, Path]) -> None:
    """Each by itself, after the app of the page's beginning."""
    assert APP.endswith(SYNTH)
    assert len(synthesized) == len(PIECES) + 1 > 9
    for folder in synthesized.values():
        assert (folder / "Digest.template.json").exists()


@pytest.mark.slow
def test_no_piece_is_doubtful(synthesized: dict[str, Path]) -> None:
    """What the page shows is what it would have people do."""
    told = "".join(path.read_text() for folder in synthesized.values() for path in folder.glob("*.json"))
    assert re.findall(r"ack: cronce:[a-z-]+", told) == []


def test_every_warning_is_described_and_no_other() -> None:
    """By the name that acknowledges it."""
    sources = (path.read_text() for path in (ROOT / "constructs" / "cronce_cdk").glob("*.py"))
    call = r"(?:\bwarn\(\s*[\w.]+,|\byield(?: \()?)\s*\"([a-z]+(?:-[a-z]+)+)\""
    given = {name for source in sources for name in re.findall(call, source)}
    assert given == set(re.findall(r"^\| `cronce:([a-z-]+)` \|", PAGE, re.MULTILINE))


@pytest.mark.slow
def test_cfn_lint_finds_nothing_in_any_of_them(synthesized: dict[str, Path]) -> None:
    """As in the templates of the constructs' own tests."""
    templates = [str(path) for folder in synthesized.values() for path in folder.glob("*.template.json")]
    command = ["cfn-lint", "--format", "parseable", "--ignore-checks", *IGNORED_BY_CFN_LINT, "--", *templates]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_the_readmes_stack_synthesizes() -> None:
    """Within a stack that has a cluster and a task definition."""
    [piece] = [code for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "ScheduledTask" in code]
    stack = cdk.Stack(cdk.App(), "Readme")
    exec(piece, {"self": stack, "cluster": imported_cluster(stack), "task_definition": fargate_task(stack)})
    assertions.Template.from_stack(stack).resource_count_is("AWS::Scheduler::Schedule", 1)
