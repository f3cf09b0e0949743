"""CronJob manifests of Kubernetes: several documents, and Lists.

Source of the fields and defaults: the API reference of `batch/v1` (CronJobSpec, JobSpec) and of `v1` (PodSpec,
Container). `command` of a container is the ENTRYPOINT, which ECS cannot override per task, and `args` is the CMD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta

from cronce.adopt.convert import timing
from cronce.adopt.convert.model import ImageWork, Job, Notes, Reference, RefusedJob, Source, SourceLine
from cronce.adopt.convert.naming import clean_name
from cronce.adopt.convert.secrecy import may_be_secret
from cronce.adopt.convert.sources.ecs_overrides import note_command
from cronce.adopt.convert.sources.fargate import size_on_fargate
from cronce.adopt.convert.sources.fields import Fields, Value, yaml_documents
from cronce.vocabulary.errors import Found, InputInvalidError
from cronce.vocabulary.policy import CatchUp, ConcurrencyPolicy, Policy

CRONJOB_DEFAULTS = (
    "Kubernetes allows overlaps unless the manifest says otherwise: written as ALLOW.",
    "backoffLimit is 6 there; it counts failed Pods, and here attempts that started and failed.",
    "After an outage the most recent missed tick is started there: written as catch_up LATEST.",
    "Without timeZone, the zone of the controller counts there.",
    "activeDeadlineSeconds limits a Job with its retries there, and one attempt here.",
)

_POLICIES = {
    "Allow": ConcurrencyPolicy.ALLOW,
    "Forbid": ConcurrencyPolicy.FORBID,
    "Replace": ConcurrencyPolicy.REPLACE,
}
_BACKOFF_LIMIT = 6
_LONGEST = timedelta(days=366) // timedelta(seconds=1)
_QUANTITY = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>m|k|M|G|T|Ki|Mi|Gi|Ti)?")
_UNITS = {None: 1, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12} | {
    unit: 2**power for unit, power in (("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40))
}
_EXPANSION = re.compile(r"\$\$|\$\(([A-Za-z_.-][A-Za-z0-9_.-]*)\)")

_ELSEWHERE = "its values are not in the manifest: pass them to the class or the module"

_OF_METADATA = {
    "namespace": "an ECS cluster has none; use a stack or a ledger for each environment",
    "labels": "set tags on the stack",
    "annotations": "set tags on the stack, or write them as comments",
}
_OF_SPEC = {
    "successfulJobsHistoryLimit": "one row per run is kept for 400 days",
    "failedJobsHistoryLimit": "one row per run is kept for 400 days",
}
_OF_JOB = {
    "ttlSecondsAfterFinished": "a stopped task costs nothing, and its row is kept for 400 days",
    "parallelism": "a run is one task",
    "completions": "a run is one task",
    "completionMode": "a run is one task",
    "podFailurePolicy": "every attempt that started and failed counts",
    "backoffLimitPerIndex": "a run is one task",
    "suspend": "it is the CronJob that is suspended",
}
_OF_POD = {
    "restartPolicy": "each attempt is a new task; backoff_limit says how many there are",
    "serviceAccountName": "grant the permissions to the task role: bucket.grant_read(task_definition.task_role)",
    "serviceAccount": "grant the permissions to the task role: bucket.grant_read(task_definition.task_role)",
    "automountServiceAccountToken": "a task has no token of Kubernetes",
    "imagePullSecrets": "give repository credentials to the image, or use ECR",
    "nodeSelector": "Fargate has no nodes",
    "affinity": "Fargate has no nodes",
    "tolerations": "Fargate has no nodes",
    "priorityClassName": "Fargate has no priorities",
    "volumes": "use volumes of ECS (EFS), or bring the files in the image",
    "hostNetwork": "each Fargate task has its own network interface",
    "dnsPolicy": "the VPC resolves names",
    "securityContext": "the image's user counts; set `user` or `readonly_root_filesystem` on the container",
    "terminationGracePeriodSeconds": "set stop_timeout on the container, and --grace on `cronce exec`",
    "enableServiceLinks": "there are no services of Kubernetes",
    "schedulerName": "Fargate places the task",
}
_OF_CONTAINER = {
    "imagePullPolicy": "ECS pulls the image for each task",
    "volumeMounts": "use volumes of ECS (EFS), or bring the files in the image",
    "securityContext": "the image's user counts; set `user` or `readonly_root_filesystem` on the container",
    "workingDir": "set working_directory on the container",
    "terminationMessagePath": "the reason is in the row of the run, and the output in the log",
    "terminationMessagePolicy": "the reason is in the row of the run, and the output in the log",
    "ports": "a job serves nobody",
    "livenessProbe": "active_deadline ends a run that hangs",
    "readinessProbe": "a job serves nobody",
    "lifecycle": "put it into the command",
    "tty": "a task has no terminal",
    "stdin": "a task has no standard input",
}


def read_cronjobs(source: Source) -> Iterator[Job | RefusedJob]:
    """The CronJobs of a file; other kinds of objects are refused.

    Raises:
        InputInvalidError: It is no manifest, or has an object that is no CronJob.
        InputMissingError: A field is missing without which nothing can be read.
    """
    if re.search(r"^\s*(?:[A-Za-z-]+:\s*|-\s*)?\{\{", source.text, re.MULTILINE):
        raise InputInvalidError(source.file, Found("a template of Helm"), "a manifest; `helm template CHART` writes it")
    for document in yaml_documents(source.text, source.file):
        yield from _objects(document, source)


def _objects(value: Value, source: Source, *, of_jobs: bool = False) -> Iterator[Job | RefusedJob]:
    """The CronJobs of an object; those of a CronJobList do not repeat their kind."""
    fields = value.fields()
    wanted = "CronJob, as kubectl get -o yaml prints it"
    kind = fields.take("kind") if of_jobs else fields.need("kind", wanted)
    version = fields.take("apiVersion")
    if kind is not None and kind.text() in ("List", "CronJobList"):
        for item in fields.need("items", "the objects of the list").items():
            yield from _objects(item, source, of_jobs=kind.text() == "CronJobList")
        fields.take("metadata")
        for other in fields.left():
            raise InputInvalidError(other.where, other.name, "kind, apiVersion, metadata and items of a List")
        return
    if kind is not None and kind.text() != "CronJob":
        raise kind.refused("CronJob, or a List of them; kubectl get cronjob -o yaml writes only those")
    if version is not None and not re.fullmatch(r"batch/v(?:1|1beta1|2alpha1)", version.text()):
        raise version.refused("batch/v1, or an older version of it")
    metadata = fields.need("metadata", "the name of the CronJob").fields()
    given = metadata.need("name", "the name of the CronJob")
    name = clean_name(given.text())
    notes = Notes(SourceLine(file=source.file, line=value.line))
    if not name:
        raise given.refused("a name with a letter or a digit")
    notes.renamed("metadata.name", given.text(), name, line=given.line)
    try:
        yield _job(fields, metadata, name, source, notes)
    except InputInvalidError as error:
        yield RefusedJob(name=name, place=notes.place, error=error)


def _job(fields: Fields, metadata: Fields, name: str, source: Source, notes: Notes) -> Job:
    _leave(metadata, _OF_METADATA, notes, "of the cluster's own bookkeeping")
    fields.take("status")
    spec = fields.need("spec", "the CronJob's schedule and template").fields()
    schedule = spec.need("schedule", "the CronJob's schedule")
    if (zone := spec.take("timeZone")) is not None:
        timezone = zone.text()
        notes.kept("timeZone", timezone, f"timezone {timezone}", line=zone.line)
    else:
        timezone = timing.stated_zone(source.timezone, "the zone of the controller (most often UTC)", notes, "timeZone")
    when = timing.go_cron(schedule.text(), timezone, notes, "schedule", schedule.where, line=schedule.line)
    template = spec.need("jobTemplate", "the template of the Job").fields()
    job_spec = template.need("spec", "the Job of the template").fields()
    policy = _policy(spec, job_spec, notes)
    pod_template = job_spec.need("template", "the template of the Pod").fields()
    pod = pod_template.need("spec", "the Pod of the template").fields()
    if (manual := job_spec.take("podReplacementPolicy")) is not None:
        notes.left(
            "podReplacementPolicy", manual.text(), "an attempt begins after the last one ended", line=manual.line
        )
    work, environment = _work(pod, name, notes)
    for each in (template, pod_template):
        if (own := each.take("metadata")) is not None:
            _leave(own.fields(), _OF_METADATA, notes, "of the cluster's own bookkeeping")
        each.report(notes)
    _leave(spec, _OF_SPEC, notes)
    _leave(job_spec, _OF_JOB, notes)
    _leave(pod, _OF_POD, notes)
    fields.report(notes)
    return Job(
        name=name,
        place=notes.place,
        when=when,
        work=work,
        environment=environment,
        policy=policy,
        decisions=notes.all(),
    )


def _policy(spec: Fields, job_spec: Fields, notes: Notes) -> Policy:
    if (overlaps := spec.take("concurrencyPolicy")) is not None:
        if overlaps.text() not in _POLICIES:
            raise overlaps.refused(", ".join(_POLICIES))
        concurrency = _POLICIES[overlaps.text()]
        notes.kept("concurrencyPolicy", overlaps.text(), concurrency, line=overlaps.line)
    else:
        concurrency = ConcurrencyPolicy.ALLOW
        notes.stated("concurrencyPolicy", concurrency, "Allow is the default there; FORBID is that of cronce")
    suspend = spec.take("suspend")
    if suspend is not None:
        notes.kept("suspend", suspend.flag(), f"suspend {str(suspend.flag()).lower()}", line=suspend.line)
    starting = _seconds(spec.take("startingDeadlineSeconds"), "starting_deadline", notes)
    why = "after an outage the most recent missed tick is started there; NONE is the default of cronce"
    notes.stated("catch-up", CatchUp.LATEST, why)
    if (limit := job_spec.take("backoffLimit")) is not None:
        retries = limit.whole(0, 1000)
        why = "it counts attempts that started and failed; crashes and failed launches do not count"
        notes.changed("backoffLimit", limit.text(), f"backoff_limit {retries}", why, line=limit.line)
    else:
        retries = _BACKOFF_LIMIT
        notes.stated("backoffLimit", f"backoff_limit {retries}", "6 is the default there; 0 is that of cronce")
    active = job_spec.take("activeDeadlineSeconds")
    deadline = _seconds(active, "active_deadline", notes, why="it limits one attempt; there the Job with its retries")
    return Policy(
        concurrency_policy=concurrency,
        starting_deadline=starting,
        active_deadline=deadline,
        backoff_limit=retries,
        suspend=suspend is not None and suspend.flag(),
        catch_up=CatchUp.LATEST,
    )


def _seconds(value: Value | None, became: str, notes: Notes, *, why: str = "") -> timedelta | None:
    if value is None:
        return None
    field = value.name
    seconds = value.whole(0, _LONGEST)
    if seconds == 0:
        notes.changed(field, 0, f"{became} 1s", "0 is no time at all; 1 s is the least", line=value.line)
        return timedelta(seconds=1)
    if why:
        notes.changed(field, seconds, f"{became} {seconds}s", why, line=value.line)
    else:
        notes.kept(field, seconds, f"{became} {seconds}s", line=value.line)
    return timedelta(seconds=seconds)


def _work(pod: Fields, name: str, notes: Notes) -> tuple[ImageWork, Mapping[str, str]]:
    containers = pod.need("containers", "the container that does the work").items()
    if len(containers) != 1:
        where = containers[1].where if containers else notes.place
        allowed = (
            "one container: which of several does the work, a person has to say; write its task definition by hand"
        )
        raise InputInvalidError(str(where), f"{len(containers)} containers", allowed)
    if (before := pod.take("initContainers")) is not None:
        allowed = "no initContainers: put their work into the command, or write the task definition by hand"
        raise before.refused(allowed)
    container = containers[0].fields()
    own = container.take("name")
    container_name = clean_name(own.text()) if own is not None else ""
    if container_name in ("", "cronce"):
        container_name = name
    if own is not None:
        notes.kept("container name", own.text(), container_name, line=own.line)
    image = container.need("image", "the image of the container")
    if not image.text().strip() or not image.text().isprintable():
        raise image.refused("the name of an image")
    notes.kept("image", image.text(), image.text(), line=image.line)
    command, arguments = container.take("command"), container.take("args")
    plain, secrets, config, maps = _variables(container, name, notes)
    words = None if command is None or not command.items() else _expanded(command, plain, notes)
    rest = None if arguments is None else _expanded(arguments, plain, notes)
    if words is not None:
        entry, words = words, (*words, *(rest or ()))
        note_command(words, "command", notes, line=command.line if command else None)
        why = (
            "it is the ENTRYPOINT, which ECS cannot override per task: it is in the task definition, with args after it"
        )
        notes.changed("command", "", entry[0], why, line=command.line if command else None)
    elif rest:
        note_command(rest, "args", notes, line=arguments.line if arguments else None)
    if words is None:
        why = (
            "the image's ENTRYPOINT does not apply under the guard: say it in `entry_points`; docker inspect prints it"
        )
        notes.stated("command", f'entry_points["{name}"]', why)
    cpu, memory = _size(container, pod, notes)
    _leave(container, _OF_CONTAINER, notes)
    work = ImageWork(
        image=image.text(),
        container=container_name,
        command=words,
        arguments=rest if words is None else None,
        cpu=cpu,
        memory=memory,
        secrets=secrets,
        config=config,
        config_maps=maps,
    )
    return work, plain


def _expanded(value: Value, variables: Mapping[str, str], notes: Notes) -> tuple[str, ...]:
    """The words, with `$(NAME)` of known variables replaced, as the kubelet does."""
    words = []
    for word in value.items():
        text = word.text()

        def of(match: re.Match[str], line: int = word.line) -> str:
            if match[0] == "$$":
                return "$"
            if match[1] in variables:
                notes.changed(f"$({match[1]})", "", variables[match[1]], "ECS does not expand it", line=line)
                return variables[match[1]]
            why = "ECS does not expand it: begin the command with sh -c, and write $NAME"
            notes.left(f"$({match[1]})", match[0], why, line=line)
            return match[0]

        words.append(_EXPANSION.sub(of, text))
    return tuple(words)


def _variables(
    container: Fields, job: str, notes: Notes
) -> tuple[dict[str, str], dict[str, Reference], dict[str, Reference], tuple[str, ...]]:
    plain: dict[str, str] = {}
    secrets: dict[str, Reference] = {}
    config: dict[str, Reference] = {}
    for each in _items(container.take("env")):
        fields = each.fields()
        variable = fields.need("name", "the name of the variable")
        name = variable.text()
        if not name or "=" in name or not name.isprintable():
            raise variable.refused("names without =")
        for known in (plain, secrets, config):
            known.pop(name, None)
        if name.startswith("CRONCE_"):
            notes.left(f"env {name}", "", "cronce sets the variables that begin with CRONCE_", line=each.line)
            continue
        source = fields.take("valueFrom")
        if source is not None:
            _from_elsewhere(name, source.fields(), secrets, config, notes)
            fields.report(notes)
            continue
        value = fields.take("value")
        text = "" if value is None else value.text()
        if may_be_secret(name, text):
            secrets[name] = Reference(name=f"{job}/{name}", key="")
            why = "it may be a secret, so its value is not copied: store it in Secrets Manager"
            notes.changed(f"env {name}", "", f'secrets["{job}/{name}"]', why, line=each.line)
        else:
            plain[name] = text
            notes.kept(f"env {name}", text, text, line=each.line)
        fields.report(notes)
    return plain, secrets, config, _whole_maps(container.take("envFrom"), notes)


def _from_elsewhere(
    name: str, source: Fields, secrets: dict[str, Reference], config: dict[str, Reference], notes: Notes
) -> None:
    for kind, chosen, called in (("secretKeyRef", secrets, "secrets"), ("configMapKeyRef", config, "config")):
        if (reference := source.take(kind)) is not None:
            fields = reference.fields()
            owner, key = fields.need("name", "the name of the object"), fields.need("key", "the key in it")
            chosen[name] = Reference(name=owner.text(), key=key.text())
            became = f'{called}["{owner.text()}"], {key.text()}'
            given = f"{kind} {owner.text()} {key.text()}"
            notes.changed(f"env {name}", given, became, _ELSEWHERE, line=reference.line)
            if (optional := fields.take("optional")) is not None and optional.flag():
                notes.left(f"env {name} optional", "true", "it must be there", line=optional.line)
            fields.report(notes)
    for other in source.left():
        why = "ECS has no such source; the task's metadata endpoint has its own facts"
        notes.left(f"env {name} {other.name}", "", why, line=other.line)


def _whole_maps(value: Value | None, notes: Notes) -> tuple[str, ...]:
    maps: list[str] = []
    for each in _items(value):
        fields = each.fields()
        prefix = fields.take("prefix")
        chosen, secret = fields.take("configMapRef"), fields.take("secretRef")
        for reference, kind in ((chosen, "configMapRef"), (secret, "secretRef")):
            if reference is None:
                continue
            inner = reference.fields()
            owner = inner.need("name", f"the name of the object of {kind}").text()
            if reference is secret:
                why = "ECS takes the variables of a secret one by one: list them in the container's `secrets`"
                notes.left("envFrom", f"secretRef {owner}", why, line=each.line)
            elif prefix is not None:
                notes.left("envFrom", f"configMapRef {owner}", "with a prefix: list its variables", line=each.line)
            else:
                maps.append(owner)
                notes.changed("envFrom", f"configMapRef {owner}", f'config["{owner}"]', _ELSEWHERE, line=each.line)
            inner.report(notes)
        fields.report(notes)
    return tuple(maps)


def _size(container: Fields, pod: Fields, notes: Notes) -> tuple[int, int]:
    wanted: dict[str, float] = {}
    written: list[str] = []
    line = None
    if (resources := container.take("resources")) is not None:
        line = resources.line
        fields = resources.fields()
        for kind in ("requests", "limits"):
            if (amounts := fields.take(kind)) is None:
                continue
            inner = amounts.fields()
            for name in ("cpu", "memory"):
                if (amount := inner.take(name)) is not None:
                    wanted[name] = max(wanted.get(name, 0), _quantity(amount))
                    written.append(f"{kind} {name} {amount.text()}")
            for value in inner.left():
                notes.left(value.name, value.content, "Fargate has cpu and memory", line=value.line)
        fields.report(notes)
    pod.take("resources")
    cpu, memory = size_on_fargate(wanted.get("cpu", 0) * 1024, wanted.get("memory", 0) / 2**20)
    became = f"{cpu} CPU units, {memory} MiB"
    if wanted:
        why = "the smallest size of Fargate that has as much as the larger of request and limit"
        notes.changed("resources", ", ".join(written), became, why, line=line)
    else:
        notes.stated("resources", became, "the manifest asks for none")
    return cpu, memory


def _quantity(value: Value) -> float:
    match = _QUANTITY.fullmatch(value.text())
    if match is None or len(value.text()) > 20:
        raise value.refused("a quantity such as 500m or 256Mi")
    return float(match["number"]) * float(_UNITS[match["unit"]])


def _leave(fields: Fields, known: Mapping[str, str], notes: Notes, otherwise: str = "cronce has no such field") -> None:
    for value in fields.left():
        name = value.name
        shown = value.content if isinstance(value.content, str) else ""
        notes.left(name, shown, known.get(name, otherwise), line=value.line)
        fields.take(name)


def _items(value: Value | None) -> list[Value]:
    return [] if value is None else value.items()
