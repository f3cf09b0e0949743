"""Why a run happened, did not happen, or does not happen yet: facts -> diagnoses. Pure.

The first diagnosis is the cause, in one sentence. The others say what else is wrong and matters to the job.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import assert_never

from cronce.ecs import JobDefinition
from cronce.operate.advice import Advice, Commands, Step, advise
from cronce.operate.aws_causes import Cause, aws_cause
from cronce.operate.diagnosis import Diagnosis, Evidence, Explanation, evidence_of, schedule_in_words
from cronce.operate.ends import cause_of_end, continued
from cronce.operate.facts import GROUP_GONE, Facts, NotKnown, TaskFact, is_task
from cronce.operate.faulty_schedules import faulty_schedules, tick_without_schedule
from cronce.operate.look_up import WATCHDOG_SILENT, About, RowKind
from cronce.operate.remedies import command_for, look_at_cluster, set_desired_count
from cronce.operate.row_causes import NO_CLAIM, cause_of_row, diagnosis_of
from cronce.operate.task_variables import wrong_variable
from cronce.operate.wording import age, length, one_line, pause_in_words, short_owner, visible
from cronce.protocol.records import Liveness, Pause, RunRecord, UnreadableRow
from cronce.vocabulary.ledger_urls import is_in_dynamodb
from cronce.vocabulary.names import period_of
from cronce.vocabulary.policy import OnLost
from cronce.vocabulary.states import Reason, Status, Trigger

ON_ITS_WAY = timedelta(minutes=5)
"""How long after the end of its window a tick counts as on its way: the default of `missed_after`."""

_SLOW_START = timedelta(minutes=2)
"""Longer than Fargate usually takes from PROVISIONING to PENDING."""

_HANGS = 5
"""A run that has taken this many times as long as the job's successes usually do may hang."""


def explain(facts: Facts, commands: Commands) -> Explanation:
    """The explanation of the facts.

    Args:
        facts: What was found out.
        commands: The command lines to suggest about the run.
    """
    cause = _cause(facts, commands)
    if (step := command_for(cause.code, facts, commands)) and step.command not in {s.command for s in cause.steps}:
        first = 1 if cause.steps and cause.steps[0].command is None else 0
        cause = replace(cause, steps=(*cause.steps[:first], step, *cause.steps[first:]))
    cause = replace(cause, evidence=cause.evidence or tuple(evidence_of(facts)))
    also = tuple(each for each in _standing(facts, commands) if each.code != cause.code)
    return Explanation(cause=cause, also=also, not_known=facts.not_known)


def _cause(facts: Facts, commands: Commands) -> Diagnosis:
    row = facts.row
    if isinstance(row, NotKnown):
        return _ledger_away(row, commands)
    if isinstance(row, UnreadableRow):
        sentence = f"Its row cannot be read, so nothing acts on it: {one_line(row.problem)}."
        return Diagnosis(
            code="row-unreadable", sentence=sentence, steps=(Step("Use the newest cronce, or look at the row."),)
        )
    match facts.kind:
        case RowKind.LEADER:
            return _of_clock(row, facts, commands)
        case RowKind.WATCHDOG | RowKind.DISPATCH:
            if row is None:
                return Diagnosis(code="no-row", sentence="It has no row.")
            advice = advise(row, facts.now, commands, _about(facts))
            return Diagnosis(code=facts.kind.value, sentence=advice.meaning, steps=advice.steps)
        case RowKind.RUN:
            if not facts.asked and (off := _switched_off(facts, commands)) is not None:
                return off
            return _of_nothing(facts, commands) if row is None else _of_row(row, facts, commands)
        case _:
            assert_never(facts.kind)


