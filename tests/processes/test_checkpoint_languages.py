"""The pieces of docs/any-image.md that store a checkpoint from other languages, run under `cronce exec`."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.host import Host

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "any-image.md").read_text()
PIECES = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the socket's address is abstract (Linux only)")

PROGRAMS = {
    "ruby": ("digest.rb", 'require "json"\nrequire "socket"\n{piece}\ncheckpoint({{page: 7}})'),
    "node": ("digest.js", "{piece}\ncheckpoint({{page: 7}}).catch(() => process.exit(1));"),
    "java": (
        "Digest.java",
        """public class Digest {{
        {piece}
        public static void main(String[] words) throws Exception {{ checkpoint("{{\\"page\\": 7}}"); }} }}""",
    ),
}
LANGUAGES = {"node": "javascript"}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_piece_of_the_page_stores_a_checkpoint(host: Host, program: str) -> None:
    """Each prints nothing and ends with 0 once the value is in the ledger."""
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")
    name, frame = PROGRAMS[program]
    piece = PIECES[LANGUAGES.get(program, program)].replace("/cronce/cronce", "cronce")
    (host.folder / name).write_text(frame.format(piece=piece))
    guard = host.guard(program, name)
    assert (guard.wait(), guard.out) == (0, b""), guard.err
    run = host.run()
    assert run is not None
    assert (run.status, run.checkpoint) == ("SUCCEEDED", '{"page":7}')


def test_the_example_in_ruby_has_the_piece_of_the_page() -> None:
    """`make e2e` runs the example."""
    assert PIECES["ruby"] in (ROOT / "examples" / "any-image" / "digest.rb").read_text()
