"""Examine a deployed stack, or the environment of a task, before it fails: what `cronce doctor` asks.

For `n` jobs it makes at most

- to the ledger: four requests, one Query per job, and one for each of five jobs that have lost their schedule;
- to EventBridge Scheduler: one ListSchedules per hundred schedules and one GetSchedule per schedule;
- to everything else a number that does not grow with the jobs: `launching`, `access` and `machinery` say which.

Nothing is written: the write that tests the permission has a condition that cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cronce.aws.errors import CallRefusedError
from cronce.client.at_once import AT_ONCE, at_once
from cronce.client.leadership import LEADER
from cronce.client.ledger import Ledger
from cronce.client.settings import TaskSettings
from cronce.ecs import JobDefinition, Launcher
from cronce.operate import checks
from cronce.operate.access import roles
from cronce.operate.advice import PLAIN, Commands
from cronce.operate.aws_causes import aws_cause
from cronce.operate.aws_requests import AwsRequests, Services
from cronce.operate.checks import Review, State, ok, some, unknown
from cronce.operate.dead_letters import queues
from cronce.operate.gathering import why_not
from cronce.operate.launching import Launching
from cronce.operate.look_up import looked_at
from cronce.operate.machinery import Machinery
from cronce.operate.remedies import enable_key
from cronce.operate.wording import count
from cronce.protocol.records import RunRecord
from cronce.schedule import ScheduleInvalidError, zone_data
from cronce.stores.store import Cautious, Inspectable, Store
from cronce.vocabulary.environment import JOB
from cronce.vocabulary.errors import CronceError, InputInvalidError, LedgerUnavailableError
from cronce.vocabulary.names import schedule_name_stem
from cronce.vocabulary.payloads import decode_json
from cronce.vocabulary.states import Status
from cronce.vocabulary.values import replace
from cronce.watch.launches import WATCHDOG_LOOK

_PROBE = "cronce:doctor"
_NEWEST = 20
_MOST_GONE = 5
_LATELY = timedelta(days=31)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Examination:
    """The checks of one ledger and its jobs, in the order in which a person reads them."""

    def __init__(
        self,
        *,
        store: Store,
        ledger: Ledger,
        launcher: Launcher | None,
        services: Services,
        url: str,
        environ: Mapping[str, str],
        folder: Path,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        done: Callable[[], object] = lambda: None,
        commands: Commands = PLAIN,
    ) -> None:
        """Name what is examined; nothing is called yet.

        Args:
            store: The ledger's store, for the clock and the write.
            ledger: The same ledger.
            launcher: Reads the schedules; None for a ledger without a schedule group.
            services: Gives the AWS service of a name.
            url: URL of the ledger.
            environ: The variables of this process.
            folder: Where Python would look for packages first.
            now: The time.
            done: Called after each schedule and the rows of each job.
            commands: The command lines to suggest.
        """
        self._store, self._ledger, self._launcher, self._services = store, ledger, launcher, services
        self._url, self._environ, self._folder, self._now, self._done = url, environ, folder, now, done
        self._commands = commands

    def checks(self) -> Iterator[Review]:
        """Every check, one after the other."""
        yield from self._of_here()
        reachable = yield from self._of_ledger()
        jobs = yield from self._of_schedules()
        if reachable:
            yield from self._of_rows(jobs)
        if self._launcher is None:
            return
        aws = AwsRequests(self._services)
        if jobs:
            launching = Launching(self._launcher, aws, jobs, self._url)
            yield from launching.checks()
            yield from roles(jobs, launching.definitions, aws, self._url)
            yield from queues(jobs, aws)
        yield from Machinery(
            self._launcher, aws, self._ledger, self._url, now=self._now, commands=self._commands
        ).checks()

    def _of_here(self) -> Iterator[Review]:
        yield from checks.variables(self._environ)
        try:
            TaskSettings.from_environ(self._environ)
        except InputInvalidError as error:
            yield Review("variables", State.PROBLEM, str(error), "a task with it exits with 64 before its work")
        if (self._folder / "constructs" / "__init__.py").is_file():
            why = "it hides the PyPI package of that name, and 'import aws_cdk' fails: remove its __init__.py"
            yield Review("constructs", State.PROBLEM, f"{self._folder / 'constructs'} is a Python package", why)

    def _of_ledger(self) -> Generator[Review, None, bool]:
        """The checks of the store; returns whether it can be read."""
        job = self._environ.get(JOB) or _PROBE
        sent_at = self._now()
        try:
            self._store.get(job, "run#none")
        except LedgerUnavailableError as error:
            said = aws_cause(error.cause)
            told = f"{said.sentence}: {error.cause}" if said else error.cause
            why = "no task can claim a run: every one ends with 69"
            yield Review("ledger", State.PROBLEM, told, why, enable_key(error.cause))
            return False
        yield checks.skew(sent_at, self._now(), self._store.answered_at)
        yield self._of_write(job)
        if isinstance(self._store, Inspectable):
            try:
                found = self._store.differences()
            except LedgerUnavailableError as error:
                yield unknown("table", error.cause)
            else:
                for difference in found:
                    yield Review("table", State.WARNING, difference, "cronce init makes such a table")
                if not found:
                    yield ok("table", f"{self._ledger.where} is as cronce makes it")
        if isinstance(self._store, Cautious) and (caution := self._store.caution):
            yield Review("store", State.WARNING, caution, "a claim may be forgotten, and work may run twice")
        return True

    def _of_write(self, job: str) -> Review:
        """Whether this role may write: by a write on a version that no row has, so that nothing is ever written."""
        row = RunRecord(job=job, period="none", version=2, status=Status.FAILED, attempt=1, token=_PROBE, owner=_PROBE)
        try:
            self._store.swap(row, replace(row, version=1, token=f"{_PROBE}:nobody"))
        except LedgerUnavailableError as error:
            why = "a task with this role ends with 69; for a person who only looks this is right"
            return Review("ledger", State.WARNING, f"readable, not writable by this role: {error.cause}", why)
        return ok("ledger", f"{self._ledger.where} is readable and writable by this role")

    def _of_schedules(self) -> Generator[Review, None, list[JobDefinition]]:
        """The checks of the group; returns its jobs."""
        launcher = self._launcher
        if launcher is None:
            yield unknown("schedules", "the ledger has no schedule group; --schedule-group names one")
            return []
        try:
            jobs = list(launcher.jobs(at_once=AT_ONCE, done=self._done))
        except CallRefusedError as error:
            if error.code != "ResourceNotFoundException":
                yield unknown("schedules", why_not(error))
            else:
                told = f"the schedule group {launcher.group} does not exist"
                yield Review("schedules", State.PROBLEM, told, "nothing is started: deploy the stack of the ledger")
            return []
        except CronceError as error:
            yield unknown("schedules", why_not(error))
            return []
        if not jobs:
            yield Review("schedules", State.WARNING, f"the group {launcher.group} has no job", "nothing is started")
            return jobs
        off = [job.job for job in jobs if not job.enabled]
        if off:
            yield Review("schedules", State.WARNING, f"disabled: {some(off)}", "only a clock or a person starts it")
        yield ok(
            "schedules", f"{count(len(jobs), 'job')} in the group {launcher.group}, {len(jobs) - len(off)} enabled"
        )
        yield from checks.overridden(jobs)
        yield from self._of_further(launcher, jobs)
        yield from self._of_zones(jobs)
        return jobs

    def _of_further(self, launcher: Launcher, jobs: Sequence[JobDefinition]) -> Iterator[Review]:
        """Whether the further schedules of a job start what its first one says."""
        several = [job for job in jobs if job.further]
        try:
            found = at_once(launcher.faults_of_further, several)
        except CronceError as error:
            yield unknown("schedules", why_not(error))
            return
        for job, faults in zip(several, found, strict=True):
            for name, fault in faults.items():
                why = f"the job is due at {job.further[name]} too: deploy its stack, so that its schedules are alike"
                yield Review("schedules", State.PROBLEM, f"{job.job}: its schedule {name} {fault}", why)

    def _of_zones(self, jobs: Sequence[JobDefinition]) -> Iterator[Review]:
        copies = {}
        for zone in sorted({job.timezone for job in jobs}):
            try:
                copies[zone] = zone_data(zone)
            except ScheduleInvalidError as error:
                yield Review("zone-data", State.PROBLEM, str(error), "the ticks of its jobs cannot be computed here")
        used = {zone: found for zone, found in copies.items() if found}
        yield from checks.zones(used, self._now())

    def _of_rows(self, jobs: Sequence[JobDefinition]) -> Iterator[Review]:
        try:
            look = self._ledger.run(WATCHDOG_LOOK, LEADER)
        except LedgerUnavailableError as error:
            yield unknown("watchdog", error.cause)
        else:
            if jobs:
                yield checks.watchdog(looked_at(look), self._now())
            yield from checks.gone([job for job in _gone(look, jobs) if self._ran_lately(job)], self._commands)
        if not jobs:
            return

        def newest(job: JobDefinition) -> tuple[str, tuple[RunRecord, ...]]:
            runs = self._ledger.page(job.job, limit=_NEWEST).runs
            self._done()
            return job.job, runs

        try:
            found = dict(at_once(newest, jobs))
        except LedgerUnavailableError as error:
            yield unknown("guard", error.cause)
        else:
            yield from checks.guards(found, self._commands)
            yield from checks.newest_runs(found, self._now(), self._commands)

    def _ran_lately(self, job: str) -> bool:
        """True if the job has a run of the last month; one that was removed before is no news."""
        try:
            runs = self._ledger.page(job, limit=1).runs
        except CronceError:
            return False
        return any(self._now() - (run.finished_at or run.claimed_at or _EPOCH) < _LATELY for run in runs)


def _gone(look: RunRecord | None, jobs: Sequence[JobDefinition]) -> list[str]:
    """The jobs of schedules that the watchdog missed in its last look, as far as the names of their schedules tell.

    Such a name is the job's, a hyphen and twelve characters of a hash (`cronce.vocabulary.names`).
    """
    left = decode_json(look.checkpoint) if look is not None else None
    names = left.get("gone") if isinstance(left, dict) else None
    if not isinstance(names, list):
        return []
    existing = {schedule_name_stem(job.job) for job in jobs}
    stems = dict.fromkeys(str(name)[:-13] for name in names)
    return [stem for stem in stems if stem and stem not in existing][:_MOST_GONE]
