"""`cronce doctor` in a terminal and as a document."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cronce.aws import sdk
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, run


class Refuses:
    """A client of a service that this person may not use."""

    def __getattr__(self, operation: str) -> Any:  # noqa: ANN401
        def call(**_: object) -> None:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, operation)

        return call


@pytest.fixture(autouse=True)
def few_permissions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every service besides the schedules and tasks refuses."""
    monkeypatch.setattr(sdk, "Service", lambda name, **_: _service(name, client=Refuses()))


_service = sdk.Service


def test_each_check_is_a_line_and_a_problem_is_exit_code_1(
    ledger_file: LedgerFile, fleet: Fleet, cronce: Callable[..., Said]
) -> None:
    """With the reason below it, and the next command if there is one."""
    fleet.add_job(JOB)
    fleet.revision_status = "INACTIVE"
    ledger_file.put(run())
    said = cronce("doctor")
    lines = said.out.splitlines()
    assert said.code == 1
    assert "ok        schedules     1 job in the group runs, 1 enabled" in lines
    gone = "arn:aws:ecs:eu-west-1:123456789012:task-definition/digest:7"
    place = lines.index(f"problem   revision      {gone} of {JOB} is INACTIVE")
    assert lines[place + 1].strip() == "RunTask refuses it: deploy the stack of the job"
    assert "not known functions     AccessDeniedException for ListFunctions" in lines


def test_the_document_has_the_documented_keys(fleet: Fleet, cronce: Callable[..., Said]) -> None:
    """As the help says."""
    fleet.add_job(JOB)
    said = cronce("doctor", "--json")
    document = json.loads(said.out)
    assert {*document} == {"checks", "problems"}
    assert all({*check} == {"name", "state", "sentence", "why", "next"} for check in document["checks"])
    problems = [check["name"] for check in document["checks"] if check["state"] == "problem"]
    assert (problems, document["problems"], said.code) == (["watchdog"], 1, 1)


def test_a_ledger_without_schedules_is_checked_as_far_as_it_goes(
    ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """What is not there is not known."""
    ledger_file.put(run())
    said = cronce("doctor")
    assert said.code == 0
    assert "is readable and writable by this role" in said.out
    assert "not known schedules" in said.out


def test_a_ledger_that_does_not_answer_is_a_problem(cronce: Callable[..., Said]) -> None:
    """And every other check is still made."""
    said = cronce("doctor", "--ledger", "postgresql://me@127.0.0.1:1/runs?sslmode=disable")
    assert said.code == 1
    assert "problem   ledger" in said.out
    assert "variables" in said.out
