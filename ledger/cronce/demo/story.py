"""The four scenes: each starts processes, watches them, and counts what they left behind."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cronce.client.ledger import Ledger
from cronce.demo import checks, logs
from cronce.demo.checks import CONTAINERS, Check
from cronce.demo.mailboxes import mails_by_customer, make_maildir, number_of_mails
from cronce.demo.narrator import Narrator
from cronce.demo.processes import Crew, Member
from cronce.protocol.records import MAX_CLOCK_SKEW, RunRecord
from cronce.vocabulary.errors import CronceError

DIGEST_JOB = "daily-digest"
FIRST_DAY, SECOND_DAY = "2026-11-29", "2026-11-30"
LEASE = timedelta(seconds=5)

_PYTHON = [sys.executable, "-P"]
DIGEST = [*_PYTHON, "-m", "cronce.demo.digest"]
_CONTAINER = [*_PYTHON, "-m", "cronce.demo.container"]
_EXEC = [*_PYTHON, "-c", "from cronce.cli.main import main; main()", "exec"]

_SIX_O_CLOCK_IN = 1.0
_ALL_MAILS_TAKE = 1.5
_ALL_MAILS_TAKE_SLOWLY = 3.0
_LOOK_EVERY = 0.02
_LOOKS_FOR_A_SHOW = 5
_LONGEST_WAIT = 120.0


class StoryStuckError(CronceError):
    """An expected event did not happen within two minutes."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A check and the scene to which it belongs."""

    scene: int
    check: Check


