"""`cronce` with a schedule group whose tasks are real processes on this host: `cronce exec` around a shell.

Run as a program: the arguments are those of `cronce`. A task waits until the file `go-PERIOD` is in the
folder, then writes its period to `work.log`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import cronce.ecs
from cronce import Ledger
from cronce.cli.app import main
from cronce.cli.commands import backfill, rerun
from cronce.ecs import Launcher
from tests.cli.ecs_fleet import Fleet

JOB = "daily-digest"
WORK = 'while [ ! -e "go-$CRONCE_PERIOD" ]; do sleep 0.02; done; echo "$CRONCE_PERIOD" >> work.log'


class HostFleet(Fleet):
    """Its RunTask starts a process that outlives us, as a task does."""

    def run_task(self, *, overrides: Mapping[str, Any], clientToken: str, **_: object) -> dict[str, Any]:  # noqa: N803
        """As ECS: one token is one task."""
        arn = f"arn:aws:ecs:eu-west-1:123456789012:task/shop/{clientToken}"
        with open("launched.log", "a+") as launched:  # noqa: PTH123  # to append and to read
            launched.seek(0)
            if arn not in launched.read():
                launched.write(f"{arn}\n")
                (container,) = overrides["containerOverrides"]
                environ = {each["name"]: each["value"] for each in container["environment"]}
                environ["CRONCE_LEDGER"] = os.environ["CRONCE_LEDGER"]
                command = ["cronce", "exec", "--", "sh", "-c", WORK]
                subprocess.Popen(command, env=os.environ | environ, start_new_session=True, stderr=subprocess.DEVNULL)
        return {"tasks": [{"taskArn": arn, "lastStatus": "PENDING"}]}

    def describe_tasks(self, **_: object) -> dict[str, Any]:
        """Nothing is known."""
        return {"tasks": []}


if __name__ == "__main__":
    fleet = HostFleet(Ledger.from_url(os.environ["CRONCE_LEDGER"]))
    fleet.add_job(JOB)
    setattr(cronce.ecs, "Launcher", partial(Launcher, scheduler=fleet, ecs=fleet))  # noqa: B010  # as a test does
    backfill.BETWEEN_LOOKS = rerun.PAUSE = 0.05
    sys.exit(main(sys.argv[1:]))
