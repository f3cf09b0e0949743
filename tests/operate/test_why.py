"""The first sentence of an explanation is the cause, and its last step the command to type."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cronce.ecs import JobDefinition, definition_of
from cronce.operate.advice import Commands
from cronce.operate.diagnosis import Explanation
from cronce.operate.facts import GROUP_GONE, Facts, NotKnown, RevisionFact, ServiceFact, TaskFact
from cronce.operate.look_up import RowKind
from cronce.operate.why import explain
from cronce.protocol.records import Pause, RunRecord, UnreadableRow
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import OnLost, Policy
from cronce.vocabulary.states import Reason, Status
from tests.support.builders import JOB, LEASE_IS_OVER_AT, T0, TICK, run
from tests.support.cloud import schedule

PERIOD = period_of(T0)
NOW = T0 + timedelta(hours=3)
MINUTE = timedelta(minutes=1)
TASK = "arn:aws:ecs:eu-west-1:111122223333:task/jobs/0123456789abcdef0123456789abcdef"
REVISION = RevisionFact(
    arn="arn:aws:ecs:eu-west-1:111122223333:task-definition/digest:1",
    status="ACTIVE",
    image="digest:1",
    log_group="/shop/digest",
    log_stream="run/digest",
)


def job(**changes: Any) -> JobDefinition:  # noqa: ANN401
    """The job as its schedule defines it; due at 06:00 UTC."""
    policy = changes.pop("policy", None)
    definition = definition_of(schedule(JOB, policy=policy, **changes))
    assert definition is not None
    return definition


def facts(row: object = None, **changes: Any) -> Facts:  # noqa: ANN401
    """What is known three hours after a tick at T0, with a healthy watchdog."""
    values: dict[str, Any] = {
        "job": JOB,
        "period": PERIOD,
        "asked": True,
        "now": NOW,
        "ledger": "the table runs",
        "row": row,
        "definition": job(),
        "tick": T0,
        "is_tick": True,
        "next_tick": T0 + timedelta(days=1),
        "revision": REVISION,
        "looked_at": NOW - MINUTE,
    }
    return Facts(**values | changes)


def ended(status: Status, reason: str, **changes: Any) -> RunRecord:  # noqa: ANN401
    """A run of the period that ended so."""
    return run(period=PERIOD, status=status, reason=reason, owner=TASK, **changes)


def task(**changes: Any) -> TaskFact:  # noqa: ANN401
    """A task of the run that has stopped."""
    values: dict[str, Any] = {"arn": TASK, "status": "STOPPED", "created_at": T0, "stopped_at": T0 + MINUTE}
    return TaskFact(**values | changes)


def explained(of: Facts) -> Explanation:
    """The explanation, with the commands of a ledger that has schedules."""
    return explain(of, Commands(of.job, of.period or "", has_schedules=isinstance(of.definition, JobDefinition)))


FAILED, MISSED, SKIPPED = Status.FAILED, Status.MISSED, Status.SKIPPED
LATER = T0 + timedelta(days=1)

ROWS = {
    "image-missing": (
        ended(FAILED, "launch_failed", attempt=0, error="TaskFailedToStart: CannotPullContainerError: not found"),
        "Its image cannot be pulled.",
    ),
    "image-missing as a runtime says it": (
        ended(FAILED, "launch_failed", attempt=0, error="ResourceInitializationError: unable to pull image: gone"),
        "Its image cannot be pulled.",
    ),
    "permission-lost": (
        ended(
            MISSED,
            "launch_failed: AccessDeniedException",
            attempt=0,
            error="User: x is not authorized to perform: ecs:RunTask on resource: y",
        ),
        "The permission ecs:RunTask is missing, so EventBridge Scheduler could not start its task.",
    ),
    "revision-gone": (
        ended(MISSED, "launch_failed: ClientException", attempt=0, error="TaskDefinition is inactive"),
        "The revision of the task definition that its schedule starts does not exist any more.",
    ),
    "no-capacity": (
        ended(MISSED, "launch_failed: ECS.Failures", attempt=0, error="[{'reason': 'RESOURCE:MEMORY'}]"),
        "ECS had no capacity for its task (RESOURCE:MEMORY).",
    ),
    "launch-failed": (
        ended(MISSED, "launch_failed: Teapot", attempt=0, error="short and stout"),
        "Its task could not be started: Teapot: short and stout.",
    ),
    "out-of-memory": (
        ended(FAILED, Reason.TASK_STOPPED, exit_code=137, error="OutOfMemoryError: Container killed"),
        "Its container was killed because it used more memory than its task definition allows.",
    ),
    "killed": (ended(FAILED, Reason.TASK_STOPPED, exit_code=137), "It was killed (SIGKILL, exit code 137)."),
    "spot-interruption": (
        ended(FAILED, Reason.INTERRUPTED, error="SpotInterruption: Your Spot Task was interrupted."),
        "AWS took back the Spot capacity under its task.",
    ),
    "interrupted": (
        ended(FAILED, Reason.INTERRUPTED, exit_code=143),
        "Its task was stopped from outside while it worked.",
    ),
    "overlap": (
        ended(SKIPPED, Reason.OVERLAP, blocked_by="2026-11-28T06:00:00Z"),
        "It was skipped because another run of the job (2026-11-28T06:00:00Z) was active when it was due.",
    ),
    "paused": (
        ended(SKIPPED, Reason.PAUSED, actor="ann", note="month end"),
        "It was skipped because ann had paused the job: month end.",
    ),
    "suspended": (ended(SKIPPED, Reason.SUSPENDED), "It was skipped because the job's policy has suspend=true."),
    "deadline-expired": (
        ended(MISSED, Reason.TOO_LATE, attempt=0),
        "It was not started because it came after its starting deadline.",
    ),
    "deadline-passed": (
        ended(FAILED, Reason.ACTIVE_DEADLINE, exit_code=124),
        "It ran longer than its active deadline and was stopped.",
    ),
    "command-broken": (
        ended(FAILED, Reason.EXIT_CODE, exit_code=127),
        "Its command does not exist in the image (exit code 127).",
    ),
    "command-failed": (ended(FAILED, Reason.EXIT_CODE, exit_code=3), "Its command failed with exit code 3."),
    "ledger-unreachable": (
        ended(FAILED, Reason.LAUNCH_FAILED, attempt=0, exit_code=69),
        "Its task could not use the ledger (exit code 69), so the work did not start.",
    ),
    "work-failed": (ended(FAILED, Reason.ERROR, error="no mail server"), "Its work failed: no mail server."),
    "owner-lost": (
        ended(FAILED, Reason.LEASE_LOST),
        "Its owner ended without a report: it sent no heartbeats any more, and its lease expired.",
    ),
    "unguarded": (
        ended(FAILED, Reason.UNCLAIMED, attempt=0, exit_code=0),
        "Its image has no guard: a task ran to its end and never claimed the run.",
    ),
    "never-delivered": (
        ended(MISSED, Reason.NEVER_DELIVERED, attempt=0),
        "No task claimed it: EventBridge Scheduler delivered no task that asked the ledger.",
    ),
    "released": (ended(FAILED, Reason.RELEASED, actor="ann"), "It was released by ann."),
    "replaced": (ended(FAILED, Reason.REPLACED), "It was stopped because a newer run of the job replaced it."),
    "clock-skew": (
        ended(FAILED, Reason.CLOCK_SKEW),
        "It was given back because its host's clock differs from the store's.",
    ),
    "slot-unusable": (
        ended(FAILED, Reason.SLOT_UNUSABLE),
        "It was given back because the job's slot could not be read or written.",
    ),
    "succeeded": (run(period=PERIOD, status=Status.SUCCEEDED), "It ran and succeeded 3h ago, with attempt 1."),
}


@pytest.mark.parametrize(("code", "row", "sentence"), [(code, *case) for code, case in ROWS.items()], ids=[*ROWS])
def test_the_row_of_a_run_gives_its_cause(code: str, row: RunRecord, sentence: str) -> None:
    """Also without ECS."""
    cause = explained(facts(row)).cause
    assert (cause.code, cause.sentence) == (code.partition(" ")[0], sentence)


@pytest.mark.parametrize("code", sorted({*ROWS} - {"succeeded", "unguarded"}))
def test_a_run_that_did_not_succeed_has_the_command_that_starts_it_as_its_last_step(code: str) -> None:
    """With a schedule group, that is a rerun."""
    steps = explained(facts(ROWS[code][0])).cause.steps
    assert steps[-1].command == f"cronce rerun {JOB} {PERIOD}"


def test_no_command_repeats_the_work_of_an_image_without_a_guard() -> None:
    """Its work may be done, so a rerun is not among the steps."""
    commands = [step.command or "" for step in explained(facts(ROWS["unguarded"][0])).cause.steps]
    assert not [command for command in commands if "rerun" in command]


def test_what_ecs_says_of_the_task_is_more_than_the_exit_code_in_the_row() -> None:
    """A shell whose child was killed reports 137; ECS knows that the memory was used up."""
    row = ended(FAILED, Reason.EXIT_CODE, exit_code=137)
    of = facts(row, tasks=(task(exit_code=137, container_reason="OutOfMemoryError: Container killed"),))
    assert explained(of).cause.code == "out-of-memory"


PAUSE = Pause(at=T0 - timedelta(days=1), by="ann", why="month end")

WITHOUT_ROW = {
    "paused": facts(pause=PAUSE),
    "schedule-disabled": facts(definition=job(State="DISABLED")),
    "schedule-ended": facts(asked=False, definition=job(EndDate=T0 - MINUTE), next_tick=None),
    "schedule-gone": facts(definition=None),
    "unknown-job": facts(definition=None, period=None, tick=None),
    "not-due": facts(period=period_of(LATER), tick=LATER),
    "group-gone": facts(definition=None, not_known=(NotKnown(GROUP_GONE, "runs"),)),
    "period-fixed": facts(revision=replace(REVISION, variables={"CRONCE_PERIOD": "2026-11-28"})),
    "other-ledger": facts(url="dynamodb://old-runs?region=eu-west-1"),
    "no-tick": facts(period="2026-11-29T06:30:00Z", tick=T0 + 30 * MINUTE, is_tick=False),
    "on-its-way": facts(now=T0 + MINUTE, looked_at=T0),
    "never-delivered": facts(),
    "before-creation": facts(definition=job(CreationDate=T0 + MINUTE, LastModificationDate=T0 + MINUTE)),
    "revision-gone": facts(revision=replace(REVISION, status="INACTIVE")),
    "image-missing": facts(tasks=(task(container_reason="CannotPullContainerError: no such image"),)),
    "unguarded": facts(tasks=(task(exit_code=0, stop_code="EssentialContainerExited"),)),
    "task-starting": facts(now=T0 + MINUTE, tasks=(task(status="PENDING", stopped_at=None),)),
    "no-row": facts(definition=NotKnown("the schedule is not known", "AccessDeniedException for GetSchedule")),
    "table-missing": facts(NotKnown("the ledger", "the table does not exist")),
    "ledger-unavailable": facts(NotKnown("the ledger", "no answer")),
    "row-unreadable": facts(UnreadableRow(job=JOB, key="run#x", problem="schema 9")),
}


def test_before_the_next_tick_a_revision_that_is_gone_is_the_cause() -> None:
    """And not that the tick is not due yet."""
    of = facts(period=None, tick=None, asked=False, revision=replace(REVISION, status="INACTIVE"))
    assert explained(of).cause.sentence == (
        "The revision that its schedule starts is INACTIVE: its next tick cannot start."
    )


@pytest.mark.parametrize("reason", [Reason.UNCLAIMED, Reason.NEVER_DELIVERED])
def test_a_fixed_period_is_the_cause_of_ticks_that_nobody_claims(reason: Reason) -> None:
    """Each task claims that period, hears that it is done, and ends with 0."""
    row = ended(FAILED if reason is Reason.UNCLAIMED else MISSED, reason, attempt=0)
    cause = explained(facts(row, revision=replace(REVISION, variables={"CRONCE_PERIOD": "2026-11-28"}))).cause
    assert cause.sentence == (
        "Its task definition sets CRONCE_PERIOD, so every task claims 2026-11-28 instead of its tick's period."
    )


def test_another_ledger_has_the_command_that_looks_there() -> None:
    """The same ledger may be spelled with other options."""
    cause = explained(facts(url="dynamodb://old-runs?region=eu-west-1")).cause
    assert cause.steps[0].command == f"cronce why '--ledger=dynamodb://runs?region=eu-west-1' -- {JOB}"
    assert explained(facts(url="dynamodb://runs")).cause.code == "never-delivered"


@pytest.mark.parametrize(
    ("created", "told"),
    [(T0 - 2 * MINUTE, "is starting"), (T0 - 2 * MINUTE - TICK, "waits for capacity or a network interface")],
)
def test_a_task_that_is_not_placed_waits_for_capacity(created: datetime, told: str) -> None:
    """After two minutes; a capacity provider may still add an instance."""
    waiting = task(status="PROVISIONING", created_at=created, stopped_at=None)
    assert told in explained(facts(now=T0, tick=created, tasks=(waiting,))).cause.sentence


def test_an_hour_that_the_clocks_skip_is_named() -> None:
    """02:30 does not exist in New York on 8 March 2026."""
    gap = datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    daily = job(ScheduleExpression="cron(30 2 * * ? *)", ScheduleExpressionTimezone="America/New_York")
    cause = explained(facts(period=period_of(gap), tick=gap, is_tick=False, definition=daily)).cause
    assert "02:30 does not exist on 2026-03-08" in cause.more


def test_the_last_line_of_the_log_says_why_the_ledger_could_not_be_used() -> None:
    """Exit code 69 alone names no permission, no table and no key."""
    row = ended(FAILED, Reason.LAUNCH_FAILED, attempt=0, exit_code=69)
    logged = "the table runs: AccessDeniedException: User: x is not authorized to perform: dynamodb:PutItem on y"
    assert explained(facts(row, logged=logged)).cause.sentence == (
        "Its task could not use the ledger (exit code 69), so the work did not start: the permission"
        " dynamodb:PutItem is missing."
    )


def test_the_log_of_a_command_that_failed_is_in_its_sentence() -> None:
    """A loader's complaint about the architecture is the cause, whatever the exit code is."""
    row = ended(FAILED, Reason.LAUNCH_FAILED, attempt=0, exit_code=1)
    assert explained(facts(row, logged="exec /usr/bin/cronce: exec format error")).cause.code == "wrong-architecture"
    failed = ended(FAILED, Reason.EXIT_CODE, exit_code=1)
    assert explained(facts(failed, logged="ImportError: no mail")).cause.sentence == (
        "Its command failed with exit code 1: ImportError: no mail."
    )


