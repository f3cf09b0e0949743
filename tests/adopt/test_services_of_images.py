"""What Dockerfiles, Compose files and Kubernetes manifests deploy."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.model import FoundService
from cronce.adopt.audit.services import read_services
from cronce.adopt.audit.services.dockerfile import image_of

DOCKERFILE = PurePosixPath("Dockerfile")


def _services(files: dict[str, str]) -> dict[str, FoundService]:
    reading = read_services(Files.of(files))
    assert reading.notes == []
    return {service.name: service for service in reading.services}


def _notes(files: dict[str, str]) -> list[tuple[str, int, str]]:
    reading = read_services(Files.of(files))
    return [(str(note.place.path), note.place.line, note.message) for note in reading.notes]


def _command(service: FoundService) -> str:
    return " ".join(service.command or ("?",))


@pytest.mark.parametrize(
    ("text", "argv", "line"),
    [
        ('FROM x\nCMD ["celery", "beat"]\n', ("celery", "beat"), 2),
        ("FROM x\nCMD celery beat\n", ("/bin/sh", "-c", "celery beat"), 2),
        ('FROM x\nENTRYPOINT ["tini", "--"]\nCMD ["celery", "beat"]\n', ("tini", "--", "celery", "beat"), 3),
        ('FROM x\nENTRYPOINT run me\nCMD ["a"]\n', ("/bin/sh", "-c", "run me"), 2),
        ('FROM x\nCMD ["a"]\nCMD ["b"]\n', ("b",), 3),
        ("FROM x\nCMD ['a', \"b\"]\n", ("/bin/sh", "-c", "['a', \"b\"]"), 2),
        ('FROM x AS base\nCMD ["a"]\nFROM base\nRUN true\n', ("a",), 2),
        ('FROM x AS base\nCMD ["a"]\nFROM y\nRUN true\n', None, 0),
        ('FROM x\nRUN <<EOF\nCMD ["no"]\nEOF\nCMD ["a"]\n', ("a",), 5),
        ('from x\n# CMD ["no"]\ncmd ["a", \\\n  # in between\n  "b"]\n', ("a", "b"), 3),
        ("# escape=`\nFROM x\nCMD celery `\n  beat\n", ("/bin/sh", "-c", "celery  beat"), 3),
        ("CMD " + "[" * 100_000, ("/bin/sh", "-c", "[" * 100_000), 1),
        ("FROM nginx:alpine\nCOPY site /usr/share/nginx/html\n", ("nginx",), 1),
        ('FROM docker.io/nginx\nENTRYPOINT ["a"]\n', ("a",), 2),
        ("", None, 0),
    ],
)
def test_the_command_of_an_image_is_that_of_its_last_stage(text: str, argv: tuple[str, ...] | None, line: int) -> None:
    """Both forms, inherited stages, heredocs, continued lines, and what is no JSON."""
    command = image_of(text, DOCKERFILE).runs()
    assert (command.argv if command else None) == argv
    assert command is None or command.place.line == line


def test_a_stage_is_found_by_its_name_and_settings_are_inherited() -> None:
    """`target` of a build."""
    text = (
        'FROM x AS base\nENV WEB_CONCURRENCY=3 A="b c"\nFROM base AS web\nCMD ["w"]\nFROM base AS worker\nCMD ["b"]\n'
    )
    image = image_of(text, DOCKERFILE, "web")
    assert image.cmd is not None
    assert image.cmd.words == ("w",)
    assert image.environment == {"WEB_CONCURRENCY": "3", "A": "b c"}


@pytest.mark.parametrize(
    ("lines", "least", "most", "stated"),
    [
        ("deploy: {replicas: 4}", 4, 4, "deploy.replicas: 4"),
        ("scale: 3", 3, 3, "scale: 3"),
        ("deploy: {replicas: '${REPLICAS:-2}'}", 2, 2, "deploy.replicas: ${REPLICAS:-2}"),
        ("deploy: {replicas: '${REPLICAS}'}", 1, None, "deploy.replicas: ${REPLICAS}"),
        ("deploy: {mode: global}", 2, None, "deploy.mode: global"),
        ("restart: always", 1, 1, ""),
    ],
)
def test_compose_states_the_number_of_copies(lines: str, least: int, most: int | None, stated: str) -> None:
    """In four ways, with the line that does."""
    (service,) = _services({"compose.yaml": f"services:\n  web:\n    image: x\n    {lines}\n"}).values()
    assert (service.least, service.most, service.copies) == (least, most, stated)
    assert service.place.line == (4 if stated else 2)


def test_compose_takes_the_commands_of_the_image_and_replaces_them() -> None:
    """An entrypoint clears the CMD of the image, a command does not touch the entrypoint."""
    build = "build: {context: ../app, dockerfile: docker/Dockerfile}"
    found = _services(
        {
            "deploy/docker-compose.prod.yml": "services:\n"
            f"  plain:\n    {build}\n"
            f"  text:\n    {build}\n    command: celery -A app 'beat'\n"
            f"  words:\n    {build}\n    command:\n      - celery\n      - beat\n"
            f"  entry:\n    {build}\n    entrypoint: ['sh', '-c']\n    command: ['celery beat && true']\n"
            f"  empty:\n    {build}\n    entrypoint: []\n    command: celery\n",
            "app/docker/Dockerfile": 'FROM x\nENTRYPOINT ["/entry.sh"]\nCMD ["gunicorn", "app:app"]\n',
            "app/entry.sh": '#!/bin/sh\nexec "$@"\n',
        }
    )
    assert {name: _command(service) for name, service in found.items()} == {
        "plain": "gunicorn app:app",
        "text": "celery -A app beat",
        "words": "celery beat",
        "entry": "celery beat",
        "empty": "celery",
    }
    assert {service.folder for service in found.values()} == {PurePosixPath("app")}


def test_compose_follows_anchors_extends_and_override_files() -> None:
    """An override file that changes nothing of interest is no second service."""
    found = read_services(
        Files.of(
            {
                "docker-compose.yml": "x-app: &app\n  build: .\n  deploy: {replicas: 2}\n"
                "services:\n  web:\n    <<: *app\n"
                "    command: gunicorn app:app\n"
                "  clock:\n    extends: {service: web}\n    command: celery beat\n",
                "docker-compose.prod.yml": "services:\n  web:\n    deploy: {replicas: 6}\n"
                "  clock:\n    restart: always\n",
            }
        )
    )
    assert found.notes == []
    assert [(s.name, s.least, _command(s), str(s.place.path), s.place.line) for s in found.services] == [
        ("web", 6, "gunicorn app:app", "docker-compose.prod.yml", 3),
        ("web", 2, "gunicorn app:app", "docker-compose.yml", 3),
        ("clock", 2, "celery beat", "docker-compose.yml", 3),
    ]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("services:\n  a: [\n", 3, "not read: did not find expected node content"),
        ("services: [a]\n", 1, "not read: `services` is no mapping"),
        ("services:\n  a: text\n", 2, "not read: service a is no mapping"),
        ("services:\n  a:\n    image: x\n    scale: many\n", 4, "not read: scale of a is no number"),
        (
            "services:\n  a:\n    image: x\n    deploy: {replicas: [1]}\n",
            4,
            "not read: deploy.replicas of a is no number",
        ),
        ("services:\n  a:\n    extends: {service: a}\n", 3, "not read: service a extends itself"),
        (
            "services:\n  a:\n    extends: {service: b, file: ../../x.yml}\n",
            3,
            "not read: service a extends a service that",
        ),
        ("services:\n  a: {image: x}\n  {{- if .Values.a }}\n", 4, "not read: "),
    ],
)
def test_what_compose_says_wrongly_is_noted_with_its_line(text: str, line: int, why: str) -> None:
    """One line each, never an exception."""
    notes = _notes({"compose.yml": text})
    assert len(notes) == 1
    assert notes[0][:2] == ("compose.yml", line)
    assert notes[0][2].startswith(why)


def test_a_file_that_is_too_large_is_noted_and_the_others_are_read() -> None:
    """Silence would look like "nothing found"."""
    files = {"compose.yml": "services:\n" + "#" * 1_000_001, "b/compose.yml": "services:\n  a: {image: x}\n"}
    reading = read_services(Files.of(files))
    assert [note.message for note in reading.notes] == ["not read: it has more than 1,000,000 characters"]
    assert [service.name for service in reading.services] == ["a"]


_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  {spec}
  template:
    spec:
      containers:
        - name: app
          image: shop/web:1
          command: ["celery"]
          args: ["-A", "app", "beat"]
"""


