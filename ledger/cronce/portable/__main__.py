"""`python -m cronce.portable DIR`: build the portable folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from cronce.portable.build import CannotBuildError, build
from cronce.vocabulary import exit_codes


def main(arguments: list[str]) -> int:
    """Build the folder; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m cronce.portable",
        description="Build a folder with cronce exec, pin, clock, health and checkpoint and all that they need except a"
        " kernel: Python, its libraries, libc. Start DIR/cronce in any Linux image of this architecture.",
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder that does not exist, or is empty")
    folder = parser.parse_args(arguments).folder
    try:
        build(folder)
    except CannotBuildError as error:
        sys.stderr.write(f"cronce.portable: {error}\n")
        return exit_codes.PROBLEM
    files = [path for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    sys.stdout.write(f"{folder}: {len(files)} files, {size / 1e6:.1f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