@pytest.mark.parametrize("code", WITHOUT_ROW)
def test_a_period_without_a_row_has_a_cause(code: str) -> None:
    """The schedule, the tasks that ECS lists and the revision are asked in turn."""
    assert explained(WITHOUT_ROW[code]).cause.code == code


def test_a_tick_is_on_its_way_until_the_watchdog_would_call_it_missed() -> None:
    """Five minutes after the end of its window."""
    at = T0 + 5 * MINUTE
    assert explained(facts(now=at - TICK)).cause.code == "on-its-way"
    assert explained(facts(now=at)).cause.code == "never-delivered"
    window = {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 10}
    assert explained(facts(now=at, definition=job(FlexibleTimeWindow=window))).cause.code == "on-its-way"


def test_a_disabled_schedule_is_the_cause_only_of_ticks_after_it_was_disabled() -> None:
    """An earlier tick has its own cause."""
    disabled = {"State": "DISABLED", "LastModificationDate": T0 + MINUTE}
    assert explained(facts(definition=job(**disabled))).cause.code == "never-delivered"
    assert explained(facts(definition=job(**disabled | {"LastModificationDate": T0 - MINUTE}))).cause.code == (
        "schedule-disabled"
    )


def test_a_job_that_a_clock_starts_has_a_disabled_schedule() -> None:
    """The clock is the cause, if it has started the job since then."""
    before = run(period="2026-11-28T06:00:00Z", status=Status.SUCCEEDED, claimed_at=T0 - timedelta(days=1))
    of = facts(definition=job(State="DISABLED"), history=(before,))
    assert explained(of).cause.code == "clock-silent"