@pytest.mark.parametrize(
    ("spec", "most", "overlaps"),
    [
        ("replicas: 4", 4, False),
        ("replicas: 1", 1, True),
        ("paused: false", 1, True),
        ("strategy: {type: Recreate}", 1, False),
        ("strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", 1, False),
        ("strategy: {rollingUpdate: {maxSurge: 0%}}", 1, False),
        ("strategy: {rollingUpdate: {maxSurge: 1%}}", 1, True),
        ("replicas: 0", 0, False),
    ],
)
def test_a_deployment_of_one_doubles_while_it_is_updated(spec: str, most: int, overlaps: bool) -> None:  # noqa: FBT001
    """By the defaults of Kubernetes: 25 % of one pod is one more pod."""
    (service,) = _services({"k8s/web.yaml": _DEPLOYMENT.format(spec=spec)}).values()
    assert (service.most, bool(service.overlap), _command(service)) == (most, overlaps, "celery -A app beat")


def test_an_autoscaler_in_another_file_states_the_copies() -> None:
    """Its maximum, with its line."""
    scaler = (
        "kind: HorizontalPodAutoscaler\nspec:\n  scaleTargetRef: {kind: Deployment, name: web}\n"
        "  minReplicas: 2\n  maxReplicas: 9\n"
    )
    (service,) = _services({"web.yaml": _DEPLOYMENT.format(spec="replicas: 1"), "hpa.yml": scaler}).values()
    assert (service.least, service.most, service.copies) == (2, 9, "autoscaling, maxReplicas: 9")
    assert (str(service.place.path), service.place.line) == ("hpa.yml", 5)


