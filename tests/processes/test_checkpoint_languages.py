"""The pieces of docs/any-image.md that speak with the guard from other languages, run under `cronce exec`."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.effects import effects
from tests.support.go import compile_go

if TYPE_CHECKING:
    from tests.support.host import Host

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "any-image.md").read_text()
PIECES = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

GO = (pytest.mark.lane("go"), pytest.mark.slow)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket's address is abstract (Linux only)")

PROGRAMS = {
    "ruby": ("digest.rb", 'require "json"\nrequire "socket"\n{piece}\ncheckpoint({{page: 7}})'),
    "node": ("digest.js", "{piece}\ncheckpoint({{page: 7}}).catch(() => process.exit(1));"),
    "java": (
        "Digest.java",
        """import java.util.stream.Stream;
        public class Digest {{
        {piece}
        public static void main(String[] words) throws Exception {{
            once("ann", "sh", "-c", "echo mail ann");
            once("ann", "sh", "-c", "echo mail ann");
            checkpoint("{{\\"page\\": 7}}");
        }} }}""",
    ),
    "go": (
        "digest.go",
        """package main
        import ("fmt"; "io"; "net"; "os"; "strings")
        {piece}
        func main() {{
            mail := func() error {{ fmt.Println("mail ann"); return nil }}
            lost := func() error {{ return fmt.Errorf("the mail server is gone") }}
            if once("ben", lost) == nil || once("ann", mail) != nil || once("ann", mail) != nil {{ os.Exit(1) }}
            if checkpoint(`{{"page": 7}}`) != nil {{ os.Exit(2) }}
        }}""",
    ),
}
LANGUAGES = {"node": "javascript"}
SAID = {"java": b"mail ann\n", "go": b"mail ann\n"}
EFFECTS = {"java": {"ann": "done"}, "go": {"ann": "done", "ben": "unknown"}}


@pytest.mark.parametrize("program", [*(each for each in PROGRAMS if each != "go"), pytest.param("go", marks=GO)])
def test_a_piece_of_the_page_stores_a_checkpoint(host: Host, program: str) -> None:
    """Each ends with 0 once the value is in the ledger; two of them send a mail once, and try it twice."""
    name, frame = PROGRAMS[program]
    piece = PIECES[LANGUAGES.get(program, program)].replace("/cronce/cronce", "cronce")
    (host.folder / name).write_text(frame.format(piece=piece))
    if program == "go":
        compile_go(host.folder / name)
        command = ["./digest"]
    elif shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    else:
        command = [program, name]
    guard = host.guard(*command)
    assert (guard.wait(), guard.out) == (0, SAID.get(program, b"")), guard.err
    run = host.run()
    assert run is not None
    assert (run.status, run.checkpoint) == ("SUCCEEDED", '{"page":7}')
    assert effects(host) == EFFECTS.get(program, {})


def test_the_example_in_ruby_has_the_piece_of_the_page() -> None:
    """`make e2e` runs the example."""
    assert PIECES["ruby"] in (ROOT / "examples" / "any-image" / "digest.rb").read_text()