def _ledger_away(row: NotKnown, commands: Commands) -> Diagnosis:
    if "does not exist" in row.why or "ResourceNotFound" in row.why:
        steps = (
            Step("Restore it from its backup first; an empty table would repeat work that is done. Its backups:"),
            Step("DynamoDB keeps one for 35 days:", "aws dynamodb list-backups --backup-type ALL"),
        )
        sentence = "The ledger's table does not exist, so no task can claim a run and no work starts."
        return Diagnosis(code="table-missing", sentence=sentence, evidence=(Evidence("ledger", row.why),), steps=steps)
    found, evidence = aws_cause(row.why), (Evidence("ledger", row.why),)
    if found is not None and found.code == "key-unusable":
        sentence = "The encryption key (KMS) of the ledger's table cannot be used, so no task can claim a run."
        more = "It is disabled, deleted, or not allowed to the role that asks."
        enable = Step("Enable the key, or give the role back its permission on it.")
        return Diagnosis(code=found.code, sentence=sentence, more=more, evidence=evidence, steps=(enable,))
    why = f": {continued(found.sentence)}" if found else ""
    sentence = f"The ledger cannot be read from here, so it is unknown what happened{why}."
    check = Step("To check the ledger, and whether tasks can use it:", commands.doctor())
    return Diagnosis(code="ledger-unavailable", sentence=sentence, evidence=evidence, steps=(check,))


def _of_row(run: RunRecord, facts: Facts, commands: Commands) -> Diagnosis:
    advice = advise(run, facts.now, commands, _about(facts))
    task = _task_of(run, facts)
    match run.status:
        case Status.SUCCEEDED:
            done = f" {age(run.finished_at, now=facts.now)}" if run.finished_at else ""
            forced = advice.steps if facts.asked else ()
            return Diagnosis(
                code="succeeded", sentence=f"It ran and succeeded{done}, with attempt {run.attempt}.", steps=forced
            )
        case Status.RUNNING:
            return _of_running(run, task, facts, advice)
        case Status.FAILED | Status.SKIPPED | Status.MISSED:
            found = cause_of_row(run, task, facts.logged)
            if (found is None or found.code == "unguarded") and (elsewhere := _wrong_variable(facts)) is not None:
                return elsewhere
            if found is None:
                found = _of_no_start(facts, commands) or _undelivered(facts, commands)
                # The row's own advice warns of work that may be done.
                return replace(
                    found,
                    more=" ".join(filter(None, (found.more, advice.meaning))),
                    steps=(*found.steps, *advice.steps),
                )
            if found.code == "overlap":
                found = _of_overlap(found, facts)
            if found.code == "owner-lost":
                found = _of_lost_owner(found, run, facts, commands)
            if found.code == "unguarded" and run.reason == Reason.UNCLAIMED:
                return replace(found, steps=(*advice.steps, _GUARD))
            log = _log_of(run, facts, commands)
            return replace(found, more=found.more or advice.meaning, steps=(*log, *found.steps, *advice.steps))
        case _:
            assert_never(run.status)


def _of_lost_owner(found: Diagnosis, run: RunRecord, facts: Facts, commands: Commands) -> Diagnosis:
    """Of a task of ECS whose end the recorder should have reported before its lease expired."""
    if not is_task(run.owner) or not is_in_dynamodb(facts.url):
        return found
    sentence = "Its task sent no heartbeats until its lease expired, and the recorder reported no end of it."
    more = "Either its task works on without reaching the ledger, or the recorder gets no events."
    step = Step("To see whether the recorder and its rule work:", commands.doctor())
    return replace(found, sentence=sentence, more=more, steps=(step, *found.steps))


def _log_of(run: RunRecord, facts: Facts, commands: Commands) -> tuple[Step, ...]:
    """The step that reads the log of an attempt that began, where it is known that there is one."""
    if run.status is not Status.FAILED or facts.revision is None or facts.revision.log_of(run.owner) is None:
        return ()
    return (Step("To read its log:", commands.logs()),)


_GUARD = Step("So that the next tick is guarded, put 'cronce exec --' before the command in the task definition.")