def test_without_a_period_a_disabled_schedule_is_the_cause_although_the_last_run_succeeded() -> None:
    """The person asks why it does not run."""
    row = run(period=PERIOD, status=Status.SUCCEEDED)
    disabled = job(State="DISABLED", LastModificationDate=NOW - MINUTE)
    assert explained(facts(row, asked=False, definition=disabled)).cause.code == "schedule-disabled"
    assert explained(facts(row, definition=disabled)).cause.code == "succeeded"


def test_a_pause_is_the_cause_of_what_did_not_start_and_is_named_beside_a_run_that_did() -> None:
    """A run that succeeded before is explained by itself, if it was asked for."""
    row = run(period=PERIOD, status=Status.SUCCEEDED)
    asked = explained(facts(row, pause=PAUSE))
    assert (asked.cause.code, [each.code for each in asked.also]) == ("succeeded", ["paused"])
    cause = explained(facts(row, pause=PAUSE, asked=False)).cause
    assert (cause.sentence, cause.steps[0].command) == (
        "The job is paused by ann 27h ago: month end.",
        f"cronce resume {JOB}",
    )


def test_a_running_run_may_hang_after_five_times_the_usual_length() -> None:
    """And then the command stops its task."""
    usual = [
        run(status=Status.SUCCEEDED, period=f"2026-11-2{day}T06:00:00Z", finished_at=T0 + 4 * MINUTE) for day in (7, 8)
    ]
    row = run(period=PERIOD, owner=TASK, claimed_at=T0, lease_until=NOW + MINUTE)
    at = T0 + 20 * MINUTE
    assert explained(facts(row, history=(row, *usual), now=at)).cause.code == "running"
    cause = explained(facts(row, history=(row, *usual), now=at + TICK)).cause
    assert cause.sentence == "It may hang: it has run for 20m, and its last successes took 4m."
    assert cause.steps[0].command == f"aws ecs stop-task --cluster jobs --task {TASK}"


