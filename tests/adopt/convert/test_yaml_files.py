"""Files in YAML and JSON that are not what they should be: each is one error with its file and line."""

from __future__ import annotations

import pytest
import yaml

from cronce.adopt.convert.fitting import ImportTarget
from cronce.vocabulary.errors import CronceError, InputInvalidError, InputMissingError
from tests.adopt.convert.files import of_text

RULE = "rules:\n- name: a\n  scheduleExpression: rate(1 hour)\n  taskDefinition: t\n"
CRONJOB = """kind: CronJob
metadata: {name: a}
spec:
  schedule: "0 6 * * *"
  jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b, command: [c]}]}}}}
"""


def test_the_two_texts_are_right() -> None:
    """What is changed below is the only thing that is wrong."""
    assert [job.name for job in of_text("ecschedule", RULE).jobs] == ["a"]
    assert [job.name for job in of_text("cronjob", CRONJOB).jobs] == ["a"]


@pytest.mark.parametrize(
    ("kind", "text", "where", "said"),
    [
        ("ecschedule", "", "given", "one document"),
        ("ecschedule", "rules: []", "given:1: rules", "at least one rule"),
        ("ecschedule", "a: [1", "given:1", "YAML"),
        ("ecschedule", "a: 1\n\tb: 2", "given:2", "YAML"),
        ("ecschedule", "- 1", "given:1", "a mapping"),
        ("ecschedule", RULE + "  name: b\n", "given:5", "each field once"),
        ("ecschedule", RULE.replace("rate(1 hour)", "rate(1 hours)"), "given:3", "rate(1 hour)"),
        ("ecschedule", RULE.replace("rate(1 hour)", "0 6 * * *"), "given:3", "cron(six fields)"),
        ("ecschedule", RULE.replace("rate(1 hour)", "cron(0 6 * * * *)"), "given:3", ""),
        ("ecschedule", RULE.replace("name: a", "name: '...'"), "given:2", "a letter or a digit"),
        ("ecschedule", RULE + "  taskCount: many\n", "given:5", "a whole number"),
        ("ecschedule", RULE + "  launch_type: MOON\n", "given:5", "FARGATE, EC2, EXTERNAL"),
        ("ecschedule", RULE + "  platform_version: 1.4.0); import os\n", "given:5", "LATEST, 1.0.0"),
        ("ecschedule", RULE + "  containerOverrides: [{name: a}, {name: b}]\n", "given:5", "one container"),
        ("ecschedule", RULE + "  containerOverrides: [{name: a, command: [1, [2]]}]\n", "given:5", "text"),
        ("ecschedule", RULE + "  x: &x {y: *x}\n", "given", ""),
        ("cronjob", CRONJOB.replace("CronJob", "Deployment"), "given:1: kind", "CronJob, or a List"),
        ("cronjob", "kind: List\nitems: []\n", "given", "at least one job"),
        ("cronjob", CRONJOB.replace("0 6 * * *", "0 0 * * 8"), "given:4", "0-7"),
        ("cronjob", CRONJOB.replace("name: a, image: b", "name: a"), "given:5", "the image of the container"),
        ("cronjob", CRONJOB.replace("[c]}]", "[c]}, {name: d, image: e}]"), "given:5", "one container"),
        ("cronjob", CRONJOB.replace("containers", "initContainers: [{name: i}], containers"), "given:5", "init"),
        ("cronjob", CRONJOB + "  concurrencyPolicy: Maybe\n", "given:6", "Allow, Forbid, Replace"),
        ("cronjob", CRONJOB + "  timeZone: Mars/Olympus\n", "given:4", "IANA"),
        ("cronjob", CRONJOB.replace("name: a}", "name: {{ .Release.Name }}}"), "given", ""),
        ("cronjob", "{{- if .Values.cron }}\n" + CRONJOB, "given", "helm template"),
        ("cronjob", "--- !<tag:x> {kind: CronJob}", "given:1", ""),
        ("cronjob", CRONJOB.replace("[c]", '["\\0"]'), "given:5", "NUL"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(kind: str, text: str, where: str, said: str) -> None:
    """And never with a traceback."""
    with pytest.raises((InputInvalidError, InputMissingError)) as refused:
        of_text(kind, text)
    assert str(refused.value).startswith(where)
    assert said in str(refused.value)


def test_aliases_that_grow_are_refused() -> None:
    """Ten levels of ten would be ten thousand million values."""
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(InputInvalidError, match="at most 50000 values"):
        of_text("ecschedule", "\n".join(levels))


def test_a_deep_file_is_refused() -> None:
    """Before anything overflows."""
    for depth in (100, 400):
        with pytest.raises(InputInvalidError, match="in one another"):
            of_text("ecschedule", "[" * depth + "]" * depth)


def test_two_names_that_become_one_are_refused() -> None:
    """The error says where both are."""
    second = RULE.removeprefix("rules:\n").replace("name: a", "name: 'a!'")
    with pytest.raises(InputInvalidError, match=r"^given:2 and given:5: 'a' .* allowed: names that differ"):
        of_text("ecschedule", RULE + second)


def test_numbers_and_flags_are_text_where_text_is_meant() -> None:
    """As they are written: 12:30 is no number of seconds, and 010 is no 8."""
    environment = "{A: 12:30, B: 010, C: yes, D: 1.50, E: '', F: null-ish}"
    text = RULE + f"  containerOverrides: [{{name: a, command: [run, 007], environment: {environment}}}]\n"
    [job] = of_text("ecschedule", text).jobs
    assert job.environment == {"A": "12:30", "B": "010", "C": "yes", "D": "1.50", "E": "", "F": "null-ish"}
    assert job.work.command == ("run", "007")


def test_two_day_fields_of_kubernetes_match_as_there() -> None:
    """A step over 1 restricts there, so either field matches; `*/1` and `?` do not restrict."""
    for text in ("0 6 */1 * 1", "0 6 ? * 1", "0 6 * * 1"):
        [job] = of_text("cronjob", CRONJOB.replace("0 6 * * *", text)).jobs
        assert job.when.text == "0 6 * * 1" or text == "0 6 */1 * 1"


@pytest.mark.parametrize(
    "target", [ImportTarget.CDK, *(pytest.param(each, marks=pytest.mark.slow) for each in ImportTarget)]
)
def test_random_damage_is_an_error_or_code(target: ImportTarget) -> None:
    """Every third byte of a manifest left out or doubled."""
    for place in range(0, len(CRONJOB), 3):
        for damaged in (CRONJOB[:place] + CRONJOB[place + 1 :], CRONJOB[:place] + CRONJOB[place] + CRONJOB[place:]):
            try:
                of_text("cronjob", damaged, target)
            except CronceError as error:
                assert str(error).startswith("given")  # noqa: PT017


def test_the_jobs_of_a_cron_job_list_do_not_repeat_their_kind() -> None:
    """As the API of Kubernetes answers."""
    job = {"metadata": {"name": "a"}, "spec": yaml.safe_load(CRONJOB)["spec"]}
    assert [each.name for each in of_text("cronjob", yaml.safe_dump({"kind": "CronJobList", "items": [job]})).jobs] == [
        "a"
    ]
    with pytest.raises(InputMissingError, match=r"items\[0\]\.kind is missing"):
        of_text("cronjob", yaml.safe_dump({"kind": "List", "items": [job]}))
