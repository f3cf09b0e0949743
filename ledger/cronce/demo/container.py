"""A container of the web app. The clock is part of the app: at the given time it starts the job.

usage: python -m cronce.demo.container EPOCH_SECONDS COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Wait until the given time, then become the command."""
    at, *command = sys.argv[1:]
    time.sleep(max(0.0, float(at) - time.time()))
    os.execvp(command[0], command)  # noqa: S606  # a program, not a shell


if __name__ == "__main__":
    main()
