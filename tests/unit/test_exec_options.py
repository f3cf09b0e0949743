"""The options of `cronce exec`: a task's are read without argparse, and mean what argparse says they mean."""

from __future__ import annotations

import pytest

from cronce.cli.runtime import exec as exec_command
from cronce.cli.runtime.exec import plain_options
from cronce.cli.runtime.exec_help import parse_in_full

OPTIONS = [f"--{name.replace('_', '-')}" for name in exec_command.OPTIONS]
COMMAND = ["true"]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("value", ["x", "", "a b", "a=b", "{period}", "é", "1"])
def test_a_plain_option_means_what_argparse_says(option: str, value: str) -> None:
    """With a space and with `=`."""
    for arguments in ([option, value], [f"{option}={value}"]):
        plain = plain_options(arguments)
        assert plain == parse_in_full(arguments, COMMAND)
        assert plain != plain_options([])


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--job", "a", "--period", "p", "--ledger", "sqlite:///runs.db"],
        ["--job", "a", "--job=b"],
        ["--quiet", "--job", "a"],
        ["--job", "a", "--quiet"],
        ["--job=a", "--job", "b"],
        ["--grace=-5"],
        ["--job=--period", "--period", "p"],
    ],
)
def test_plain_options_together_mean_what_argparse_says(arguments: list[str]) -> None:
    """The last one of a name counts."""
    assert plain_options(arguments) == parse_in_full(arguments, COMMAND)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["-h"],
        ["--job"],
        ["--job", "--period", "p"],
        ["--job", "-5"],
        ["--job", "-"],
        ["--on_lost", "HOLD"],
        ["--jo", "a"],
        ["job", "a"],
        ["--job", "a", "touch"],
        ["--unknown=1"],
        ["=", "a"],
        [""],
    ],
)
def test_all_else_is_left_to_argparse(arguments: list[str]) -> None:
    """It knows what is help, what is wrong, and what a minus before a digit means."""
    assert plain_options(arguments) is None


def test_help_names_each_option_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """The line of an option begins with it."""
    with pytest.raises(SystemExit):
        parse_in_full(["--help"], [])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("  --")]
    assert [first for first, *_ in lines] == [*OPTIONS, exec_command.QUIET]