def _of_running(run: RunRecord, task: TaskFact | None, facts: Facts, advice: Advice) -> Diagnosis:
    so_far = f" for {length(facts.now - run.claimed_at)}" if run.claimed_at else ""
    owner = short_owner(run.owner)
    match run.liveness(facts.now):
        case Liveness.NO_LEASE:
            sentence = "It is held: its row has no lease, because something other than cronce wrote it."
            return Diagnosis(code="no-lease", sentence=sentence, steps=advice.steps)
        case Liveness.EXPIRED:
            if (cause := _end_of(task, facts.logged)) is not None:
                return replace(diagnosis_of(cause), more=advice.meaning, steps=advice.steps)
            on_lost = _about(facts).policy
            held = on_lost is not None and on_lost.on_lost is OnLost.HOLD
            stuck = "no machine takes it over (on_lost=HOLD)" if held else "nobody has taken it over yet"
            sentence = f"It is stuck: its owner {owner} lost its lease, and {stuck}."
            return Diagnosis(code="lease-expired", sentence=sentence, more=advice.meaning, steps=advice.steps)
        case _:
            usual = _usual_length(facts)
            took = facts.now - run.claimed_at if run.claimed_at else timedelta(0)
            if usual is not None and took > max(usual * _HANGS, timedelta(minutes=1)):
                sentence = f"It may hang: it has run{so_far}, and its last successes took {length(usual)}."
                stop = Step(
                    "Look at its log. If it hangs, stop its task; with on_lost=RETRY it is started again:", _stop(run)
                )
                return Diagnosis(code="hanging", sentence=sentence, steps=(stop,))
            return Diagnosis(
                code="running", sentence=f"It has run{so_far}, as attempt {run.attempt} of {owner}.", steps=advice.steps
            )


def _end_of(task: TaskFact | None, logged: str) -> Cause | None:
    if task is None or task.stopped_at is None:
        return None
    return cause_of_end(task.exit_code, task.container_reason, task.cause, logged=logged)


def _stop(run: RunRecord) -> str | None:
    if not is_task(run.owner):
        return None
    return shlex.join(["aws", "ecs", "stop-task", "--cluster", run.owner.split("/")[1], "--task", run.owner])


def _usual_length(facts: Facts) -> timedelta | None:
    took = [
        (each.finished_at - each.claimed_at).total_seconds()
        for each in facts.history
        if each.status is Status.SUCCEEDED and each.finished_at and each.claimed_at
    ]
    return timedelta(seconds=median(took)) if len(took) >= 2 else None


def _of_overlap(found: Diagnosis, facts: Facts) -> Diagnosis:
    blocker = facts.blocker
    if blocker is None:
        return found
    owner = short_owner(blocker.owner)
    if blocker.liveness(facts.now) is Liveness.ENDED:
        return replace(found, more=f"That run has ended since: {blocker.status}.")
    so_far = f" for {length(facts.now - blocker.claimed_at)}" if blocker.claimed_at else ""
    usual = _usual_length(facts)
    hangs = ""
    if usual is not None and blocker.claimed_at and facts.now - blocker.claimed_at > usual * _HANGS:
        hangs = f" Its last successes took {length(usual)}: it may hang."
    return replace(found, more=f"That run is still active{so_far}, by {owner}.{hangs}")


