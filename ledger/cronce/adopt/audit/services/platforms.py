"""Platforms with files of their own: Procfiles with Heroku's `app.json`, Fly.io, Elastic Beanstalk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from cronce.adopt.audit.files import Files, below
from cronce.adopt.audit.model import AuditFinding, Place, Severity
from cronce.adopt.audit.services.commands import shell_words
from cronce.adopt.audit.services.dockerfile import ImageCommand
from cronce.adopt.audit.services.images import Container, Copies, services_of
from cronce.adopt.audit.services.reading import Count, Reading, count_of
from cronce.adopt.audit.services.starting import procfile_entries
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_FLY_MACHINES = 2
"""`fly deploy` gives a process group with a service two machines at first (Fly.io documentation, App availability)."""


def is_platform_file(path: PurePosixPath) -> bool:
    """Whether the name is one of those that this module reads."""
    return (
        path.name in ("Procfile", "cron.yaml")
        or re.fullmatch(r"fly(?:\.[\w-]+)?\.toml", path.name) is not None
        or (path.suffix == ".config" and path.parent.name == ".ebextensions")
    )


def read_platform_file(path: PurePosixPath, files: Files) -> Reading:
    """The services of one file."""
    text = files.text(path)
    reading = Reading()
    if text is None:
        reading.not_read(path, 1, "the file cannot be read as text")
        return reading
    try:
        if path.name == "Procfile":
            _procfile(path, text, files, reading)
        elif path.suffix == ".toml":
            _fly(path, text, files, reading)
        elif path.name == "cron.yaml":
            reading.notes += _periodic_tasks(path, text)
        else:
            _beanstalk(path, text, files, reading)
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
    return reading


def _procfile(path: PurePosixPath, text: str, files: Files, reading: Reading) -> None:
    formation = _formation(path.parent, files, reading)
    for line, name, command in procfile_entries(text):
        if name == "release":  # runs once per release, not in copies
            continue
        place, count = formation.get(name, (Place(path=path, line=line), None))
        copies = Copies(name=name, kind="procfile", place=place)
        if count is not None:
            copies = replace(
                copies, least=count.least, most=count.most, stated=f"formation.{name}.quantity: {count.most}"
            )
        start = ImageCommand(words=(command,), in_shell=True, place=Place(path=path, line=line))
        reading.services += services_of(Container(cmd=start, folder=path.parent), copies, files)


def _formation(folder: PurePosixPath, files: Files, reading: Reading) -> dict[str, tuple[Place, Count]]:
    """The quantities of Heroku's `app.json`."""
    path = folder / "app.json"
    found: dict[str, tuple[Place, Count]] = {}
    try:
        for document in documents(files.text(path) or ""):
            for name, node in document.entries("formation").items():
                quantity = node.get("quantity")
                count = count_of(node.words("quantity"))
                if quantity is not None and count is not None:
                    found[name] = (Place(path=path, line=quantity.line), count)
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
    return found


def _fly(path: PurePosixPath, text: str, files: Files, reading: Reading) -> None:
    try:
        settings = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        reading.not_read(path, int(line[1]) if line else 1, "no TOML")
        return
    served = _served(settings)
    processes = settings.get("processes")
    commands: dict[str, Any] = processes if isinstance(processes, dict) else {"app": None}
    build = settings.get("build")
    dockerfile = build.get("dockerfile") if isinstance(build, dict) else None
    for name, command in commands.items():
        serves = served is not None and (not served or name in served)
        place = Place(path=path, line=_line_with(text, "http_service" if serves else name, "services"))
        own = Place(path=path, line=_line_with(text, f"{name} ", f"{name}="))
        words = shell_words(command) if isinstance(command, str) else None
        reading.services += services_of(
            Container(
                cmd=ImageCommand(words=words, in_shell=False, place=own) if words else None,
                folder=path.parent,
                dockerfile=below(path.parent, dockerfile) if isinstance(dockerfile, str) else None,
            ),
            Copies(
                name=name,
                kind="fly",
                place=place,
                most=_FLY_MACHINES if serves else 1,
                stated="fly deploy starts two machines for a service" if serves else "",
            ),
            files,
        )


