"""What a module's files declare, as text. Terraform itself has parsed them; this reads their formatted form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.terraform import MODULES

NAMES = ("ledger", "external-ledger", "scheduled-task", "pinned-clock", "guard", "alarms", "operator")
BEGIN, END = "<!-- BEGIN_TF_DOCS -->\n", "<!-- END_TF_DOCS -->\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block at the top of a file: `resource "aws_iam_role" "this" { ... }`."""

    kind: str
    labels: tuple[str, ...]
    body: str

    @property
    def address(self) -> str:
        """Its name in other expressions, without `var.` and the like."""
        return ".".join(self.labels)

    def argument(self, name: str) -> str | None:
        """The text of an argument, also over several lines; None if it is absent."""
        found = re.search(rf"^  {name}\s+= (.*(?:\n(?:    .*|  [)}}\]].*))*)", self.body, re.MULTILINE)
        return found[1] if found else None

    def count(self, kind: str) -> int:
        """How many blocks of that kind it has inside."""
        return len(re.findall(rf"^ +{kind} \{{$", self.body, re.MULTILINE))


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a formatted file."""
    for found in re.finditer(r'^(\w+)((?: "[^"]*")*) \{\n(.*?)^\}$', text, re.MULTILINE | re.DOTALL):
        yield Block(kind=found[1], labels=tuple(re.findall(r'"([^"]*)"', found[2])), body=found[3])


def of_module(module: str, kind: str) -> dict[str, Block]:
    """The blocks of that kind in all files of a module, in order."""
    files = sorted((MODULES / module).glob("*.tf"))
    return {each.address: each for file in files for each in blocks(file.read_text()) if each.kind == kind}


def cases(module: str) -> list[tuple[str, list[str]]]:
    """The runs of a module's tests, with what each expects to fail."""
    text = "".join(file.read_text() for file in sorted((MODULES / module / "tests").glob("*.tftest.hcl")))
    runs = [block for block in blocks(text) if block.kind == "run"]
    return [(run.address, re.findall(r"[\w.]+", run.argument("expect_failures") or "")) for run in runs]


def tables(module: str) -> str:
    """The tables of a module's README, between the markers of terraform-docs."""
    inputs = [
        f"| {name} | {_text(block, 'description')} | `{_kind(block)}` | {_default(block)} |"
        for name, block in of_module(module, "variable").items()
    ]
    outputs = [f"| {name} | {_text(block, 'description')} |" for name, block in of_module(module, "output").items()]
    lines = ["## Inputs", "", "| name | description | type | default |", "|---|---|---|---|", *inputs, ""]
    lines += ["## Outputs", "", "| name | description |", "|---|---|", *outputs]
    return "\n".join(lines) + "\n"


def written(module: str) -> str:
    """The README of a module as it has to be."""
    text = (MODULES / module / "README.md").read_text()
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + tables(module) + END + rest.partition(END)[2]


def _text(block: Block, name: str) -> str:
    return (block.argument(name) or "").strip('"').replace('\\"', '"').replace("|", "\\|")


def _kind(block: Block) -> str:
    return re.sub(r"\s+", " ", re.sub(r"#.*", "", block.argument("type") or "")).replace("( {", "({")


def _default(block: Block) -> str:
    default = block.argument("default")
    return "**required**" if default is None else "`" + re.sub(r"\s+", " ", default) + "`"


def texts_of(module: str) -> Mapping[str, str]:
    """The files of a module by name."""
    return {file.name: file.read_text() for file in sorted((MODULES / module).glob("*.tf"))}


def write() -> None:
    """Write the tables of every README."""
    for module in NAMES:
        Path(MODULES / module / "README.md").write_text(written(module))


if __name__ == "__main__":
    write()
