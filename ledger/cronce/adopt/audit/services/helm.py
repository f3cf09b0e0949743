"""Helm charts: their templates filled with the values of the chart and of each environment, then read as manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import FoundService, Place
from cronce.adopt.audit.services.helm_template import HelmValue, Line, rendered
from cronce.adopt.audit.services.kubernetes import is_kubernetes, read_kubernetes
from cronce.adopt.audit.services.reading import Reading
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_MOST_ENVIRONMENTS = 12

_Layer = tuple[PurePosixPath, YamlNode]


def charts(files: Files) -> dict[PurePosixPath, list[PurePosixPath]]:
    """The folder of each chart with its templates."""
    found: dict[PurePosixPath, list[PurePosixPath]] = {
        path.parent: [] for path in files if path.name in ("Chart.yaml", "Chart.yml")
    }
    for path in files if found else ():
        if path.suffix not in (".yaml", ".yml"):
            continue
        chart = next((each for each in path.parents if each in found and each / "templates" in path.parents), None)
        if chart is not None:
            found[chart].append(path)
    return found


def read_chart(folder: PurePosixPath, templates: list[PurePosixPath], files: Files) -> Reading:
    """What the chart deploys, with its own values or with those of one environment, whichever has most copies.

    Where a value states the copies, the place is that of the value.
    """
    reading = Reading()
    texts = {each: text for each in templates if (text := files.text(each)) and is_kubernetes(each, text)}
    most: dict[tuple[str, Place | None], FoundService] = {}
    for values in _environments(folder, files, reading):
        lines = {each: rendered(text, values, folder.name) for each, text in texts.items()}
        written = [(each, "\n".join(line.text for line in every)) for each, every in lines.items()]
        found = read_kubernetes(written, files, kind="helm")
        notes = [replace(note, place=_in_template(note.place, lines)) for note in found.notes]
        reading.notes += [note for note in notes if note not in reading.notes]
        for service in (_at_value(each, lines) for each in found.services):
            key = (service.name, service.command_place)
            if key not in most or _copies(service) > _copies(most[key]):
                most[key] = service
    reading.services += most.values()
    return reading


def _environments(folder: PurePosixPath, files: Files, reading: Reading) -> list[HelmValue | None]:
    """The chart's own values, then those of each environment above them.

    The file of an environment is in the folder of the chart, or in its folder `values`; those elsewhere are of the
    chart that their path names, or of the only chart.
    """
    own = next((each for each in (folder / "values.yaml", folder / "values.yml") if each in files), None)
    inside = [path for path in files.inside(folder) if path.suffix in (".yaml", ".yml") and path != own]
    others = [
        path for path in inside if (path.parent == folder and "values" in path.name) or path.parent == folder / "values"
    ]
    every = charts(files)
    elsewhere = [
        path
        for path in files
        if "values" in path.name and path.suffix in (".yaml", ".yml")
        if not any(each in path.parents for each in every)
    ]
    others += [path for path in elsewhere if len(every) == 1 or folder.name in (*path.parts, path.stem)]
    base = _layer(own, files, reading) if own is not None else []
    above = [_layer(path, files, reading) for path in others[:_MOST_ENVIRONMENTS]]
    return [_value(base), *(_value([*layer, *base]) for layer in above if layer)]


def _value(layers: Sequence[_Layer]) -> HelmValue | None:
    return HelmValue(tuple(layers)) if layers else None


def _layer(path: PurePosixPath, files: Files, reading: Reading) -> list[_Layer]:
    """The values of one file; nothing if it is empty or cannot be read."""
    try:
        return [(path, node) for node in islice(documents(files.text(path) or ""), 1)]
    except YamlUnreadableError as error:
        reading.not_read(path, error.line, error.why)
        return []


def _copies(service: FoundService) -> int:
    return (service.most if service.most is not None else max(service.least, 2)) * service.processes


def _in_template(place: Place, lines: dict[PurePosixPath, list[Line]]) -> Place:
    """The place in the template of a place in what was made of it."""
    every = lines.get(place.path, [])
    return replace(place, line=every[place.line - 1].number) if place.line <= len(every) else place


def _at_value(service: FoundService, lines: dict[PurePosixPath, list[Line]]) -> FoundService:
    """The service with places in the template, and the copies at the line of the value that states them."""
    every = lines.get(service.place.path, [])
    value = every[service.place.line - 1].value if service.place.line <= len(every) else None
    command = service.command_place
    placed = replace(
        service,
        place=_in_template(service.place, lines),
        command_place=_in_template(command, lines) if command is not None else None,
    )
    if value is None or value.text is None or not service.copies:
        return placed
    path, node = value.layers[0]
    return replace(placed, place=Place(path=path, line=node.line), copies=f"{value.name}: {value.text}")