def test_daemon_sets_stateful_sets_lists_and_kustomize_are_read() -> None:
    """A DaemonSet has a copy per node."""
    text = _DEPLOYMENT.format(spec="replicas: 3")
    found = read_services(
        Files.of(
            {
                "a.yaml": text.replace("Deployment", "DaemonSet") + "---\n" + text.replace("Deployment", "StatefulSet"),
                "b.json": '{"kind": "List", "items": [{"kind": "Deployment", "metadata": {"name": "j"}, '
                '"spec": {"template": {"spec": {"containers": [{"image": "x"}]}}}}]}',
                "kustomization.yaml": "replicas:\n  - name: j\n    count: 5\n",
            }
        )
    ).services
    assert [(service.name, service.most) for service in found] == [("web", None), ("web", 3), ("j", 5)]


def test_a_cron_job_that_leaves_overlap_and_deadline_to_defaults_is_named() -> None:
    """One that states both is not."""
    text = "kind: CronJob\nmetadata: {name: a}\nspec:\n  schedule: '0 6 * * *'\n"
    stated = text + "  concurrencyPolicy: Forbid\n  startingDeadlineSeconds: 60\n"
    notes = read_services(Files.of({"a.yaml": text + "---\n" + stated})).notes
    assert [(note.rule, note.place.line) for note in notes] == [("overlap-not-stated", 4), ("deadline-not-stated", 4)]


@pytest.mark.parametrize(
    "text",
    [
        "kind: Deployment\nspec: 7\n",
        "kind: Deployment\nmetadata: [1]\nspec: {template: {spec: {containers: {a: b}}}}\n",
        "kind: Deployment\nspec: {template: {spec: {containers: [1, [], {command: {a: b}, args: 5}]}}}\n",
        "kind: HorizontalPodAutoscaler\nspec: {maxReplicas: [1]}\n",
        "kind: CronJob\nspec: [1]\n",
        "kind: List\nitems: {a: b}\n",
    ],
)
def test_manifests_of_wrong_types_do_no_harm(text: str) -> None:
    """Whatever is where it should not be."""
    read_services(Files.of({"a.yaml": text}))


def test_an_image_is_found_by_the_name_of_its_folder() -> None:
    """A registry and a tag do not matter."""
    files = {
        "web.yaml": _DEPLOYMENT.format(spec="replicas: 2").replace("shop/web:1", "registry.example/shop/mailer:7"),
        "mailer/Dockerfile": "FROM x\n",
        "other/Dockerfile": "FROM x\n",
    }
    assert _services(files)["web"].folder == PurePosixPath("mailer")


@pytest.mark.parametrize(
    "image", ["postgres:17", "valkey/valkey:8", "grafana/grafana", "quay.io/x/y:1", "prom/node-exporter", "node:24"]
)
def test_an_image_of_others_is_not_built_here(image: str) -> None:
    """Although the project has one Dockerfile only."""
    found = _services({"compose.yaml": f"services:\n  a:\n    image: {image}\n", "Dockerfile": 'FROM x\nCMD ["a"]\n'})
    assert (found["a"].folder, found["a"].command) == (None, None)


@pytest.mark.parametrize(
    "image", ["shop:1", "shop/node-api:1", "1.dkr.ecr.eu-west-1.amazonaws.com/x", "${IMAGE}", "ghcr.io/a/shop"]
)
def test_an_image_that_may_be_ours_is_that_of_the_only_dockerfile(image: str) -> None:
    """The one below `.devcontainer` does not count."""
    files = {
        "compose.yaml": f"services:\n  a:\n    image: {image}\n",
        "Dockerfile": 'FROM x\nCMD ["a"]\n',
        ".devcontainer/Dockerfile": "FROM x\n",
    }
    assert _services(files)["a"].command == ("a",)