class Story:
    """The story of a digest for a number of customers, played in one folder."""

    def __init__(
        self, folder: Path, *, customers: int, narrator: Narrator, crew: Crew, digest: Sequence[str] = DIGEST
    ) -> None:
        """Prepare the story; nothing is started yet.

        Args:
            folder: The folder for mails and ledger.
            customers: How many customers get the digest, at least 100.
            narrator: Prints the story.
            crew: Starts and ends the processes.
            digest: The command of the job.
        """
        self._folder = folder
        self._customers = customers
        self._killed_after = customers // 2
        self._narrator = narrator
        self._crew = crew
        self._digest = digest
        self._url = f"sqlite:///{folder / 'ledger.db'}"
        self.counted: list[Counted] = []
        """Everything counted so far."""

    def play(self) -> list[Counted]:
        """Play all four scenes and show the ledger; returns everything that was counted."""
        self.four_clocks()
        self.four_clocks_and_a_ledger()
        self.killed_halfway()
        self.asked_again()
        self._narrator.say("\nThe ledger now (cronce runs daily-digest):")
        with self._ledger() as ledger:
            self._narrator.runs(list(ledger.runs(DIGEST_JOB)))
        return self.counted

    def four_clocks(self) -> None:
        """Each container has its own clock, and nothing arbitrates."""
        self._narrator.scene(1, "four containers, each with its own 06:00, no ledger")
        self._narrator.say(f"The clock is part of the app, and the app now runs {CONTAINERS} times.")
        maildir = make_maildir(self._folder / "mails-without-ledger")
        members = self._at_six("scene1", lambda name: self._job(maildir, "--container", name))
        self._watch(members)
        self._check(1, self._arrived(maildir, each=CONTAINERS))

    def four_clocks_and_a_ledger(self) -> None:
        """The ledger lets one of the same four containers work."""
        self._narrator.scene(2, "the same four clocks, with cronce exec before the command")
        self._narrator.command(f"cronce exec --job {DIGEST_JOB} --period {FIRST_DAY} -- ./digest")
        maildir = make_maildir(self._folder / f"mails-{FIRST_DAY}")
        members = self._at_six("scene2", lambda _: self._guarded(FIRST_DAY, maildir))
        self._watch(members)
        self._check(2, self._arrived(maildir))
        started = checks.started_once(
            worked=sum(bool(logs.sent(member)) for member in members),
            exit_codes=[member.exit_code for member in members],
            refused=[reason for member in members for reason in logs.refusals(member)],
        )
        self._check(2, started)

    def killed_halfway(self) -> None:
        """The winner dies in the middle of its work, and the next attempt sends what is left."""
        self._narrator.scene(3, "the next day, and the winner is killed half-way")
        self._narrator.say(
            "Each mail is an effect: the ledger notes it before it is sent, and when it is done. After mail"
            f" {self._killed_after:,} the job hangs, before it can say so, and its wrapper gets SIGKILL. The lease is"
            f" {LEASE.total_seconds():.0f}s here to keep the wait short; the default is 60s."
        )
        maildir = make_maildir(self._folder / f"mails-{SECOND_DAY}")
        pace = _ALL_MAILS_TAKE_SLOWLY
        hang = ("--hang-after", str(self._killed_after))
        members = self._at_six("scene3", lambda _: [*self._guarded(SECOND_DAY, maildir, pace=pace), *hang])
        winner = self._watch(members, until=self._killed_after)
        winner.kill()  # the wrapper alone
        died = winner.is_gone()
        at_kill = number_of_mails(maildir)
        row = self._row(SECOND_DAY)
        self._narrator.say(f"Killed after {at_kill:,} mails. The ledger cannot know that yet:")
        self._show(row)
        early = self._run_now("scene3-early", self._guarded(SECOND_DAY, maildir))
        self._narrator.say("A container that starts now is refused: the lease has not expired, so the owner may live.")
        self._check(
            3,
            checks.killed_halfway(
                row, died=died, mails=at_kill, expected_mails=self._killed_after, refused=logs.refusals(early)
            ),
        )
        self._wait_for_lease_end(row)
        self._show(self._row(SECOND_DAY))
        self._narrator.say("The lease has expired. The next container that starts takes over the run:")
        successor = self._start("scene3-next", self._guarded(SECOND_DAY, maildir, pace=pace))
        self._watch([successor], already=at_kill)
        unknown = logs.skipped(successor, "unknown")
        resumed = checks.resumed(
            self._row(SECOND_DAY),
            customers=self._customers,
            sent_at_kill=at_kill,
            done=logs.skipped(successor, "done"),
            unknown=unknown,
            sent=logs.sent(successor),
        )
        self._check(3, resumed)
        self._narrator.say(
            f"{unknown} mail was unknown: it was noted before it was sent, and nobody noted the end. The job skips it,"
            " so that no customer gets two mails. Had it died a moment earlier, that customer would have none; with"
            " 'repeat' it would send the mail again. No ledger can send a mail and write a row in one atomic step: the"
            " job chooses."
        )
        self._check(3, self._arrived(maildir))

    def asked_again(self) -> None:
        """Somebody starts the same period again at nine."""
        self._narrator.scene(4, "09:00, somebody starts the same period again")
        self._narrator.command(f"cronce exec --job {DIGEST_JOB} --period {SECOND_DAY} --trigger manual -- ./digest")
        maildir = self._folder / f"mails-{SECOND_DAY}"
        again = self._run_now("scene4", self._guarded(SECOND_DAY, maildir, "--trigger", "manual"))
        for event in again.events():
            self._narrator.say(str(event.get("cronce.message", "")))
        refused = checks.asked_again(refused=logs.refusals(again), exit_codes=[again.exit_code])
        self._check(4, refused)
        self._check(4, self._arrived(maildir))

    def _job(self, maildir: Path, *options: str, pace: float = _ALL_MAILS_TAKE) -> list[str]:
        customers = ["--customers", str(self._customers)]
        return [*self._digest, str(maildir), *customers, "--pace", str(pace / self._customers), *options]

    def _guarded(self, period: str, maildir: Path, *options: str, pace: float = _ALL_MAILS_TAKE) -> list[str]:
        which = [
            "--ledger",
            self._url,
            "--job",
            DIGEST_JOB,
            "--period",
            period,
            "--lease",
            f"{LEASE.total_seconds():.0f}s",
        ]
        return [*_EXEC, *which, *options, "--", *self._job(maildir, pace=pace)]

    def _at_six(self, scene: str, command: Callable[[str], list[str]]) -> list[Member]:
        """Start four containers whose clocks are due at the same moment."""
        six = str(time.time() + _SIX_O_CLOCK_IN)
        names = [f"{scene}-container-{number}" for number in range(1, CONTAINERS + 1)]
        return [self._start(name, [*_CONTAINER, six, *command(name)]) for name in names]

    def _start(self, name: str, command: list[str]) -> Member:
        return self._crew.start(name, command)

    def _run_now(self, name: str, command: list[str]) -> Member:
        member = self._start(name, command)
        for _ in _looking(f"the end of {name}"):
            if member.exit_code is not None:
                break
        return member

    def _watch(self, members: Sequence[Member], *, until: int | None = None, already: int = 0) -> Member:
        """Show the progress until all have ended or one has sent `until` mails; returns the one that sent most."""
        names = {member: member.name.partition("-")[2].replace("-", " ") for member in members}
        with self._narrator.progress(list(names.values()), total=self._customers, unit="mails") as show:
            for look in _looking(f"the mails of {', '.join(names.values())}"):
                ended = all(member.exit_code is not None for member in members)
                if not ended and look % _LOOKS_FOR_A_SHOW:
                    continue
                sent = {member: logs.sent(member) for member in members}
                for member, name in names.items():
                    show(name, sent[member] + already * bool(sent[member]), logs.word(member))
                if ended or (until is not None and max(sent.values()) >= until):
                    break
        return max(sent, key=lambda member: sent[member])

    def _arrived(self, maildir: Path, *, each: int = 1) -> list[Check]:
        mails = mails_by_customer(maildir)
        self._narrator.say(f"{mails.total():,} mails for {len(mails):,} customers:")
        return checks.mails_arrived(mails, customers=self._customers, each=each)

    def _wait_for_lease_end(self, row: RunRecord | None) -> None:
        if row is None or row.lease_until is None:
            return
        until = row.lease_until + MAX_CLOCK_SKEW
        total = max(1, round((until - datetime.now(UTC)).total_seconds() * 10))
        skew = MAX_CLOCK_SKEW.total_seconds()
        self._narrator.say(
            f"Until the lease has expired, plus {skew:.0f}s, because the clocks of two hosts may differ by that:"
        )
        with self._narrator.progress(["lease"], total=total, unit="") as show:
            for _ in _looking("the end of the lease"):
                left = (until - datetime.now(UTC)).total_seconds()
                show("lease", min(total, total - round(left * 10)), f"{max(left, 0):.0f}s left")
                if left < 0:
                    break

    def _row(self, period: str) -> RunRecord | None:
        with self._ledger() as ledger:
            return ledger.run(DIGEST_JOB, period)

    @contextmanager
    def _ledger(self) -> Iterator[Ledger]:
        ledger = Ledger.from_url(self._url)
        try:
            yield ledger
        finally:
            ledger.close()

    def _show(self, row: RunRecord | None) -> None:
        self._narrator.runs([row] if row else [])

    def _check(self, scene: int, found: Sequence[Check]) -> None:
        for check in found:
            self.counted.append(Counted(scene, check))
            self._narrator.check(check)


def _looking(what: str) -> Iterator[int]:
    """Yield the number of each look, with a short wait between two; raises an error if it takes too long."""
    until = time.monotonic() + _LONGEST_WAIT
    look = 0
    while time.monotonic() < until:
        yield look
        look += 1
        time.sleep(_LOOK_EVERY)
    raise StoryStuckError(f"waited {_LONGEST_WAIT:.0f}s for {what}")
