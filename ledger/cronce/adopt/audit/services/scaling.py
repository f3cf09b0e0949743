"""Copies that a command in a script or Makefile gives to a service: `docker compose up --scale`, `fly scale count`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from cronce.adopt.audit.model import FoundService, Place

_PAIR = r"(?P<name>[\w.-]+)=(?P<count>[0-9]{1,6})"
_COMMANDS = (
    (
        "compose",
        re.compile(rf"compose\b.*?(?P<all>(?:\s--scale[ =]{_PAIR.replace('name', 'n').replace('count', 'c')}.*)+)"),
    ),
    ("compose", re.compile(r"docker service scale(?P<all>(?:\s+[\w.-]+=[0-9]+)+)")),
    ("fly", re.compile(r"\bfly(?:ctl)? scale count(?P<all>(?:\s+[\w.-]+=[0-9]+)+)")),
    ("procfile", re.compile(r"\bps:scale(?P<all>(?:\s+[\w.-]+[=:]?[0-9]*)+)")),
    ("kubernetes", re.compile(r"\bkubectl\b.*?\sscale\b(?P<all>.*)")),
)
_EACH = re.compile(_PAIR)
_REPLICAS = re.compile(r"--replicas[ =](?P<count>[0-9]{1,6})")
_WORKLOAD = re.compile(r"(?:deploy\w*|statefulset|sts|rs|replicaset)(?:\.apps)?[/ ]+(?P<name>[\w.-]+)")
WORDS = ("--scale", "scale count", "service scale", "ps:scale", " scale ")
"""One of them is in every text with such a command."""


def scaled_by_hand(services: Iterable[FoundService], texts: Iterable[tuple[PurePosixPath, str]]) -> list[FoundService]:
    """The services, with the copies that commands in scripts and Makefiles give them, if those are more."""
    found = list(services)
    for path, text in texts:
        for line, words in enumerate(text.splitlines(), start=1):
            for kind, name, count, stated in _scaled(words) if not words.lstrip().startswith("#") else ():
                for index, service in enumerate(found):
                    is_it = service.name == name or (kind == "compose" and name.endswith(f"_{service.name}"))
                    if service.kind == kind and is_it and (service.most or 0) < count:
                        place = Place(path=path, line=line)
                        found[index] = replace(service, place=place, least=count, most=count, copies=stated)
    return found


def _scaled(words: str) -> Iterator[tuple[str, str, int, str]]:
    """Kind, name, number, and the words that state it."""
    for kind, command in _COMMANDS:
        match = command.search(words)
        if match is None:
            continue
        if kind == "kubernetes":
            name, count = _WORKLOAD.search(match["all"]), _REPLICAS.search(match["all"])
            if name is not None and count is not None:
                yield kind, name["name"], int(count["count"]), f"kubectl scale {name['name']} {count[0]}"
            continue
        for each in _EACH.finditer(match["all"]):
            option = (
                "--scale "
                if "--scale" in match["all"]
                else f"{match[0][: match.start('all') - match.start()].strip()} "
            )
            yield kind, each["name"], int(each["count"]), f"{option}{each[0]}"