def test_where_an_image_has_the_projects_name_the_others_are_not_ours() -> None:
    """A mail server for tests beside the application."""
    text = "services:\n  a: {image: ghcr.io/acme/shop}\n  b: {image: greenmail/standalone}\n"
    files = {"compose.yaml": text, "Dockerfile": 'FROM x\nCMD ["a"]\n', "package.json": '{"name": "@acme/shop"}'}
    assert {name: service.command for name, service in _services(files).items()} == {"a": ("a",), "b": None}


def test_a_scale_in_a_script_or_makefile_states_the_copies() -> None:
    """The larger number wins; a line that is not about Compose says nothing."""
    files = {
        "compose.yaml": "services:\n  web: {image: x}\n  clock: {image: x, scale: 3}\n",
        "Makefile": "up:\n\tdocker compose up -d --scale web=4 --scale clock=2\n",
        "x.sh": "kubectl --scale web=9\n",
    }
    found = _services(files)
    assert (found["web"].most, found["web"].copies, str(found["web"].place.path)) == (4, "--scale web=4", "Makefile")
    assert (found["clock"].most, found["clock"].copies) == (3, "scale: 3")


@pytest.mark.parametrize(
    ("file", "text", "name", "most", "stated"),
    [
        ("compose.yaml", "docker service scale shop_web=5", "web", 5, "docker service scale shop_web=5"),
        ("fly.toml", "fly scale count web=4 clock=3", "clock", 3, "fly scale count clock=3"),
        ("fly.toml", "# fly scale count clock=3", "clock", 1, ""),
        ("Procfile", "heroku ps:scale web=2 clock=2 -a shop", "clock", 2, "ps:scale clock=2"),
        ("pod.yaml", "kubectl -n x scale deployment/web --replicas=3", "web", 3, "kubectl scale web --replicas=3"),
    ],
)
def test_commands_of_a_platform_state_the_copies(file: str, text: str, name: str, most: int, stated: str) -> None:
    """In a script that deploys; not in a comment."""
    files = {
        "compose.yaml": "services:\n  web: {image: x}\n",
        "fly.toml": "[processes]\nweb = 'x'\nclock = 'y'\n",
        "Procfile": "web: x\nclock: y\n",
        "pod.yaml": "kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{image: x}]}}}\n",
    }
    found = _services({file: files[file], "deploy.sh": f"#!/bin/sh\n{text}\n"})[name]
    assert (found.most, found.copies) == (most, stated)


def test_a_file_that_the_image_has_under_another_name_is_followed() -> None:
    """`COPY beat/start /start-beat`."""
    files = {
        "Dockerfile": "FROM x\nARG TO=/srv\nENV NAME=beat\nCOPY --chmod=755 ./beat/start $TO/start-${NAME}\n"
        'CMD ["/srv/start-beat"]\n',
        "beat/start": "#!/bin/sh\nexec celery beat\n",
        "compose.yaml": "services:\n  beat: {build: .}\n",
    }
    assert _services(files)["beat"].command == ("celery", "beat")


def test_a_compose_file_that_is_no_text_is_noted() -> None:
    """Silence would look like "one copy"."""
    path = PurePosixPath("compose.yaml")
    notes = read_services(Files([path], lambda _: None)).notes
    assert [note.message for note in notes] == [
        "not read: it is no text, is too large, or has lines that no person wrote"
    ]


def test_a_pod_takes_settings_from_config_maps() -> None:
    """All of one, a key of one, and one that Kustomize makes; what the pod says itself wins."""
    pod = """\
kind: Deployment
metadata: {name: x}
spec: {template: {spec: {containers: [{
  name: x, image: x, envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: made}}, {configMapRef: {name: none}}],
  env: [{name: KEY, valueFrom: {configMapKeyRef: {name: b, key: k}}}, {name: OWN, value: "2"}]}]}}}
"""
    files = {
        "pod.yaml": pod,
        "maps.yaml": "kind: ConfigMap\nmetadata: {name: a}\ndata: {A: '1', OWN: '1'}\n---\n"
        "kind: ConfigMap\nmetadata: {name: b}\ndata: {k: v}\n",
        "kustomization.yaml": "configMapGenerator: [{name: made, literals: [M=3]}]\n",
    }
    assert _services(files)["x"].environment == (("A", "1"), ("KEY", "v"), ("M", "3"), ("OWN", "2"))
