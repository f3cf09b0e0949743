"""Files of the shapes that people have: each job's schedule and policy, and each field of each file."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cronce import CatchUp, ConcurrencyPolicy
from cronce.adopt.convert.conversion import KINDS, convert
from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import FieldVerdict, ImageWork, Job, Source, TaskWork
from cronce.clock.config import config_from_toml
from cronce.vocabulary.errors import CronceError
from tests.adopt.convert.files import FILES, HERE, converted

TREES = [each for each in FILES if each[0] in ("ecschedule", "cronjob", "event-rules", "sidekiq-cron", "good-job")]
QUICK = [
    ("ecschedule", "fargate.yaml"),
    ("cronjob", "secrets.yaml"),
    ("event-rules", "nightly.json"),
    ("good-job", "cron.yml"),
]

Schedules = dict[str, tuple[str, str]]

UTC = "UTC"
BERLIN = "Europe/Berlin"

JOBS: dict[tuple[str, str], Schedules] = {
    ("ecschedule", "shop.yaml"): {
        "daily-digest": ("cron(0 6 * * ? *)", UTC),
        "weekly-report": ("cron(30 7 ? * MON *)", UTC),
    },
    ("ecschedule", "fargate.yaml"): {"expire-carts": ("rate(1 hour)", UTC)},
    ("ecschedule", "templated.yaml"): {"sync-stock": ("cron(*/15 * * * ? *)", UTC)},
    ("ecschedule", "many.yaml"): {
        "send_reminders": ("cron(0/10 * * * ? *)", UTC),
        "rebuild_index": ("cron(0 2 ? * SUN *)", UTC),
        "purge": ("cron(15 3 L * ? *)", UTC),
    },
    ("ecschedule", "rules.json"): {"import-contacts": ("cron(45 4 ? * MON-FRI *)", UTC)},
    ("crontab", "web-host"): {
        "runner": ("*/5 * * * *", UTC),
        "digest": ("0 6 * * *", UTC),
        "pg_backup": ("30 2 * * 0", UTC),
    },
    ("crontab", "zones"): {
        "send-briefing": ("0 8 * * 1-5", BERLIN),
        "close_day": ("15 16 * * mon-fri", "America/New_York"),
        "invoices": ("@monthly", "America/New_York"),
    },
    ("crontab", "percent"): {
        "tar": ("0 1 * * *", UTC),
        "mail": ("0 9 1 * *", UTC),
        "run": ("@hourly", UTC),
    },
    ("crontab", "django"): {
        "clearsessions": ("0 4 * * *", UTC),
        "update_index": ("20 4 * * *", UTC),
        "clearsessions-2": ("@daily", UTC),
    },
    ("crontab", "laravel"): {
        "schedule-run": ("* * * * *", UTC),
        "billing-statements": ("0 0 1,15 * *", UTC),
        "curl": ("0 */6 * * *", UTC),
    },
    ("system-crontab", "etc-crontab"): {
        "run-parts": ("17 * * * *", UTC),
        "anacron": ("25 6 * * *", UTC),
        "anacron-2": ("47 6 * * 7", UTC),
    },
    ("system-crontab", "php"): {"sessionclean": ("09,39 * * * *", UTC)},
    ("system-crontab", "renewal"): {"renew": ("0 */12 * * *", UTC)},
    ("system-crontab", "filesystems"): {"system": ("30 3 * * 0", UTC), "system-2": ("10 3 * * *", UTC)},
    ("system-crontab", "application"): {
        "queue-sweep": ("*/10 8-18 * * mon-fri", UTC),
        "invoices-close": ("@monthly", UTC),
    },
    ("supercronic", "backups"): {"base-backup": ("0 3 * * *", UTC), "verify-backup": ("30 4 * * SUN", UTC)},
    ("supercronic", "django"): {
        "send_queued_mail": ("*/5 * * * *", BERLIN),
        "clearsessions": ("0 1 1 * *", BERLIN),
    },
    ("supercronic", "app"): {
        "echo": ("*/1 * * * *", "Asia/Tokyo"),
        "nightly": ("0 5 * * *", "Asia/Tokyo"),
        "poll": ("rate(90 minutes)", UTC),
    },
    ("supercronic", "rails"): {
        "mail-digest": ("0 7 * * *", UTC),
        "feeds-refresh": ("*/15 8-18 * * MON-FRI", UTC),
    },
    ("supercronic", "plain"): {"rotate": ("@daily", UTC), "vacuum": ("5 3 * * 6", UTC)},
    ("cronjob", "backup.yaml"): {"postgres-backup": ("0 2 * * *", UTC)},
    ("cronjob", "scan.yaml"): {"daily-scan": ("0 5 * * *", UTC)},
    ("cronjob", "list.yaml"): {"warm-cache": ("*/10 * * * *", UTC), "close-month": ("30 0 1 * *", BERLIN)},
    ("cronjob", "several.yaml"): {"user-sync": ("0 * * * *", UTC), "cleanup": ("@daily", UTC)},
    ("cronjob", "secrets.yaml"): {"notify": ("30 9 * * MON-FRI", "Asia/Kolkata")},
    ("event-rules", "nightly.json"): {"nightly-export": ("cron(0 1 * * ? *)", "UTC")},
    ("event-rules", "placed.json"): {"placed": ("cron(0 0 1 * ? *)", "UTC")},
    ("event-rules", "secret.json"): {"secret": ("rate(15 minutes)", "UTC")},
    ("event-rules", "spot.json"): {"spot": ("cron(15 10 ? * 6L *)", "UTC")},
    ("event-rules", "two.json"): {"hourly": ("rate(1 hour)", "UTC"), "off": ("cron(0 12 ? * MON-FRI *)", "UTC")},
    ("celery", "app.py.txt"): {
        "poll": ("* * * * *", "UTC"),
        "report": ("0 6,18 * * *", "America/New_York"),
        "sync": ("0 */2 * * *", "UTC"),
    },
    ("celery", "constants.py.txt"): {
        "hourly-clean": ("0 * * * *", "UTC"),
        "daily": ("0 0 * * *", "UTC"),
        "every-90-minutes": ("rate(90 minutes)", "UTC"),
    },
    ("celery", "django.py.txt"): {
        "sessions": ("30 7 * * 1", "Asia/Kolkata"),
        "minutely": ("* * * * *", "Asia/Kolkata"),
    },
    ("celery", "settings.py.txt"): {
        "expire-carts": ("*/15 * * * *", "Europe/Berlin"),
        "close-day": ("55 23 * * mon-fri", "Europe/Berlin"),
    },
    ("celery", "update.py.txt"): {"warm": ("*/2 * * * *", "UTC"), "month": ("0 4 1 * *", "UTC")},
    ("whenever", "basic.rb"): {
        "BlacklistedToken.cleanup_expired": ("30 4 * * *", "UTC"),
        "weather-refresh": ("0 * * * *", "UTC"),
    },
    ("whenever", "crons.rb"): {"echo": ("0 0 27 * *", "UTC"), "import": ("*/20 8-18 * * 1-5", "UTC")},
    ("whenever", "days.rb"): {
        "daily-information": ("0 5 * * *", "UTC"),
        "products-expiration": ("0 5 * * *", "UTC"),
        "data-extract": ("0 3 * * 4", "UTC"),
        "close-day": ("15 18 * * 1-5", "UTC"),
    },
    ("whenever", "intervals.rb"): {
        "Enrollment.expire_pending": ("*/10 * * * *", "UTC"),
        "sync-all": ("0 */6 * * *", "UTC"),
        "Report.quarter": ("0 0 1 */3 *", "UTC"),
    },
    ("whenever", "output.rb"): {
        "Billing--Invoices.new.run": ("0 0 * * 0", "UTC"),
        "archive-month": ("0 0 1 * *", "UTC"),
    },
    ("sidekiq-cron", "list.yml"): {"Refresh-prices": ("*/5 * * * *", "UTC"), "close": ("55 23 * * *", "UTC")},
    ("sidekiq-cron", "schedule.yml"): {
        "cleanup": ("0 3 * * *", "UTC"),
        "reports": ("*/30 8-18 * * 1-5", "Europe/Berlin"),
    },
    ("sidekiq-cron", "seconds.yml"): {"sync": ("*/10 * * * *", "UTC")},
    ("sidekiq-scheduler", "plain.yml"): {
        "expire": ("rate(90 minutes)", "UTC"),
        "digest": ("0 6 * * 1-5", "America/New_York"),
    },
    ("sidekiq-scheduler", "sidekiq.yml"): {"hello_world": ("0 * * * *", "UTC"), "every_job": ("*/15 * * * *", "UTC")},
    ("good-job", "cron.yml"): {"purge_unattached_blobs": ("0 3 * * *", "UTC"), "leaderboard": ("*/2 * * * *", "UTC")},
    ("good-job", "seconds.yml"): {"check_documents": ("42 * * * *", "UTC")},
    ("ofelia", "compose.yaml"): {"php-cli": ("* * * * *", "UTC")},
    ("ofelia", "config.ini"): {"flush-logs": ("@hourly", "UTC"), "print-date": ("*/15 * * * *", "UTC")},
    ("ofelia", "list.yaml"): {"cleanup-report": ("0 2 * * 0", "UTC"), "date": ("@daily", "UTC")},
    ("ofelia", "local.ini"): {"create-file": ("30 4 * * *", "UTC")},
    ("ofelia", "service.ini"): {"swarm": ("0,20,40 * * * *", "UTC")},
}
"""The schedule and zone of each job, by its name."""


def jobs_of(kind: str, name: str) -> dict[str, Job]:
    """The jobs of a file, by name."""
    return {job.name: job for job in converted(kind, name).jobs}


def test_every_file_is_expected() -> None:
    """And every kind has files."""
    assert sorted(JOBS) == FILES
    assert {kind for kind, _ in FILES} == KINDS.keys()


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_each_job_has_its_schedule_in_its_zone(kind: str, name: str) -> None:
    """As the product reads it."""
    found = {job.name: (job.when.text, job.when.timezone) for job in converted(kind, name).jobs}
    assert found == JOBS[kind, name]


def test_the_python_is_formatted_and_clean(tmp_path: Path) -> None:
    """As ruff formats it, by its own settings; nothing is unused or undefined."""
    for kind, name in FILES:
        (tmp_path / f"{kind}_{Path(name).stem}.py").write_text(converted(kind, name).code)
    command = ("ruff", "format", "--isolated", "--diff", tmp_path)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    lint = ("ruff", "check", "--isolated", "--select=E4,E7,E9,F,I,B,UP", "--output-format=concise", tmp_path)
    done = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("kind", "name"), FILES)
def test_a_clock_reads_what_is_written_for_it(kind: str, name: str) -> None:
    """Every job, under its name."""
    code = converted(kind, name, ImportTarget.CLOCK).code
    assert [job.name for job in config_from_toml(code, what="clock.toml")] == [*JOBS[kind, name]]


@pytest.mark.parametrize(
    ("kind", "name"), [pytest.param(*each, marks=[] if each in QUICK else pytest.mark.slow) for each in TREES]
)
def test_an_unknown_field_anywhere_is_named(kind: str, name: str) -> None:
    """In every mapping of the file: nothing is dropped in silence."""
    text = (HERE / kind / name).read_text()
    if "{{" in text:
        pytest.skip("a template is no YAML")
    documents = [*yaml.safe_load_all(text.replace("\t", " "))]
    places = [place for document in documents for place in _mappings(document, ())]
    assert len(places) > 1
    for mapping, path in places:
        if {"args", "kwargs", "set"}.intersection(path):
            continue  # any name is an argument of the job
        mapping["zzz"] = "hello"
        given = Source(file=name, text=yaml.safe_dump_all(documents))
        del mapping["zzz"]
        try:
            done = convert(kind, [given], ImportTarget.CDK)
        except CronceError as error:
            assert "zzz" in str(error)  # noqa: PT017
            continue
        told = [each for job in done.jobs for each in job.decisions]
        left = {each.field.split()[-1] for each in told if each.verdict is FieldVerdict.LEFT}
        named = "zzz" in left or any("zzz" in each.field for each in told)
        assert named or left & {str(part) for part in path} or "status" in path, path


def _mappings(value: Any, path: tuple[str | int, ...]) -> list[tuple[dict[str, Any], tuple[str | int, ...]]]:  # noqa: ANN401  # YAML
    found: list[tuple[dict[str, Any], tuple[str | int, ...]]] = []
    if isinstance(value, dict):
        found.append((value, path))
        for name, each in value.items():
            found += _mappings(each, (*path, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            found += _mappings(each, (*path, number))
    return found


def test_the_defaults_of_kubernetes_are_written_out() -> None:
    """Allow, six retries, the latest missed tick: each with the remark that cronce has others."""
    job = jobs_of("cronjob", "several.yaml")["cleanup"]
    policy = job.policy
    assert (policy.concurrency_policy, policy.backoff_limit, policy.catch_up) == (
        ConcurrencyPolicy.ALLOW,
        6,
        CatchUp.LATEST,
    )
    stated = {each.field for each in job.decisions if each.verdict is FieldVerdict.STATED}
    assert {"concurrencyPolicy", "backoffLimit", "catch-up", "timeZone"} <= stated


def test_the_policy_of_a_manifest_is_kept() -> None:
    """Deadlines, retries, overlaps, suspension."""
    scan = jobs_of("cronjob", "scan.yaml")["daily-scan"].policy
    assert scan.to_fields() == {
        "starting_deadline": "5m",
        "active_deadline": "90m",
        "backoff_limit": 6,
        "catch_up": "LATEST",
    }
    listed = jobs_of("cronjob", "list.yaml")
    assert listed["warm-cache"].policy.concurrency_policy is ConcurrencyPolicy.REPLACE
    assert listed["close-month"].policy.suspend


def test_a_manifest_says_how_large_its_task_is() -> None:
    """The smallest size of Fargate that has enough."""
    work = jobs_of("cronjob", "scan.yaml")["daily-scan"].work
    assert isinstance(work, ImageWork)
    assert (work.cpu, work.memory) == (1024, 2048)
    assert (work.command, work.arguments) == (None, ("scan", "--level", "3", "--all"))
    assert work.config_maps == ("scanner",)


def test_the_rules_of_ecschedule_are_kept() -> None:
    """Task definition, cluster, container, network, capacity and state."""
    many = jobs_of("ecschedule", "many.yaml")
    assert [job.enabled for job in many.values()] == [True, False, True]
    [reminders, _, purge] = [job.work for job in many.values()]
    assert isinstance(reminders, TaskWork)
    assert isinstance(purge, TaskWork)
    assert (reminders.cluster, purge.cluster) == ("api", "archive")
    assert reminders.capacity_providers == (("FARGATE_SPOT", None, 3), ("FARGATE", 1, 1))
    work = jobs_of("ecschedule", "fargate.yaml")["expire-carts"].work
    assert isinstance(work, TaskWork)
    assert (work.definition, work.container, work.assign_public_ip) == ("carts:12", "carts", True)
    assert (len(work.subnets), work.propagate_tags) == (2, True)


def test_a_template_of_ecschedule_is_its_default_or_a_gap_that_is_named() -> None:
    """No variable is read, and no state of Terraform."""
    job = jobs_of("ecschedule", "templated.yaml")["sync-stock"]
    assert job.environment == {"RAILS_ENV": "production"}
    assert isinstance(job.work, TaskWork)
    assert job.work.definition == "<<tfstate aws_ecs_task_definition.stock.family>>"
    told = [(each.verdict, each.given) for each in job.decisions if each.field == "template"]
    assert (FieldVerdict.CHANGED, 'env "RAILS_ENV" "production"') in told
    assert (FieldVerdict.LEFT, "<<must_env CLUSTER>>") in told
    assert len(told) == 5


@pytest.mark.parametrize(("kind", "name"), FILES)
@pytest.mark.parametrize("target", ImportTarget)
def test_no_value_that_may_be_a_secret_is_copied(kind: str, name: str, target: ImportTarget) -> None:
    """It is named instead."""
    done = converted(kind, name, target)
    for secret in ("not-real", "not-for-the-output", "hooks.example.com"):
        assert secret not in done.code
        assert not [each for job in done.jobs for each in job.decisions if secret in each.given + each.became]


def test_secrets_of_a_manifest_become_secrets_of_ecs() -> None:
    """Under the job's name and the variable's."""
    code = converted("cronjob", "secrets.yaml").code
    assert 'secrets["notify/SLACK_TOKEN"]' in code
    assert 'secrets["notify/QUEUE_URL"]' in code
    backup = "".join(converted("cronjob", "backup.yaml").code.split())
    assert '"PGPASSWORD":ecs.Secret.from_secrets_manager(secrets["postgres"],"password"' in backup


def test_a_command_with_a_secret_in_it_has_a_remark_and_is_not_repeated() -> None:
    """The work needs it, so it is written; the table does not show it."""
    job = jobs_of("crontab", "laravel")["curl"]
    [told] = [each for each in job.decisions if each.field == "command"]
    assert (told.verdict, told.given) == (FieldVerdict.CHANGED, "")
    assert "abcdefgh12345678" not in repr(job.decisions)


def test_percent_signs_of_a_crontab_are_its_standard_input() -> None:
    r"""And `\%` is a percent sign; supercronic has neither."""
    jobs = jobs_of("crontab", "percent")
    assert (jobs["tar"].work.command or ())[2] == "tar czf /backup/home-$(date +%Y%m%d).tar.gz /home"
    piped = (jobs["mail"].work.command or ())[2]
    said = subprocess.run(
        ["/bin/sh", "-c", piped.replace("mail -s", "cat; :")], capture_output=True, text=True, check=True
    )
    assert said.stdout == "Please close the books.\nThank you\n"
    assert jobs_of("supercronic", "app")["nightly"].work.command == ("/app/nightly", "--report", "100%")