def _of_nothing(facts: Facts, commands: Commands) -> Diagnosis:
    """Of a period without a row."""
    job = facts.definition
    if facts.period is None:
        if isinstance(job, JobDefinition):
            return _not_due(facts, commands)
        no_schedule = "" if facts.schedules_unknown else ", and no schedule starts it"
        return Diagnosis(
            code="unknown-job",
            sentence=f"The job is not known: {facts.ledger} has no run of it{no_schedule}.",
            steps=(*_similar(facts, commands), Step("The jobs that are known:", commands.jobs())),
        )
    if job is None and facts.schedules_unknown:
        sentence = "Nothing has asked the ledger for this period. Whether a schedule starts the job is not known here."
        return Diagnosis(code="no-row", sentence=sentence, steps=(Step("The runs of the job:", commands.runs()),))
    if job is None:
        sentence = "No schedule starts the job, and nobody has started this period by hand."
        if facts.history:
            sentence = (
                "The job has no schedule any more, so nothing starts it: its stack was removed, or it was renamed."
            )
        if gone := next((each.why for each in facts.not_known if each.what == GROUP_GONE), ""):
            sentence = f"The schedule group {visible(gone)} does not exist, so nothing starts its jobs."
            deploy = Step("Deploy the stack of the ledger, then those of its jobs; then:", commands.doctor())
            return Diagnosis(code="group-gone", sentence=sentence, steps=(deploy,))
        steps = (*_similar(facts, commands), Step("The jobs that have a schedule:", commands.jobs()))
        return Diagnosis(code="schedule-gone", sentence=sentence, steps=steps)
    if isinstance(job, NotKnown):
        return Diagnosis(code="no-row", sentence="No task has claimed it, and its schedule cannot be read from here.")
    if facts.is_tick is False:
        return Diagnosis(
            code="no-tick",
            sentence="The schedule has no tick of this period, so nothing starts it.",
            more=f"The schedule is {schedule_in_words(job)}.{_note_after(job, facts.tick)}",
            steps=(Step("Its next ticks:", commands.next()),),
        )
    if facts.tick is not None and facts.tick > facts.now:
        return _not_due(facts, commands)
    if found := _switched_off(facts, commands):
        return found
    if found := _wrong_variable(facts) or _of_no_start(facts, commands):
        return found
    if facts.tick is not None and facts.tick < job.created_at:
        sentence = "It was due before the schedule was created, so nothing started it."
        return Diagnosis(
            code="before-creation", sentence=sentence, steps=(Step("To run it now:", commands.run_again()),)
        )
    if facts.tick is not None and facts.now < facts.tick + job.flexible_window + ON_ITS_WAY:
        late = length(facts.now - facts.tick)
        sentence = f"It is on its way: it was due {late} ago, and no task has claimed it yet."
        return Diagnosis(code="on-its-way", sentence=sentence, steps=(Step("Wait, then ask again."),))
    found = _undelivered(facts, commands)
    return replace(found, steps=(*found.steps, _CHECK, Step("To run it now:", commands.run_again())))


def _similar(facts: Facts, commands: Commands) -> Iterator[Step]:
    """The jobs that may be meant: after a change of the name, or of a name that was mistyped."""
    for name in facts.similar[:2]:
        yield Step(f"If it is called {visible(name)} now:", commands.about(name).why())


def _note_after(job: JobDefinition, tick: datetime | None) -> str:
    """The schedule's note about a time without a tick, such as an hour that the clocks skip."""
    if tick is None or not job.ticks_are_known:
        return ""
    since = job.schedule.previous(tick) or tick
    note = next((each.note for each in job.schedule.preview(since + timedelta(seconds=1), 1)), "")
    return f" {note[:1].upper()}{note[1:]}." if note else ""


_CHECK = Step("If the job does not run under 'cronce exec', its work may be done: check that first.")


def _wrong_variable(facts: Facts) -> Diagnosis | None:
    job = facts.definition
    if not isinstance(job, JobDefinition):
        return None
    return wrong_variable(job, facts.revision.variables if facts.revision else {}, facts.url)


def _undelivered(facts: Facts, commands: Commands) -> Diagnosis:
    if (faulty := tick_without_schedule(facts)) is not None:
        return faulty
    looked = facts.looked_at
    more = "No task of it is listed by ECS, and no dead letter was recorded for it."
    if not isinstance(looked, NotKnown) and (looked is None or facts.now - looked > WATCHDOG_SILENT):
        more += " Nobody would have recorded one: the watchdog does not look."
    return Diagnosis(
        code="never-delivered",
        sentence=NO_CLAIM,
        more=more,
        steps=(Step("To look for what stopped it, check the stack:", commands.doctor()),),
    )


def _not_due(facts: Facts, commands: Commands) -> Diagnosis:
    job = facts.definition
    if off := _switched_off(facts, commands):
        return off
    if gone := _revision_gone(facts):
        return gone
    due = facts.tick if facts.tick is not None and facts.tick > facts.now else facts.next_tick
    when = f" at {period_of(due)}, {age(due, now=facts.now)}" if due else ""
    words = f" ({schedule_in_words(job)})" if isinstance(job, JobDefinition) else ""
    return Diagnosis(
        code="not-due", sentence=f"It is not due yet: its tick comes{when}{words}.", steps=(Step("Wait."),)
    )


