"""The daily digest: one mail for every customer, into an S3 bucket under job, period and customer.

A mail is a file that is written again with the same name: sending it twice changes nothing. So what
an interrupted attempt sent after its last checkpoint may be sent once more by the next one.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import boto3

from cronce import Claim, run_once

CUSTOMERS = 3_100
BATCH = 100
"""So many mails are sent between two checkpoints: the most that can be sent twice."""

_SENDERS = 4


def send_digest(claim: Claim) -> dict[str, int]:
    """Send the mails of the claim's period that earlier attempts have not sent."""
    outbox = boto3.client("s3")
    bucket = os.environ["DIGEST_BUCKET"]

    def send(customer: int) -> None:
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
