"""What the runtime commands share: their parser, and errors that name what was probably meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from cronce.vocabulary import exit_codes


class CommandLine(argparse.ArgumentParser):
    """A parser whose errors are one line on stderr and exit code 64, as for every other bad value."""

    def __init__(self, prog: str, *, usage: str, description: str, epilog: str) -> None:
        """Describe the command; options are added as to any parser."""
        super().__init__(
            prog=prog,
            usage=f"{prog} {usage}",
            description=description,
            epilog=epilog,
            # With a given width it does not load shutil to ask the terminal.
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100),
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Write one line, and end the process with code 64."""
        sys.stderr.write(f"{self.prog}: {escaped(message)}; see {self.prog} --help\n")
        sys.exit(exit_codes.USAGE)

    def parse(self, own: Sequence[str]) -> argparse.Namespace:
        """The options. An unknown one ends the process with code 64, naming the nearest known one."""
        options, unknown = self.parse_known_args(own)
        for given in unknown:
            if given.startswith("--"):
                name = given.partition("=")[0]
                self.error(f"no such option: {name}{meant(name, self._option_string_actions)}")
        if unknown:
            self.error(f"unexpected argument: {unknown[0]}")
        return options

    def parse_with_command(self, own: Sequence[str], command: list[str]) -> argparse.Namespace:
        """The options before `--`, of a command line that needs a command after it."""
        options = self.parse(own)
        if not command or not command[0]:
            self.error(f"the command is missing: {self.usage}")
        return options


def meant(given: str, known: Iterable[str]) -> str:
    """`; did you mean NAME?` if a known name is close, else the empty string."""
    from difflib import get_close_matches  # noqa: PLC0415  # only for a mistake

    close = get_close_matches(given[:100], list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def escaped(text: str) -> str:
    """The text on one line, control characters escaped: a terminal must not obey what somebody typed."""
    line = " ".join(text.split())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in line)
