"""`cronce check`: what a Terraform plan of jobs is refused or doubted for, and what it is not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from cronce.cli.actions.check_plan import MAX_INPUT, check_plan
from cronce.vocabulary.errors import InputInvalidError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Said

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LEDGER = "dynamodb://runs?region=eu-west-1"


def schedule(
    name: str = "digest",
    *,
    job: str = "daily-digest",
    ledger: str = LEDGER,
    policy: dict[str, object] | None = None,
    environment: dict[str, str] | None = None,
    retry: int = 3600,
    window: int | None = None,
    **values: object,
) -> dict[str, Any]:
    """A schedule as a plan has it."""
    variables = {"CRONCE_JOB": job, "CRONCE_LEDGER": ledger, "CRONCE_POLICY": json.dumps(policy or {})}
    variables |= environment or {}
    override = {"name": "work", "environment": [{"name": key, "value": value} for key, value in variables.items()]}
    return {
        "address": f"module.{name}.aws_scheduler_schedule.this[0]",
        "mode": "managed",
        "type": "aws_scheduler_schedule",
        "values": {
            "schedule_expression": "cron(0 6 * * ? *)",
            "schedule_expression_timezone": "UTC",
            "state": "ENABLED",
            "flexible_time_window": [{"mode": "OFF", "maximum_window_in_minutes": window}],
            "target": [
                {
                    "input": json.dumps({"containerOverrides": [override]}),
                    "retry_policy": [{"maximum_event_age_in_seconds": retry}],
                }
            ],
            **values,
        },
    }


def watchdog(missed_after: str) -> dict[str, Any]:
    """The watchdog's function."""
    variables = {"CRONCE_LEDGER": LEDGER, "CRONCE_MISSED_AFTER": missed_after}
    return {"address": "w", "type": "aws_lambda_function", "values": {"environment": [{"variables": variables}]}}


def clock(settings: object) -> dict[str, Any]:
    """A pinned clock's task definition."""
    variables = [{"name": "CRONCE_CLOCK", "value": json.dumps(settings)}]
    text = json.dumps([{"name": "clock", "environment": variables}])
    return {"address": "c", "type": "aws_ecs_task_definition", "values": {"container_definitions": text}}


def plan(*resources: dict[str, Any]) -> dict[str, Any]:
    """A plan with the resources in a module of a module."""
    return {"planned_values": {"root_module": {"child_modules": [{"child_modules": [{"resources": [*resources]}]}]}}}


def names(*resources: dict[str, Any]) -> list[str]:
    """The names of the findings."""
    return [finding.name for finding in check_plan(plan(*resources), now=NOW).findings]


def test_a_good_plan_has_no_findings() -> None:
    """The jobs are those with a CRONCE_JOB, in modules of modules."""
    other = schedule("other", job="weekly", schedule_expression="cron(0 7 ? * MON *)")
    foreign = {"address": "f", "type": "aws_scheduler_schedule", "values": {"target": [{"input": "{}"}]}}
    checked = check_plan(plan(schedule(), other, foreign, watchdog("5m")), now=NOW)
    assert (checked.jobs, checked.findings) == (("daily-digest", "weekly"), ())


ERRORS: dict[str, list[dict[str, Any]]] = {
    "schedule-invalid": [
        {"schedule_expression_timezone": "Europe/Berlim"},
        {"schedule_expression": "cron(0 6 31 2 ? *)"},
        {"schedule_expression": "cron(0 6 ? * 8 *)"},
        {"schedule_expression": "rate(0 minutes)"},
        {"start_date": "2026-12-02T00:00:00Z", "end_date": "2026-12-01T00:00:00Z"},
        {"environment": {"CRONCE_DATE_IN": "UTC"}, "schedule_expression": "cron(0 6,18 * * ? *)"},
    ],
    "hour-without-minute": [{"schedule_expression": "cron(* 8 * * ? *)", "retry": 60}],
    "job-invalid": [{"job": " "}, {"policy": {"lease": "2h"}}, {"policy": {"leese": "1m"}}],
    "input-too-long": [{"environment": {"TEXT": "x" * 8000}}],
    "window-beyond-the-deadline": [{"policy": {"starting_deadline": "20m"}, "window": 20}],
}
WARNINGS: dict[str, list[dict[str, Any]]] = {
    "lost-to-daylight-saving": [
        {"schedule_expression": "cron(30 2 * * ? *)", "schedule_expression_timezone": "Europe/Berlin"}
    ],
    "uncertain-ticks": [{"schedule_expression": "cron(0 6 31W * ? *)"}],
    "rate-without-start": [{"schedule_expression": "rate(2 hours)"}],
    "schedule-is-over": [{"schedule_expression": "at(2026-11-28T06:00:00)"}],
    "retries-beyond-the-next-tick": [{"schedule_expression": "cron(0/5 * * * ? *)"}],
    "starting-deadline-beyond-retries": [{"policy": {"starting_deadline": "2d"}}],
    "starting-deadline-too-short": [{"policy": {"starting_deadline": "30s"}}],
    "catch-up-after-the-deadline": [{"policy": {"starting_deadline": "6m", "catch_up": "LATEST"}}],
}