def test_an_overlap_names_the_run_that_blocked_it_and_how_that_is_now() -> None:
    """It still runs, or it has ended since."""
    row = ROWS["overlap"][0]
    blocker = run(period="2026-11-28T06:00:00Z", owner=TASK, lease_until=NOW + MINUTE)
    assert "still active for 3h, by task 0123456789ab" in explained(facts(row, blocker=blocker)).cause.more
    over = run(period="2026-11-28T06:00:00Z", status=Status.SUCCEEDED)
    assert "has ended since: SUCCEEDED" in explained(facts(row, blocker=over)).cause.more


@pytest.mark.parametrize(("on_lost", "told"), [(OnLost.HOLD, "no machine takes it over"), (OnLost.RETRY, "nobody has")])
def test_a_run_whose_lease_expired_is_stuck(on_lost: OnLost, told: str) -> None:
    """Until just then it runs."""
    row = run(period=PERIOD)
    definition = job(policy=Policy(on_lost=on_lost))
    assert explained(facts(row, now=LEASE_IS_OVER_AT, definition=definition)).cause.code == "running"
    cause = explained(facts(row, now=LEASE_IS_OVER_AT + TICK, definition=definition)).cause
    assert cause.code == "lease-expired"
    assert told in cause.sentence


def test_a_clock_whose_service_is_at_zero_is_stopped() -> None:
    """The command starts it."""
    row = ended(FAILED, Reason.INTERRUPTED)
    service = ServiceFact(name="clock-1", cluster="jobs", status="ACTIVE")
    of = facts(row, job="clock", period="leader", kind=RowKind.LEADER, service=service, definition=None)
    cause = explained(of).cause
    assert (cause.code, cause.sentence) == (
        "clock-stopped",
        "The clock is stopped: its service clock-1 has a desired count of 0, so nothing sends its ticks.",
    )
    assert cause.steps[0].command == "aws ecs update-service --cluster jobs --service clock-1 --desired-count 1"
    assert explained(replace(of, service=replace(service, desired=1))).cause.code == "no-leader"


