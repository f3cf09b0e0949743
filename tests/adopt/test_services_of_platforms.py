"""Helm charts, Procfiles, Fly.io and Elastic Beanstalk."""

from __future__ import annotations

import pytest

from cronce.adopt.audit.files import Files
from cronce.adopt.audit.services import Reading, read_services

CHART = """\
{{- define "labels" }}
kind: Deployment
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "shop.fullname" . }}-beat
  labels:
    {{- include "shop.labels" . | nindent 4 }}
spec:
  {{- if not .Values.autoscaling.enabled }}
  replicas: {{ .Values.replicaCount }}
  {{- end }}
  template:
    spec:
      containers:
        - name: {{ .Chart.Name }}
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          args:
            {{- toYaml .Values.args | nindent 12 }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
"""
SCALER = """\
{{- if .Values.autoscaling.enabled }}
kind: HorizontalPodAutoscaler
spec:
  scaleTargetRef: {kind: Deployment, name: {{ include "shop.fullname" . }}-beat}
  maxReplicas: {{ .Values.autoscaling.maxReplicas }}
{{- end }}
"""
VALUES = """\
replicaCount: 2
image: {{repository: example.com/shop}}
args: [celery, beat]
autoscaling:
  enabled: {enabled}
  maxReplicas: 7
"""


def _read(files: dict[str, str]) -> Reading:
    return read_services(Files.of(files))


@pytest.mark.parametrize(
    ("enabled", "least", "most", "line", "stated"),
    [
        ("false", 2, 2, 1, "replicaCount: 2"),
        ("true", 1, 7, 6, "autoscaling.maxReplicas: 7"),
    ],
)
def test_a_chart_is_read_with_its_values(enabled: str, least: int, most: int, line: int, stated: str) -> None:
    """The place is the line of the value, because that is what people change."""
    reading = _read(
        {
            "shop/Chart.yaml": "name: shop\n",
            "shop/values.yaml": VALUES.format(enabled=enabled),
            "shop/templates/beat.yaml": CHART,
            "shop/templates/hpa.yaml": SCALER,
        }
    )
    assert reading.notes == []
    (service,) = reading.services
    assert (service.name, service.kind, service.least, service.most) == ("shop-beat", "helm", least, most)
    assert (str(service.place.path), service.place.line, service.copies) == ("shop/values.yaml", line, stated)
    assert service.command == ("celery", "beat")


COMPONENTS = """\
{{- $image := printf "%s:%s" .Values.image .Values.tag }}
{{- range $name, $part := .Values.components }}
{{- if not $part.disabled }}
---
kind: Deployment
metadata:
  name: {{ $.Release.Name }}-{{ $name }}
spec:
  replicas: {{ $part.replicas | default $.Values.replicas }}
  template:
    spec:
      containers:
        - image: "{{ $image }}"
          {{- with $part.command }}
          command:
            {{- toYaml . | nindent 12 }}
          {{- end }}
          env:
            - name: LOG
              value: {{ if $.Values.debug }}debug{{ else }}info{{ end }}
            {{- range $key, $value := $part.env }}
            - name: {{ $key | upper }}
              value: {{ $value | quote }}
            {{- end }}
{{- end }}
{{- end }}
"""
VALUES_OF_COMPONENTS = """\
image: example.com/shop
tag: "1.2"
replicas: 1
components:
  web:
    replicas: 2
  clock:
    command: [celery, beat]
    env: {ROLE: clock}
  old:
    disabled: true
"""


def test_a_range_over_components_is_a_workload_for_each_of_them() -> None:
    """With the numbers of an environment, whose values need not be in the chart; each at the line of its value."""
    reading = _read(
        {
            "shop/Chart.yaml": "name: shop\n",
            "shop/values.yaml": VALUES_OF_COMPONENTS,
            "shop/templates/all.yaml": COMPONENTS,
            "deploy/values-production.yaml": "components:\n  web:\n    replicas: 5\n",
        }
    )
    assert reading.notes == []
    web, clock = reading.services
    assert (web.name, web.most, web.image) == ("shop-web", 5, "example.com/shop:1.2")
    assert (str(web.place.path), web.place.line) == ("deploy/values-production.yaml", 3)
    assert (clock.name, clock.most, clock.command) == ("shop-clock", 1, ("celery", "beat"))
    assert (str(clock.place.path), clock.place.line) == ("shop/values.yaml", 3)
    assert dict(clock.environment)["LOG"] == "info"
    assert clock.command_place is not None
    assert (str(clock.command_place.path), clock.command_place.line) == ("shop/templates/all.yaml", 16)