@pytest.mark.parametrize(
    ("name", "changed"),
    [(name, changed) for kinds in (ERRORS, WARNINGS) for name, each in kinds.items() for changed in each],
)
def test_each_finding_is_found_alone(name: str, changed: dict[str, Any]) -> None:
    """And says whether it can never work."""
    [finding] = check_plan(plan(schedule(**changed), watchdog("5m")), now=NOW).findings
    assert (finding.name, finding.is_error) == (name, name in ERRORS)
    assert finding.address == "module.digest.aws_scheduler_schedule.this[0]"


@pytest.mark.parametrize(
    "changed",
    [
        {"schedule_expression": "cron(30 3 * * ? *)", "schedule_expression_timezone": "Europe/Berlin"},
        {"schedule_expression": "rate(2 hours)", "start_date": "2026-11-01T00:00:00Z"},
        {"schedule_expression": "rate(2 hours)", "state": "DISABLED"},
        {"schedule_expression": "cron(0/5 * * * ? *)", "retry": 300},
        {"schedule_expression": "cron(0/5 * * * ? *)", "policy": {"starting_deadline": "20m"}},
        {"schedule_expression": "at(2199-12-31T23:59:59)"},
        {"policy": {"starting_deadline": "24h"}},
        {"policy": {"starting_deadline": "1m"}},
        {"policy": {"starting_deadline": "7m", "catch_up": "LATEST"}},
        {"policy": {"starting_deadline": "21m"}, "window": 20},
        {"environment": {"CRONCE_DATE_IN": "UTC"}},
    ],
)
def test_just_beside_the_limit_there_is_no_finding(changed: dict[str, Any]) -> None:
    """Each case is next to one that is found."""
    assert names(schedule(**changed), watchdog("5m")) == []


def test_the_length_counts_what_eventbridge_fills_in() -> None:
    """The placeholder of the execution is shorter than a UUID."""
    placeholder = {"CRONCE_EXECUTION_ID": "<aws.scheduler.execution-id>"}
    used = len(schedule(environment={**placeholder, "T": ""})["values"]["target"][0]["input"])
    fits = MAX_INPUT - used - (36 - len("<aws.scheduler.execution-id>"))
    assert names(schedule(environment={**placeholder, "T": "x" * fits})) == []
    assert names(schedule(environment={**placeholder, "T": "x" * (fits + 1)})) == ["input-too-long"]


def test_one_job_has_one_schedule_in_a_ledger() -> None:
    """Each would refuse the other's runs. In another ledger it is another job."""
    assert names(schedule("a"), schedule("b")) == ["job-name-used-twice"]
    assert names(schedule("a"), schedule("b", ledger="dynamodb://other?region=eu-west-1")) == []


def test_the_configuration_of_a_clock_is_checked() -> None:
    """As `cronce clock` would refuse it on start."""
    good = {"jobs": {"hourly": {"every": "1h", "target": {"command": ["./enqueue"]}}}}
    assert names(clock(good)) == []
    assert names(clock({"jobs": {"hourly": {"every": "1h"}}})) == ["clock-invalid"]


