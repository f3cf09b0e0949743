"""What the class of the CDK writer has to be given, because the source does not have it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cronce.adopt.convert.model import CommandWork, ImageWork, Job, TaskWork


class Needs:
    """The arguments of the class.

    Attributes:
        arguments: Name, type, default (empty if it has to be given) and description of each.
        many_clusters: True if the source names several clusters.
        subnets: The IDs of all subnets.
        groups: The IDs of all security groups.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        tasks = [job.work for job in jobs if isinstance(job.work, TaskWork)]
        images = [job.work for job in jobs if isinstance(job.work, ImageWork)]
        clusters = {work.cluster or "" for work in tasks}
        self.clusters = sorted(clusters)
        self.many_clusters = len(clusters) > 1
        self.definitions = sorted({work.definition for work in tasks})
        self.has_commands = any(isinstance(job.work, CommandWork) for job in jobs)
        self.has_images = bool(images)
        self.entry_points = [job.name for job in jobs if isinstance(job.work, ImageWork) and job.work.command is None]
        self.secrets = sorted({each.name for work in images for each in work.secrets.values()})
        of_maps = {name for work in images for name in work.config_maps}
        self.config = sorted({each.name for work in images for each in work.config.values()} | of_maps)
        self.chooses_address = any(
            not isinstance(job.work, TaskWork) or job.work.assign_public_ip is None for job in jobs
        )
        self.subnets = sorted({each for work in tasks for each in work.subnets})
        self.groups = sorted({each for work in tasks for each in work.security_groups})
        self.arguments = tuple(self._arguments())

    def _arguments(self) -> Iterator[tuple[str, str, str, str]]:
        yield "ledger", "RunLedgerBase", "", "The ledger that admits the jobs, a RunLedger."
        if self.many_clusters:
            yield "clusters", "Mapping[str, ecs.ICluster]", "", _by_name("Where the tasks run", self.clusters)
        else:
            named = f": {self.clusters[0]}" if self.clusters and self.clusters[0] else ""
            yield "cluster", "ecs.ICluster", "", f"Where the tasks run{named}."
        if self.definitions:
            about = _by_name("The task definitions", self.definitions)
            yield "task_definitions", "Mapping[str, ecs.ITaskDefinition]", "", about
        if self.has_commands:
            about = "The image with the commands, and with cronce."
            yield "task_definition", "ecs.ITaskDefinition", "", about
        if self.entry_points:
            about = _by_name("What each image starts, as docker inspect prints it", self.entry_points)
            yield "entry_points", "Mapping[str, Sequence[str]]", "", about
        if self.secrets:
            about = _by_name("The secrets of Secrets Manager", self.secrets)
            yield "secrets", "Mapping[str, secretsmanager.ISecret]", "", about
        if self.config:
            yield "config", "Mapping[str, Mapping[str, str]]", "", _by_name("The config maps", self.config)
        if self.has_images:
            about = "The image with the portable folder of cronce; by default cdk deploy builds it."
            yield "guard_image", "ecs.ContainerImage | None", "None", about
        if self.chooses_address:
            yield "assign_public_ip", "bool", "False", "True in public subnets without a NAT gateway."


def _by_name(what: str, names: Sequence[str]) -> str:
    return f"{what}, by name: {', '.join(names)}."
