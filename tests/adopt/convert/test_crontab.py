"""Lines of crontabs: what is a schedule, what a command, and what is refused."""

from __future__ import annotations

import pytest

from cronce.adopt.convert.fitting import ImportTarget
from cronce.adopt.convert.model import FieldVerdict, Job
from cronce.vocabulary.errors import InputInvalidError
from tests.adopt.convert.files import of_text


def only(kind: str, text: str, target: ImportTarget = ImportTarget.CDK, *, timezone: str | None = None) -> Job:
    """The one job of the text."""
    [job] = of_text(kind, text, target, timezone=timezone).jobs
    return job


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 6 * * * /bin/a --b c", ("/bin/a", "--b", "c")),
        ("0 6 * * *\t/bin/a   b", ("/bin/a", "b")),
        ("0 6 * * * a 'b c'", ("/bin/sh", "-c", "a 'b c'")),
        ("0 6 * * * a | b", ("/bin/sh", "-c", "a | b")),
        ("0 6 * * * A=1 b", ("/bin/sh", "-c", "A=1 b")),
        ("0 6 * * * a $HOME", ("/bin/sh", "-c", "a $HOME")),
        ("0 6 * * * a ~/b", ("/bin/sh", "-c", "a ~/b")),
        ("SHELL=/bin/bash\n0 6 * * * a;b", ("/bin/bash", "-c", "a;b")),
        (r"0 6 * * * date +\%F", ("date", "+%F")),
        ("@daily a", ("a",)),
        ("0 6 * * * a # b", ("/bin/sh", "-c", "a # b")),
    ],
)
def test_a_command_has_a_shell_only_if_it_needs_one(line: str, words: tuple[str, ...]) -> None:
    """A shell as the first process would keep signals from the work."""
    assert only("crontab", line).work.command == words


def test_variables_hold_for_the_lines_below_them() -> None:
    """With or without quotes and spaces."""
    jobs = of_text("crontab", "0 1 * * * a\nX = 'y z'\n0 2 * * * b\nX=2\n0 3 * * * c").jobs
    assert [job.environment for job in jobs] == [{}, {"X": "y z"}, {"X": "2"}]


def test_the_zone_is_stated_unless_the_file_says_it() -> None:
    """UTC, or what the person says; never the zone of this machine."""
    job = only("crontab", "0 6 * * * a")
    [told] = [each for each in job.decisions if each.field == "time zone"]
    assert (job.when.timezone, told.verdict) == ("UTC", FieldVerdict.STATED)
    assert only("crontab", "0 6 * * * a", timezone="Asia/Tokyo").when.timezone == "Asia/Tokyo"
    assert only("crontab", "CRON_TZ=Europe/Oslo\n0 6 * * * a", timezone="Asia/Tokyo").when.timezone == "Europe/Oslo"
    assert only("crontab", "TZ=Europe/Oslo\n0 6 * * * a").environment == {"TZ": "Europe/Oslo"}


def test_an_hour_without_a_minute_is_sixty_times_and_is_named() -> None:
    """The constructs would refuse it."""
    job = only("crontab", "* 7 * * * a")
    assert job.when.text == "*/1 7 * * *"
    assert [each.verdict for each in job.decisions if each.field == "schedule"] == [FieldVerdict.CHANGED]


@pytest.mark.parametrize(
    ("kind", "text", "where", "said"),
    [
        ("crontab", "0 6 * *", "given:1", "five fields"),
        ("crontab", "\n\n0 6 * * *", "given:3", "five fields"),
        ("crontab", "61 6 * * * a", "given:1: schedule (minutes)", "0-59"),
        ("crontab", "0 6 */2 * 5 a", "given:1: schedule (day-of-week)", "both must match"),
        ("crontab", "0 0 30 2 * a", "given:1: schedule", ""),
        ("crontab", "@reboot a", "given:1: schedule", "a schedule; @reboot is no time"),
        ("crontab", "@every 5m a", "given:1", ""),
        ("crontab", "0 6 * * * root a", "given:1", "system-crontab"),
        ("crontab", "CRON_TZ=Mars/Olympus\n0 6 * * * a", "given:2: schedule (timezone)", "IANA"),
        ("system-crontab", "0 6 * * * root", "given:1", "a user and a command"),
        ("supercronic", "*/30 * * * * * a", "given:1: schedule", "seconds"),
        ("crontab", "hello world, this is text", "given:1", "five fields"),
        ("crontab", "# nothing\n", "given", "at least one job"),
        ("crontab", "0 6 * * * a\0b", "given:1", "NUL"),
    ],
)
def test_what_is_no_crontab_is_refused_with_its_line(kind: str, text: str, where: str, said: str) -> None:
    """One error: file, line, field, and what is allowed."""
    with pytest.raises(InputInvalidError) as refused:
        of_text(kind, text)
    assert refused.value.what.startswith(where)
    assert said in refused.value.allowed