@pytest.mark.parametrize(
    ("condition", "most"),
    [
        ("and .Values.a .Values.b", 1),
        ("or .Values.a .Values.b", 3),
        ("not .Values.b", 3),
        ('eq .Values.name "x"', 3),
        ('ne .Values.name "x"', 1),
        ("and .Values.a (not .Values.b)", 3),
        (".Values.missing", 1),
        ("(.Values.missing).deep", 3),
        ('.Capabilities.APIVersions.Has "x"', 3),
    ],
)
def test_conditions_of_templates_are_decided_or_hold(condition: str, most: int) -> None:
    """What is not known holds."""
    template = (
        f"kind: Deployment\nmetadata: {{name: x}}\nspec:\n  {{{{- if {condition} }}}}\n  replicas: 3\n"
        "  {{- else }}\n  replicas: 1\n  {{- end }}\n  template: {spec: {containers: [{image: x}]}}\n"
    )
    values = "a: true\nb: false\nname: x\n"
    (found,) = _read({"c/Chart.yaml": "", "c/values.yaml": values, "c/templates/x.yaml": template}).services
    assert found.most == most


def test_a_template_that_is_more_than_simple_is_noted() -> None:
    """And only that one."""
    reading = _read(
        {
            "a/Chart.yaml": "",
            "a/templates/x.yaml": "kind: Deployment\nspec:\n  {{ range .Values.x }}a: {{ . }}: b{{ end }}\n",
            "a/templates/y.yaml": "kind: DaemonSet\nmetadata: {name: y}\n"
            "spec: {template: {spec: {containers: [{image: x}]}}}\n",
        }
    )
    assert [str(note.place.path) for note in reading.notes] == ["a/templates/x.yaml"]
    assert [service.name for service in reading.services] == ["y"]


def test_a_chart_without_values_and_with_wrong_ones_is_read() -> None:
    """What is unknown stays unknown."""
    for values in ("", "replicaCount: [1]\nautoscaling: 5\n", "[1]"):
        _read({"a/Chart.yaml": "", "a/templates/x.yaml": CHART, "a/values.yaml": values})


def test_process_types_of_heroku_have_the_quantities_of_app_json() -> None:
    """A release command is no service; a type without a quantity has one."""
    reading = _read(
        {
            "Procfile": "release: ./migrate\nweb: gunicorn app:app\nclock: python clock.py\n",
            "app.json": '{"formation": {"web": {\n"quantity": 3}}}',
        }
    )
    assert [(s.name, s.most, str(s.place.path), s.place.line) for s in reading.services] == [
        ("web", 3, "app.json", 2),
        ("clock", 1, "Procfile", 3),
    ]


def test_fly_starts_two_machines_of_what_it_serves() -> None:
    """A group without a service has one."""
    text = (
        '[build]\ndockerfile = "Dockerfile"\n[processes]\nweb = "gunicorn app:app"\nclock = "celery beat"\n'
        '[http_service]\ninternal_port = 80\nprocesses = ["web"]\n'
    )
    reading = _read({"fly.toml": text, "Dockerfile": "FROM x\n"})
    assert [(s.name, s.most, s.command) for s in reading.services] == [
        ("web", 2, ("gunicorn", "app:app")),
        ("clock", 1, ("celery", "beat")),
    ]


def test_a_broken_fly_file_is_noted_with_its_line() -> None:
    """No TOML."""
    reading = _read({"fly.toml": "a = 1\nb = [\n"})
    assert [note.message for note in reading.notes] == ["not read: no TOML"]


def test_beanstalk_scales_and_its_leader_only_cron_is_named() -> None:
    """The web process of the Procfile is what each instance runs."""
    reading = _read(
        {
            ".ebextensions/01.config": "option_settings:\n  aws:autoscaling:asg:\n    MinSize: 2\n    MaxSize: 4\n"
            'container_commands:\n  01_cron:\n    command: "crontab /app/cron"\n    leader_only: true\n',
            ".ebextensions/02.config": "option_settings:\n  - namespace: aws:autoscaling:asg\n"
            "    option_name: MaxSize\n    value: 6\n",
            "Procfile": "web: gunicorn app:app\n",
            "cron.yaml": "version: 1\ncron:\n  - name: digest\n    url: /digest\n    schedule: '0 6 * * *'\n",
        }
    )
    found = [(s.kind, s.least, s.most, s.command) for s in reading.services if s.kind == "beanstalk"]
    assert found == [("beanstalk", 2, 4, ("gunicorn", "app:app")), ("beanstalk", 1, 6, ("gunicorn", "app:app"))]
    assert [(note.rule, note.place.line) for note in reading.notes] == [
        ("clock-kept-by-one-line", 7),
        ("clock-with-own-lock", 3),
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("fly.toml", "processes = 5\nservices = 7\nhttp_service = []\nbuild = 1\n"),
        ("fly.toml", "[processes]\nweb = 5\n[[services]]\nprocesses = 4\n"),
        ("cron.yaml", "cron: {a: b}\n"),
        (".ebextensions/x.config", "option_settings: 5\ncontainer_commands: [1]\n"),
        ("Procfile", "web: 'open\n: x\n"),
        ("app.json", "{"),
    ],
)
def test_files_of_platforms_with_wrong_types_do_no_harm(path: str, text: str) -> None:
    """Nothing is raised."""
    _read({path: text, "Procfile": "web: x\n"} if path == "app.json" else {path: text})