def _switched_off(facts: Facts, commands: Commands) -> Diagnosis | None:
    """Of a job that nothing starts because of its schedule or policy."""
    job = facts.definition
    row = facts.row
    settled = isinstance(row, RunRecord) and (
        facts.asked or row.status is Status.RUNNING or row.reason == Reason.PAUSED
    )
    if facts.pause is not None and not settled:
        return _paused(facts.pause, facts, commands)
    if not isinstance(job, JobDefinition):
        return None
    if not job.enabled:
        if _has_row_since_change(facts) or (facts.asked and facts.tick is not None and facts.tick < job.modified_at):
            return None
        by_clock = any(
            each.trigger is Trigger.SCHEDULE and each.claimed_at and each.claimed_at > job.modified_at
            for each in facts.history
        )
        if by_clock:
            sentence = "Its clock has not sent this tick: its schedule is disabled, and a clock has started it so far."
            sent = commands.about(f"CLOCK:{facts.job}")
            steps = [
                Step("See how the clock is:", commands.about("CLOCK").why()),
                Step(
                    "What it did with this tick, for instance because of a pause:",
                    sent.runs(),
                ),
            ]
            return Diagnosis(code="clock-silent", sentence=sentence, steps=tuple(steps))
        changed = age(job.modified_at, now=facts.now)
        sentence = f"Its schedule is disabled, so nothing starts it; it was last changed {changed}."
        steps = [Step("To let it start again, enable the schedule in the stack or in EventBridge Scheduler.")]
        if facts.tick is not None and facts.tick <= facts.now:
            steps.append(Step("To run this period now:", commands.run_again()))
        return Diagnosis(code="schedule-disabled", sentence=sentence, steps=tuple(steps))
    is_after = not facts.asked or facts.tick is None or (job.end is not None and facts.tick >= job.end)
    if job.end is not None and job.end <= facts.now and is_after:
        sentence = f"Its schedule has ended: it has no tick at or after {period_of(job.end)}."
        return Diagnosis(
            code="schedule-ended", sentence=sentence, steps=(Step("Deploy it with a later end to go on."),)
        )
    if facts.period is None and facts.next_tick is None and job.ticks_are_known:
        sentence = f"Its schedule has no further tick ({schedule_in_words(job)})."
        return Diagnosis(code="schedule-ended", sentence=sentence)
    return None


def _paused(pause: Pause, facts: Facts, commands: Commands) -> Diagnosis:
    sentence = f"The job is {pause_in_words(pause, now=facts.now)}."
    resume = Step("To let machines start its runs again:", commands.resume())
    return Diagnosis(code="paused", sentence=sentence, steps=(resume,))


def _has_row_since_change(facts: Facts) -> bool:
    """True if the row is of a start after the schedule was changed: it explains itself."""
    job, row = facts.definition, facts.row
    if not isinstance(row, RunRecord) or not isinstance(job, JobDefinition):
        return False
    written_at = row.claimed_at or row.finished_at or job.modified_at
    return facts.asked or row.status is Status.RUNNING or written_at > job.modified_at


def _of_no_start(facts: Facts, commands: Commands) -> Diagnosis | None:
    """Why a tick that was due was not claimed, by what ECS says."""
    revision = facts.revision
    for task in facts.tasks:
        if task.status != "STOPPED":
            waits = "is starting" if task.started_at is None else "is at work and has not claimed the run"
            look = Step("Wait, then ask again.")
            is_late = task.created_at is not None and facts.now - task.created_at > _SLOW_START
            if task.status == "PROVISIONING" and is_late and isinstance(facts.definition, JobDefinition):
                waits = "waits for capacity or a network interface"
                look = look_at_cluster(facts.definition)
            created = f", created {age(task.created_at, now=facts.now)}" if task.created_at else ""
            code = "task-starting" if task.started_at is None else "unguarded"
            sentence = f"Its task {short_owner(task.arn)} {waits} ({task.status}{created})."
            more = (
                "" if task.started_at is None else "If that lasts, it has no guard: no 'cronce exec' and no run_once."
            )
            return Diagnosis(code=code, sentence=sentence, more=more, steps=(look,))
        if task.exit_code == 0:
            sentence = "Its image has no guard: a task ran to its end and never claimed the run."
            return Diagnosis(code="unguarded", sentence=sentence, more="The work may be done.", steps=(_CHECK, _GUARD))
        cause = _end_of(task, facts.logged)
        if cause is not None:
            again = Step("To run it now:", commands.run_again())
            return replace(diagnosis_of(cause), steps=(*diagnosis_of(cause).steps, again))
    if revision is not None and revision.status != "ACTIVE":
        sentence = f"The revision that its schedule starts is {revision.status}, so RunTask refuses to start it."
        steps = (Step("Deploy the stack, so that the schedule starts an active revision; then:", commands.run_again()),)
        return Diagnosis(code="revision-gone", sentence=sentence, steps=steps)
    return None