def test_seconds_are_for_a_clock() -> None:
    """EventBridge has none."""
    with pytest.raises(InputInvalidError, match="use --to clock"):
        only("supercronic", "@every 30s a")
    job = only("supercronic", "@every 30s a", ImportTarget.CLOCK)
    assert job.when.every is not None


def test_a_job_can_be_left_out_by_its_line() -> None:
    """The error says how; the others are written."""
    text = "0 6 * * * a\n@reboot b\n"
    with pytest.raises(InputInvalidError, match="--skip given:2"):
        of_text("crontab", text)
    from cronce.adopt.convert.conversion import convert  # noqa: PLC0415
    from cronce.adopt.convert.model import Source  # noqa: PLC0415

    given = [Source(file="given", text=text)]
    assert [job.name for job in convert("crontab", given, ImportTarget.CDK, skip=["given:2"]).jobs] == ["a"]
    with pytest.raises(InputInvalidError, match="--skip: 'given:3'"):
        convert("crontab", given, ImportTarget.CDK, skip=["given:2", "given:3"])


def test_two_day_fields_of_which_either_is_enough_are_two_expressions() -> None:
    """As crontab(5) says; in Terraform they are two variables."""
    job = only("crontab", "0 6 13 * 5 a\n")
    assert job.when.text == "0 6 13 * 5"
    code = of_text("crontab", "0 6 13 * 5 a\n", ImportTarget.TERRAFORM).code
    assert 'schedule = "cron(0 6 13 * ? *)"' in " ".join(code.split())
    assert 'further_schedules = ["cron(0 6 ? * FRI *)"]' in " ".join(code.split())


def test_lines_that_run_one_command_are_one_job_with_several_expressions() -> None:
    """With the decisions of each, and what differs: cron starts two where two lines have one minute."""
    text = "# weekdays\n0 6 * * 1-5 bin/digest\n# sundays\n0 9 * * 0 bin/digest\n0 7 * * * bin/report\n"
    digest, report = of_text("crontab", text).jobs
    assert (digest.name, digest.when.text, digest.description) == (
        "digest",
        "0 6 * * 1-5; 0 9 * * 0",
        "weekdays; sundays",
    )
    assert (report.name, report.when.text) == ("report", "0 7 * * *")
    [merged] = [each for each in digest.decisions if "would start it twice" in each.why]
    assert (merged.verdict, merged.given, merged.place.line) == (FieldVerdict.CHANGED, "0 9 * * 0", 4)
    code = of_text("crontab", text, ImportTarget.CLOCK).code
    assert 'schedule = ["0 6 * * 1-5", "0 9 * * 0"]' in code
    assert 'schedule=["0 6 * * 1-5", "0 9 * * 0"]' in of_text("crontab", text).code


@pytest.mark.parametrize(
    "text",
    [
        "0 6 * * * bin/digest --all\n0 9 * * 0 bin/digest\n",
        "0 6 * * * bin/digest\nCRON_TZ=Europe/Berlin\n0 9 * * 0 bin/digest\n",
        "0 6 * * * bin/digest\nSTAGE=test\n0 9 * * 0 bin/digest\n",
        "0 6 * * * bin/digest\n0 6 * * * bin/digest\n",
    ],
)
def test_lines_that_differ_in_more_than_their_time_stay_apart(text: str) -> None:
    """Lines that differ in argument, zone or variable; and a repeated line, which starts its command twice."""
    assert [job.name for job in of_text("crontab", text).jobs] == ["digest", "digest-2"]


def test_more_lines_than_a_list_may_have_are_a_second_job() -> None:
    """Ten, and two."""
    text = "".join(f"{minute} 6 * * * bin/digest\n" for minute in range(12))
    assert [len(job.when.text.split(";")) for job in of_text("crontab", text).jobs] == [10, 2]
