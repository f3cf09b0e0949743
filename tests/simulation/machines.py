"""A simulated fleet with the real recorder and watchdog, over a simulated EventBridge and ECS.

Now and then a job is deployed again, with a new revision: what a one-shot schedule of before starts is then
refused, as the new role does. Deployments also change policies, schedules and names, often just after a tick
was lost. Others send events that are forged, and some rows are of a newer version.
Every task that stops is told of late, twice or never; one-shot schedules fire within their minute, and
take themselves away; images cannot be pulled, RunTask is refused, EventBridge is busy or loses an answer
that it carried out; looks of the watchdog are killed. Besides the fleet's own promises: every tick that was
due has a visible final state in the end, and what a machine is to start again is not forgotten, unless ECS
never said a word.

`python -m tests.simulation.machines --seed N` replays one.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from unittest.mock import patch

from botocore.exceptions import EndpointConnectionError

from cronce import CatchUp, ConcurrencyPolicy, OnLost, Policy
from cronce.aws.sdk import Service
from cronce.client.claim import Claim
from cronce.client.ledger import Ledger
from cronce.ecs import CallUnavailableError, Launcher
from cronce.operate.event_bus import EventBus
from cronce.protocol.records import RunRecord, run_key
from cronce.protocol.retrying import MOST_LAUNCHES, Relaunch, after_attempt, never_began
from cronce.vocabulary.environment import LAUNCH, PERIOD, TRIGGER
from cronce.vocabulary.errors import LeaseLostError, LedgerUnavailableError
from cronce.vocabulary.names import scheduled_time_of
from cronce.vocabulary.states import Trigger
from cronce.watch.look_at_job import MEMORY
from cronce.watch.turns import OWNER
from cronce_lambdas.recorder import Recorder
from cronce_lambdas.watchdog import Watchdog
from tests.lambdas.events import SETTINGS, letter, stopped
from tests.simulation.deployments import RENAMED, Deployments, schedule_of
from tests.simulation.fleet import DAY, DEPLOYED_EVERY, LEASE, ROUND, Fleet, Job, changing_jobs, main, period_at
from tests.simulation.kernel import EPOCH, HostClock, Kernel, Proc
from tests.simulation.promises import shown
from tests.simulation.rules import FINAL
from tests.support.cloud import GROUP, FakeEcs, FakeEvents, FakeScheduler, client_error

_LOOK = "cronce:watchdog:look"
_FORGED = "forged-"


def jobs() -> tuple[Job, ...]:
    """The jobs: every concurrency policy, and every way to catch up."""

    def job(name: str, every: float, work: tuple[float, float], **policy: Any) -> Job:  # noqa: ANN401
        return Job(name=name, every=every, work=work, policy=Policy(lease=LEASE, backoff_limit=2, **policy))

    late = timedelta(minutes=20)
    return (
        job("allow", 900, (5, 300), concurrency_policy=ConcurrencyPolicy.ALLOW, catch_up=CatchUp.ALL),
        job("forbid", 600, (5, 400), concurrency_policy=ConcurrencyPolicy.FORBID, catch_up=CatchUp.LATEST),
        job("forbid-hold", 1800, (5, 900), concurrency_policy=ConcurrencyPolicy.FORBID, on_lost=OnLost.HOLD),
        job("wait", 900, (5, 600), concurrency_policy=ConcurrencyPolicy.WAIT, starting_deadline=late),
        job("replace", 900, (5, 600), concurrency_policy=ConcurrencyPolicy.REPLACE, catch_up=CatchUp.ALL),
        replace(changing_jobs()[1], name="changing", work=(5, 600)),
    )


class Machines(Fleet):
    """The fleet with its machines."""

    noticed_within = LEASE.total_seconds() + 10 + 600 + 4 * ROUND
    """Under FORBID, runs that died before they took the slot are searched every ten minutes."""

    told = (1, 20, 4, 1)
    """How often ECS sends the event of a stopped task: the weights of never, once, twice, three times."""

    def __init__(self, seed: int, *, days: float = 1.0, hosts: int = 20) -> None:
        super().__init__(seed, days=days, hosts=hosts, jobs=jobs())
        ends = {job: EPOCH + timedelta(seconds=days * DAY // job.every * job.every) for job in self._jobs}
        schedules = [schedule_of(job, ends=ends[job]) for job in self._jobs]
        self._scheduler = _EventBridge(self._kernel, self, schedules)
        self._events = FakeEvents()
        self._launched: dict[str, tuple[Trigger, int]] = {}
        self._deployments = Deployments(
            self._kernel,
            self._scheduler.schedules,
            self._jobs,
            counts=self.counts,
            rows=lambda job: self._table.query(job, limit=100_000, before=None).runs,
        )
        self._lost_ticks: set[tuple[str, float]] = set()
        self._excused: set[tuple[str, float]] = set()

    @property
    def is_calm(self) -> bool:
        """True after the end of all failures."""
        return self._calm

    def run(self) -> None:
        """See `Fleet.run`. Heartbeats are the tasks' own business here, and a look is over before its trust is."""
        with redirect_stderr(io.StringIO()), patch.object(Claim, "start_heartbeat", lambda _claim: None):
            super().run()

    def roll(self, share: float) -> bool:
        """True with that probability, until the fleet is calm."""
        return not self._calm and self._rng.random() < share

    def launch(self, one_shot: Mapping[str, Any]) -> None:
        """Start the task of a one-shot schedule."""
        override = json.loads(one_shot["Target"]["Input"])["containerOverrides"][1]
        environ = {each["name"]: each["value"] for each in override["environment"]}
        job = next(job for job in self._deployments.jobs if job.name == environ["CRONCE_JOB"])
        at = scheduled_time_of(environ[PERIOD])
        assert at is not None
        revision = one_shot["Target"]["EcsParameters"]["TaskDefinitionArn"]
        tick, trigger, number = (at - EPOCH).total_seconds(), Trigger(environ[TRIGGER]), int(environ[LAUNCH])
        if revision != self._deployments.revision(job):
            self.counts["refused: old revision"] += 1
            self._dead_letter(job, tick, trigger=trigger, launch=number)
            return
        self.counts[f"launched: {environ[TRIGGER]}"] += 1
        self._start(job, tick, trigger, launch=number)

    def _policies(self) -> dict[str, Policy]:
        renamed = {job.name + RENAMED: job.policy for job in self._jobs}
        return super()._policies() | renamed | dict.fromkeys((MEMORY, _LOOK), Policy())

    # -- what schedulers and platform do

    def _tick(self, job: Job, at: float) -> None:
        self._kernel.call(at, partial(self._deliver, job, at))

    def _deliver(self, job: Job, at: float) -> None:
        """Deliver the tick to whoever has a schedule for it at this moment."""
        for receiver in self._deployments.receivers(job, at):
            if (job.name, at) in self._lost_ticks:
                self.counts["ticks"] += 1
            elif self._rng.random() < 0.04:
                self.counts["ticks"] += 1
                self._kernel.call(at + 60, partial(self._dead_letter, receiver, at))
            else:
                super()._tick(receiver, at)

    def _start(self, job: Job, tick: float, trigger: Trigger, *, delay: float = 0.0, launch: int = 1) -> None:
        fails, refused = self.roll(0.04), self.roll(0.01)
        if refused:
            refusal = partial(self._dead_letter, job, tick, trigger=trigger, launch=launch)
            self._kernel.call(max(self._kernel.now, tick) + 60, refusal)
            return
        if not fails:
            super()._start(job, tick, trigger, delay=delay)
            self._launched[f"task-{self.counts['tasks']}"] = (trigger, launch)
            return
        self.counts["tasks"] += 1
        self.counts["never ran"] += 1
        owner = f"task-{self.counts['tasks']}"
        self._launched[owner] = (trigger, launch)
        begins = max(self._kernel.now, tick) + delay + self._rng.uniform(5, 60)
        self._kernel.call(begins, lambda: self._tell(job, tick, owner, exit_code=None))

    def _ended(self, job: Job, tick: float, proc: Proc, *, exit_code: int) -> None:
        self._tell(job, tick, proc.name, exit_code=exit_code)

    def _tell_recorder(self, job: Job, tick: float, proc: Proc, *, exit_code: int) -> None:
        self._tell(job, tick, proc.name, exit_code=exit_code)

    def _tell(self, job: Job, tick: float, owner: str, *, exit_code: int | None) -> None:
        """Deliver the event that the task stopped: once, late, twice or never."""
        trigger, launch = self._launched[owner]
        imposed = {None: "TaskFailedToStart", 143: "UserInitiated"}
        event = stopped(
            owner,
            exit_code=exit_code,
            stop_code=imposed.get(exit_code, "EssentialContainerExited"),
            CRONCE_JOB=job.name,
            CRONCE_SCHEDULED_TIME=period_at(tick),
            CRONCE_TRIGGER=trigger.value,
            CRONCE_LAUNCH=str(launch),
        )
        times = 1 if self._calm else self._rng.choices((0, 1, 2, 3), weights=self.told)[0]
        if not times:
            self.counts["events lost"] += 1
            self._excused.add((job.name, tick))
        for _ in range(times):
            at = self._kernel.now + self._rng.uniform(0.5, 90)
            self._kernel.spawn("recorder", lambda _proc: self._settle(job, tick, event), at=at)

    def _dead_letter(self, job: Job, tick: float, *, trigger: Trigger = Trigger.SCHEDULE, launch: int = 1) -> None:
        self.counts["dead letters"] += 1
        variables = {"CRONCE_JOB": job.name, "CRONCE_SCHEDULED_TIME": period_at(tick)}
        if trigger in (Trigger.RETRY, Trigger.CATCH_UP):
            variables |= {PERIOD: period_at(tick), TRIGGER: trigger.value, LAUNCH: str(launch)}
        override = {"name": "digest", "environment": [{"name": n, "value": v} for n, v in variables.items()]}
        message = letter({"containerOverrides": [override]})
        if launch >= MOST_LAUNCHES:
            self._excused.add((job.name, tick))
        self._kernel.spawn("recorder", lambda _proc: self._sort(message), at=self._kernel.now + 1)

    def deploy(self, overrides: str) -> None:
        """Deploy the job of the overrides again, while a task of it is arranged."""
        self._deployments.deploy(next(job for job in self._deployments.jobs if f'"value": "{job.name}"' in overrides))

    def _plan_deployments(self) -> None:
        """Revisions at any moment, policies in their turn; schedules and names soon after a tick that was lost."""
        for job in self._jobs:
            for _ in range(max(int(6 * self._days), 2)):
                self._kernel.call(self._rng.uniform(0, self._days * DAY), partial(self._deployments.deploy, job))
            for at in range(int(DEPLOYED_EVERY), int(self._days * DAY), int(DEPLOYED_EVERY)) if job.deployments else ():
                self._kernel.call(at, partial(self._deployments.deploy, job))
            for _ in range(max(int(4 * self._days), 1)):
                self._kernel.call(self._soon_after_a_lost_tick(job), partial(self._deployments.move, job))
        for job in self._rng.sample(self._jobs, 2):
            self._kernel.spawn("admin", partial(self._rename, job), at=self._soon_after_a_lost_tick(job))

    def _soon_after_a_lost_tick(self, job: Job) -> float:
        """A moment at which the watchdog knows that the tick was due, and does not judge it yet."""
        tick = self._rng.choice(self._ticks(job)[1:-1])
        self._lost_ticks.add((job.name, tick))
        return tick + self._rng.uniform(130, 290)

    def _rename(self, job: Job, proc: Proc) -> None:
        self._deployments.rename(job, proc)

    def _forge(self, job: Job, tick: float) -> None:
        """Send an event that does not fit the definition of the job that it names; such a period gets no row."""
        self.counts["forged"] += 1
        event = stopped(
            f"{_FORGED}{self.counts['forged']}",
            exit_code=self._rng.choice([None, 0, 1]),
            CRONCE_JOB=job.name,
            CRONCE_SCHEDULED_TIME=period_at(tick),
        )
        match self._rng.randrange(5):
            case 0:
                event["account"] = "999999999999"
            case 1:
                event["detail"]["taskDefinitionArn"] = "arn:aws:ecs:eu-west-1:111122223333:task-definition/nginx:1"
            case 2:
                event["detail"]["clusterArn"] += "-2"
            case 3:
                event = stopped(exit_code=0, CRONCE_JOB=job.name, CRONCE_SCHEDULED_TIME=period_at(tick + DAY))
            case _:
                event = stopped(exit_code=0, CRONCE_JOB=job.name, CRONCE_SCHEDULED_TIME=period_at(tick + 1))
        self._settle(job, tick, event)

    # -- what the machines do

    def _settle(self, job: Job, tick: float, event: Mapping[str, Any]) -> None:
        """Give the event to the recorder; after a failure again each minute, then through the queue, as Lambda does."""
        for _ in range(3):
            try:
                answer = self._recorder().settle(event)
            except (LedgerUnavailableError, CallUnavailableError):
                self.counts["recorder: again"] += 1
                self._kernel.sleep(60)
            else:
                self.counts["recorder: relaunched"] += "relaunched" in answer
                if f"{MOST_LAUNCHES} tasks" in answer.get("left", "") or "deadline" in answer.get("left", ""):
                    self._excused.add((job.name, tick))
                return
        self._sort(letter(dict(event)))

    def _sort(self, message: Mapping[str, Any]) -> None:
        while self._recorder().sort([message])["batchItemFailures"]:
            self.counts["recorder: again"] += 1
            self._kernel.sleep(360)

    def _recorder(self) -> Recorder:
        clock = HostClock(self._kernel, ahead=0.0)
        return Recorder(
            SETTINGS,
            ledger=Ledger(self._wire("recorder", None), clock=clock, owner="recorder"),
            launcher=Launcher(group=GROUP, scheduler=self._scheduler),
            bus=EventBus(self._events),
            clock=clock,
        )

    def _spawn_watchdogs(self) -> None:
        """Let the watchdog look every minute; some looks are killed on the way."""
        launcher = Launcher(group=GROUP, scheduler=self._scheduler)
        for number in range(1, int((self._days * DAY + 4 * 3600) // ROUND)):
            proc = self._kernel.spawn("watchdog", lambda _proc: self._look(launcher), at=number * ROUND)
            if self._rng.random() < 0.02:
                self._kernel.call(number * ROUND + self._rng.uniform(0, 2), lambda proc=proc: self._kill_look(proc))  # type: ignore[misc]
        self._plan_deployments()

    def _kill_look(self, proc: Proc) -> None:
        if proc.alive and not self._calm:
            self.counts["looks killed"] += 1
            self._kernel.kill(proc)

    def _look(self, launcher: Launcher) -> None:
        clock = HostClock(self._kernel, ahead=0.0)
        watchdog = Watchdog(
            SETTINGS,
            ledger=Ledger(self._wire("watchdog", None), clock=clock, owner=OWNER),
            launcher=launcher,
            bus=EventBus(self._events),
            ecs=Service("ecs", client=FakeEcs()),
            clock=clock,
        )
        began = self._kernel.now
        try:
            found = watchdog.look()
        except (LedgerUnavailableError, CallUnavailableError, LeaseLostError):
            self.counts["looks failed"] += 1
        else:
            if "skipped" not in found:
                self._deployments.looks.append(began)
            self.counts.update({f"watchdog: {what}": number for what, number in found.items() if what != "jobs"})

    # -- what must hold

    def _ticks(self, job: Job) -> list[float]:
        if not self._calm:
            return super()._ticks(job)
        return [tick for tick in super()._ticks(job) if self._deployments.is_due(job, tick)]

    def _check_ends(self, job: Job) -> None:
        for each in self._deployments.jobs:
            if job.name in (each.name, each.formerly):
                self._check_ends_of(each)

    def _check_ends_of(self, job: Job) -> None:
        self._check_rows(job)
        for tick in self._ticks(job):
            run = self._table.get(job.name, run_key(period_at(tick)))
            if run is None and not self._deployments.is_sure(job, tick):
                self.counts["not judged"] += 1
                continue
            if not isinstance(run, RunRecord) or run.status not in FINAL:
                self._hold(job.name, f"every tick ends in one visible state: {period_at(tick)} is {shown(run)}")
                continue
            self.counts[run.status] += 1
            enabled = self._deployments.is_enabled(job)
            next_task = after_attempt(run, policy=job.policy_at(self._days * DAY), enabled=enabled)
            due = isinstance(next_task, Relaunch) and not never_began(run)
            if due and (job.name, tick) not in self._excused:
                self._hold(job.name, f"no run is forgotten: after hours of calm {shown(run)}")


class _EventBridge(FakeScheduler):
    """EventBridge Scheduler in virtual time: takes a while, is busy, loses answers, and delivers within the minute."""

    def __init__(self, kernel: Kernel, fleet: Machines, schedules: Sequence[dict[str, Any]]) -> None:
        super().__init__(*schedules)
        self._kernel = kernel
        self._fleet = fleet

    def create_schedule(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401
        """CreateSchedule."""
        answer = super().create_schedule(**request)
        at = datetime.fromisoformat(request["ScheduleExpression"][3:-1]).replace(tzinfo=UTC)
        due = (at - EPOCH).total_seconds()
        assert due > self._kernel.now, "a one-shot is never in the past"
        self._kernel.call(due + (self._kernel.now * 7919) % 59, lambda: self._fire(request))
        if self._fleet.roll(0.1):
            self._kernel.call(self._kernel.now + 3, lambda: self._fleet.deploy(request["Target"]["Input"]))
        if self._fleet.roll(0.02):
            raise EndpointConnectionError(endpoint_url="lost")
        return answer

    def _fire(self, request: dict[str, Any]) -> None:
        del self.schedules[request["Name"]]
        self._fleet.launch(request)

    def _called(self, operation: str, request: dict[str, Any]) -> None:
        del request  # nobody asks for it, and a day has many
        self._kernel.sleep(0.03)
        if self._fleet.roll(0.02):
            raise client_error(operation, "ThrottlingException", "slow down", status=429)


if __name__ == "__main__":
    main(Machines)
