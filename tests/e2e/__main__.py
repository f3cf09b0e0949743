"""Runs the whole lane: engine, images, emulated AWS, deployment, scenarios; then everything is removed.

`python -m tests.e2e [PYTEST OPTION ...]`, from the project's root; as root, on Linux.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def main() -> int:
    """Run the scenarios; the exit code is pytest's. A lane that cannot run is a failure here."""
    os.environ["CRONCE_REQUIRE_LANES"] = "1"
    own = ["-v", "--capture=no", "--timeout=900", "--durations=0", "--durations-min=1"]
    # `.ci/run` runs the lane beside others, which write down their own failures.
    own += ["-o", "cache_dir=.cache/pytest-e2e"]
    return int(pytest.main([str(Path(__file__).parent), *own, *sys.argv[1:]]))


if __name__ == "__main__":
    sys.exit(main())