@pytest.mark.parametrize(
    ("looked_at", "silent"), [(NOW - 10 * MINUTE, False), (NOW - 10 * MINUTE - TICK, True), (None, True)]
)
def test_a_silent_watchdog_is_told_beside_the_cause(looked_at: datetime | None, silent: bool) -> None:  # noqa: FBT001
    """It looks every minute; after ten it is silent."""
    row = run(period=PERIOD, status=Status.SUCCEEDED)
    also = [each.code for each in explained(facts(row, looked_at=looked_at)).also]
    assert also == (["watchdog-silent"] if silent else [])


def test_the_evidence_has_times_arns_and_the_log() -> None:
    """So that nobody has to search for them."""
    row = ended(FAILED, Reason.EXIT_CODE, exit_code=3)
    of = facts(row, tasks=(task(exit_code=3),))
    evidence = {each.what: each.value for each in explained(of).cause.evidence}
    assert evidence["due"].endswith("(3h ago)")
    assert TASK in evidence["attempt"]
    assert evidence["log"] == (
        "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group/"
        f"$252Fshop$252Fdigest/log-events/run$252Fdigest$252F{TASK.rpartition('/')[2]}"
    )
    assert evidence["revision"] == f"{REVISION.arn}, ACTIVE, image digest:1"


def test_the_log_of_an_attempt_that_failed_is_the_first_step() -> None:
    """Where it is known that it has one."""
    row = ended(FAILED, Reason.EXIT_CODE, exit_code=3)
    assert explained(facts(row)).cause.steps[0].command == f"cronce logs {JOB} {PERIOD}"
    without = replace(REVISION, log_group="")
    assert explained(facts(row, revision=without)).cause.steps[0].command == f"cronce rerun {JOB} {PERIOD}"


def test_what_could_not_be_found_out_is_listed() -> None:
    """In the words of the service."""
    unknown = NotKnown("the task is not known", "AccessDeniedException for DescribeTasks")
    explanation = explained(facts(run(period=PERIOD, status=Status.SUCCEEDED), not_known=(unknown,)))
    assert [*map(str, explanation.not_known)] == ["the task is not known: AccessDeniedException for DescribeTasks"]
