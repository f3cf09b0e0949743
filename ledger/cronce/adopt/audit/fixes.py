"""Ready text against a clock that runs once per copy, in the language of the file that deploys it."""

from __future__ import annotations

import posixpath
import shlex
from pathlib import PurePosixPath

from cronce.adopt.audit.clocks_in_services import ClockInService
from cronce.adopt.audit.services.web_servers import is_named_as_web

_LEDGER = "postgresql://cronce@db/app"
_AWS = "dynamodb://runs?region=eu-west-1"


def fix_for(running: ClockInService) -> str:
    """What to write: a pinned command, or the guard around the job, a clock of its own, a scheduled task."""
    command = running.service.command
    if command is None or is_named_as_web(command) or running.way:
        return _move_out(running)
    return _pin(running, " ".join(map(shlex.quote, command)))


def _pin(running: ClockInService, command: str) -> str:
    """The service keeps its command and any number of copies; one of them leads."""
    return (
        "Any number of copies may start it; one leads and runs the command, the others stand by:\n"
        f"{_service_text(running, f'cronce pin --job {_job(running)} -- {command}')}"
    )


def _move_out(running: ClockInService) -> str:
    """The clock is in a process with other work: three ways, from the smallest change to the smallest risk."""
    path = running.clock.place.path
    command = _alone(running)
    return (
        f"Either keep the clock in every copy, and let each job ask the ledger first ({path}):\n"
        f"{_GUARD_IN_PYTHON if path.suffix == '.py' else _GUARD_OF_A_COMMAND}\n"
        "or give the clock a service of its own, where one copy leads, and remove it from this one:\n"
        f"{_service_text(running, f'cronce pin --job clock -- {command}', name='clock')}\n"
        "or let the platform start each job, and remove the clock:\n"
        f"{_SCHEDULED.get(running.service.kind, _CRONTAB)}"
    )


def _job(running: ClockInService) -> str:
    name = running.service.name.rpartition("/")[2]
    return name if name and all(letter.isalnum() or letter in "-_" for letter in name) else "clock"


def _alone(running: ClockInService) -> str:
    """The command that starts the clock's file and nothing else, as far as its language says."""
    path, folder = running.clock.place.path, running.service.folder
    own = path.relative_to(folder) if folder is not None and folder in path.parents else path
    match path.suffix:
        case ".py":
            return f"python -m {'.'.join(own.with_suffix('').parts)}"
        case ".js" | ".mjs" | ".cjs" | ".ts":
            return f"node {own}"
        case ".rb":
            return f"bundle exec ruby {own}"
        case _:
            return "COMMAND-OF-THE-CLOCK"


_GUARD_IN_PYTHON = """\
  from cronce import Ledger

  ledger = Ledger.from_env()  # CRONCE_LEDGER

  def once(job, period, work):  # period: the tick that this run is for, never now()
      if claim := ledger.claim(job, period):
          with claim:
              work(claim.period)"""
_GUARD_OF_A_COMMAND = """\
  cronce exec --job JOB --schedule '0 6 * * *' --timezone Europe/Berlin -- COMMAND-OF-THE-JOB {period}"""
_CRONTAB = """\
  # crontab of any host, or of all of them: one does the work
  0 6 * * *  cronce exec --job JOB --schedule '0 6 * * *' --timezone Europe/Berlin -- COMMAND-OF-THE-JOB {period}"""
_IN_CDK = """\
  ScheduledTask(
      self, "Job", ledger=ledger, job="JOB", schedule="0 6 * * *", timezone="Europe/Berlin",
      cluster=cluster, task_definition=task_definition,
  )"""
_IN_TERRAFORM = """\
  module "job" {
    source              = "./terraform/modules/scheduled-task"
    ledger              = module.ledger
    job                 = "JOB"
    schedule            = "0 6 * * *"
    timezone            = "Europe/Berlin"
    cluster_arn         = aws_ecs_cluster.main.arn
    task_definition_arn = aws_ecs_task_definition.job.arn
    # subnet_ids, security_group_ids, task_role_arn as in the service
  }"""
_SCHEDULED = {"terraform": _IN_TERRAFORM, "cdk": _IN_CDK, "cloudformation": _IN_CDK, "ecs": _IN_CDK}


def _service_text(running: ClockInService, command: str, *, name: str | None = None) -> str:
    service = running.service
    words = ", ".join(f'"{word}"' for word in shlex.split(command))
    called = name or service.name.rpartition("/")[2]
    match service.kind:
        case "compose":
            build = ""
            if name is not None and service.folder is not None:
                build = f"\n      build: {_relative(service.folder, service.place.path.parent)}"
            return (
                f"  # {service.place.path}\n  services:\n    {called}:{build}\n      command: {command}\n"
                f"      environment:\n        CRONCE_LEDGER: {_LEDGER}"
            )
        case "kubernetes" | "helm":
            return (
                f"  # {service.place.path}, Deployment {called}\n"
                "  spec:\n    template:\n      spec:\n        containers:\n"
                f"          - name: {called}\n            command: [{words}]\n            env:\n"
                f"              - name: CRONCE_LEDGER\n                value: {_LEDGER}"
            )
        case "terraform":
            return (
                '  module "clock" {\n    source  = "./terraform/modules/pinned-clock"\n    ledger  = module.ledger\n'
                f'    job     = "{called}"\n    command = [{_without_guard(words)}]\n\n'
                "    # image, cluster_arn, subnet_ids, security_group_ids as in the service\n  }"
            )
        case "cdk" | "cloudformation" | "ecs":
            return (
                "  PinnedScheduler(\n"
                f'      self, "Clock", ledger=ledger, cluster=cluster, image=image,\n'
                f"      command=[{_without_guard(words)}],\n  )"
            )
        case "procfile" | "fly" | "heroku":
            return f"  {called}: {command}    # with CRONCE_LEDGER in the environment"
        case _:
            return f"  CRONCE_LEDGER={_AWS}\n  {command}"


def _relative(folder: PurePosixPath, start: PurePosixPath) -> str:
    """The folder as a file in `start` names it."""
    return posixpath.relpath(folder, start)


def _without_guard(words: str) -> str:
    """What the construct takes: it puts `cronce pin` before the command itself."""
    return words.partition('"--", ')[2]
