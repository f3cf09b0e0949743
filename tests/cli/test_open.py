"""`cronce open`: pages in the console of AWS."""

from __future__ import annotations

import json
import re
import webbrowser
from collections.abc import Callable

import pytest

from cronce.operate.facts import console_host
from cronce.vocabulary.states import Status
from tests.cli.conftest import LedgerFile, Said
from tests.cli.ecs_fleet import Fleet
from tests.support.builders import JOB, PERIOD, run

CONSOLE = "https://eu-west-1.console.aws.amazon.com/"
TASK = "arn:aws:ecs:eu-west-1:123456789012:task/shop/" + "2" * 32
STREAM = f"log-events/run$252Fdigest$252F{'2' * 32}"
OF_JOB = [
    f"schedule  {CONSOLE}scheduler/home?region=eu-west-1#schedules/GROUP/{JOB}-0123456789ab",
    f"cluster   {CONSOLE}ecs/v2/clusters/shop/tasks?region=eu-west-1",
]
OF_TASK = [
    f"task      {CONSOLE}ecs/v2/clusters/shop/tasks/{'2' * 32}?region=eu-west-1",
    f"log       {CONSOLE}cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group/$252Fshop$252Fdigest/{STREAM}",
]


@pytest.fixture
def job(fleet: Fleet) -> Fleet:
    """With one job."""
    fleet.add_job(JOB)
    return fleet


def lines(said: Said, fleet: Fleet) -> list[str]:
    """The output, with one name for the group."""
    assert (said.code, said.err) == (0, "")
    group = fleet.schedules[f"{JOB}-0123456789ab"]["GroupName"]
    return said.out.replace(f"/{group}/", "/GROUP/").splitlines()


def test_the_pages_of_a_job_are_printed(job: Fleet, cronce: Callable[..., Said]) -> None:
    """The table has one if the ledger is in DynamoDB."""
    assert lines(cronce("open", JOB), job) == OF_JOB


def test_the_pages_of_a_run_are_those_of_its_task(
    job: Fleet, ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """If its owner is a task."""
    ledger_file.put(run(owner=TASK), run(period="by-hand", owner="host:7"))
    assert lines(cronce("open", JOB, PERIOD), job) == OF_JOB + OF_TASK
    assert lines(cronce("open", JOB, "by-hand"), job) == OF_JOB
    assert lines(cronce("open", JOB, "none"), job) == OF_JOB


def test_the_document_has_every_page_by_its_documented_name(
    job: Fleet, ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """Null for what there is no page of."""
    assert job.schedules
    ledger_file.put(run(owner=TASK, status=Status.SUCCEEDED))
    document = json.loads(cronce("open", JOB, PERIOD, "--json").out)
    documented = re.findall(r'"(\w+)"', cronce("open", "--help").out.partition("by name:")[2].partition("}")[0])
    assert list(document) == documented
    assert [name for name, page in document.items() if page is None] == ["table"]


def test_the_browser_gets_the_last_page(
    job: Fleet, ledger_file: LedgerFile, cronce: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that says most."""
    opened: list[str] = []

    def shows(page: str) -> bool:
        opened.append(page)
        return True

    monkeypatch.setattr(webbrowser, "open", shows)
    ledger_file.put(run(owner=TASK))
    printed = lines(cronce("open", JOB, PERIOD, "--browser"), job)
    assert [printed[-1].split()[1]] == opened
    monkeypatch.setattr(webbrowser, "open", lambda _page: False)
    assert (said := cronce("open", JOB, "--browser")).code == 1
    assert said.err == "cronce: there is no browser on this host\n"


@pytest.mark.parametrize(
    ("region", "host"),
    [
        ("eu-west-1", "eu-west-1.console.aws.amazon.com"),
        ("cn-northwest-1", "cn-northwest-1.console.amazonaws.cn"),
        ("us-gov-west-1", "us-gov-west-1.console.amazonaws-us-gov.com"),
    ],
)
def test_each_partition_has_a_console_of_its_own(region: str, host: str) -> None:
    """By the name of the Region, which begins as its partition does."""
    assert console_host(region) == host


def test_the_pages_of_a_task_in_china_are_there(
    job: Fleet, ledger_file: LedgerFile, cronce: Callable[..., Said]
) -> None:
    """The Region is that of its ARN."""
    [schedule] = job.schedules.values()
    schedule["Target"]["Arn"] = "arn:aws-cn:ecs:cn-north-1:123456789012:cluster/shop"
    ledger_file.put(run(owner="arn:aws-cn:ecs:cn-north-1:123456789012:task/shop/" + "2" * 32))
    pages = [line.split()[1] for line in lines(cronce("open", JOB, PERIOD), job)]
    assert {page.split("/")[2] for page in pages} == {"cn-north-1.console.amazonaws.cn"}


def test_a_job_without_a_schedule_has_no_page(job: Fleet, cronce: Callable[..., Said]) -> None:
    """1, and it says so."""
    assert job.schedules
    said = cronce("open", "by-hand")
    assert (said.code, said.out) == (1, "")
    assert said.err == "cronce: there is no page about by-hand in the console of AWS\n"
