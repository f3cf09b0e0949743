"""The heartbeat: a thread that renews the lease of a claim.

The ledger's row decides who holds the run. The claim trusts its own copy only for a part of the lease:

      request sent                     trusted_until          lease_until   + clock skew
      |--- heartbeat every quarter ---------|--- margin: a fifth ---|--- 5 s ---|
      | the work may go on                  | stop the work         | others    | others
      |                                     | (SIGTERM, SIGKILL)    | wait      | may take over

              start_heartbeat           complete, fail, interrupt
      HELD ------------------> HELD ------------------------------> SETTLED
       |                         |                                     ^
       |                         | not renewed by trusted_until,       | my own final record is found,
       |                         | or the row is another attempt's     | or the work has stopped: give_up
       |                         v                                     |
       +---------------------> LOST -----------------------------------+

A failed heartbeat is retried until `trusted_until`, whatever the error is. A process that was frozen until then renews
the lease once when it wakes up: if nobody has taken the run over, it is still HELD (docs/adr/0018-woken-owner.md). A
lost claim is never held again: `check` raises, `cronce exec` stops its command. Trust is counted from when the request
was sent, on the monotonic clock, so a slow answer or a stepped wall clock does not extend it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from cronce.client.reporting import report
from cronce.client.time_source import SteadyClock
from cronce.protocol.holding import Held
from cronce.vocabulary.errors import LeaseLostError


class Heartbeat(threading.Thread):
    """Renews the lease every quarter of its length, until the claim is settled or lost.

    Whatever error a renewal raises, it is retried: the next one may still succeed.
    """

    def __init__(
        self,
        held: Held,
        clock: SteadyClock,
        ended: threading.Event,
        *,
        renew: Callable[[], Held],
        after: Callable[[], None],
    ) -> None:
        """Prepare the thread.

        Args:
            held: What the claim holds now.
            clock: The time of the claim.
            ended: Set once the claim is settled.
            renew: Renews the lease, and returns what is held then; raises `LeaseLostError` if the claim is lost.
            after: Called from the thread after each renewal, also a failed one.
        """
        super().__init__(name="cronce-heartbeat", daemon=True)
        self._held, self._clock, self._ended = held, clock, ended
        self._renew, self._after = renew, after

    def run(self) -> None:
        """Renew until the claim is settled or lost."""
        due_in = self._until_due()
        while not self._clock.wait(self._ended, max(0.0, due_in)):
            try:
                self._held = self._renew()
                due_in = self._until_due()
            except LeaseLostError:
                return
            except Exception as error:  # noqa: BLE001  # see the class
                if self._ended.is_set():  # settled while this thread waited for its turn
                    return
                run = self._held.run
                report("heartbeat_failed", level="ERROR", job=run.job, period=run.period, error=repr(error))
                due_in = self._held.lease.total_seconds() / 16
            finally:
                self._after()

    def _until_due(self) -> float:
        return self._clock.seconds_until(self._held.sent_at + self._held.lease / 4)
