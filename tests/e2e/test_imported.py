"""What `cronce import` wrote, deployed: a rule of ecschedule and a CronJob whose image has no Python, each once."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cronce import Ledger, Status, Trigger
from cronce.adopt.convert.conversion import convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import Source
from cronce.vocabulary.names import period_of
from tests.e2e import images
from tests.e2e.aws_parts.schedules import Schedules
from tests.e2e.names import IMAGE, IMPORTED, IMPORTED_FILES, LANGUAGES_IMAGE
from tests.support.host import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.emulator import Emulator

RULES = """\
rules:
- name: nightly
  scheduleExpression: cron(0 1 * * ? *)
  taskDefinition: digest
  containerOverrides:
  - {name: app, command: [sh, -c, 'test "$STAGE" = "it''s"'], environment: {STAGE: it's}}
"""
CRONJOB = f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: answer}}
spec:
  schedule: "30 2 * * *"
  timeZone: Asia/Tokyo
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: work
            image: {LANGUAGES_IMAGE}
            command: [ruby, -e]
            args: ["exit(ENV.fetch('MODE') == 'full' ? 0 : 1)"]
            env: [{{name: MODE, value: full}}]
"""


def test_imported_jobs_run_once_per_tick(aws: Emulator, tmp_path: Path) -> None:
    """Two deliveries of each tick: one task does the work, the other one is refused."""
    files = []
    for kind, text in (("ecschedule", RULES), ("cronjob", CRONJOB)):
        file = tmp_path / f"{kind}_jobs.py"
        file.write_text(convert(kind, [Source(file=f"{kind}.yaml", text=text)], ImportTarget.CDK).code)
        files.append(str(file))
    app = f"{sys.executable} -m tests.e2e.imported"
    outputs = aws.deploy(IMPORTED, app=app, env={IMAGE: images.DIGEST, IMPORTED_FILES: os.pathsep.join(files)})
    schedules = Schedules(aws, group=outputs["ScheduleGroupName"])
    tick = datetime.now(UTC).replace(second=0, microsecond=0)
    with closing(aws.client("ecs")) as ecs, closing(Ledger.from_url(outputs["LedgerUrl"])) as ledger:
        for job in ("nightly", "answer"):
            [schedule] = schedules.names(job)
            tasks = [task for _ in range(2) for task in schedules.deliver(schedule, tick).tasks]
            cluster = tasks[0].rpartition(":task/")[2].partition("/")[0]

            def ended(cluster: str = cluster, tasks: list[str] = tasks) -> bool:
                found = ecs.describe_tasks(cluster=cluster, tasks=tasks)["tasks"]
                return [each["lastStatus"] for each in found] == ["STOPPED"] * 2

            until(ended, f"the end of both tasks of {job}", every=0.5)
            run = ledger.run(job, period_of(tick))
            assert run is not None
            assert (run.status, run.attempt, run.trigger) == (Status.SUCCEEDED, 1, Trigger.SCHEDULE)
            assert run.attempts == ()