def test_an_input_that_the_plan_does_not_know_is_said() -> None:
    """It is not counted as checked."""
    unknown = {"address": "u", "type": "aws_scheduler_schedule", "values": {"target": [{"arn": "x"}]}}
    checked = check_plan(plan(unknown), now=NOW)
    assert (checked.jobs, [finding.name for finding in checked.findings]) == ((), ["input-not-known"])


@pytest.mark.parametrize("document", [[], {}, {"values": None}, {"planned_values": {"root_module": 1}}])
def test_another_document_is_refused(document: object) -> None:
    """A check of nothing would look like success."""
    with pytest.raises(InputInvalidError, match="terraform show -json"):
        check_plan(document, now=NOW)


def test_a_state_is_checked_as_well() -> None:
    """`terraform show -json` without a plan."""
    state = {"values": plan(schedule(schedule_expression_timezone="Nowhere"))["planned_values"]}
    assert [finding.name for finding in check_plan(state, now=NOW).findings] == ["schedule-invalid"]


def test_the_command_prints_findings_and_fails_for_errors(cronce: Callable[..., Said], tmp_path: Path) -> None:
    """Warnings fail with --strict only, and can be allowed by name."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan(schedule(schedule_expression="rate(2 hours)"))))
    said = cronce("check", str(file))
    assert (said.code, said.err) == (0, "")
    first, last = said.out.splitlines()
    assert first.startswith("warning rate-without-start: module.digest.aws_scheduler_schedule.this[0]: rate(2 hours)")
    assert last == "1 jobs checked: 0 errors, 1 warnings."
    assert cronce("check", str(file), "--strict").code == 1
    assert cronce("check", str(file), "--strict", "--allow", "rate-without-start").code == 0

    file.write_text(json.dumps(plan(schedule("a"), schedule("b"))))
    told = cronce("check", str(file), "--json")
    [finding] = json.loads(told.out)["findings"]
    assert (told.code, finding["severity"], finding["name"]) == (1, "error", "job-name-used-twice")


@pytest.mark.parametrize("text", ["", "{", "[]", "\ud800"])
def test_a_file_that_is_no_such_document_is_one_error(cronce: Callable[..., Said], tmp_path: Path, text: str) -> None:
    """With the name FILE, and exit code 64."""
    file = tmp_path / "plan.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    said = cronce("check", str(file))
    assert (said.code, said.out, said.err.count("\n")) == (64, "", 1)
    assert "FILE: " in said.err


GUARD = ["/cronce/cronce", "exec", "--"]


def task(*, family: str | None = None, **container: object) -> dict[str, Any]:
    """A task definition with the guard before its container's command."""
    told = {"name": "work", "entryPoint": GUARD, "command": ["rails"], "dependsOn": [{}], **container}
    values = {"arn": "td:1", "container_definitions": json.dumps([told])}
    platform = {"runtime_platform": [{"operating_system_family": family}]} if family else {}
    return {"address": "t", "type": "aws_ecs_task_definition", "values": values | platform}


def guarded(version: str | None = None, command: list[str] | None = None, arn: str | None = "td:1") -> dict[str, Any]:
    """A schedule of that task definition."""
    planned = schedule()
    [target] = planned["values"]["target"]
    target["ecs_parameters"] = [{"task_definition_arn": arn, "platform_version": version}]
    override = json.loads(target["input"])
    override["containerOverrides"][0] |= {"command": command} if command else {}
    target["input"] = json.dumps(override)
    return planned


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ((task(family="WINDOWS_SERVER_2022_CORE"),), "operating_system_family: WINDOWS_SERVER_2022_CORE"),
        ((task(command=["cronce", "exec", "--", "x"]),), "the work's own command: the entry point is"),
        ((task(), guarded(command=["/usr/bin/cronce", "exec"])), "the work's own command: the entry point is"),
        ((task(command=None), guarded()), "command: there is none"),
        ((task(), guarded("1.2.0")), "platform_version: 1.2.0 is not usable; allowed: 1.3.0 or later"),
    ],
)
def test_a_guard_that_cannot_work_is_an_error(resources: tuple[dict[str, Any], ...], said: str) -> None:
    """As the construct refuses it."""
    [finding] = check_plan(plan(*resources), now=NOW).findings
    assert (finding.is_error, finding.name) == (True, "guard-cannot-work")
    assert said in finding.message


