"""What the commands that put themselves before another command have in common: options, `--`, COMMAND."""

from __future__ import annotations

import argparse
import sys
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
            # With a width of its own it does not load shutil to ask the terminal.
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, width=100),
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Complain, and leave."""
        line = " ".join(message.split())  # the message may hold what was given, line breaks included
        sys.stderr.write(f"{self.prog}: {line}; see {self.prog} --help\n")
        sys.exit(exit_codes.USAGE)

    def parse_with_command(self, own: list[str], command: list[str]) -> argparse.Namespace:
        """The options before `--`, of a command line that needs a command after it."""
        options = self.parse_args(own)
        if not command or not command[0]:
            self.error(f"the command is missing: {self.usage}")
        return options
