"""The checks of the demo can fail: each number that is off is found, and only that one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cronce.demo import checks
from cronce.demo.checks import Check
from cronce.demo.mailboxes import customer_name, deliver, mails_by_customer, make_maildir, number_of_mails
from cronce.vocabulary.states import Status
from tests.support.builders import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CUSTOMERS = 20


def wrong(found: list[Check]) -> list[str]:
    """What is off."""
    return [check.what for check in found if not check.right]


@pytest.fixture
def maildir(tmp_path: Path) -> Path:
    """A mailbox in which every customer has exactly one mail."""
    path = make_maildir(tmp_path / "mails")
    for number in range(1, CUSTOMERS + 1):
        assert deliver(path, f"day.{customer_name(number)}", to=customer_name(number), text="Hello")
    return path


def arrived(maildir: Path, *, each: int = 1) -> list[Check]:
    """The checks of that mailbox."""
    return checks.mails_arrived(mails_by_customer(maildir), customers=CUSTOMERS, each=each)


def test_a_mailbox_as_it_should_be_passes(maildir: Path) -> None:
    """With every number as it was counted."""
    assert [check.counted for check in arrived(maildir)] == [CUSTOMERS, CUSTOMERS]
    assert wrong(arrived(maildir)) == []
    assert len(wrong(arrived(maildir, each=4))) == 2


def test_a_mail_with_the_same_key_is_absorbed(maildir: Path) -> None:
    """And leaves no draft behind."""
    assert not deliver(maildir, f"day.{customer_name(1)}", to=customer_name(1), text="Hello")
    assert number_of_mails(maildir) == CUSTOMERS
    assert not list((maildir / "tmp").iterdir())


def removed(mails: Path) -> None:
    """One customer has none."""
    (mails / f"day.{customer_name(7)}").unlink()


def doubled(mails: Path) -> None:
    """One customer has two, as from a second container."""
    (mails / "container-2").write_bytes((mails / f"day.{customer_name(7)}").read_bytes())


def misdirected(mails: Path) -> None:
    """One customer has another's: the total is right, nothing else is."""
    (mails / f"day.{customer_name(7)}").write_bytes((mails / f"day.{customer_name(8)}").read_bytes())


def foreign(mails: Path) -> None:
    """Somebody has one who is no customer: the customers are right, the total is not."""
    (mails / "stranger").write_text("To: stranger@example.com\n\nHello\n")


def emptied(mails: Path) -> None:
    """One file is there and holds nothing."""
    (mails / f"day.{customer_name(7)}").write_text("")


@pytest.mark.parametrize(
    ("tamper", "off"),
    [
        (removed, ["mails in the mailbox", "customers with exactly 1 mail"]),
        (doubled, ["mails in the mailbox", "customers with exactly 1 mail"]),
        (misdirected, ["customers with exactly 1 mail"]),
        (foreign, ["mails in the mailbox"]),
        (emptied, ["mails in the mailbox", "customers with exactly 1 mail"]),
    ],
)
def test_a_tampered_mailbox_is_found(maildir: Path, tamper: Callable[[Path], None], off: list[str]) -> None:
    """The mails themselves are counted."""
    tamper(maildir / "new")
    assert wrong(arrived(maildir)) == off


def test_a_second_winner_is_found() -> None:
    """Two containers worked, two were refused."""
    found = checks.started_once(worked=2, exit_codes=[0, 0, 0, 0], refused=["ALREADY_SUCCEEDED", "RUNNING_ELSEWHERE"])
    assert wrong(found) == ["containers that sent mails", 'containers that said "already"']


def test_a_refusal_for_another_reason_or_an_error_is_found() -> None:
    """Only "already" is what the story says, and only exit code 0 is in peace."""
    found = checks.started_once(worked=1, exit_codes=[0, 0, 69, None], refused=["RUNNING_ELSEWHERE"] * 2 + ["HELD"])
    assert wrong(found) == ['containers that said "already"', "containers that ended with exit code 0"]
    ours = ["RUNNING_ELSEWHERE", "ALREADY_SUCCEEDED", "RUNNING_ELSEWHERE"]
    assert wrong(checks.started_once(worked=1, exit_codes=[0] * 4, refused=ours)) == []


@pytest.mark.parametrize(
    ("changed", "off"),
    [
        ({}, []),
        ({"died": False}, ["the job died with its wrapper"]),
        ({"mails": 12}, ["mails sent when it was killed"]),
        ({"row": None}, ["the ledger's row"]),
        ({"row": run(status=Status.FAILED)}, ["the ledger's row"]),
        ({"refused": []}, ["a start before the lease has expired"]),
        ({"refused": ["HELD"]}, ["a start before the lease has expired"]),
    ],
)
def test_a_crash_that_went_otherwise_is_found(changed: dict[str, object], off: list[str]) -> None:
    """Killed at another mail, job alive, or a start accepted too early."""
    facts: dict[str, object] = {"row": run(), "died": True, "mails": 11, "refused": ["RUNNING_ELSEWHERE"]}
    found = checks.killed_halfway(**facts | changed, expected_mails=11)  # type: ignore[arg-type]
    assert wrong(found) == off


@pytest.mark.parametrize(
    ("changed", "off"),
    [
        ({}, []),
        ({"row": run(status=Status.SUCCEEDED, attempt=1)}, ["the ledger's row"]),
        ({"done": 11}, ["mails that attempt 2 found done"]),
        ({"unknown": 0}, ["mails that attempt 2 found unknown, and skipped"]),
        ({"sent": 88}, ["mails that attempt 2 sent"]),
    ],
)
def test_a_wrong_resumption_is_found(changed: dict[str, object], off: list[str]) -> None:
    """A mail forgotten, or sent again."""
    row = run(status=Status.SUCCEEDED, attempt=2)
    facts: dict[str, object] = {"row": row, "customers": 100, "sent_at_kill": 13, "done": 12, "unknown": 1, "sent": 87}
    assert wrong(checks.resumed(**facts | changed)) == off  # type: ignore[arg-type]


def test_a_run_that_is_repeated_is_found() -> None:
    """At nine it must be refused."""
    assert wrong(checks.asked_again(refused=["ALREADY_SUCCEEDED"], exit_codes=[0])) == []
    assert wrong(checks.asked_again(refused=[], exit_codes=[0])) == ["the answer"]
