"""Kubernetes manifests: workloads, their autoscalers, and CronJobs that leave to defaults what matters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import AuditFinding, Place, Severity
from cronce.adopt.audit.services.images import Container, Copies, command_in, environment_in, services_of
from cronce.adopt.audit.services.kustomize import PatchedCount, is_kustomization, patched_counts
from cronce.adopt.audit.services.reading import Count, Reading, count_of
from cronce.adopt.audit.services.yaml_tree import YamlNode, YamlUnreadableError, documents

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Rollout"})
_AUTOSCALERS = frozenset({"HorizontalPodAutoscaler", "ScaledObject"})
_KINDS = _WORKLOADS | _AUTOSCALERS | {"CronJob", "List", "Kustomization", "ConfigMap"}
_MENTIONS = re.compile(rf"(?:^|[\s{{,])[\"']?kind[\"']?\s*:\s*[\"']?(?:{'|'.join(sorted(_KINDS))})\b", re.MULTILINE)
_DEPLOYMENT_SURGE = "a rolling update starts the new pod before the old one has ended (maxSurge)"
_KEDA_MOST = 100
"""`maxReplicaCount` of a KEDA ScaledObject when it is not stated (KEDA's documentation)."""


@dataclass(slots=True, kw_only=True)
class _Manifests:
    workloads: list[tuple[PurePosixPath, YamlNode]] = field(default_factory=list)
    autoscalers: list[tuple[PurePosixPath, YamlNode]] = field(default_factory=list)
    cron_jobs: list[tuple[PurePosixPath, YamlNode]] = field(default_factory=list)
    patched: list[PatchedCount] = field(default_factory=list)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, path: PurePosixPath, node: YamlNode, files: Files) -> None:
        """Sorts one object; a List has others inside."""
        kind = node.words("kind") or ("Kustomization" if is_kustomization(path) else "")
        if kind == "List":
            for item in node.items("items"):
                if item.words("kind") != "List":
                    self.take(path, item, files)
        elif kind in _WORKLOADS:
            self.workloads.append((path, node))
        elif kind in _AUTOSCALERS:
            self.autoscalers.append((path, node))
        elif kind == "CronJob":
            self.cron_jobs.append((path, node))
        elif kind == "ConfigMap":
            data = {key: value.value for key, value in node.entries("data").items() if isinstance(value.value, str)}
            self.settings.setdefault(node.words("metadata", "name") or "", {}).update(data)
        elif kind == "Kustomization":
            self.patched += patched_counts(path, node, files)
            for item in node.items("configMapGenerator"):
                pairs = (each.partition("=") for each in item.strings("literals") or ())
                self.settings.setdefault(item.words("name") or "", {}).update({key: value for key, _, value in pairs})

    def patched_count(self, name: str) -> PatchedCount | None:
        """The largest number that an overlay gives to the workload."""
        every = [each for each in self.patched if each.name in (name, None)]
        return max(every, key=lambda each: each.count.least, default=None)


def is_kubernetes(path: PurePosixPath, text: str) -> bool:
    """Whether a text has objects that this module reads. Cheap: no parsing."""
    if is_kustomization(path):
        return True
    return "kind" in text and _MENTIONS.search(text) is not None


def read_kubernetes(texts: Iterable[tuple[PurePosixPath, str]], files: Files, *, kind: str = "kubernetes") -> Reading:
    """The workloads of all manifests together, because an autoscaler may be in a file of its own."""
    reading = Reading()
    manifests = _Manifests()
    for path, text in texts:
        try:
            for document in documents(text):
                manifests.take(path, document, files)
        except YamlUnreadableError as error:
            reading.not_read(path, error.line, error.why)
    for path, workload in manifests.workloads:
        copies = _copies(path, workload, manifests, kind, reading)
        for container, of_container in _containers(path, workload, copies, manifests):
            reading.services += services_of(container, of_container, files)
    for path, cron_job in manifests.cron_jobs:
        reading.notes += _unstated(path, cron_job)
        for node in cron_job.items("spec", "jobTemplate", "spec", "template", "spec", "containers"):
            commands = (command_in(path, node, key) for key in ("command", "args"))
            reading.runs_once += [command.place for command in commands if command is not None]
    return reading