@pytest.mark.parametrize(
    "resources",
    [
        (task(), guarded("1.4.0")),
        (task(family="LINUX"), guarded("LATEST", ["rails", "digest:send"])),
        (task(command=None), guarded(command=["rails"])),
        (task(command=None), guarded(arn=None)),
        (task(entryPoint=["/entry"], command=["cronce", "exec"], dependsOn=[]), guarded("1.2.0")),
    ],
)
def test_a_guard_that_can_work_is_not(resources: tuple[dict[str, Any], ...]) -> None:
    """Also where the plan does not know the task definition yet."""
    assert names(*resources) == []


def outside(name: str, group: str, **policy: object) -> dict[str, Any]:
    """The schedule of a job whose ledger is in PostgreSQL or Redis: its input has no URL."""
    found = schedule(name, ledger="", policy=policy, group_name=group)
    [target] = found["values"]["target"]
    override = json.loads(target["input"])
    [container] = override["containerOverrides"]
    container["environment"] = [each for each in container["environment"] if each["name"] != "CRONCE_LEDGER"]
    target["input"] = json.dumps(override)
    target["ecs_parameters"] = [{"task_definition_arn": "td:1"}]
    return found


def container(**changed: object) -> dict[str, Any]:
    """The task definition of that job."""
    text = json.dumps([{"name": "work", **changed}])
    return {"address": "t", "type": "aws_ecs_task_definition", "values": {"arn": "td:1", "container_definitions": text}}


URL = {"name": "CRONCE_LEDGER", "valueFrom": "arn:aws:ssm:eu-west-1:111122223333:parameter/url"}


def test_the_jobs_of_two_external_ledgers_may_have_the_same_name() -> None:
    """Each ledger has a group; in one of them the name is used twice."""
    assert names(outside("a", "shop"), outside("b", "bank")) == []
    assert names(outside("a", "shop"), outside("b", "shop")) == ["job-name-used-twice"]


def test_a_container_without_the_url_of_its_ledger_is_found() -> None:
    """Only the owner of the task definition can put it there. A container that the plan does not know may have it."""
    assert names(outside("a", "shop"), container()) == ["ledger-missing"]
    assert names(outside("a", "shop"), container(secrets=[URL])) == []
    assert names(outside("a", "shop"), container(environment=[{"name": "CRONCE_LEDGER", "value": LEDGER}])) == []
    assert names(outside("a", "shop")) == []
    assert names(schedule(), container()) == []


def test_the_patience_of_a_watchdog_that_is_a_service_is_known() -> None:
    """By its group."""
    variables = [{"name": "CRONCE_SCHEDULE_GROUP", "value": "shop"}, {"name": "CRONCE_MISSED_AFTER", "value": "10m"}]
    text = json.dumps([{"name": "watchdog", "environment": variables}])
    dog = {"address": "w", "type": "aws_ecs_task_definition", "values": {"container_definitions": text}}
    late = {"starting_deadline": "11m", "catch_up": "LATEST"}
    assert names(dog, outside("a", "shop", **late)) == ["catch-up-after-the-deadline"]
    assert names(dog, outside("a", "bank", **late)) == []


def test_a_job_with_several_schedules_is_one_job_of_which_every_expression_is_checked() -> None:
    """The first one names the others; two that are due on one day cannot have the day as their period."""
    further = "cron(0 9 ? * SUN *)"

    def job(first: str, **environment: str) -> tuple[dict[str, Any], ...]:
        variables = {"CRONCE_FURTHER_SCHEDULES": further} | environment
        return (
            schedule("one", schedule_expression=first, environment=variables),
            schedule("two", schedule_expression=further, environment=variables),
        )

    good = check_plan(plan(*job("cron(0 6 ? * MON-FRI *)", CRONCE_DATE_IN="UTC")), now=NOW)
    assert (good.jobs, good.findings) == (("daily-digest",), ())
    assert names(*job("cron(0 6 * * ? *)", CRONCE_DATE_IN="UTC")) == ["schedule-invalid"]
    assert names(*job("rate(2 hours)")) == ["schedule-invalid"]
    assert names(*job("cron(0 6 * * ? *)"), schedule("three")) == ["job-name-used-twice"]
