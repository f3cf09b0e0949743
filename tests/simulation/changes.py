"""The single changes of protocol and machines that `mutants` tries, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: in `file`, `old` (which stands there once) becomes `new`; `breaks` says what is wrong then."""

    name: str
    file: str
    old: str
    new: str
    breaks: str
    package: str = "cronce"

    @property
    def path(self) -> Path:
        """The file below the folder of the packages."""
        return Path(self.package, self.file)


_CLAIMING, _HOLDING = "protocol/claiming.py", "protocol/holding.py"
_SLOT, _OBSERVING = "protocol/overlap.py", "protocol/observing.py"
_RECORDS, _EFFECTS = "protocol/records.py", "protocol/effects.py"

MUTANTS = (
    Mutant(
        "unconditional finish",
        _HOLDING,
        "        if not _is_run_of(stands, held) or stands.status is not Status.RUNNING:\n",
        "        if isinstance(stands, RunRecord) and changed.status is not Status.RUNNING:\n"
        "            changed = replace(changed, version=stands.version + 1)\n"
        "            yield from swap(changed, stands)\n"
        "            return replace(held, run=changed, sent_at=now)\n"
        "        if not _is_run_of(stands, held) or stands.status is not Status.RUNNING:\n",
        "an old attempt's finish overwrites its successor (Powertools' idempotency)",
    ),
    Mutant(
        "rewrites whatever stands",
        _HOLDING,
        "if not _is_run_of(stands, held) or stands.status is not Status.RUNNING:",
        "if not isinstance(stands, RunRecord):",
        "a late owner renews and finishes its successor's attempt",
    ),
    Mutant(
        "lock without fence",
        _SLOT,
        "                standing = yield from mark_lost(holder, max_clock_skew=ask.max_clock_skew)\n",
        "                standing = holder\n"
        "                if holder.liveness((yield from read_clock())) is Liveness.EXPIRED:\n"
        "                    slot = replace(slot, period=None)\n"
        "                    continue\n",
        "an old holder that slept is not told, and works on beside the new one (locks that are nothing but a lease)",
    ),
    Mutant(
        "unconditional swap",
        "stores/memory.py",
        "if _identity(existing) != _identity(expected):",
        "if expected is None and existing is not None:",
        "a take-over overwrites whatever was written meanwhile",
    ),
    Mutant(
        "unlock without owner check",
        _HOLDING,
        "not answer.stands.is_held_as(slot):",
        "answer.stands.period is None:",
        "a late owner frees the next owner's slot (ShedLock on DynamoDB)",
    ),
    Mutant(
        "fence stands still",
        _RECORDS,
        "            fence=self.fence + 1,",
        "            fence=self.fence,",
        "effects of an old holder cannot be told from the new one's",
    ),
    Mutant(
        "attempt not numbered",
        _CLAIMING,
        "        attempt=standing.attempt + 1,",
        "        attempt=standing.attempt,",
        "two attempts bear one number",
    ),
    Mutant(
        "wrong token compared",
        _CLAIMING,
        "if standing.token == ask.token:",
        "if standing.trigger == ask.trigger:",
        "a duplicate takes the winner's row for its own",
    ),
    Mutant(
        "slot compared by period only",
        _SLOT,
        "if slot.period == mine.period and mine.is_attempt(slot.attempt, slot.token):",
        "if slot.period == mine.period:",
        "an owner takes its successor's slot for its own",
    ),
    Mutant(
        "slot freed before finishing",
        _HOLDING,
        "    written = yield from _rewrite(held, finished)",
        "    if held.slot:\n        yield from free_slot(held.slot)\n    written = yield from _rewrite(held, finished)",
        "the next run begins while this one is still open",
    ),
    Mutant(
        "slot never freed",
        _HOLDING,
        "    if isinstance(written, Held) and held.slot:",
        "    if isinstance(written, Lost) and held.slot:",
        "the job looks busy after its run is over",
    ),
    Mutant(
        "slot taken from the living",
        _SLOT,
        "return run if slot.held_by(run) else None",
        "return run if run is not None and run.heartbeat_at is None else None",
        "two runs of a job overlap",
    ),
    Mutant(
        "slot forgotten",
        _CLAIMING,
        "is ConcurrencyPolicy.ALLOW:\n            if ask.has_slot:",
        "is not ConcurrencyPolicy.WAIT:\n            if ask.has_slot:",
        "FORBID and REPLACE behave like ALLOW",
    ),
    Mutant(
        "slot taken while the holder is asked to stop",
        _SLOT,
        "return run if slot.held_by(run) else None",
        "return run if slot.held_by(run) and not run.cancel_requested else None",
        "who replaces does not wait for the other one's end",
    ),
    Mutant(
        "fence forgotten with the slot",
        _RECORDS,
        "version=self.version + 1, period=None,",
        "version=self.version + 1, fence=0, period=None,",
        "a fence falls",
    ),
    Mutant(
        "trust from the answer",
        _HOLDING,
        "            return replace(held, run=changed, sent_at=now)",
        "            return replace(held, run=changed, sent_at=(yield from read_clock()))",
        "a slow answer stretches the trust beyond the lease",
    ),
    Mutant(
        "trust from the end of the lease",
        _CLAIMING,
        "            held = _held(ask, decision.record, now)",
        "            held = _held(ask, decision.record, now + ask.policy.lease)",
        "a claimant acts for two leases",
    ),
    Mutant(
        "trust without end",
        _HOLDING,
        "return self.sent_at + self.lease * 4 / 5",
        "return self.sent_at + self.lease * 8 / 5",
        "a holder acts after its lease is over",
    ),
    Mutant(
        "lost lease ignored",
        "client/claim.py",
        "self._lost_why is None and self.trust_left <= 0:",
        "self._lost_why is None and self.trust_left < 0:",
        "a paused task goes on working when it wakes up",
    ),
    Mutant(
        "renewal without effect",
        _HOLDING,
        "            lease_until=lease_end(now, held.lease),\n            checkpoint",
        "            lease_until=run.lease_until,\n            checkpoint",
        "the heartbeat lengthens the trust but not the lease",
    ),
    Mutant(
        "no allowance for skew",
        _RECORDS,
        "now - max_clock_skew > self.lease_until",
        "now + max_clock_skew > self.lease_until",
        "a reader whose clock is ahead takes over a living run",
    ),
    Mutant(
        "clock not doubted before taking over",
        _CLAIMING,
        "if heard and (skew := (yield from read_skew())) > ask.bearable_skew:",
        "if heard and (skew := (yield from read_skew())) > ask.bearable_skew * 1000:",
        "a host whose clock is minutes ahead steals a living run",
    ),
    Mutant(
        "clock never compared",
        "client/driver.py",
        "self._skew = max(ahead, behind, timedelta(0))",
        "self._skew = timedelta(0)",
        "a host whose clock is minutes ahead is never found",
    ),
    Mutant(
        "foreign row taken over",
        _CLAIMING,
        "        case Liveness.NO_LEASE:\n            return Refused(RefusalReason.HELD, standing)\n",
        "        case Liveness.NO_LEASE:\n            return _decide_lost(ask, standing, now)\n",
        "a run without a lease is taken for an orphan while its owner lives",
    ),
    Mutant(
        "lease not asked",
        _CLAIMING,
        "        case _:\n            return Refused(RefusalReason.RUNNING_ELSEWHERE, standing)\n",
        "        case _:\n            return _decide_lost(ask, standing, now)\n",
        "a living run is taken over",
    ),
    Mutant(
        "HOLD ignored",
        _CLAIMING,
        "if ask.policy.on_lost is OnLost.HOLD and ask.force is None:",
        "if ask.policy.on_lost is OnLost.HOLD and ask.force is not None:",
        "a lost run is repeated by a machine",
    ),
    Mutant(
        "stopped task is not lost",
        _OBSERVING,
        "frozenset({Reason.LEASE_LOST, Reason.TASK_STOPPED})",
        "frozenset({Reason.LEASE_LOST})",
        "under HOLD, a run whose task the platform killed is repeated by a machine",
    ),
    Mutant(
        "success repeated",
        _CLAIMING,
        "            if ask.force is None:\n",
        "            if ask.force is None and ask.trigger.by_person:\n",
        "a late duplicate runs a finished period again",
    ),
    Mutant(
        "watchdog does not look at the lease",
        _OBSERVING,
        "if run.liveness(now, max_clock_skew=max_clock_skew) is not Liveness.EXPIRED:",
        "if run.status is not Status.RUNNING:",
        "a living run is marked lost",
    ),
    Mutant(
        "recorder does not look at the owner",
        _OBSERVING,
        "if run is None or run.status is not Status.RUNNING or run.owner != owner:",
        "if run is None or run.status is not Status.RUNNING:",
        "a late stop event of one task ends another one's run",
    ),
    Mutant(
        "recorder marks what is over",
        _OBSERVING,
        "if run is None or run.status is not Status.RUNNING or run.owner != owner:",
        "if run is None or run.owner != owner:",
        "a final state moves back",
    ),
    Mutant(
        "late finish completes the next attempt",
        _HOLDING,
        "        if not _is_run_of(stands, held):\n            return lost",
        "        if not isinstance(stands, RunRecord):\n            return lost",
        "an old attempt's success is written over its successor's failure",
    ),
    Mutant(
        "observer outranks the owner",
        _HOLDING,
        "            case Status.FAILED, Event.COMPLETE:",
        "            case Status.FAILED, Event.FORCE:",
        "a success is thrown away because an observer thought its owner dead",
    ),
    Mutant(
        "lost answer taken for a lost race",
        "protocol/operations.py",
        "return Swapped(answer.written or answer.stands == record, answer.stands)",
        "return Swapped(answer.written, answer.stands)",
        "who stood back is told that its run was taken over",
    ),
    Mutant(
        "refused with the run in hand",
        _SLOT,
        "    given_back = yield from finish(held, outcome)\n",
        "    given_back = held\n    yield from ()\n",
        "a skipped run stands RUNNING until its lease is over",
    ),
    Mutant(
        "one retry too few",
        _CLAIMING,
        "if standing.failures > ask.policy.backoff_limit:",
        "if standing.failures >= ask.policy.backoff_limit:",
        "a run with a retry left is stuck",
    ),
    Mutant(
        "trust not looked at when handed out",
        _CLAIMING,
        "    if now < held.trusted_until:\n",
        "    if now < held.trusted_until + held.lease:\n",
        "a claim is handed out after its trust ran out",
    ),
    Mutant(
        "half of the clocks' disagreement",
        "protocol/requests.py",
        "return min(max_clock_skew, (max_clock_skew + lease / 5) / 2 - timedelta(seconds=1))",
        "return max_clock_skew",
        "two hosts that are wrong in opposite directions overlap",
    ),
    Mutant(
        "replaced run begun again",
        _CLAIMING,
        "if standing.reason == Reason.REPLACED:",
        "if standing.reason == Reason.OVERLAP:",
        "two runs replace each other for ever",
    ),
    Mutant(
        "older run replaces a newer one",
        _SLOT,
        "holder.scheduled_at > scheduled_at",
        "holder.scheduled_at < scheduled_at",
        "a late delivery stops the run that came after it",
    ),
    Mutant(
        "replaced run says interrupted",
        _HOLDING,
        "reason=Reason.REPLACED if replaced else outcome.reason",
        "reason=outcome.reason",
        "nobody sees that a newer run took its place, and it is begun again",
    ),
    Mutant(
        "runs of ALLOW not looked for",
        _SLOT,
        "    for run in (yield from get_running(ask.job)):",
        "    for run in (yield from get_running(ask.job))[:0]:",
        "after a change of the policy, a run under FORBID starts beside a live one",
    ),
    Mutant(
        "said to be the only one before looking",
        _RECORDS,
        "mode=SlotMode.CHECKING if self.mode else None,",
        "mode=None,",
        "a run of ALLOW that began at that moment is not found",
    ),
    Mutant(
        "ALLOW not announced",
        _SLOT,
        "    while slot is None or slot.mode != SlotMode.ALLOW:",
        "    while slot is None:",
        "after FORBID and ALLOW, a run under FORBID starts beside a live one",
    ),
    Mutant(
        "older tick starts after a newer one",
        _SLOT,
        "and ask.scheduled_at < slot.newest_at",
        "and ask.scheduled_at > slot.newest_at",
        "03:00 starts after 05:00 was replaced",
    ),
    Mutant(
        "tick of the future is the newest",
        _RECORDS,
        "run.trigger.by_person or due > at + MAX_CLOCK_SKEW:",
        "run.trigger.by_person:",
        "a forged claim keeps every tick until then from starting",
    ),
    Mutant(
        "waits in no order",
        _SLOT,
        "            if waiter.is_of(held.run):\n                break\n",
        "            break\n",
        "06:00 starts before 05:00, which waits longer",
    ),
    Mutant(
        "waits for those who gave up",
        _SLOT,
        "and run.liveness(now, max_clock_skew=ask.max_clock_skew) is Liveness.ALIVE",
        "and run.liveness(now, max_clock_skew=ask.max_clock_skew) is not Liveness.ENDED",
        "a dead run that waited holds up all behind it",
    ),
    Mutant(
        "slot kept while others wait",
        _HOLDING,
        "            slot = answer.stands  # a run was added to those that wait\n",
        "            return\n",
        "the job looks busy after its run is over",
    ),
    Mutant(
        "run kept although its slot cannot be used",
        _CLAIMING,
        "        if not error.transient:\n",
        "        if error.transient:\n",
        "a run that never started stands RUNNING for a whole lease",
    ),
    Mutant(
        "skipped attempt counted",
        _HOLDING,
        "attempt=run.attempt - (outcome.event in _NOT_STARTED),",
        "attempt=run.attempt,",
        "the first real start is attempt 2",
    ),
    Mutant(
        "repeated success called lost",
        _RECORDS,
        "reason=Reason.LEASE_LOST if running else self.reason,",
        "reason=self.reason or Reason.LEASE_LOST,",
        "the history says that a success lost its lease",
    ),
    Mutant(
        "lease beyond the calendar",
        _RECORDS,
        "if now - max_clock_skew > self.lease_until else",
        "if now > self.lease_until + max_clock_skew else",
        "a foreign writer's date stops every claim with an error of arithmetic",
    ),
    Mutant(
        "lateness judged by a wrong clock",
        _CLAIMING,
        "if isinstance(decision, Settle) and not heard:",
        "if isinstance(decision, Settle) and heard and standing is None:",
        "a host whose clock is minutes ahead records a tick as missed",
    ),
    Mutant(
        "tail read but not taken",
        _EFFECTS,
        "return replace(segment, attempt=run.attempt, token=run.token, expires_at=run.expires_at)",
        "return segment",
        "an old attempt notes and tries effects that its successor tries too",
    ),
    Mutant(
        "missing tail not made",
        _EFFECTS,
        "if found is None and mine.attempt == 1:",
        "if found is None:",
        "an old attempt makes the row after its successor looked, and tries what that one tries",
    ),
    Mutant(
        "tail taken back",
        _EFFECTS,
        "if found is not None and found.attempt > mine.attempt:",
        "if found is not None and found.attempt == mine.attempt + 9:",
        "an old attempt that wakes up locks its successor out",
    ),
    Mutant(
        "notes on whatever tail stands",
        _EFFECTS,
        "isinstance(answer.stands, EffectsRecord) and _is_of(answer.stands, held.run):",
        "isinstance(answer.stands, EffectsRecord):",
        "an old attempt goes on in its successor's tail",
    ),
    Mutant(
        "closed segment continued",
        _EFFECTS,
        "        if tail.closed:\n",
        "        if tail.closed is True:\n",
        "rows grow without limit",
    ),
    Mutant(
        "earlier segment overrides a later one",
        _EFFECTS,
        "        effects.update(segment.effects)\n",
        "        effects = {**segment.effects, **effects}\n",
        "what is done counts as unknown",
    ),
    Mutant(
        "unknown effect repeated by those who skip",
        _EFFECTS,
        "return on_unknown is OnUnknown.REPEAT",
        "return on_unknown is OnUnknown.SKIP",
        "one customer gets two mails, another one none",
    ),
    Mutant(
        "notes after a full segment dropped",
        _EFFECTS,
        'closed="yes"), entries[place:]',
        'closed="yes"), ()',
        "effects are tried that nobody noted",
    ),
    Mutant(
        "forced repeat finds everything done",
        _EFFECTS,
        "if past.status is Status.SUCCEEDED), default=0)",
        "if past.status is Status.SKIPPED), default=0)",
        "a person repeats a success, and nothing happens",
    ),
    Mutant(
        "tried before it is noted",
        "client/effects.py",
        "        if begun:\n            self.write()\n",
        "        if begun and len(begun) > 1:\n            self.write()\n",
        "after a crash, an effect that happened counts as never tried",
    ),
    Mutant(
        "error noted as done",
        "client/effects.py",
        "EffectState.DONE if error is None else EffectState.UNKNOWN",
        "EffectState.DONE",
        "a mail that could not be sent is never sent",
    ),
    Mutant(
        "one effect begun by two threads",
        "client/effects.py",
        "if key not in self._begun and may_try",
        "if may_try",
        "under `repeat`, two threads send the same mail",
    ),
    Mutant(
        "sighting overwrites a living run",
        _OBSERVING,
        "if standing is not None and not _outranks(seen, standing):",
        "if standing is not None and standing.status is not Status.RUNNING:",
        "a forged event says that a run never began, and ends it while its owner lives",
    ),
    Mutant(
        "newer schema read as our own",
        "stores/codec.py",
        "or schema > SCHEMA:",
        "or schema > SCHEMA + 1:",
        "a run of a newer version is taken over",
    ),
    *(
        Mutant(*fields, package="cronce_lambdas")
        for fields in (
            (
                "event of another account believed",
                "event_check.py",
                "if task.cluster != cluster or task.account != account_of(cluster):",
                "if task.cluster != cluster:",
                "a forged event says that a run is done which never began",
            ),
            (
                "event of another task definition believed",
                "event_check.py",
                "if _family(task.task_definition) != _family(",
                "if _family(task.task_definition) == _family(",
                "no event of the job's own tasks is believed",
            ),
            (
                "period that is no tick believed",
                "event_check.py",
                "return None if job.may_have_tick(scheduled_at) else",
                "return None if scheduled_at else",
                "a forged event makes a row for a time at which nothing is due",
            ),
            (
                "ticks before a deployment forgotten",
                "due_ticks.py",
                "pending=(*memory.pending, *more)",
                "pending=memory.pending",
                "a tick that was lost just before its schedule changed, or its job was renamed, has no row",
            ),
            (
                "new target taken for a new job",
                "due_ticks.py",
                "if timing == memory.timing and target != memory.target:",
                "if timing != memory.timing and target != memory.target:",
                "ticks around a deployment are not judged",
            ),
        )
    ),
    Mutant(
        "definition read only once",
        "ecs/launcher.py",
        "if name in self._read and self._read[name][0] == modified_at:",
        "if name in self._read:",
        "after a deployment the watchdog judges and starts by the schedule, policy and revision of before",
    ),
)
