"""The daily digest: one mail for every customer, into an S3 bucket under job, period and customer.

Each mail is an effect of the run, so the next attempt knows which ones were sent. A mail is a file that is written
again with the same name: sending it twice changes nothing. So a mail of which nobody knows is sent once more, and each
customer has exactly one. The checkpoint shows on the page of the run how far it got.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import boto3

from cronce import Claim, run_once

CUSTOMERS = 3_100
BATCH = 100
"""The number of mails between two checkpoints."""

_SENDERS = 4
"""The number of senders, and so the most mails that can be sent twice. They share the writes to the ledger."""


def send_digest(claim: Claim) -> dict[str, int]:
    """Send the mails of the claim's period that earlier attempts have not sent."""
    outbox = boto3.client("s3")
    bucket = os.environ["DIGEST_BUCKET"]

    def send(customer: int) -> None:
        with claim.once(f"{customer:05}", on_unknown="repeat") as effect:
            if effect:
                outbox.put_object(
                    Bucket=bucket,
                    Key=f"{claim.job}/{claim.period}/{customer:05}.txt",
                    Body=f"Good morning, customer {customer}! This is your digest of {claim.period}.\n".encode(),
                )

    sent = claim.resume_from if isinstance(claim.resume_from, int) else 0
    to_send = range(sent, int(os.environ.get("DIGEST_CUSTOMERS", CUSTOMERS)))
    with ThreadPoolExecutor(_SENDERS) as senders:
        for start in range(0, len(to_send), BATCH):
            claim.check()
            batch = to_send[start : start + BATCH]
            list(senders.map(send, batch))
            claim.checkpoint(batch.stop)
    return {"resumed_from": sent, "sent": len(to_send)}


def main() -> int:
    """Send the digest, or leave it to whoever has it; 0 both times."""
    run_once(send_digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