def _served(settings: dict[str, Any]) -> set[str] | None:
    """The process groups with a service; empty means all of them, None that there is no service."""
    services = settings.get("services")
    every = [settings.get("http_service"), *(services if isinstance(services, list) else [])]
    tables = [table for table in every if isinstance(table, dict)]
    if not tables:
        return None
    names = [table.get("processes") for table in tables]
    return {name for every in names if isinstance(every, list) for name in every if isinstance(name, str)}


def _line_with(text: str, *words: str) -> int:
    for number, line in enumerate(text.splitlines(), start=1):
        if any(word in line for word in words):
            return number
    return 1


def _periodic_tasks(path: PurePosixPath, text: str) -> Iterator[AuditFinding]:
    """`cron.yaml` of a worker environment: Elastic Beanstalk elects a leader, and delivers through a queue."""
    for document in documents(text):
        for item in document.items("cron"):
            if item.words("schedule") is not None and item.words("url") is not None:
                yield AuditFinding(
                    rule="clock-with-own-lock",
                    severity=Severity.INFO,
                    place=Place(path=path, line=item.line),
                    message=f"Elastic Beanstalk posts {item.words('name') or 'the task'} from one leader, through a "
                    "queue that delivers at least once: the handler must refuse the second delivery of a period",
                    fix="cronce exec --job JOB --period PERIOD -- COMMAND",
                )


def _beanstalk(path: PurePosixPath, text: str, files: Files, reading: Reading) -> None:
    """The size of an Elastic Beanstalk environment, and cron jobs that one instance gets at a deployment."""
    project = path.parent.parent
    for document in documents(text):
        most = _option(document, "MaxSize")
        if most is not None:
            least = _option(document, "MinSize")
            low, high = count_of(_text(least)), count_of(_text(most)) or Count(least=1, most=None)
            container = Container(folder=project)
            procfile = files.text(project / "Procfile")
            for line, name, command in procfile_entries(procfile or ""):
                if name == "web":
                    place = Place(path=project / "Procfile", line=line)
                    container = replace(container, cmd=ImageCommand(words=(command,), in_shell=True, place=place))
            copies = Copies(
                name="environment",
                kind="beanstalk",
                place=Place(path=path, line=most.line),
                least=low.least if low else 1,
                most=high.most,
                stated=f"MaxSize: {_text(most)}",
            )
            reading.services += services_of(container, copies, files)
        for name, node in document.entries("container_commands").items():
            command = node.words("command") or ""
            if node.words("leader_only") in ("true", "True", "yes") and "cron" in command:
                reading.notes.append(_leader_only(path, node.line, name))


def _leader_only(path: PurePosixPath, line: int, name: str) -> AuditFinding:
    return AuditFinding(
        rule="clock-kept-by-one-line",
        severity=Severity.WARNING,
        place=Place(path=path, line=line),
        message=f"{name} installs cron jobs on the instance that leads this deployment (leader_only): they end with "
        "that instance when the environment scales in, and nobody notices",
        fix="Install the crontab on every instance, with the guard before each command:\n"
        "0 6 * * *  cronce exec --schedule '0 6 * * *' --job JOB -- COMMAND",
    )


def _option(document: YamlNode, name: str) -> YamlNode | None:
    """An option of the autoscaling group, in either form of `option_settings`."""
    if (node := document.get("option_settings", "aws:autoscaling:asg", name)) is not None:
        return node
    for item in document.items("option_settings"):
        if item.words("namespace") == "aws:autoscaling:asg" and item.words("option_name") == name:
            return item.get("value")
    return None


def _text(node: YamlNode | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) else None
