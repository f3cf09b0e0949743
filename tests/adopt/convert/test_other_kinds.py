"""Celery, whenever, the Ruby queues, ofelia, EventBridge rules: what means something else, and what is refused."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from cronce import ConcurrencyPolicy
from cronce.adopt.convert.conversion import convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import FieldVerdict, ImageWork, Job, Source, TaskWork
from cronce.vocabulary.errors import InputInvalidError, InputMissingError
from tests.adopt.convert.files import converted, of_text


def only(kind: str, text: str, target: ImportTarget = ImportTarget.CDK) -> Job:
    """The one job of the text."""
    [job] = of_text(kind, text, target).jobs
    return job


def beat(schedule: str, more: str = "") -> str:
    """A beat schedule with one entry."""
    return f'beat_schedule = {{"a": {{"task": "t", "schedule": {schedule}{more}}}}}\n'


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("crontab()", "* * * * *"),
        ("crontab(minute=0, hour='*/3,8-17')", "0 */3,8-17 * * *"),
        ("crontab('0', '4', '*', '1')", "0 4 1 * *"),
        ("crontab(minute=[0, 30])", "0,30 * * * *"),
        ("crontab(hour=7)", "*/1 7 * * *"),
        ("celery.schedules.crontab(minute=5, month_of_year='1-3')", "5 * * 1-3 *"),
        ("60.0", "* * * * *"),
        ("60 * 60 * 6", "0 */6 * * *"),
        ("timedelta(days=1)", "0 0 * * *"),
        ("datetime.timedelta(minutes=45)", "rate(45 minutes)"),
        ("timedelta(0, 600)", "*/10 * * * *"),
    ],
)
def test_a_schedule_of_beat(schedule: str, text: str) -> None:
    """As Celery reads it."""
    assert only("celery", beat(schedule)).when.text == text


def test_seconds_of_beat_are_for_a_clock() -> None:
    """EventBridge has whole minutes."""
    assert only("celery", beat("30.0"), ImportTarget.CLOCK).when.every == timedelta(seconds=30)
    with pytest.raises(InputInvalidError, match="use --to clock"):
        only("celery", beat("30.0"))


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        (beat("solar('sunset', 1.0, 2.0)"), "given:1", "where the sun is"),
        (beat("crontab(day_of_week=1, day_of_month='1-7')"), "given:1", "Celery fires when both match"),
        (beat("os.system('true')"), "given:1", "crontab(...)"),
        (beat("int(os.getenv('N'))"), "given:1", "crontab(...)"),
        (beat("crontab(minute=N)"), "given:1", "nothing of the file is executed"),
        (beat("0.5"), "given:1", "whole seconds"),
        (beat("60", ", 'args': (object(),)"), "given:1", "nothing of the file is executed"),
        (beat("60").replace('"t"', "TASK"), "given:1", "nothing of the file is executed"),
        ("beat_schedule = {**OTHER}\n", "given:1", "no ** of other dictionaries"),
        ("beat_schedule = make()\n", "given:1", "a dictionary of entries"),
        ("x = 1\n", "given", "beat_schedule = {...}"),
        ("def f(:\n", "given:1", "a file in Python"),
        ("\n\nsender.add_periodic_task(10, t.s())\n", "given:3", "an entry of beat_schedule"),
    ],
)
def test_what_beat_computes_is_refused(text: str, where: str, said: str) -> None:
    """With its line."""
    with pytest.raises(InputInvalidError) as refused:
        only("celery", text)
    assert refused.value.what.startswith(where)
    assert said in refused.value.allowed


def test_a_python_file_is_never_executed(tmp_path: Path) -> None:
    """Also where it would be easy."""
    text = f"import pathlib\npathlib.Path({str(tmp_path)!r}, 'x').touch()\n" + beat("60")
    only("celery", text)
    assert not list(tmp_path.iterdir())


def test_the_message_of_beat_has_its_arguments_and_options() -> None:
    """As `celery call` takes them."""
    jobs = {job.name: job for job in converted("celery", "app.py.txt").jobs}
    assert jobs["report"].work.command == (
        *("celery", "-A", "crm", "call", "crm.report", "--kwargs", '{"kind": "daily", "limit": 10}'),
        *("--queue", "slow", "--expires", "3600"),
    )
    left = [each.field for each in jobs["report"].decisions if each.verdict is FieldVerdict.LEFT]
    assert left == ["options priority"]


@pytest.mark.parametrize(
    ("every", "text"),
    [
        ("1.day, at: '4:30 am'", "30 4 * * *"),
        ("1.day, :at => '12:00 am'", "0 0 * * *"),
        ("1.day, at: '12:15 pm'", "15 12 * * *"),
        ("1.day, at: '16:45'", "45 16 * * *"),
        ("1.day, at: '05:00 am'", "0 5 * * *"),
        ("1.day, at: 'noon'", "0 12 * * *"),
        ("1.day, at: ['4:30 am', \"6:00 pm\"]", "30 4 * * *; 0 18 * * *"),
        (":weekday, at: ['noon', '12:00']", "0 12 * * 1-5"),
        (":weekend, at: '9:00 pm'", "0 21 * * 0,6"),
        (":week", "0 0 * * 0"),
        (":year", "0 0 1 1 *"),
        ("15.minutes", "*/15 * * * *"),
        ("1.minute", "* * * * *"),
        ("2.hours", "0 */2 * * *"),
        ("6.months", "0 0 1 */6 *"),
        ("'0 12 * * 1'", "0 12 * * 1"),
    ],
)
def test_an_interval_of_whenever(every: str, text: str) -> None:
    """As the crontab that whenever writes."""
    assert only("whenever", f"every {every} do\n  rake 'a'\nend\n").when.text == text
    assert only("whenever", f"every({every}) {{ rake 'a' }}\n").when.text == text


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("every 1.day, at: '4:30' do\n  rake 'a'\nend\n", "given:1"),
        ("every 7.minutes do\n  rake 'a'\nend\n", "given:1"),
        ("every 4.days do\n  rake 'a'\nend\n", "given:1"),
        ("every :reboot do\n  rake 'a'\nend\n", "given:1"),
        ("every 1.day, at: ['1:00 am', soon] do\n  rake 'a'\nend\n", "given:1"),
        ("every 1.day, at: [] do\n  rake 'a'\nend\n", "given:1"),
        ('every 1.day do\n  rake "a#{b}"\nend\n', "given:2"),
        ("every 1.day do\n  my_job 'a'\nend\n", "given:2"),
        ("if @environment == 'production'\n", "given:1"),
        ("job_type :rake, 'x :task'\nevery 1.day do\n  rake 'a'\nend\n", "given:3"),
        ("set :environment, ENV['X']\n", "given:1"),
        ("every 1.day do\n  rake 'a'\n", "given:1"),
    ],
)
def test_other_ruby_is_refused_with_the_way_to_a_crontab(text: str, where: str) -> None:
    """`bundle exec whenever` knows it all."""
    with pytest.raises(InputInvalidError) as refused:
        only("whenever", text)
    assert refused.value.what.startswith(where)
    assert "whenever" in refused.value.allowed


@pytest.mark.parametrize(
    ("cron", "text", "zone"),
    [
        ("0 5 * * * Europe/Berlin", "0 5 * * *", "Europe/Berlin"),
        ("0 0 5 * * * UTC", "0 5 * * *", "UTC"),
        ("every 10 minutes", "*/10 * * * *", "UTC"),
        ("every hour", "0 * * * *", "UTC"),
        ("every day at 16:05 Asia/Tokyo", "5 16 * * *", "Asia/Tokyo"),
    ],
)
def test_an_expression_of_fugit(cron: str, text: str, zone: str) -> None:
    """Zone, seconds and words."""
    job = only("sidekiq-cron", f"a: {{cron: '{cron}', class: A}}")
    assert (job.when.text, job.when.timezone) == (text, zone)


@pytest.mark.parametrize("kind", ["sidekiq-cron", "sidekiq-scheduler", "good-job"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {cron: '*/30 * * * * *', class: A}", "0 as the second"),
        ("a: {cron: '0 5 */2 * 1', class: A}", "one restricted day field"),
        ("a: {cron: 'every monday at five', class: A}", "cron(six fields)"),
        ("a: {cron: '0 5 * * *', class: 'A; system(1)'}", "the name of a Ruby class"),
        ("a: {class: A}", "cron, every or interval"),
        ("a: {at: '2026-12-01', class: A}", "a job that runs once"),
        ("a: {cron: '<%= 1 %>', class: A}", "ERB"),
        ("config.good_job.cron = {}", "YAML"),
    ],
)
def test_what_is_no_schedule_of_a_queue_is_refused(kind: str, text: str, said: str) -> None:
    """And no text becomes Ruby."""
    with pytest.raises(InputInvalidError) as refused:
        only(kind, text)
    assert said in str(refused.value)


def test_arguments_are_ruby_literals_in_which_nothing_is_evaluated() -> None:
    """Single quotes; numbers, flags and symbols only without quotes in the YAML."""
    values = ['"#{x}"', "'it''s'", r"'a\b'", "7", "'7'", "true", "null", ":high", "[1.5]", "{k: v}"]
    text = "a:\n  cron: '@daily'\n  class: A\n  args:\n" + "".join(f"  - {value}\n" for value in values)
    assert only("good-job", text).work.command == (
        "bin/rails",
        "runner",
        r"A.perform_later('#{x}', 'it\'s', 'a\\b', 7, '7', true, nil, :high, [1.5], { 'k' => 'v' })",
    )


def test_what_ofelia_has_for_all_jobs_is_named_with_each() -> None:
    """Labels of no job, and the section for all of them; the address of a report is not shown."""
    labels = "{ofelia.enabled: 'true', ofelia.slack-webhook: 'https://x/y', ofelia.job-local.x.schedule: '@daily',"
    for text in (
        f"services: {{a: {{labels: {labels} ofelia.job-local.x.command: a}}}}}}",
        '[global]\nslack-webhook = https://x/y\nenabled = true\n[job-local "x"]\nschedule = @daily\ncommand = a\n',
    ):
        left = {each.field: each.given for each in only("ofelia", text).decisions if each.verdict is FieldVerdict.LEFT}
        assert left == {"slack-webhook": "", "enabled": "true"}


def test_a_label_of_an_unknown_kind_of_job_is_refused() -> None:
    """It would be a job that nobody misses."""
    with pytest.raises(InputInvalidError, match=r"given:1: 'ofelia\.job-exce\.x\.schedule' is not usable"):
        only("ofelia", "services: {a: {labels: {ofelia.job-exce.x.schedule: '@daily'}}}")


def test_a_job_of_ofelia_with_an_image_is_a_task_definition() -> None:
    """And its variable that may be a secret is named."""
    jobs = {job.name: job for job in converted("ofelia", "list.yaml").jobs}
    assert isinstance(jobs["date"].work, ImageWork)
    assert jobs["date"].environment == {"FOO": "bar"}
    assert jobs["cleanup-report"].policy.concurrency_policy is ConcurrencyPolicy.FORBID
    assert jobs["date"].policy.concurrency_policy is ConcurrencyPolicy.ALLOW


@pytest.mark.parametrize(
    ("text", "where", "said"),
    [
        ("services: {a: {labels: {ofelia.job-local.x.schedule: '${S}'}}}", "given:1", "docker compose config"),
        ("services: {a: {labels: {ofelia.job-local.x.schedule: '@daily'}}}", "given:1", "command = COMMAND"),
        ("services: {a: {labels: {ofelia.job-local.x.command: a}}}", "given:1", "schedule = EXPRESSION"),
        ("services: {a: {image: b}}", "given", "at least one job"),
        ("a: 1", "given:1", "a compose file"),
        ('[job-local "x"]\nschedule = */30 * * * * *\ncommand = a', "given:2", "0 as the second"),
        ('[job-local "x"]\nschedule @daily', "given:2", "name = value"),
        ('[job-other "x"]\n', "given:1", "job-exec"),
        ('[job-local "x"]\nschedule = @daily\ncommand = a \'b', "given:3", "a command line"),
    ],
)
def test_what_is_no_job_of_ofelia_is_refused(text: str, where: str, said: str) -> None:
    """With its line."""
    with pytest.raises(InputInvalidError) as refused:
        only("ofelia", text)
    assert refused.value.what.startswith(where)
    assert said in refused.value.allowed


RULE = {"Name": "a", "ScheduleExpression": "rate(1 hour)"}
TARGET = {"Id": "1", "Arn": "arn:aws:ecs:eu-west-1:111122223333:cluster/c", "EcsParameters": {"TaskDefinitionArn": "t"}}


def rules(*files: tuple[str, object]) -> tuple[Job, ...]:
    """The jobs of those files."""
    sources = [Source(file=name, text=json.dumps(document)) for name, document in files]
    return convert("event-rules", sources, ImportTarget.CDK).jobs


def test_targets_are_those_of_the_rule_whose_name_their_file_has() -> None:
    """`list-targets-by-rule` does not say it."""
    [job] = rules(("rules.json", {"Rules": [RULE]}), ("out/a.json", {"Targets": [TARGET]}))
    assert isinstance(job.work, TaskWork)
    assert job.work.cluster == TARGET["Arn"]
    with pytest.raises(InputInvalidError, match="targets in a file with the name of their rule"):
        rules(("rules.json", {"Rules": [RULE]}), ("targets.json", {"Targets": [TARGET]}))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"Rules": [RULE]}, "list-targets-by-rule --rule a > a.json"),
        ({**RULE, "Targets": [TARGET, TARGET]}, "one target"),
        ({**RULE, "Targets": [{"Id": "1", "Arn": "arn:aws:lambda:x"}]}, "cronce starts ECS tasks"),
        ({"Name": "a", "EventPattern": "{}", "Targets": [TARGET]}, "a rule for events stays a rule"),
        ({**RULE, "Targets": [{**TARGET, "InputPath": "$.x"}]}, "a constant Input"),
        ({**RULE, "Targets": [{**TARGET, "Input": "["}]}, "YAML or JSON"),
        ({"Rules": [RULE], "NextToken": "x"}, "print all of it"),
        ({"Schedules": []}, "aws events list-rules"),
        ({"Rules": [{"Name": "a"}]}, "ScheduleExpression is missing"),
    ],
)
def test_what_is_no_rule_with_an_ecs_task_is_refused(document: object, said: str) -> None:
    """One error."""
    with pytest.raises((InputInvalidError, InputMissingError)) as refused:
        rules(("rules.json", document))
    assert str(refused.value).startswith("rules.json")
    assert said in str(refused.value)


def test_the_input_of_a_rule_is_read_with_its_line() -> None:
    """Container, command, and no secret."""
    [job] = converted("event-rules", "secret.json").jobs
    assert job.environment == {"MODE": "full"}
    left = {each.field: each.place.line for each in job.decisions}
    assert left["Input environment API_TOKEN"] == left["Input taskRoleArn"] > 1
