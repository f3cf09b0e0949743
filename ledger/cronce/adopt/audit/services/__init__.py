"""What a project deploys, and in how many copies: one module per kind of file."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.services.app_platforms import is_app_platform, read_app_platform
from cronce.adopt.audit.services.cdk_source import is_cdk_source, read_cdk_source
from cronce.adopt.audit.services.cloudformation import is_template, read_template
from cronce.adopt.audit.services.compose import is_compose, read_compose
from cronce.adopt.audit.services.ecs import is_ecs, read_ecs
from cronce.adopt.audit.services.helm import charts, read_chart
from cronce.adopt.audit.services.instances import is_instances, read_instances
from cronce.adopt.audit.services.kubernetes import is_kubernetes, read_kubernetes
from cronce.adopt.audit.services.nomad import is_nomad, read_nomad
from cronce.adopt.audit.services.platforms import is_platform_file, read_platform_file
from cronce.adopt.audit.services.reading import MOST_CHARACTERS, Reading
from cronce.adopt.audit.services.scaling import WORDS, scaled_by_hand
from cronce.adopt.audit.services.terraform import is_terraform, read_terraform

__all__ = ["Reading", "read_services"]

_YAML = (".yaml", ".yml", ".template")
_CODE = (".py", ".ts", ".mts", ".js")
_OTHERS = (".json", ".tf", ".hcl", ".nomad", ".bicep")


def read_services(files: Files, *, code: Collection[PurePosixPath] | None = None) -> Reading:
    """Everything that the files deploy. What cannot be read becomes a note, and the rest is read.

    Args:
        files: The project.
        code: The files of code that may deploy; all of them if None.
    """
    reading = Reading()
    manifests: list[tuple[PurePosixPath, str]] = []
    ecs: list[tuple[PurePosixPath, str]] = []
    terraform: list[tuple[PurePosixPath, str]] = []
    of_charts = charts(files)
    templates = {path for every in of_charts.values() for path in every}
    for path in files:
        if path in templates or not (path.suffix in (*_YAML, *_CODE, *_OTHERS) or is_platform_file(path)):
            continue
        if path.suffix in _CODE and code is not None and path not in code:
            continue
        text = files.text(path)
        if text is None:
            if is_compose(path) or is_platform_file(path):
                reading.not_read(path, 1, "it is no text, is too large, or has lines that no person wrote")
            continue
        if path.suffix in _CODE:
            if is_cdk_source(path, text):
                reading.add(read_cdk_source(path, text, files))
            continue
        if len(text) > MOST_CHARACTERS:
            if is_compose(path, text) or is_template(text) or is_kubernetes(path, text):
                reading.not_read(path, 1, f"it has more than {MOST_CHARACTERS:,} characters")
        elif is_platform_file(path):
            reading.add(read_platform_file(path, files))
        elif path.suffix == ".tf":
            if is_terraform(path, text):
                terraform.append((path, text))
        elif is_nomad(path, text):
            reading.add(read_nomad(path, text, files))
        elif is_instances(path, text):
            reading.add(read_instances(path, text, files))
        elif is_template(text):
            reading.add(read_template(path, text, files))
        elif is_compose(path, text):
            reading.add(read_compose(path, files))
        elif path.suffix == ".json" and is_ecs(text):
            ecs.append((path, text))
        elif is_kubernetes(path, text):
            manifests.append((path, text))
        elif is_app_platform(path):
            reading.add(read_app_platform(path, files))
    for folder, every in of_charts.items():
        reading.add(read_chart(folder, every, files))
    scripts = [path for path in files if path.suffix in (".sh", ".bash") or path.name in ("Makefile", "package.json")]
    reading.add(read_kubernetes(manifests, files))
    reading.add(read_ecs(ecs, files))
    reading.add(read_terraform(terraform, files))
    texts = [(path, text) for path in scripts if (text := files.text(path)) and any(word in text for word in WORDS)]
    reading.services = scaled_by_hand(reading.services, texts)
    return reading