def _of_clock(row: RunRecord | None, facts: Facts, commands: Commands) -> Diagnosis:
    service = facts.service
    if service is not None and service.status == "ACTIVE" and service.desired == 0:
        sentence = (
            f"The clock is stopped: its service {service.name} has a desired count of 0, so nothing sends its ticks."
        )
        return Diagnosis(
            code="clock-stopped", sentence=sentence, steps=(Step("To start it:", set_desired_count(service)),)
        )
    if row is None:
        return Diagnosis(code="no-leader", sentence="Nobody has ever led under this name.")
    advice = advise(row, facts.now, commands, _about(facts))
    leads = row.liveness(facts.now) is Liveness.ALIVE
    if service is not None and service.status == "ACTIVE" and service.desired > 1 and leads:
        sentence = (
            f"The clock leads, but its service {service.name} has a desired count of {service.desired} instead of 1."
        )
        more = "Only one task may lead, so no tick is sent twice; the others wait, and cost money."
        return Diagnosis(
            code="clock-doubled",
            sentence=sentence,
            more=more,
            steps=(Step("To stop the others:", set_desired_count(service)),),
        )
    return Diagnosis(code="leader" if leads else "no-leader", sentence=advice.meaning, steps=advice.steps)


def _standing(facts: Facts, commands: Commands) -> Iterator[Diagnosis]:
    """What else is wrong with the job, whatever happened to this run."""
    job = facts.definition
    if facts.kind is not RowKind.RUN:
        return
    if facts.pause is not None:
        yield _paused(facts.pause, facts, commands)
    if isinstance(job, JobDefinition):
        if job.policy.suspend:
            yield Diagnosis(code="suspended", sentence="The job's policy has suspend=true: its next ticks are skipped.")
        if not job.enabled:
            changed = age(job.modified_at, now=facts.now)
            yield Diagnosis(code="schedule-disabled", sentence=f"Its schedule is disabled; last changed {changed}.")
        yield from faulty_schedules(facts)
        if gone := _revision_gone(facts):
            yield gone
        looked = facts.looked_at
        if not isinstance(looked, NotKnown) and (looked is None or facts.now - looked > WATCHDOG_SILENT):
            when = "has never looked at this ledger" if looked is None else f"last looked {age(looked, now=facts.now)}"
            yield Diagnosis(
                code="watchdog-silent",
                sentence=f"The watchdog {when}: missed ticks and lost runs are not recorded, and nothing is caught up.",
                steps=(Step("Check the stack:", commands.doctor()),),
            )


def _revision_gone(facts: Facts) -> Diagnosis | None:
    revision = facts.revision
    if revision is None or revision.status == "ACTIVE":
        return None
    return Diagnosis(
        code="revision-gone",
        sentence=f"The revision that its schedule starts is {revision.status}: its next tick cannot start.",
        evidence=(Evidence("revision", revision.arn),),
        steps=(Step("Deploy the stack, so that the schedule starts an active revision."),),
    )


def _about(facts: Facts) -> About:
    job = facts.definition
    if isinstance(job, JobDefinition):
        return About(kind=facts.kind, policy=job.policy, enabled=job.enabled, next_task_at=facts.next_task_at)
    return About(kind=facts.kind, has_schedule=isinstance(job, NotKnown), next_task_at=facts.next_task_at)


def _task_of(run: RunRecord, facts: Facts) -> TaskFact | None:
    return next((task for task in facts.tasks if task.arn == run.owner), None)