def _copies(path: PurePosixPath, workload: YamlNode, manifests: _Manifests, kind: str, reading: Reading) -> Copies:
    name = workload.words("metadata", "name") or "unnamed"
    what = workload.words("kind") or ""
    here = Place(path=path, line=(workload.get("metadata", "name") or workload).line)
    if what == "DaemonSet":
        return Copies(name=name, kind=kind, place=here, least=2, most=None, stated="DaemonSet: one pod per node")
    for scaler_path, scaler in manifests.autoscalers:
        if scaler.words("spec", "scaleTargetRef", "name") == name and _kind_fits(scaler, what):
            return _scaled(scaler_path, scaler, name, kind)
    replicas = workload.get("spec", "replicas")
    stated, place = "", here
    count = Count(least=1, most=1)
    if (patched := manifests.patched_count(name)) is not None:
        place, count = patched.place, patched.count
        stated = f"replicas: {count.most}"
    elif replicas is not None:
        place = Place(path=path, line=replicas.line)
        found = count_of(replicas.value) if isinstance(replicas.value, str) else None
        if found is None:
            reading.not_read(path, replicas.line, f"spec.replicas of {name} is no number")
        else:
            count, stated = found, f"replicas: {replicas.value}"
    overlap = _DEPLOYMENT_SURGE if what in ("Deployment", "Rollout") and count.most == 1 and _surges(workload) else ""
    return Copies(name=name, kind=kind, place=place, least=count.least, most=count.most, stated=stated, overlap=overlap)


def _scaled(path: PurePosixPath, scaler: YamlNode, name: str, kind: str) -> Copies:
    keda = scaler.words("kind") == "ScaledObject"
    low, high = ("minReplicaCount", "maxReplicaCount") if keda else ("minReplicas", "maxReplicas")
    most = scaler.get("spec", high)
    least = count_of(scaler.words("spec", low))
    found = count_of(most.value) if most is not None and isinstance(most.value, str) else None
    limit = found.most if found is not None else (_KEDA_MOST if keda else None)
    return Copies(
        name=name,
        kind=kind,
        place=Place(path=path, line=(most or scaler).line),
        least=least.least if least is not None else (0 if keda else 1),
        most=limit,
        stated=f"{'KEDA' if keda else 'autoscaling'}, {high}: {limit if limit is not None else 'unknown'}",
    )


def _kind_fits(scaler: YamlNode, what: str) -> bool:
    return (scaler.words("spec", "scaleTargetRef", "kind") or what) == what


def _surges(workload: YamlNode) -> bool:
    """Whether a rolling update of one replica starts a second. 25 % of 1, the default, is rounded up to 1.

    Source: the API reference of DeploymentStrategy and RollingUpdateDeployment.
    """
    strategy = workload.get("spec", "strategy")
    if strategy is None:
        return True
    if strategy.words("type") == "Recreate":
        return False
    surge = strategy.words("rollingUpdate", "maxSurge")
    if surge is None:
        return True
    percent = re.fullmatch(r"([0-9]{1,4})%", surge)
    return math.ceil(int(percent[1]) / 100) > 0 if percent else surge != "0"


def _containers(
    path: PurePosixPath, workload: YamlNode, copies: Copies, manifests: _Manifests
) -> Iterator[tuple[Container, Copies]]:
    containers = workload.items("spec", "template", "spec", "containers")
    for node in containers:
        name = copies.name if len(containers) == 1 else f"{copies.name}/{node.words('name') or 'unnamed'}"
        yield (
            Container(
                entrypoint=command_in(path, node, "command"),
                cmd=command_in(path, node, "args"),
                image=node.words("image"),
                environment=_environment(node, manifests),
            ),
            replace(copies, name=name),
        )


def _environment(container: YamlNode, manifests: _Manifests) -> dict[str, str]:
    """The settings of a container; those of its ConfigMaps are looked up."""
    found: dict[str, str] = {}
    for item in container.items("envFrom"):
        found |= manifests.settings.get(item.words("configMapRef", "name") or "", {})
    for item in container.items("env"):
        reference = item.get("valueFrom", "configMapKeyRef")
        if reference is not None and (name := item.words("name")) is not None:
            data = manifests.settings.get(reference.words("name") or "", {})
            found |= {name: value} if (value := data.get(reference.words("key") or "")) is not None else {}
    return found | environment_in(container, "env")


def _unstated(path: PurePosixPath, cron_job: YamlNode) -> Iterator[AuditFinding]:
    """The two fields of a CronJob whose defaults surprise: overlap is allowed, and a late start has no limit."""
    spec = cron_job.get("spec")
    name = cron_job.words("metadata", "name") or "unnamed"
    if spec is None:
        return
    place = Place(path=path, line=(spec.get("schedule") or spec).line)
    if spec.get("concurrencyPolicy") is None:
        yield AuditFinding(
            rule="overlap-not-stated",
            severity=Severity.WARNING,
            place=place,
            message=(
                f"CronJob {name} does not state concurrencyPolicy; the default, Allow, starts the next run while the "
                "last one still works"
            ),
            fix="spec:\n  concurrencyPolicy: Forbid",
        )
    if spec.get("startingDeadlineSeconds") is None:
        yield AuditFinding(
            rule="deadline-not-stated",
            severity=Severity.WARNING,
            place=place,
            message=(
                f"CronJob {name} does not state startingDeadlineSeconds; a run that is late starts whenever "
                "it can, however old it is"
            ),
            fix="spec:\n  startingDeadlineSeconds: 600",
        )
