"""The job under its guard, on a ledger in a file. No AWS is needed: python -m unittest."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CRONCE = str(Path(sys.executable).with_name("cronce"))
JOB = [sys.executable, str(Path(__file__).with_name("job.py"))]


class TestTheJob(unittest.TestCase):
    """Started as its task starts it."""

    def setUp(self) -> None:
        """Use an empty ledger."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ledger = f"sqlite:///{folder.name}/runs.db"

    def start(self, period: str) -> "subprocess.CompletedProcess[str]":
        """Start the job under the guard."""
        guard = [CRONCE, "exec", "--ledger", self.ledger, "--job", "{{job}}", "--period", period, "--"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRONCE_")}
        return subprocess.run([*guard, *JOB], capture_output=True, text=True, check=False, env=environment)

    def test_a_second_start_is_refused(self) -> None:
        """It prints nothing, says why, and is no failure."""
        first, second = self.start("2026-11-30"), self.start("2026-11-30")
        self.assertEqual((first.returncode, first.stdout), (0, "digest for 2026-11-30\n"), first.stderr)
        self.assertEqual((second.returncode, second.stdout), (0, ""), second.stderr)
        self.assertIn("ALREADY_SUCCEEDED", second.stderr)
        print("the second start was refused")

    def test_the_next_period_is_another_run(self) -> None:
        """Each period has its digest."""
        printed = [self.start(period).stdout for period in ("2026-11-30", "2026-12-01")]
        self.assertEqual(printed, ["digest for 2026-11-30\n", "digest for 2026-12-01\n"])


if __name__ == "__main__":
    unittest.main()
